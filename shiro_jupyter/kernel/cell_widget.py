"""The view of a turn in its cell's output, in the page.

Where the labextension is, it draws the turn that the output names. Elsewhere a widget does, which
asks for its turn over its own comm.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..views.cell import Data, Place
from .compat_comms import deliver_off_main

log = logging.getLogger("shiro")
# The page's side, built from labextension/src/cell.ts.
ESM = Path(__file__).parents[1] / "static" / "cell.js"
VIEW_MIME = "application/vnd.jupyter.widget-view+json"
TURN_MIME = "application/vnd.shiro.turn+json"  # labextension/src/mount.ts draws it


class Pages(Protocol):
    """The pages that show this kernel's turns. `attach` is for the agent's thread."""

    @property
    def kernel(self) -> str:
        """The token of this load of the extension."""
        ...

    @property
    def turn(self) -> int:
        """The number of the newest turn, counted from the load."""
        ...

    @property
    def present(self) -> bool:
        """Whether a page has said hello, and not good-bye."""
        ...

    def draws(self, turn: int) -> bool:
        """Whether a page has drawn the turn in its cell."""
        ...

    def handle(self, request: Any) -> object: ...

    def attach(self, sink: Callable[[dict[str, Any]], object], turn: int) -> Callable[[], None]:
        """Give the events of one turn to `sink`; returns the call that ends it."""
        ...


def place(pages: Pages, *, widget: bool) -> Place:
    """Where the turn that has just started is shown. On the agent's thread, in the cell's
    context."""
    mark = {"kernel": pages.kernel, "turn": pages.turn}
    return Place(mark, LiveCell.made(pages) if widget else None)


class LiveCell:
    """The widget of one turn, made and written to in the context that this is made in: its
    messages belong to the cell."""

    def __init__(self, pages: Pages) -> None:
        """Raises `ImportError` or `OSError` where the widget is not wholly installed."""
        self._pages = pages
        self._turn = pages.turn
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._detach: Callable[[], None] | None = None
        self._widget = _widget_class()(kernel=pages.kernel, turn=self._turn)
        deliver_off_main(self._widget.comm)
        self._widget.on_msg(self._heard)

    @classmethod
    def made(cls, pages: Pages) -> LiveCell | None:
        """None where the widget is not wholly installed: its place is taken by html."""
        try:
            return cls(pages)
        except (ImportError, OSError) as error:
            log.warning("there is no widget for the cell: %s", error)
            return None

    @property
    def mime(self) -> Data:
        turn = {"kernel": self._pages.kernel, "turn": self._turn}
        return {TURN_MIME: turn, VIEW_MIME: self._widget.get_view_spec()}

    @property
    def ready(self) -> bool:
        return self._detach is not None or self._pages.draws(self._turn)

    def close(self) -> None:
        if self._detach:
            self._detach()
            self._detach = None
        self._context.run(self._close)

    def _close(self) -> None:
        layout = self._widget.layout
        self._widget.close()
        layout.close()

    def _heard(self, widget: object, request: object, buffers: object) -> None:
        """A request of the page, on whichever thread its message comes."""
        if isinstance(request, dict) and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._take, request)

    def _take(self, request: dict[str, Any]) -> None:
        if request.get("do") == "snapshot":
            self._detach = self._detach or self._pages.attach(self._send, self._turn)
        self._pages.handle(request)

    def _send(self, event: dict[str, Any]) -> None:
        self._context.run(self._widget.send, event)


@functools.cache
def _widget_class() -> Callable[..., Any]:
    from anywidget import AnyWidget
    from traitlets import Int, Unicode

    class CellWidget(AnyWidget):
        _esm = Unicode(ESM.read_text(encoding="utf-8")).tag(sync=True)
        kernel = Unicode().tag(sync=True)
        turn = Int().tag(sync=True)

    return CellWidget
