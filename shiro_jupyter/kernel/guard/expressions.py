"""Following expressions: what each makes, what it needs, and what it changes."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...core.policy.names import named as words
from . import calls
from .methods import Call
from .pandas_methods import grouped_item
from .polars_expressions import made_by, operated
from .schema import attribute
from .values import (
    ANY,
    LIBRARY,
    PLAIN,
    THEIRS,
    Bound,
    Closure,
    Column,
    Connection,
    Const,
    Expr,
    Frame,
    Grouped,
    Items,
    Known,
    Mapping,
    Mask,
    Module,
    Part,
    Row,
    Rows,
    Value,
    all_strings,
    frames,
    strings,
    text,
    trust,
)
from .world import World

UNROLLED = 30  # elements of a list that a loop goes through one by one
_ROW_FIELDS = ("Index", "count", "index")
_GROUP_METHODS = words("""
    agg aggregate apply pipe filter transform size mean sum min max median std var count
    nunique first last prod any all sem head tail nth cumsum cumcount rank shift diff describe
    groups ngroups get_group rolling resample plot hist value_counts quantile indices
""")


class Expressions(World):
    """`value(node)` follows a node; what is not listed is anything."""

    def value(self, node: ast.AST | None) -> Known:
        if node is None:
            return PLAIN
        self.step()
        follow: Callable[[Any], Known] | None = getattr(
            self, f"_{type(node).__name__.lower()}", None
        )
        if follow is not None:
            return follow(node)
        for child in ast.iter_child_nodes(node):
            self.value(child)
        return ANY

    @abstractmethod
    def bind(self, target: ast.AST, value: Known) -> None:
        """Bind a name, or what else may be assigned to."""

    # -- names and literals --------------------------------------------------------------------

    def name(self, name: str) -> Known:
        for scope in reversed(self.state.scopes):
            if name in scope:
                return scope[name]
        if name in ("display", "get_ipython"):  # IPython's builtins
            return Module(path=name)
        known = self.schema.value(name)
        return THEIRS if known is None else known

    def _name(self, node: ast.Name) -> Known:
        return self.name(node.id)

    def _constant(self, node: ast.Constant) -> Known:
        return Const(value=node.value)

    def _joinedstr(self, node: ast.JoinedStr) -> Known:
        said = [text(self.value(each)) for each in node.values]
        known = [each for each in said if each is not None]
        return Const(value="".join(known)) if len(known) == len(said) else PLAIN

    def _formattedvalue(self, node: ast.FormattedValue) -> Known:
        value = self.value(node.value)
        if node.format_spec is None and node.conversion == -1 and isinstance(value, Const):
            return Const(value=str(value.value)) if type(value.value) in (str, int) else PLAIN
        self.value(node.format_spec)
        return PLAIN

    def _elements(self, node: ast.List | ast.Tuple | ast.Set) -> Known:
        values: list[Known] = []
        known = True
        for each in node.elts:
            value = self.value(each.value if isinstance(each, ast.Starred) else each)
            if not isinstance(each, ast.Starred):
                values.append(value)
            elif isinstance(value, Items) and value.values is not None:
                values += value.values
            else:
                known = False
                values.append(value)
        made = Items(tuple(values))
        return made if known else Value(trust(made), frames(made))

    _list = _tuple = _set = _elements

    def _dict(self, node: ast.Dict) -> Known:
        pairs: list[tuple[Known, Known]] = []
        known = True
        for key, each in zip(node.keys, node.values, strict=True):
            value = self.value(each)
            if key is not None:
                pairs.append((self.value(key), value))
            elif isinstance(value, Mapping) and value.pairs is not None:
                pairs += value.pairs
            else:
                known = False
                pairs.append((PLAIN, value))
        made = Mapping(tuple(pairs))
        return made if known else Value(trust(made), frames(made))

    def _lambda(self, node: ast.Lambda) -> Known:
        return Closure(node, len(self.state.scopes))

    def _slice(self, node: ast.Slice) -> Known:
        for each in (node.lower, node.upper, node.step):
            self.value(each)
        return Mask()

    def _namedexpr(self, node: ast.NamedExpr) -> Known:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _await(self, node: ast.Await) -> Known:
        return self.value(node.value)

    # -- operators -----------------------------------------------------------------------------

    def _compare(self, node: ast.Compare) -> Known:
        values = [self.value(each) for each in (node.left, *node.comparators)]
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            self.asked.update(name for each in values for name in strings(each))
            return PLAIN
        made = operated(values[0], values[1])
        if made is not None:
            return made
        return PLAIN if all(isinstance(each, Const) for each in values) else Mask()

    def _binop(self, node: ast.BinOp) -> Known:
        one, two = self.value(node.left), self.value(node.right)
        if (made := operated(one, two)) is not None:
            return made
        if isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor) and not _holds(one, two):
            return Mask()
        for mine, other in ((one, two), (two, one)):
            if _is_columns(mine):
                self.asked.update(strings(other))
        if isinstance(node.op, ast.Add):
            if isinstance(one, Items) and isinstance(two, Items) and one.values and two.values:
                return Items(one.values + two.values)
            if (first := text(one)) is not None and (second := text(two)) is not None:
                return Const(value=first + second)
        for each in (one, two):
            if isinstance(each, Column):
                return replace(each, name=None)
        for each in (one, two):
            if isinstance(each, Frame):
                return self.add(self.table(each).opened())
        return Value(0, frames(one) or frames(two))

    def _unaryop(self, node: ast.UnaryOp) -> Known:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return PLAIN
        if isinstance(value, Expr | Column):
            return value
        return Mask() if isinstance(node.op, ast.Invert) else PLAIN

    def _boolop(self, node: ast.BoolOp) -> Known:
        result = self.value(node.values[0])
        with self.doubted():
            for each in node.values[1:]:
                result = self.combined(result, self.value(each))
        return result

    def _ifexp(self, node: ast.IfExp) -> Known:
        self.value(node.test)
        with self.doubted():
            one, two = self.value(node.body), self.value(node.orelse)
        return self.combined(one, two)

    # -- comprehensions ------------------------------------------------------------------------

    def _listcomp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Known:
        first, certain = node.generators[0], not isinstance(node, ast.GeneratorExp)
        source = self.value(first.iter)
        self.state.scopes.append({})
        try:
            if (many := unrolled(source)) is not None and not node.generators[1:]:
                made: list[Known] = []
                with self.doubted(not certain):
                    for each in many:
                        self.bind(first.target, each)
                        for test in first.ifs:
                            self.value(test)
                        with self.doubted(bool(first.ifs)):
                            made.append(self.value(node.elt))
                whole = Items(tuple(made))
                return Value(trust(whole), frames(whole)) if first.ifs else whole
            with self.doubted():
                self._generate(node.generators, source)
                element = self.value(node.elt)
            return Value(trust(element), frames(element))
        finally:
            self.state.scopes.pop()

    _setcomp = _generatorexp = _listcomp

    def _dictcomp(self, node: ast.DictComp) -> Known:
        first = node.generators[0]
        source = self.value(first.iter)
        self.state.scopes.append({})
        try:
            many = unrolled(source)
            if many is not None and not node.generators[1:] and not first.ifs:
                pairs: list[tuple[Known, Known]] = []
                for each in many:
                    self.bind(first.target, each)
                    pairs.append((self.value(node.key), self.value(node.value)))
                return Mapping(tuple(pairs))
            with self.doubted():
                self._generate(node.generators, source)
                self.value(node.key)
                element = self.value(node.value)
            return Value(trust(element), frames(element))
        finally:
            self.state.scopes.pop()

    def _generate(self, generators: list[ast.comprehension], source: Known) -> None:
        for at, each in enumerate(generators):
            self.bind(each.target, self.element(source if at == 0 else self.value(each.iter)))
            for test in each.ifs:
                self.value(test)

    def element(self, source: Known) -> Known:
        """What iterating over it gives."""
        if isinstance(source, Rows):
            return Items((PLAIN, source.row)) if source.numbered else source.row
        if isinstance(source, Grouped):
            return Items((PLAIN, self.add(self.table(source.of))))
        if isinstance(source, Frame | Part):
            return PLAIN
        return Value(trust(source), frames(source))

    # -- attributes ----------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Known:
        return self.attribute(self.value(node.value), node)

    def attribute(self, owner: Known, node: ast.Attribute) -> Known:
        name = node.attr
        match owner:
            case Frame():
                return self._of_frame(owner, node)
            case Part():
                return replace(owner, name=f"{owner.name}.{name}")
            case Module():
                if owner.path == "polars.col":
                    return made_by("col", node, [Const(value=name)], {})
                return replace(owner, path=f"{owner.path}.{name}")
            case Grouped() if name not in _GROUP_METHODS and self.table(owner.of).has(name):
                return replace(owner, picked=name)
            case Bound():
                return replace(owner, name=f"{owner.name}.{name}")
            case Row(fields=True):
                if not name.startswith("_") and name not in _ROW_FIELDS and owner.table:
                    self.uses_of(owner.table, [name], node, where=node.value)
                return PLAIN
            case Column() | Expr() | Grouped() | Items() | Mapping() | Connection() | Row():
                return Bound(trust(owner), frames(owner), owner, name)
            case Const() | Closure():
                return PLAIN
        return Value(trust(owner), frames(owner))

    def _of_frame(self, frame: Frame, node: ast.Attribute) -> Known:
        table, name = self.table(frame), node.attr
        there = attribute(table.kind, name)
        if there == "own" or name.startswith("_"):
            return Part(of=frame, name=name)
        if there == "foreign":
            self.open(frame)
            return Value(LIBRARY, True)
        columns = table.kind in ("pandas", "geopandas")
        if columns and (table.has(name) or name in table.extras):
            return Column(name=name, levels=table.levels)
        if self.attributes_known:
            self.lacks(table, name, node)
        return ANY

    # -- items ---------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Known:
        owner, key = self.value(node.value), self.value(node.slice)
        return self.item(owner, key, node)

    def item(self, owner: Known, key: Known, node: ast.Subscript) -> Known:
        match owner:
            case Frame():
                return self._item_of_frame(owner, key, node)
            case Part(name="loc" | "at"):
                return self._located(owner, key, node)
            case Part():
                return owner if owner.name == "columns" else PLAIN
            case Grouped():
                if self.table(owner.of).kind not in ("pandas", "geopandas"):
                    return ANY
                call = Call(self, node, owner.of, [], {}, on=node.value)
                return grouped_item(call, owner, key)
            case Row(table=table) if table is not None and not owner.fields:
                self.uses_of(table, strings(key), node, where=node.value)
                return PLAIN
            case Items(values=values) if values is not None and isinstance(key, Const):
                if type(key.value) is int and -len(values) <= key.value < len(values):
                    return values[key.value]
            case Mapping(pairs=pairs) if pairs is not None and isinstance(key, Const):
                for known, value in reversed(pairs):
                    if known == key:
                        return value
            case Column():
                return replace(owner) if isinstance(key, Mask) else PLAIN
        return Value(trust(owner), frames(owner))

    def _item_of_frame(self, frame: Frame, key: Known, node: ast.Subscript) -> Known:
        table, pandas = self.table(frame), self.table(frame).kind in ("pandas", "geopandas")
        if isinstance(node.slice, ast.Tuple):
            if table.kind == "polars" and isinstance(key, Items) and len(key.values or ()) == 2:
                self.uses(frame, strings((key.values or (PLAIN, PLAIN))[1]), node, where=node.value)
            return PLAIN
        if table.kind not in ("pandas", "geopandas", "polars"):
            return ANY
        if isinstance(key, Closure) and pandas:
            key = self.call(key, frame)
        if isinstance(key, Mask | Frame):
            return self.add(table.made())
        names = strings(key) if isinstance(key, Const | Items) else []
        self.uses(frame, names, node, where=node.value)
        if (name := text(key)) is not None:
            of = "pandas" if pandas else "polars"
            return (
                Column(name=name, levels=table.levels, of=of)
                if table.columns is not None
                else PLAIN
            )
        if not isinstance(key, Items):
            return Value(0, True)
        known = all_strings(key)
        made = table.made()
        return self.add(
            made.opened() if known is None or made.columns is None else made.only(*known)
        )

    def _located(self, part: Part, key: Known, node: ast.Subscript) -> Known:
        """`df.loc[rows, columns]`, which means columns for sure where rows have one level."""
        table = self.table(part.of)
        two = key.values if isinstance(node.slice, ast.Tuple) and isinstance(key, Items) else None
        if two is None or len(two) != 2:
            if isinstance(key, Closure):
                key = self.call(key, part.of)
            return self.add(table.made()) if isinstance(key, Mask | Items) else PLAIN
        rows, columns = two
        if isinstance(rows, Closure):
            rows = self.call(rows, part.of)
        if not table.flat:
            return Value(0, True)
        on = node.value.value if isinstance(node.value, ast.Attribute) else None
        names = strings(columns) if isinstance(columns, Const | Items) else []
        self.uses(part.of, names, node, where=on)
        several = isinstance(rows, Mask | Items)
        if several and (name := text(columns)) is not None:
            return Column(name=name, levels=table.levels)
        if several and isinstance(columns, Items) and (known := all_strings(columns)) is not None:
            made = table.made()
            return self.add(made if made.columns is None else made.only(*known))
        return PLAIN

    # -- calls ---------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Known:
        callee = self.value(node.func)
        args: list[Known] = []
        named: dict[str, Known] = {}
        starred = False
        for each in node.args:
            value = self.value(each.value if isinstance(each, ast.Starred) else each)
            if isinstance(each, ast.Starred):
                known = value.values if isinstance(value, Items) else None
                starred = starred or known is None
                args += known or (() if known is not None else (value,))
            else:
                args.append(value)
        for word in node.keywords:
            value = self.value(word.value)
            if word.arg is not None:
                named[word.arg] = value
            elif isinstance(value, Mapping) and (keys := all_strings(value)) is not None:
                named |= dict(zip(keys, (v for _, v in value.pairs or ()), strict=True))
            else:
                starred = True
                args.append(value)
        on = node.func.value if isinstance(node.func, ast.Attribute) else None
        return calls.called(self, callee, Call(self, node, Frame(), args, named, starred, on))


def unrolled(source: Known) -> tuple[Known, ...] | None:
    """The elements that a loop goes through, where they are few and known."""
    if isinstance(source, Items) and source.values is not None and len(source.values) <= UNROLLED:
        return source.values
    if isinstance(source, Mapping) and source.pairs is not None and len(source.pairs) <= UNROLLED:
        return tuple(key for key, _ in source.pairs)
    return None


def _is_columns(value: Known) -> bool:
    return isinstance(value, Part) and value.name.startswith("columns")


def _holds(*values: Known) -> bool:
    return any(isinstance(each, Items | Mapping) for each in values)
