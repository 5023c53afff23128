"""What is known of a value that code would make, without running it.

A table's columns are an upper bound: what is not among them is certainly missing. Whatever is not
understood widens that bound or drops it, so that doubt can cost a finding and never the person's
right code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

# Whose code runs when a value is called: that of a library known to change no table in place, that
# of some other library, or the person's, which may change whatever there is.
KNOWN, LIBRARY, USER = 0, 1, 2


@dataclass(frozen=True)
class Value:
    """Anything. `frames`: whether it may be, or hold, a table that is known by another name."""

    trust: int = KNOWN
    frames: bool = False


# Kinds of tables whose columns are looked up as pandas does it.
LIKE_PANDAS = ("pandas", "geopandas", "dask")
PLAIN = Value()
ANY = Value(KNOWN, True)
THEIRS = Value(USER, True)


@dataclass(frozen=True)
class Const(Value):
    value: Any = None


@dataclass(eq=False)
class Items:
    """A list, tuple or set whose elements are known; None once it may have been changed."""

    values: tuple[Known, ...] | None


@dataclass(eq=False)
class Mapping:
    """A dict whose keys are known; None once it may have been changed."""

    pairs: tuple[tuple[Known, Known], ...] | None


@dataclass(frozen=True)
class Module(Value):
    """A library, or what stands under this path in it."""

    path: str = ""


@dataclass(frozen=True)
class Frame(Value):
    """A table, by its number among the tables."""

    at: int = 0
    frames: bool = True


@dataclass(frozen=True)
class Part(Value):
    """What belongs to a table: its `loc`, `columns`, `index`, or a method not yet called."""

    of: Frame = field(default_factory=Frame)
    name: str = ""
    frames: bool = True


@dataclass(frozen=True)
class Column(Value):
    """A series; `name` is None where that is not known, and `levels` are those of its index."""

    name: str | None = None
    levels: frozenset[str] | None = None
    of: str = "pandas"


@dataclass(frozen=True)
class Mask(Value):
    """A series of truth values, which selects rows."""


@dataclass(frozen=True)
class Row(Value):
    """One row of a table; `fields`: as a named tuple, else by keys."""

    table: Table | None = None
    fields: bool = False


@dataclass(frozen=True)
class Rows(Value):
    """What iterating over a table gives."""

    row: Row = field(default_factory=Row)
    numbered: bool = False


@dataclass(frozen=True)
class Grouped(Value):
    """A table by groups. `keys` is None where not all are known; `picked` are selected columns."""

    of: Frame = field(default_factory=Frame)
    keys: tuple[str, ...] | None = None
    picked: tuple[str, ...] | str | None = None
    as_index: bool = True
    seen: Table | None = None  # as it was when it was grouped
    frames: bool = True


@dataclass(frozen=True)
class Expr(Value):
    """A polars expression: columns it names, and the name of what it makes, None where that is not
    known; `existing` where it makes columns of names that are there."""

    roots: tuple[tuple[str, ast.AST], ...] = field(default=(), compare=False)
    output: str | None = None
    existing: bool = False


@dataclass(frozen=True)
class Bound(Value):
    """A method, not yet called, of what is no table: `str.contains` of a column."""

    owner: Known = PLAIN
    name: str = ""


@dataclass(frozen=True)
class Connection(Value):
    """A DuckDB connection; `fresh` where the code at hand opened it, on nothing."""

    fresh: bool = False
    at: int = 0


@dataclass(eq=False)
class Closure:
    """A function of the code at hand. `depth`: how many scopes it sees."""

    node: ast.Lambda | ast.FunctionDef
    depth: int


Known = Value | Items | Mapping | Closure


@dataclass(frozen=True)
class Table:
    """`columns` and `levels` (names of the row index) hold at least all there are; None: anything.
    `hidden` columns are there and never named. `flat`: rows surely have one level. `live` is the
    frame itself, as long as it is as the namespace has it."""

    kind: str = "pandas"
    columns: frozenset[str] | None = None
    levels: frozenset[str] | None = None
    flat: bool = False
    hidden: frozenset[str] = frozenset()
    rows: int | None = None
    extras: frozenset[str] = frozenset()
    live: Any = field(default=None, compare=False)

    def has(self, name: str, levels: bool = False) -> bool:
        if self.columns is None or name in self.columns or name in self.hidden:
            return True
        return levels and (self.levels is None or name in self.levels)

    def plus(self, *names: str) -> Table:
        if self.columns is None or self.columns.issuperset(names):
            return replace(self, live=None)
        return replace(self, columns=self.columns.union(names), live=None)

    def minus(self, *names: str) -> Table:
        if self.columns is None:
            return self
        gone = frozenset(names)
        left, hidden = self.columns - gone, self.hidden - gone
        return replace(self, columns=left, hidden=hidden, live=None)

    def hiding(self, names: frozenset[str]) -> Table:
        if not names or self.columns is None:
            return self
        shown = self.columns - names
        return replace(self, columns=shown, hidden=self.hidden | names, live=None)

    def perhaps(self, *names: str) -> Table:
        """With columns that there may be, and that are not to be named."""
        if self.columns is None:
            return self
        return replace(self, hidden=self.hidden.union(names) - self.columns, live=None)

    def only(self, *names: str) -> Table:
        """Of these columns, whether they are there or not."""
        return replace(self, columns=frozenset(names), hidden=frozenset(), live=None)

    def opened(self) -> Table:
        return Table(self.kind, rows=None)

    def made(self) -> Table:
        """A table of the same columns, made from this one: other rows."""
        return replace(self, rows=None, extras=frozenset(), live=None)

    def joined(self, other: Table) -> Table:
        if self == other:
            return self
        if self.kind != other.kind:
            return Table("")
        return Table(
            self.kind,
            _either(self.columns, other.columns),
            _either(self.levels, other.levels),
            self.flat and other.flat,
            self.hidden | other.hidden,
            self.rows if self.rows == other.rows else None,
            self.extras | other.extras,
        )


def _either(one: frozenset[str] | None, two: frozenset[str] | None) -> frozenset[str] | None:
    return None if one is None or two is None else one | two


def parts(value: Known) -> Iterator[Known]:
    """The value, and those that it is known to hold."""
    yield value
    if isinstance(value, Items):
        for each in value.values or ():
            yield from parts(each)
    elif isinstance(value, Mapping):
        for key, each in value.pairs or ():
            yield key
            yield from parts(each)
    elif isinstance(value, Part | Grouped):
        yield value.of
    elif isinstance(value, Bound):
        yield from parts(value.owner)


def trust(value: Known) -> int:
    """Whose code runs when it is used."""
    if isinstance(value, Items | Mapping):
        spoiled = (value.values if isinstance(value, Items) else value.pairs) is None
        return (
            USER if spoiled else max((trust(e) for e in parts(value) if e is not value), default=0)
        )
    return value.trust if isinstance(value, Value) else KNOWN


def frames(value: Known) -> bool:
    """Whether it may be, or hold, a table that is known by another name."""
    if isinstance(value, Items | Mapping):
        spoiled = (value.values if isinstance(value, Items) else value.pairs) is None
        return spoiled or any(frames(each) for each in parts(value) if each is not value)
    return isinstance(value, Value) and value.frames


def text(value: Known | None) -> str | None:
    if isinstance(value, Const) and type(value.value) is str:
        return value.value
    return None


def truth(value: Known | None) -> bool | None:
    """What is known of a flag."""
    if isinstance(value, Const):
        return bool(value.value)
    return None


def strings(value: Known | None) -> list[str]:
    """Those among its elements, or keys, that are known to be text; or itself."""
    if (alone := text(value)) is not None:
        return [alone]
    if isinstance(value, Items):
        return [each for each in map(text, value.values or ()) if each is not None]
    if isinstance(value, Mapping):
        return [each for key, _ in value.pairs or () if (each := text(key)) is not None]
    return []


def all_strings(value: Known | None) -> list[str] | None:
    """The same where nothing else is among them; else None."""
    found = strings(value)
    if text(value) is not None:
        return found
    if isinstance(value, Items):
        return found if value.values is not None and len(value.values) == len(found) else None
    if isinstance(value, Mapping):
        return found if value.pairs is not None and len(value.pairs) == len(found) else None
    return None
