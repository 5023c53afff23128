from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import StorageError, UsageError
from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.sessions.fork import fork
from shiro_jupyter.core.sessions.records import items_of, read_log
from shiro_jupyter.core.transcript import Assistant, User
from tests.support.sessions import ITEMS, TASKS, Desk, two_turns


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "sessions")


def copied(desk: Desk, path: Path, **how: int) -> Path:
    return fork(path, desk.clock.now(), **how)


def test_a_copy_has_all_and_an_id_of_its_own(desk: Desk) -> None:
    source = desk.new(model="small")
    two_turns(source)
    before = source.log.path.read_bytes()
    desk.clock.seconds = 60
    path = copied(desk, source.log.path)
    header = read_log(path).header
    assert (header["id"], header["forked_from"]) == (path.stem, source.session.id)
    assert header["created"] == "2026-11-30T00:01:00.000+00:00"
    assert header["notebook"] == str(desk.project.notebook)
    copy = desk.open(path)
    for name in ("items", "todos", "usage", "spent", "cut", "title", "model", "ended"):
        assert getattr(copy.session, name) == getattr(source.session, name), name
    assert source.log.path.read_bytes() == before and not copy.notices
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_copy_to_a_turn_has_the_state_of_then(desk: Desk) -> None:
    source = desk.new()
    two_turns(source)
    source.session.taint("network")
    source.log.flush()
    copy = desk.open(copied(desk, source.log.path, turn=1)).session
    assert copy.items == ITEMS and copy.todos == TASKS
    assert (copy.usage, copy.cut, copy.ended) == (Usage(10, 4, 3, 1), (0, 0, 0), 1)
    assert not copy.tainted, "what came in later is not in it"
    assert copy.open_calls() == []
    whole = desk.open(copied(desk, source.log.path, turn=2)).session
    assert whole.items == source.session.items and whole.todos == ()


def test_a_copy_of_a_copy(desk: Desk) -> None:
    source = desk.new()
    two_turns(source)
    once = copied(desk, source.log.path)
    twice = copied(desk, once, turn=1)
    assert read_log(twice).header["forked_from"] == once.stem
    assert desk.open(twice).session.items == ITEMS


@pytest.mark.parametrize("turn", [0, -1, 3, 10**9])
def test_a_turn_that_is_not_there_is_refused(desk: Desk, turn: int) -> None:
    source = desk.new()
    two_turns(source)
    with pytest.raises(UsageError, match=rf"no turn {turn}; its turns are 1 to 2\."):
        copied(desk, source.log.path, turn=turn)
    assert len(list(desk.folder.glob("*.jsonl"))) == 1


def test_a_session_without_turns_says_so(desk: Desk) -> None:
    source = desk.new()
    source.session.set_model("m")
    source.log.flush()
    with pytest.raises(UsageError, match="no turn 1; it has none"):
        copied(desk, source.log.path, turn=1)


def test_what_a_later_version_wrote_is_copied_as_it_is(desk: Desk) -> None:
    source = desk.filled()
    odd = [
        '{"at": "t",   "item": {"kind": "hologram", "turn": 1, "size": 1e3}}',
        '{"at": "t", "item": {"kind": "user", "text": "x", "turn": 1, "mood": "\\u00e9"}}',
        '{"at": "t", "set": "weather", "value": {"b": 1, "a": 2}}',
        '{"note": {"id": "n1"}}',
    ]
    with source.log.path.open("a") as file:
        file.write("".join(f"{line}\n" for line in odd))
    lines = source.log.path.read_text().splitlines()
    header = json.loads(lines[0])
    source.log.path.write_text(
        "\n".join([json.dumps({**header, "colour": "blue"}), *lines[1:]]) + "\n"
    )
    path = copied(desk, source.log.path)
    assert path.read_text().splitlines()[1:] == lines[1:]
    assert read_log(path).header["colour"] == "blue"


def test_of_damaged_lines_what_is_good_is_copied(desk: Desk) -> None:
    source = desk.new()
    two_turns(source)
    lines = source.log.path.read_bytes().splitlines(keepends=True)
    fused = lines[3].rstrip(b"\n") + lines[4]
    data = b"".join([*lines[:3], b"\0" * 50 + fused, *lines[5:7], b'{"at": "torn', *lines[7:-1]])
    source.log.path.write_bytes(data + lines[-1][:-9])
    source = desk.load(source.log.path)  # which records how many are damaged
    source.log.flush()
    path = copied(desk, source.log.path)
    copy = read_log(path)
    assert copy.damaged == copy.told == 0 and not copy.torn
    items = [item for record in copy.records for item in items_of(record)]
    assert items == source.session.items


def test_a_file_without_its_first_line_is_copied_with_one(desk: Desk) -> None:
    source = desk.filled()
    rest = source.log.path.read_bytes().splitlines(keepends=True)[1:]
    source.log.path.write_bytes(b"".join(rest))
    path = copied(desk, source.log.path)
    assert read_log(path).header["forked_from"] == source.session.id
    assert desk.open(path).session.items == ITEMS


def test_only_what_is_ours_of_a_file_is_copied(desk: Desk) -> None:
    source = desk.filled()
    size = source.log.path.stat().st_size
    source.session.append(User("more", 2), Assistant("x", 2, 1))
    source.log.flush()
    copy = desk.open(copied(desk, source.log.path, size=size)).session
    assert copy.items == ITEMS


def test_a_file_that_cannot_be_read_or_is_newer_makes_no_copy(desk: Desk) -> None:
    source = desk.filled()
    with pytest.raises(StorageError, match="Cannot read"):
        copied(desk, desk.folder / "none.jsonl")
    text = source.log.path.read_text()
    source.log.path.write_text(text.replace('"shiro_session": 1', '"shiro_session": 2'))
    with pytest.raises(StorageError, match="later version"):
        copied(desk, source.log.path)
    assert len(list(desk.folder.glob("*.jsonl"))) == 1
