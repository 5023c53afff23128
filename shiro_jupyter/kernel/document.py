"""The open notebook of this kernel as it is in the page: unsaved, with outputs, by cell id.

What a page answers is checked here: it may be older than the kernel, or no page of ours at all.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from ..core.errors import ToolFailed
from ..core.tools.base import bounded, printable
from .pages import ASK_SECONDS

T = TypeVar("T")
CellType = Literal["code", "markdown", "raw"]
Output = dict[str, Any]  # as in a notebook file, bounded
# Has the page that shows this kernel's notebook do something: the op, its arguments, and the
# seconds it may take. Answers its value; raises `ToolFailed`.
Ask = Callable[[str, dict[str, Any], float], Awaitable[object]]

FIRST_LINE = 40  # characters of a cell, in what it is called
WATCH_SECONDS = 0.5  # between two looks at whether a run can still end
HELD = (
    "The notebook's kernel is held by a %shiro cell until this turn has ended, so that no other "
    "cell can run: use run_python for the code, or run the cell in a turn in the background."
)
BEHIND = (
    "The cell is queued behind a %shiro cell that waits for this turn: it runs once the turn has "
    "ended, so do not run it again."
)


@dataclass(frozen=True)
class OutlineCell:
    id: str
    type: CellType
    lines: int
    execution_count: int | None
    running: bool  # or queued


@dataclass(frozen=True)
class Outline:
    """The cells from top to bottom. `path` is the server's; `dirty`: not saved as it is."""

    path: str
    dirty: bool
    trusted: bool
    cells: tuple[OutlineCell, ...]


@dataclass(frozen=True)
class Cell:
    """`outputs` is None where they were not asked for, or there can be none.

    A text of an output over 20,000 characters is cut in its middle; an image that was not asked
    for, and other large data, is `{"mime": …, "bytes": …}` in the output's bundle.
    """

    id: str
    type: CellType
    source: str
    metadata: dict[str, Any]
    execution_count: int | None
    outputs: tuple[Output, ...] | None = None
    shown: tuple[str, ...] = ()  # the type of each output it has


@dataclass(frozen=True)
class Ran:
    """What came of a cell that has ended. `aborted`: an error before it took it off the queue."""

    status: Literal["ok", "error", "aborted"]
    execution_count: int | None
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class _Cells:
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class _Inserted:
    id: str


@dataclass(frozen=True)
class _Done:
    kept: dict[str, Any] | None = None  # a deleted cell


@dataclass(frozen=True)
class _Changed:
    changed: str  # the source that stands there instead of the expected one


def called(source: str, number: int | None = None) -> str:
    """A cell for people, to whom no page shows its id: its place in the notebook, where that is
    known, and the first line it has."""
    first = next(filter(None, map(str.strip, source.splitlines())), "")
    line = printable(first if len(first) <= FIRST_LINE else f"{first[:FIRST_LINE]}…")
    if number is None:
        return f"cell `{line}`" if line else "an empty cell"
    return f"cell {number} (`{line}`)" if line else f"cell {number}"


