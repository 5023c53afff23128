"""Durable memory: what is written, found and removed, in two scopes.

The Markdown file is the truth and people edit it: every operation reads it again, and a write
happens under a lock, to a temporary file, and only if nobody saved the file meanwhile.
"""

from __future__ import annotations

import stat
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from ..errors import MemoryRefused, StorageError, TextRefused
from ..policy.secrets import looks_secret
from ..workspace.clock import Clock
from ..workspace.files import ensure_project_store, locked, make_folder, write_atomic
from ..workspace.folders import Folders
from ..workspace.git import identity
from ..workspace.project import Project
from . import block, search
from .counts import Counts
from .index import Entry, Index, Kind, compose, fold

Scope = Literal["project", "global"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
READABLE = 2_000_000  # bytes; a larger file is no index
RECALLED, CANDIDATES, CANDIDATE_LENGTH = 15, 5, 80
TRIES = 20  # of a write that a person's own saves keep overtaking


@dataclass(frozen=True)
class Caps:
    """Characters of a text, and what one index may hold."""

    text: int = 400
    advised: int = 120
    entries: int = 300
    bytes: int = 200_000


@dataclass(frozen=True)
class Remembered:
    """`stored` is False where the same was there already; `entry` is what stands in the file.

    `notes` are sentences to tell: where the first one of a project went, a text better
    shortened.
    """

    entry: Entry
    scope: Scope
    path: Path
    stored: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forgotten:
    """`lines` is over 1 where the file said the same several times."""

    entry: Entry
    scope: Scope
    path: Path
    lines: int = 1


@dataclass(frozen=True)
class Found:
    """A memory with its count of recalls, and for a search its score and at most three reasons."""

    entry: Entry
    scope: Scope
    count: int
    score: float = 0.0
    why: tuple[str, ...] = ()


class Memory:
    """The memories of a project and of its user."""

    def __init__(
        self, project: Project, folders: Folders, clock: Clock, caps: Caps | None = None
    ) -> None:
        self.project, self.clock, self.caps = project, clock, caps or Caps()
        self._paths: dict[Scope, Path] = {
            "project": project.memory_dir / "MEMORY.md",
            "global": folders.memory_dir / "MEMORY.md",
        }
        self._counts: dict[Scope, Counts] = {
            "project": Counts.of(folders.data, identity(project.root)),
            "global": Counts(folders.data / "recall" / "global.json"),
        }
        self._told: set[str] = set()

    def path(self, scope: Scope = "project") -> Path:
        return self._paths[scope]

    # -- writing -------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        kind: Kind = "fact",
        scope: Scope = "project",
        *,
        tags: Iterable[str] = (),
        topic: str = "",
        about: Mapping[str, Sequence[str]] | None = None,
    ) -> Remembered:
        """Append one memory, unless the scope holds the same.

        Raises `TextRefused` for what may not be stored and at the cap, `StorageError` where the
        file cannot be used. Nothing is ever cut or evicted to make room.
        """
        self._check(text)
        entry = compose(text, self.clock.now(), kind, tags, topic, about)
        if secret := looks_secret(entry.said):
            raise TextRefused(
                f"The text looks like it holds a secret ({secret}): not recorded. Say where it is "
                "kept instead."
            )
        known: list[Entry] = []

        def change(index: Index) -> Index:
            known[:] = [each for each in index.entries if each.folded == entry.folded]
            return index if known else self._within_caps(index.append(entry), scope)

        notes = self._edit(scope, change)
        if known:
            return Remembered(known[0], scope, self.path(scope), stored=False)
        if len(entry.text) > self.caps.advised:
            notes.append(
                f"{len(entry.text)} characters: a memory over {self.caps.advised} is better "
                "shortened, its detail moved to a topic file."
            )
        return Remembered(entry, scope, self.path(scope), stored=True, notes=tuple(notes))

    def forget(self, text: str, scope: Scope | None = None) -> Forgotten:
        """Remove the memory with this text or id, else the only one that holds the text.

        Raises `MemoryRefused` where the text is blank, or none or several match: nothing is
        removed then.
        """
        if not text.strip():
            raise MemoryRefused("Say which memory to forget: its text, a part of it, or its id.")
        where, entry = self._one(text, scope)
        removed = 0

        def change(index: Index) -> Index:
            nonlocal removed
            numbers = [number for number, each in index.found if each.folded == entry.folded]
            removed = len(numbers)
            for number in reversed(numbers):
                index = index.remove(number)
            return index

        self._edit(where, change)
        if not removed:
            raise MemoryRefused(f"“{entry.text}” was removed meanwhile; nothing was changed.")
        self._counts[where].drop([entry.folded])
        return Forgotten(entry, where, self.path(where), removed)

    # -- reading -------------------------------------------------------------------------

    def entries(self, scope: Scope | None = None) -> list[Found]:
        """All memories, newest first. Raises `StorageError` for a file that cannot be used."""
        found = []
        for each in [scope] if scope else SCOPES:
            counts = self._counts[each].read()
            found += [
                Found(entry, each, counts.get(entry.folded, 0))
                for entry in self._read(each).entries
            ]
        found.reverse()  # of one second, the later line is the newer one
        return sorted(found, key=lambda each: each.entry.stamp, reverse=True)

    def recall(self, query: str, scope: Scope | None = None) -> list[Found]:
        """The memories that match best, 15 at most; their counts rise as the search earns.

        Counted are those that hold every word of the query, else the first. Raises
        `MemoryRefused` for a blank query.
        """
        if not query.strip():
            raise MemoryRefused("Say what to recall: a few words.")
        everything = self.entries(scope)
        wanted = set(search.terms(query))
        documents = [search.terms(each.entry.said) for each in everything]
        scores = search.scores(sorted(wanted), documents)
        # Stable: the newer one first among equals.
        ranked = sorted(range(len(everything)), key=lambda at: -scores[at])[:RECALLED]
        ranked = [at for at in ranked if scores[at] > 0]
        counted = {at for at in ranked if wanted <= set(documents[at])} or set(ranked[:1])
        for name in SCOPES:
            rising = [everything[at] for at in counted if everything[at].scope == name]
            self._counts[name].add({each.entry.folded for each in rising})
        return [
            replace(
                everything[at],
                count=everything[at].count + (at in counted),
                score=scores[at],
                why=_reasons(wanted, everything[at].entry),
            )
            for at in ranked
        ]

    def block(self) -> str:
        """The memories that every request of a session carries; empty where there are none.

        Never raises: a file that cannot be used is left out, and told by `problems`.
        """
        ranked: dict[Scope, list[Entry]] = {}
        for scope in SCOPES:
            try:
                found = self.entries(scope)
            except StorageError:
                found = []
            # Stable: newest first among those recalled as often.
            ranked[scope] = [each.entry for each in sorted(found, key=lambda each: -each.count)]
        user, project = (
            [block.Line(each) for each in ranked[name]] for name in ("global", "project")
        )
        return block.build(user, (), project).text

    def problems(self) -> list[str]:
        """What is wrong with the files, each sentence told once."""
        found = []
        for scope in SCOPES:
            try:
                self._read(scope)
            except StorageError as error:
                found.append(str(error))
        fresh = [each for each in found if each not in self._told]
        self._told.update(fresh)
        return fresh

    # -- files ---------------------------------------------------------------------------

    def _read(self, scope: Scope) -> Index:
        path = self._paths[scope]
        if scope == "project" and self.project.store_is_foreign:
            return Index()
        try:
            if scope == "project" and path.resolve() != path:
                raise StorageError(f"{path} leads elsewhere by a link; make it a plain file.")
            known = path.stat()
            if not stat.S_ISREG(known.st_mode) or known.st_size > READABLE:
                raise StorageError(f"{path} is no memory index: no plain file, or far too large.")
            raw = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return Index()
        except (OSError, RuntimeError) as error:
            raise StorageError(f"{path} cannot be read: {error}.") from error
        if b"\0" in raw or raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise StorageError(f"{path} is not UTF-8 text; save it as UTF-8.")
        return Index(raw)

    def _edit(self, scope: Scope, change: Callable[[Index], Index]) -> list[str]:
        """Replace the index by what `change` makes of it; sentences to tell.

        `change` is called again on the newer text where a person saved the file meanwhile.
        """
        path = self._paths[scope]
        private = scope == "global"
        if not private and self.project.store_is_foreign:
            raise StorageError(f"{self.project.store} belongs to another user; nothing is written.")
        before = self._read(scope)
        if change(before) is before:
            return []
        if private:
            make_folder(path.parent, private=True)
            path = path.resolve()  # a person may link their own file from elsewhere
        notes = [] if private else [ensure_project_store(self.project)]
        with locked(path):
            for _ in range(TRIES):
                before = self._read(scope)
                after = change(before)
                if after is before or write_atomic(
                    path, after.raw, private=private, expected=before.raw
                ):
                    return [note for note in notes if note]
        raise StorageError(f"{path} is being saved over and over; try again.")

    # -- rules ---------------------------------------------------------------------------

    def _check(self, text: str) -> None:
        if not text.strip():
            raise TextRefused("There is nothing to remember: the text is blank.")
        if "\n" in text.strip() or "\r" in text.strip():
            raise TextRefused(
                "A memory is one line. Put the detail into a topic file (Markdown in "
                f"{self.project.memory_dir}) and remember one line that points at it."
            )
        if len(text.strip()) > self.caps.text:
            raise TextRefused(
                f"A memory is at most {self.caps.text} characters, this is {len(text.strip())}. "
                f"Put the detail into a topic file (Markdown in {self.project.memory_dir})."
            )
        if any(map(_breaks_line, text.strip())):
            raise TextRefused("The text holds control characters; type it again without them.")

    def _within_caps(self, index: Index, scope: Scope) -> Index:
        if len(index.entries) > self.caps.entries or len(index.raw) > self.caps.bytes:
            raise TextRefused(
                f"The {scope} memory is full ({self.caps.entries} memories, "
                f"{self.caps.bytes // 1000} kB). Remove what is stale with %forget, merge what "
                "says nearly the same, or move detail to topic files."
            )
        return index

    def _one(self, text: str, scope: Scope | None) -> tuple[Scope, Entry]:
        found = reversed(self.entries(scope))
        everything = {(each.scope, each.entry.folded): each for each in found}
        # The project's own first: where both scopes say it, that one is meant.
        candidates = sorted(everything.values(), key=lambda each: SCOPES.index(each.scope))
        wanted = fold(text)
        same = [e for e in candidates if wanted in (e.entry.folded, fold(e.entry.said))]
        if same:
            return same[0].scope, same[0].entry
        matches = [e for e in candidates if text.strip() == e.entry.id]
        one = len({e.entry.folded for e in matches}) == 1  # two texts may share an id
        if not matches:
            matches = [e for e in candidates if wanted in fold(e.entry.said)]
            one = len(matches) == 1
        if one:
            return matches[0].scope, matches[0].entry
        if not matches:
            raise MemoryRefused(f"No memory holds “{text.strip()}”; nothing was removed.")
        shown = [f"  {e.entry.id}  {_cut(e.entry.text)}" for e in matches[:CANDIDATES]]
        raise MemoryRefused(
            f"{len(matches)} memories hold “{text.strip()}”; nothing was removed. Say which one, "
            "by its id or more of its text:\n" + "\n".join(shown)
        )


def _cut(text: str) -> str:
    return text if len(text) <= CANDIDATE_LENGTH else text[: CANDIDATE_LENGTH - 1] + "…"


def _breaks_line(character: str) -> bool:
    """Controls, line and paragraph separators, and halves of pairs, which no file can hold."""
    return character != "\t" and unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _reasons(wanted: Collection[str], entry: Entry) -> tuple[str, ...]:
    tags = [f"tag #{tag}" for tag in entry.tags if any(map(wanted.__contains__, search.terms(tag)))]
    words = [
        f"word “{word.strip('.,;:!?()')}”"
        for word in dict.fromkeys(entry.text.split())
        if any(map(wanted.__contains__, search.terms(word)))
    ]
    return tuple([*tags, *words][:3])
