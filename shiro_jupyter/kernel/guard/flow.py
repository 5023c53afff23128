"""Following statements in the order in which they run; and the way in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ...core.policy.names import named as words
from .expressions import Expressions, unrolled
from .schema import HARMLESS, Schema, origin
from .values import (
    ANY,
    PLAIN,
    THEIRS,
    USER,
    Closure,
    Const,
    Frame,
    Items,
    Known,
    Mapping,
    Mask,
    Module,
    Part,
    Rows,
    Value,
    all_strings,
    frames,
    text,
    trust,
)
from .verdict import Finding, Verdict
from .world import State, TooMuch

_DEPTH = 4  # calls within calls that are followed
# Errors that a handler may name without catching what a missing column raises.
_OTHER_ERRORS = words("""
    ImportError ModuleNotFoundError FileNotFoundError OSError IOError ZeroDivisionError
    KeyboardInterrupt StopIteration PermissionError TimeoutError ConnectionError
    UnicodeDecodeError json.JSONDecodeError OverflowError MemoryError NotImplementedError
""")
_HELD = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Flow(Expressions):
    def __init__(self, schema: Schema, tree: ast.Module) -> None:
        nodes = list(ast.walk(tree))
        super().__init__(schema, len(nodes))
        self._returns: list[list[Known]] = []
        self._calling: list[ast.AST] = []
        self._uncalled: list[Closure] = []
        self._globals: list[set[str]] = []
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
            scope[name] = tables[which]

    def follow(self, tree: ast.Module) -> Verdict:
        try:
            self.block(tree.body)
            for closure in self._uncalled:
                with self.doubted():
                    self.call(closure)
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
                if _may_leave(statement):
                    self.doubt += 1
                    doubts += 1
        finally:
            self.doubt -= doubts

    # -- binding -------------------------------------------------------------------------------

    def bind(self, target: ast.AST, value: Known) -> None:
        match target:
            case ast.Name(id=name):
                everywhere = bool(self._globals) and name in self._globals[-1]
                self.state.scopes[0 if everywhere else -1][name] = value
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value)
            case ast.Starred(value=inner):
                self.bind(inner, Value(trust(value), frames(value)))
            case ast.Subscript():
                self._store_item(self.value(target.value), self.value(target.slice), target, value)
            case ast.Attribute():
                self._store_attribute(self.value(target.value), target.attr, value)

    def _unpack(self, targets: list[ast.expr], value: Known) -> None:
        values = value.values if isinstance(value, Items) else None
        starred = any(isinstance(each, ast.Starred) for each in targets)
        if values is None or starred or len(values) != len(targets):
            element = self.element(value)
            values = (element,) * len(targets)
        for target, each in zip(targets, values, strict=True):
            self.bind(target, each)

    def _store_item(self, owner: Known, key: Known, node: ast.Subscript, value: Known) -> None:
        located = isinstance(owner, Part) and owner.name in ("loc", "at")
        if isinstance(owner, Part) and located:
            whole = isinstance(node.slice, ast.Tuple) and isinstance(key, Items)
            both = key.values if whole and isinstance(key, Items) else None
            if both is None or len(both) != 2:
                return  # rows
            owner, key = owner.of, both[1]
        if isinstance(owner, Frame):
            known = all_strings(key)
            if known is not None and (located or not isinstance(node.slice, ast.Tuple)):
                self.gain(owner, known)
            elif not isinstance(key, Mask | Frame) and not _number(key):
                self.open(owner)
        elif isinstance(owner, Items | Mapping):
            self.spoil(owner)
        elif isinstance(owner, Value) and owner.frames and not isinstance(owner, Part):
            self.loosen()
            if (name := text(key)) is not None:
                self.gain_all(name)
            elif not isinstance(key, Mask) and not _number(key):
                self.open_all()

    def _store_attribute(self, owner: Known, name: str, value: Known) -> None:
        match owner:
            case Frame() if name == "columns":
                names, table = all_strings(value), self.table(owner)
                self.put(owner, table.opened() if names is None else table.made().only(*names))
            case Frame() if name == "index":
                self._reindexed(owner)
            case Frame():
                self.gain(owner, [name])
            case Part(of=frame):
                if owner.name.startswith("index"):
                    self._reindexed(frame)
            case Module():
                self.attributes_known = False
            case Value(frames=True):
                self.attributes_known = False
                if name == "columns":
                    self.open_all()
                elif name in ("name", "names", "index"):
                    for at in self.state.tables:
                        self._reindexed(Frame(at=at))
                else:
                    self.gain_all(name)

    def _reindexed(self, frame: Frame) -> None:
        table = self.table(frame)
        self.put(frame, type(table)(table.kind, table.columns, None, False, table.hidden))

    # -- assignments ---------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def _augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            old = self.name(node.target.id)
            operation = ast.BinOp(node.target, node.op, node.value)
            made = self.value(ast.copy_location(operation, node))
            self.spoil(old)
            if isinstance(old, Frame):
                return  # in place
            self.bind(node.target, made)
            return
        self.value(node.value)
        self.value(node.target)
        self.bind(node.target, PLAIN)

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            match target:
                case ast.Name(id=name):
                    for scope in self.state.scopes:
                        scope.pop(name, None)
                    self.state.scopes[-1][name] = THEIRS
                case ast.Subscript():
                    owner, key = self.value(target.value), self.value(target.slice)
                    if isinstance(owner, Frame) and (key_name := text(key)):
                        self.uses(owner, [key_name], target, where=target.value)
                        self.put(owner, self.table(owner).minus(key_name))
                    elif isinstance(owner, Items | Mapping):
                        self.spoil(owner)
                case _:
                    self.value(target)

    # -- branches and loops --------------------------------------------------------------------

    def _if(self, node: ast.If) -> None:
        self.value(node.test)
        before = self.state.copy()
        with self.doubted(not _is_main(node.test)):
            self.block(node.body)
            then, self.state = self.state, before
            self.block(node.orelse)
        self.join(then)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        source = self.value(node.iter)
        many = unrolled(source) if not self._loops else None
        if many is not None and not node.orelse:
            leaves = any(isinstance(each, ast.Break) for each in ast.walk(node))
            self._loops += 1
            for at, each in enumerate(many):
                self.bind(node.target, each)
                with self.doubted(leaves and at > 0):
                    self.block(node.body)
            self._loops -= 1
            if leaves:
                self._again(node.body, lambda: self.bind(node.target, ANY), certain=False)
            return
        certain = isinstance(source, Rows) and bool(source.row.table and source.row.table.rows)
        self._again(node.body, lambda: self.bind(node.target, self.element(source)), certain)
        self.block(node.orelse)

    _asyncfor = _for

    def _while(self, node: ast.While) -> None:
        self.value(node.test)
        certain = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._again(node.body, lambda: (self.value(node.test), None)[1], certain)
        self.block(node.orelse)

    def _again(self, body: list[ast.stmt], start: Callable[[], None], certain: bool) -> None:
        """A body that runs any number of times: whatever one run does holds in the next."""
        before = self.state.copy()
        self._loops += 1
        self.muted += 1
        try:
            with self.doubted():
                start()
                self.block(body)
        finally:
            self.muted -= 1
        self.join(before)
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
            certain = certain and trust(value) != USER
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        with self.doubted(not certain):
            self.block(node.body)

    _asyncwith = _with

    def _try(self, node: ast.Try) -> None:
        before, middle = self.state.copy(), [self.state.copy()]

        def between() -> None:
            ours, self.state = self.state, middle[0]
            self.join(ours.copy())
            middle[0], self.state = self.state, ours

        expected = any(map(_expects, node.handlers))
        self.muted += expected
        with self.doubted(any(map(_catches, node.handlers))):
            self.block(node.body, between if node.handlers else lambda: None)
            self.muted -= expected
            self.block(node.orelse)
        ends = [self.state]
        for handler in node.handlers:
            self.state = middle[0].copy()
            self.value(handler.type)
            if handler.name:
                self.state.scopes[-1][handler.name] = PLAIN
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
                        self.state.scopes[-1][bound] = THEIRS
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
            self.state.scopes[-1][node.name] = THEIRS
            return
        closure = Closure(node, len(self.state.scopes))
        self._uncalled.append(closure)
        self.bind(ast.Name(node.name), closure)

    def _asyncfunctiondef(self, node: ast.AsyncFunctionDef) -> None:
        self.state.scopes[-1][node.name] = THEIRS

    def _classdef(self, node: ast.ClassDef) -> None:
        for each in (*node.bases, *node.decorator_list):
            self.value(each)
        self.state.scopes[-1][node.name] = THEIRS
        self.attributes_known = False

    def _return(self, node: ast.Return) -> None:
        value = self.value(node.value)
        if self._returns:
            self._returns[-1].append(value)

    def _global(self, node: ast.Global) -> None:
        if self._globals:
            self._globals[-1].update(node.names)

    def call(self, closure: Closure, *given: Known, **named: Known) -> Known:
        node = closure.node
        if closure in self._uncalled:
            self._uncalled.remove(closure)
        if node in self._calling or len(self._calling) >= _DEPTH:
            self.forget()
            return THEIRS
        outer = self.state.scopes
        self.state.scopes = [*outer[: closure.depth], _parameters(node.args, given, named)]
        self._calling.append(node)
        self._globals.append(set())
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
            self._globals.pop()
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


def _parameters(
    args: ast.arguments, given: tuple[Known, ...], named: dict[str, Known]
) -> dict[str, Known]:
    places = [*args.posonlyargs, *args.args]
    scope: dict[str, Known] = {}
    constants = dict(zip([each.arg for each in places[::-1]], args.defaults[::-1], strict=False))
    constants |= {a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d}
    for each in (*places, *args.kwonlyargs):
        default = constants.get(each.arg)
        scope[each.arg] = Const(value=default.value) if isinstance(default, ast.Constant) else ANY
    for each, value in zip(places, given, strict=False):
        scope[each.arg] = value
    scope |= {name: value for name, value in named.items() if name in scope}
    for rest in (args.vararg, args.kwarg):
        if rest is not None:
            scope[rest.arg] = ANY
    return scope


def _may_leave(statement: ast.stmt) -> bool:
    """Whether what follows it may not be reached though nothing fails."""
    return not isinstance(statement, _HELD) and any(_leaving(statement, False))


def _leaving(node: ast.AST, looped: bool) -> Iterator[bool]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _HELD):
            continue
        if isinstance(child, ast.Return | ast.Raise):
            yield True
        elif isinstance(child, ast.Break | ast.Continue):
            yield not (looped or isinstance(node, ast.For | ast.While | ast.AsyncFor))
        elif isinstance(child, ast.Call) and ast.unparse(child.func) in (
            "exit",
            "quit",
            "sys.exit",
        ):
            yield True
        else:
            yield from _leaving(
                child, looped or isinstance(node, ast.For | ast.While | ast.AsyncFor)
            )


def _catches(handler: ast.ExceptHandler) -> bool:
    """Whether it may catch what a missing column raises."""
    if handler.type is None:
        return True
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(ast.unparse(each) not in _OTHER_ERRORS for each in named)


def _expects(handler: ast.ExceptHandler) -> bool:
    """Whether it is there for a missing column."""
    said = "" if handler.type is None else ast.unparse(handler.type)
    return any(each in said for each in ("KeyError", "LookupError", "AttributeError", "NotFound"))


def _is_main(test: ast.expr) -> bool:
    return ast.unparse(test) == "__name__ == '__main__'"


def _number(value: Known) -> bool:
    return isinstance(value, Const) and isinstance(value.value, int | float)


def _in_order(found: dict[tuple[int, str], Finding]) -> tuple[Finding, ...]:
    return tuple(found[key] for key in sorted(found))
