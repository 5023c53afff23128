"""Reading back what is in a session's file."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.sessions.fork import fork
from shiro_jupyter.core.sessions.records import DAMAGE, records_of
from shiro_jupyter.core.sessions.session import new_id
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Assistant, Call, Item, Reasoning, User
from tests.support.kills import accept
from tests.support.sessions import ITEMS, TASKS, Desk


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


@pytest.mark.parametrize(
    "begun", ['{"at": "', '{"at": "","x":', '{"at": "t", "item": {"text": "' + "a" * 250]
)
def test_the_cost_of_damage_grows_with_its_length(begun: str) -> None:
    def seconds(count: int) -> float:
        line = (begun * count).encode() + GOOD[0]
        started = time.perf_counter()
        assert records_of(line)[1]
        return time.perf_counter() - started

    seconds(100)
    assert seconds(40_000) < 40 * seconds(4_000)


def test_the_id_of_a_session_is_the_name_of_its_file(desk: Desk) -> None:
    path = desk.filled().log.path
    copy = path.with_name(f"{new_id()}.jsonl")
    copy.write_text(path.read_text().replace(path.stem, "../../victim/x"))
    opened = desk.load(copy)
    assert opened.session.id == opened.log.header["id"] == copy.stem


def test_a_session_with_damaged_lines_may_have_read_the_words_of_others(desk: Desk) -> None:
    opened = desk.filled()
    opened.session.taint("network")
    opened.log.flush()
    path = opened.log.path
    assert desk.load(path).session.tainted == {"network"}
    path.write_bytes(path.read_bytes().replace(b'"tainted"', b'"tain'))
    for _ in range(2):  # also once the damage is known
        opened = desk.load(path)
        opened.log.flush()
        assert opened.session.tainted == {DAMAGE}
    for turn in (None, 1):
        assert desk.open(fork(path, desk.clock.now(), turn=turn)).session.tainted == {DAMAGE}


@pytest.mark.parametrize("odd", [10**400, -(10**400), -1, float("nan"), float("inf")])
def test_amounts_that_are_none_are_left_out(desk: Desk, odd: float) -> None:
    opened = desk.filled()
    before = opened.session.cost
    spent = {"turn": 1, "model": "m", "usage": [1, 2, 3, 4], "cost": odd, "calls": [1, 0, 0]}
    opened.log.record({"set": "spent", "value": spent})
    opened.log.record({"set": "spent", "value": {**spent, "cost": 1, "calls": [odd, 0, 0]}})
    opened.log.record({"set": "usage", "value": [odd, 0, 0, 0]})
    opened.log.flush()
    session = desk.load(opened.log.path).session
    assert session.cost == before and session.usage == Usage(10, 4, 3, 1)


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


# -- files of earlier versions, which open for ever ------------------------------------------

KEPT = Path(__file__).parents[2] / "snapshots" / "sessions"
# One that changes is no file of that version any more; a new version adds one.
FILES = {
    "format-1-first.jsonl": "013d9d5db2efeebefb01a888b53b4d3d8babe19685e88a945e3cb6dac96915f3",
    "format-1.jsonl": "ee25ecdc6801b48500a6e6cc9b880ecbbaf91d2a533a7e254a75f9a6fea21710",
}


ITEMS_KEPT: list[Item] = [
    replace(item, encrypted="sealed", origin="here") if isinstance(item, Reasoning) else item
    for item in ITEMS
]


@pytest.fixture
def kept(desk: Desk) -> Callable[[str], Path]:
    def copied(name: str) -> Path:
        desk.folder.mkdir(exist_ok=True)
        session = json.loads((KEPT / name).read_text().partition("\n")[0])["id"]
        return Path(shutil.copy(KEPT / name, desk.folder / f"{session}.jsonl"))

    return copied


def test_files_of_each_version_are_kept_as_they_were() -> None:
    found = {path.name: sha256(path.read_bytes()).hexdigest() for path in KEPT.iterdir()}
    assert found == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_each_version_is_gone_on_with(
    desk: Desk, kept: Callable[[str], Path], name: str
) -> None:
    path = kept(name)
    before = path.read_bytes()
    opened = desk.open(path)
    turn = opened.session.turn + 1
    accept([*opened.session.items, User("and now?", turn)])
    items = [*opened.session.items, User("go on", turn), Assistant("On.", turn, 1)]
    opened.session.append(*items[-2:])
    opened.session.end_turn(turn, "answered")
    opened.log.close()
    again = desk.open(path)
    assert again.session.items == items and path.read_bytes().startswith(before)
    copy = desk.open(fork(path, desk.clock.now(), turn=1)).session
    assert copy.items == ITEMS_KEPT and copy.todos == TASKS


def test_what_the_first_files_hold(desk: Desk, kept: Callable[[str], Path]) -> None:
    opened = desk.open(kept("format-1-first.jsonl"))
    session = opened.session
    assert not opened.notices, "its last turn ended, though no record says so"
    assert session.id == "01933f5e-0000-7c11-8f7e-5d2c6b1a0e34"
    assert session.items == [*ITEMS_KEPT, User("and now?", 2), Assistant("Nothing.", 2, 1)]
    assert (session.title, session.model) == ("why did we drop the 2023 rows?", "small")
    assert session.usage == Usage(30, 4, 4, 1) and session.todos == ()


def test_what_the_files_of_now_hold(desk: Desk, kept: Callable[[str], Path]) -> None:
    opened = desk.open(kept("format-1.jsonl"))
    session = opened.session
    assert opened.notices == (
        "The last turn stopped while bash waited for your answer: %shiro alone asks again, any "
        "other prompt goes on without it.",
    )
    call = Call("c3", "bash", '{"command": "rm old.csv"}', 3, 1, "fc_3")
    assert session.items[:5] == ITEMS_KEPT and session.items[-1] == call
    assert session.open_calls() == [call] and session.ended == 2
    assert session.id == "01933f5e-9a40-7c11-8f7e-5d2c6b1a0e34"
    assert (session.title, session.model) == ("prices of 2023", "large")
    assert session.system == "You are shiro.\nBelow are memories."
    assert (session.cut, session.tainted) == ((1, 2, 3), {"network"})
    assert session.usage == Usage(30, 4, 4, 1) and len(session.spent) == 2
