from __future__ import annotations

import dataclasses

import pytest

from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.core.todos import Todo, Todos, bar, lines, progress, restore, warnings

ONE_OF_THREE: Todos = (Todo("load", "done"), Todo("clean", "in_progress"), Todo("plot"))


def test_a_list_shows_its_progress_and_a_mark_for_each_task() -> None:
    assert progress(ONE_OF_THREE) == "1/3 done"
    assert lines(ONE_OF_THREE) == "[x] load\n[~] clean\n[ ] plot"
    assert lines((Todo("deploy", "blocked", "no credentials"),)) == "[!] deploy  (no credentials)"


@pytest.mark.parametrize(
    ("todos", "parts"),
    [
        (ONE_OF_THREE, []),
        ((Todo("a", "in_progress"), Todo("b", "in_progress")), ["2 tasks are in progress"]),
        ((Todo("a", "done"), Todo("b")), ["No task is in progress"]),
        ((Todo("a", "done"), Todo("b", "done")), []),
        ((Todo("a", "done"), Todo("deploy", "blocked", "no key")), []),
        ((Todo("deploy", "blocked", "no key"), Todo("b")), ["No task is in progress"]),
        ((Todo("deploy", "blocked", " "),), ["The blocked task “deploy” has no note"]),
        ((), []),
    ],
)
def test_it_warns_of_what_the_model_should_mend(todos: Todos, parts: list[str]) -> None:
    found = warnings(todos)
    assert len(found) == len(parts)
    assert all(sentence.startswith(part) for sentence, part in zip(found, parts, strict=True))


@pytest.mark.parametrize(
    ("done", "total", "drawn"),
    [(0, 4, ".........."), (1, 4, "###......."), (2, 4, "#####....."), (4, 4, "##########")],
)
def test_the_bar_rounds_to_its_width(done: int, total: int, drawn: str) -> None:
    todos = (Todo("a", "done"),) * done + (Todo("b"),) * (total - done)
    assert bar(todos, 10) == f"tasks {drawn} {done}/{total}"


def test_the_bar_counts_what_is_blocked_and_is_nothing_for_an_empty_list() -> None:
    todos = (Todo("a", "done"), Todo("b", "blocked", "why"), Todo("c"), Todo("d"))
    assert bar(todos, 10) == "tasks ###....... 1/4  1 blocked"
    assert bar(()) == ""


def test_a_list_cannot_be_changed_from_outside() -> None:
    session = Session()
    session.set_todos(ONE_OF_THREE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        session.todos[0].status = "pending"  # type: ignore[misc]
    assert session.todos == ONE_OF_THREE


def test_restoring_drops_what_is_malformed_and_keeps_a_blocked_note() -> None:
    records: list[dict[str, object]] = []
    session = Session(record=records.append)
    session.set_todos((Todo("deploy", "blocked", "no key"), *ONE_OF_THREE))
    stored = records[-1]["value"]
    assert restore(stored) == session.todos
    assert isinstance(stored, list)
    broken = [{}, {"text": "a"}, {"text": " ", "status": "done"}, {"text": 1, "status": "done"}]
    broken += [{"text": "a", "status": "finished"}, {"text": "a", "status": "done", "note": 2}, 7]
    assert restore([*broken, *stored]) == session.todos
    assert restore({"a": 1}) == restore(None) == ()
