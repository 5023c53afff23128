"""Following calls, by what is called."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...core.policy.names import named as words
from . import polars_expressions
from .library import of_library
from .methods import Call
from .pandas_groups import column_method
from .pandas_groups import grouped_method as pandas_grouped
from .pandas_methods import DASK, PANDAS
from .polars_methods import POLARS
from .polars_methods import grouped_method as polars_grouped
from .sql import check_polars_table, check_query
from .values import (
    ANY,
    KNOWN,
    PLAIN,
    USER,
    Bound,
    Closure,
    Column,
    Connection,
    Expr,
    Frame,
    Grouped,
    Items,
    Known,
    Mapping,
    Module,
    Part,
    Table,
    Value,
    frames,
    parts,
    strings,
    text,
    trust,
    truth,
)
from .world import World

_METHODS = {
    "pandas": PANDAS,
    "geopandas": PANDAS,
    "dask": DASK,
    "polars": POLARS,
    "lazy": POLARS,
}
# Methods that call what they are given.
_CALLING = words("""
    apply map applymap transform agg aggregate pipe filter assign rename groupby sort_values
    map_elements map_rows map_batches map_groups sort_index combine combine_first where mask
    transform rename_axis
""")
# Those that follow the functions of the code by themselves.
_FOLLOWING = frozenset({"apply", "assign", "pipe", "transform"})
# Methods of what a query gives, by which a connection gets another table.
_CREATING = ("create", "create_view", "to_table", "to_view", "insert_into")
# Methods that add columns to a table, or elements to a list, in place.
_FILLING = words("""
    insert insert_column replace_column drop_in_place hstack isetitem __setitem__ update pop
    append extend remove clear setdefault add sort discard popitem reverse
""")


def called(world: World, callee: Known, call: Call) -> Known:
    """What a call makes, after what it needs was looked up and what it changes was noted."""
    match callee:
        case Closure():
            return world.call(callee, *call.args, **call.named)
        case Part():
            return _of_table(world, callee, call)
        case Bound():
            return _bound(world, callee, call)
        case Module():
            return of_library(world, callee, call)
    given = [*call.args, *call.named.values()]
    if isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute):
        world.catalog_known &= call.node.func.attr not in _CREATING
        by, fills = trust(callee), call.node.func.attr in _FILLING or "inplace" in call.named
        if fills and frames(callee):
            world.open_all()
            world.loosen()
        if fills:
            world.reindexed()
        world.exposed(given, by)
        if by == USER:
            world.forget()
    else:
        world.ran(callee, *given)
    held = [callee, *given]
    return Value(max(map(trust, held)), any(map(frames, held)))


# -- methods of tables ---------------------------------------------------------------------------


def _of_table(world: World, part: Part, call: Call) -> Known:
    frame, name = part.of, part.name
    table = world.table(frame)
    call.frame = frame
    given = [*call.args, *call.named.values()]
    if name.startswith("columns"):
        world.asked.update(each for value in given for each in strings(value))
        return part
    if name.startswith("plot."):
        for word in ("x", "y"):
            call.uses(call.named.get(word), levels=True)
        return PLAIN
    if name.startswith("index.") and "inplace" in call.named:
        world.reindexed()
    if name == "sql":
        return check_polars_table(world, frame, call)
    does = _METHODS.get(table.kind, {}).get(name)
    if does is None or call.starred:
        world.exposed(given, KNOWN)
        _let_run(world, name, given)
        if name.startswith("_"):
            world.attributes_known = False
        if "inplace" in call.named or call.starred or name in _FILLING or name.startswith("_"):
            world.open(frame)
            world.reindexed()
        return ANY
    does.check(call)
    if does.makes == "any":
        made: Known = ANY
    elif does.makes == "same":
        made = call.same()
    else:
        made = does.makes(call)
    if name not in _FOLLOWING:
        world.exposed([each for value in given for each in parts(value)], KNOWN)
    made = _in_place(world, frame, made, call)
    _let_run(world, name, given)
    return made


def _in_place(world: World, frame: Frame, made: Known, call: Call) -> Known:
    if "inplace" not in call.named or (certain := truth(call.named["inplace"])) is False:
        return made
    table = world.table(made) if isinstance(made, Frame) else Table()
    if not certain:
        table = table.joined(world.table(frame))
    world.put(frame, replace(table, rows=None, live=None))
    return PLAIN if certain else ANY


def _let_run(world: World, method: str, given: list[Known]) -> None:
    """The person's own functions among the arguments are called."""
    if method in _CALLING and any(trust(each) == USER for each in given):
        world.forget()


# -- methods of what is no table -----------------------------------------------------------------


def _bound(world: World, bound: Bound, call: Call) -> Known:
    owner, name = bound.owner, bound.name
    given = [*call.args, *call.named.values()]
    match owner:
        case Expr():
            if name == "pipe":
                function = call.given(0, "function")
                if isinstance(function, Closure):
                    return world.call(function, owner, *call.args[1:], **call.named)
                world.ran(function, *given)
                return PLAIN
            world.exposed(given, KNOWN)
            _let_run(world, name, given)
            return polars_expressions.method(owner, name, call.node, call.args, call.named)
        case Column():
            if "inplace" in call.named or call.starred or name.startswith("_"):
                world.reindexed()
            made = column_method(call, owner, name)
            _let_run(world, name, given)
            return made
        case Grouped():
            call.frame = owner.of
            polars = world.table(owner.of).kind in ("polars", "lazy")
            made = PLAIN
            if not call.starred:
                made = (polars_grouped if polars else pandas_grouped)(call, owner, name)
            _let_run(world, name, given)
            return made
        case Items() | Mapping():
            return _of_container(world, owner, name, call)
        case Connection():
            return _of_connection(world, owner, name, call)
    world.exposed(given, KNOWN)
    if name in _FILLING or "inplace" in call.named or call.starred:
        world.unsettle()  # a row
    return PLAIN


def _of_container(world: World, owner: Items | Mapping, name: str, call: Call) -> Known:
    if name in _FILLING:
        for each in [*call.args, *call.named.values()]:
            if any(isinstance(part, Frame) for part in parts(each)):
                world.spoil(each)
        world.spoil(owner)
        return Value(trust(owner), True)
    world.exposed(call.args, KNOWN)
    if any(isinstance(each, Part) and each.name.startswith("columns") for each in call.args):
        world.asked.update(strings(owner))
    if isinstance(owner, Items) and name == "copy" and owner.values is not None:
        return Items(owner.values)
    if isinstance(owner, Mapping) and owner.pairs is not None:
        if name == "items":
            return Items(tuple(Items(pair) for pair in owner.pairs))
        if name == "keys":
            return Items(tuple(key for key, _ in owner.pairs))
        if name == "values":
            return Items(tuple(value for _, value in owner.pairs))
        if name == "copy":
            return Mapping(owner.pairs)
    return Value(trust(owner), frames(owner))


def _of_connection(world: World, owner: Connection, name: str, call: Call) -> Known:
    if name in ("sql", "query", "execute"):
        said = text(call.given(0, "query"))
        check_query(world, said, call.node, owner)
        return owner if name == "execute" else PLAIN
    if name == "register":
        registered, table = text(call.given(0, "view_name")), call.given(1, "python_object")
        if registered is not None and isinstance(table, Frame):
            world.registered[owner.at, registered] = world.add(world.table(table))
        else:
            world.catalog_known = False
        return owner
    if name not in ("close", "fetchall", "fetchone", "fetchdf", "df", "pl", "arrow", "show"):
        world.catalog_known = False
    return PLAIN
