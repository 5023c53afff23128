"""Lines that match a pattern, in all files below a folder.

ripgrep, where there is one, names the files that are worth a look (`narrowing`); a child of ours
finds the lines in them (`matching`), or in all files. So the answer is the same either way.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from ..errors import ToolFailed
from . import matching
from .ignore import NEVER, Extra, Rules, rules_of
from .listing import files_in, found_program, until_cancelled
from .narrowing import narrowed
from .processes import Processes
from .threads import in_thread
from .walk import ignored_folders

SECONDS = 60.0
OUTPUT_LIMIT = 200_000_000
PATTERN_LENGTH = 1_000
_DOUBTFUL = re.compile(r"\[\[|--|&&|~~|\|\|")
# Files of the first look: most patterns that match at all have their hits there. Each further look
# is at so many times more.
FIRST, GROWTH = 500, 20
# The matcher is loaded from the core, without what the package itself imports, or any other.
_RUN = (
    "import sys, types; core = types.ModuleType('core'); core.__path__ = [sys.argv[1]]; "
    "sys.modules['core'] = core; from core.workspace.matching import main; main(sys.argv[2])"
)
_CORE = str(Path(matching.__file__).parents[1])

Wanted = Callable[[bytes], bool]


@dataclass(frozen=True)
class Hit:
    """`line` counts from 1; `name` is the path from where the search began."""

    name: bytes
    line: int
    text: str


@dataclass(frozen=True)
class Found:
    """`notes` are by file. `more`: the limit was reached, there may be others."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[tuple[bytes, str], ...] = ()
    more: bool = False

    def __add__(self, other: Found) -> Found:
        return Found(self.hits + other.hits, self.notes + other.notes, self.more or other.more)


NOTHING = Found()


@dataclass(frozen=True)
class Query:
    """A pattern as `re` reads it, matched line by line. Raises `ToolFailed` for what is none.

    `globs` are handed to ripgrep: only files that one of them fits are wanted. `narrow` is the
    pattern for it, None where all files are to be looked at. `is_quick`: no text makes it slow.
    """

    pattern: str
    flags: int = 0
    limit: int = 200
    globs: tuple[str, ...] = ()
    narrow: str | None = field(init=False)
    is_quick: bool = field(init=False)

    def __post_init__(self) -> None:
        if len(self.pattern) > PATTERN_LENGTH:
            raise ToolFailed(
                f"The pattern has over {PATTERN_LENGTH:,} characters; search for a part of it."
            )
        try:
            narrow, is_quick = _compiled(self.pattern, self.flags)
        except (re.error, RecursionError, OverflowError) as error:
            raise ToolFailed(
                f"The pattern is no regular expression ({error or 'too deep'}); put a \\ before "
                "each of .^$*+?{}[]\\|() that is meant as it stands."
            ) from None
        object.__setattr__(self, "narrow", narrow)
        object.__setattr__(self, "is_quick", is_quick)


def _compiled(pattern: str, flags: int) -> tuple[str | None, bool]:
    if not _DOUBTFUL.search(pattern):
        re.compile(pattern, flags)
        return narrowed(pattern, flags)
    # What `re` has to say of a pattern's style is nothing for the person's screen.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        re.compile(pattern, flags)
        return narrowed(pattern, flags)


async def search(
    query: Query, start: Path, wanted: Wanted, extra: Extra, processes: Processes
) -> Found:
    """The first hits below a resolved folder, in the order of the files' paths.

    `wanted` says of a path from there whether its file is searched. Raises `ToolFailed`.
    """
    names = await _candidates(query, start, wanted, extra, processes)
    found, size = NOTHING, FIRST
    while not found.more and (some := await until_cancelled(islice(names, size))):
        found += await _search(query, start, some, processes, found)
        size *= GROWTH
    return found


async def search_file(query: Query, path: Path, processes: Processes) -> Found:
    """The hits in one file, which was asked for by name; by its name. Raises `ToolFailed`."""
    return await _search(query, path.parent, [os.fsencode(path.name)], processes, alone=True)


async def _search(
    query: Query,
    start: Path,
    names: Sequence[bytes],
    processes: Processes,
    known: Found = NOTHING,
    *,
    alone: bool = False,
) -> Found:
    """The hits in these files, in their order, after those known."""
    # One more than is shown tells that there are more.
    room = query.limit + 1 - len(known.hits)
    if query.is_quick and len(names) <= FIRST:
        pattern = re.compile(query.pattern, query.flags)
        rows = await until_cancelled(matching.rows(start, names, pattern, room, alone))
    else:
        rows = await _rows_of_child(query, start, names, room, alone, processes)
    return _found(rows, query.limit - len(known.hits))


