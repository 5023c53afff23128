from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import StorageError, UsageError
from shiro_jupyter.core.sessions.catalogue import (
    delete,
    find,
    newest,
    of_notebook,
    sessions,
    short_ids,
)
from shiro_jupyter.core.sessions.lease import Lease, Process, holder, this_process
from shiro_jupyter.core.sessions.log import load_session, open_session
from shiro_jupyter.core.sessions.session import new_id
from shiro_jupyter.core.transcript import Assistant, User
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.project import Project
from tests.support.sessions import Desk, two_turns

TITLE = "why did we drop the 2023 rows?"
REST = "-0000-7000-8000-000000000000"  # of an id
Make = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def make(folder: Path) -> Make:
    """A saved session; each is a second newer than the one before."""
    made = iter(range(1, 100))

    def session(title: str = "x", project: str = "/p", notebook: str = "", id_: str = "") -> str:
        place = Project(Path(project), Path(notebook) if notebook else None)
        opened = open_session(folder, project=place, clock=SystemClock(), tell=pytest.fail)
        opened.session.append(User(title, 1))
        opened.session.set_model("m")
        opened.log.close()
        path = opened.log.path
        if id_:
            path = path.rename(folder / f"{id_}.jsonl")
        stamp = 1_700_000_000 + next(made)
        os.utime(path, (stamp, stamp))
        return path.stem

    return session


def test_the_newest_come_first_and_fifteen_are_listed(folder: Path, make: Make) -> None:
    ids = [make(f"prompt {n}") for n in range(17)]
    listed = sessions(folder)
    assert [each.id for each in listed] == ids[:1:-1]
    assert listed[0].title == "prompt 16" and listed[0].model == "m" and listed[0].created
    assert len(sessions(folder, limit=100)) == 17


def test_a_long_prompt_makes_a_short_title(folder: Path, make: Make) -> None:
    make("word " * 100)
    assert len(sessions(folder)[0].title) == 60


def test_a_project_and_a_notebook_see_their_own(folder: Path, make: Make) -> None:
    a, b, c = make(project="/p", notebook="/p/a.ipynb"), make(project="/p"), make(project="/q")
    assert [each.id for each in sessions(folder, project=Path("/p"))] == [b, a]
    assert [each.id for each in sessions(folder, notebook=Path("/p/a.ipynb"))] == [a]
    assert [each.id for each in sessions(folder)] == [c, b, a]


def test_a_notebook_goes_on_with_its_own_newest_else_with_the_projects(
    folder: Path, make: Make
) -> None:
    assert newest(folder, Project(Path("/p"))) is None
    a, b = make(project="/p", notebook="/p/a.ipynb"), make(project="/p")
    in_a, in_new = (Project(Path("/p"), Path(f"/p/{name}.ipynb")) for name in ("a", "new"))

    def of(project: Project, apart_from: str = "") -> str:
        listing = newest(folder, project, apart_from=apart_from)
        return listing.id if listing else ""

    assert (of(in_a), of(in_new), of(Project(Path("/p")))) == (a, b, b)
    assert of(in_a, apart_from=a) == b
    assert of(Project(Path("/q"))) == ""


def test_a_unique_beginning_finds_a_session(folder: Path, make: Make) -> None:
    one, two, three = f"aaaa1111{REST}", f"aaaa2222{REST}", f"bbbb1111{REST}"
    make("one", id_=one), make("two", id_=two), make("three", id_=three)
    assert find(folder, "b").stem == three
    assert find(folder, " AAAA2 ").stem == two and find(folder, one).stem == one
    with pytest.raises(UsageError, match=r"aaaa2222 \(two\), aaaa1111 \(one\)"):
        find(folder, "aaaa")
    with pytest.raises(UsageError, match="No session begins with c"):
        find(folder, "c")
    with pytest.raises(UsageError, match="Name a session"):
        find(folder, " ")


