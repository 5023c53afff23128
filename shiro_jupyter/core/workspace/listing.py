"""All files below a folder that are not ignored: asked of git where there is one, walked else.

git is run on a folder of ours in place of the repository's own, beside the index: so it decides in
the same way where there is no repository, and no config of the project is ever read.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from ..errors import ToolFailed
from .git import is_outside, none_outside
from .git_index import is_sha256
from .ignore import GIT_FILE, NEVER, OWN_FILE, Extra, Rules, exclude_file, rules_of
from .processes import Processes
from .safe_git import unheld
from .threads import in_thread
from .walk import files_below

SECONDS = 60.0
# For git among them: ignore rules may take it far longer than they take us.
GIT_SECONDS = 6.0
OUTPUT_LIMIT = 500_000_000
_PASSED = frozenset({"PATH", "PATHEXT", "SYSTEMROOT", "TEMP", "TMPDIR"})

T = TypeVar("T")


async def files_in(start: Path, extra: Extra, processes: Processes) -> list[bytes]:
    """The files and links below a resolved folder that are not ignored, by their paths from it,
    in no order.

    What git tracks comes along though it is gone, where git is asked. Raises `ToolFailed` where
    it takes too long.
    """
    rules = await in_thread(rules_of, start, extra.root)
    names = await _listed(rules, processes)
    if names is None:
        names = await until_cancelled(files_below(rules))
    if extra:
        above = extra.above(start)
        names = [name for name in names if not extra.hides(above + name, False)]
    return names


def check_folder(path: Path, name: str) -> None:
    """Raises `ToolFailed`, in words, for what is no folder that can be opened."""
    try:
        with os.scandir(path):
            pass
    except NotADirectoryError:
        raise ToolFailed(f"{name} is a file; give the folder that it is in.") from None
    except FileNotFoundError:
        raise ToolFailed(f"There is no folder {name}; look for it with a glob.") from None
    except OSError as error:
        raise ToolFailed(f"{name} cannot be opened: {error.strerror}; do without it.") from None


class Present:
    """Tells which of some names are there, as a file or a link, through no other link."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._folders: dict[Path, bool] = {}

    def __call__(self, name: bytes) -> bool:
        path = self._start / os.fsdecode(name)
        try:
            if path.parent not in self._folders:
                self._folders[path.parent] = path.parent.resolve() == path.parent
            mode = path.lstat().st_mode
        except OSError:
            return False
        return self._folders[path.parent] and (stat.S_ISREG(mode) or stat.S_ISLNK(mode))


async def until_cancelled(items: Iterable[T]) -> list[T]:
    """All of them, taken on a thread, which ends soon after its caller was cancelled."""
    stop = threading.Event()

    def taken() -> Iterator[T]:
        for item in items:
            if stop.is_set():
                return
            yield item

    try:
        async with asyncio.timeout(SECONDS):
            return await in_thread(lambda: list(taken()))
    except TimeoutError:
        raise _too_long() from None
    finally:
        stop.set()


def found_program(processes: Processes, name: str) -> str | None:
    """Where a program is; one that is looked for in the current folder is not ours."""
    found = shutil.which(name, path=processes.child_environment().get("PATH"))
    return found if found and Path(found).is_absolute() else None


async def _listed(rules: Rules, processes: Processes) -> list[bytes] | None:
    """What git lists; None where it cannot tell, or where a file of ours speaks besides."""
    if any(each.own for each in rules.chain):
        return None
    answer, known = await asyncio.gather(
        _git(rules, processes, "--cached", "--others", f"--exclude=!{OWN_FILE}"),
        in_thread(lambda: rules.tracked.links),
    )
    if answer is None:
        return None
    names = answer.split(b"\0")
    names.pop()
    if not none_outside(answer):  # the index may name any file
        names = [name for name in names if not is_outside(name)]
    own = os.fsencode(OWN_FILE)
    if own in answer and any(name.rpartition(b"/")[2] == own for name in names):
        return None
    never = {name for name in map(os.fsencode, NEVER - {".git"}) if name in answer}
    if never:  # git itself names no `.git`
        names = [name for name in names if never.isdisjoint(name.split(b"/"))]
    # Repositories inside this one, which obey the outer rules here: known to it, or not.
    folders = {name for name in names if name.endswith(b"/")} if b"/\0" in answer else set()
    if known:
        folders.update(name for name in names if rules.below + name in known)
    if folders:
        names = [name for name in names if name not in folders]
        names += await until_cancelled(_inside(rules, folders))
    return names


def _inside(rules: Rules, folders: Iterable[bytes]) -> Iterator[bytes]:
    for folder in folders:
        name = folder.rstrip(b"/")
        inner = rules
        for part in os.fsdecode(name).split("/"):
            inner = inner.inside(part)
        for each in files_below(inner):
            yield name + b"/" + each


async def _git(rules: Rules, processes: Processes, *options: str) -> bytes | None:
    """What `git ls-files` prints below the rules' folder; None where it fails, takes too long or is
    not there."""
    git = found_program(processes, "git")
    if not git:
        return None
    given = processes.child_environment()
    with tempfile.TemporaryDirectory(prefix="shiro-git-") as scratch:
        environment = {name: value for name, value in given.items() if name.upper() in _PASSED}
        environment |= await in_thread(_stand_in, rules, Path(scratch))
        excludes = [f"--exclude-per-directory={GIT_FILE}"]
        if rules.repository and (outside := exclude_file(rules.repository)).is_file():
            excludes.append(f"--exclude-from={outside}")
        # Not by `SafeGit`, which runs git in the repository that is there and obeys the person's
        # settings: here it is one of ours, and nobody's settings count.
        running = processes.capture(
            [git, "ls-files", "-z", *options, *excludes],
            cwd=rules.folder,
            environment=environment,
            timeout=GIT_SECONDS,
            limit=OUTPUT_LIMIT,
        )
        try:
            done = await unheld(running, rules.chain[-1].folder)
        except ToolFailed:
            return None
    return done.output if done.exit_code == 0 else None


def _stand_in(rules: Rules, scratch: Path) -> dict[str, str]:
    """An empty repository of ours over the folder where the rules begin, with the index of the
    one that is there; the environment that has git take it, and read no config but its own."""
    (scratch / "objects").mkdir()
    (scratch / "refs").mkdir()
    (scratch / "HEAD").write_text("ref: refs/heads/none\n")
    config = "[core]\n\trepositoryformatversion = 0\n"
    index = scratch / "index"
    if rules.repository:
        if is_sha256(rules.repository):
            config = config.replace("0", "1") + "[extensions]\n\tobjectformat = sha256\n"
        if (known := rules.repository.own / "index").is_file():
            index = known
    (scratch / "config").write_text(config)
    return {
        "GIT_DIR": str(scratch),
        "GIT_WORK_TREE": str(rules.chain[-1].folder),
        "GIT_INDEX_FILE": str(index),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "HOME": str(scratch),
        "XDG_CONFIG_HOME": str(scratch),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "LC_ALL": "C",
    }


def _too_long() -> ToolFailed:
    return ToolFailed(
        f"The folder could not be listed within {SECONDS:.0f} s; name a smaller folder in it."
    )
