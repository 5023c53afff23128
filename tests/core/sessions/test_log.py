from __future__ import annotations

import asyncio
import json
import os
import stat
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core import events
from shiro_jupyter.core.errors import StorageError
from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.policy.redactor import Redactor
from shiro_jupyter.core.sessions.log import Opened, load_session, open_session, read_log, records_of
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Assistant, Call, Item, Reasoning, Result, User
from shiro_jupyter.core.workspace.project import Project

SECRET = "sk-" + "abcDEF123456ghiJKL789012"


@dataclass
class MadeClock:
    seconds: float = 0.0

    def now(self) -> datetime:
        return datetime(2026, 11, 30, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class Desk:
    """A folder for sessions, a clock, and what the person was told."""

    folder: Path
    clock: MadeClock = field(default_factory=MadeClock)
    told: list[str] = field(default_factory=list)

    def new(self, **more: str) -> Opened:
        project = Project(self.folder.parent, notebook=self.folder.parent / "a.ipynb")
        return open_session(
            self.folder, project=project, clock=self.clock, tell=self.told.append, **more
        )

    def load(self, path: Path) -> Opened:
        return load_session(path, clock=self.clock, tell=self.told.append)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "sessions")


ITEMS: list[Item] = [
    User("why  did we drop\nthe 2023 rows?", 1),
    Reasoning("hm", 1, 1, "rs_1", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4"),
    Call("c1", "bash", '{"command": "ls “é”"}', 1, 1),
    Result("c1", "ok", "a.csv \u2028 \udce9\n", 1, 1),
    Assistant("Because of <b>duplicates</b>.", 1, 2),
]
TASKS = (Todo("look", "done"), Todo("deploy", "blocked", "no credentials"))


def test_what_the_model_has_read_of_others_is_known_when_it_is_resumed(desk: Desk) -> None:
    opened = filled(desk)
    opened.session.taint("network")
    opened.session.grants.add("bash: x")
    opened.log.flush()
    session = desk.load(opened.log.path).session
    assert session.tainted == {"network"} and not session.grants
    opened.log.record({"set": "tainted", "value": 7})
    opened.log.flush()
    assert desk.load(opened.log.path).session.tainted == {"network"}


def test_a_key_in_use_is_taken_out_whatever_its_shape(desk: Desk) -> None:
    redactor, told = Redactor(), desk.told.append
    project = Project(desk.folder.parent)
    opened = open_session(
        desk.folder, project=project, clock=desk.clock, tell=told, redacted=redactor
    )
    redactor.keys = ["plain-old-word"]  # known from the first turn on
    opened.session.append(User("use plain-old-word", 1))
    opened.log.flush()
    again = load_session(opened.log.path, clock=desk.clock, tell=told, redacted=redactor)
    again.session.append(User("again plain-old-word", 2))
    again.log.flush()
    stored = opened.log.path.read_text()
    assert "plain-old-word" not in stored and stored.count("[redacted: key]") == 3


def filled(desk: Desk) -> Opened:
    opened = desk.new(model="small", provider="local")
    opened.session.append(*ITEMS)
    opened.session.set_todos(TASKS)
    opened.session.add_usage(Usage(10, 4, 3, 1))
    opened.log.flush()
    return opened


def test_a_resume_restores_items_tasks_totals_title_and_model(desk: Desk) -> None:
    opened = filled(desk)
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
    path = filled(desk).log.path
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
    opened = filled(desk)
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
    desk.new().log.flush()
    assert not desk.folder.exists()


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


def test_a_file_cut_at_any_byte_loads_and_can_be_written_on(desk: Desk) -> None:
    opened = desk.new()
    opened.session.append(User("é", 1), Result("c", "ok", "“x”", 1, 1))
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
        assert bool(opened.notices) == (
            length > 0 and length not in ends and length + 1 not in ends
        )
        before = list(opened.session.items)
        opened.session.append(User("next", 9))
        opened.log.flush()
        again = desk.load(path)
        assert again.session.items == [*before, User("next", 9)]
        assert not again.notices, "what is damaged is said once"


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


@settings(max_examples=60)
@given(st.binary(max_size=40), st.integers(0, 10_000))
def test_a_block_of_anything_in_the_file_costs_only_what_it_touches(
    tmp_path_factory: pytest.TempPathFactory, block: bytes, at: int
) -> None:
    desk = Desk(tmp_path_factory.mktemp("block") / "sessions")
    path = filled(desk).log.path
    lines = path.read_bytes().splitlines(keepends=True)
    middle = at % len(lines)
    path.write_bytes(b"".join([*lines[:middle], block, b"\n", *lines[middle:]]))
    assert [item for item in desk.load(path).session.items if item in ITEMS] == ITEMS


def test_unknown_records_and_fields_are_kept_in_the_file(desk: Desk) -> None:
    path = filled(desk).log.path
    new = '{"at": "t", "item": {"kind": "hologram", "text": "x"}}\n{"at": "t", "lease": 7}\n'
    path.write_text(path.read_text() + new)
    opened = desk.load(path)
    assert opened.session.items == ITEMS and not opened.notices
    opened.session.append(User("more", 2))
    opened.log.flush()
    assert new in path.read_text()


def test_a_file_of_a_later_version_is_not_opened(desk: Desk) -> None:
    path = filled(desk).log.path
    path.write_text(path.read_text().replace('"shiro_session": 1', '"shiro_session": 2'))
    with pytest.raises(StorageError, match="later version"):
        desk.load(path)
    with pytest.raises(StorageError, match="Cannot read"):
        desk.load(desk.folder / "none.jsonl")


def test_malformed_state_is_left_out(desk: Desk) -> None:
    path = filled(desk).log.path
    path.write_text(
        path.read_text()
        + '{"set": "usage", "value": ["a", 1, 2, 3]}\n{"set": "title", "value": 7}\n'
        + '{"set": "todos", "value": [{"text": "kept", "status": "done"}, {"text": 3}]}\n'
        + '{"set": []}\n{"item": [1]}\n'
    )
    session = desk.load(path).session
    assert session.usage == Usage(10, 4, 3, 1) and session.title.startswith("why")
    assert session.todos == (Todo("kept", "done"),)


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
    opened = filled(desk)
    opened.log.path.unlink()
    opened.session.append(User("later", 2))
    opened.log.flush()
    again = desk.load(opened.log.path)
    assert again.session.id == opened.session.id and again.session.items == [User("later", 2)]
