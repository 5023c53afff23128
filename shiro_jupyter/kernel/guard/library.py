"""Following calls of functions of builtins, pandas, polars and others, by their path."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...core.policy.names import named as words
from .methods import Call
from .pandas_groups import named_aggregation
from .pandas_methods import PANDAS
from .polars_expressions import is_expression, made_by
from .sql import check_polars, check_query
from .values import (
    ANY,
    KNOWN,
    LIBRARY,
    PLAIN,
    THEIRS,
    USER,
    Column,
    Connection,
    Const,
    Expr,
    Frame,
    Items,
    Known,
    Mapping,
    Module,
    Part,
    Table,
    Value,
    all_strings,
    frames,
    parts,
    text,
    trust,
)
from .world import World

# Functions of pandas that take the table first and are methods otherwise.
_METHODS = frozenset({"merge", "melt", "pivot", "pivot_table"})
_COLUMNS = frozenset(
    {"to_numeric", "to_datetime", "to_timedelta", "cut", "qcut", "Series", "Categorical"}
)
# Builtins that call what they are given.
_CALLING = frozenset({"map", "filter", "sorted", "min", "max", "iter", "callable"})
_MAGICS = frozenset({"matplotlib", "config", "precision", "autosave", "pip", "conda", "time_ns"})


def of_library(world: World, module: Module, call: Call) -> Known:
    root, _, name = module.path.partition(".")
    given = [*call.args, *call.named.values()]
    _, shell, of_shell = module.path.partition("get_ipython")
    if shell:
        return _ipython(world, of_shell, call)
    match root:
        case "builtins" if "." not in name:
            return _builtin(world, name, call)
        case "builtins" if not name.startswith(("str.", "int.", "float.")):
            world.exposed([part for each in given for part in parts(each)], LIBRARY)
            return ANY
        case "IPython" if not name.startswith("display."):
            world.lose()
            return ANY
        case "pandas" if not call.starred:
            made = _pandas(world, name, call)
        case "polars":
            made = _polars(world, name, call)
        case "duckdb":
            made = _duckdb(world, name, call)
        case _:
            made = None
    if made is not None:
        return made
    if "register" in name or "extensions" in name:
        world.attributes_known = False
    # A method that is called on its class may change its first argument.
    unbound = root in ("pandas", "polars") and "." in name and name[:1].isupper()
    by = max(module.trust, LIBRARY) if unbound else module.trust
    world.exposed([part for each in given for part in parts(each)], by)
    if by == USER or (name.rpartition(".")[2] in ("apply", "map", "pipe") and _theirs(given)):
        world.forget()
    return Value(max([by, *map(trust, given)]), any(map(frames, given)))


def _theirs(given: list[Known]) -> bool:
    return any(trust(each) == USER for each in given)


# -- builtins and IPython --------------------------------------------------------------------------


def _builtin(world: World, name: str, call: Call) -> Known:
    given = [*call.args, *call.named.values()]
    first = call.args[0] if call.args else PLAIN
    if name in ("exec", "eval", "globals", "locals", "vars", "__import__", "compile"):
        world.lose()
        return THEIRS
    if name in ("getattr", "hasattr", "setattr", "delattr"):
        return _attribute(world, name, call)
    world.used(*given)  # shown, counted, gone through
    world.exposed([part for each in given for part in parts(each)], KNOWN)
    if name in _CALLING and _theirs(given):
        world.forget()
    if name in ("list", "tuple", "set", "sorted", "frozenset"):
        if isinstance(first, Items) and first.values is not None:
            return Items(first.values)
        if isinstance(first, Mapping) and first.pairs is not None:
            return Items(tuple(key for key, _ in first.pairs))
        if isinstance(first, Frame):
            return Part(of=first, name="columns")
        if isinstance(first, Part):
            return first
    if name in ("enumerate", "zip") and (made := _paired(name, call.args)) is not None:
        return made
    if name == "dict" and not call.args:
        return Mapping(tuple((Const(value=key), value) for key, value in call.named.items()))
    if name == "dict" and isinstance(first, Mapping) and first.pairs is not None and not call.named:
        return Mapping(first.pairs)
    if name in ("exit", "quit"):
        world.doubt += 1  # nothing after it is reached
    return Value(max(map(trust, given), default=KNOWN), any(map(frames, given)))


def _paired(name: str, args: list[Known]) -> Known | None:
    many = [each.values for each in args if isinstance(each, Items) and each.values is not None]
    if len(many) != len(args) or not many:
        return None
    if name == "enumerate":
        return Items(tuple(Items((Const(value=at), each)) for at, each in enumerate(many[0])))
    return Items(tuple(Items(each) for each in zip(*many, strict=False)))


def _attribute(world: World, name: str, call: Call) -> Known:
    frame, called = call.given(0, "obj"), text(call.given(1, "name"))
    if name in ("setattr", "delattr"):
        world.attributes_known = False
        world.reindexed()
        if isinstance(frame, Frame):
            world.open(frame)
        elif frame is not None and frames(frame):
            world.open_all()
        return PLAIN
    if called is not None and (name == "hasattr" or len(call.args) > 2):
        world.asked.add(called)
    if name == "hasattr" or frame is None:
        return PLAIN
    if isinstance(frame, Frame):  # it may be any method of it
        return Part(of=frame, name="__getattr__")
    if isinstance(frame, Module) and called is not None:
        return replace(frame, path=f"{frame.path}.{called}")
    return ANY if trust(frame) == KNOWN and not frames(frame) else THEIRS


def _ipython(world: World, name: str, call: Call) -> Known:
    if name == "":
        return Module(path="get_ipython")
    line = text(call.args[0]) if call.args else None
    if name in (".system", ".getoutput"):
        return PLAIN
    if not (name == ".run_line_magic" and line in _MAGICS):
        world.lose()
    return PLAIN


# -- pandas ------------------------------------------------------------------------------------


def _pandas(world: World, name: str, call: Call) -> Known | None:
    first = call.args[0] if call.args else None
    if name in _METHODS:
        table = first or call.named.pop("left", None) or call.named.pop("frame", None)
        table = table or call.named.pop("data", None)
        if not isinstance(table, Frame):
            return world.add(Table())
        on = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else None
        inner = Call(world, call.node, table, call.args[1:], call.named, on=on, skipped=1)
        does = PANDAS[name]
        does.check(inner)
        return ANY if isinstance(does.makes, str) else does.makes(inner)
    if name == "eval" and isinstance(target := call.named.get("target"), Frame):
        world.open(target)
    if name == "concat":
        return _concat(world, call)
    if name == "DataFrame":
        return world.add(_literal_table(world, call, "pandas"))
    if name == "NamedAgg":
        return named_aggregation(call)
    if name in ("read_sql", "read_sql_query"):
        if isinstance(connection := call.given(1, "con"), Connection):
            check_query(world, text(call.given(0, "sql")), call.node, connection)
        return world.add(Table())
    if name == "get_dummies":
        if isinstance(first, Frame):
            call.frame, call.on = (
                first,
                call.node.args[0] if isinstance(call.node, ast.Call) else None,
            )
            call.uses(call.named.get("columns"))
        return world.add(Table())
    if name in _COLUMNS:
        world.exposed([part for each in call.args for part in parts(each)], KNOWN)
        return (
            Column(name=first.name, levels=first.levels) if isinstance(first, Column) else Column()
        )
    if name in ("read_csv", "read_parquet", "json_normalize", "crosstab"):
        return world.add(Table())
    return None


def _concat(world: World, call: Call) -> Known:
    tables = call.args[0] if call.args else call.named.get("objs")
    kind = "pandas"
    found: list[Table] = []
    for each in (tables.values or ()) if isinstance(tables, Items) else ():
        if not isinstance(each, Frame):
            return world.add(Table(kind))
        found.append(world.table(each))
    if not found or {"keys", "names"} & call.named.keys() or any(t.columns is None for t in found):
        return world.add(Table(kind))
    made = found[0]
    for table in found[1:]:
        made = made.joined(table)
    made = made.made()
    return world.add(made)


def _literal_table(world: World, call: Call, kind: str) -> Table:
    """`DataFrame({…})`, or with `columns=[…]`."""
    data, pandas = call.given(0, "data"), kind == "pandas"
    columns = call.given(2, "columns") if pandas else call.given(1, "schema")
    known = all_strings(columns)
    if columns is None and isinstance(data, Mapping):
        known = all_strings(data)
    if known is None or call.starred or isinstance(data, Frame):
        return Table(kind)
    # Series bring their labels along.
    cellwise = isinstance(data, Items) or (
        (pairs := _pairs(data)) and all(isinstance(cells, Items | Const) for _, cells in pairs)
    )
    plain = bool(cellwise) and (not pandas or call.given(1, "index") is None)
    cells = [v.values for _, v in pairs if isinstance(v, Items)] if (pairs := _pairs(data)) else []
    rows = len(cells[0]) if cells and cells[0] is not None else None
    return Table(kind, frozenset(known), frozenset() if plain else None, plain, rows=rows)


def _pairs(data: Known | None) -> tuple[tuple[Known, Known], ...]:
    return data.pairs or () if isinstance(data, Mapping) else ()


# -- polars ------------------------------------------------------------------------------------

_READ = words(
    "read_csv read_parquet read_json read_ndjson read_ipc from_dict from_dicts from_records"
)
_SCANNED = words("scan_csv scan_parquet scan_ndjson scan_ipc")


def _polars(world: World, name: str, call: Call) -> Known | None:
    first = call.args[0] if call.args else None
    if name in ("DataFrame", "LazyFrame"):
        return world.add(_literal_table(world, call, "lazy" if name == "LazyFrame" else "polars"))
    if name == "concat" and isinstance(first, Items):
        return _polars_concat(world, first)
    if name == "sql":
        check_polars(world, text(call.given(0, "query")), call.node, {})
        return ANY
    if name == "from_pandas" and isinstance(first, Frame):
        table = world.table(first)
        if table.columns is None or table.levels is None or call.named:
            return world.add(Table("polars"))
        return world.add(Table("polars", table.columns | table.levels, hidden=table.hidden))
    if name in _READ or name in _SCANNED:
        return world.add(Table("polars" if name in _READ else "lazy"))
    if name.startswith("selectors."):
        return Expr(existing=True)
    if name == "Series":
        return Column(name=text(first) if len(call.args) > 1 else None, of="polars")
    if not is_expression(name) or "eager" in call.named:
        return None
    given = [*call.args, *call.named.values()]
    world.exposed([part for each in given for part in parts(each)], KNOWN)
    if _theirs(given) and name.startswith("map"):
        world.forget()
    return made_by(name, call.node, call.args, call.named)


def _polars_concat(world: World, tables: Items) -> Known:
    made: Table | None = None
    for each in tables.values or (PLAIN,):
        if not isinstance(each, Frame) or world.table(each).columns is None:
            return ANY
        table = world.table(each)
        if made is None:
            made = table.made()
        else:
            made = replace(made.plus(*(table.columns or ())), hidden=made.hidden | table.hidden)
    return ANY if made is None else world.add(made)


# -- DuckDB ------------------------------------------------------------------------------------


def _duckdb(world: World, name: str, call: Call) -> Known | None:
    if name == "connect":
        place = call.given(0, "database")
        world.connections += 1
        fresh = place is None or text(place) == ":memory:"
        return Connection(fresh=fresh, at=world.connections)
    if name in ("sql", "query", "execute"):
        check_query(world, text(call.given(0, "query")), call.node)
        return PLAIN
    world.catalog_known = False
    return None
