"""The code that turns ran and no cell holds: it can be put into cells, in the order it ran.

A cell holds it where its lines stand in one, whoever wrote them there: by the cells of the open
notebook where a page shows it, else by what was run as a cell, or written into one, in this kernel.
"""

from __future__ import annotations

import re
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..core.errors import ToolFailed
from .describe import count
from .document import Cell
from .names_undo import Touched, Turn
from .sizes import size_of

PIECES = 300  # of code, the newest
SMALL = 10_000  # bytes of what is kept alive to know it again
WRITTEN = 300  # sources of cells
BELOW, END = "below the cell that asked", "at the end of the notebook"
OFFERED = "The code is offered as the next cell: run it there, or take it away."
_GONE: Any = object()
_WORD = re.compile(r"[^\W\d]\w*")


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
    """Code that changed names. `cell` is the one that asked, "" where none did; code that failed
    is not `ok`, and not kept, though what it bound before that is there."""

    turn: Turn
    cell: str
    code: str
    left: dict[str, _Same]
    ok: bool = True

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

    def ran(self, cell: str, code: str, touched: Touched, ok: bool) -> None:
        """Code of a turn ran, asked for in that cell. On main. The call of an own tool is no
        code to keep: it goes by the mark of the function."""
        if touched.turn and touched.names and "__shiro_tool__.call(" not in code:
            now = self._namespace
            left = {name: _Same(now[name]) for name in touched.names if name in now}
            self._pieces.append(Piece(touched.turn, cell, code, left, ok))

    def written(self, source: str) -> None:
        """A cell was given this source."""
        self._written.append(source)

    def forget(self, turn: Turn) -> None:
        """It was undone. On the agent's thread, while no code runs."""
        for piece in [each for each in self._pieces if each.turn == turn]:
            self._pieces.remove(piece)

    # -- what there is to keep -------------------------------------------------------------

    def names(self, turn: Turn) -> tuple[str, ...]:
        """Names that there is code of the turn to keep for, as far as is known without a page."""
        return self.left().get(turn, ())

    def left(self, sources: Sequence[str] | None = None) -> dict[Turn, tuple[str, ...]]:
        """The names of every turn that there is code to keep for, by default as `names`."""
        found: dict[Turn, dict[str, None]] = {}
        for each in self._live(self._known() if sources is None else sources, ok=True):
            found.setdefault(each.turn, {})[each.name] = None
        return {turn: tuple(names) for turn, names in found.items()}

    async def left_now(self) -> dict[Turn, tuple[str, ...]]:
        """As `left`, by the cells of the page that shows the notebook."""
        return self.left(await self._sources())

    async def unkept(self) -> tuple[Unkept, ...]:
        """Of all turns, the newest code of each name; asks the page that shows the notebook."""
        return tuple(self._live(await self._sources()))

    async def turns(self, session: str) -> dict[int, list[Piece]]:
        """The pieces to keep of each turn in which something is bound still, oldest first; and of
        earlier ones those that bound what these read."""
        sources = await self._sources()
        bound = {each.turn for each in self._live(sources, ok=True)}
        ours = [each for each in list(self._pieces) if each.ok and each.turn[0] == session]
        loose = [each for each in ours if not _holds(sources, each.code)]
        found: dict[int, list[Piece]] = {}
        for piece in with_needed(loose, lambda each: each.turn in bound):
            found.setdefault(piece.turn[1], []).append(piece)
        return found

    async def failed(self, session: str) -> list[str]:
        """The names that are bound still by code of it which failed, and so is not to be kept."""
        sources = await self._sources()
        well = {each.name for each in self._live(sources, ok=True)}
        found = [each for each in self._live(sources) if each.turn[0] == session]
        return [each.name for each in found if each.name not in well]

    def _live(self, sources: Sequence[str], *, ok: bool = False) -> list[Unkept]:
        """`ok`: only by code that ran well."""
        newest: dict[str, Unkept] = {}
        for piece in list(self._pieces):
            names = piece.names(self._namespace)
            if names and (piece.ok or not ok) and not _holds(sources, piece.code):
                newest |= {name: Unkept(name, piece.turn, piece.code) for name in names}
        return [each for each in newest.values() if is_told(each.name)]

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
        left, places = deque(pieces), dict[str, None]()
        try:
            async for place in self._inserted(left):
                places[place] = None
        except ToolFailed:
            if not offers:
                raise
            await self._offer("\n\n".join(piece.code.strip("\n") for piece in left))
            return OFFERED
        return f"Put {count(len(pieces), 'cell')} {' and '.join(places)}."

    async def _inserted(self, left: deque[Piece]) -> AsyncIterator[str]:
        """Takes each off when it is in a cell; answers where that stands."""
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
            yield BELOW if after else END


def with_needed(pieces: Sequence[Piece], wanted: Callable[[Piece], bool]) -> list[Piece]:
    """Those that are wanted, and those before them that bound what they read."""
    found: list[Piece] = []
    read: set[str] = set()
    for piece in reversed(pieces):
        if wanted(piece) or read & piece.left.keys():
            found.append(piece)
            read.update(_WORD.findall(piece.code))
    return found[::-1]


def is_told(name: str) -> bool:
    """Scratch names are not."""
    return not name.startswith("_")


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
