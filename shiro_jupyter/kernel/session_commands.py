"""The slash commands of sessions; importing this registers them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from itertools import chain, count
from pathlib import Path

from ..core.errors import UsageError
from ..core.notes.note import slug_of
from ..core.numbers import whole_number
from ..core.sessions import catalogue
from ..core.sessions.log import Opened
from ..core.workspace.files import write_atomic
from ..views.document import Table
from ..views.exported import exported
from .commands import Outcome, Work, command
from .conversation import BEFORE, NONE
from .said import Said
from .services import Services

STAMP = "%Y-%m-%d %H:%M"


@command()
def clear(services: Services, rest: str) -> Work:
    """begin a new session, without tasks; the old one is kept"""

    async def work() -> Said:
        await services.conversation.switch(None)
        return "A new session begins with the next prompt; /sessions lists the old ones."

    return work()


@command("[delete ID]")
def sessions(services: Services, rest: str) -> Outcome:
    """the newest sessions of this project, or delete one for good"""
    verb, _, which = rest.partition(" ")
    if not rest:
        return _listed(services)
    if verb != "delete" or not which.strip():
        raise UsageError("Say %shiro /sessions, or %shiro /sessions delete ID as it is listed.")
    path = catalogue.find(services.folders.sessions_dir, which)
    short = catalogue.short_id(path)
    catalogue.delete(path, services.folders.undo_dir(path.stem))
    return f"Deleted session {short}, and what was kept to undo its changes."


@command("[ID]")
def resume(services: Services, rest: str) -> Work:
    """go on with a session, by default the project's newest before this one"""

    async def work() -> Said:
        await services.conversation.resume(rest or BEFORE)
        return services.conversation.going_on()

    return work()


@command("[TURN]")
def fork(services: Services, rest: str) -> Work:
    """go on in a copy of this session, or of it up to a turn; the old one stays as it is"""
    turn = whole_number(rest)
    if rest and turn is None:
        raise UsageError("Say %shiro /fork, or %shiro /fork TURN with the number of a turn.")

    async def work() -> Said:
        await services.conversation.fork(turn)
        return services.conversation.going_on()

    return work()


@command("[TITLE]")
def save(services: Services, rest: str) -> Work:
    """write what is not on disk yet, under another title if you give one, and say where it is"""

    async def work() -> Said:
        opened = _opened(services)
        if rest:
            opened.session.set_title(rest)
        opened.log.flush()
        if opened.log.unsaved:
            raise UsageError(f"Not saved: {opened.log.path} cannot be written; free that first.")
        return f"Saved: {opened.session.title}, in {opened.log.path}."

    return work()


@command("[PATH]")
def export(services: Services, rest: str) -> Work:
    """write this session as a Markdown file to read or hand on, without its secrets"""

    async def work() -> Said:
        session = _opened(services).session
        about = f"Session {session.id}, exported {datetime.now().strftime(STAMP)}."
        text = exported(session.title, about, session.items, services.redactor)
        home = str(services.folders.home)
        named = Path(f"{home}{rest[1:]}" if rest.startswith(("~/", "~\\")) else rest)
        path = _written(named, f"{slug_of(session.title)}-{session.id[:8]}", text.encode())
        return f"Exported to {path}."

    return work()


def _listed(services: Services) -> Said:
    found = catalogue.sessions(services.folders.sessions_dir, project=services.project.root)
    if not found:
        return "No sessions of this project yet."
    short = catalogue.short_ids(each.id for each in found)
    rows = (
        (
            short[each.id],
            datetime.fromtimestamp(each.updated).strftime(STAMP),
            str(each.turns or ""),
            _size(each.size),
            each.holder,
            each.title,
        )
        for each in found
    )
    return [Table(("id", "updated", "turns", "size", "open", "title"), tuple(rows))]


def _opened(services: Services) -> Opened:
    opened = services.conversation.opened
    if opened is None:
        raise UsageError(NONE)
    return opened


def _written(named: Path, name: str, data: bytes) -> Path:
    """The file written: `named`, or in that folder one of this name that nothing has yet."""
    paths: Iterable[Path] = [named]
    if os.path.isdir(named):  # noqa: PTH112 (which raises nothing where a name is too long)
        numbers = chain([""], (f"-{n}" for n in count(2)))
        paths = (named / f"{name}{number}.md" for number in numbers)
    for path in paths:
        if not os.path.lexists(path) and write_atomic(path, data, expected=b""):
            return path.absolute()
    raise UsageError(f"{named} exists already; name another file.")


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3)):,} kB"
