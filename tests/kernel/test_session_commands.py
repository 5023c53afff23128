"""What the commands of sessions do, over the session at hand of a kernel that is none."""

from __future__ import annotations

import asyncio
import inspect
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shiro_jupyter.core.errors import ShiroError, StorageError
from shiro_jupyter.core.policy.redactor import Redactor
from shiro_jupyter.core.sessions import log
from shiro_jupyter.core.sessions.lease import Lease, Process, holder
from shiro_jupyter.core.sessions.log import Opened
from shiro_jupyter.core.sessions.records import read_log
from shiro_jupyter.core.transcript import Assistant, Call, Note, Result, Summary, User
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.kernel import session_commands
from shiro_jupyter.kernel.conversation import Conversation
from shiro_jupyter.views.document import plain
from tests.support.sessions import ITEMS, TASKS, Desk, two_turns

SECRET = "sk-" + "abcDEF123456ghiJKL789012"


@dataclass
class Kernel:
    desk: Desk
    busy: bool = False
    services: Any = field(init=False)

    def __post_init__(self) -> None:
        root, redactor = self.desk.folder.parent, Redactor()
        self.conversation = Conversation(
            self.desk.folder,
            self.desk.project,
            self.desk.clock,
            redactor,
            tell=self.desk.tell,
            made=lambda *more: pytest.fail("no turn runs here"),
            busy=lambda: self.busy,
        )
        self.services = SimpleNamespace(
            conversation=self.conversation,
            folders=Folders(root, root, root / "home"),
            project=self.desk.project,
            redactor=redactor,
        )

    def type(self, line: str) -> str:
        """What a command says, or refuses with."""
        name, _, rest = line.partition(" ")
        try:
            said = getattr(session_commands, name)(self.services, rest)
            said = asyncio.run(said) if inspect.iscoroutine(said) else said
        except ShiroError as error:
            return f"{type(error).__name__}: {error}"
        return said if isinstance(said, str) else plain(said, 200)

    def begin(self) -> Opened:
        """A session of two turns is at hand."""
        opened = self.desk.new()
        two_turns(opened)
        self.conversation.opened = opened
        return opened

    @property
    def session(self) -> Any:
        assert self.conversation.opened
        return self.conversation.opened.session


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.chdir(tmp_path)
    return Kernel(Desk(tmp_path / "sessions"))


def test_without_a_session_each_says_what_to_do(kernel: Kernel) -> None:
    for line in ("fork", "save", "save x", "export"):
        assert kernel.type(line) == (
            "UsageError: This session has not begun yet: ask something first."
        )
    assert kernel.type("sessions") == "No sessions of this project yet."
    assert kernel.type("resume") == "UsageError: There is no earlier session of this project."
    assert kernel.type("clear").startswith("A new session begins")


def test_clear_leaves_the_session_to_others_and_a_resume_takes_it_back(kernel: Kernel) -> None:
    old = kernel.begin()
    kernel.type("clear")
    assert kernel.conversation.opened is None and holder(old.log.path) == ""
    assert kernel.type(f"resume {old.session.id[:10]}") == (
        f"Going on with {old.session.id[:8]}: why did we drop the 2023 rows? (2 turns)."
    )
    assert kernel.session.id == old.session.id and kernel.session.items == old.session.items
    assert not kernel.desk.told


def test_a_resume_of_the_session_at_hand_stays_in_it(kernel: Kernel) -> None:
    opened = kernel.begin()
    assert kernel.type(f"resume {opened.session.id}").startswith("Going on with")
    assert kernel.conversation.opened is opened


def test_a_resume_of_one_open_elsewhere_goes_on_in_a_copy_and_says_so(kernel: Kernel) -> None:
    other = kernel.desk.new()
    two_turns(other)
    other.log.lease.release()
    assert Lease(other.log.path, Process("another boot", 1, "1")).take()
    said = kernel.type(f"resume {other.session.id}")
    short = re.search(r"Going on with (\S+):", said)
    assert short and kernel.session.id.startswith(short[1])
    assert not other.session.id.startswith(short[1]), "it tells the two apart"
    notice = f"The session is open already: this is a copy of it, {kernel.session.id}."
    assert "\n".join([said, *kernel.desk.told]).count(notice) == 1


