"""The notebook of this kernel for a check: its cells from the page where one shows it, and what
the live kernel holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...core.errors import ToolFailed, UsageError
from ...core.workspace.threads import in_thread
from .. import compat
from ..document import LiveDocument
from ..kept_code import KeptCode
from ..notebook import NO_PAGE, located
from .cells import Notebook, read_saved
from .hidden import Live

LOOK = 0.05  # seconds between two looks for the page
NO_NOTEBOOK = "This kernel has no notebook of its own: name one, as in /check analysis.ipynb."


async def own_notebook(document: LiveDocument, known: Path | None, wait: float = 0.0) -> Notebook:
    """As it is in the page, saved or not; else as last saved. A page has `wait` seconds to say that
    it is there, which takes it a moment after the first prompt. Raises `UsageError`."""
    away, until = NO_PAGE, time.monotonic() + wait
    while known and not document.there and time.monotonic() < until:
        await asyncio.sleep(LOOK)
    if document.there:
        try:
            told = (await document.outline()).path
            path = (known and located(told, known)) or known or Path.cwd() / Path(told).name
            cells = await document.read(outputs=True)
            return Notebook(path, ()).with_live(cells)
        except ToolFailed as error:
            away = str(error).rstrip(".")
    if known is None:
        raise UsageError(NO_NOTEBOOK)
    saved = await in_thread(read_saved, known)
    return replace(saved, taken=f"The cells were taken from the file as last saved: {away}.")


async def live_kernel(shell: Any, names: Collection[str], kept: KeptCode) -> Live:
    """What this kernel holds; `names` are those that may be told."""
    history = [str(each) for each in compat.inputs(shell)]
    return Live(names, history, frozenset(each.name for each in await kept.unkept()))
