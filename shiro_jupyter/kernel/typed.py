"""What a command asks the person for, in the cell that runs it."""

from __future__ import annotations

import asyncio
import getpass
import sys
from typing import TYPE_CHECKING

from ..core.errors import UsageError
from ..core.settings.connect import Connector, Prompts
from .main_thread import JobInterrupted, MainThread

if TYPE_CHECKING:
    from .services import Services


async def typed(main: MainThread, text: str) -> str:
    """What the person types after the last line of the text, in a cell that serves."""
    shown, _, last = text.rpartition("\n")

    def ask() -> str:
        _say(shown)
        return input(last)

    return await main.run(ask, stdin=True)


async def connect(services: Services, address: str) -> str:
    """Ask the person for endpoint, key and model; what was kept, as a sentence."""
    main = services.main

    async def ask_line(text: str) -> str:
        return await typed(main, text)

    async def ask_secret(text: str) -> str:
        return await main.run(lambda: getpass.getpass(text), stdin=True)

    async def say(text: str) -> None:
        await main.run(lambda: _say(text))

    connector = Connector(services.environ, services.folders, services.models.keys)
    try:
        connected = await connector.connect(
            services.settings(), Prompts(ask_line, ask_secret, say), address
        )
    except (JobInterrupted, EOFError, asyncio.CancelledError):
        raise UsageError("Nothing was changed.") from None
    # What a variable or a flag set holds no more in this kernel.
    services.flags |= {"base_url": connected.base_url, "model": connected.model}
    services.models.changed()
    return connected.told


def _say(text: str) -> None:
    if text:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