def test_what_holds_no_session_is_left_out(folder: Path, make: Make) -> None:
    good = make("good")
    new = (folder / f"{new_id()}.jsonl" for _ in range(99))
    next(new).touch()
    next(new).write_bytes(os.urandom(200))
    next(new).write_bytes(b"\0" * 5000)
    next(new).write_text('{"shiro_session": 99, "id": "x"}\n')
    next(new).mkdir()
    next(new).symlink_to(folder / "nowhere")
    next(new).symlink_to(folder / f"{good}.jsonl")
    os.mkfifo(next(new))
    odd = next(new)
    odd.write_text('{"shiro_session": 1, "project": 7}\n')
    assert {each.id for each in sessions(folder)} == {good, odd.stem}
    assert sessions(folder / "missing") == []


@pytest.mark.parametrize("name", [".", "..", "x", "-" * 36, f"a/{REST}", f"aaaa1111{REST}.old"])
def test_a_file_without_the_name_of_a_session_is_none(folder: Path, make: Make, name: str) -> None:
    good = folder / f"{make()}.jsonl"
    odd = folder / f"{name}.jsonl"
    odd.parent.mkdir(exist_ok=True)
    good.rename(odd)
    assert sessions(folder) == []
    with pytest.raises(UsageError, match="No session begins with"):
        find(folder, name)


def test_a_damaged_first_line_loses_no_session(folder: Path, make: Make) -> None:
    notebook = Path("/p/a.ipynb")
    whole = make("whole", project="/p", notebook=str(notebook))
    hurt = make("hurt", project="/p", notebook=str(notebook))
    path = folder / f"{hurt}.jsonl"
    path.write_bytes(b'{"shiro_ses' + path.read_bytes()[60:])
    for project in ("/p", "/q"):  # nobody knows whose it is
        listed = {each.id: each for each in sessions(folder, project=Path(project))}
        assert (listed[hurt].title, listed[hurt].turns) == ("hurt", 1)
    assert find(folder, hurt) == path
    # Nor is it gone on with unasked.
    found = newest(folder, Project(Path("/p"))), of_notebook(folder, notebook)
    assert [each and each.id for each in found] == [whole, whole]
    delete(path)
    assert not path.exists()


def test_what_a_later_version_or_another_user_wrote_is_found_and_not_gone_on_with(
    folder: Path, make: Make
) -> None:
    notebook = Path("/p/a.ipynb")
    path = folder / f"{make(project='/p', notebook=str(notebook))}.jsonl"

    def refused() -> str:
        assert find(folder, path.stem) == path and not sessions(folder)
        assert not of_notebook(folder, notebook) and not newest(
            folder, Project(Path("/p"), notebook)
        )
        with pytest.raises(StorageError) as refusal:
            load_session(path, clock=SystemClock(), tell=pytest.fail)
        assert holder(path) == "", "it stays free"
        return str(refusal.value)

    data = path.read_bytes()
    path.write_bytes(data.replace(b'"shiro_session": 1', b'"shiro_session": 2'))
    assert refused().endswith("was written by a later version of shiro; upgrade to open it.")
    path.write_bytes(data)
    if os.getuid() == 0:  # who else may give a file away
        os.chown(path, 65534, 65534)
        assert "belongs to another user" in refused()


@given(st.lists(st.uuids().map(str), min_size=1, max_size=20, unique=True))
def test_short_ids_tell_sessions_apart(ids: list[str]) -> None:
    short = short_ids(ids)
    for each in ids:
        assert [other for other in ids if other.startswith(short[each])] == [each]


def test_ids_made_together_are_shown_long_enough() -> None:
    ids = [new_id() for _ in range(5)]
    assert len(set(short_ids(ids).values())) == 5
    assert all(len(each) >= 8 for each in short_ids(ids).values())


