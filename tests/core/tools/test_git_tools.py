from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.errors import ModelMendable, PathRefused, ToolFailed
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT, Tool, ToolContext
from shiro_jupyter.core.tools.git_blame import GitBlame
from shiro_jupyter.core.tools.git_diff import GitDiff
from shiro_jupyter.core.tools.git_log import GitLog
from shiro_jupyter.core.tools.git_show import GitShow
from shiro_jupyter.core.tools.git_status import GitStatus
from shiro_jupyter.core.workspace.git import Repository
from tests.support.hostile_git import CHANGED, MANNERS, PIPES, PROGRAMS, git, hostile
from tests.support.tools import Bench

TOOLS: tuple[type[Tool[Any]], ...] = (GitStatus, GitDiff, GitLog, GitShow, GitBlame)

posix = pytest.mark.skipif(os.name != "posix", reason="the helpers are shell scripts")


@dataclass
class Judged(Bench):
    """As the loop has it: what may be read is for the gate to say."""

    gate: Gate = field(default_factory=Gate)

    @property
    def context(self) -> ToolContext:
        return replace(super().context, may_read=partial(self.gate.lets_read, ()))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two commits: `a.py` and `sub/b.py`, then `a.py` changed."""
    root = tmp_path.resolve() / "project"
    (root / "sub").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / "a.py").write_text("one\ntwo\n")
    (root / "sub/b.py").write_text("b\n")
    commit(root, "Add both")
    (root / "a.py").write_text("one\nTWO\n")
    commit(root, "Shout\n\nIt is a long way.")
    return root


def commit(root: Path, message: str) -> None:
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", message)


def text(root: Path, tool: Tool[Any], rules: Rules | None = None, **arguments: Any) -> str:
    gate = Gate(rules=rules or Rules())
    result = Judged(root, gate=gate).run(tool, **arguments)
    assert result.outcome == "ok"
    return result.text


def refused(root: Path, tool: Tool[Any], **arguments: Any) -> str:
    """The one sentence that the model gets."""
    with pytest.raises(ModelMendable) as caught:
        Bench(root).run(tool, **arguments)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence
    return sentence


def called(root: Path) -> list[tuple[Tool[Any], dict[str, Any]]]:
    """A plain call of each tool."""
    return [(tool(), {"path": "a.py"} if tool is GitBlame else {}) for tool in TOOLS]


# -- status ------------------------------------------------------------------------------


def test_a_clean_tree_is_one_sentence(root: Path) -> None:
    told = text(root, GitStatus())
    assert (
        told == "On branch main.\nNothing to commit: no file has changed, the work tree is clean."
    )
    assert text(root, GitStatus(), path="sub").endswith("\nNothing has changed in sub.")


def test_staged_changed_and_untracked_are_told_apart(root: Path) -> None:
    (root / "new.py").touch()
    (root / "folder").mkdir()
    (root / "folder/x.py").touch()
    (root / "staged.py").touch()
    git(root, "add", "staged.py")
    (root / "a.py").write_text("staged\n")
    git(root, "add", "a.py")
    (root / "a.py").write_text("and changed\n")
    git(root, "mv", "sub/b.py", "sub/c.py")
    assert text(root, GitStatus()) == (
        "On branch main.\n"
        "Staged:\n  modified: a.py\n  new file: staged.py\n  renamed: sub/b.py -> sub/c.py\n"
        "Changed, not staged:\n  modified: a.py\n"
        "Untracked:\n  folder/\n  new.py"
    )
    assert "new.py" not in text(root, GitStatus(), path="sub")


def test_a_conflict_is_told_as_one(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "other", "HEAD~1")
    (root / "a.py").write_text("one\n2\n")
    commit(root, "Count")
    with pytest.raises(Exception, match="merge"):
        git(root, "merge", "main")
    assert "In conflict:\n  both modified: a.py" in text(root, GitStatus())
    assert "++<<<<<<<" in text(root, GitDiff())


def test_where_the_branch_stands(root: Path) -> None:
    git(root, "clone", "-q", root, root.parent / "clone")
    clone = root.parent / "clone"
    assert text(clone, GitStatus()).startswith("On branch main (up to date, compared with origin/m")
    (clone / "a.py").write_text("")
    commit(clone, "Empty")
    assert text(clone, GitStatus()).startswith(
        "On branch main (ahead 1, compared with origin/main)"
    )
    git(clone, "checkout", "-q", "--detach")
    assert text(clone, GitStatus()).startswith("On no branch (detached HEAD).\n")


def test_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a.py").touch()
    told = text(tmp_path, GitStatus())
    assert told == "On branch main, before its first commit.\nUntracked:\n  a.py"
    for tool in (GitLog(), GitShow(), GitDiff()):
        ref = {} if tool.name == "git_log" else {"ref": "HEAD"}
        assert refused(tmp_path, tool, **ref).startswith("There is no commit yet;")
    git(tmp_path, "add", ".")
    assert text(tmp_path, GitDiff(), staged=True).startswith("a.py  +0 -0")


def test_a_head_that_is_broken_is_not_called_a_beginning(root: Path) -> None:
    (root / ".git/refs/heads/main").write_text("0" * 39 + "1\n")
    for tool in (GitLog(), GitShow(), GitDiff()):
        ref = {} if tool.name == "git_log" else {"ref": "HEAD"}
        assert "no commit that git can read" in refused(root, tool, **ref)


# -- diff --------------------------------------------------------------------------------


def test_the_diff_is_of_what_is_asked(root: Path) -> None:
    (root / "a.py").write_text("staged\n")
    git(root, "add", "a.py")
    (root / "a.py").write_text("work\n")
    (root / "sub/b.py").write_text("c\n")

    def lines(**arguments: Any) -> set[str]:
        told = text(root, GitDiff(), **arguments).partition("\n\n")[2]
        return {
            line for line in told.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")
        }

    assert lines() == {"-staged", "+work", "-b", "+c"}
    assert lines(path="a.py") == {"-staged", "+work"}
    assert lines(staged=True) == {"-one", "-TWO", "+staged"}
    assert lines(staged=True, ref="HEAD~1") == {"-one", "-two", "+staged"}
    assert lines(ref="HEAD", path="./sub/../a.py") == {"-one", "-TWO", "+work"}
    assert lines(ref="HEAD~1..HEAD") == lines(ref="HEAD~1...") == {"-two", "+TWO"}
    assert text(root, GitDiff(), stat=True) == "a.py  +1 -1\nsub/b.py  +1 -1"


def test_no_difference_says_what_is_not_in_a_diff(root: Path) -> None:
    assert "(give staged)" in text(root, GitDiff()) and "git_status" in text(root, GitDiff())
    assert text(root, GitDiff(), ref="HEAD", path="sub") == "There is no difference in sub."


def test_a_binary_file_is_its_sizes(root: Path) -> None:
    for name, size in (("x.bin", 100), ("y | Bin 1 -> 2 bytes", 5)):
        (root / name).write_bytes(bytes(size))
    git(root, "add", ".")
    (root / "x.bin").write_bytes(bytes(2_500))
    assert text(root, GitDiff(), stat=True) == "x.bin  binary, 100 B -> 2.5 kB"
    told = text(root, GitDiff(), ref="HEAD")
    assert "x.bin  binary, 0 B -> 2.5 kB\ny | Bin 1 -> 2 bytes  binary, 0 B -> 5 B\n" in told
    assert "\0" not in told


def test_a_rename_names_both(root: Path) -> None:
    git(root, "mv", "a.py", "z.py")
    git(root, "config", "diff.renames", "false")
    assert "renamed: a.py -> z.py" in text(root, GitStatus())
    assert text(root, GitDiff(), staged=True, stat=True) == "a.py -> z.py  +0 -0"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_odd_names_are_one_line_each(root: Path) -> None:
    for name in (b"two\nlines", b'"quoted"', b"caf\xe9", "größe".encode(), b"\x1b[31m", b" -> "):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_text("x\n")
    shown = {" -> ", '"quoted"', r"\x1b[31m", r"caf\xe9", "größe", r"two\nlines"}
    assert set(text(root, GitStatus()).split("Untracked:\n  ")[1].split("\n  ")) == shown
    git(root, "add", ".")
    told = text(root, GitDiff(), staged=True)
    files = told.partition("\n\n")[0].split("\n")
    assert {line.removesuffix("  +1 -0") for line in files} == shown
    assert "\x1b" not in told and "\ndiff --git a/größe b/größe\n" in told and told.encode()
    commit(root, "Add odd ones")
    for name in shown:
        assert text(root, GitShow(), path=name) == "1: x"
        assert text(root, GitBlame(), path=name).endswith("Ada: x")
    git(root, "rm", "-q", "-r", ".")  # gone from the work tree they are named so, too
    assert text(root, GitDiff(), ref="HEAD", path=r"two\nlines", stat=True) == r"two\nlines  +0 -1"


def test_a_name_with_a_backslash_is_itself(root: Path) -> None:
    (root / r"a\new").write_text("x\n")
    (root / "a\new").write_text("y\n")
    commit(root, "Add both")
    assert text(root, GitShow(), path=r"a\new") == "1: x"


def test_a_long_diff_is_cut_and_says_how_to_see_the_rest(root: Path) -> None:
    for number in range(150):
        (root / f"f{number:03}.py").write_text("x = 1\n" * 100)
    (root / "a.py").write_text("y" * 9_000)
    git(root, "add", ".")
    told = text(root, GitDiff(), staged=True)
    assert len(told) <= OUTPUT_LIMIT
    assert "[51 more files: give a path]" in told
    assert "[… 7,001 characters of this line cut]" in told
    assert told.endswith("left out: give one of the files above as path]")
    assert "f149.py  +100 -0" in text(root, GitDiff(), staged=True, path="f149.py")


# -- log, show, blame --------------------------------------------------------------------


def test_the_log_is_newest_first_with_what_points_there(root: Path) -> None:
    git(root, "tag", "v1", "HEAD~1")
    newest, oldest = text(root, GitLog()).split("\n")
    assert newest.endswith(" Ada: Shout (HEAD -> main)")
    assert oldest.endswith(" Ada: Add both (tag: v1)")
    assert text(root, GitLog(), path="sub") == oldest
    assert text(root, GitLog(), ref="v1..HEAD") == newest
    assert text(root, GitLog(), ref="v1") == oldest
    short = text(root, GitLog(), limit=1).split("\n")
    assert short[0] == newest and short[1].startswith("[there are more:")
    assert text(root, GitLog(), ref="main..v1") == "There is no commit in main..v1."


def test_a_commit_is_shown_with_its_message_and_changes(root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    told = text(root, GitShow())
    assert told.startswith(f"commit {head}\nAda, ")
    assert "\n\nShout\n\nIt is a long way.\n\na.py  +1 -1\n\ndiff --git a/a.py b/a.py\n" in told
    assert told.endswith("\n one\n-two\n+TWO")
    first = text(root, GitShow(), ref="HEAD~1")
    assert "\na.py  +2 -0\nsub/b.py  +1 -0\n" in first


def test_a_merge_is_compared_with_its_first_parent(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "other", "HEAD~1")
    (root / "c.py").touch()
    commit(root, "Add c")
    git(root, "merge", "-q", "-m", "Merge", "main")
    told = text(root, GitShow())
    assert "\na merge of 2, compared with the first of them\n" in told
    assert "\na.py  +1 -1\n" in told and "c.py" not in told


def test_a_file_as_it_was(root: Path) -> None:
    git(root, "rm", "-q", "a.py")
    commit(root, "Remove")
    assert text(root, GitShow(), ref="HEAD~2", path="a.py") == "1: one\n2: two"
    window = text(root, GitShow(), ref="HEAD~2", path="a.py", offset=1, limit=1)
    assert window == "1: one\n[1 more line; next offset 2]"
    assert refused(root, GitShow(), path="a.py").startswith("There is no a.py in HEAD; git_log")
    assert text(root, GitShow(), ref="HEAD~2", path=".") == "a.py  8 B\nsub/"
    assert text(root, GitShow(), path="sub/") == "sub/b.py  2 B"


def test_links_binaries_and_submodules_as_they_were(root: Path) -> None:
    (root / "x.bin").write_bytes(bytes(2_000))
    (root / "link").symlink_to("/etc/passwd")
    git(root, "submodule", "--quiet", "add", root, "inner")
    commit(root, "Add odd ones")
    assert text(root, GitShow(), path="link") == "link is a link to /etc/passwd."
    assert text(root, GitShow(), path="x.bin").startswith("x.bin is a binary file (2.0 kB);")
    assert text(root, GitShow(), path="inner").startswith("inner is a submodule, at its commit ")
    assert "\ninner  (a submodule)\n" in text(root, GitShow(), path=".")


def test_a_clean_tree_with_submodules_says_that_they_are_not_looked_into(root: Path) -> None:
    git(root, "submodule", "--quiet", "add", root, "inner")
    commit(root, "Add inner")
    (root / "inner/a.py").write_text("changed\n")
    _, clean, note = text(root, GitStatus()).split("\n")
    assert clean.startswith("Nothing to commit")
    assert note == "[what has changed inside of submodules is not told]"


def test_blame_tells_whose_each_line_is(root: Path) -> None:
    with (root / "a.py").open("a") as file:
        file.write("three\n")
    hashes = [git(root, "rev-parse", ref)[:8] for ref in ("HEAD~1", "HEAD")]
    lines = text(root, GitBlame(), path="a.py").split("\n")
    assert [line.split()[1] for line in lines[:2]] == hashes
    assert lines[0].endswith(" Ada: one") and lines[1].endswith(" Ada: TWO")
    assert lines[2] == "3: not committed: three"
    then = text(root, GitBlame(), path="a.py", ref="HEAD~1", offset=2)
    assert then.startswith(f"2: {hashes[0]} ") and then.endswith(" Ada: two")
    cut = text(root, GitBlame(), path="a.py", limit=1)
    assert cut.split("\n")[1:] == ["[more lines; next offset 2]"]
    assert refused(root, GitBlame(), path="a.py", offset=9) == (
        "a.py has 3 lines; offset 9 is past its end."
    )
    (root / "new.py").touch()
    assert refused(root, GitBlame(), path="new.py").startswith("git has no lines of new.py;")


@pytest.mark.parametrize(
    "data",
    [
        "# coding: shift_jis\r\nア\r\n表\r\n".encode("shift_jis"),
        "a\ncafé\nb “ü”\n".encode("cp1252"),
        "one\nzwei ü\nlast".encode("utf-8-sig"),
        "one\nzwei ü\nlast".encode("utf-16"),
    ],
)
def test_lines_are_read_as_by_git_show(root: Path, data: bytes) -> None:
    (root / "odd").write_bytes(data)
    commit(root, "Add odd")
    note, shown = [], text(root, GitShow(), path="odd").split("\n")
    if shown[0].startswith("["):
        note, shown = shown[:1], shown[1:]
    for ref in ("", "HEAD"):
        for offset in (1, 2, 3):
            told = text(root, GitBlame(), path="odd", ref=ref, offset=offset).split("\n")
            assert told[: len(note)] == note
            parts = [line.split(": ", 2) for line in told[len(note) :]]
            assert [f"{part[0]}: {part[2]}" for part in parts] == shown[offset - 1 :]


def test_what_has_no_lines_is_not_blamed(root: Path) -> None:
    (root / "x.bin").write_bytes(bytes(2_000))
    (root / "wide").write_bytes("ਅĊ\n".encode("utf-16"))
    (root / "link").symlink_to("a.py")
    commit(root, "Add odd ones")
    assert "x.bin is a binary file (2.0 kB)" in refused(root, GitBlame(), path="x.bin")
    assert "stored as utf-16-le, of which git counts" in refused(root, GitBlame(), path="wide")
    assert "give the file that it leads to" in refused(root, GitBlame(), path="link")
    assert text(root, GitBlame(), path="link", ref="HEAD").endswith("Ada: a.py")


def test_a_commit_that_claims_any_time_can_be_blamed(root: Path) -> None:
    made = git(root, "cat-file", "commit", "HEAD").replace("Ada <ada@example.org> ", "Ada <a> 9")
    commit_hash = git(root, "hash-object", "-t", "commit", "-w", "--stdin", text=f"{made}\n")
    assert "Ada: TWO" in text(root, GitBlame(), path="a.py", ref=commit_hash)


# -- what cannot be told -----------------------------------------------------------------


def test_outside_a_repository_each_says_so_in_one_sentence(tmp_path: Path) -> None:
    for tool, arguments in called(tmp_path):
        assert "is in no git repository; use the file tools" in refused(tmp_path, tool, **arguments)


def test_without_git_each_says_what_to_do(root: Path) -> None:
    for tool, arguments in called(root):
        bench = Bench(root, environment={"PATH": str(root)})
        bench.processes.bin = root
        with pytest.raises(ToolFailed, match="git is not installed, or not on the PATH; install"):
            bench.run(tool, **arguments)


@pytest.mark.parametrize(
    "ref",
    [
        *("--output=x", "-O/dev/null", "--no-index", "--ext-diff", "-p", "--contents=/etc/passwd"),
        *("^HEAD", "HEAD:a.py", "HEAD:../secret", ":/Shout", "HEAD a.py", "a\nb", "a*", "[", "\\"),
        *("HEAD..--output=x", "--output=x..HEAD", "HEAD...-p", "no-such-branch", "x" * 300, "..-"),
        *("HEAD;touch pwned", "$(touch pwned)", "`touch pwned`", "HEAD^{tree}", "HEAD^-", "HEAD^@"),
    ],
)
def test_what_is_no_ref_is_refused_by_each(root: Path, ref: str) -> None:
    for tool, arguments in called(root):
        if not isinstance(tool, GitStatus):
            refused(root, tool, **arguments, ref=ref)
    assert {path.name for path in root.iterdir()} == {".git", "a.py", "sub"}


@pytest.mark.parametrize(
    "path",
    [
        *("--output=x", "-p", "--no-index", "--contents=/etc/passwd", "-", "~/x", "\0", "..", "/"),
        *("../secret", "/etc/passwd", "sub/../../secret", "--"),
    ],
)
def test_a_path_that_is_an_option_or_outside_is_refused_by_each(root: Path, path: str) -> None:
    (root.parent / "secret").write_text("secret\n")
    for tool in TOOLS:
        with pytest.raises(PathRefused):
            Bench(root).run(tool(), path=path)
    assert {each.name for each in root.iterdir()} == {".git", "a.py", "sub"}


@pytest.mark.parametrize("leads", ["elsewhere", "project/private", "project/loop"])
def test_what_stands_behind_a_link_to_a_folder_is_refused_by_each(root: Path, leads: str) -> None:
    (root / "data/deep").mkdir(parents=True)
    (root / "data/deep/s.txt").write_text("tracked\n")
    commit(root, "Add data")
    (root / "data").rename(root / "old")
    (root / "loop").symlink_to("loop")
    target = root.parent / leads
    if leads != "project/loop":
        (target / "deep").mkdir(parents=True)
        (target / "deep/s.txt").write_text("hunter2\n")
    (root / "data").symlink_to(target)
    for tool in TOOLS:
        with pytest.raises(PathRefused, match="leads through a link"):
            Bench(root).run(tool(), path="data/deep/s.txt")


@pytest.mark.parametrize("path", ["; touch pwned.txt", "$(touch pwned.txt)", "a.py\ntouch pwned"])
def test_a_path_is_never_read_by_a_shell(root: Path, path: str) -> None:
    for tool in TOOLS:
        refused(root, tool(), path=path)
    assert {each.name for each in root.iterdir()} == {".git", "a.py", "sub"}


def test_a_name_that_looks_like_magic_is_a_name(root: Path) -> None:
    (root / ":(exclude)a.py").write_text("x\n")
    (root / "-x").write_text("x\n")
    commit(root, "Add odd ones")
    assert text(root, GitShow(), path=":(exclude)a.py") == "1: x"
    assert text(root, GitShow(), path="./-x") == "1: x"
    assert text(root, GitBlame(), path="./-x").endswith("Ada: x")
    (root / "-x").write_text("y\n")
    assert text(root, GitDiff(), path="./-x", stat=True) == "-x  +1 -1"
    assert text(root, GitLog(), path="./-x").endswith("Add odd ones (HEAD -> main)")


# -- what is outside the project, and what holds keys --------------------------------------


def test_of_a_repository_above_the_project_only_the_project_is_told(root: Path) -> None:
    (root / "a.py").write_text("outside\n")
    (root / "other.py").touch()
    (root / "sub/b.py").write_text("inside\n")
    sub = root / "sub"
    assert text(sub, GitStatus()) == "On branch main.\nChanged, not staged:\n  modified: b.py"
    assert text(sub, GitDiff()).startswith("b.py  +1 -1\n\ndiff --git a/sub/b.py b/sub/b.py\n")
    assert "outside" not in text(sub, GitDiff())
    assert text(sub, GitLog()).endswith("Ada: Add both") and "Shout" not in text(sub, GitLog())
    assert text(sub, GitShow()).endswith("\nIt changes nothing in the project folder.")
    assert text(sub, GitShow(), path=".") == "b.py  2 B"
    assert text(sub, GitShow(), path="b.py") == "1: b"
    assert text(sub, GitBlame(), path="b.py") == "1: not committed: inside"
    for tool in TOOLS:
        with pytest.raises(PathRefused, match="is outside the project folder"):
            Bench(sub).run(tool(), path="../a.py")
    git(root, "mv", "a.py", "sub/a.py")
    assert text(sub, GitDiff(), staged=True, stat=True) == "a.py  +2 -0"


def test_files_that_hold_keys_are_left_out_and_named(root: Path) -> None:
    (root / "sub/.env").write_text("KEY=1\n")
    (root / "x.pem").write_text("KEY=1\n")
    commit(root, "Add keys")
    told = text(root, GitShow())
    assert (
        "KEY" not in told and "left out, since it may not be read unasked: sub/.env, x.pem;" in told
    )
    assert "KEY=1" in text(root, GitShow(), path="sub/.env")
    (root / "sub/.env").write_text("KEY=2\n")
    (root / "a.py").write_text("A\n")
    told = text(root, GitDiff())
    assert "+A" in told and "KEY" not in told and "sub/.env" in told
    assert "KEY" not in text(root, GitDiff(), path="sub")
    assert "+KEY=2" in text(root, GitDiff(), path="sub/.env")
    git(root, "mv", "sub/.env", "sub/plain.txt")
    assert "KEY" not in text(root, GitDiff(), staged=True)


def test_files_that_a_rule_keeps_from_being_read_are_left_out(root: Path) -> None:
    (root / "sub/b.py").write_text("hidden\n")
    (root / "a.py").write_text("seen\n")
    for rules in (Rules.parse(deny=["read(sub/**)"]), Rules.parse(ask=["read(b.py)"])):
        told = text(root, GitDiff(), rules)
        assert "+seen" in told and "hidden" not in told and "left out" in told
        assert "+hidden" not in text(root, GitDiff(), rules, path="sub")
    commit(root, "Hide")
    assert "hidden" not in text(root, GitShow(), rules)


def test_files_that_hold_keys_are_asked_for_and_nothing_else_is(root: Path) -> None:
    context = Bench(root).context
    for tool in (each() for each in TOOLS):
        verdicts = [
            Gate().decide(tool.subject(tool.parse(f'{{"path": "{path}"}}'), context), ()).verdict
            for path in ("a.py", "sub/../.env", ".aws/x")
        ]
        assert verdicts == ["allow", "ask", "ask"], tool.name
        assert Gate(mode="plan").decide(tool.subject(tool.parse('{"path": "."}'), context), ())


def crafted(root: Path, same: bool) -> None:
    """An index that names a file outside, with what it holds or something else."""
    (root.parent / "secret").write_text("of outside\n")
    (root / "xx").mkdir()
    (root / "xx/secret").write_text("of outside\n" if same else "inside\n")
    git(root, "add", ".")
    index = (root / ".git/index").read_bytes()[:-20].replace(b"xx/secret", b"../secret")
    (root / ".git/index").write_bytes(index + hashlib.sha1(index).digest())


@pytest.mark.parametrize("same", [True, False])
def test_an_index_that_names_a_file_outside_shows_nothing_of_it(root: Path, same: bool) -> None:
    """Not even whether it holds what the index says."""
    crafted(root, same)
    for tool, arguments in called(root):
        sentence = refused(root, tool, **arguments)
        assert sentence.startswith("git names ../secret, which is outside the project: its index")


def foreign(root: Path, kind: str) -> None:
    """A project whose git folder is, or leads to, that of another repository."""
    other = root.parent / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "private")
    (other / "a.py").write_text("private\n")
    commit(other, "Private")
    (root / ".git").rename(root.parent / "old")
    match kind:
        case "file":
            (root / ".git").write_text(f"gitdir: {other}/.git\n")
        case "link":
            (root / ".git").symlink_to(other / ".git")
        case "work tree of another":
            git(other, "worktree", "add", "-q", root.parent / "tree")
            (root / ".git").write_text(f"gitdir: {other}/.git/worktrees/tree\n")
        case "common folder":
            (root.parent / "old").rename(root / ".git")
            (root / ".git/commondir").write_text(f"{other}/.git\n")
        case "common folder of a made up one":
            (root / "made").mkdir()
            (root / "made/HEAD").write_text("ref: refs/heads/private\n")
            (root / "made/commondir").write_text(f"{other}/.git\n")
            (root / ".git").write_text("gitdir: made\n")
        case "alternates":
            (root.parent / "old").rename(root / ".git")
            (root / ".git/objects/info/alternates").write_text(f"{other}/.git/objects\n")
        case "a part of objects" | "an object":
            (root.parent / "old").rename(root / ".git")
            objects = root / ".git/objects"
            found = (other / ".git/objects").glob("??")
            theirs = next(each for each in found if not (objects / each.name).exists())
            ours = objects / theirs.name
            if kind == "an object":
                ours.mkdir(exist_ok=True)
                (theirs,) = theirs.iterdir()
                ours /= theirs.name
            ours.symlink_to(theirs)
        case _:
            (root.parent / "old").rename(root / ".git")
            (root / ".git" / kind).rename(root.parent / "aside")
            (root / ".git" / kind).symlink_to(other / ".git" / kind)


@posix
@pytest.mark.parametrize(
    "kind",
    [
        *("file", "link", "work tree of another", "common folder"),
        *("common folder of a made up one", "objects", "refs", "HEAD", "config", "index"),
        *("alternates", "a part of objects", "an object", "objects/pack"),
    ],
)
def test_no_other_repository_is_read(root: Path, kind: str) -> None:
    foreign(root, kind)
    for tool, arguments in called(root):
        assert refused(root, tool, **arguments).startswith("git is not run here: ")


def test_work_trees_and_submodules_are_read(root: Path) -> None:
    tree = root.parent / "tree"
    git(root, "worktree", "add", "-q", "-b", "feat", tree)
    outer = root.parent / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", root, "inner")
    commit(outer, "Add inner")
    git(outer, "worktree", "add", "-q", root.parent / "further")
    git(root.parent / "further", "submodule", "--quiet", "update", "--init")
    for project in (tree, outer / "inner", root.parent / "further/inner"):
        (project / "a.py").write_text("one\ntwo\n")
        assert "-TWO\n+two" in text(project, GitDiff())
        assert "Shout" in text(project, GitLog())


# -- a hostile repository ------------------------------------------------------------------


@posix
def test_no_helper_of_a_hostile_repository_is_run(tmp_path: Path) -> None:
    made = hostile(tmp_path / "x", PROGRAMS | MANNERS | PIPES)
    index = (made.root / ".git/index").stat()

    def told(tool: Tool[Any], **arguments: Any) -> str:
        return Bench(made.root, environment=made.environment()).run(tool, **arguments).text

    status = told(GitStatus())
    assert status == (
        "On branch main.\nChanged, not staged:\n"
        + "".join(f"  modified: {name}\n" for name in (*CHANGED, "moved"))
        + "Untracked:\n  .gitattributes\n"
        "[what has changed inside of submodules is not told]"
    )
    for diff in (told(GitDiff()), told(GitDiff(), ref="HEAD")):
        files = "".join(f"{name}  +1 -1\n" for name in (*CHANGED, "moved"))
        assert diff.startswith(f"{files}\ndiff --git a/a.py b/a.py\n")
        assert diff.count("\n-two\n+TWO") == 4 and "\n+Subproject commit " in diff
    assert told(GitDiff(), path="a.py", staged=True) == "There is no difference in a.py."
    assert [line.split("Ada: ")[1] for line in told(GitLog()).split("\n")] == [
        *("last (HEAD -> main)", "third", "second", "first")
    ]
    assert "\n\nlast\n\nlast.md  +0 -0\n\n" in told(GitShow())
    assert told(GitShow(), path="a.py") == "1: one\n2: two"
    for name in CHANGED:
        assert told(GitBlame(), path=name).endswith("2: not committed: TWO")
    assert told(GitBlame(), path="a.py", ref="HEAD").endswith(" Ada: two")
    for tool, arguments in (
        (GitShow(), {"ref": "HEAD~2", "path": "lost.dat"}),
        (GitShow(), {"ref": "HEAD~1"}),
        (GitDiff(), {"ref": "HEAD~2"}),
    ):
        with pytest.raises(ToolFailed, match=r"partial clone|failed here"):
            told(tool, **arguments)
    assert not made.ran
    after = (made.root / ".git/index").stat()
    assert (after.st_ino, after.st_mtime_ns) == (index.st_ino, index.st_mtime_ns), "nothing written"


@posix
def test_a_bare_repository_in_the_project_is_a_folder(root: Path, tmp_path: Path) -> None:
    marker, sub = tmp_path / "ran", root / "sub"
    git(root, "init", "-q", "--bare", sub / "inner")
    for each in (sub / "inner").iterdir():
        each.rename(sub / each.name)
    (tmp_path / "evil").write_text(f"#!/bin/sh\ntouch {marker}\n")
    (tmp_path / "evil").chmod(0o755)
    core = (
        f"repositoryformatversion = 0\nbare = false\nworktree = {sub}\nfsmonitor = {tmp_path}/evil"
    )
    config = f"[core]\n{core}\n"
    (sub / "config").write_text(config)
    git(sub, "status", "--porcelain")
    assert marker.exists(), "git itself runs it, else this shows nothing"
    marker.unlink()
    assert "Untracked:\n  HEAD\n  config\n" in text(sub, GitStatus())
    assert text(sub, GitShow(), path="b.py") == "1: b"
    assert not marker.exists()


@posix
@pytest.mark.parametrize("name", [".mailmap", ".git/info/attributes", ".git/packed-refs"])
def test_a_pipe_in_place_of_a_file_holds_nothing_up(root: Path, name: str) -> None:
    (root / name).unlink(missing_ok=True)
    os.mkfifo(root / name)
    sentence = refused(root, GitBlame(), path="a.py")
    assert sentence.startswith(f"git is not run here: {root / name} is a pipe")


@posix
def test_a_pipe_in_a_submodule_holds_a_call_up_for_a_moment_only(root: Path) -> None:
    inner = root / "inner"
    git(root, "init", "-q", "-b", "main", inner)
    git(inner, "commit", "-q", "--allow-empty", "-m", "x")
    commit(root, "Add it")
    (inner / ".git/refs/heads/main").unlink()
    os.mkfifo(inner / ".git/refs/heads/main")
    sentence = refused(root, GitStatus())
    pipe = str(inner / ".git/refs/heads/main")
    assert sentence.startswith(f"git cannot get past {pipe!r}, which is a pipe; let the person")


READ_SOMETIMES = (
    *("MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge/head-name", "refs/heads/x", "refs/tags/x"),
    *("objects/info/commit-graph", "objects/pack/multi-pack-index", "modules/m/HEAD", "logs/HEAD"),
)


@posix
@pytest.mark.parametrize("name", READ_SOMETIMES)
@pytest.mark.parametrize("device", [False, True])
def test_what_has_no_end_in_the_git_folder_is_not_read(root: Path, name: str, device: bool) -> None:
    path = root / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if device:
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    for tool, arguments in called(root):
        sentence = refused(root, tool, **arguments)
        assert sentence.startswith(f"git is not run here: {path} is a "), tool.name


@posix
def test_what_git_does_not_read_in_its_folder_may_be_anything(root: Path) -> None:
    (root / ".git/hooks/pre-commit").symlink_to("/dev/zero")
    (root / ".git/modules/m/hooks").mkdir(parents=True)
    os.mkfifo(root / ".git/modules/m/hooks/pre-push")
    (root / ".git/.#COMMIT_EDITMSG").symlink_to("ada@host.7:1")  # Emacs has it open
    (root / ".git/loop").symlink_to("loop")
    (root / ".git/refs/heads/old").symlink_to("main")  # as git made them once
    for tool, arguments in called(root):
        text(root, tool, **arguments)


def test_a_git_folder_that_cannot_be_looked_into_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(repository: Repository) -> str:
        raise PermissionError(13, "Permission denied", str(repository.own / "x"))

    monkeypatch.setattr(Repository, "oddity", refusing)
    told = f"git is not run here: {root}/.git/x cannot be looked into (Permission denied); let the"
    assert refused(root, GitLog()).startswith(told)


@posix
def test_settings_that_hold_git_up_are_told_as_such(root: Path) -> None:
    os.mkfifo(root.parent / "pipe")
    git(root, "config", "include.path", root.parent / "pipe")
    began = time.monotonic()
    sentence = refused(root, GitLog())
    assert sentence.startswith("git did not get through its settings and was ended; let the person")
    assert time.monotonic() - began < 10


@posix
def test_a_repository_does_not_say_which_file_tells_what_is_ignored(root: Path) -> None:
    os.mkfifo(root.parent / "pipe")
    git(root, "config", "core.excludesFile", root.parent / "pipe")
    (root / "new").touch()
    assert text(root, GitStatus()) == "On branch main.\nUntracked:\n  new"


@posix
@pytest.mark.parametrize("folder", [".", "sub", "sub/new"])
@pytest.mark.parametrize(
    ("name", "tool"),
    [(".gitattributes", GitDiff), (".gitattributes", GitBlame), (".gitignore", GitStatus)],
)
def test_a_pipe_among_the_files_holds_a_call_up_for_a_moment_only(
    root: Path, folder: str, name: str, tool: type[Tool[Any]]
) -> None:
    (root / folder).mkdir(exist_ok=True)
    for each in ("b.py", "new/b.py"):
        if (path := root / "sub" / each).parent.exists():
            path.write_text("1\n")
    commit(root, "Add it")
    changed = root / folder / ("a.py" if folder == "." else "b.py")
    changed.write_text("2\n")
    os.mkfifo(root / folder / name)
    pipe = (root / folder / name).resolve()
    arguments = {"path": changed.relative_to(root).as_posix()} if tool is GitBlame else {}
    began = time.monotonic()
    sentence = refused(root, tool(), **arguments)
    assert sentence.startswith(f"git cannot get past {str(pipe)!r}, which is a pipe; let the pers")
    assert time.monotonic() - began < 10


def test_a_path_that_leads_elsewhere_than_judged_is_refused_by_each(root: Path) -> None:
    """Before git is run, and after."""
    secret = root.parent / "secret"
    secret.mkdir()
    (secret / "b.py").write_text("hunter2\n")
    for tool in (each() for each in TOOLS):
        bench, parameters = Bench(root), tool.parse('{"path": "sub/b.py"}')
        judged = tool.subject(parameters, bench.context).texts
        context = replace(bench.context, judged=judged)
        assert asyncio.run(tool.run(parameters, context)).outcome == "ok"
        other = tool.parse('{"path": "a.py"}')
        with pytest.raises(
            PathRefused, match=r"a\.py leads elsewhere than when this call was judge"
        ):
            asyncio.run(tool.run(other, context))

        async def swapping(parameters: Any, git: Any, path: str, text: Any = tool.text) -> str:
            told: str = await text(parameters, git, path)
            (root / "sub").rename(root / "old")
            (root / "sub").symlink_to(secret)
            return told

        tool.text = swapping  # type: ignore[method-assign]
        with pytest.raises(PathRefused, match="leads through a link"):
            asyncio.run(tool.run(parameters, context))
        (root / "sub").unlink()
        (root / "old").rename(root / "sub")


def test_a_filter_that_cannot_be_switched_off_is_named(root: Path) -> None:
    with (root / ".git/config").open("a") as config:
        config.write('[filter "a=b"]\n\tclean = evil\n')
    assert "(filter.a=b.clean)" in refused(root, GitDiff())


def test_a_broken_config_is_told_without_what_it_holds(root: Path) -> None:
    (root / ".git/config").write_text("[core]\n\trepositoryformatversion = 0\nhidden words\n")
    sentence = refused(root, GitStatus())
    assert "settings of this repository or this user cannot be read" in sentence
    assert "hidden" not in sentence


# -- a git that takes long -----------------------------------------------------------------


def slow(root: Path, pid: Path) -> dict[str, str]:
    """An environment whose git says who it is and then does nothing."""
    fake = root.parent / "bin/git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ > {pid}\nsleep 300\n")
    fake.chmod(0o755)
    return {"PATH": f"{fake.parent}{os.pathsep}{os.environ['PATH']}"}


def gone(pid: Path) -> bool:
    try:
        os.kill(int(pid.read_text()), 0)
    except ProcessLookupError:
        return True
    return False


@posix
def test_a_git_that_takes_too_long_is_ended_with_a_sentence(root: Path, tmp_path: Path) -> None:
    bench = Bench(root, environment=slow(root, tmp_path / "pid"))
    bench.processes.bin = root.parent / "bin"
    tool = GitStatus()
    tool.deadline = 0.5
    with pytest.raises(ToolFailed, match="was not done in time and was ended; ask for less"):
        bench.run(tool)
    assert gone(tmp_path / "pid")


@posix
def test_a_cancelled_call_has_ended_git(root: Path, tmp_path: Path) -> None:
    bench = Bench(root, environment=slow(root, tmp_path / "pid"))
    bench.processes.bin = root.parent / "bin"

    async def cancelled() -> float:
        tool = GitLog()
        call = asyncio.ensure_future(tool.run(tool.parse("{}"), bench.context))
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await asyncio.sleep(0.01)
        call.cancel()
        begun = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await call
        return time.monotonic() - begun

    assert asyncio.run(cancelled()) < 5
    assert gone(tmp_path / "pid")
