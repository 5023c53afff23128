"""Following statements in the order in which they run; and the way in."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .binding import Bindings
from .expressions import unrolled
from .schema import HARMLESS, Schema, origin
from .shape import (
    LETTING_THROUGH,
    catches,
    declares,
    expects,
    is_main,
    leaves_early,
    may_leave,
    parameters,
)
from .values import (
    ANY,
    KNOWN,
    PLAIN,
    THEIRS,
    USER,
    Closure,
    Connection,
    Frame,
    Known,
    Module,
    Rows,
    trust,
)
from .verdict import Finding, Verdict
from .world import State, TooMuch

_ROUNDS = 4  # of a loop, until what is known of the tables stays
_DEPTH = 4  # calls within calls that are followed


class Flow(Bindings):
    def __init__(self, schema: Schema, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        super().__init__(schema, len(nodes))
        self._returns: list[list[Known]] = []
        self._calling: list[ast.AST] = []
        self._uncalled: list[Closure] = []
        self._loops = 0
        self._known_names({node.id for node in nodes if isinstance(node, ast.Name)})

    def _known_names(self, names: set[str]) -> None:
        """What the namespace has under the names of the code; one table under two is one."""
        tables: dict[int, Frame] = {}
        scope = self.state.scopes[0]
        for name in sorted(names & self.schema.variables.keys()):
            known = self.schema.table(name)
            if known is None:
                scope[name] = self.schema.value(name) or THEIRS
                continue
            which, table = known
            if which not in tables:
                tables[which] = self.add(table)
            elif table.columns is not None:  # what one of its names hides, none tells
                self.state.tables[tables[which].at] = self.table(tables[which]).hiding(table.hidden)
            scope[name] = tables[which]

    def follow(self, tree: ast.Module) -> Verdict:
        try:
            self.block(tree.body, self.drop_unnamed)
            for closure in list(self._uncalled):
                self.perhaps(closure)
        except (TooMuch, RecursionError):
            pass  # what was found is no less true
        return Verdict(_in_order(self.certain), _in_order(self.doubtful))

    def block(self, statements: list[ast.stmt], between: Callable[[], None] = lambda: None) -> None:
        doubts = 0
        try:
            for statement in statements:
                self.step()
                follow: Callable[[Any], None] | None = getattr(
                    self, f"_{type(statement).__name__.lower()}", None
                )
                if follow is not None:
                    follow(statement)
                else:
                    for child in ast.iter_child_nodes(statement):
                        self.value(child)
                between()
                if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
                    return
                if may_leave(statement):
                    self.doubt += 1
                    doubts += 1
        finally:
            self.doubt -= doubts

    # -- branches and loops --------------------------------------------------------------------

    def _if(self, node: ast.If) -> None:
        self.used(self.value(node.test))
        before = self.state.copy()
        with self.doubted(not is_main(node.test)):
            self.block(node.body)
            then, self.state = self.state, before
            self.block(node.orelse)
        self.join(then)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        source = self.value(node.iter)
        many = unrolled(source) if not self._loops else None
        if many is not None and not node.orelse:
            self._unroll(node, many)
            return
        certain = isinstance(source, Rows) and bool(source.row.table and source.row.table.rows)
        self._again(node.body, lambda: self.bind(node.target, self.element(source)), certain)
        self.block(node.orelse)

    _asyncfor = _for

    def _unroll(self, node: ast.For | ast.AsyncFor, many: tuple[Known, ...]) -> None:
        leaves, ends = leaves_early(node), []
        self._loops += 1
        for at, each in enumerate(many):
            self.bind(node.target, each)
            with self.doubted(leaves and at > 0):
                self.block(node.body)
            if leaves:
                ends.append(self.state.copy())
        self._loops -= 1
        for end in ends:
            self.join(end)
        if leaves:
            self._again(node.body, lambda: self.bind(node.target, ANY), certain=False)

    def _while(self, node: ast.While) -> None:
        self.value(node.test)
        certain = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._again(node.body, lambda: (self.value(node.test), None)[1], certain)
        self.block(node.orelse)

    def _again(self, body: list[ast.stmt], start: Callable[[], None], certain: bool) -> None:
        """A body that runs any number of times: whatever one run does holds in the next."""
        self._loops += 1
        self.muted += 1
        try:
            for _ in range(_ROUNDS):
                before = self.state.copy()
                known = self.known()
                with self.doubted():
                    start()
                    self.block(body)
                self.join(before)
                if self.known() == known:
                    break
            else:
                self.open_all()
        finally:
            self.muted -= 1
        before = self.state.copy()
        with self.doubted(not certain):
            start()
            self.block(body)
        self.join(before)
        self._loops -= 1

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        certain = True
        for item in node.items:
            value = self.value(item.context_expr)
            if trust(value) == USER:
                self.forget()
            # Others may take what is raised.
            certain = certain and trust(value) == KNOWN and self._lets_through(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        with self.doubted(not certain):
            self.block(node.body)

    _asyncwith = _with

    def _lets_through(self, node: ast.expr) -> bool:
        """Whether what is raised inside such a context comes out of it, as far as it is known."""
        made = self.value(node.func) if isinstance(node, ast.Call) else self.value(node)
        if isinstance(made, Connection):
            return True
        return isinstance(made, Module) and made.path.startswith(LETTING_THROUGH)

    def _assert(self, node: ast.Assert) -> None:
        self.value(node.test)
        with self.doubted():  # of the message; then nothing more is reached
            before = self.state.copy()
            self.value(node.msg)
            self.join(before)

    def _try(self, node: ast.Try) -> None:
        before, middle = self.state.copy(), [self.state.copy()]

        def between() -> None:
            ours, self.state = self.state, middle[0]
            self.join(ours.copy())
            middle[0], self.state = self.state, ours

        expected = any(map(expects, node.handlers))
        self.muted += expected
        with self.doubted(any(map(catches, node.handlers))):
            self.block(node.body, between if node.handlers else lambda: None)
            self.muted -= expected
            self.block(node.orelse)
        ends = [self.state]
        for handler in node.handlers:
            self.state = middle[0].copy()
            self.value(handler.type)
            if handler.name:
                self.bind(ast.Name(handler.name), PLAIN)
            with self.doubted():
                self.block(handler.body)
            ends.append(self.state)
        self.state = ends[0]
        for end in ends[1:]:
            self.join(end)
        if node.handlers:
            self.join(before)
        self.block(node.finalbody)

    _trystar = _try

    def _match(self, node: ast.Match) -> None:
        self.value(node.subject)
        before = self.state.copy()
        ends: list[State] = []
        for case in node.cases:
            self.state = before.copy()
            for pattern in ast.walk(case.pattern):
                for name in ("name", "rest"):
                    if isinstance(bound := getattr(pattern, name, None), str):
                        self.bind(ast.Name(bound), THEIRS)
            with self.doubted():
                self.value(case.guard)
                self.block(case.body)
            ends.append(self.state)
        self.state = before
        for end in ends:
            self.join(end)

    # -- functions -----------------------------------------------------------------------------

    def _functiondef(self, node: ast.FunctionDef) -> None:
        for each in (*node.args.defaults, *node.args.kw_defaults, *node.decorator_list):
            self.value(each)
        if node.decorator_list or any(isinstance(n, ast.Nonlocal) for n in ast.walk(node)):
            self.bind(ast.Name(node.name), THEIRS)
            return
        closure = Closure(node, len(self.state.scopes))
        self._uncalled.append(closure)
        self.bind(ast.Name(node.name), closure)

    def _asyncfunctiondef(self, node: ast.AsyncFunctionDef) -> None:
        self.bind(ast.Name(node.name), THEIRS)

    def _classdef(self, node: ast.ClassDef) -> None:
        known = [self.value(each) for each in (*node.bases, *node.decorator_list)]
        if not declares(node) or any(trust(each) == USER for each in known):
            self.lose()
        self.bind(ast.Name(node.name), THEIRS)
        self.attributes_known = False

    def _return(self, node: ast.Return) -> None:
        value = self.value(node.value)
        if self._returns:
            self._returns[-1].append(value)

    def _global(self, node: ast.Global) -> None:
        if self.globals:
            self.globals[-1].update(node.names)

    def call(self, closure: Closure, *given: Known, **named: Known) -> Known:
        node = closure.node
        if closure in self._uncalled:
            self._uncalled.remove(closure)
        if node in self._calling or len(self._calling) >= _DEPTH:
            self.forget()
            return THEIRS
        outer = self.state.scopes
        self.callers.append(outer[closure.depth :])
        self.state.scopes = [*outer[: closure.depth], parameters(node.args, given, named)]
        self._calling.append(node)
        self.globals.append(set())
        self._returns.append([])
        try:
            if isinstance(node, ast.Lambda):
                return self.value(node.body)
            lazily = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in ast.walk(node))
            before = self.state.copy()
            with self.doubted(lazily):
                self.block(node.body)
            if lazily:
                self.join(before)
                return THEIRS
            return self._returned(closure)
        finally:
            self._returns.pop()
            self.callers.pop()
            self.globals.pop()
            self._calling.pop()
            self.state.scopes = [*self.state.scopes[: closure.depth], *outer[closure.depth :]]

    def _returned(self, closure: Closure) -> Known:
        values = self._returns[-1] or [PLAIN]
        result = values[0]
        for each in values[1:]:
            result = self.combined(result, each)
        inner = isinstance(result, Closure) and result.depth > closure.depth
        return THEIRS if inner else result

    # -- imports -------------------------------------------------------------------------------

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            self._imported(alias.name, alias.asname or path, path)

    def _importfrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.lose()
                return
            name = alias.asname or alias.name
            self._imported(node.module or "", name, f"{node.module}.{alias.name}")

    def _imported(self, module: str, name: str, path: str) -> None:
        by = origin(module)
        if module.partition(".")[0] not in HARMLESS and by:
            self.attributes_known = False  # it may add some to the tables' classes
        self.bind(ast.Name(name), Module(by, by == USER, path))


def _in_order(found: dict[tuple[int, str], Finding]) -> tuple[Finding, ...]:
    return tuple(found[key] for key in sorted(found))
