"""Which notebook a call means, and its cells as they are now: in the page that has it open, else
on disk, as last saved.

Without a path it is the notebook whose kernel this is, whichever tab is in front. Of that one
nothing is ever written on disk: it may be open where nobody tells us.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ..core.errors import BrokenNotebook, EditRefused, ToolFailed
from ..core.notebook.document import Cell, NotebookText
from ..core.notebook.select import selected
from ..core.tools.base import ToolContext, bounded, printable
from ..core.tools.changes import BYTES
from ..core.workspace.paths import open_regular, resolve, shown
from ..core.workspace.threads import in_thread
from ..views.wording import listed
from . import document as live

NUMBERS = 12  # of cells, in a line
NO_NOTEBOOK = "This kernel has no notebook of its own: name one by its path."
NO_PAGE = "no page of JupyterLab with the shiro_jupyter extension has it open"
UNKNOWN = "whether the page shows it, unsaved, cannot be told"
OPEN_TOO = "it is open in the page, where it may have changed since"


@dataclass(frozen=True)
class Where:
    """A notebook. `name` is what rules match; `path` is None where only the page knows it; `own`:
    it is this kernel's; `away` says why its page is not asked, empty where it is."""

    name: str
    path: Path | None
    own: bool
    away: str = ""

    @property
    def told(self) -> str:
        return printable(self.name)

    @property
    def live(self) -> bool:
        return self.own and not self.away

    def note_read(self, cell: str, source: str, context: ToolContext) -> None:
        """This session knows that source of a cell: it has read it, or written it."""
        context.seen.note(self._key(cell), _bytes(source))

    def refuse_unread(self, cell: Cell, context: ToolContext) -> None:
        """Raise `EditRefused`, with the source as it is, where a cell was never read, or has
        changed since. It is known from then on."""
        key, source = self._key(ref(cell)), _bytes(cell.source)
        if context.seen.knows(key) and not context.seen.changed(key, source):
            return
        known = context.seen.knows(key)
        why = "has changed since it was read" if known else "was not read yet"
        if not context.may_read(self.name):
            raise EditRefused(f"Nothing was done, since cell {ref(cell)} {why}; read it first.")
        context.seen.note(key, source)
        raise EditRefused(
            f"Nothing was done, since cell {ref(cell)} {why}; start from its source as it is "
            f"now:\n{bounded(cell.source)}"
        )

    def _key(self, cell: str) -> Path:
        """No file has this path."""
        return (self.path or Path(self.name)) / cell


@dataclass(frozen=True)
class Reading:
    """`note` says how old it is, empty where it is the live document; `text` is that of a file."""

    where: Where
    cells: tuple[Cell, ...]
    note: str = ""
    text: NotebookText | None = None


