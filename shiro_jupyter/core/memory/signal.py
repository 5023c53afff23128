"""What is being worked on, and the words of it that say something."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from . import search

# Branches where all work meets tell nothing, nor does the kind of work before a branch's name.
TRUNKS = frozenset({"main", "master", "develop", "development", "dev", "trunk", "head", "detached"})
PREFIXES = frozenset(
    word
    for line in (
        "feat feature features fix fixes bugfix bug hotfix chore docs doc refactor test tests ci",
        "build perf style release wip dev user users task issue topic maint enh",
    )
    for word in line.split()
)
# Words that any project's files and branches hold.
GENERIC = frozenset(
    search.stem(word)
    for line in (
        "test tests testing init main index src lib untitled copy checkpoint notebook file",
        "py pyx pyi ipynb js jsx ts tsx mjs md rst txt json csv tsv toml yaml yml cfg ini html css",
        "parquet sql sh ipython",
    )
    for word in line.split()
)


@dataclass(frozen=True)
class TaskSignal:
    """Every field may be empty. `files` are the changed ones, newest first, relative to the
    project; `modules`, `frames` and `columns` are those of the kernel; `user` is the login name,
    which says nothing where a branch begins with it."""

    branch: str = ""
    files: tuple[str, ...] = ()
    prompt: str = ""
    notebook: str = ""
    headings: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    user: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing in it is a cue."""
        return not (
            self.files
            or self.branch_words
            or self.prompt_words
            or self.notebook_words
            or self.context_words
        )

    @cached_property
    def branch_words(self) -> frozenset[str]:
        *before, last = self.branch.split("/")
        if not before and last.casefold() in TRUNKS:
            return frozenset()
        kept = [each for each in before if each.casefold() not in PREFIXES]
        return self._cues([*kept, last])

    @cached_property
    def prompt_words(self) -> frozenset[str]:
        return self._cues([self.prompt])

    @cached_property
    def file_words(self) -> frozenset[str]:
        return self._cues(map(stem_of, self.files))

    @cached_property
    def notebook_words(self) -> frozenset[str]:
        return self._cues([stem_of(self.notebook), *self.headings])

    @cached_property
    def context_words(self) -> frozenset[str]:
        return self._cues([*self.modules, *self.frames, *self.columns])

    def _cues(self, texts: Iterable[str]) -> frozenset[str]:
        name = set(search.terms(self.user))
        return frozenset(
            word for text in texts for word in search.terms(text) if is_cue(word)
        ) - frozenset(name)


def is_cue(word: str) -> bool:
    """Whether a term says something: no digits alone, no word of every project."""
    return word not in GENERIC and not word.isdigit()


def stem_of(path: str) -> str:
    """A file's name without its endings: `tests/test_load.spec.ts` is `test_load`."""
    return re.split(r"(?<=.)\.", PurePosixPath(path).name)[0]
