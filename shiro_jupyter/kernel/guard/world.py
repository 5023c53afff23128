"""The state of names and tables at a point of the code, what changes it, and what was found."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from .schema import Schema, attributes
from .values import (
    ANY,
    KNOWN,
    PLAIN,
    THEIRS,
    USER,
    Closure,
    Column,
    Frame,
    Items,
    Known,
    Mapping,
    Row,
    Rows,
    Table,
    Value,
    frames,
    parts,
    trust,
)
from .verdict import Finding, missing_attribute, missing_column

# Steps for each node of the code, and at least; then no more is looked for.
STEPS, LEAST = 40, 5_000


class TooMuch(Exception):
    """The code takes too long to follow."""


@dataclass
class State:
    """`scopes` from the module's inwards."""

    scopes: list[dict[str, Known]]
    tables: dict[int, Table]

    def copy(self) -> State:
        return State([dict(each) for each in self.scopes], dict(self.tables))


class World(ABC):
    """What has been followed so far. `doubt`: how many conditions stand between the code and the
    point at hand."""

    def __init__(self, schema: Schema, nodes: int) -> None:
        self.schema = schema
        self.state = State([{}], {})
        self.certain: dict[tuple[int, str], Finding] = {}
        self.doubtful: dict[tuple[int, str], Finding] = {}
        self.doubt = self.muted = 0
        # Names that the code asks for before it uses them, or makes on what is not known.
        self.asked: set[str] = set()
        self.attributes_known = True
        # Tables that a connection of the code's own has beside those of the namespace, by name.
        self.registered: dict[tuple[int, str], Frame] = {}
        self.connections = 0
        self.catalog_known = True
        self.callers: list[list[dict[str, Known]]] = []  # scopes that a called function sees not
        self._left = max(LEAST, STEPS * nodes)
        self._kin: dict[int, set[int]] = {}  # tables that may be one and the same
        self._next = self._named = 0

    @abstractmethod
    def call(self, closure: Closure, *given: Known, **named: Known) -> Known:
        """Follow a function of the code, called now with these."""

    def step(self, cost: int = 1) -> None:
        self._left -= cost
        if self._left < 0:
            raise TooMuch

    # -- tables --------------------------------------------------------------------------------

    def add(self, table: Table) -> Frame:
        self._next += 1
        self.state.tables[self._next] = table
        return Frame(at=self._next)

    def table(self, frame: Frame) -> Table:
        return self.state.tables.get(frame.at, Table(""))

    def put(self, frame: Frame, table: Table) -> None:
        """The table has become this one; what may be the same table may have."""
        kin = self._kin.get(frame.at, {frame.at})
        self.step(len(kin))
        for at in kin:
            old = self.state.tables.get(at, Table(""))
            self.state.tables[at] = table if len(kin) == 1 else old.joined(table)

    def gain(self, frame: Frame, names: Iterable[str]) -> None:
        kin = self._kin.get(frame.at, {frame.at})
        self.step(len(kin))
        for at in kin:
            if at in self.state.tables:
                self.state.tables[at] = self.state.tables[at].plus(*names)

    def drop_unnamed(self) -> None:
        """Between statements only what a name holds is in use."""
        tables = self.state.tables
        if len(tables) < 2 * self._named + 50:
            return
        values = [value for scope in self.state.scopes for value in scope.values()]
        values += self.registered.values()
        held = {each.at for value in values for each in parts(value) if isinstance(each, Frame)}
        self.state.tables = {at: tables[at] for at in tables.keys() & held}
        self._named = len(held)

    def reindexed(self) -> None:
        """Rows of some table or series have other labels, or names of them: labels are shared."""
        for at, table in self.state.tables.items():
            self.state.tables[at] = replace(table, levels=None, flat=False, live=None)
        self.step(len(self.state.tables))
        self.unsettle()

    def unsettle(self) -> None:
        """A series, or a row, was changed in place: it may have any name, and any field."""
        for scope in self.everywhere():
            self.step(len(scope))
            for name, value in scope.items():
                if isinstance(value, Column):
                    scope[name] = Column(of=value.of)
                elif isinstance(value, Row | Rows):
                    scope[name] = PLAIN
                elif any(isinstance(each, Column | Row | Rows) for each in parts(value)):
                    self.spoil(value)

    def everywhere(self) -> Iterator[dict[str, Known]]:
        """The names in sight, and those of the callers."""
        yield from self.state.scopes
        for scopes in self.callers:
            yield from scopes

    def open(self, frame: Frame) -> None:
        self.put(frame, self.table(frame).opened())

    def open_all(self) -> None:
        for at, table in self.state.tables.items():
            self.state.tables[at] = table.opened()

    def gain_all(self, name: str) -> None:
        """A column was made on what may be any table."""
        for at, table in self.state.tables.items():
            self.state.tables[at] = table.plus(name)

    def loosen(self) -> None:
        """Any list or dict may hold other things by now."""
        for scope in self.everywhere():
            for value in scope.values():
                self.spoil(value)

    # -- what code that is not known may do ----------------------------------------------------

    def forget(self) -> None:
        """The person's code ran: it may have changed every table and bound every name anew."""
        self.open_all()
        self.unsettle()
        self.attributes_known = False
        for scope in self.everywhere():
            for name, value in scope.items():
                if not isinstance(value, Closure) and (frames(value) or trust(value)):
                    scope[name] = ANY if not trust(value) else THEIRS
                elif isinstance(value, Items | Mapping):
                    scope[name] = PLAIN

    def used(self, *values: Known) -> None:
        """By an operator, an item, an attribute: of an object of the person's its code may run."""
        if any(isinstance(each, Value) and each.trust == USER for each in values):
            self.forget()

    def lose(self) -> None:
        """Names may have been bound that nothing tells of."""
        self.open_all()
        self.attributes_known = False
        for scope in self.everywhere():
            for name in scope:
                scope[name] = THEIRS

    def spoil(self, value: Known) -> None:
        """What it holds may be other things by now."""
        for each in parts(value):
            if isinstance(each, Items):
                each.values = None
            elif isinstance(each, Mapping):
                each.pairs = None

    def exposed(self, values: Iterable[Known], by: int) -> None:
        """Values were handed to code of that trust."""
        for value in list(values):
            for each in list(parts(value)):
                if by and isinstance(each, Frame):
                    self.open(each)
                elif isinstance(each, Closure):
                    self.perhaps(each)
                elif by and isinstance(each, Column | Row | Rows):
                    self.unsettle()
            if by:
                self.spoil(value)
        if by:
            self.attributes_known = False

    def perhaps(self, closure: Closure) -> None:
        """A function of the code may be called, with whatever."""
        before = self.state.copy()
        with self.doubted():
            self.call(closure)
        self.join(before)

    def ran(self, function: Known | None, *given: Known) -> int:
        """A function that the code does not hold was called with these; of which trust it is."""
        if isinstance(function, Closure):
            self.perhaps(function)
            return KNOWN
        by = KNOWN if function is None else trust(function)
        self.exposed(given, by)
        if by == USER:
            self.forget()
        return by

    # -- branches ------------------------------------------------------------------------------

    def join(self, other: State) -> None:
        """The state is this or the other."""
        ours = self.state
        self.step(sum(map(len, ours.scopes)) + len(ours.tables))
        for at, table in other.tables.items():
            mine = ours.tables.get(at)
            ours.tables[at] = table if mine is None else mine.joined(table)
        for scope, others in zip(ours.scopes, other.scopes, strict=False):
            for name, value in others.items():
                scope[name] = self.combined(scope[name], value) if name in scope else value

    def known(self) -> object:
        """What is known of names and tables, to be compared."""
        self.step(sum(map(len, self.state.scopes)))
        return [
            {name: self._content(value) for name, value in scope.items()}
            for scope in self.state.scopes
        ]

    def _content(self, value: Known) -> object:
        held = [self.table(each) for each in parts(value) if isinstance(each, Frame)]
        return held or (value if isinstance(value, Value) else type(value)), trust(value)

    def combined(self, one: Known, two: Known) -> Known:
        """What is known of a value that is one of these."""
        if one is two or one == two:
            return one
        if isinstance(one, Frame) and isinstance(two, Frame):
            both = self.add(self.table(one).joined(self.table(two)))
            kin = {both.at, *self._kin.get(one.at, {one.at}), *self._kin.get(two.at, {two.at})}
            self.step(len(kin))
            for at in kin:
                self._kin[at] = kin
            return both
        if isinstance(one, Closure) or isinstance(two, Closure):
            return THEIRS
        either = Value(max(trust(one), trust(two)), frames(one) or frames(two))
        self.spoil(one)
        self.spoil(two)
        return either

    @contextmanager
    def doubted(self, doubt: bool = True) -> Iterator[None]:
        self.doubt += doubt
        try:
            yield
        finally:
            self.doubt -= doubt

    # -- findings ------------------------------------------------------------------------------

    def uses(
        self,
        frame: Frame,
        names: Iterable[str],
        node: ast.AST,
        levels: bool = False,
        where: ast.AST | None = None,
    ) -> None:
        """These columns of the table are needed by the node; `levels`: or names of its index.
        `where` is the expression that makes the table."""
        self.uses_of(self.table(frame), names, node, levels, where)

    def uses_of(
        self,
        table: Table,
        names: Iterable[str],
        node: ast.AST,
        levels: bool = False,
        where: ast.AST | None = None,
    ) -> None:
        line, columns = getattr(node, "lineno", 1), table.columns or ()
        for name in names:
            if not table.has(name, levels):
                make = partial(missing_column, line, _said(where), name, columns)
                self._found(name, line, make)

    def lacks(self, table: Table, name: str, node: ast.Attribute, kind: str = "") -> None:
        """The table, or what is of that kind over it, has no attribute or column of that name."""
        line, said, columns = node.lineno, _said(node.value), table.columns or frozenset()
        kind = kind or table.kind
        self._found(
            name, line, lambda: missing_attribute(line, said, name, columns, attributes(kind))
        )

    def tell(self, finding: Finding, certain: bool = True) -> None:
        self._found(finding.what, finding.line, lambda: finding, certain)

    def _found(
        self, name: str, line: int, make: Callable[[], Finding], certain: bool = True
    ) -> None:
        if self.muted or (self.doubt and name in self.asked):
            return
        sure = certain and not self.doubt and name not in self.asked
        found = self.certain if sure else self.doubtful
        if (line, name) not in found:
            found[line, name] = make()


def _said(node: ast.AST | None) -> str:
    text = ast.unparse(node) if node is not None else "the table"
    return text if len(text) <= 40 else text[:39] + "…"
