from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

import pytest

from shiro_jupyter.kernel import cells_undo
from shiro_jupyter.kernel.cells_undo import (
    BARE,
    DELETED,
    MOVED,
    NO_PLACE,
    SINCE,
    THERE,
    CellsUndo,
    Deleted,
    Inserted,
    Moved,
    Replaced,
    Undone,
)
from tests.support.live_pages import LivePage, code, markdown

TURN = ("session", 1)
MARK = {"session": "session", "turn": 1}
OUTPUT = {"output_type": "stream", "name": "stdout", "text": "hi\n"}


def a_page() -> LivePage:
    first = code("a", "a = 1", outputs=[OUTPUT], count=3, metadata={"tags": ["x"]})
    return LivePage([first, markdown("b", "# B"), code("c", "c = 3")])


class Turn:
    """A turn that changes cells of a page, as the tool does and notes it."""

    def __init__(self, page: LivePage) -> None:
        self.page, self.undo, self.document = page, CellsUndo(), page.document

    async def insert(self, source: str, after: str) -> str:
        name = await self.document.insert(source, after=after, metadata={"shiro": MARK})
        self.undo.note(TURN, Inserted(name, source))
        return name

    async def replace(self, name: str, source: str) -> None:
        before = self.page.cell(name)
        was, mark = before["source"], before.get("metadata", {}).get("shiro")
        await self.document.replace(name, source, was=was, mark=MARK)
        self.undo.note(TURN, Replaced(name, was, source, mark))

    async def delete(self, name: str) -> None:
        ids, source = self.page.ids, self.page.cell(name)["source"]
        at = ids.index(name)
        had = await self.document.delete(name, was=source)
        self.undo.note(TURN, Deleted(name, had, [None, *ids][at], [*ids, None][at + 1]))

    async def move(self, name: str, after: str | None) -> None:
        above = [None, *self.page.ids][self.page.ids.index(name)]
        source = self.page.cell(name)["source"]
        await self.document.move(name, after=after)
        self.undo.note(TURN, Moved(name, above, after, source))


def undone(
    page: LivePage,
    does: Callable[[Turn], Awaitable[object]],
    meanwhile: Callable[[LivePage], object] = lambda page: None,
) -> tuple[list[Undone], Turn]:
    turn = Turn(page)

    async def run() -> list[Undone]:
        await does(turn)
        meanwhile(page)
        return await turn.undo.undo(TURN, turn.document)

    return asyncio.run(run()), turn


async def _everything(turn: Turn) -> None:
    new = await turn.insert("new = 1", "a")
    await turn.replace(new, "new = 2")
    await turn.replace("c", "c = 4")
    await turn.move("c", None)
    await turn.delete("b")
    await turn.delete("a")


def test_a_notebook_is_as_it_was_whatever_a_turn_did_to_it() -> None:
    page, before = a_page(), a_page()
    done, turn = undone(page, _everything)
    assert page.ids == before.ids
    for name in before.ids:
        for part in ("type", "source", "outputs", "count"):
            assert (page.cell(name).get(part) or None) == before.cell(name).get(part)
        assert page.cell(name).get("metadata", {}) == before.cell(name).get("metadata", {})
    states = {each.cell: each.state for each in done}
    assert states.pop("new-1") == "removed"
    assert states == dict.fromkeys("abc", "restored")
    called = {each.cell: each.called for each in done}
    assert called == {
        "a": "cell 2 (`a = 1`)",
        "b": "cell 4 (`# B`)",
        "c": "cell 4 (`c = 3`)",
        "new-1": "cell 2 (`new = 1`)",
    }
    assert not turn.undo.turns("session")


