"""Durable memory: what is written, found and removed, in two scopes.

The Markdown file is the truth; what else is known of a memory (how often this user recalled it,
whether they wrote or accepted it) stands in the user's data folder.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from ..errors import MemoryClose, MemoryRefused, PathRefused, StorageError
from ..workspace.clock import Clock
from ..workspace.files import Tell, write_atomic
from ..workspace.folders import Folders
from ..workspace.git import identity
from ..workspace.project import Project
from . import block, search
from .block import Block, Line
from .caps import Caps, refuse_secret
from .close import closest
from .counts import Counts
from .found import SCOPES, Found, Scope, as_id, cut, pick, same
from .index import Entry, Index, Kind, compose, fold, parts, plain
from .index_file import IndexFile
from .own import Own
from .problems import Problems
from .rank import Document, Ranker, document_of
from .signal import TaskSignal
from .stale import Files, stale
from .swaps import in_place_of, swapped
from .topics import Topic, read_topic

__all__ = ["SCOPES", "Caps", "Forgotten", "Found", "Memory", "Remembered", "Scope"]

RECALLED = 15
NO_SIGNAL = TaskSignal()
_WHOSE = {
    "project": "of this project, not about you: leave --global out (scope project)",
    "global": "about you, for all projects: say --global (scope global)",
}


@dataclass(frozen=True)
class Remembered:
    """`stored` is False where the same was there already; `entry` is what stands in the file.

    `notes` are sentences to tell: where the first one of a project went, a text better
    shortened. `replaced` is the one whose place it took.
    """

    entry: Entry
    scope: Scope
    path: Path
    stored: bool
    notes: tuple[str, ...] = ()
    replaced: Entry | None = None


@dataclass(frozen=True)
class Forgotten:
    """`lines` is over 1 where the file said the same several times. `notes` are sentences to
    tell: what stays below it, a file that could not be looked at."""

    entry: Entry
    scope: Scope
    path: Path
    lines: int = 1
    notes: tuple[str, ...] = ()


class Memory:
    """The memories of a project and of its user."""

    def __init__(
        self, project: Project, folders: Folders, clock: Clock, caps: Caps | None = None
    ) -> None:
        self.project, self.clock, self.caps = project, clock, caps or Caps()
        self._files: dict[Scope, IndexFile] = {
            "project": IndexFile(project.memory_dir / "MEMORY.md", project),
            "global": IndexFile(folders.memory_dir / "MEMORY.md"),
        }
        self._counts: dict[Scope, Counts] = {
            "project": Counts.of(folders.data, identity(project.root)),
            "global": Counts(folders.data / "recall" / "global.json"),
        }
        self.own = Own.of(folders.data, identity(project.root))
        self.swaps: dict[Entry, Entry] = {}  # by what was replaced here: what took its place
        self._problems = Problems(self._files.values())
        self._forgotten: dict[tuple[str, Scope | None], tuple[Scope, str]] = {}  # by what was asked

    def path(self, scope: Scope = "project") -> Path:
        return self._files[scope].path

    def index(self, scope: Scope = "project") -> Index:
        """The file as it stands. Raises `StorageError` for one that cannot be used."""
        return self._files[scope].read()

    # -- writing -------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        kind: Kind | None = None,
        scope: Scope = "project",
        *,
        tags: Iterable[str] = (),
        topic: str = "",
        about: Mapping[str, Sequence[str]] | None = None,
        replaces: str = "",
        keep_both: bool = False,
        tell: Tell | None = None,
    ) -> Remembered:
        """Append one memory, unless the scope holds the same.

        `replaces` is the id or whole text of the one whose place it takes, with its count and
        what is not said anew: kind, tags, pointer. Without `keep_both`, another one that claims
        something else of the same subject raises `MemoryClose`. A topic that is pointed at here
        is accepted as it stands. `tell` takes a sentence where another process is waited for.
        Raises `TextRefused` for what may not be stored and at the cap, `StorageError` where the
        file cannot be used. Nothing is ever cut or evicted to make room.
        """
        text = plain(text)
        self.caps.check(text, self.project.memory_dir)
        entry = compose(text, self.clock.now(), kind, tags, topic, about)
        refuse_secret(entry.said)
        topic = entry.topic
        old = None
        if replaces.strip():
            old = self._picked(replaces, scope, whole=True).entry
            entry = in_place_of(old, entry, kind or parts(text).kind or old.kind)
        there: list[Entry] = []

        def change(index: Index) -> Index:
            others = [each for each in index.entries if not old or each.folded != old.folded]
            there[:] = [each for each in others if each.folded == entry.folded]
            if not (there or keep_both) and (near := closest(entry, others)):
                raise MemoryClose(near.id, cut(near.text, self.caps.text))
            if old:
                after, _ = swapped(index, old, None if there else entry)
            else:
                after = index if there else index.append(entry)
            return self.caps.within(index, after, scope)

        notes = self._files[scope].edit(change, tell)
        if old:
            self._counts[scope].move(old.folded, entry.folded)
            self.swaps[old] = there[0] if there else entry
        detail = self._topic(scope, topic)
        own = [detail.claim] if detail else []
        if there:
            notes = self._mark_own(scope, own)
            return Remembered(there[0], scope, self.path(scope), False, tuple(notes), old)
        notes += self._mark_own(scope, [entry.line(), *own]) + self.caps.advice(entry.text)
        return Remembered(entry, scope, self.path(scope), True, tuple(notes), old)

    def forget(
        self, text: str, scope: Scope | None = None, *, tell: Tell | None = None
    ) -> Forgotten:
        """Remove the memory with this text or id, else the only one that holds the text.

        The same asked for once more, as by a cell that is run again, removes nothing else: no
        other memory that holds the text, nor the other scope's. Raises `MemoryRefused` for that
        and where the text is blank, or none or several match: nothing is removed then.
        """
        if not text.strip():
            raise MemoryRefused("Say which memory to forget: its text, a part of it, or its id.")
        found = self._picked(text, scope)
        where, entry = found.scope, found.entry
        asked = as_id(text) or fold(text), scope
        if self._forgotten.get(asked, (where, entry.folded)) != (where, entry.folded):
            raise MemoryRefused(
                f"“{text.strip()}” was forgotten already; nothing was changed. To forget another "
                "one, say its id, and for one about you in all projects --global (scope global)."
            )
        left: list[int] = []
        removed = 0

        def change(index: Index) -> Index:
            nonlocal removed
            after, numbers = swapped(index, entry, None)
            removed = len(numbers)
            left[:] = [n + 2 - at for at, n in enumerate(numbers, 1) if index.wraps(n)]
            return after

        self._files[where].edit(change, tell)
        self._forgotten[asked] = where, entry.folded
        self._counts[where].drop(entry.folded)
        notes = [f"Line {n}, which went on below it, stays: take it out by hand." for n in left]
        notes += [] if scope else self.unusable()
        return Forgotten(entry, where, self.path(where), removed, tuple(notes))

    def rewrite(self, curate: Callable[[Index], Index], scope: Scope = "project") -> Path:
        """Put a curated index in the place of the one there is; the path of the dated backup of
        the old one, beside it. What `curate` raises leaves everything as it was."""
        path = self.path(scope)
        backup = path.with_name(f"{path.name}.{self.clock.now():%Y-%m-%d-%H%M%S}.bak")
        made: set[str] = set()

        def change(index: Index) -> Index:
            after = curate(index)
            write_atomic(backup, index.raw, private=scope == "global")
            made.update(set(after.memory_lines()) - set(index.memory_lines()))
            return after

        self._files[scope].edit(change)
        self._mark_own(scope, made)
        return backup

    def accept(self, shown: Iterable[Found]) -> int:
        """Take these lines and topics as the user's own, exactly as they were shown; how many are
        new.

        What came into the files since is not accepted. Raises `StorageError` where that cannot
        be recorded.
        """
        ours = [each for each in shown if each.scope == "project"]
        topics = [each.topic.claim for each in ours if each.topic]
        return self.own.add([*(each.line for each in ours), *topics])

    def _mark_own(self, scope: Scope, texts: Collection[str]) -> list[str]:
        """The sentence to tell where that fails: what was written stays, and is asked about."""
        try:
            if scope == "project":
                self.own.add(texts)
        except StorageError as error:
            return [f"It counts as written by others until %shiro /trust memory: {error}"]
        return []

    # -- reading -------------------------------------------------------------------------

    def entries(
        self, scope: Scope | None = None, tables: Mapping[str, Collection[str]] | None = None
    ) -> list[Found]:
        """All memories, newest first, of one scope or of each whose file can be used.

        Raises `StorageError` where that of the scope asked for cannot be. `tables` are those at
        hand and their columns, to tell what is stale.
        """
        flagged = self._flagging(tables)
        return [flagged(each) for each in self._found(scope)]

    def unaccepted(self) -> list[Found]:
        """The project's memories whose line or topic came otherwise than by this user: a clone, a
        teammate's commit, a hand in an editor.

        Raises `StorageError` for a file that cannot be used.
        """
        return [each for each in self._found("project") if not each.accepted]

    def recall(
        self,
        query: str,
        scope: Scope | None = None,
        tables: Mapping[str, Collection[str]] | None = None,
    ) -> list[Found]:
        """The memories that match best, 15 at most; their counts rise as the search earns.

        Counted are those that hold every word of the query, else the first; an id finds what has
        it. Raises `MemoryRefused` for a blank query, else as `entries`.
        """
        if not query.strip():
            raise MemoryRefused("Say what to recall: a few words.")
        everything = self._found(scope)
        flagged = self._flagging(tables)
        if as_id(query) and (named := same(everything, query)):
            self._count(named)
            return [replace(flagged(each), count=each.count + 1) for each in named]
        documents = list(map(_document, everything))
        ranked = Ranker(documents).find(query, RECALLED)
        wanted = set(search.terms(query))
        held = {
            each.at: set(search.terms(f"{documents[each.at].said} {documents[each.at].detail}"))
            for each in ranked
        }
        counted = {at for at in held if wanted <= held[at]} or {each.at for each in ranked[:1]}
        self._count([everything[at] for at in counted])
        hits = [(everything[hit.at], hit, hit.at in counted) for hit in ranked]
        return [
            replace(flagged(found), count=found.count + more, score=hit.score, why=hit.why)
            for found, hit, more in hits
        ]

    def _count(self, found: Sequence[Found]) -> None:
        for name in SCOPES:
            self._counts[name].add({each.entry.folded for each in found if each.scope == name})

    def unusable(self) -> list[str]:
        """A sentence for each file that cannot be used now, and whose scope is left out where both
        are asked for."""
        faults = []
        for scope in SCOPES:
            try:
                self.index(scope)
            except StorageError as error:
                faults.append(str(error))
        return faults

    def _picked(self, text: str, scope: Scope | None, *, whole: bool = False) -> Found:
        """As `pick`; a refusal says where else it is, or what could not be looked at."""
        try:
            return pick(self._found(scope), text, whole=whole)
        except MemoryRefused as refused:
            other: Scope = "project" if scope == "global" else "global"
            if scope and same(self._readable(other), text):
                raise MemoryRefused(
                    f"“{text.strip()}” is a memory {_WHOSE[other]}; nothing was changed."
                ) from None
            more = [] if scope else self.unusable()
            raise MemoryRefused("\n".join([str(refused), *more])) from None

    def block(self, signal: TaskSignal = NO_SIGNAL) -> Block:
        """What every request of a session carries: the memories that match, under a ceiling.

        Never raises: a file that cannot be used is left out, and told by `problems`.
        """
        user, project = self._readable("global"), self._readable("project")
        matching = self._matching(project, signal)
        return block.build(_most_recalled(user), matching, _most_recalled(project))

    def _matching(self, found: Sequence[Found], signal: TaskSignal) -> list[Line]:
        ranked = Ranker(list(map(_document, found))).rank(signal)
        hits = [(found[hit.at], hit.why) for hit in ranked]
        return [Line(each.entry, why, each.topic, each.accepted) for each, why in hits]

    def problems(self) -> list[str]:
        """What is wrong with the files, each sentence told once."""
        return self._problems.fresh()

    def _found(self, scope: Scope | None) -> list[Found]:
        """Newest first, not flagged yet."""
        found = []
        for each in [scope] if scope else SCOPES:
            try:
                index = self.index(each)
            except StorageError:
                if scope:
                    raise
                continue
            counts = self._counts[each].read()
            own = self._owned(each)
            topic_of = cache(partial(self._topic, each))  # as shown, so accepted
            for entry, line in zip(index.entries, index.memory_lines(), strict=True):
                topic = topic_of(entry.topic)
                found.append(
                    Found(
                        entry,
                        each,
                        counts.get(entry.folded, 0),
                        line=line,
                        topic=topic,
                        own_line=own(line),
                        own_topic=topic is None or own(topic.claim),
                    )
                )
        found.reverse()  # of one second, the later line is the newer one
        return sorted(found, key=lambda each: each.entry.stamp, reverse=True)

    def _readable(self, scope: Scope) -> list[Found]:
        try:
            return self._found(scope)
        except StorageError:
            return []

    def _owned(self, scope: Scope) -> Callable[[str], bool]:
        """Tells whether a line or a topic's claim is this user's."""
        return self.own.known() if scope == "project" else lambda text: True

    def _flagging(self, tables: Mapping[str, Collection[str]] | None) -> Callable[[Found], Found]:
        files = Files(self.project.root)

        def flagged(found: Found) -> Found:
            # What the user keeps for every project names no file of this one.
            gone = stale(found.entry, files.exists, tables) if found.scope == "project" else ""
            return replace(found, stale=gone)

        return flagged

    def _topic(self, scope: Scope, name: str) -> Topic | None:
        """None where there is none that may be read; why not is told by `problems`."""
        try:
            return read_topic(self.path(scope).parent, name) if name else None
        except PathRefused:
            return None


def _document(found: Found) -> Document:
    """As it is ranked: a topic of others does not say itself what it is for."""
    topic = found.topic
    if topic and not found.own_topic:
        topic = replace(topic, tags=(), about={})
    return document_of(found.entry, topic, found.count)


def _most_recalled(found: Iterable[Found]) -> list[Line]:
    ranked = sorted(found, key=lambda each: -each.count)  # stable: the newer first among equals
    return [Line(each.entry, accepted=each.accepted) for each in ranked]
