"""What is being worked on, and the words of it that say something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from . import search

# Branches where all work meets say nothing, nor does the kind of work before a branch's name.
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
    The cues of each source are kept by their term, as they are written.
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

    @property
    def empty(self) -> bool:
        """Whether nothing in it is a cue."""
        return not (
            self.paths
            or self.branch_words
            or self.prompt_words
            or self.notebook_words
            or self.kernel_words
        )

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The changed files, and the notebook unless its name says nothing."""
        named = [self.notebook] if self._cues([stem_of(self.notebook)]) else []
        return tuple(dict.fromkeys([*self.files, *named]))

    @cached_property
    def branch_words(self) -> Mapping[str, str]:
        parts = self.branch.split("/")
        if len(parts) == 1 and parts[0].casefold() in TRUNKS:
            return {}
        before = [each for each in parts[:-1] if each.casefold() not in KINDS_OF_WORK]
        return self._cues([*before, parts[-1]])

    @cached_property
    def prompt_words(self) -> Mapping[str, str]:
        return self._cues([self.prompt])

    @cached_property
    def file_words(self) -> Mapping[str, str]:
        return self._cues(map(stem_of, self.files))

    @cached_property
    def notebook_words(self) -> Mapping[str, str]:
        return self._cues([stem_of(self.notebook), *self.headings])

    @cached_property
    def kernel_words(self) -> Mapping[str, str]:
        return self._cues([*self.modules, *self.frames, *self.columns])

    def _cues(self, texts: Iterable[str]) -> dict[str, str]:
        name = search.terms(self.user)
        cues: dict[str, str] = {}
        for text in texts:
            for term, word in cues_in(text):
                if term not in name:
                    cues.setdefault(term, word)
        return cues


def cues_in(text: str) -> Iterator[tuple[str, str]]:
    """The terms that say something, as they are written: no digits, and none of any project,
    numbered or not."""
    for term, word in search.spelled(text):
        bare = term.rstrip("0123456789")
        if bare and search.stem(bare) not in GENERIC:
            yield term, word


def stem_of(path: str) -> str:
    """A file's name without its endings: `tests/test_load.spec.ts` is `test_load`."""
    name = path.rpartition("/")[2]
    return name[:1] + name[1:].partition(".")[0]
