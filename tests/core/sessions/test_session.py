from __future__ import annotations

import time
import uuid

from shiro_jupyter.core.events import Cost, Usage
from shiro_jupyter.core.sessions.session import Record, Session, new_id
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Assistant, Call, Result, User, to_json


def test_ids_are_version_7_and_sort_by_time() -> None:
    before = time.time_ns() // 1_000_000
    ids = [uuid.UUID(new_id()) for _ in range(50)]
    after = time.time_ns() // 1_000_000
    assert len(set(ids)) == 50
    assert all(each.version == 7 and each.variant == uuid.RFC_4122 for each in ids)
    assert all(before <= each.int >> 80 <= after for each in ids)


def test_every_change_is_one_record() -> None:
    records: list[Record] = []
    session = Session(model="m", record=records.append)
    session.append(User("  do\n it ", 1), Assistant("done", 1, 1))
    session.set_todos((Todo("a", "blocked", "why"),))
    session.add_usage(Usage(1, 2, 3, 4))
    session.add_usage(Usage(1, 0, 0, 0), Cost(0.5, 2, 1))
    session.set_model("m")
    for _ in range(2):
        session.set_system("You are shiro.")
        session.set_cut((1, 2, 3))
    session.end_turn(1, "answered")
    session.set_model("n")
    for by in ("network", "memory", "network"):
        session.taint(by)
    turn = {"turn": 1, "model": "m"}
    assert records == [
        {"set": "title", "value": "do it"},
        {"items": [to_json(User("  do\n it ", 1)), to_json(Assistant("done", 1, 1))]},
        {"set": "todos", "value": [{"text": "a", "status": "blocked", "note": "why"}]},
        {"set": "usage", "value": [1, 2, 3, 4]},
        {"set": "spent", "value": {**turn, "usage": [1, 2, 3, 4], "cost": 0.0, "calls": [0, 0, 0]}},
        {"set": "usage", "value": [2, 2, 3, 4]},
        {"set": "spent", "value": {**turn, "usage": [1, 0, 0, 0], "cost": 0.5, "calls": [2, 1, 0]}},
        {"set": "system", "value": "You are shiro."},
        {"set": "cut", "value": [1, 2, 3]},
        {"set": "ended", "value": {"turn": 1, "outcome": "answered", "title": "do it"}},
        {"set": "model", "value": "n"},
        {"set": "tainted", "value": ["network"]},
        {"set": "tainted", "value": ["memory", "network"]},
    ]
    assert session.turn == 1 and Session().turn == 0
    assert (session.usage, session.cost) == (Usage(2, 2, 3, 4), Cost(0.5, 2, 1))


def test_the_first_prompt_is_the_title_and_stays_it() -> None:
    session = Session()
    session.append(User("x" * 100, 1), User("second", 2))
    assert session.title == "x" * 60


def test_open_calls_are_those_of_the_newest_turn_until_it_ends() -> None:
    session = Session()
    assert session.open_calls() == []
    # An earlier turn that was never closed, then a server that uses an id again in each step.
    session.append(User("a", 1), Call("lost", "look", "{}", 1, 1))
    calls = [Call("0", "look", "{}", 2, step) for step in (1, 2)]
    session.append(User("b", 2), calls[0], Result("0", "ok", "seen", 2, 1), calls[1])
    other = Call("1", "look", "{}", 2, 2)
    session.append(other)
    assert session.open_calls() == [calls[1], other]
    session.append(Result("0", "ok", "seen", 2, 2))
    assert session.open_calls() == [other]
    session.end_turn(2, "interrupted")
    assert session.open_calls() == []
    session.append(User("c", 3), Call("1", "look", "{}", 3, 1))
    assert [call.turn for call in session.open_calls()] == [3]
