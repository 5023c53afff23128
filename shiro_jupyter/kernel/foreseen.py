"""What a piece of code will do, from its syntax alone: for the question whether it may run.

Only what the code says itself is named: what a function does that it calls is not known here. So a
line that names nothing does not say that nothing changes. What is imported is no data: not named.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from ..views.wording import listed
from .outside import OUTSIDE, called, goes_out, magic_of, shown

NAMES = 8


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Methods that change the list, dict, set or array they are called on. Which type it is the syntax
# does not tell: another class may have one of that name that does not, and gives a new object then.
_CHANGING = _words(
    "add append appendleft clear difference_update discard extend extendleft fill insert "
    "intersection_update remove reverse sort update"
)
_TAKING = _words("pop popitem popleft setdefault")  # whose value is of use, too
_MODULES = OUTSIDE.keys() | _words("functools itertools math operator pandas pd pl polars re sys")
# Magics that run the code behind them, in a scope of its own or in the person's.
_TIMING = _words("timeit")
_RUNNING = _words("capture prun time") | _TIMING
_OPTIONS = re.compile(r"(?:-\w+(?:[ \t]+\d+)?[ \t]+)*")
_SUPPRESSING = _words("suppress raises")
_LEAVING = _words("exit quit _exit abort")
_ANYTHING = frozenset({"exec", "eval", "setattr", "globals", "locals"})


@dataclass
class Foreseen:
    """Names in the order that the code changes them; `outside` are calls that no undo reaches."""

    will: dict[str, None] = field(default_factory=dict)
    may: dict[str, None] = field(default_factory=dict)
    outside: dict[str, None] = field(default_factory=dict)
    more: bool = False  # it runs what the syntax does not show

    def __str__(self) -> str:
        """One sentence; empty where nothing is foreseen."""
        may = [name for name in self.may if name not in self.will]
        parts = [
            f"{label} {listed(list(names), NAMES)}"
            for label, names in (
                ("will change", self.will),
                ("may change", may),
                ("cannot be undone:", self.outside),
            )
            if names
        ]
        if self.more:
            parts.append("runs code that only shows when it runs")
        line = "; ".join(parts)
        return f"{line[:1].upper()}{line[1:]}." if line else ""


def foreseen(code: str) -> Foreseen:
    """Nothing where the code is no Python, which then fails before it does anything."""
    found = Foreseen()
    try:
        _Reader(found).read(_parsed(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError, RuntimeError):
        return Foreseen()
    return found


class _Reader(ast.NodeVisitor):
    """Reads what is run when the code runs; a body of a function or class is not, by itself."""

    def __init__(self, found: Foreseen) -> None:
        self._found = found
        self._sure = True
        self._own: frozenset[str] = frozenset()  # names of a comprehension
        self._modules = set(_MODULES)
        self._alone: ast.expr | None = None  # a call whose value is not used
        self._full: dict[str, str] = {}  # what was imported, by the names that it got
        self._made: dict[str, str] = {}  # what names were made by

    def read(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)
            if isinstance(statement, ast.Break | ast.Continue) or _may_leave(statement):
                self._sure = False

    @contextmanager
    def _perhaps(self) -> Iterator[None]:
        before, self._sure = self._sure, False
        yield
        self._sure = before

    def _change(self, name: str, sure: bool = True) -> None:
        if name not in self._own:
            (self._found.will if sure and self._sure else self._found.may)[name] = None

    def _target(self, node: ast.expr) -> None:
        """A name that is bound, or whose object is changed by an item or attribute of it."""
        match node:
            case ast.Name(id=name):
                self._change(name)
            case ast.Starred(value=value):
                self._target(value)
            case ast.Tuple(elts=each) | ast.List(elts=each):
                for one in each:
                    self._target(one)
            case ast.Subscript() | ast.Attribute():
                if (root := _root(node)) is not None:
                    # `x().y = 1` or `a[0].b = 1` changes something inside, not the name's object
                    self._change(root, sure=_direct(node))
                self.generic_visit(node)

    # -- what binds ------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._target(target)
            self._make(target, node.value)

    def _make(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._made[target.id] = called(value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        self._target(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._target(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._change(node.target.id)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self._target(target)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for each in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if each is not None:
                self.visit(each)
        self._change(node.name)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in (*node.decorator_list, *node.bases):
            self.visit(each)
        before, self._own = self._own, self._own | _bound_in(node)
        self.read(node.body)
        self._own = before
        self._change(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        pass

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._modules.add(alias.asname or alias.name.partition(".")[0])
            if alias.asname:
                self._full[alias.asname] = alias.name

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._found.more |= any(alias.name == "*" for alias in node.names)
        for alias in node.names:
            self._full[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    # -- what may not be run ---------------------------------------------------------------

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        with self._perhaps():
            self.read([*node.body, *node.orelse])

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        with self._perhaps():
            self.read([*node.body, *node.orelse])

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        with self._perhaps():
            self._target(node.target)
            self.read([*node.body, *node.orelse])

    visit_AsyncFor = visit_For  # noqa: N815

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        with self._perhaps():
            self.read([*node.body, *node.orelse])
            for handler in node.handlers:
                self.read(handler.body)
        self.read(node.finalbody)

    visit_TryStar = visit_Try  # noqa: N815

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self._target(item.optional_vars)
                self._make(item.optional_vars, item.context_expr)
        if any(called(item.context_expr) in _SUPPRESSING for item in node.items):
            with self._perhaps():
                self.read(node.body)
        else:
            self.read(node.body)

    visit_AsyncWith = visit_With  # noqa: N815

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        with self._perhaps():
            for case in node.cases:
                for each in ast.walk(case.pattern):
                    if isinstance(each, ast.MatchAs | ast.MatchStar) and each.name:
                        self._change(each.name)
                self.read(case.body)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        with self._perhaps():
            self.visit(node.body)
            self.visit(node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        first, *rest = node.values
        self.visit(first)
        with self._perhaps():
            for each in rest:
                self.visit(each)

    def visit_ListComp(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> None:
        before = self._own
        bound = {
            each.id
            for generator in node.generators
            for each in ast.walk(generator.target)
            if isinstance(each, ast.Name)
        }
        self._own = before | bound
        with self._perhaps():
            self.generic_visit(node)
        self._own = before

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp  # noqa: N815

    # -- calls -----------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        last = node.value
        while isinstance(last, ast.BoolOp):
            last = last.values[-1]
        self._alone = last.value if isinstance(last, ast.Await) else last
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = ast.unparse(node.func) if _dotted(node.func) else ""
        if name in _ANYTHING:
            self._found.more = True
        root, dot, rest = name.partition(".")
        if (magic := magic_of(node, self._made)) in _RUNNING:
            self._magic(magic, [str(getattr(each, "value", "")) for each in node.args[1:]])
        elif goes_out(self._full.get(root, root) + dot + rest, node, self._made):
            self._found.outside[shown(name, node)] = None
        elif isinstance(node.func, ast.Attribute):
            self._method(node, node.func)

    def _magic(self, magic: str, texts: list[str]) -> None:
        """`%time code`, or `%%time` above code: what it runs is read as the code itself is."""
        line, code = [_OPTIONS.sub("", texts[0], count=1) if texts else "", *texts[1:], ""][:2]
        if magic == "capture" and line.isidentifier():
            self._change(line)
        elif magic != "capture":
            code = f"{line}\n{code}"
        try:
            if magic in _TIMING:
                with self._perhaps():
                    self.read(_parsed(code))
            else:
                self.read(_parsed(code))
        except SyntaxError:
            self._found.more = True

    def _method(self, node: ast.Call, method: ast.Attribute) -> None:
        root = _root(method)
        if root is None or root in self._modules:
            return
        inplace = any(each.arg == "inplace" and _is_true(each.value) for each in node.keywords)
        changes = method.attr in _CHANGING and node is self._alone
        if inplace or changes or method.attr in _TAKING:
            self._change(root, sure=inplace and isinstance(method.value, ast.Name))


def _parsed(code: str) -> list[ast.stmt]:
    transformers: Any = TransformerManager
    plain: str = transformers().transform_cell(code)
    return ast.parse(plain).body


def _may_leave(statement: ast.stmt) -> bool:
    """Whether what stands behind it may not be reached, as far as it says so itself."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Raise | ast.Return | ast.Assert):
            return True
        if isinstance(node, ast.Call) and called(node) in _LEAVING:
            return True
        if isinstance(node, ast.While) and _is_endless(node):
            return True
        todo += ast.iter_child_nodes(node)
    return False


def _is_endless(loop: ast.While) -> bool:
    always = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return always and not any(isinstance(each, ast.Break) for each in ast.walk(loop))


def _bound_in(body: ast.ClassDef) -> frozenset[str]:
    """Names of the class, which are none of the person's."""
    found: set[str] = set()
    for each in body.body:
        for node in ast.walk(each):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
    return frozenset(found)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _root(node: ast.expr) -> str | None:
    """The name that items and attributes are taken of; none where a call is between."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _direct(node: ast.Subscript | ast.Attribute) -> bool:
    """`df["x"]`, `df.x`, `df.loc[...]`: what is set there is set in the object itself."""
    inner = node.value
    if isinstance(inner, ast.Attribute) and inner.attr in ("loc", "iloc", "at", "iat"):
        inner = inner.value
    return isinstance(inner, ast.Name)


def _dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