async def _rows_of_child(
    query: Query,
    start: Path,
    names: Sequence[bytes],
    room: int,
    alone: bool,
    processes: Processes,
) -> list[matching.Row]:
    head = {
        "pattern": query.pattern,
        "flags": query.flags,
        "limit": room,
        "root": str(start),
        "alone": alone,
    }
    with tempfile.NamedTemporaryFile(prefix="shiro-grep-") as request:
        request.write(b"\0".join([json.dumps(head).encode(), *names]))
        request.flush()
        done = await processes.capture(
            [sys.executable, "-I", "-S", "-c", _RUN, _CORE, request.name],
            cwd=start,
            environment=processes.child_environment(),
            timeout=SECONDS,
            limit=OUTPUT_LIMIT,
        )
    if done.timed_out:
        raise _too_long()
    if done.exit_code != 0:
        raise ToolFailed(
            "The search broke off "
            f"({done.errors.decode(errors='replace').strip()[-200:]}); try a simpler pattern."
        )
    return [json.loads(line) for line in done.output.splitlines()]


def _found(rows: Iterable[matching.Row], limit: int) -> Found:
    hits: list[Hit] = []
    notes: list[tuple[bytes, str]] = []
    for name, *rest in rows:
        match rest:
            case [int(number), str(text)]:
                hits.append(Hit(os.fsencode(name), number, text))
            case [str(note)]:
                notes.append((os.fsencode(name), note))
            case _:
                raise ToolFailed(
                    f"The pattern took over {matching.SECONDS:.0f} s in one file ({name!a}); write "
                    "it without repeats inside repeats, as in (a+)+, or search for a part of it."
                )
    return Found(tuple(hits[:limit]), tuple(notes), len(hits) > limit)


async def _candidates(
    query: Query, start: Path, wanted: Wanted, extra: Extra, processes: Processes
) -> Iterator[bytes]:
    """The files to look at, in their order; judged as they are taken."""
    rules = await in_thread(rules_of, start, extra.root)
    names = await _by_ripgrep(query, rules, processes)
    if names is None:
        names = await files_in(start, extra, processes)
        return filter(wanted, sorted(set(names)))
    above = extra.above(start)
    return (
        name
        for name in sorted(set(names))
        if wanted(name)
        and not rules.hides(name)
        and not (extra and extra.hides(above + name, False))
    )


async def _by_ripgrep(query: Query, rules: Rules, processes: Processes) -> list[bytes] | None:
    """Files that may match, ignored ones among them; None where all are to be looked at."""
    program = found_program(processes, "rg")
    if not program or query.narrow is None:
        return None
    pruned = await in_thread(ignored_folders, rules)
    with tempfile.NamedTemporaryFile(prefix="shiro-grep-") as ignore:
        ignore.write(b"".join(_ignore_lines(pruned)))
        ignore.flush()
        options = ["--no-config", "--no-ignore", "--hidden", "--no-messages", "--text", "--null"]
        options += [f"--glob={each}" for each in query.globs]
        options += [f"--ignore-file={ignore.name}", f"--regexp={query.narrow}"]
        done, tracked = await asyncio.gather(
            processes.capture(
                [program, "--files-with-matches", *options, "./"],
                cwd=rules.folder,
                environment=processes.child_environment(),
                timeout=SECONDS,
                limit=OUTPUT_LIMIT,
            ),
            in_thread(_tracked_in, rules, pruned),
        )
    if done.timed_out:
        raise _too_long()
    if done.errors or done.cut:  # a pattern that is too large for it
        return None
    return [*tracked, *(name.removeprefix(b"./") for name in done.output.split(b"\0")[:-1])]


def _tracked_in(rules: Rules, folders: Sequence[bytes]) -> list[bytes]:
    """What git tracks in ignored folders, which ripgrep does not enter."""
    here = len(rules.below)
    paths = (rules.below + folder.rstrip(b"/") for folder in folders)
    return [name[here:] for path in paths for name in rules.tracked.below(path)]


def _ignore_lines(folders: Sequence[bytes]) -> Iterator[bytes]:
    yield from (b"%b\n" % name.encode() for name in sorted(NEVER))
    for folder in folders:
        try:
            folder.decode()
        except UnicodeDecodeError:
            continue
        if b"\n" not in folder and b"\r" not in folder:
            yield b"/%b\n" % re.sub(rb"[][*?{}!#\\ ]", rb"\\\g<0>", folder)


def _too_long() -> ToolFailed:
    return ToolFailed(
        f"The search was not done after {SECONDS:.0f} s; give a smaller folder as path, or a glob."
    )
