"""Which cell fails in a fresh run and on what name, from the text alone.

A name is told only where its read is certain to happen and nothing before it may have bound it:
branches, loops that may be empty, what an error handler may catch and what only runs when called
are passed over, and behind anything that binds names nobody sees (`exec`, `import *`, `%run`)
nothing is told any more.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from .cells import FAILS, SKIPPED, CodeCell
from .known import (
    BODIES,
    EXITS,
    EXTENSIONS,
    HARMLESS,
    HIDING_ATTRIBUTES,
    HIDING_NAMES,
    NAMES,
    OWN,
    PLAIN_MANAGERS,
)
from .source import Magic, bound_in, magic_of, read

_HIDING_IMPORTS = HIDING_NAMES | HIDING_ATTRIBUTES | {"*"}
_DEPTH = 8  # calls into calls that are followed


@dataclass(frozen=True)
class Missing:
    """`name` is read in this cell before anything binds it; without a name the cell is no Python,
    and `why` says so."""

    cell: CodeCell
    name: str
    why: str = ""

    @property
    def said(self) -> str:
        return f"{self.cell.name} fails: " + (self.why or f"name {self.name!r} is not defined")


def forecast(cells: Sequence[CodeCell]) -> list[Missing]:
    """What is missing in a run from top to bottom, each name once; the first one ends that run."""
    reader = _Reader(set(NAMES))
    for cell in cells:
        if SKIPPED not in cell.tags:
            reader.cell(cell)
        if reader.opaque:
            break
    return reader.missing


@dataclass
class _Reader:
    """Walks statements in the order they run in. `bound` are names that may be there."""

    bound: set[str]
    missing: list[Missing] = field(default_factory=list)
    opaque: bool = False
    _functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    _kept: set[str] = field(default_factory=set)  # a call may bind them again
    _calls: list[str] = field(default_factory=list)
    _local: list[Collection[str]] = field(default_factory=list)
    _cell: CodeCell | None = None

    def cell(self, cell: CodeCell) -> None:
        self._cell = cell
        code = read(cell.source)
        if code.tree is None and not code.bare:
            if not code.fault:
                self.opaque = True
            elif len(cell.source.strip().splitlines()) > 1:  # IPython may know what one line is
                self.missing.append(Missing(cell, "", code.fault))
            return
        if any(map(_hides, code.magics)):
            self.opaque = True
        if code.tree is None or code.bare:
            return
        self._kept.update(
            name
            for node in ast.walk(code.tree)
            if isinstance(node, ast.Global)
            for name in node.names
        )
        self.bound |= self._kept
        if FAILS in cell.tags:
            self._bind(*bound_in(code.tree))
        else:
            self._block(code.tree.body, True)
        if any(map(_may_exit, code.tree.body)):
            self.opaque = True

    # -- statements --------------------------------------------------------------------------

    def _block(self, body: Iterable[ast.stmt], sure: bool) -> None:
        for statement in body:
            self._statement(statement, sure)
            sure = sure and not _leaves(statement)

    def _statement(self, node: ast.stmt, sure: bool) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, sure)
            case ast.ClassDef():
                self._class(node, sure)
            case ast.For() | ast.AsyncFor():
                self._expression(node.iter, sure)
                self._target(node.target, sure)
                self._block(node.body, sure and _holds_some(node.iter))
                self._block(node.orelse, False)
            case ast.While():
                self._expression(node.test, sure)
                self._block([*node.body, *node.orelse], False)
            case ast.If():
                self._expression(node.test, sure)
                self._block(node.body, sure and ast.unparse(node.test) == "__name__ == '__main__'")
                self._block(node.orelse, False)
            case ast.Try() | ast.TryStar():
                self._try(node, sure)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._expression(item.context_expr, sure)
                    self._target(item.optional_vars, sure)
                plain = all(_is_plain(item.context_expr) for item in node.items)
                self._block(node.body, sure and plain)
            case ast.Match():
                self._expression(node.subject, sure)
                self._bind(*bound_in(node))
                for case in node.cases:
                    self._block(case.body, False)
            case ast.Delete():
                for target in node.targets:
                    self._delete(target, sure)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                self._assign(node, sure)
            case ast.Import() | ast.ImportFrom():
                whole = isinstance(node, ast.ImportFrom) and node.module in HIDING_NAMES
                if whole or any(alias.name in _HIDING_IMPORTS for alias in node.names):
                    self.opaque = True
                self._bind(*bound_in(node))
            case ast.Assert():
                self._expression(node.test, sure)
            case ast.Expr() | ast.Return() | ast.Raise():
                for child in ast.iter_child_nodes(node):
                    self._expression(child, sure)
            case _:
                self._bind(*bound_in(node))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, sure: bool) -> None:
        arguments = node.args
        for each in chain(node.decorator_list, arguments.defaults, arguments.kw_defaults):
            self._expression(each, sure)
        self._seen_within(node)
        self._bind(node.name)
        plain = isinstance(node, ast.FunctionDef) and not node.decorator_list
        if sure and plain and not self._local and not _is_generator(node):
            assert isinstance(node, ast.FunctionDef)
            self._functions[node.name] = node

    def _class(self, node: ast.ClassDef, sure: bool) -> None:
        for each in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self._expression(each, sure)
        before, functions = set(self.bound), dict(self._functions)
        self._local.append(frozenset())  # its functions are none of the notebook's
        self._block(node.body, sure)
        self._local.pop()
        self.bound, self._functions = before, functions
        self._bind(node.name)

    def _try(self, node: ast.Try | ast.TryStar, sure: bool) -> None:
        caught = sure and not node.handlers
        self._block(node.body, caught)
        for handler in node.handlers:
            self._bind(*([handler.name] if handler.name else ()))
            self._block(handler.body, False)
        self._block(node.orelse, caught)
        self._block(node.finalbody, sure)

    def _assign(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign, sure: bool) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._name(node.target.id, sure)
        self._expression(node.value, sure)
        for target in targets:
            self._target(target, sure)

    def _target(self, node: ast.expr | None, sure: bool) -> None:
        match node:
            case None:
                pass
            case ast.Name():
                self._bind(node.id)
            case ast.Tuple() | ast.List():
                for each in node.elts:
                    self._target(each, sure)
            case ast.Starred():
                self._target(node.value, sure)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._expression(child, sure)

    def _delete(self, node: ast.expr, sure: bool) -> None:
        if not isinstance(node, ast.Name):
            return self._target(node, sure)
        self._name(node.id, sure)
        self._functions.pop(node.id, None)
        if sure and not self._local and node.id not in self._kept | NAMES:
            self.bound.discard(node.id)
        return None

    # -- expressions -------------------------------------------------------------------------

    def _expression(self, node: ast.AST | None, sure: bool) -> None:
        match node:
            case None | ast.Store() | ast.Load():
                return
            case ast.Name():
                self._name(node.id, sure)
            case ast.Lambda():
                for each in (*node.args.defaults, *node.args.kw_defaults):
                    self._expression(each, sure)
                self._seen_within(node.body)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._expression(node.generators[0].iter, sure)
                self._seen_within(node)
                self._bind(*bound_in(ast.Expr(node)))
            case ast.BoolOp(values=[first, *rest]):
                self._expression(first, sure)
                self._maybe(*rest)
            case ast.IfExp():
                self._expression(node.test, sure)
                self._maybe(node.body, node.orelse)
            case ast.Compare(left=left, comparators=[first, *rest]):
                self._expression(left, sure)
                self._expression(first, sure)
                self._maybe(*rest)
            case ast.NamedExpr():
                self._expression(node.value, sure)
                self._bind(node.target.id)
            case ast.Call():
                self._call(node, sure)
            case _:
                if isinstance(node, ast.Attribute) and node.attr in HIDING_ATTRIBUTES:
                    self.opaque = True
                for child in ast.iter_child_nodes(node):
                    self._expression(child, sure)

    def _maybe(self, *nodes: ast.expr) -> None:
        for node in nodes:
            self._expression(node, False)

    def _call(self, node: ast.Call, sure: bool) -> None:
        magic = magic_of(node)
        if magic:
            if magic.name in BODIES and (tree := read(magic.body or magic.line).tree):
                self._bind(*bound_in(tree))
            return
        for child in ast.iter_child_nodes(node):
            self._expression(child, sure)
        if _makes_symbols(node):
            self.opaque = True
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        function = self._functions.get(called)
        hidden = any(called in names for names in self._local)
        if not sure or function is None or hidden:
            return
        if called in self._calls or len(self._calls) >= _DEPTH:
            return
        arguments = function.args
        given = chain(arguments.posonlyargs, arguments.args, arguments.kwonlyargs)
        names = {each.arg for each in given} | set(_bound_by(function))
        names |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each}
        outer, self._local = self._local, [names - self._kept]
        self._calls.append(called)
        self._block(function.body, True)
        self._calls.pop()
        self._local = outer

    # -- names -------------------------------------------------------------------------------

    def _name(self, name: str, sure: bool) -> None:
        if name in HIDING_NAMES:
            self.opaque = True
        if not sure or self.opaque or name in self.bound or OWN.fullmatch(name):
            return
        if any(name in names for names in self._local):
            return
        assert self._cell is not None
        self.missing.append(Missing(self._cell, name))
        self.bound.add(name)

    def _bind(self, *names: str) -> None:
        for name in names:
            if any(name in local for local in self._local):
                continue
            self.bound.add(name)
            self._functions.pop(name, None)

    def _seen_within(self, node: ast.AST) -> None:
        """What binds unseen may do so from within a function, too."""
        for each in ast.walk(node):
            name = getattr(each, "id", None) if isinstance(each, ast.Name) else None
            attribute = each.attr if isinstance(each, ast.Attribute) else None
            if name in HIDING_NAMES or attribute in HIDING_ATTRIBUTES:
                self.opaque = True


def _hides(magic: Magic) -> bool:
    """Whether it may bind names that its text does not tell."""
    words = magic.line.split()
    if magic.name not in HARMLESS:
        return True
    if magic.name in ("load_ext", "reload_ext"):
        return not all(word in EXTENSIONS for word in words)
    if magic.name == "store":
        return "-r" in words
    return magic.body is not None and any(each.startswith(("--out", "--err")) for each in words)


def _makes_symbols(node: ast.Call) -> bool:
    """sympy's `var("x y")`, which binds what its text names."""
    match node:
        case ast.Call(
            func=ast.Name(id="var") | ast.Attribute(attr="var"),
            args=[ast.Constant(value=str()), *_],
        ):
            return True
        case ast.Call(func=ast.Attribute(ast.Name("sympy" | "sp" | "sym"), "var")):
            return True
    return False