class LiveDocument:
    """On the agent's thread. Every method raises `ToolFailed` where no page has the notebook
    open, the page cannot do what is asked, or it does not make sense of it.

    Inserting, replacing, deleting and moving are one step of undo each, for the person to take.
    `held` says whether a cell of ours keeps main until its turn has ended.
    """

    def __init__(
        self, ask: Ask, held: Callable[[], bool], there: Callable[[], bool] = lambda: True
    ) -> None:
        self._page, self._held, self._there = ask, held, there
        self.wrote: Callable[[str], object] = lambda source: None  # told each source of a cell

    @property
    def there(self) -> bool:
        """Whether a page has said that it has the notebook open."""
        return self._there()

    @property
    def held(self) -> bool:
        """Whether no cell can run until this turn has ended."""
        return self._held()

    async def open_elsewhere(self) -> tuple[str, ...]:
        """The notebooks that are open in the page's window, by the paths the server has."""
        return await self._ask(tuple[str, ...], "open", {})

    async def outline(self) -> Outline:
        return await self._ask(Outline, "outline", {})

    async def read(
        self, ids: Sequence[str] | None = None, *, outputs: bool = False, images: bool = False
    ) -> tuple[Cell, ...]:
        """The cells with these ids, in this order; None: all."""
        wanted = None if ids is None else list(ids)
        args = {"cells": wanted, "outputs": outputs, "images": images}
        return (await self._ask(_Cells, "read", args)).cells

    async def insert(
        self,
        source: str,
        *,
        type: CellType = "code",  # noqa: A002
        after: str | None = None,
        before: str | None = None,
        metadata: dict[str, Any] | None = None,
        had: Mapping[str, Any] | None = None,
    ) -> str:
        """The id of the new cell, which stands at the end where no place is named. `had`: id,
        outputs and execution count that it had before it was deleted."""
        place = {"before": before} if before is not None else {"after": after}
        args = {**place, "type": type, "source": source, "metadata": metadata or {}, **(had or {})}
        made = (await self._ask(_Inserted, "insert", args)).id
        self.wrote(source)
        return made

    async def replace(
        self, cell: str, source: str, *, was: str, mark: Mapping[str, Any] | None = None
    ) -> None:
        """Nothing is done, and the error holds the source as it is, where that is not `was`.

        `mark` is what its metadata says of whose words it is; None takes that out.
        """
        args = {"id": cell, "source": source, "was": was, "mark": mark}
        await self._ask(_Done, "replace", args)
        self.wrote(source)

    async def delete(self, cell: str, *, was: str) -> dict[str, Any]:
        """Nothing is done, and the error holds the source as it is, where that is not `was`.

        Answers the cell as a notebook file has it; without its outputs where that is over 2 MB.
        """
        done = await self._ask(_Done, "delete", {"id": cell, "was": was})
        return done.kept or {}

    async def move(self, cell: str, *, after: str | None) -> None:
        """None: to the top."""
        await self._ask(_Done, "move", {"id": cell, "after": after})

    async def run(self, cell: str, *, was: str | None = None, images: bool = False) -> Ran:
        """Run a cell as the person would, and wait until it has ended, however long it takes.

        Nothing is run where its source is not `was`. Cancelling ends the wait, not the cell.
        """
        if self._held():
            raise ToolFailed(HELD)
        args = {"id": cell, "was": was, "images": images}
        answer = asyncio.ensure_future(self._ask(Ran, "run", args, math.inf))
        try:
            while not (await asyncio.wait({answer}, timeout=WATCH_SECONDS))[0]:
                # A %shiro cell came first: it ends after this turn, which would end after it.
                if self._held():
                    raise ToolFailed(BEHIND)
            return answer.result()
        finally:
            answer.cancel()

    async def patch(
        self, cell: str, outputs: Sequence[Output], execution_count: int | None = None
    ) -> None:
        """Show outputs, as a notebook file has them, of code that was run for this cell."""
        args = {"id": cell, "outputs": list(outputs), "execution_count": execution_count}
        await self._ask(_Done, "patch", args)

    async def _ask(
        self, kind: type[T], op: str, args: dict[str, Any], seconds: float = ASK_SECONDS
    ) -> T:
        answer = await self._page(op, args, seconds)
        try:
            if isinstance(answer, dict) and answer.get("changed") is not None:
                changed = TypeAdapter(_Changed).validate_python(answer).changed
                raise ToolFailed(
                    f"Nothing was done, since cell {args['id']} has changed since it was read; "
                    f"start from its source as it is now:\n{bounded(changed)}"
                )
            return TypeAdapter(kind).validate_python(answer)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "answer"
            raise ToolFailed(
                f"The page's answer to {op} makes no sense ({where}: {first['msg']}): upgrade "
                "shiro_jupyter where JupyterLab runs, and reload the page."
            ) from None
