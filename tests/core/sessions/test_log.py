from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core import events
from shiro_jupyter.core.errors import StorageError
from shiro_jupyter.core.events import Cost, Usage
from shiro_jupyter.core.policy.redactor import Redactor
from shiro_jupyter.core.sessions.catalogue import sessions
from shiro_jupyter.core.sessions.lease import Lease, Process, holder, lease_of
from shiro_jupyter.core.sessions.records import read_log
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Assistant, Call, Result, User
from tests.support.sessions import ITEMS, TASKS, Desk, two_turns

SECRET = "sk-" + "abcDEF123456ghiJKL789012"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "sessions")


def test_what_the_model_has_read_of_others_is_known_when_it_is_resumed(desk: Desk) -> None:
    opened = desk.filled()
    opened.session.taint("network")
    opened.session.grants.add("bash: x")
    opened.log.flush()
    session = desk.load(opened.log.path).session
    assert session.tainted == {"network"} and not session.grants
    opened.log.record({"set": "tainted", "value": 7})
    opened.log.flush()
    assert desk.load(opened.log.path).session.tainted == {"network"}


def test_a_key_in_use_is_taken_out_whatever_its_shape(desk: Desk) -> None:
    redactor = Redactor()
    opened = desk.new(redacted=redactor)
    redactor.keys = ["plain-old-word"]  # known from the first turn on
    opened.session.append(User("use plain-old-word", 1))
    opened.log.flush()
    again = desk.load(opened.log.path, redacted=redactor)
    again.session.append(User("again plain-old-word", 2))
    again.log.flush()
    stored = opened.log.path.read_text()
    assert "plain-old-word" not in stored and stored.count("[redacted: key]") == 3


def test_a_resume_restores_items_tasks_totals_title_and_model(desk: Desk) -> None:
    opened = desk.filled()
    opened.session.set_model("large")
    opened.log.flush()
    again = desk.load(opened.log.path).session
    assert again.items == ITEMS
    assert again.todos == TASKS
    assert again.usage == Usage(10, 4, 3, 1)
    assert (again.id, again.model) == (opened.session.id, "large")
    assert again.title == "why did we drop the 2023 rows?"
    assert again.turn == 1 and not again.grants


def test_the_next_save_of_a_resumed_session_keeps_the_new_state(desk: Desk) -> None:
    """Resumed items, task list and totals stay; an old task list is not written over a new."""
    path = desk.filled().log.path
    second = desk.load(path)
    second.session.append(User("go on", 2))
    second.session.set_todos((Todo("new"),))
    second.session.add_usage(Usage(1, 0, 1, 0))
    second.log.flush()
    third = desk.load(path).session
    assert third.items == [*ITEMS, User("go on", 2)]
    assert third.todos == (Todo("new"),)
    assert third.usage == Usage(11, 4, 4, 1)
    assert third.title == "why did we drop the 2023 rows?"


