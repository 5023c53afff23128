from __future__ import annotations

import time
import uuid

from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.sessions.session import Record, Session, new_id
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Assistant, User, to_json


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
    session.add_usage(Usage(1, 0, 0, 0))
    session.set_model("m")
    session.set_model("n")
    for by in ("network", "memory", "network"):
        session.taint(by)
    assert records == [
        {"set": "title", "value": "do it"},
        {"item": to_json(User("  do\n it ", 1))},
        {"item": to_json(Assistant("done", 1, 1))},
        {"set": "todos", "value": [{"text": "a", "status": "blocked", "note": "why"}]},
        {"set": "usage", "value": [1, 2, 3, 4]},
        {"set": "usage", "value": [2, 2, 3, 4]},
        {"set": "model", "value": "n"},
        {"set": "tainted", "value": ["network"]},
        {"set": "tainted", "value": ["memory", "network"]},
    ]
    assert session.turn == 1 and Session().turn == 0


def test_the_first_prompt_is_the_title_and_stays_it() -> None:
    session = Session()
    session.append(User("x" * 100, 1), User("second", 2))
    assert session.title == "x" * 60
