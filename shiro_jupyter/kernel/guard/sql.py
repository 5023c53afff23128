"""SQL over tables of the namespace: the engine's own binder, asked over empty tables.

On a connection of our own, in memory, since one of the person's belongs to the main thread. Only
what is loaded already is asked, and only about tables that are as the namespace has them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping as Names
from typing import Any

from ..describe import library
from .methods import Call
from .values import ANY, Connection, Frame, Known, Table, text
from .verdict import Finding
from .world import World

_ASKS = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(select|with|from|summarize)\b[^;]*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
# What makes columns of the values, which empty tables have not.
_BY_VALUES = re.compile(r"\b(un)?pivot|\bunnest\b|\bunpack", re.IGNORECASE)
_ALL_OF = re.compile(r"(\w+)\W?\.\*")
_WORD = re.compile(r"[^\W\d]\w*")
_MISSING = re.compile(r'Referenced column "([^"]+)" not found in FROM clause')
_QUALIFIED = re.compile(r'does not have a column named "([^"]+)"')
_DEFAULT = Connection()
_MANY = 2_000  # columns of a table that is put before the engine


def check_query(world: World, said: str | None, node: ast.AST, on: Connection = _DEFAULT) -> None:
    """A query of DuckDB. Certain is what fails on a connection where nothing but the code's own
    has a say in which tables there are."""
    duckdb = library("duckdb")
    if said is None or not _ASKS.fullmatch(said):
        world.catalog_known = False
        return
    tables = _tables(world, said, on.at)
    if not tables or "connect" not in duckdb or not world.catalog_known:
        return
    missing = None if _by_values(said, tables) else _bound(duckdb, said, tables)
    if missing is not None:
        _tell(world, missing, tables, node, on.fresh)


def _by_values(said: str, tables: Names[str, Table]) -> bool:
    columns = {each.lower() for table in tables.values() for each in table.columns or ()}
    return bool(_BY_VALUES.search(said)) or any(
        each.lower() in columns for each in _ALL_OF.findall(said)
    )


def _bound(duckdb: dict[str, Any], said: str, tables: Names[str, Table]) -> str | None:
    """The column that DuckDB finds to be missing."""
    settings = {"enable_external_access": "false", "threads": "1"}
    try:
        with duckdb["connect"](":memory:", config=settings) as own:
            own.execute("SET python_enable_replacements = false")
            for name, table in tables.items():
                own.register(name, _empty(table))
            own.execute(f"EXPLAIN {said}")
    except duckdb["Error"] as error:
        match = _MISSING.search(str(error)) or _QUALIFIED.search(str(error))
        return match[1] if match else None
    return None


def check_polars(world: World, said: str | None, node: ast.AST, given: Names[str, Frame]) -> None:
    """A query of polars over tables by their names in the code, or those given."""
    polars = library("polars")
    if said is None or not _ASKS.fullmatch(said) or "SQLContext" not in polars:
        return
    tables = {name: world.table(frame) for name, frame in given.items()} or _tables(world, said)
    tables = {name: each for name, each in tables.items() if each.live is not None}
    if not tables or _by_values(said, tables):
        return
    try:
        context = polars["SQLContext"]({name: _empty(each) for name, each in tables.items()})
        context.execute(said, eager=True)
    except polars["exceptions"].ColumnNotFoundError as error:
        match = re.search(
            r"[\"'`]?([^\W\d]\w*)[\"'`]?", str(error).removeprefix("unable to find column ")
        )
        if match:
            _tell(world, match[1], tables, node, True)
    except polars["exceptions"].PolarsError:
        return


def check_polars_table(world: World, frame: Frame, call: Call) -> Known:
    """`df.sql("…")`, in which the table is called `self`."""
    name = text(call.named.get("table_name")) or "self"
    if world.table(frame).live is not None:
        check_polars(world, text(call.given(0, "query")), call.node, {name: frame})
    return ANY


def _tables(world: World, said: str, on: int = 0) -> dict[str, Table]:
    """The tables that the query may mean, by the names the code has for them."""
    found = {}
    for word in dict.fromkeys(_WORD.findall(said)):
        frame: Known | None = world.registered.get((on, word))
        if frame is None:
            frame = next((s[word] for s in reversed(world.state.scopes) if word in s), None)
        if not isinstance(frame, Frame):
            known = world.schema.table(word)
            frame = world.add(known[1]) if frame is None and known else None
        if isinstance(frame, Frame):
            table = world.table(frame)
            if table.live is not None and len(table.columns or ()) <= _MANY:
                found[word] = table
    return found


def _empty(table: Table) -> Any:
    return table.live.clear() if table.kind == "polars" else table.live.iloc[:0]


def _tell(world: World, name: str, tables: Names[str, Table], node: ast.AST, certain: bool) -> None:
    columns = {each for table in tables.values() for each in table.columns or ()}
    if any(name.lower() == each.lower() for each in columns):
        return  # it is about another table, which the message does not name
    said = " and ".join(tables)
    what = f"in the query, {said} {'have' if len(tables) > 1 else 'has'} no column {name!r}"
    world.tell(Finding(getattr(node, "lineno", 1), what, name, columns), certain)
