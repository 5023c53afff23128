"""The one place that imports the host, and with it all that is heavy, at the first prompt or the
first function that is made a tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cell_interrupts import CellInterrupts
    from .channel import Channel
    from .completion import Completion, Offers
    from .host import Host


def make_host(shell: Any, channel: Channel) -> Host:
    from .host import Host

    return Host(shell, channel)


def make_completion(shell: Any, offers: Callable[[], Offers | None]) -> Completion:
    from .completion import Completion

    return Completion(shell, offers)


def make_tool(function: Any, *, ask: bool, in_turn: bool) -> Any:
    from .own_tools import marked

    return marked(function, ask=ask, in_turn=in_turn)


def make_interrupts(shell: Any) -> CellInterrupts:
    from .cell_interrupts import CellInterrupts

    return CellInterrupts(shell)