class Notebooks:
    """On the agent's thread. `known` is the path of this kernel's notebook, as it was told when
    the kernel began."""

    def __init__(self, document: live.LiveDocument, known: Path | None) -> None:
        self.document, self._known = document, known
        self._seen: tuple[Cell, ...] = ()  # of this kernel's notebook, as it was seen last

    async def find(self, given: str, context: ToolContext) -> Where:
        """Raises `ToolFailed` and `PathRefused`."""
        own, told, away = self._known, "", NO_PAGE
        if self.document.there:
            try:
                told, away = (await self.document.outline()).path, ""
            except ToolFailed as error:
                away = str(error)
        if told and own:
            own = located(told, own)
        if given:
            path = resolve(context.project, given)
            if path != own and (own or given != told):
                return self._allowed(Where(shown(context.project, path), path, own=False), context)
        elif not own and not told:
            raise ToolFailed(NO_NOTEBOOK)
        name = shown(context.project, own) if own else told
        return self._allowed(Where(name, own, own=True, away=away), context)

    async def read(self, where: Where, context: ToolContext, *, outputs: bool = False) -> Reading:
        """All cells; live ones without `outputs` have the types of their outputs alone."""
        if where.live:
            found = await self.document.read(outputs=outputs)
            self._seen = tuple(_cells(found))
            return Reading(where, self._seen)
        note = where.away if where.own else await self._open_too(where)
        return await in_thread(_stored, where, context, note)

    def named(self, wanted: str) -> str:
        """Cells of this kernel's notebook for people, as far as it was seen; else as they were
        given."""
        try:
            found = selected(self._seen, wanted)
        except ToolFailed:
            return wanted
        if not found:
            return wanted
        numbers = listed([str(each.number) for each in found], NUMBERS)
        return for_people(found[0]) if len(found) == 1 else f"cells {numbers}"

    def changed(self, cell: Cell, above: str | None, *, gone: bool = False) -> None:
        """A cell of this kernel's notebook stands below that one by now, or is gone."""
        left = [each for each in self._seen if ref(each) != ref(cell)]
        if not gone:
            left.insert(next((n for n, c in enumerate(left, 1) if ref(c) == above), 0), cell)
        self._seen = tuple(replace(each, number=n) for n, each in enumerate(left, 1))

    async def _open_too(self, where: Where) -> str:
        try:
            return OPEN_TOO if await self.is_open(where) else ""
        except ToolFailed:  # it can be read all the same
            return UNKNOWN

    async def is_open(self, where: Where) -> bool:
        """Whether our page shows that notebook, beside this kernel's."""
        if where.path is None or not self.document.there:
            return False
        own, told = self._known, (await self.document.outline()).path
        root = server_root(told, own and located(told, own))
        # Where the server's folder is unknown, what may be that notebook is taken for it.
        return any(
            root / each == where.path if root else f"/{where.path.as_posix()}".endswith(f"/{each}")
            for each in await self.document.open_elsewhere()
        )

    @staticmethod
    def _allowed(where: Where, context: ToolContext) -> Where:
        if context.denies_reading(where.name):
            raise ToolFailed(f"The settings deny to read {where.told}; do without it.")
        return where


def ref(cell: Cell) -> str:
    """What a cell is named by: its id, or in older files its number."""
    return cell.id or str(cell.number)


def for_people(cell: Cell) -> str:
    return live.called(cell.source, cell.number)


def located(told: str, known: Path) -> Path | None:
    """The file of a path that the server tells, which begins in a folder somewhere above the one
    that the kernel was started for: also where that was renamed since."""
    found = (folder / told for folder in known.parents)
    return next((path.resolve() for path in found if path.is_file()), None)


def server_root(told: str, path: Path | None) -> Path | None:
    """The folder in which the server's paths begin, from one of them and the file it means."""
    if path is None or not f"/{path.as_posix()}".endswith(f"/{told}"):
        return None
    return path.parents[told.count("/")]


def _cells(found: Iterable[live.Cell]) -> Iterable[Cell]:
    for number, cell in enumerate(found, start=1):
        outputs = cell.outputs
        if outputs is None:
            outputs = tuple({"output_type": kind} for kind in cell.shown)
        count, metadata = cell.execution_count, cell.metadata
        yield Cell(number, cell.id, cell.type, cell.source, outputs, count, metadata)


def _bytes(source: str) -> bytes:
    return source.encode(errors="surrogatepass")


def _stored(where: Where, context: ToolContext, note: str) -> Reading:
    """Blocks."""
    if where.path is None:
        raise ToolFailed(f"{where.told} cannot be found on disk: {where.away or 'name its path'}.")
    with open_regular(context.project, where.path) as stream:
        try:
            data, saved = stream.read(BYTES + 1), os.fstat(stream.fileno()).st_mtime
        except OSError as error:
            raise ToolFailed(f"{where.told} cannot be read: {error.strerror}.") from None
    if len(data) > BYTES:
        raise ToolFailed(f"{where.told} is larger than {BYTES // 1_000_000} MB; read it by code.")
    try:
        text = NotebookText.parse(data)
    except BrokenNotebook as error:
        raise ToolFailed(f"{where.told}: {error}") from None
    when = f"{datetime.fromtimestamp(saved):%Y-%m-%d %H:%M}"
    told = f"as last saved ({when})" + (f"; {note.rstrip('.')}" if note else "")
    return Reading(where, text.cells, told, text)