def _bound_by(function: ast.FunctionDef) -> Iterable[str]:
    for statement in function.body:
        yield from bound_in(statement)


def _own_nodes(node: ast.AST) -> Iterable[ast.AST]:
    """All of a statement but the functions and classes in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _own_nodes(child)


def _is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        isinstance(each, ast.Yield | ast.YieldFrom)
        for statement in node.body
        for each in _own_nodes(statement)
    )


def _leaves(statement: ast.stmt) -> bool:
    """Whether what follows may not be reached."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    ways = ast.Return | ast.Raise | ast.Break | ast.Continue
    return any(isinstance(each, ways) or _exits(each) for each in _own_nodes(statement))


def _may_exit(statement: ast.stmt) -> bool:
    """Whether a fresh run may end here without an error of a name."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return isinstance(statement, ast.Raise) or any(map(_exits, _own_nodes(statement)))


def _exits(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in EXITS
    return False


def _holds_some(node: ast.expr) -> bool:
    """Whether a loop over it runs at least once."""
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
            return any(not isinstance(each, ast.Starred) for each in elts)
        case ast.Constant(value=str(text)):
            return bool(text)
        case ast.Call(func=ast.Name("range"), args=[ast.Constant(value=int(number))]):
            return number > 0
    return False


def _is_plain(node: ast.expr) -> bool:
    """Whether a context manager is known to let errors pass."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in PLAIN_MANAGERS
    return False
