"""Reading back what is in a session's file."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.sessions.records import records_of
from shiro_jupyter.core.todos import Todo
from tests.support.sessions import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "sessions")


GOOD = [
    json.dumps({"at": "t", "item": {"kind": "user", "text": f"n {n}"}}).encode() for n in range(3)
]


@pytest.mark.parametrize(
    ("line", "texts", "damaged"),
    [
        (GOOD[0], ["n 0"], False),
        (GOOD[0] + GOOD[1], ["n 0", "n 1"], False),
        (GOOD[0][:30] + GOOD[1], ["n 1"], True),
        (b"\0" * 512 + GOOD[0], ["n 0"], True),
        (GOOD[0][:-2] + b"\0\0\0" + GOOD[1], ["n 1"], True),
        (GOOD[0] + b"\r", ["n 0"], False),
        (GOOD[0] + b" junk", ["n 0"], True),
        ('{"at": "t", "item": {"text": "é'.encode()[:-1] + GOOD[2], ["n 2"], True),
        (b"[1, 2]", [], True),
        (b"\xff\xfe", [], True),
        (b'{"a": ' * 5000, [], True),
        (b"9" * 5000, [], True),
        (b"", [], False),
    ],
)
def test_every_good_record_of_a_damaged_line_is_found(
    line: bytes, texts: list[str], damaged: bool
) -> None:
    records, bad = records_of(line)
    assert [record["item"]["text"] for record in records] == texts
    assert bad == damaged


def test_the_cost_of_fused_records_grows_with_their_number() -> None:
    def seconds(count: int) -> float:
        line = b'{"at": "x", "set": "title", "value": "a"}' * count
        started = time.perf_counter()
        assert len(records_of(line)[0]) == count
        return time.perf_counter() - started

    seconds(100)
    # Ten times as many, and far from a hundred times the cost.
    assert seconds(40_000) < 40 * seconds(4_000)


def test_malformed_state_is_left_out(desk: Desk) -> None:
    path = desk.filled().log.path
    path.write_text(
        path.read_text()
        + '{"set": "usage", "value": ["a", 1, 2, 3]}\n{"set": "title", "value": 7}\n'
        + '{"set": "todos", "value": [{"text": "kept", "status": "done"}, {"text": 3}]}\n'
        + '{"set": []}\n{"item": [1]}\n'
    )
    session = desk.load(path).session
    assert session.usage == Usage(10, 4, 3, 1) and session.title.startswith("why")
    assert session.todos == (Todo("kept", "done"),)
