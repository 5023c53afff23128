"""Following expressions: what each makes, what it needs, and what it changes."""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import calls
from .access import Access
from .methods import Call
from .polars_expressions import operated
from .values import (
    ANY,
    PLAIN,
    THEIRS,
    Closure,
    Column,
    Const,
    Expr,
    Frame,
    Items,
    Known,
    Mapping,
    Mask,
    Module,
    Part,
    Value,
    all_strings,
    frames,
    strings,
    text,
    trust,
)

UNROLLED = 30  # elements of a list that a loop goes through one by one


class Expressions(Access):
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
        self.used(value)
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
        for scope in self.state.scopes[:-1]:  # of a comprehension it binds outside
            if node.target.id in scope:
                scope[node.target.id] = THEIRS
        return value

    def _await(self, node: ast.Await) -> Known:
        return self.value(node.value)

    # -- operators -----------------------------------------------------------------------------

    def _compare(self, node: ast.Compare) -> Known:
        values = [self.value(each) for each in (node.left, *node.comparators)]
        self.used(*values)
        if any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            self.asked.update(name for each in values for name in strings(each))
            return PLAIN
        made = operated(values[0], values[1])
        if made is not None:
            return made
        return PLAIN if all(isinstance(each, Const) for each in values) else Mask()

    def _binop(self, node: ast.BinOp) -> Known:
        one, two = self.value(node.left), self.value(node.right)
        self.used(one, two)
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
        self.used(value)
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

    # -- parts and calls --------------------------------------------------------------------------

    def _attribute(self, node: ast.Attribute) -> Known:
        return self.attribute(self.value(node.value), node)

    def _subscript(self, node: ast.Subscript) -> Known:
        owner, key = self.value(node.value), self.value(node.slice)
        return self.item(owner, key, node)

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
