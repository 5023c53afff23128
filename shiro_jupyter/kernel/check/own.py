"""The notebook of this kernel for a check: its cells from the page where one shows it, and what
the live kernel holds."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from ...core.errors import ToolFailed, UsageError
from ...core.workspace.threads import in_thread
from ..document import LiveDocument
from ..kept_code import KeptCode
from ..notebook import located
from .cells import Notebook, read_saved
from .hidden import Live

NO_NOTEBOOK = "This kernel has no notebook of its own: name one, as in /check analysis.ipynb."


async def own_notebook(document: LiveDocument, known: Path | None) -> Notebook:
    """As it is in the page, saved or not; else as last saved. Raises `UsageError`."""
    if document.there:
        try:
            told = (await document.outline()).path
            path = (known and located(told, known)) or known or Path.cwd() / Path(told).name
            cells = await document.read(outputs=True)
            return Notebook(path, ()).with_live(cells)
        except ToolFailed:  # the page went away
            pass
    if known is None:
        raise UsageError(NO_NOTEBOOK)
    return await in_thread(read_saved, known)


async def live_kernel(shell: Any, names: Collection[str], kept: KeptCode) -> Live:
    """What this kernel holds; `names` are those that may be told."""
    ran = shell.user_ns.get("In")
    history = [str(each) for each in ran] if isinstance(ran, list) else []
    return Live(names, history, frozenset(each.name for each in await kept.unkept()))
