"""The registry: every tool of the core, in the order the wire gets them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from inspect import cleandoc
from typing import Any

from ..errors import SettingsError
from ..settings.fields import TOOL_SETS
from .ask import Ask
from .base import Tool
from .bash import Bash
from .edit_file import EditFile
from .forget import Forget
from .git_blame import GitBlame
from .git_diff import GitDiff
from .git_log import GitLog
from .git_show import GitShow
from .git_status import GitStatus
from .glob import Glob
from .grep import Grep
from .job_status import JobStatus
from .job_stop import JobStop
from .list_dir import ListDir
from .multi_edit import MultiEdit
from .read_file import ReadFile
from .read_many_files import ReadManyFiles
from .recall import Recall
from .remember import Remember
from .session_notes import SessionNotes
from .todo_write import TodoWrite
from .write_file import WriteFile

# The order is part of what a model sees: it never changes within a session.
SHELF: tuple[type[Tool[Any]], ...] = (
    ReadFile,
    ReadManyFiles,
    ListDir,
    Glob,
    Grep,
    WriteFile,
    EditFile,
    MultiEdit,
    Bash,
    JobStatus,
    JobStop,
    GitStatus,
    GitDiff,
    GitLog,
    GitShow,
    GitBlame,
    TodoWrite,
    Ask,
)

# Made by the host, which has the stores that they work on.
HOSTED: tuple[type[Tool[Any]], ...] = (Remember, Recall, Forget, SessionNotes)

# The sets that cannot be switched off; those of the host are on where the host has them.
ALWAYS = ("core", "session")


def tools_for(
    sets: Collection[str] = TOOL_SETS, extra: Sequence[Tool[Any]] = ()
) -> tuple[Tool[Any], ...]:
    """The tools of the sets that are always on and of these optional ones, then the host's.

    Raises `SettingsError` for a set that there is not, naming the nearest.
    """
    known = dict.fromkeys([*TOOL_SETS, *ALWAYS, *(tool.toolset for tool in extra)])
    for name in sets:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}."
            raise SettingsError(f"There is no tool set {name!r}; {hint}")
    core = (tool() for tool in SHELF if tool.toolset in ALWAYS or tool.toolset in sets)
    return (*core, *extra)


def sets_table(extra: Iterable[type[Tool[Any]]] = ()) -> list[tuple[str, str, str]]:
    """Each set, when it is there and its tools, for the documentation."""
    tools = (*SHELF, *HOSTED, *extra)
    when = dict.fromkeys(ALWAYS, "always") | dict.fromkeys(TOOL_SETS, "unless switched off")
    return [
        (
            f"`{name}`",
            when.get(name, "where the host has it"),
            ", ".join(f"`{tool.name}`" for tool in tools if tool.toolset == name),
        )
        for name in dict.fromkeys([*when, *(tool.toolset for tool in tools)])
    ]


def tools_table(extra: Iterable[type[Tool[Any]]] = ()) -> list[tuple[str, str, str, str]]:
    """Name, set, access and the first paragraph of each tool's text, for the documentation."""
    return [
        (
            f"`{tool.name}`",
            tool.toolset,
            tool.access,
            " ".join(cleandoc(tool.__doc__ or "").partition("\n\n")[0].split()),
        )
        for tool in (*SHELF, *HOSTED, *extra)
    ]
