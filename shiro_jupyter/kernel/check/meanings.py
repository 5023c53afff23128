"""What names stand for, as far as the text of cells tells: modules, paths, texts, databases."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

_SAME_PATHS = {"sorted", "list", "tuple", "reversed", "set", "iter", "next", "enumerate"}
_SAME_TEXT = {"text", "dedent", "strip", "format", "SQL"}
_DATABASES = {"sqlite3", "duckdb", "sqlalchemy", "aiosqlite", "psycopg", "psycopg2", "pymysql"}
_DATABASES |= {"mysql", "oracledb", "pyodbc", "ibis", "adbc_driver_sqlite", "snowflake"}
_IN_MEMORY = {":memory:", "sqlite://", "sqlite:///:memory:", "duckdb:///:memory:"}


@dataclass
class Meanings:
    """Grows from cell to cell. `imported`: the full name of what a name was imported as;
    `connected`: whether each database that is connected to is one in memory."""

    imported: dict[str, str] = field(default_factory=dict)
    paths: set[str] = field(default_factory=set)
    texts: dict[str, str] = field(default_factory=dict)
    connected: list[bool] = field(default_factory=list)

    def learn(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            match node:
                case ast.Import():
                    for alias in node.names:
                        first = alias.name.partition(".")[0]
                        self.imported[alias.asname or first] = alias.name if alias.asname else first
                case ast.ImportFrom(module=str(module)):
                    for alias in node.names:
                        self.imported[alias.asname or alias.name] = f"{module}.{alias.name}"
                case ast.arg(arg=name, annotation=ast.expr() as kind):
                    if dotted(kind).rpartition(".")[2] == "Path":
                        self.paths.add(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._bind(name, value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._bind(name, value)
                case ast.For(target=ast.Name(id=name), iter=values):
                    self._bind(name, values)
                case ast.comprehension(target=ast.Name(id=name), iter=values):
                    self._bind(name, values)
                case ast.withitem(context_expr=value, optional_vars=ast.Name(id=name)):
                    self._bind(name, value)
                case ast.Call():
                    self._connect(node)

    def full(self, called: str) -> str:
        first, _, rest = called.partition(".")
        return ".".join(filter(None, (self.imported.get(first, first), rest)))

    def is_path(self, node: ast.expr) -> bool:
        """Whether it is a `Path`, or begins with one."""
        match node:
            case ast.Name(id=name):
                return name in self.paths
            case ast.Call(func=func, args=args):
                called = self.full(dotted(func)).rpartition(".")[2]
                if called in _SAME_PATHS and isinstance(func, ast.Name):
                    return bool(args) and self.is_path(args[0])
                return called == "Path" or self.is_path(func)
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                return dotted(node) in ("Path.cwd", "Path.home") or self.is_path(value)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self.is_path(left) or self.is_path(right)
        return False

    def text(self, node: ast.expr) -> str:
        """What is known of a text."""
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.JoinedStr(values=values):
                return "".join(self.text(each) or "x" for each in values)
            case ast.Name(id=name):
                return self.texts.get(name, "")
            case ast.BinOp(left=left, op=ast.Add() | ast.Mod(), right=right):
                return self.text(left) + self.text(right)
            case ast.Call(func=ast.Attribute(value=value, attr=attr), args=[]) if (
                attr in _SAME_TEXT
            ):
                return self.text(value)
            case ast.Call(func=ast.Attribute(value=value, attr="format")):
                return self.text(value)
            case ast.Call(func=func, args=[arg]):
                return self.text(arg) if dotted(func).rpartition(".")[2] in _SAME_TEXT else ""
        return ""

    def in_memory(self, full: str) -> bool:
        """Whether what is called by this full name can only change a database in memory."""
        return full.startswith("duckdb.") or (bool(self.connected) and all(self.connected))

    def _bind(self, name: str, value: ast.expr) -> None:
        if self.is_path(value):
            self.paths.add(name)
        if text := self.text(value):
            self.texts[name] = text

    def _connect(self, node: ast.Call) -> None:
        full = self.full(dotted(node.func))
        root, last = full.partition(".")[0], full.rpartition(".")[2]
        if root in _DATABASES and last in ("connect", "create_engine", "create_async_engine"):
            named = [*node.args, *(each.value for each in node.keywords if each.arg == "database")]
            of_memory = self.text(named[0]) in _IN_MEMORY if named else root == "duckdb"
            self.connected.append(of_memory)


def dotted(node: ast.expr) -> str:
    """`a.b.c`; what is called of another value than a name begins with a dot."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value)}.{attr}"
    return ""
