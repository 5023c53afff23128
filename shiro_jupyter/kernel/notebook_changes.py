"""One change of one notebook: what it would do, and doing it, in the page, in a closed file, or as
the next cell where no page has the notebook open."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..core.errors import EditRefused, ToolFailed
from ..core.notebook.document import Cell, NotebookText, find
from ..core.sessions.undo import Writing
from ..core.tools.base import ToolContext
from ..core.workspace.diffs import Diff, diff
from ..core.workspace.files import retried
from ..core.workspace.paths import resolve_target
from ..core.workspace.threads import in_thread, settled
from .cells_undo import CellsUndo, Deleted, Inserted, Moved, Replaced
from .document import CellType, LiveDocument
from .next_cell import NextCell
from .notebook import Notebooks, Reading, Where, ref
from .valid_notebook import problem

PATIENCE = 1.0  # seconds that an interrupted change has for the page's answer
Action = Literal["insert", "replace", "delete", "move"]
OPEN = (
    "{} is open in the page, so it is not changed on disk; let the person close it, or ask in its "
    "own kernel."
)
NOT_HERE = (
    "{} cannot be changed now: {}. Nothing of an open notebook is written on disk; let the person "
    "open it there, or say what to change."
)


@dataclass(frozen=True)
class Edit:
    """What the model asked for; cells are named as it named them."""

    action: Action
    cell: str = ""
    after: str = ""
    before: str = ""
    type: CellType = "code"
    source: str = ""


@dataclass(frozen=True)
class Change:
    """What an edit would do to a notebook as it is now. `cell` is the one that is there already,
    `above` the one to stand before the cell then: None at the top."""

    edit: Edit
    reading: Reading
    cell: Cell | None
    above: Cell | None

    @property
    def where(self) -> Where:
        return self.reading.where

    @cached_property
    def diff(self) -> Diff:
        old = self.cell.source if self.cell else ""
        return diff(_ended(old), _ended("" if self.edit.action == "delete" else self.edit.source))

    @property
    def place(self) -> str:
        return f"after cell {ref(self.above)}" if self.above else "at the top"

    @property
    def after(self) -> str | None:
        return ref(self.above) if self.above else None

    @property
    def first(self) -> str | None:
        """The cell that stands at the top, where another one is to stand there."""
        return self.ids[0] if not self.above and self.ids else None

    @property
    def basis(self) -> str:
        """Names the notebook, the cells in question and the edit."""
        cell = (self.cell.source, ref(self.cell)) if self.cell else None
        parts = [str(self.where.path), self.where.live, cell, self.after, vars(self.edit)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def ids(self) -> list[str]:
        return [ref(each) for each in self.reading.cells]


def planned(edit: Edit, reading: Reading, context: ToolContext) -> Change:
    """Raises `ToolFailed` where it cannot be done."""
    cells, cell, above = reading.cells, None, None
    if edit.action != "insert":
        if not edit.cell:
            raise EditRefused(f"Name the cell to {edit.action} by its id.")
        cell = find(cells, edit.cell)
    if edit.action in ("replace", "delete"):
        assert cell
        reading.where.refuse_unread(cell, context)
        if edit.action == "replace" and edit.source == cell.source:
            raise EditRefused(f"Cell {ref(cell)} holds that already; nothing was changed.")
    else:
        above = _above(edit, cells, cell)
    return Change(edit, reading, cell, above)


def _above(edit: Edit, cells: tuple[Cell, ...], moved: Cell | None) -> Cell | None:
    if edit.after and edit.before:
        raise EditRefused("A place is given twice; name after or before, not both.")
    others = [each for each in cells if moved is None or each.number != moved.number]
    if not edit.after and not edit.before:
        if moved:
            raise EditRefused("Say where to move it: after or before which cell.")
        return others[-1] if others else None
    beside = find(cells, edit.after or edit.before)
    if moved and beside.number == moved.number:
        raise EditRefused("A cell cannot be moved beside itself; name another one.")
    if edit.after:
        return beside
    return next((each for each in reversed(others) if each.number < beside.number), None)


@dataclass(frozen=True)
class Editor:
    """Makes changes, on the agent's thread."""

    notebooks: Notebooks
    undo: CellsUndo
    next_cell: NextCell

    async def look(self, edit: Edit, where: Where, context: ToolContext) -> Change:
        """What the edit would do. Raises `ToolFailed` where it cannot be done."""
        if not where.live and where.own and not self._offers(edit):
            raise ToolFailed(NOT_HERE.format(where.told, where.away.rstrip(".")))
        if not where.own and await self.notebooks.is_open(where):
            raise ToolFailed(OPEN.format(where.told))
        if where.own and not where.live:
            return Change(edit, Reading(where, ()), None, None)
        change = planned(edit, await self.notebooks.read(where, context), context)
        if change.reading.text:
            await in_thread(_spliced, change, change.reading.text, context)
        return change

    def _offers(self, edit: Edit) -> bool:
        return edit.action == "insert" and edit.type == "code" and self.next_cell.possible

    async def make(self, change: Change, context: ToolContext) -> str:
        """What was done, as a sentence or more."""
        if change.where.live:
            return await _whole(self._in_page(change, context))
        if change.where.own:
            await self.next_cell.offer(change.edit.source)
            return (
                "Offered as the next cell, below the one that runs, with what else this turn "
                f"offers: {change.where.away.rstrip('.')}. It is not run."
            )
        return await in_thread(_on_disk, change, context)

    async def _in_page(self, change: Change, context: ToolContext) -> str:
        document, edit, cell = self.notebooks.document, change.edit, change.cell
        turn, mark = (context.session.id, context.session.turn), _mark(context)
        above = [None, *change.ids][cell.number - 1] if cell else None  # where it stood
        done = ""
        if edit.action == "insert":
            name = await document.insert(
                edit.source,
                type=edit.type,
                after=change.after,
                before=change.first,
                metadata={"shiro": mark},
            )
            self.undo.note(turn, Inserted(name, edit.source))
            made = Cell(0, name, edit.type, edit.source, (), None, {})
            self.notebooks.changed(made, change.after)
            done = f"Inserted {edit.type} cell {name} {change.place}; it is not run."
        elif edit.action == "replace":
            assert cell
            name, before = ref(cell), cell.source
            await document.replace(name, edit.source, was=before, mark=mark)
            self.undo.note(turn, Replaced(name, before, edit.source, cell.metadata.get("shiro")))
            self.notebooks.changed(replace(cell, source=edit.source), above)
            done = f"Replaced cell {name}: {change.diff.sizes}; its outputs are of before."
        elif edit.action == "delete":
            assert cell
            name, ids = ref(cell), change.ids
            had = await document.delete(name, was=cell.source)
            below = [*ids, None][cell.number]
            self.undo.note(turn, Deleted(name, had, above, below))
            self.notebooks.changed(cell, None, gone=True)
            return f"Deleted cell {name} of {change.where.told}, in the open notebook."
        else:
            assert cell
            name = ref(cell)
            await document.move(name, after=change.after)
            self.undo.note(turn, Moved(name, above, change.after, cell.source))
            self.notebooks.changed(cell, change.after)
            return f"Moved cell {name} of {change.where.told} {change.place}."
        change.where.note_read(name, edit.source, context)
        return f"{done} {change.where.told} is open and not saved yet."


