"""What the person keeps from the model: variables and columns by name, or every value there is.

Both are about data: what a person wrote (prompts, cells, code, prose) is what they tell the model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from pathlib import PurePosixPath
from unicodedata import normalize

from .names import named

# Files of which people write the text; any other may hold data.
_WRITTEN = named("""
    .adoc .bash .bat .bib .c .cc .cfg .cjs .cmake .cpp .css .cu .cuh .cxx .editorconfig .f90 .fish
    .gitattributes .gitignore .go .h .hpp .hs .ini .ipynb .java .jl .js .jsx .kt .less .lua .m .md
    .mdx .mjs .mk .php .pl .proto .ps1 .py .pyi .pyx .qmd .r .rb .rmd .rs .rst .sass .scala .scss
    .sh .shiroignore .sql .svelte .swift .tex .tf .toml .ts .tsx .vue .yaml .yml .zsh
""")
_WRITTEN_NAMES = named("""
    authors changelog codeowners constraints.txt contributing copying dockerfile environment.txt
    jenkinsfile license license.txt makefile notice package.json procfile pyproject.toml readme
    readme.txt requirements.txt robots.txt snakefile tsconfig.json
""")
_WORD = re.compile(r"[^\W\d]\w*")
PLACEHOLDER = "[private]"


@dataclass(frozen=True)
class Private:
    """`patterns` name variables (`salaries`, `secret_*`) and columns (`customers.email`, `*.ssn`),
    whatever their case. `schema_only`: no value at all. `there`: whether the kernel has held such a
    variable, whose values may be in any file by now. All methods are pure."""

    patterns: tuple[str, ...] = ()
    schema_only: bool = False
    there: bool = True

    @property
    def any(self) -> bool:
        return self.schema_only or bool(self.patterns)

    @property
    def withholds_data(self) -> bool:
        """Whether what runs, and a file of data, may show what is private."""
        return self.schema_only or (bool(self.patterns) and self.there)

    def name(self, name: str) -> bool:
        """Whether for the model there is no such variable."""
        return any(_fits(name, variable) for variable, column in self.pairs if not column)

    def column(self, variable: str, column: str) -> bool:
        """Whether for the model this variable has no such column."""
        return self.any_column(column) and any(
            _fits(variable, owner) and _fits_column(column, pattern)
            for owner, pattern in self.pairs
            if pattern
        )

    def any_column(self, column: str) -> bool:
        """The same of what was made of another variable, so of whatever was private there."""
        return _any_column(column, self.patterns)

    def mentions(self, word: str) -> bool:
        """Whether a word of code says something private. A pattern for all columns of a variable
        says nothing of any word."""
        return self.name(word) or any(
            _fits(word, column) for _, column in self.pairs if column.strip("*")
        )

    def scrubbed(self, text: str) -> str:
        """The text without the words that say something private."""
        if not self.patterns:
            return text
        return _WORD.sub(lambda m: PLACEHOLDER if self.mentions(m[0]) else m[0], text)

    def withholds(self, path: str) -> bool:
        """Whether what a file holds may be data that is kept back; `path` is relative to the
        project, or absolute for what commands have written elsewhere."""
        if self.patterns and path.endswith(".shiro/config.toml"):
            return True  # which may hold the patterns
        if not self.withholds_data:
            return False
        name = PurePosixPath(path.lower())
        written = name.suffix in _WRITTEN or name.name in _WRITTEN | _WRITTEN_NAMES
        return name.is_absolute() or not written

    def withholds_lines(self, path: str) -> bool:
        """The same of its raw lines: those of a notebook hold the outputs of its cells."""
        notebook = self.any and path.lower().endswith(".ipynb")
        return notebook or self.withholds(path)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pattern of the variable, and of the column or empty."""
        return _pairs(self.patterns)


NOTHING_PRIVATE = Private()


def withheld_file(name: str) -> str:
    return (
        f"{name} may hold data that the person keeps from you: look at the live variables by their "
        "names and types, or have code work on it."
    )


@lru_cache(maxsize=100)
def _pairs(patterns: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Pattern of the variable, and of the column or empty."""
    parts = (pattern.partition(".") for pattern in patterns)
    return tuple((variable, column) for variable, _, column in parts)


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(_same(pattern)))


def _same(name: str) -> str:
    """As Python reads names, whatever their case."""
    return normalize("NFKC", normalize("NFKC", name).casefold())


def _fits(name: str, pattern: str) -> bool:
    return _compiled(pattern).match(_same(name)) is not None


@lru_cache(maxsize=50_000)  # each request looks at all columns of all tables
def _any_column(column: str, patterns: tuple[str, ...]) -> bool:
    return any(_fits_column(column, pattern) for _, pattern in _pairs(patterns) if pattern)


def _fits_column(column: str, pattern: str) -> bool:
    """A label of several levels, which is shown as `(2024, email)`, by each of them too."""
    levels = column[1:-1].split(", ") if column[:1] == "(" and column[-1:] == ")" else []
    return any(_fits(each, pattern) for each in (column, *levels))
