from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.kernel import document
from shiro_jupyter.kernel.document import Cell, LiveDocument, Outline, OutlineCell, Ran

STREAM = {"output_type": "stream", "name": "stdout", "text": "hi\n"}
RAN = {"status": "ok", "execution_count": 3, "outputs": [STREAM]}


class Page:
    """Answers with `answer`, or as a page that fails or never answers would."""

    def __init__(self, answer: object = None) -> None:
        self.answer = answer
        self.asked: list[tuple[str, dict[str, Any], float]] = []
        self.called, self.given_up = asyncio.Event(), asyncio.Event()
        self.hangs = False

    async def ask(self, op: str, args: dict[str, Any], seconds: float) -> object:
        self.asked.append((op, args, seconds))
        self.called.set()
        if self.hangs:
            try:
                await asyncio.Future()
            finally:
                self.given_up.set()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def asked(
    answer: object, do: Callable[[LiveDocument], Awaitable[Any]]
) -> tuple[Any, tuple[str, dict[str, Any], float]]:
    """What `do` comes to where the page answers so, and what the page was asked."""
    page = Page(answer)

    async def run() -> Any:
        return await do(LiveDocument(page.ask, lambda: False))

    value = asyncio.run(run())
    (one,) = page.asked
    return value, one


def test_the_outline_is_typed() -> None:
    cells = [
        {"id": "a", "type": "code", "lines": 2, "execution_count": 7, "running": True},
        {"id": "b", "type": "markdown", "lines": 1, "execution_count": None, "running": False},
    ]
    answer = {"path": "x/y.ipynb", "dirty": True, "trusted": False, "cells": cells, "newer": 1}
    outline, (op, args, seconds) = asked(answer, lambda it: it.outline())
    assert outline == Outline(
        "x/y.ipynb",
        dirty=True,
        trusted=False,
        cells=(
            OutlineCell("a", "code", 2, 7, running=True),
            OutlineCell("b", "markdown", 1, None, running=False),
        ),
    )
    assert (op, args) == ("outline", {})
    assert seconds < 60


def test_cells_are_read_by_id_with_outputs_where_asked_for() -> None:
    bare = {"id": "a", "type": "code", "source": "x", "metadata": {}, "execution_count": None}
    cells, (_, args, _) = asked({"cells": [bare]}, lambda it: it.read(["a"]))
    assert cells == (Cell("a", "code", "x", {}, None),)
    assert args == {"cells": ["a"], "outputs": False, "images": False}
    answer = {"cells": [bare | {"execution_count": 1, "outputs": [STREAM]}]}
    cells, (_, args, _) = asked(answer, lambda it: it.read(outputs=True, images=True))
    assert cells[0].outputs == (STREAM,)
    assert args == {"cells": None, "outputs": True, "images": True}


@pytest.mark.parametrize(
    ("place", "sent"),
    [
        ({}, {"after": None}),
        ({"after": "a"}, {"after": "a"}),
        ({"before": "a"}, {"before": "a"}),
    ],
)
def test_a_cell_is_inserted_at_one_place(place: Any, sent: dict[str, Any]) -> None:
    metadata = {"shiro": {"session": "s", "turn": 2}}
    value, (op, args, _) = asked(
        {"id": "new"}, lambda it: it.insert("# x", type="markdown", metadata=metadata, **place)
    )
    assert value == "new"
    assert op == "insert"
    assert args == {**sent, "type": "markdown", "source": "# x", "metadata": metadata}


def test_a_cell_comes_back_with_what_it_had() -> None:
    had = {"id": "a", "outputs": [STREAM], "execution_count": 3}
    _, (_, args, _) = asked({"id": "a"}, lambda it: it.insert("x", had=had))
    assert {name: args[name] for name in had} == had


def test_the_page_says_what_else_is_open() -> None:
    paths, (op, _, _) = asked(["a.ipynb", "x/b.ipynb"], lambda it: it.open_elsewhere())
    assert (op, paths) == ("open", ("a.ipynb", "x/b.ipynb"))


