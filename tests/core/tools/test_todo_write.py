from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments
from shiro_jupyter.core.events import TodosChanged
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.tools.todo_write import TodoWrite
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def task(text: str, status: str, note: str = "") -> dict[str, str]:
    return {"text": text, "status": status, "note": note}


def test_a_list_replaces_the_one_before_and_is_told_to_the_views(bench: Bench) -> None:
    records: list[dict[str, object]] = []
    bench.session.record = records.append
    first = [task("load", "done"), task("clean", "in_progress"), task("plot", "pending")]
    assert bench.run(TodoWrite(), todos=first).text == "1/3 done"
    assert bench.run(TodoWrite(), todos=[task("load", "done")]).text == "1/1 done"
    assert bench.session.todos == (Todo("load", "done"),)
    assert bench.events[-1] == TodosChanged((Todo("load", "done"),))
    assert [record["set"] for record in records] == ["todos", "todos"]


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        ([task("a", "in_progress"), task("b", "in_progress")], ["0/2 done", "2 tasks"]),
        ([task("a", "done"), task("b", "pending")], ["1/2 done", "No task is in progress"]),
        ([task("a", "done"), task("b", "done")], ["2/2 done"]),
        ([task("a", "done"), task("deploy", "blocked", "no key")], ["1/2 done, 1 blocked"]),
        ([task("deploy", "blocked")], ["0/1 done, 1 blocked", "“deploy” has no note"]),
        ([], ["The task list is empty."]),
    ],
)
def test_the_result_is_the_progress_and_what_to_mend(
    bench: Bench, tasks: list[dict[str, str]], said: list[str]
) -> None:
    result = bench.run(TodoWrite(), todos=tasks)
    assert result.outcome == "ok"
    lines = result.text.splitlines()
    assert len(lines) == len(said)
    assert all(part in line for part, line in zip(said, lines, strict=True))


def test_texts_become_one_line_and_may_not_be_empty(bench: Bench) -> None:
    bench.run(TodoWrite(), todos=[task("two\n  lines", "blocked", " why \n not ")])
    assert bench.session.todos == (Todo("two lines", "blocked", "why not"),)
    with pytest.raises(InvalidArguments, match=r"todos\.0\.text"):
        bench.run(TodoWrite(), todos=[task(" \n ", "done")])
    with pytest.raises(InvalidArguments, match=r"todos\.0\.status"):
        bench.run(TodoWrite(), todos=[task("a", "finished")])
    assert bench.session.todos == (Todo("two lines", "blocked", "why not"),)