@pytest.mark.parametrize(
    ("does", "meanwhile", "why"),
    [
        (lambda it: it.insert("x", "a"), lambda page: page.cells[1].update(source="mine"), SINCE),
        (lambda it: it.replace("a", "x"), lambda page: page.cell("a").update(source="y"), SINCE),
        (lambda it: it.replace("a", "x"), lambda page: page.cells.pop(0), DELETED),
        (lambda it: it.delete("a"), lambda page: page.cells.append(code("a", "again")), THERE),
        (lambda it: it.move("a", "c"), lambda page: page.cells.reverse(), MOVED),
        (lambda it: it.move("c", None), lambda page: page.cells.pop(2), NO_PLACE),
    ],
    ids=["inserted", "replaced", "replaced and deleted", "deleted", "moved", "no place"],
)
def test_what_the_person_changed_since_is_left_as_it_is(
    does: Any, meanwhile: Callable[[LivePage], object], why: str
) -> None:
    page, left = a_page(), list[dict[str, Any]]()

    def person(page: LivePage) -> None:
        meanwhile(page)
        left.extend(deepcopy(page.cells))

    (done,), turn = undone(page, does, person)
    assert (done.state, done.why) == ("kept", why)
    assert page.cells == left
    assert not turn.undo.turns("session")


def test_of_a_cell_that_was_changed_since_nothing_before_that_is_put_back() -> None:
    async def twice(turn: Turn) -> None:
        await turn.replace("a", "one")
        await turn.replace("a", "two")

    page = a_page()
    (done,), _ = undone(page, twice, lambda page: page.cell("a").update(source="mine"))
    assert done == Undone("a", "kept", SINCE, "cell 1 (`mine`)")
    assert page.cell("a")["source"] == "mine"


def test_where_both_its_neighbours_are_gone_a_deleted_cell_comes_back_at_the_end() -> None:
    page = a_page()
    undone(page, lambda it: it.delete("b"), lambda page: page.cells.insert(0, page.cells.pop()))
    assert page.ids == ["c", "a", "b"]
    page = a_page()

    def others(page: LivePage) -> None:
        page.cells[:] = [code("x", "1"), code("y", "2")]

    undone(page, lambda it: it.delete("b"), others)
    assert page.ids == ["x", "y", "b"]
    page = a_page()
    undone(page, lambda it: it.delete("a"))
    assert page.ids == ["a", "b", "c"]


def test_without_a_page_it_can_be_tried_again() -> None:
    page = a_page()

    async def does(turn: Turn) -> None:
        await turn.replace("a", "x")
        await turn.delete("c")

    done, turn = undone(page, does, lambda page: setattr(page, "there", False))
    assert {each.cell: each.state for each in done} == {"a": "failed", "c": "failed"}
    assert page.asked[-1] == "read" and page.asked.count("read") == 1
    assert turn.undo.turns("session") == [1]
    page.there = True
    done = asyncio.run(turn.undo.undo(TURN, turn.document))
    assert {each.state for each in done} == {"restored"}
    assert page.ids == ["a", "b", "c"] and page.cell("a")["source"] == "a = 1"


def test_what_the_page_refuses_now_keeps_its_order_for_the_next_time() -> None:
    page = a_page()

    async def does(turn: Turn) -> None:
        await turn.insert("x = 1", "a")
        await turn.replace(page.ids[1], "x = 2")
        await turn.move("c", None)

    done, turn = undone(page, does, lambda page: page.fails.update(replace="The person types."))
    states = {each.cell: (each.state, each.why) for each in done}
    assert states == {"c": ("restored", ""), "new-1": ("failed", "The person types.")}
    page.fails.clear()
    (again,) = asyncio.run(turn.undo.undo(TURN, turn.document))
    assert again == Undone("new-1", "removed", called="cell 2 (`x = 1`)")
    assert page.ids == ["a", "b", "c"]


def test_outputs_are_held_within_a_bound_the_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells_undo, "HELD", 100)

    async def does(turn: Turn) -> None:
        await turn.delete("c")
        await turn.delete("a")

    page = a_page()
    page.cell("c")["outputs"] = [OUTPUT]
    done, _ = undone(page, does)
    assert {each.cell: each.why for each in done} == {"a": "", "c": BARE}
    assert page.cell("a")["outputs"] == [OUTPUT]
    assert page.cell("c")["outputs"] == []


def test_the_newest_turns_are_held() -> None:
    undo = CellsUndo()
    for turn in range(1, cells_undo.TURNS + 3):
        undo.note(("s", turn), Inserted("a", "x"))
    assert min(undo.turns("s")) == 3 and len(undo.turns("s")) == cells_undo.TURNS
    assert undo.turns("other") == []
    assert undo.cells(("s", 3)) == ["cell `x`"] and undo.cells(("s", 1)) == []
