"""That nothing which a repository names is run, each tool shows in tests/core/tools."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shiro_jupyter.core.workspace.git import git_state
from shiro_jupyter.core.workspace.safe_git import MEMORY, SafeGit, pathspec
from tests.support.hostile_git import CHANGED, MANNERS, PIPES, PROGRAMS, git, hostile

posix = pytest.mark.skipif(os.name != "posix", reason="the helpers are shell scripts")

# What plain git runs of the fixture in everyday commands, in every version from 2.30 on.
EVERYDAY = {
    *("clean", "command", "external", "fsmonitor", "gpg", "hook", "inner", "more", "process"),
    *("promisor", "textconv"),
}


@posix
def test_plain_git_runs_the_helpers_of_the_fixture(tmp_path: Path) -> None:
    made = hostile(tmp_path / "x", PROGRAMS)
    for command in ("status", "diff", "log -1", "show HEAD~2:lost.dat"):
        _plain(made.root, *command.split())
    for command in ("status", "diff", "diff d.md", "diff --no-ext-diff"):
        without = ("-c", "filter.process.process=", "-c", "filter.process.required=false")
        _plain(made.root, *without, *command.split())
    assert made.ran >= EVERYDAY


def _plain(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-C", folder, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=30,
    )


@posix
def test_the_state_of_a_hostile_repository_is_told_and_nothing_run(tmp_path: Path) -> None:
    made = hostile(tmp_path / "x", PROGRAMS | MANNERS | PIPES)
    state = git_state(made.root, made.environment(), deadline=30)
    assert state.branch == "main"
    assert set(state.files) == {*CHANGED, ".gitattributes"}
    assert not made.ran


@posix
def test_git_may_hold_so_much_memory(tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.write_text('#!/bin/sh\nulimit -d\necho "$@"\n')
    fake.chmod(0o755)
    safe = SafeGit.at(tmp_path, os.environ, str(fake))
    assert safe
    done = subprocess.run(safe.command("log", "a b"), capture_output=True, text=True, check=True)
    limit, given = done.stdout.splitlines()
    assert int(limit) == MEMORY and given.endswith(" log a b")


def test_git_gets_little_of_the_environment(tmp_path: Path) -> None:
    """No key, and nothing that tells git what to run or where to look."""
    given = {"PATH": os.environ["PATH"], "HOME": "/home/ada", "GIT_DIR": "x", "LD_PRELOAD": "x"}
    safe = SafeGit.at(tmp_path, given | {"OPENAI_API_KEY": "k", "GIT_TRACE": "/tmp/x"})
    assert safe
    assert not {"GIT_DIR", "GIT_TRACE", "LD_PRELOAD", "OPENAI_API_KEY"} & safe.environment.keys()
    assert safe.environment["HOME"] == "/home/ada"
    assert safe.environment["GIT_ALLOW_PROTOCOL"] == "none"
    assert safe.environment["GIT_NO_LAZY_FETCH"] == "1"


def test_what_the_settings_name_is_set_aside(tmp_path: Path) -> None:
    safe = SafeGit.at(tmp_path, os.environ)
    assert safe
    listed = (
        b"global\0filter.lfs.clean\0local\0filter.a b\nc.process\0local\0core.worktree\0"
        b"global\0core.attributesfile\0"
    )
    knowing = safe.knowing(listed)
    assert knowing.settings[len(safe.settings) :] == (
        *("filter.lfs.clean=", "filter.lfs.required=false"),
        *("filter.a b\nc.process=", "filter.a b\nc.required=false"),
    )
    assert knowing.environment["GIT_WORK_TREE"] == str(tmp_path)
    assert safe.knowing(b"") == safe
    with pytest.raises(ValueError, match=r"filter\.a=b\.clean"):
        safe.knowing(b"local\0filter.a=b.clean\0")


@pytest.mark.parametrize("name", ["a*.py", ":(glob)**", ":/a.py", "[a].py", "-x", "\\a"])
def test_a_path_is_nothing_but_a_path(tmp_path: Path, name: str) -> None:
    git(tmp_path, "init", "-q")
    safe = SafeGit.at(tmp_path, os.environ)
    assert safe
    for each in (name, "a.py", "b.py"):
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).touch()
    git(tmp_path, "add", ".")
    told = subprocess.run(
        safe.command("diff", "--cached", "--name-only", "-z", "--", pathspec(name)),
        cwd=tmp_path,
        env=dict(safe.environment),
        capture_output=True,
        check=True,
    )
    assert told.stdout == f"{name}\0".encode()