def test_sessions_are_listed_with_what_tells_them_apart(kernel: Kernel) -> None:
    other = kernel.desk.filled()
    other.log.lease.release()
    assert Lease(other.log.path, Process("another boot", 1, "1")).take()
    os.utime(other.log.path, (1_700_000_000, 1_700_000_000))
    kernel.begin()
    heads, here, there = kernel.type("sessions").splitlines()
    assert heads.split() == ["id", "updated", "turns", "size", "open", "title"]
    assert re.fullmatch(r"\S+ +20\S+ \S+ +2 +\d kB +here +why did .* rows\?", here)
    assert re.fullmatch(r"\S+ +2023-11-1\d \S+ +1 +\d kB +elsewhere +why .*\?", there)
    ids = [line.split()[0] for line in (here, there)]
    assert len(set(ids)) == 2
    for each in ids:
        assert "rows?" in kernel.type(f"resume {each}")


def test_a_session_is_deleted_for_good(kernel: Kernel) -> None:
    opened = kernel.begin()
    undo = kernel.services.folders.undo_dir(opened.session.id)
    undo.mkdir(parents=True)
    short = opened.session.id[:8]
    refused = kernel.type(f"sessions delete {opened.session.id}")
    assert refused.startswith(f"UsageError: Session {short} is open") and undo.exists()
    kernel.type("clear")
    assert kernel.type(f"sessions delete {opened.session.id}").startswith(
        f"Deleted session {short}"
    )
    assert not opened.log.path.exists() and not undo.exists()
    assert kernel.type("sessions") == "No sessions of this project yet."


@pytest.mark.parametrize("rest", ["delete", "delete ", "remove x", "x"])
def test_a_wrong_use_of_sessions_deletes_nothing(kernel: Kernel, rest: str) -> None:
    kernel.begin()
    kernel.type("clear")
    assert kernel.type(f"sessions {rest}").startswith("UsageError: Say %shiro /sessions")
    assert len(list(kernel.desk.folder.glob("*.jsonl"))) == 1


def test_a_fork_goes_back_to_a_turn_and_leaves_the_old_session(kernel: Kernel) -> None:
    old = kernel.begin()
    before = old.log.path.read_bytes()
    assert re.fullmatch(
        r"Going on with \S{8,}: why did we drop the 2023 rows\? \(1 turn\)\.", kernel.type("fork 1")
    )
    assert kernel.session.id != old.session.id
    assert kernel.session.items == ITEMS and kernel.session.todos == TASKS
    kernel.session.append(User("another way", 2))
    kernel.type("save")
    assert old.log.path.read_bytes() == before and holder(old.log.path) == ""
    kernel.type("fork")
    assert kernel.session.items == [*ITEMS, User("another way", 2)]
    assert len(list(kernel.desk.folder.glob("*.jsonl"))) == 3


def test_a_fork_of_no_turn_says_which_there_are(kernel: Kernel) -> None:
    opened = kernel.begin()
    assert kernel.type("fork 7") == ("UsageError: The session has no turn 7; its turns are 1 to 2.")
    assert kernel.type("fork 0") == ("UsageError: The session has no turn 0; its turns are 1 to 2.")
    for odd in ("x", "-1", "9" * 5_000):
        assert kernel.type(f"fork {odd}").startswith("UsageError: Say %shiro /fork")
    assert kernel.conversation.opened is opened


def test_nothing_is_switched_while_a_turn_runs(kernel: Kernel) -> None:
    opened = kernel.begin()
    kernel.busy = True
    for line in ("clear", "resume", f"resume {opened.session.id}", "fork", "fork 1"):
        assert kernel.type(line).startswith("UsageError: A turn is running")
    assert kernel.conversation.opened is opened
    assert len(list(kernel.desk.folder.glob("*.jsonl"))) == 1


def test_save_writes_and_names_the_session(kernel: Kernel) -> None:
    opened = kernel.begin()
    opened.session.append(User("more", 3))
    assert kernel.type("save  prices  of 2023 ") == f"Saved: prices of 2023, in {opened.log.path}."
    records = read_log(opened.log.path).records
    assert [each["item"] for each in records if "item" in each][-1]["text"] == "more"
    assert "prices of 2023" in kernel.type("sessions")


