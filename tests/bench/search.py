"""Listing and searching 100,000 files, beside what git and ripgrep take for it themselves.

Each ratio is of the best of some rounds, in which both were measured one after the other: what
else the machine does is then in neither.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from shiro_jupyter.core.tools.grep import Grep
from shiro_jupyter.core.workspace.ignore import Extra
from shiro_jupyter.core.workspace.listing import files_in
from tests.support.programs import processes_with, where
from tests.support.tools import Bench

FOLDERS, EACH = 1_000, 100
# FEW where no limit is set.
ROUNDS, FEW = 12, 3
RULES = "*.log\nbuild/\n__pycache__/\n*.pyc\n/dist\n.venv/\n*.egg-info/\n.DS_Store\nnode_modules/\n"
WORDS = [f"word{number}" for number in range(3_000)]
# A word in some files, in none, in all, and as a whole word; a pattern without a literal to look
# for, and one with repeats that fits in 30,000 files.
PATTERNS = (
    *("word777", "word77x7", "word7", r"\bword7\b"),
    *(r"[a-d]\w+9{3}5\b", r"\w+_\d{2,}"),
)

GIT, BOTH, NONE = ("git",), ("git", "rg"), tuple[str, ...]()


def make(root: Path) -> None:
    """Text files of 1 kB, three in ten of them with a number in a name, and an ignored folder that
    holds half as many again."""
    chance = random.Random(1)
    for number in range(FOLDERS):
        folder = root / f"pkg{number // 50:02}/mod{number % 50:02}"
        folder.mkdir(parents=True)
        for each in range(EACH):
            name = f"file_{each:03}.{chance.choice(['py', 'md', 'txt', 'csv', 'json'])}"
            lines = [" ".join(chance.choices(WORDS, k=8)) for _ in range(20)]
            if chance.random() < 0.3:
                lines.append(f"row_{chance.randrange(10, 9_999)} = 1")
            (folder / name).write_text("\n".join(lines) + "\n")
    (root / ".gitignore").write_text(RULES)
    shutil.copytree(root / "pkg00", root / "build/a")
    for copy in "bcdefghij":
        shutil.copytree(root / "pkg00", root / "build" / copy)


def timed(command: list[str], folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return time.perf_counter() - began


async def taken(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def compare(
    what: str,
    work: Callable[[], Awaitable[object]],
    command: list[str],
    folder: Path,
    most: float | None,
) -> None:
    rounds = [(await taken(work), timed(command, folder)) for _ in range(ROUNDS if most else FEW)]
    ours, spent = map(min, zip(*rounds, strict=True))
    ratio = ours / spent
    limit = "" if most is None else f" (at most {most}){'' if ratio <= most else ' MISSED'}"
    print(f"{what}: {ratio:.2f} times{limit} `{' '.join(command)}`, {1000 * spent:.0f} ms")


async def listing(folder: Path, place: str, command: list[str], most: float) -> None:
    for programs in (GIT, NONE):
        with processes_with(*programs) as processes:
            work = partial(files_in, folder, Extra(folder), processes)
            how = "by git" if programs else "walked"
            await compare(
                f"files {place}, {how}", work, command, folder, most if programs else None
            )


async def searching(folder: Path, place: str) -> None:
    tool = Grep()
    for pattern in PATTERNS:
        parameters = tool.parse(json.dumps({"pattern": pattern}))
        command = [where("rg"), "-n", pattern]
        for programs in (BOTH, NONE):
            bench = Bench(folder)
            with processes_with(*programs) as bench.processes:
                work = partial(tool.run, parameters, bench.context)
                how = f"{place}, with {' and '.join(programs) or 'neither'}"
                most = 1.2 if "rg" in programs else None
                await compare(f"grep {pattern} {how}", work, command, folder, most)


async def measure(folder: Path) -> None:
    print(f"{FOLDERS * EACH:,} files and {10 * 50 * EACH:,} ignored; best of {ROUNDS}, or {FEW}")
    await listing(folder, "outside a git folder", [where("rg"), "--files"], 3)
    await searching(folder, "outside")
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "add", "-A"], check=True)
    git = [where("git"), "ls-files", "-co", "--exclude-standard"]
    await listing(folder, "in a git folder", git, 1.5)
    await searching(folder, "in git")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        make(folder)
        asyncio.run(measure(folder))


if __name__ == "__main__":
    main()