async def _whole(change: Coroutine[Any, Any, str]) -> str:
    """What the page may have done is noted for its undo, though the call is interrupted."""
    doing = asyncio.ensure_future(change)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        await settled(doing, PATIENCE)
        if doing.done() and not doing.cancelled():
            return doing.result()
        raise


def editor(
    document: LiveDocument, known: Path | None, undo: CellsUndo, next_cell: NextCell
) -> Editor:
    """`known` is the path of this kernel's notebook."""
    return Editor(Notebooks(document, known), undo, next_cell)


def _on_disk(change: Change, context: ToolContext) -> str:
    """Blocks."""
    path, text = change.where.path, change.reading.text
    assert path and text
    if context.resolved(str(path), resolve_target) != path:
        raise EditRefused(f"{change.where.told} leads elsewhere by now; call again.")
    new, name = _spliced(change, text, context)

    def attempt() -> bool:
        return context.write(Writing(path, text.data, new.data)) or _stale(change)

    retried(path, attempt)
    if change.edit.action in ("insert", "replace"):
        change.where.note_read(name, change.edit.source, context)
    done = {"insert": "Inserted", "replace": "Replaced", "delete": "Deleted", "move": "Moved"}
    place = "" if change.edit.action in ("replace", "delete") else f" {change.place}"
    return f"{done[change.edit.action]} cell {name} of {change.where.told}{place}; it is not run."


def _stale(change: Change) -> bool:
    raise EditRefused(f"{change.where.told} was saved meanwhile; nothing was done, call again.")


def _spliced(change: Change, text: NotebookText, context: ToolContext) -> tuple[NotebookText, str]:
    """The new file, and the name of the cell. Blocks; raises `EditRefused` where it would not be
    valid."""
    edit, cell = change.edit, change.cell
    name = ref(cell) if cell else ""
    if edit.action == "insert":
        new, name = text.insert(
            edit.source,
            type=edit.type,
            after=change.after,
            before=change.first,
            metadata={"shiro": _mark(context)},
        )
    elif cell and edit.action == "replace":
        new = text.replace(name, edit.source, metadata={"shiro": _mark(context)})
    elif edit.action == "delete":
        new = text.delete(name)
    else:
        new = text.move(name, after=change.after)
    if wrong := problem(new.data):
        raise EditRefused(
            f"{change.where.told} would not be a valid notebook, so it was not changed: {wrong}"
        )
    return new, name


def _mark(context: ToolContext) -> dict[str, Any]:
    return {"session": context.session.id, "turn": context.session.turn}


def _ended(text: str) -> str:
    return f"{text}\n" if text else ""
