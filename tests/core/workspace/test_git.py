from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.workspace.git import (
    FILES,
    GitState,
    git_state,
    is_outside,
    none_outside,
    repository_of,
)

# Real git on a busy machine; the deadline has tests of its own.
PATIENCE = 20.0
# How far over its deadline is a measure of the benches; here, far less than the fake git sleeps.
SLACK = 5.0

Commit = Callable[..., Path]


def git(folder: Path, *arguments: str | bytes | Path) -> None:
    named = (
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "-c",
        "protocol.file.allow=always",
    )
    subprocess.run(["git", "-C", folder, *named, *arguments], check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository on `fix/stripe-webhook` with one commit of three files."""
    root = tmp_path.resolve() / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "fix/stripe-webhook")
    for name in ("a.py", "b.py", "sub/c.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(f"# {name}\n" * 20)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    return root


def state(folder: Path, **options: object) -> GitState:
    return git_state(folder, os.environ, deadline=PATIENCE, **options)  # type: ignore[arg-type]


def touch(path: Path, at: int) -> None:
    """A file of its own content, changed at that time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{path} at {at}\n")
    os.utime(path, (at, at))


# -- what is told ------------------------------------------------------------------------


def test_a_clean_tree_has_a_branch_alone(root: Path) -> None:
    assert state(root) == GitState("fix/stripe-webhook")


def test_staged_unstaged_and_untracked_are_told_newest_first(root: Path) -> None:
    touch(root / "a.py", 1_000)
    touch(root / "new/deep/d.py", 4_000)
    touch(root / "staged.py", 3_000)
    git(root, "add", "staged.py")
    touch(root / "sub/c.py", 2_000)
    (root / "b.py").unlink()
    (root / ".gitignore").write_text("*.log\n")
    touch(root / "x.log", 5_000)
    os.utime(root / ".gitignore", (10, 10))
    told = ("new/deep/d.py", "staged.py", "sub/c.py", "a.py", ".gitignore", "b.py")
    assert state(root).files == told


def test_a_renamed_file_has_its_new_name(root: Path) -> None:
    git(root, "mv", "b.py", "renamed.py")
    touch(root / "a.py", 1_000)
    assert set(state(root).files) == {"renamed.py", "a.py"}


def test_our_own_store_is_never_told(root: Path) -> None:
    touch(root / ".shiro/memory/MEMORY.md", 2_000)
    touch(root / "sub/.shiro/memory/MEMORY.md", 2_000)
    touch(root / "not.shiro", 1_000)
    assert state(root).files == ("not.shiro",)


def test_the_newest_forty_are_told(root: Path) -> None:
    for number in range(FILES + 10):
        touch(root / f"n{number:03}.py", 1_000 + number)
    told = state(root).files
    assert told == tuple(f"n{number:03}.py" for number in range(FILES + 9, 9, -1))


def test_a_project_in_a_folder_of_its_repository(root: Path) -> None:
    touch(root / "a.py", 2_000)
    touch(root / "sub/c.py", 1_000)
    touch(root / "subway.py", 3_000)
    assert state(root / "sub") == GitState("fix/stripe-webhook", ("c.py",))


def test_a_work_tree(root: Path, tmp_path: Path) -> None:
    other = tmp_path.resolve() / "other"
    git(root, "worktree", "add", "-q", "-b", "feat/two", other)
    touch(other / "a.py", 1_000)
    assert state(other) == GitState("feat/two", ("a.py",))
    assert state(root) == GitState("fix/stripe-webhook")


def test_a_submodule_and_what_is_around_it(root: Path, tmp_path: Path) -> None:
    outer = tmp_path.resolve() / "outer"
    outer.mkdir()
    git(outer, "init", "-q", "-b", "outer")
    git(outer, "submodule", "--quiet", "add", root, "inner")
    git(outer, "commit", "-q", "-m", "one")
    touch(outer / "inner/a.py", 1_000)
    assert state(outer / "inner") == GitState("fix/stripe-webhook", ("a.py",))
    assert state(outer) == GitState("outer")


@pytest.mark.parametrize(
    "name",
    [b"gr\xc3\xb6\xc3\x9fe \xe6\x95\xb0.py", b"two\nlines.py", b'"quoted"  .py', b" -> b.py"],
)
def test_names_that_git_would_quote(root: Path, name: bytes) -> None:
    (root / name.decode()).touch()
    assert state(root).files == (name.decode(),)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse names that are no text")
def test_a_name_that_is_no_text_can_be_written_on(root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9.py")).touch()
    (told,) = state(root).files
    assert told == "caf\N{REPLACEMENT CHARACTER}.py" and told.encode()


# -- what cannot be told -----------------------------------------------------------------


def test_without_a_repository(tmp_path: Path) -> None:
    touch(tmp_path / "a.py", 1_000)
    assert state(tmp_path) == GitState()


def test_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "feat/first")
    touch(tmp_path / "a.py", 1_000)
    assert state(tmp_path) == GitState("feat/first", ("a.py",))


def test_a_detached_head(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")
    touch(root / "a.py", 1_000)
    assert state(root) == GitState("", ("a.py",))


@pytest.mark.parametrize("program", ["no-such-git", "./git", "git\0"])
def test_without_git_the_branch_is_known(root: Path, program: str) -> None:
    touch(root / "a.py", 1_000)
    assert state(root, program=program) == GitState("fix/stripe-webhook")


def test_a_git_in_the_current_folder_is_not_run(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(root / "git", f"touch {tmp_path}/ran")
    monkeypatch.chdir(root)
    assert git_state(root, {"PATH": "."}, deadline=PATIENCE) == GitState("fix/stripe-webhook")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "head", [b"", b"\xff\xfe\0", b"ref: refs/heads/.invalid\n", b"ref: refs/tags/x", b"x" * 9_000]
)
def test_a_head_that_names_no_branch(root: Path, head: bytes) -> None:
    (root / ".git/HEAD").write_bytes(head)
    assert state(root).branch == ""


@pytest.mark.parametrize(
    "pointer", [b"", b"gitdir: a\0b", b"gitdir: " + b"x" * 5_000, b"gitdir: ."]
)
def test_a_broken_pointer_to_a_repository(tmp_path: Path, pointer: bytes) -> None:
    (tmp_path / ".git").write_bytes(pointer)
    assert state(tmp_path) == GitState()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_for_a_head_holds_up_nothing(root: Path) -> None:
    (root / ".git/HEAD").unlink()
    os.mkfifo(root / ".git/HEAD")
    assert repository_of(root) and git_state(root, os.environ).branch == ""


def test_an_empty_repository_folder_does_not_lead_to_the_one_above(root: Path) -> None:
    touch(root / "sub/c.py", 1_000)
    (root / "sub/.git").mkdir()
    assert state(root / "sub") == GitState()


# -- a repository that is out for more ----------------------------------------------------


def script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {"core.fsmonitor": "{evil}"},
        {"filter.evil.clean": "{evil}"},
        {"filter.evil.process": "{evil}", "filter.evil.required": "true"},
        {"include.path": "{more}"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_no_program_that_the_config_names_is_run(
    root: Path, tmp_path: Path, settings: dict[str, str]
) -> None:
    ran = tmp_path / "ran"
    evil = script(tmp_path / "evil", f"touch {ran}; cat; exit 1")
    more = tmp_path / "more.cfg"
    more.write_text(f'[filter "evil"]\n\tclean = {evil}\n')
    for key, value in settings.items():
        git(root, "config", key, value.format(evil=evil, more=more))
    (root / ".git/info/attributes").write_text("*.py filter=evil\n")
    old = (root / "a.py").stat()
    (root / "a.py").write_text("# b.py\n" * 20)  # of the same size, so that git reads it
    os.utime(root / "a.py", (old.st_atime, old.st_mtime + 10))
    assert state(root) == GitState("fix/stripe-webhook", ("a.py",))
    assert not ran.exists()
    subprocess.run(["git", "-C", root, "status"], capture_output=True, check=False)
    assert ran.exists(), "git itself runs it, else this shows nothing"


@pytest.mark.parametrize("kept_in", ["config", "config.worktree"])
@pytest.mark.parametrize("folder", [".", "sub"])
def test_no_work_tree_elsewhere_is_looked_at(
    root: Path, tmp_path: Path, kept_in: str, folder: str
) -> None:
    touch(tmp_path / "elsewhere/sub/secret.txt", 1_000)
    touch(tmp_path / "elsewhere/a.py", 1_000)
    touch(root / "sub/c.py", 1_000)
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--file", root / ".git" / kept_in, "core.worktree", tmp_path / "elsewhere")
    name = "sub/c.py" if folder == "." else "c.py"
    assert state(root / folder) == GitState("fix/stripe-webhook", (name,))
    listed = subprocess.run(
        ["git", "-C", root, "status", "--porcelain", "-uall"], capture_output=True, check=True
    )
    assert b"secret.txt" in listed.stdout, "git itself looks there, else this shows nothing"


@pytest.mark.parametrize("kind", ["file", "link", "common folder"])
def test_no_file_of_another_repository_is_told(root: Path, tmp_path: Path, kind: str) -> None:
    other = tmp_path.resolve() / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "private")
    touch(other / "secret.txt", 1_000)
    git(other, "add", ".")
    if kind == "common folder":
        (root / ".git/commondir").write_text(f"{other}/.git\n")
        (root / ".git/index").unlink()
        (root / ".git/index").symlink_to(other / ".git/index")
    else:
        (root / ".git").rename(tmp_path / "old")
        if kind == "file":
            (root / ".git").write_text(f"gitdir: {other}/.git\n")
        else:
            (root / ".git").symlink_to(other / ".git")
    assert state(root).files == ()


def test_a_bare_repository_has_no_changed_files(root: Path) -> None:
    touch(root / "a.py", 1_000)
    git(root, "config", "core.bare", "true")
    assert state(root) == GitState("fix/stripe-webhook")


def test_a_filter_whose_name_takes_no_setting_costs_the_files(root: Path, tmp_path: Path) -> None:
    evil = script(tmp_path / "evil", f"touch {tmp_path}/ran; cat")
    with (root / ".git/config").open("a") as config:
        config.write(f'[filter "a=b"]\n\tclean = {evil}\n')
    (root / ".gitattributes").write_text("*.py filter=a=b\n")
    os.utime(root / "a.py", (1, 1))
    assert state(root) == GitState("fix/stripe-webhook")
    assert not (tmp_path / "ran").exists()


def test_no_hook_is_run_and_no_lock_taken(root: Path, tmp_path: Path) -> None:
    script(root / ".git/hooks/post-index-change", f"touch {tmp_path}/ran")
    index = (root / ".git/index").read_bytes()
    os.utime(root / "a.py", (1, 1))  # git would write the index anew
    assert state(root) == GitState("fix/stripe-webhook")
    assert not (tmp_path / "ran").exists() and (root / ".git/index").read_bytes() == index


def test_git_gets_neither_keys_nor_the_settings_of_the_shell(root: Path, tmp_path: Path) -> None:
    fake = script(tmp_path / "git", f"env > {tmp_path}/env.$1; echo")
    environment = os.environ | {
        "OPENAI_API_KEY": "k-1",
        "AWS_SECRET_ACCESS_KEY": "k-2",
        "GIT_DIR": "/nowhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_EXTERNAL_DIFF": "evil",
    }
    state_of = git_state(root, environment, deadline=PATIENCE, program=str(fake))
    assert state_of.branch == "fix/stripe-webhook"
    seen = (tmp_path / "env.--no-optional-locks").read_text()
    names = {line.partition("=")[0] for line in seen.splitlines()}
    assert not names & (environment.keys() - os.environ.keys()), names
    assert {"HOME", "PATH", "GIT_CEILING_DIRECTORIES"} <= names


# -- a git that hangs --------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "echo $$ > {pids}; exec sleep 60",
        "sleep 60 & echo $! > {pids}; echo ' M a.py'; exit 0",
        "trap '' TERM; sleep 60 & echo $! > {pids}; wait; wait",
        "setsid sleep 60 & echo $! > {pids}; sleep 60",
        "while true; do echo ' M a.py'; done",
    ],
    ids=["sleeps", "leaves a child at the pipe", "ignores the end", "leaves its group", "floods"],
)
def test_a_git_that_hangs_is_left_at_the_deadline(root: Path, tmp_path: Path, body: str) -> None:
    pids = tmp_path / "pids"
    fake = script(tmp_path / "git", body.format(pids=pids))
    start = time.monotonic()
    told = git_state(root, os.environ, deadline=0.3, program=str(fake))
    took = time.monotonic() - start
    assert told == GitState("fix/stripe-webhook")
    assert took < 0.3 + SLACK
    # That nothing of it goes on, the guard of every test sees to but for what left our tree.
    for pid in pids.read_text().split() if pids.exists() else []:
        gone(int(pid))


def gone(pid: int) -> None:
    try:
        psutil.Process(pid).wait(10)
    except psutil.NoSuchProcess:
        return


def test_no_time_at_all_runs_nothing(root: Path, tmp_path: Path) -> None:
    fake = script(tmp_path / "git", f"touch {tmp_path}/ran")
    assert git_state(root, os.environ, deadline=0.0, program=str(fake)).branch
    assert not (tmp_path / "ran").exists()


@given(
    st.lists(
        st.lists(
            st.sampled_from([b"a", b".git", b".GIT", b"..", b".", b"", b".gitx", b"x.git", b"a.b"]),
            min_size=1,
            max_size=3,
        )
    )
)
def test_one_look_at_all_names_passes_none_that_is_outside(parts: list[list[bytes]]) -> None:
    names = [b"/".join(each) for each in parts]
    if none_outside(b"".join(name + b"\0" for name in names)):
        assert not any(map(is_outside, names))


def test_one_look_passes_plain_names() -> None:
    assert none_outside(b".gitignore\0src/a.py\0.github/x.yml\0")
    assert not none_outside(b"a\0../b\0") and not none_outside(b"/etc/passwd\0")
