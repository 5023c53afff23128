"""The cells of the open notebook that a turn changed, held so that they can be put back.

In memory, by cell id: they go back through a page, into the notebook as it is there then. On the
agent's thread.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..core.errors import ToolFailed
from ..core.notebook.stored import joined
from .document import Cell, LiveDocument, called

TURNS = 20  # the newest, of which anything is held
HELD = 16_000_000  # characters of deleted cells, with their outputs, that are held in all

SINCE = "it was changed since"
MOVED = "it, or the cell above it, was moved since"
NO_PLACE = "the cell that it stood behind is gone"
DELETED = "it was deleted since"
THERE = "a cell of that id is there again"
BARE = "without its outputs, which were too large to hold"

Turn = tuple[str, int]  # of which session, and which one of it
State = Literal["restored", "removed", "kept", "failed"]


@dataclass(frozen=True)
class Inserted:
    cell: str
    source: str


@dataclass(frozen=True)
class Replaced:
    """`mark` is what the metadata said before of whose words it is."""

    cell: str
    before: str
    after: str
    mark: dict[str, Any] | None


@dataclass
class Deleted:
    """`had` is the cell as a notebook file has it; without outputs where these are not held."""

    cell: str
    had: dict[str, Any]
    above: str | None  # the cells before and behind it
    below: str | None

    size: int = field(init=False)  # characters of the outputs that are held

    def __post_init__(self) -> None:
        self.size = len(json.dumps(self.had.get("outputs", ())))

    def let_go(self) -> None:
        """Hold the outputs no more."""
        self.had.pop("outputs", None)
        self.size = 0


@dataclass(frozen=True)
class Moved:
    """Which cell stood before it, and stands before it now; None where it is the first."""

    cell: str
    above: str | None
    above_now: str | None
    source: str


Change = Inserted | Replaced | Deleted | Moved


@dataclass(frozen=True)
class Undone:
    """What became of one cell, and why it was not put back, or not as the turn found it. `called`
    is the cell for people."""

    cell: str
    state: State
    why: str = ""
    called: str = ""


@dataclass
class CellsUndo:
    _turns: dict[Turn, list[Change]] = field(default_factory=dict)

    def note(self, turn: Turn, change: Change) -> None:
        """That turn has made this change."""
        changes = self._turns.pop(turn, [])
        self._turns[turn] = [*changes, change]
        for old in list(self._turns)[:-TURNS]:
            del self._turns[old]
        room = HELD
        for each in reversed([each for made in self._turns.values() for each in made]):
            if isinstance(each, Deleted):
                if each.size > room:
                    each.let_go()
                room -= each.size

    def turns(self, session: str) -> list[int]:
        """Those of a session that can be undone."""
        return [turn for of, turn in self._turns if of == session]

    def cells(self, turn: Turn) -> list[str]:
        """The cells that the turn changed, as people call them."""
        return list(
            {each.cell: called(_source(each)) for each in self._turns.get(turn, ())}.values()
        )

    async def undo(self, turn: Turn, document: LiveDocument) -> list[Undone]:
        """Put back what the turn changed, the last change first: each cell for itself. What the
        page could not do is tried again by the next undo."""
        done: dict[str, Undone] = {}
        left: list[Change] = []
        changes = self._turns.pop(turn, [])
        while changes:
            change = changes.pop()
            known = done.get(change.cell)
            if known and known.state == "kept":
                continue
            try:
                cells = await document.read()
            except ToolFailed as error:  # nor would it hear of the others
                left = [*changes, change, *left]
                done |= {
                    each.cell: Undone(each.cell, "failed", str(error), called(_source(each)))
                    for each in left
                }
                break
            try:
                undone = await _put_back(change, cells, document)
            except ToolFailed as error:
                undone = Undone(change.cell, "failed", str(error))
                mine = [each for each in changes if each.cell == change.cell]
                changes = [each for each in changes if each.cell != change.cell]
                left = [*mine, change, *left]
            why = undone.why or (known.why if known else "")
            done[change.cell] = replace(undone, why=why, called=_called(undone, change, cells))
        if left:
            self._turns[turn] = left
        return list(done.values())


def _source(change: Change) -> str:
    """Of the cell, as it is put back, or was made."""
    match change:
        case Replaced():
            return change.before
        case Deleted():
            return joined(change.had.get("source"))
        case _:
            return change.source


def _called(undone: Undone, change: Change, cells: Sequence[Cell]) -> str:
    """The cell by its place among those, or where it goes back to."""
    ids = [each.id for each in cells]
    if change.cell in ids:
        at = ids.index(change.cell)
        return called(cells[at].source if undone.state == "kept" else _source(change), at + 1)
    if undone.state == "restored" and isinstance(change, Deleted) and change.above in ids:
        return called(_source(change), ids.index(str(change.above)) + 2)
    return called(_source(change))


async def _put_back(change: Change, cells: Sequence[Cell], document: LiveDocument) -> Undone:
    ids = [each.id for each in cells]
    if isinstance(change, Deleted):
        return await _return(change, ids, document)
    id = change.cell  # noqa: A001
    if id not in ids:
        return Undone(id, "kept", DELETED)
    now = cells[ids.index(id)].source
    match change:
        case Inserted() if now == change.source:
            await document.delete(id, was=now)
            return Undone(id, "removed")
        case Replaced() if now == change.after:
            await document.replace(id, change.before, was=now, mark=change.mark)
        case Moved() if _above(ids, id) != change.above_now:
            return Undone(id, "kept", MOVED)
        case Moved() if change.above is not None and change.above not in ids:
            return Undone(id, "kept", NO_PLACE)
        case Moved():
            await document.move(id, after=change.above)
        case _:
            return Undone(id, "kept", SINCE)
    return Undone(id, "restored")


async def _return(change: Deleted, ids: Sequence[str], document: LiveDocument) -> Undone:
    if change.cell in ids:
        return Undone(change.cell, "kept", THERE)
    had = change.had
    place: dict[str, str] = {}
    if change.above in ids:
        place = {"after": str(change.above)}
    elif change.below in ids:
        place = {"before": str(change.below)}
    kept: dict[str, Any] = {
        name: had[name] for name in ("outputs", "execution_count") if name in had
    }
    await document.insert(
        joined(had.get("source")),
        type=had.get("cell_type", "code"),
        metadata=had.get("metadata"),
        had={"id": change.cell, **kept},
        **place,
    )
    bare = had.get("cell_type") == "code" and "outputs" not in had
    return Undone(change.cell, "restored", BARE if bare else "")


def _above(ids: Sequence[str], cell: str) -> str | None:
    at = ids.index(cell)
    return ids[at - 1] if at else None
