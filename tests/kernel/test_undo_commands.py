"""What /undo says, and what it leaves to the next one, without a kernel."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.core.sessions.undo import Writing
from shiro_jupyter.core.transcript import Note, User
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.core.workspace.project import Project
from shiro_jupyter.kernel import undo_commands
from shiro_jupyter.kernel.cells_undo import SINCE, Replaced
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.services import Services
from shiro_jupyter.kernel.undo import Undo
from shiro_jupyter.kernel.undo_commands import AGAIN, NOTHING
from tests.support.live_pages import LivePage, code


async def _no_page() -> None:
    """What pages offer of it, where there is none."""


class Desk:
    """A session with turns that changed a file each, and nothing in the kernel."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.root.mkdir()
        self.session = Session()
        opened = SimpleNamespace(session=self.session)
        folders = Folders(folder, folder, folder / "home")
        self.page = LivePage([code("a", "a = 1"), code("b", "b = 2")])
        self.undo = Undo({}, folders, lambda: cast(Any, opened), pytest.fail)
        self.services = SimpleNamespace(
            conversation=SimpleNamespace(
                opened=opened, refuse_busy=lambda: None, flush=lambda: None
            ),
            undo=self.undo,
            document=self.page.document,
            after=SimpleNamespace(
                kept=SimpleNamespace(forget=lambda turn: None), look_again=_no_page
            ),
            project=Project(self.root),
            redactor=str,
            settings=lambda: None,
            seen=lambda: Namespace(SimpleNamespace(user_ns={}, user_ns_hidden={})),
            tools=lambda loaded: (),
        )

    def turn(self, number: int) -> Path:
        """It writes a file."""
        self.session.append(User(f"prompt {number}", number))
        path = self.root / f"{number}.txt"
        change = Writing(path, None, b"new\n")
        self.undo.files(self.session.id).around(
            number, change, lambda: path.write_bytes(b"new\n") > 0
        )
        return path

    async def said(self, rest: str = "") -> str:
        return str(await cast(Any, undo_commands.undo(cast(Services, self.services), rest)))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    yield Desk(tmp_path)


def test_undos_at_the_same_time_are_of_a_turn_each(desk: Desk) -> None:
    paths = [desk.turn(number) for number in (1, 2)]

    async def thrice() -> list[str]:
        return list(await asyncio.gather(*(desk.said() for _ in range(3))))

    newest, before, nothing = asyncio.run(thrice())
    assert newest == "Turn 2 (“prompt 2”) undone:\n  2.txt: removed"
    assert before == "Turn 1 (“prompt 1”) undone:\n  1.txt: removed"
    assert nothing == NOTHING and not any(path.exists() for path in paths)


def test_cells_go_back_beside_files_and_those_the_person_changed_are_named(desk: Desk) -> None:
    desk.turn(1)
    at = (desk.session.id, 1)
    for name in ("a", "b"):
        desk.undo.cells.note(
            at, Replaced(name, f"was {name}", desk.page.cell(name)["source"], None)
        )
    desk.page.cell("b")["source"] = "mine"
    assert "  in the open notebook: cell `was a`, cell `was b`" in asyncio.run(desk.said("list"))
    said = asyncio.run(desk.said()).splitlines()
    assert said[0] == "Turn 1 (“prompt 1”) undone:"
    assert "  cell 1 (`was a`): restored" in said
    assert f"  cell 2 (`mine`): left as it is; {SINCE}" in said
    note = desk.session.items[-1]
    assert isinstance(note, Note) and "\n  cell a: restored" in note.text  # for the model
    assert [cell["source"] for cell in desk.page.cells] == ["was a", "mine"]
    assert asyncio.run(desk.said()) == NOTHING


def test_cells_wait_for_a_page_and_nothing_else_does(desk: Desk) -> None:
    path = desk.turn(1)
    desk.undo.cells.note((desk.session.id, 1), Replaced("a", "was a", "a = 1", None))
    desk.page.there = False
    said = asyncio.run(desk.said())
    assert f"  {path.name}: removed" in said and "  cell `was a`: not restored; No page." in said
    assert said.endswith(f"\n{AGAIN}")
    desk.page.there = True
    assert "  cell 1 (`was a`): restored" in asyncio.run(desk.said())


def test_once_more_is_offered_where_it_would_try_once_more(desk: Desk) -> None:
    path = desk.turn(1)
    path.unlink()
    path.mkdir()
    first, second, third = (asyncio.run(desk.said()) for _ in range(3))
    failed = "Turn 1 (“prompt 1”): nothing was put back.\n  1.txt: not restored; "
    assert first.startswith(failed) and first.endswith(f"\n{AGAIN}")
    assert second.startswith(failed) and AGAIN not in second
    assert third == NOTHING