def test_save_says_where_it_could_not(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = kernel.begin()
    opened.session.append(User("more", 3))

    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    assert kernel.type("save").startswith(f"UsageError: Not saved: {opened.log.path}")
    assert len(kernel.desk.told) == 1 and "No space left" in kernel.desk.told[0]


@pytest.mark.parametrize("line", ["clear", "resume", "fork", "fork 1"])
def test_what_is_not_saved_is_left_only_by_who_insists(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    other = kernel.desk.filled()
    other.log.close()
    opened = kernel.begin()
    files = set(kernel.desk.folder.iterdir())

    def full(*given: object, **more: object) -> None:
        raise StorageError("No space left on device")

    with monkeypatch.context() as full_disk:
        full_disk.setattr(log, "append", full)
        for turn in (3, 4):  # each turn that would be lost is told
            opened.session.append(User("more", turn))
            said = kernel.type(line)
            assert said.startswith("UsageError: Nothing was done") and str(opened.log.path) in said
            assert kernel.conversation.opened is opened
            assert set(kernel.desk.folder.iterdir()) == files
        kernel.type(line)
        assert kernel.conversation.opened is not opened


def test_export_writes_a_file_and_never_over_one(kernel: Kernel, tmp_path: Path) -> None:
    opened = kernel.begin()
    opened.session.append(User(f"use {SECRET}", 3))
    name = f"why-did-we-drop-the-2023-rows-{opened.session.id[:8]}"
    for number in ("", "-2", "-3"):
        assert kernel.type("export") == f"Exported to {tmp_path / f'{name}{number}.md'}."
    text = (tmp_path / f"{name}.md").read_text()
    assert text.startswith("# why did we drop the 2023 rows?\n") and "## Turn 3" in text
    assert SECRET not in text
    assert kernel.type("export talks/a.md") == f"Exported to {tmp_path / 'talks' / 'a.md'}."
    (tmp_path / "mine.md").write_text("mine")
    (tmp_path / "link.md").symlink_to(tmp_path / "nowhere")
    for taken in ("mine.md", "talks/a.md", "link.md"):
        assert kernel.type(f"export {taken}") == (
            f"UsageError: {taken} exists already; name another file."
        )
    assert (tmp_path / "mine.md").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert kernel.type("export talks") == f"Exported to {tmp_path / 'talks' / f'{name}.md'}."
    assert kernel.type("export ~/x.md") == f"Exported to {tmp_path / 'home' / 'x.md'}."


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a\0b", r"'a\x00b' is no name of a file; give another."),
        ("half \ud83d", r"'half \ud83d' is no name of a file; give another."),
        ("a" * 300, f"Cannot write {'a' * 300}: File name too long; mend that and try again."),
    ],
)
def test_a_name_that_no_file_can_have_is_refused_in_a_sentence(
    kernel: Kernel, tmp_path: Path, name: str, why: str
) -> None:
    kernel.begin()
    assert kernel.type(f"export {name}") == f"StorageError: {why}"
    assert not list(tmp_path.glob("*.md"))


def test_half_of_a_surrogate_pair_is_no_reason_not_to_export(
    kernel: Kernel, tmp_path: Path
) -> None:
    opened = kernel.begin()
    half = "half \ud83d"
    opened.session.set_title(half)
    call = Call("c", "read_file", half, 3, 1)
    opened.session.append(User(half, 3), Assistant(half, 3, 1), call, Note(half, 3))
    opened.session.append(Result("c", "ok", half, 3, 1), Summary(half, 3))
    assert kernel.type("export out.md") == f"Exported to {tmp_path / 'out.md'}."
    text = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert text.count("half ⟨U+D83D⟩") == text.count("half") == 8


def test_a_title_of_no_letters_makes_a_name_too(kernel: Kernel, tmp_path: Path) -> None:
    opened = kernel.begin()
    opened.session.set_title("../../…")
    assert kernel.type("export") == (
        f"Exported to {tmp_path / f'note-{opened.session.id[:8]}.md'}."
    )
