"""What assigning and deleting does to names and tables."""

from __future__ import annotations

import ast

from .expressions import Expressions
from .schema import Schema
from .values import (
    PLAIN,
    THEIRS,
    Bound,
    Column,
    Const,
    Frame,
    Items,
    Known,
    Mapping,
    Mask,
    Module,
    Part,
    Row,
    Value,
    all_strings,
    frames,
    text,
    trust,
)


class Bindings(Expressions):
    def __init__(self, schema: Schema, nodes: int) -> None:
        super().__init__(schema, nodes)
        # Of each function that is being followed, the names it declares to be global.
        self.globals: list[set[str]] = []

    # -- binding -------------------------------------------------------------------------------

    def bind(self, target: ast.AST, value: Known) -> None:
        match target:
            case ast.Name(id=name):
                everywhere = bool(self.globals) and name in self.globals[-1]
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
        elif isinstance(owner, Part) and owner.name.startswith("columns"):
            self.open(owner.of)
        if isinstance(owner, Frame):
            known = all_strings(key)
            if known is not None and (located or not isinstance(node.slice, ast.Tuple)):
                self.gain(owner, known)
            elif not isinstance(key, Mask | Frame) and not _number(key):
                self.open(owner)
        elif isinstance(owner, Items | Mapping):
            self.spoil(owner)
        elif isinstance(owner, Row | Bound | Column):
            self.unsettle()
        elif isinstance(owner, Module) and "get_ipython" in owner.path:
            self.lose()  # its `user_ns`
        elif isinstance(owner, Value) and owner.frames and not isinstance(owner, Part):
            self.loosen()
            self.unsettle()
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
                self.reindexed()
            case Frame():
                self.gain(owner, [name])
            case Part():
                if owner.name.startswith("index"):
                    self.reindexed()
                elif owner.name.startswith("_"):
                    self.attributes_known = False
            case Module():
                self.attributes_known &= "options" in owner.path
            case Row() | Column() | Bound():
                self.reindexed()
            case Value(frames=True):
                self.attributes_known = False
                self.reindexed()
                if name == "columns":
                    self.open_all()
                elif name not in ("name", "names", "index"):
                    self.gain_all(name)
            case Value():
                self.reindexed()

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


def _number(value: Known) -> bool:
    return isinstance(value, Const) and isinstance(value.value, int | float)
