"""What each method does to columns, said in a line where its arguments alone say it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .values import Const, Expr, Frame, Items, Known, Table, all_strings, strings, text, truth
from .world import World

Made = Callable[["Call"], Known]


@dataclass
class Call:
    """A call of a method of a table. `starred`: it has arguments that the code does not show."""

    world: World
    node: ast.expr
    frame: Frame
    args: list[Known]
    named: dict[str, Known]
    starred: bool = False
    on: ast.expr | None = None  # the expression that makes the table
    skipped: int = 0  # arguments before `args`: the table, where a function takes it

    @property
    def table(self) -> Table:
        return self.world.table(self.frame)

    @property
    def first(self) -> ast.expr | None:
        """The other table of a join, as it is written."""
        if not isinstance(self.node, ast.Call):
            return None
        return self.node.args[self.skipped] if len(self.node.args) > self.skipped else None

    def given(self, at: int | None, name: str) -> Known | None:
        if name in self.named:
            return self.named[name]
        return self.args[at] if at is not None and at < len(self.args) else None

    def text(self, at: int | None, name: str, default: str) -> str | None:
        """Of an argument; None where it is not known."""
        value = self.given(at, name)
        return default if value is None else text(value)

    def flag(self, name: str, default: bool) -> bool | None:
        value = self.named.get(name)
        return default if value is None else truth(value)

    def uses(self, value: Known | None, levels: bool = False) -> None:
        """Columns that the value names, as text, in a list, or in polars' expressions."""
        for name, node in named(value, self.node):
            if self.table.kind == "pandas" or not is_pattern(name):
                self.world.uses(self.frame, [name], node, levels, self.on)

    def make(self, table: Table) -> Frame:
        return self.world.add(table)

    def same(self) -> Frame:
        return self.make(self.table.made())

    def names(self, at: int | None, name: str) -> list[str] | None:
        return all_strings(self.given(at, name))


def named(value: Known | None, node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Columns that a value names, each with the node that says so."""
    if isinstance(value, Expr):
        yield from value.roots
    elif isinstance(value, Items) and any(isinstance(e, Expr) for e in value.values or ()):
        for each in value.values or ():
            yield from named(each, node)
    else:
        for name in strings(value):
            yield name, node


def is_pattern(name: str) -> bool:
    """What polars takes for a pattern of names."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


@dataclass(frozen=True)
class Does:
    """`columns` are the arguments that name columns, by position (None: by name alone) and name;
    `levels`: or levels of the row index. `makes` is the table that comes of it: one of the same
    columns, of some of them, or of none that are known; or a function settles it."""

    columns: tuple[tuple[int | None, str], ...] = ()
    levels: bool = False
    makes: Literal["same", "any"] | Made = "same"
    every: bool = False  # all positional arguments name columns
    unless: tuple[str, ...] = ("axis",)  # arguments with which it is about something else

    def about_columns(self, call: Call) -> bool:
        for name in self.unless:
            value = call.named.get(name)
            plain = isinstance(value, Const) and value.value in (0, "index", "rows", None)
            if value is not None and not plain:
                return False
        return True

    def check(self, call: Call) -> None:
        if not self.about_columns(call):
            return
        for at, name in self.columns:
            call.uses(call.given(at, name), self.levels)
        if self.every:
            for value in call.args:
                call.uses(value, self.levels)
