"""Picking a path by some of its letters: what an `@` at the cursor asks for, what comes first."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice, takewhile
from pathlib import Path

from ..errors import ToolFailed
from .clock import Clock
from .ignore import Extra, rules_of
from .names import named, printable
from .threads import in_thread
from .walk import upper_levels

SHOWN = 20
# Seconds after which a listing is made anew, and how many times as long as it took.
STALE, STALE_TIMES = 3.0, 10.0

# Not behind a letter, as in an address; a language without blanks between words has none here.
_WIDE = r"\u2e80-\u9fff\uac00-\ud7af\uff00-\uffef"
SIGN = rf"(?<![^\W{_WIDE}])(?<![.+\-/@%])@"
BARE = r"[^\s@\"'`“”‘’<>|,;(){}\[\]]"
_AT_END = re.compile(rf"{SIGN}(?:\"(?P<quoted>[^\"\n]*)|(?P<bare>{BARE}*))\Z")
_IS_BARE = re.compile(rf"{BARE}+")


def query(text: str) -> str | None:
    """What was typed behind an `@` at the end of a text; None where the cursor is behind none."""
    found = _AT_END.search(text)
    return None if found is None else found["bare"] or found["quoted"] or ""


def picked(text: str, name: str) -> str:
    """The text with the name in the place of what was typed, and a blank behind it; behind a folder
    one types on."""
    found = _AT_END.search(text)
    if found is None:
        return text
    return text[: found.start()] + written(name) + ("" if name.endswith("/") else " ")


def written(name: str) -> str:
    """The reference to a name: in quotes where it would end too early, open behind a folder."""
    if _IS_BARE.fullmatch(name):
        return f"@{name}"
    return f'@"{name}' if name.endswith("/") else f'@"{name}"'


class Candidates:
    """Names to choose from: paths with `/`, those of folders with one at their end."""

    def __init__(self, names: Iterable[str]) -> None:
        # Those above and the short ones are meant more often.
        ordered = sorted(
            set(names), key=lambda each: (each.rstrip("/").count("/"), len(each), each)
        )
        self._names = ordered
        self._folded = [each.casefold() for each in ordered]

    def rank(self, query: str, limit: int = SHOWN) -> list[str]:
        """Those that begin with the query, then those a part of which does, then those that hold it
        elsewhere. All of them hold it, whatever the case; none is the query itself."""
        sought = query.casefold()
        inner, folded = f"/{sought}", self._folded
        holds = [at for at, each in enumerate(folded) if sought in each]
        begin = (at for at in holds if folded[at].startswith(sought) and self._names[at] != query)
        found = [*islice(begin, limit)]
        for is_part in (True, False):
            more = (
                at
                for at in holds
                if (inner in folded[at]) is is_part and not folded[at].startswith(sought)
            )
            found += islice(more, limit - len(found))
        return [self._names[at] for at in found]


def with_folders(files: Iterable[bytes]) -> list[str]:
    """Files and the folders that they are in, as they are shown."""
    folders: set[bytes] = set()
    kept = list(files)
    for name in kept:
        end = name.rfind(b"/")
        while end > 0 and (folder := name[: end + 1]) not in folders:
            folders.add(folder)
            end = name.rfind(b"/", 0, end)
    return [printable(os.fsdecode(name)) for name in (*kept, *folders)]


def beside(root: Path, query: str, ignore: Sequence[str] = (), limit: int = SHOWN) -> list[str]:
    """What begins with the query in the one folder that it names: at once, whatever the project's
    size, of the first entries of that folder."""
    above, _, _ = query.rpartition("/")
    folder = root / named(above)
    try:
        if folder.resolve() != folder or not folder.is_relative_to(root):
            return []
    except (OSError, ValueError, RuntimeError):
        return []
    if not os.path.isdir(folder):  # noqa: PTH112  (which raises nothing)
        return []
    rules, extra = rules_of(folder, root), Extra(root, ignore)
    before = os.fsencode(f"{named(above)}/") if above else b""
    entries = takewhile(lambda each: b"/" not in each[0].rstrip(b"/"), upper_levels(rules))
    found = []
    for name, _ in entries:
        is_folder = name.endswith(b"/")
        bare = name.rstrip(b"/")
        if rules.ignores(os.fsdecode(bare), is_folder) or extra.hides(before + bare, is_folder):
            continue
        found.append(printable(os.fsdecode(before + name)))
    ranked = Candidates(found).rank(query, limit)
    return [each for each in ranked if each.casefold().startswith(query.casefold())]


class Paths:
    """The paths of a project. The first question has them listed in the background; later ones are
    answered from what is known, and have it listed anew where that is old. On one loop."""

    def __init__(self, listed: Callable[[], Awaitable[list[bytes]]], clock: Clock) -> None:
        self._listed, self._clock = listed, clock
        self._known = Candidates(())
        self._until = float("-inf")
        self._listing: asyncio.Task[None] | None = None

    @property
    def known(self) -> Candidates:
        """What was found last, at first nothing."""
        if self._listing is None and self._clock.monotonic() >= self._until:
            self._listing = asyncio.create_task(self._list())
        return self._known

    async def complete(self) -> Candidates:
        """What is found once the listing that runs has ended."""
        known = self.known
        if self._listing is None:
            return known
        await asyncio.shield(self._listing)
        return self._known

    def close(self) -> None:
        if self._listing:
            self._listing.cancel()

    async def _list(self) -> None:
        begun = self._clock.monotonic()
        try:
            names = await self._listed()
            self._known = await in_thread(lambda: Candidates(with_folders(names)))
        except ToolFailed:  # it takes too long: what was known stands
            pass
        finally:
            now = self._clock.monotonic()
            self._until = now + max(STALE, STALE_TIMES * (now - begun))
            self._listing = None
