"""git_status: what is staged, changed, untracked and in conflict."""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import Field

from ..workspace.git import Change, changes
from .base import Parameters, printable
from .git_base import Git, GitTool, check_known

SHOWN = 100  # of each group
_KINDS = {
    "A": "new file",
    "C": "copied",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "T": "changed its type",
}
_CONFLICTS = {
    "AA": "both added",
    "AU": "added by us",
    "DD": "both deleted",
    "DU": "deleted by us",
    "UA": "added by them",
    "UD": "deleted by them",
    "UU": "both modified",
}
_HEAD = re.compile(
    r"## (?P<new>No commits yet on )?(?P<branch>.+?)(?:\.\.\.(?P<other>.+?)(?: \[(?P<how>.+)\])?)?"
)


class GitStatusParameters(Parameters):
    path: str = Field(".", description="File or folder, relative to the project.")


class GitStatus(GitTool[GitStatusParameters]):
    """Tell the branch and which files are staged, changed or untracked."""

    name: ClassVar[str] = "git_status"
    parameters = GitStatusParameters

    def path_of(self, parameters: GitStatusParameters) -> str:
        return parameters.path

    async def text(self, parameters: GitStatusParameters, git: Git, path: str) -> str:
        told = await git.run(
            "status",
            "--porcelain=v1",
            "-z",
            "--branch",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
            "--find-renames",
            "--",
            git.spec(path),
        )
        head, *fields = told.output.split(b"\0")
        found = list(changes(fields[:-1] if told.cut else fields))
        if not found:
            check_known(git, path)
        groups = [_group(title, lines) for title, lines in _grouped(git, found).items() if lines]
        notes = ["[there is more: give a path]"] if told.cut else []
        if (git.safe.top / ".gitmodules").exists():
            notes.append("[what has changed inside of submodules is not told]")
        clean = ["Nothing to commit: no file has changed, the work tree is clean."]
        if path != ".":
            clean = [f"Nothing has changed in {printable(path)}."]
        return "\n".join([_branch(head.decode(errors="replace")), *(groups or clean), *notes])


def _grouped(git: Git, found: list[Change]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {
        title: [] for title in ("In conflict", "Staged", "Changed, not staged", "Untracked")
    }
    for change in found:
        git.check(change.name)
        name, old = (printable(git.name(each)) for each in (change.name, change.old))
        index, tree = change.states[0], change.states[1]
        moved = f"{old} -> {name}" if old else name
        if change.states in _CONFLICTS:
            groups["In conflict"].append(f"{_CONFLICTS[change.states]}: {name}")
        elif index == "?":
            groups["Untracked"].append(name)
        else:
            if kind := _KINDS.get(index):
                groups["Staged"].append(f"{kind}: {moved}")
            if kind := _KINDS.get(tree):
                groups["Changed, not staged"].append(f"{kind}: {name}")
    return groups


def _group(title: str, lines: list[str]) -> str:
    shown = lines[:SHOWN]
    if left := len(lines) - len(shown):
        shown.append(f"[{left:,} more: give a path]")
    return "\n  ".join([f"{title}:", *shown])


def _branch(head: str) -> str:
    if head.startswith("## HEAD (no branch)") or not (parts := _HEAD.fullmatch(head)):
        return "On no branch (detached HEAD)."
    told = f"On branch {printable(parts['branch'])}"
    if parts["new"]:
        told += ", before its first commit"
    if parts["other"]:
        how = parts["how"] or "up to date"
        told += f" ({how}, compared with {printable(parts['other'])})"
    return f"{told}."