def test_what_was_read_goes_along_with_a_change() -> None:
    _, one = asked({}, lambda it: it.replace("a", "new", was="old"))
    assert one[:2] == ("replace", {"id": "a", "source": "new", "was": "old", "mark": None})
    mark = {"session": "s", "turn": 1}
    _, one = asked({}, lambda it: it.replace("a", "new", was="old", mark=mark))
    assert one[1]["mark"] == mark
    had, one = asked({"kept": {"id": "a"}}, lambda it: it.delete("a", was="old"))
    assert one[:2] == ("delete", {"id": "a", "was": "old"})
    assert had == {"id": "a"}
    _, one = asked({}, lambda it: it.move("a", after=None))
    assert one[:2] == ("move", {"id": "a", "after": None})
    _, one = asked({}, lambda it: it.patch("a", (STREAM,), 4))
    assert one[:2] == ("patch", {"id": "a", "outputs": [STREAM], "execution_count": 4})


@pytest.mark.parametrize("typed", ["x = 1  # typed meanwhile", ""])
@pytest.mark.parametrize(
    "do",
    [
        lambda it: it.replace("a", "new", was="old"),
        lambda it: it.delete("a", was="old"),
        lambda it: it.run("a", was="old"),
    ],
)
def test_what_was_typed_meanwhile_is_in_the_error(do: Any, typed: str) -> None:
    with pytest.raises(ToolFailed) as told:
        asked({"changed": typed}, do)
    assert "Nothing was done" in str(told.value)
    assert str(told.value).endswith(f"\n{typed}")


def test_a_long_source_typed_meanwhile_is_bounded() -> None:
    with pytest.raises(ToolFailed, match="characters left out") as told:
        asked({"changed": "x" * 1_000_000}, lambda it: it.delete("a", was=""))
    assert len(str(told.value)) < 40_000


@pytest.mark.parametrize(
    ("answer", "do", "where"),
    [
        (None, lambda it: it.outline(), "answer"),
        ("fine", lambda it: it.replace("a", "", was=""), "answer"),
        ({"path": "x", "dirty": False, "cells": []}, lambda it: it.outline(), "trusted"),
        ({"cells": [{"id": 3}]}, lambda it: it.read(), "cells.0.id"),
        ({"cells": {"a": 1}}, lambda it: it.read(), "cells"),
        ({"changed": ["x"]}, lambda it: it.delete("a", was=""), "changed"),
        ({}, lambda it: it.insert("x"), "id"),
        (RAN | {"status": "fine"}, lambda it: it.run("a"), "status"),
        (RAN | {"outputs": ["text"]}, lambda it: it.run("a"), "outputs.0"),
    ],
)
def test_an_answer_of_another_shape_is_refused(answer: object, do: Any, where: str) -> None:
    with pytest.raises(ToolFailed) as told:
        asked(answer, do)
    assert f"({where}: " in str(told.value)
    assert "upgrade shiro_jupyter" in str(told.value)


def test_what_the_page_says_is_the_error() -> None:
    failed = ToolFailed("The notebook has no cell z (any more): read its outline again.")
    with pytest.raises(ToolFailed) as told:
        asked(failed, lambda it: it.run("z"))
    assert told.value is failed


def test_a_run_may_take_as_long_as_it_takes() -> None:
    ran, (op, args, seconds) = asked(RAN, lambda it: it.run("a", images=True))
    assert ran == Ran("ok", 3, (STREAM,))
    assert (op, args, seconds) == ("run", {"id": "a", "was": None, "images": True}, math.inf)


def test_a_run_is_refused_where_it_would_wait_for_itself() -> None:
    page = Page(RAN)
    with pytest.raises(ToolFailed, match="run_python"):
        asyncio.run(LiveDocument(page.ask, lambda: True).run("a"))
    assert not page.asked


def test_a_run_is_given_up_behind_a_prompt_that_came_first(monkeypatch: Any) -> None:
    monkeypatch.setattr(document, "WATCH_SECONDS", 0.01)

    async def run() -> None:
        page = Page()
        page.hangs = True
        doc = LiveDocument(page.ask, lambda: page.called.is_set())
        with pytest.raises(ToolFailed, match="once the turn has ended"):
            await doc.run("a")
        await page.given_up.wait()

    asyncio.run(run())


def test_a_cancelled_run_asks_the_page_no_more() -> None:
    async def run() -> None:
        page = Page()
        page.hangs = True
        task = asyncio.create_task(LiveDocument(page.ask, lambda: False).run("a"))
        await page.called.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await page.given_up.wait()

    asyncio.run(run())
