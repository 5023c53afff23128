"""The code that turns ran and no cell holds: it can be put into cells, in the order it ran.

A cell holds it where its lines stand in one, whoever wrote them there: by the cells of the open
notebook where a page shows it, else by what was run as a cell, or written into one, in this kernel.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..core.errors import ToolFailed
from .contents import size_of
from .document import Cell
from .names_undo import Touched, Turn

PIECES = 300  # of code, the newest
SMALL = 10_000  # bytes of what is kept alive to know it again
WRITTEN = 300  # sources of cells
_GONE: Any = object()


class Notebook(Protocol):
    """The open notebook. Raises `ToolFailed` where no page shows it."""

    async def read(self) -> tuple[Cell, ...]: ...

    async def insert(
        self, source: str, *, after: str | None, metadata: dict[str, Any] | None
    ) -> str: ...


class _Same:
    """Knows a value again, and keeps none alive that is large."""

    def __init__(self, value: Any) -> None:
        self._id, self._small = id(value), _GONE
        self._reference: Callable[[], Any] | None = None
        try:
            self._reference = weakref.ref(value)
        except TypeError:  # a list, a number
            if size_of(value) <= SMALL:
                self._small = value

    def is_(self, value: Any) -> bool:
        if self._reference is not None:
            known = self._reference()
            return known is not None and known is value
        return self._id == id(value)


@dataclass(frozen=True)
class Piece:
    """Code that ran well and changed names. `cell` is the one that asked, "" where none did."""

    turn: Turn
    cell: str
    code: str
    left: dict[str, _Same]

    def names(self, namespace: dict[str, Any]) -> list[str]:
        """Those that are bound still to what it left."""
        return [name for name, same in self.left.items() if same.is_(namespace.get(name, _GONE))]


@dataclass(frozen=True)
class Unkept:
    """A name whose value comes from code that no cell holds, and of which turn it is."""

    name: str
    turn: Turn
    code: str


class KeptCode:
    """`namespace` is the person's; `history` answers what they ran as cells so far, `offer` has the
    front end make a next cell, while a cell runs."""

    def __init__(
        self,
        namespace: dict[str, Any],
        notebook: Notebook,
        history: Callable[[], Iterable[str]],
        offer: Callable[[str], Awaitable[object]],
    ) -> None:
        self._namespace, self._notebook = namespace, notebook
        self._history, self._offer = history, offer
        self._pieces: deque[Piece] = deque(maxlen=PIECES)
        self._written: deque[str] = deque(maxlen=WRITTEN)

    # -- while turns run -------------------------------------------------------------------

    def ran(self, cell: str, code: str, touched: Touched) -> None:
        """Code of a turn ran well, asked for in that cell. On main."""
        if touched.turn and touched.names:
            now = self._namespace
            left = {name: _Same(now[name]) for name in touched.names if name in now}
            self._pieces.append(Piece(touched.turn, cell, code, left))

    def written(self, source: str) -> None:
        """A cell was given this source."""
        self._written.append(source)

    def forget(self, turn: Turn) -> None:
        """It was undone. On the agent's thread, while no code runs."""
        for piece in [each for each in self._pieces if each.turn == turn]:
            self._pieces.remove(piece)

    # -- what there is to keep -------------------------------------------------------------

    def names(self, turn: Turn) -> tuple[str, ...]:
        """Names that the turn's code binds still, as far as is known without asking a page."""
        found = [each for each in self._live(self._known()) if each.turn == turn]
        return tuple(dict.fromkeys(each.name for each in found))

    async def unkept(self) -> tuple[Unkept, ...]:
        """Of all turns, the newest code of each name; asks the page that shows the notebook."""
        return tuple(self._live(await self._sources()))

    async def turns(self, session: str) -> dict[int, list[Piece]]:
        """The pieces to keep of each turn in which something is bound still, oldest first."""
        sources = await self._sources()
        bound = {each.turn for each in self._live(sources)}
        found: dict[int, list[Piece]] = {}
        for piece in list(self._pieces):
            if piece.turn in bound and piece.turn[0] == session and not _holds(sources, piece.code):
                found.setdefault(piece.turn[1], []).append(piece)
        return found

    def _live(self, sources: Sequence[str]) -> list[Unkept]:
        newest: dict[str, Unkept] = {}
        for piece in list(self._pieces):
            held = _holds(sources, piece.code)
            for name in piece.names(self._namespace):
                if not held and not name.startswith("_"):
                    newest[name] = Unkept(name, piece.turn, piece.code)
        return list(newest.values())

    async def _sources(self) -> list[str]:
        try:
            return [cell.source for cell in await self._notebook.read() if cell.type == "code"]
        except ToolFailed:
            return self._known()

    def _known(self) -> list[str]:
        return [*self._history(), *self._written]

    # -- keeping it ------------------------------------------------------------------------

    async def keep(self, pieces: Sequence[Piece], *, offers: bool) -> str:
        """Put them into cells; what to say of that. Raises `ToolFailed` where no page shows the
        notebook, unless `offers`: then all are offered as one next cell."""
        left, places = deque(pieces), set[bool]()
        try:
            async for below in self._inserted(left):
                places.add(below)
        except ToolFailed:
            if not offers:
                raise
            await self._offer("\n\n".join(piece.code.strip("\n") for piece in left))
            return "The code is offered as the next cell: run it there, or delete it."
        cells = "cell" if len(pieces) == 1 else "cells"
        where = {
            (True,): "below the cell that asked",
            (False,): "at the end of the notebook",
        }.get(tuple(places), "below the cells that asked, and at the end of the notebook")
        return f"Put {len(pieces)} {cells} {where}."

    async def _inserted(self, left: deque[Piece]) -> AsyncIterator[bool]:
        """Takes each off when it is in a cell; whether that stands below the one that asked."""
        places: dict[str, str | None] = {}
        cells = await self._notebook.read()
        while left:
            piece = left[0]
            session, turn = piece.turn
            after = places.setdefault(piece.cell, _last_below(cells, piece.cell))
            source, mark = piece.code.strip("\n"), {"session": session, "turn": turn}
            made = await self._notebook.insert(source, after=after, metadata={"shiro": mark})
            left.popleft()
            places[piece.cell] = made if after else None
            yield after is not None


def _last_below(cells: Sequence[Cell], asked: str) -> str | None:
    """The last of the cells right below one that turns wrote; None where that one is gone."""
    ids = [cell.id for cell in cells]
    if asked not in ids:
        return None
    at = ids.index(asked)
    while at + 1 < len(cells) and "shiro" in cells[at + 1].metadata:
        at += 1
    return ids[at]


def _holds(sources: Iterable[str], code: str) -> bool:
    lines = _lines(code)
    return any(lines in _lines(source) for source in sources)


def _lines(source: str) -> str:
    """Without what no one sees: empty lines, and spaces at line ends."""
    kept = [line.rstrip() for line in source.splitlines() if line.strip()]
    return "\n" + "\n".join(kept) + "\n"