def test_turns_size_and_a_later_title_are_read_from_the_ends_of_a_file(
    folder: Path, tmp_path: Path
) -> None:
    desk = Desk(folder)
    opened = desk.new()
    two_turns(opened)
    opened.log.flush()
    (listing,) = sessions(folder)
    assert (listing.turns, listing.size) == (2, opened.log.path.stat().st_size)
    opened.session.set_title("prices")
    opened.session.append(User("third", 3), Assistant("x" * 40_000, 3, 1))
    opened.log.flush()
    assert [(each.title, each.turns) for each in sessions(folder)] == [("prices", 3)]
    # The title stands far from both ends, until the next turn ends.
    for _ in range(5):
        opened.session.append(Assistant("x" * 40_000, 3, 1))
    opened.log.flush()
    assert [(each.title, each.turns) for each in sessions(folder)] == [(TITLE, 3)]
    opened.session.end_turn(3, "answered")
    opened.log.flush()
    assert [(each.title, each.turns) for each in sessions(folder)] == [("prices", 3)]


def test_a_large_file_is_never_read_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(folder)
    opened = desk.filled()
    with opened.log.path.open("ab") as file:
        file.truncate(300_000_000)  # a hole: NULs
        file.seek(0, 2)
        file.write(b'\n{"at": "t", "item": {"kind": "user", "text": "late", "turn": 7}}\n')
    read: list[int] = []

    class Counted(io.FileIO):
        def readinto(self, buffer: Any) -> int:
            read.append(got := super().readinto(buffer) or 0)
            return got

        def readall(self) -> bytes:
            raise AssertionError("a whole file was read")

    monkeypatch.setattr(os, "fdopen", lambda handle, mode: io.BufferedReader(Counted(handle, "r")))
    assert [(each.title, each.turns) for each in sessions(folder)] == [(TITLE, 7)]
    assert 0 < sum(read) < 250_000


def test_the_newest_session_of_a_notebook_and_where_it_is_open(folder: Path, make: Make) -> None:
    notebook = Path("/p/a.ipynb")
    assert of_notebook(folder, notebook) is None
    a, b = (make(notebook=str(notebook)) for _ in "ab")
    make(notebook="/p/b.ipynb"), make()
    assert Lease(folder / f"{b}.jsonl").take()
    found = of_notebook(folder, notebook)
    assert found and (found.id, found.holder) == (b, "here")
    assert Lease(folder / f"{a}.jsonl", Process("another boot", 1, "1")).take()
    assert [each.holder for each in sessions(folder, notebook=notebook)] == ["here", "elsewhere"]


def test_a_session_is_deleted_with_all_that_is_its_own(folder: Path, make: Make) -> None:
    kept, gone = make("kept"), make("gone")
    undo = folder.parent / "undo"
    (undo / gone / "1").mkdir(parents=True)
    (undo / kept).mkdir()
    (folder / f".{gone}.jsonl.0123456789ab.tmp").touch()
    delete(folder / f"{gone}.jsonl", undo / gone, undo / "none")
    assert [each.id for each in sessions(folder)] == [kept]
    assert [each.name for each in folder.iterdir()] == [f"{kept}.jsonl"]
    assert [each.name for each in undo.iterdir()] == [kept]


def test_an_open_session_is_not_deleted(folder: Path, make: Make) -> None:
    path = folder / f"{make()}.jsonl"
    undo = folder.parent / "undo"
    undo.mkdir()
    theirs = Lease(path, Process("another boot", 1, "1"))
    assert theirs.take()
    with pytest.raises(UsageError, match=rf"^Session {path.stem[:8]} is open: .*\.$"):
        delete(path, undo)
    assert path.exists() and undo.exists() and theirs.renew()


def test_one_whose_kernel_died_is_deleted(folder: Path, make: Make) -> None:
    path = folder / f"{make()}.jsonl"
    Lease(path, replace(this_process(), started="1")).take()
    delete(path)
    assert list(folder.iterdir()) == []


def test_what_cannot_be_deleted_says_so_and_stays_free(folder: Path, make: Make) -> None:
    path = folder / f"{make()}.jsonl"
    path.rename(folder / "moved")
    path.mkdir()
    undo = folder.parent / "undo"
    undo.mkdir()
    with pytest.raises(StorageError, match="Cannot delete"):
        delete(path, undo)
    assert holder(path) == "" and undo.exists(), "a session that stays can be undone"
