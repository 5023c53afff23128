"""What is being worked on, and the words of it that say something."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from . import search

# Branches where all work meets say nothing, nor does the kind of work.
TRUNKS = frozenset({"main", "master", "develop", "development", "trunk", "head", "detached"})
KINDS_OF_WORK = frozenset(
    word
    for line in (
        "feat feature features fix fixes bugfix bug hotfix chore docs doc refactor test tests ci",
        "build perf style release wip dev user users task issue topic maint enh",
    )
    for word in line.split()
)
# Words that the files and branches of any project hold.
GENERIC = frozenset(
    search.stem(word)
    for line in (
        "test tests testing init main master index src lib untitled copy checkpoint notebook file",
        "py pyx pyi ipynb js jsx ts tsx mjs md rst txt json csv tsv toml yaml yml cfg ini html css",
        "parquet sql sh",
    )
    for word in line.split()
)


@dataclass(frozen=True)
class TaskSignal:
    """Every field may be empty.

    `files` are the changed ones, newest first, relative to the project; `modules`, `frames` and
    `columns` are those of the kernel; `user` is the login name, which says nothing.
    """

    branch: str = ""
    files: tuple[str, ...] = ()
    prompt: str = ""
    notebook: str = ""
    headings: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    user: str = ""

    @cached_property
    def cues(self) -> Mapping[str, Mapping[str, str]]:
        """The words that say something, as they are written, by source and term."""
        return {
            "branch": _branch_cues(self.branch, self.user),
            "prompt": cues_in(self.prompt),
            "file": cues_in(*map(stem_of, self.files)),
            "notebook": cues_in(stem_of(self.notebook), *self.headings),
            "kernel": cues_in(*self.modules, *self.frames, *self.columns),
        }

    @cached_property
    def named(self) -> Mapping[str, Collection[str]]:
        """The terms that a tag may name, by source: also what says nothing by itself, and the
        tables at hand."""
        return {
            "notebook": self.cues["notebook"],
            "branch": _branch_terms(self.branch, self.user),
            "prompt": search.terms(self.prompt),
            "table": search.terms(" ".join(self.frames)),
        }

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The changed files, and the notebook unless its name says nothing."""
        named = [self.notebook] if cues_in(stem_of(self.notebook)) else []
        return tuple(dict.fromkeys([*self.files, *named]))


def _branch_terms(branch: str, user: str) -> set[str]:
    return set() if branch.casefold() in TRUNKS else {*search.terms(branch)} - {*search.terms(user)}


def _branch_cues(branch: str, user: str) -> dict[str, str]:
    """Of what comes after the first part, which tells whose or what kind of work it is; of that
    part where nothing else says anything."""
    if branch.casefold() in TRUNKS:
        return {}
    first, *rest = branch.split("/")
    kept = [part for part in rest if part.casefold() not in KINDS_OF_WORK]
    cues = cues_in(*kept) or ({} if first.casefold() in KINDS_OF_WORK else cues_in(first))
    return {term: word for term, word in cues.items() if term not in search.terms(user)}


def cues_in(*texts: str) -> dict[str, str]:
    """The words that say something by their term: no digits, and none of any project, numbered
    or not."""
    cues: dict[str, str] = {}
    for text in texts:
        for term, word in search.spelled(text):
            bare = term.rstrip("0123456789")
            if bare and search.stem(bare) not in GENERIC:
                cues.setdefault(term, word)
    return cues


def stem_of(path: str) -> str:
    """A file's name without its endings: `tests/test_load.spec.ts` is `test_load`."""
    name = path.rpartition("/")[2]
    return name[:1] + name[1:].partition(".")[0]