def test_the_first_line_says_what_the_file_is(desk: Desk) -> None:
    opened = desk.filled()
    header = json.loads(opened.log.path.read_text().splitlines()[0])
    assert header == {
        "shiro_session": 1,
        "id": opened.session.id,
        "created": "2026-11-30T00:00:00.000+00:00",
        "updated": "2026-11-30T00:00:00.000+00:00",
        "cwd": str(desk.folder.parent),
        "project": str(desk.folder.parent),
        "notebook": str(desk.folder.parent / "a.ipynb"),
        "provider": "local",
        "model": "small",
    }
    assert opened.log.path.name == f"{opened.session.id}.jsonl"
    assert stat.S_IMODE(opened.log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(desk.folder.stat().st_mode) == 0o700


def test_a_session_in_which_nothing_was_said_leaves_no_file(desk: Desk) -> None:
    opened = desk.new()
    opened.log.flush()
    opened.log.close()
    assert list(desk.folder.iterdir()) == []


def test_secrets_are_taken_out_before_writing_and_stay_in_memory(desk: Desk) -> None:
    opened = desk.new()
    opened.session.append(
        User(f"my key is {SECRET}", 1),
        Call("c", "bash", json.dumps({"command": f"export K='{SECRET}'\n"}), 1, 1),
        Result("c", "ok", f"K={SECRET}", 1, 1),
        *ITEMS[1:2],
    )
    opened.log.flush()
    assert SECRET not in opened.log.path.read_text()
    items = desk.load(opened.log.path).session.items
    assert items[0] == User("my key is [redacted: API key]", 1)
    assert isinstance(items[1], Call) and json.loads(items[1].arguments)
    assert items[3] == ITEMS[1]  # what is encrypted is kept as it is
    assert SECRET in opened.session.items[0].text  # type: ignore[union-attr]


def test_records_are_written_in_batches_by_a_timer_on_the_loop(desk: Desk) -> None:
    opened = desk.new()

    async def turn() -> int:
        loop = asyncio.get_running_loop()
        made: list[float] = []
        real = loop.call_later
        loop.call_later = lambda after, *rest: (made.append(after), real(0, *rest))[1]  # type: ignore
        for _ in range(50):
            opened.session.append(User("x", 1))
        assert not opened.log.path.exists()
        while not opened.log.path.exists():
            await asyncio.sleep(0)
        assert made == [0.4]
        opened.session.append(User("y", 1))
        assert made == [0.4, 0.4]
        return len(read_log(opened.log.path).records)

    assert asyncio.run(turn()) == 51  # the title and fifty items


def test_without_a_loop_the_next_record_writes_what_is_due(desk: Desk) -> None:
    opened = desk.new()
    opened.session.append(User("a", 1))
    desk.clock.seconds = 0.3
    opened.session.append(User("b", 1))
    assert not opened.log.path.exists()
    desk.clock.seconds = 0.5
    opened.session.append(User("c", 1))
    assert len(desk.load(opened.log.path).session.items) == 3


def test_a_timer_on_a_loop_that_ended_does_not_stop_the_next(desk: Desk) -> None:
    opened = desk.new()

    async def say() -> None:
        opened.session.append(User("x", 1))

    asyncio.run(say())
    assert not opened.log.path.exists()
    desk.clock.seconds = 1.0
    asyncio.run(say())
    assert len(desk.load(opened.log.path).session.items) == 2


@pytest.mark.parametrize(
    ("event", "written"),
    [
        (events.ApprovalRequested(events.Question("q", "c", "approval", "?")), True),
        (events.ApprovalDecided(events.Answer("q", "allow")), True),
        (events.TurnEnded(1, "interrupted"), True),
        (events.ToolFinished("c", "bash", "interrupted", ""), True),
        (events.ToolFinished("c", "bash", "ok", ""), False),
        (events.TextDelta("x"), False),
    ],
)
def test_moments_that_must_not_be_lost(desk: Desk, event: events.Event, written: bool) -> None:
    opened = desk.new()
    opened.session.append(User("a", 1))
    opened.log.heard(event)
    assert opened.log.path.exists() == written


def test_a_file_cut_at_any_byte_loads_and_can_be_written_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # no power fails here
    opened = desk.new()
    opened.session.append(User("é", 1), Assistant("“x”", 1, 1))
    opened.session.set_todos(TASKS)
    opened.log.flush()
    data = opened.log.path.read_bytes()
    ends = [at + 1 for at, byte in enumerate(data) if byte == 0x0A]
    whole = read_log(opened.log.path).records
    path = desk.folder / "cut.jsonl"
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        complete = sum(end <= length or end == length + 1 for end in ends)
        opened = desk.load(path)
        assert read_log(path).records == whole[: max(complete - 1, 0)]
        assert any("damaged" in notice for notice in opened.notices) == (
            length > 0 and length not in ends and length + 1 not in ends
        )
        before = list(opened.session.items)
        opened.session.append(User("next", 9))
        opened.session.end_turn(9, "answered")
        opened.log.flush()
        again = desk.load(path)
        assert again.session.items == [*before, User("next", 9)]
        assert not again.notices, "what is damaged is said once"


@settings(max_examples=60)
@given(st.binary(max_size=40), st.integers(0, 10_000))
def test_a_block_of_anything_in_the_file_costs_only_what_it_touches(
    tmp_path_factory: pytest.TempPathFactory, block: bytes, at: int
) -> None:
    desk = Desk(tmp_path_factory.mktemp("block") / "sessions")
    path = desk.filled().log.path
    lines = path.read_bytes().splitlines(keepends=True)
    middle = at % len(lines)
    path.write_bytes(b"".join([*lines[:middle], block, b"\n", *lines[middle:]]))
    assert [item for item in desk.load(path).session.items if item in ITEMS] == ITEMS


def test_unknown_records_and_fields_are_kept_in_the_file(desk: Desk) -> None:
    path = desk.filled().log.path
    new = '{"at": "t", "item": {"kind": "hologram", "text": "x"}}\n{"at": "t", "lease": 7}\n'
    path.write_text(path.read_text() + new)
    opened = desk.load(path)
    assert opened.session.items == ITEMS and not opened.notices
    opened.session.append(User("more", 2))
    opened.log.flush()
    assert new in path.read_text()


def test_a_file_of_a_later_version_is_not_opened(desk: Desk) -> None:
    path = desk.filled().log.path
    path.write_text(path.read_text().replace('"shiro_session": 1', '"shiro_session": 2'))
    with pytest.raises(StorageError, match="later version"):
        desk.load(path)
    with pytest.raises(StorageError, match="Cannot read"):
        desk.load(desk.folder / "none.jsonl")


def test_a_full_disk_is_told_once_and_nothing_is_lost(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = desk.new()
    opened.session.append(User("before", 1))
    opened.log.flush()
    real, room = os.write, [40]

    def nearly_full(handle: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        taken = min(room[0], len(data))
        room[0] -= taken
        return real(handle, data[:taken])

    monkeypatch.setattr(os, "write", nearly_full)
    for n in range(3):
        opened.session.append(User(f"while full {n}", 1))
        opened.log.flush()
    assert len(desk.told) == 1 and "No space left on device" in desk.told[0]
    monkeypatch.setattr(os, "write", real)
    opened.session.append(User("after", 1))
    opened.session.end_turn(1, "answered")
    opened.log.flush()
    assert len(desk.told) == 2 and "saved again" in desk.told[1]
    again = desk.load(opened.log.path)
    assert again.session.items == opened.session.items and not again.notices


def test_a_folder_that_cannot_be_made_is_told_once(desk: Desk) -> None:
    desk.folder.write_text("a file where the folder should be")
    opened = desk.new()
    for n in range(3):
        opened.session.append(User(str(n), 1))
        opened.log.flush()
    assert len(desk.told) == 1 and "not being saved" in desk.told[0]
    assert len(opened.session.items) == 3


def test_a_file_deleted_meanwhile_gets_its_first_line_again(desk: Desk) -> None:
    opened = desk.filled()
    opened.log.path.unlink()
    opened.session.append(User("later", 2))
    opened.log.flush()
    again = desk.load(opened.log.path)
    assert again.session.id == opened.session.id and again.session.items == [User("later", 2)]
    again.session.taint("network")
    again.log.flush()
    again.log.path.unlink()
    again.session.append(User("and later", 3))
    again.log.flush()
    session = desk.load(opened.log.path).session
    assert session.items == [User("and later", 3)] and session.tainted == {"network"}
    assert (session.title, session.model) == (opened.session.title, "small")
    assert session.title and session.todos == TASKS
    assert [each.title for each in sessions(desk.folder)] == [session.title]


def test_state_is_restored_field_by_field(desk: Desk) -> None:
    opened = desk.new(model="small")
    two_turns(opened)
    session = opened.session
    session.set_system("You are shiro.")
    session.set_model("large")
    session.add_usage(Usage(1, 0, 1, 0), Cost(0.25, priced=3, unknown=1))
    session.add_usage(Usage(1, 0, 1, 0), Cost(local=2))
    session.set_title("  prices  of\n2023 ")
    opened.log.flush()
    again = desk.load(opened.log.path).session
    names = ("id", "model", "title", "items", "todos", "usage", "cost", "spent", "system", "ended")
    for name in names:
        assert getattr(again, name) == getattr(session, name), name
    assert again.cost == Cost(0.25, priced=3, unknown=1, local=2)
    assert [(each.turn, each.model) for each in again.spent] == [
        (1, "small"),
        (2, "small"),
        (2, "large"),
        (2, "large"),
    ]
    assert (again.title, again.cut, again.ended) == ("prices of 2023", (1, 2, 3), 2)


def test_a_cut_never_reaches_into_the_newest_turn_of_a_file_that_lost_some(desk: Desk) -> None:
    opened = desk.new()
    for number in (1, 2, 3):
        opened.session.append(User(f"question {number}", number))
        opened.session.append(Assistant(f"answer {number}", number, 1))
    opened.session.set_cut((4, 4, 6))
    opened.log.flush()
    lines = opened.log.path.read_bytes().splitlines(keepends=True)
    opened.log.path.write_bytes(b"".join(line for line in lines if b"answer 1" not in line))
    assert desk.load(opened.log.path).session.cut == (3, 4, 5)


def test_a_damaged_line_loses_a_response_as_a_whole(desk: Desk) -> None:
    opened = desk.new()
    opened.session.append(User("why?", 1))
    opened.session.append(*ITEMS[1:])
    opened.session.append(User("go on", 2))
    opened.log.flush()
    data = opened.log.path.read_bytes()
    at = data.index(b'"assistant"')
    opened.log.path.write_bytes(data[:at] + bytes(9) + data[at + 9 :])
    assert desk.load(opened.log.path).session.items == [User("why?", 1), User("go on", 2)]


# -- two openers ---------------------------------------------------------------------------


def test_a_second_opener_gets_a_copy_and_both_are_whole(desk: Desk) -> None:
    first = desk.new()
    two_turns(first)
    second = desk.open(first.log.path)
    assert second.log.path != first.log.path and second.session.id == second.log.path.stem
    assert second.session.items == first.session.items
    assert second.notices == (
        f"The session is open already: this is a copy of it, {second.session.id}.",
    )
    first.session.append(User("here", 3))
    second.session.append(User("there", 3))
    first.log.flush(), second.log.flush()
    assert desk.load(first.log.path).session.items == first.session.items
    assert desk.load(second.log.path).session.items == second.session.items
    assert not desk.told


def test_what_goes_on_elsewhere_is_closed_in_the_copy(desk: Desk) -> None:
    first = desk.filled()
    calls = [Call(name, "bash", "{}", 2, 1) for name in ("c2", "c3")]
    first.session.append(User("go", 2), *calls)
    first.log.heard(events.ApprovalRequested(events.Question("q", "c2", "approval", "?")))
    second = desk.open(first.log.path)
    assert first.session.open_calls() == calls
    assert second.session.open_calls() == [] and second.session.ended == 2
    results = [item for item in second.session.items if isinstance(item, Result)][1:]
    assert [(each.call_id, each.outcome) for each in results] == [
        ("c2", "skipped"),
        ("c3", "skipped"),
    ]
    assert len(second.notices) == 1


def test_a_session_of_another_machine_is_copied_until_its_lease_is_stale(desk: Desk) -> None:
    opened = desk.filled()
    opened.log.lease.release()
    theirs = Lease(opened.log.path, Process("another boot", 1, "1"))
    assert theirs.take()
    copy = desk.open(opened.log.path)
    assert copy.session.id != opened.session.id
    old = lease_of(opened.log.path).stat().st_mtime - 3600
    os.utime(lease_of(opened.log.path), (old, old))
    again = desk.open(opened.log.path)
    assert again.session.id == opened.session.id and not again.notices


def test_who_lost_the_session_while_asleep_goes_on_in_a_copy(desk: Desk) -> None:
    """Our machine sleeps, another one takes the session and goes on with it, ours wakes."""
    ours = desk.filled()
    path, before = ours.log.path, ours.session.id
    theirs = desk.load(path)  # our lease is gone
    theirs.session.append(User("theirs", 2))
    theirs.session.end_turn(2, "answered")
    theirs.log.flush()
    stood = path.read_bytes()
    ours.log.renew()
    assert ours.log.path == path and not desk.told, "nothing to write: nothing to tell"
    for text in ("ours", "more"):
        ours.session.append(User(text, 2))
        ours.log.flush()
    assert path.read_bytes() == stood
    assert desk.told == [
        "Another kernel has gone on with this session meanwhile: from here on this one is saved "
        f"as a copy, {ours.session.id}."
    ]
    assert ours.session.id == ours.log.path.stem != before
    assert holder(ours.log.path) == "here" and theirs.log.lease.renew()
    copy = read_log(ours.log.path)
    assert copy.header["forked_from"] == before and copy.header["id"] == ours.session.id
    assert desk.load(ours.log.path).session.items == [*ITEMS, User("ours", 2), User("more", 2)]


def test_who_lost_it_to_one_that_wrote_and_left_goes_on_in_a_copy_too(desk: Desk) -> None:
    ours = desk.filled()
    theirs = desk.load(ours.log.path)
    theirs.session.append(User("theirs", 2))
    theirs.log.close()
    ours.session.append(User("ours", 2))
    ours.log.flush()
    assert ours.log.path != theirs.log.path and len(desk.told) == 1
    assert desk.load(theirs.log.path).session.items == [*ITEMS, User("theirs", 2)]


def test_who_lost_it_to_one_that_only_looked_goes_on_where_it_was(desk: Desk) -> None:
    ours = desk.filled()
    desk.load(ours.log.path).log.close()
    ours.session.append(User("ours", 2))
    ours.log.flush()
    assert not desk.told and ours.session.id == ours.log.path.stem
    assert desk.load(ours.log.path).session.items == [*ITEMS, User("ours", 2)]


def test_a_session_that_is_closed_is_free_and_can_be_gone_on_with(desk: Desk) -> None:
    opened = desk.filled()
    assert holder(opened.log.path) == "here"
    opened.session.append(User("last", 2))
    opened.log.close()
    assert holder(opened.log.path) == ""
    assert desk.open(opened.log.path).session.items == [*ITEMS, User("last", 2)]


def test_a_file_that_cannot_be_opened_is_left_free(desk: Desk) -> None:
    with pytest.raises(StorageError):
        desk.open(desk.folder / "none.jsonl")
    assert not list(desk.folder.glob("*"))


# -- a turn that did not end ---------------------------------------------------------------


def test_the_call_that_waited_for_the_person_is_known(desk: Desk) -> None:
    opened = desk.filled()
    opened.session.append(User("go", 2), Call("c2", "bash", "{}", 2, 1))
    question = events.Question("q", "c2", "approval", "?")
    opened.log.heard(events.ApprovalRequested(question))
    again = desk.load(opened.log.path)
    assert again.session.asked == "c2" and len(again.session.open_calls()) == 1
    opened = desk.load(opened.log.path)
    opened.log.heard(events.ApprovalDecided(events.Answer("q", "allow")))
    again = desk.load(opened.log.path)
    assert again.session.asked == "" and len(again.session.open_calls()) == 1


def test_a_question_about_no_call_is_not_kept(desk: Desk) -> None:
    opened = desk.filled()
    opened.log.heard(events.ApprovalRequested(events.Question("q", "", "ask", "?")))
    assert not any(record.get("set") == "asked" for record in read_log(opened.log.path).records)
