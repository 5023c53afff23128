"""Code that no cell holds is known, and put into cells where it belongs."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.kernel.document import Cell
from shiro_jupyter.kernel.kept_code import BELOW, END, OFFERED, KeptCode, Unkept
from shiro_jupyter.kernel.names_undo import NamesUndo, Touched


class Notebook:
    """An open notebook; `closes` says after how many insertions its page goes."""

    def __init__(self, *cells: tuple[str, str]) -> None:
        self.cells = [Cell(each, "code", source, {}, None) for each, source in cells]
        self.wrote: Callable[[str], None] = lambda source: None
        self.closes: int | None = None

    async def read(self) -> tuple[Cell, ...]:
        if self.closes == 0:
            raise ToolFailed("no page")
        return tuple(self.cells)

    async def insert(
        self, source: str, *, after: str | None, metadata: dict[str, Any] | None
    ) -> str:
        if self.closes is not None:
            if not self.closes:
                raise ToolFailed("no page")
            self.closes -= 1
        ids = [cell.id for cell in self.cells]
        at = ids.index(after) + 1 if after else len(ids)
        self.cells.insert(at, Cell(f"new-{len(ids)}", "code", source, metadata or {}, None))
        self.wrote(source)
        return f"new-{len(ids)}"

    @property
    def sources(self) -> list[str]:
        return [cell.source for cell in self.cells]


class Desk:
    def __init__(self, *cells: tuple[str, str]) -> None:
        self.notebook = Notebook(*cells)
        self.names: dict[str, Any] = {}
        self.history: list[str] = []
        self.offered: list[str] = []
        self.kept = KeptCode(self.names, self.notebook, lambda: self.history, self.offer)
        self.notebook.wrote = self.kept.written
        self.number = 1
        self.undo = NamesUndo(self.names, lambda: ("s", self.number))

    async def offer(self, source: str) -> None:
        self.offered.append(source)

    def run(self, *codes: str, cell: str = "ask", turn: int = 1) -> None:
        self.number = turn
        for code in codes:
            ok = True
            with self.undo.watched(code) as touched, suppress(ZeroDivisionError):
                ok = False
                exec(code, {}, self.names)
                ok = True
            self.kept.ran(cell, code, touched, ok)

    def keep(self, *turns: int, offers: bool = True) -> str:
        async def work() -> str:
            found = await self.kept.turns("s")
            pieces = [piece for turn in turns or found for piece in found[turn]]
            return await self.kept.keep(pieces, offers=offers)

        return asyncio.run(work())

    def unkept(self) -> dict[str, int]:
        return {each.name: each.turn[1] for each in asyncio.run(self.kept.unkept())}


def test_cells_come_below_the_one_that_asked_in_the_order_the_code_ran() -> None:
    desk = Desk(("top", "x"), ("ask", "%shiro a"), ("end", "y"))
    desk.run("a = [1]\n", "a.append(2)", "len(a)", "b = a; c = 1", "del c")
    assert desk.kept.names(("s", 1)) == ("a", "b") and desk.unkept() == {"a": 1, "b": 1}
    assert desk.keep() == f"Put 4 cells {BELOW}."
    kept = ["a = [1]", "a.append(2)", "b = a; c = 1", "del c"]
    assert desk.notebook.sources == ["x", "%shiro a", *kept, "y"]
    assert desk.notebook.cells[2].metadata == {"shiro": {"session": "s", "turn": 1}}
    assert desk.unkept() == {} and desk.kept.names(("s", 1)) == ()
    assert asyncio.run(desk.kept.turns("s")) == {}


def test_a_later_turn_of_the_same_cell_comes_below_what_is_there() -> None:
    desk = Desk(("ask", "%shiro a"), ("end", "y"))
    desk.run("a = 1000")
    desk.keep()
    desk.run("b = 2000", turn=2)
    assert desk.keep(2) == f"Put 1 cell {BELOW}."
    assert desk.notebook.sources == ["%shiro a", "a = 1000", "b = 2000", "y"]


def test_what_no_cell_asked_for_comes_at_the_end() -> None:
    desk = Desk(("ask", "%shiro a"), ("end", "y"))
    desk.run("a = 1000", "b = 2000", cell="")
    desk.run("c = 3000", cell="gone", turn=2)
    desk.run("d = 4000", turn=3)
    assert desk.keep() == f"Put 4 cells {END} and {BELOW}."
    assert desk.notebook.sources == [
        "%shiro a",
        "d = 4000",
        "y",
        "a = 1000",
        "b = 2000",
        "c = 3000",
    ]


def test_code_that_the_person_pasted_is_in_a_cell() -> None:
    desk = Desk(
        ("ask", "%shiro a"), ("mine", "import os\n\na = 1000  \n\nif a:\n\n    b = a\nprint(b)")
    )
    desk.run("a = 1000", "if a:\n    b = a", "c = a")
    assert desk.unkept() == {"c": 1}
    assert desk.keep() == f"Put 1 cell {BELOW}."
    assert desk.notebook.sources[1] == "c = a"


def test_what_failed_is_not_kept_though_it_is_known() -> None:
    desk = Desk(("ask", "%shiro a"))
    desk.run("a = 1000; 1 / 0", "b = 2000")
    assert desk.kept.names(("s", 1)) == ("b",) and desk.unkept() == {"a": 1, "b": 1}
    desk.keep()
    assert desk.notebook.sources == ["%shiro a", "b = 2000"] and desk.unkept() == {"a": 1}
    assert asyncio.run(desk.kept.turns("s")) == {}


def test_part_of_a_longer_line_is_not_the_code() -> None:
    desk = Desk(("mine", "aa = 1000"), ("other", "a = 10000"))
    desk.run("a = 1000")
    assert desk.unkept() == {"a": 1}


def test_without_a_page_what_was_run_as_a_cell_counts() -> None:
    desk = Desk()
    desk.notebook.closes = 0
    desk.run("a = 1000", "b = 2000", "c = 3000")
    desk.history.append("b = 2000\nprint(b)")
    desk.kept.written("c = 3000")
    assert desk.unkept() == {"a": 1}
    assert desk.keep() == OFFERED and desk.offered == ["a = 1000"]
    with pytest.raises(ToolFailed, match="no page"):
        desk.keep(offers=False)


def test_a_page_that_goes_halfway_has_what_it_took() -> None:
    desk = Desk(("ask", "%shiro a"))
    desk.run("a = 1000", "b = 2000", "c = 3000")
    pieces = asyncio.run(desk.kept.turns("s"))[1]
    desk.notebook.closes = 1
    assert asyncio.run(desk.kept.keep(pieces, offers=True)) == OFFERED
    assert desk.notebook.sources == ["%shiro a", "a = 1000"]
    assert desk.offered == ["b = 2000\n\nc = 3000"]


def test_a_cell_that_was_taken_away_again_holds_nothing() -> None:
    desk = Desk(("ask", "%shiro a"))
    desk.run("a = 1000")
    desk.keep()
    del desk.notebook.cells[1]
    assert desk.unkept() == {"a": 1}


def test_only_names_that_are_bound_still_count() -> None:
    desk = Desk(("ask", "%shiro a"))
    desk.run("a = [1]; b = 1000; _c = {1}; f = lambda: 1; d = None")
    assert desk.unkept() == {"a": 1, "b": 1, "f": 1, "d": 1}
    desk.names["a"] = [1]
    del desk.names["f"]
    assert desk.unkept() == {"b": 1, "d": 1}
    desk.names["b"] = desk.names["d"] = "mine"
    assert desk.unkept() == {} and asyncio.run(desk.kept.turns("s")) == {}


def test_the_newest_code_of_a_name_is_told_and_an_undone_turn_is_not() -> None:
    desk = Desk(("ask", "%shiro a"))
    desk.run("a = [1]")
    desk.run("a.append(2)", turn=2)
    assert asyncio.run(desk.kept.unkept()) == (Unkept("a", ("s", 2), "a.append(2)"),)
    desk.undo.undo(("s", 2))
    desk.kept.forget(("s", 2))
    assert desk.names == {"a": [1]} and desk.unkept() == {"a": 1}
    desk.undo.undo(("s", 1))
    assert desk.unkept() == {}


def test_what_kept_code_reads_is_kept_with_it() -> None:
    desk = Desk(("ask", "%shiro load"), ("then", "%shiro add"))
    desk.run("total = 5", "other = 1", "def _one(v): return v + 1")
    desk.names["other"] = "theirs"  # which nothing kept reads
    desk.run("total = _one(total)", cell="then", turn=2)
    desk.keep(1, 2)
    assert desk.notebook.sources == [
        "%shiro load",
        "total = 5",
        "def _one(v): return v + 1",
        "%shiro add",
        "total = _one(total)",
    ]


def test_another_session_has_code_of_its_own() -> None:
    desk = Desk(("ask", "%shiro a"))
    desk.run("a = 1000")
    assert asyncio.run(desk.kept.turns("other")) == {} and desk.unkept() == {"a": 1}


def test_a_large_list_is_not_kept_alive() -> None:
    class Marked:
        pass

    desk = Desk()
    desk.names["Marked"] = Marked
    desk.run("a = [Marked()] * 100_000; b = [1]")
    gone = weakref.ref(desk.names["a"][0])
    assert desk.unkept() == {"a": 1, "b": 1}
    desk.undo.undo(("s", 1))  # which held it until then
    gc.collect()
    assert gone() is None and desk.unkept() == {}


def test_the_call_of_an_own_tool_is_no_code_to_keep() -> None:
    desk = Desk()
    desk.names["x"] = 1
    desk.kept.ran("", "rows.__shiro_tool__.call()  # x", Touched(("s", 1), ("x",)), True)
    assert desk.kept.names(("s", 1)) == ()
    desk.kept.ran("", "x = 1", Touched(("s", 1), ("x",)), True)
    assert desk.kept.names(("s", 1)) == ("x",)
