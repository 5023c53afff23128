"""The methods of polars' tables and groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...core.policy.names import named as words
from .methods import Call, Does, is_pattern
from .pandas_methods import renamed
from .values import (
    ANY,
    PLAIN,
    Closure,
    Column,
    Expr,
    Frame,
    Grouped,
    Items,
    Known,
    Mapping,
    Row,
    Rows,
    Table,
    Value,
    all_strings,
    strings,
    text,
)


def outputs(values: Iterable[Known], names: Iterable[str], table: Table) -> frozenset[str] | None:
    """The columns that expressions make, at most; None where that is not known."""
    found = set(names)
    for value in values:
        if isinstance(value, Expr):
            if value.existing and table.columns is not None:
                found |= table.columns
            elif value.output is not None:
                found.add(value.output)
            else:
                return None
        elif isinstance(value, Items) and value.values is not None:
            inner = outputs(value.values, (), table)
            if inner is None:
                return None
            found |= inner
        elif (name := text(value)) is not None:
            if is_pattern(name):
                found |= table.columns or set()
            found.add(name)
        elif isinstance(value, Column) and value.name is not None:
            found.add(value.name)
        else:
            return None
    return frozenset(found)


def _needed(call: Call) -> None:
    for value in (*call.args, *call.named.values()):
        call.uses(value)


def _of(call: Call, columns: frozenset[str] | None) -> Frame:
    table = call.table
    if columns is None or table.columns is None:
        return call.make(table.opened())
    return call.make(replace(table.made(), columns=columns))


def _select(call: Call) -> Known:
    _needed(call)
    return _of(call, outputs(call.args, call.named, call.table))


def _with_columns(call: Call) -> Known:
    _needed(call)
    made = outputs(call.args, call.named, call.table)
    if made is None:
        return call.make(call.table.opened())
    return call.make(call.table.made().plus(*made))


def _filter(call: Call) -> Known:
    for value in call.args:
        call.uses(value)
    call.world.uses(call.frame, call.named, call.node, where=call.on)
    return call.same()


def _drop(call: Call) -> Known:
    if call.flag("strict", True):
        for value in call.args:
            call.uses(value)
    gone = [name for value in call.args for name in strings(value)]
    return call.make(call.table.made().minus(*gone))


def _rename(call: Call) -> Known:
    mapping = call.given(0, "mapping")
    if not isinstance(mapping, Mapping) or mapping.pairs is None:
        return call.make(call.table.opened())
    if call.flag("strict", True):
        call.uses(mapping)
    return call.make(renamed(call.table, mapping))


def _group(call: Call) -> Known:
    for value in call.args:
        call.uses(value)
    for value in (v for k, v in call.named.items() if k != "maintain_order"):
        call.uses(value)
    named = [key for key in call.named if key != "maintain_order"]
    keys = outputs(call.args, named, call.table)
    return Grouped(of=call.frame, keys=None if keys is None else tuple(keys))


def _join(call: Call) -> Known:
    other, table = call.given(0, "other"), call.table
    call.uses(call.given(1, "on"))
    call.uses(call.named.get("left_on"))
    if not isinstance(other, Frame):
        return call.make(table.opened())
    right, where = call.world.table(other), call.first
    for value in (call.given(1, "on"), call.named.get("right_on")):
        call.world.uses(other, strings(value), call.node, where=where)
    suffix = call.text(None, "suffix", "_right")
    if text(call.given(2, "how")) in ("semi", "anti"):
        return call.same()
    if right.columns is None or suffix is None:
        return call.make(table.opened())
    mine, theirs = (table.columns or frozenset()), right.columns
    made = table.made().plus(*theirs, *(name + suffix for name in mine & theirs))
    both = (mine | table.hidden) & (theirs | right.hidden)
    return call.make(made.perhaps(*right.hidden, *(name + suffix for name in both)))


def _unpivot(call: Call) -> Known:
    kept = call.named.get("index", call.named.get("id_vars"))
    call.uses(kept)
    call.uses(call.given(0, "on"))
    variable = call.text(None, "variable_name", "variable")
    value = call.text(None, "value_name", "value")
    names = [] if kept is None else all_strings(kept)
    if names is None or variable is None or value is None:
        return call.make(call.table.opened())
    return call.make(call.table.made().only(*names, variable, value))


def _row_index(call: Call) -> Known:
    name = call.text(0, "name", "index")
    return call.make(call.table.opened() if name is None else call.table.made().plus(name))


def _get_column(call: Call) -> Known:
    if "default" not in call.named:
        call.uses(call.given(0, "name"))
    return Column(name=text(call.given(0, "name")), of="polars")


def _lazy(call: Call) -> Known:
    return call.make(replace(call.table.made(), kind="lazy"))


def _collect(call: Call) -> Known:
    if "background" in call.named:
        return PLAIN
    return call.make(_collected(call))


def _collected(call: Call) -> Table:
    return replace(call.table.made(), kind="polars")


def _to_pandas(call: Call) -> Known:
    made = Table(
        columns=call.table.columns, levels=frozenset(), flat=True, hidden=call.table.hidden
    )
    return call.make(made)


def _iter_rows(call: Call) -> Known:
    named = call.flag("named", False)
    return Rows(row=Row(table=call.table)) if named else Rows(row=Row())


def _changed(call: Call) -> Known:
    call.world.open(call.frame)
    return ANY


def _pipe(call: Call) -> Known:
    function = call.given(0, "function")
    if isinstance(function, Closure):
        return call.world.call(function, call.frame, *call.args[1:])
    return Value(call.world.ran(function, call.frame), True)


def _plain(call: Call) -> Known:
    return PLAIN


SAME = Does(unless=())
PLAINLY = Does(makes=_plain, unless=())
_KEEPING = (
    "head tail limit slice sample clone clear rechunk reverse fill_null fill_nan shrink_to_fit "
    "interpolate shift gather_every mean sum min max median std var count null_count "
    "quantile product set_sorted cache limit"
)
_PLAINLY = (
    "write_csv write_parquet write_json write_ndjson write_excel write_ipc write_delta "
    "write_database to_dict to_dicts to_numpy to_arrow to_series to_struct rows row item glimpse "
    "estimated_size n_unique is_empty is_duplicated is_unique get_columns equals explain hash_rows "
    "show plot sink_csv sink_parquet sink_ipc iter_columns iter_slices get_column_index corr fold"
)
POLARS: dict[str, Does] = {
    **dict.fromkeys(_KEEPING.split(), SAME),
    **dict.fromkeys(_PLAINLY.split(), PLAINLY),
    "select": Does(makes=_select),
    "select_seq": Does(makes=_select),
    "with_columns": Does(makes=_with_columns),
    "with_columns_seq": Does(makes=_with_columns),
    "filter": Does(makes=_filter),
    "remove": Does(makes=_filter),
    "drop": Does(makes=_drop),
    "rename": Does(makes=_rename),
    "sort": Does(((None, "by"),), every=True),
    "top_k": Does(((None, "by"),)),
    "bottom_k": Does(((None, "by"),)),
    "unique": Does(((0, "subset"),)),
    "drop_nulls": Does(((0, "subset"),)),
    "drop_nans": Does(((0, "subset"),)),
    "explode": Does(every=True),
    "group_by": Does(makes=_group),
    "group_by_dynamic": Does(((0, "index_column"),), makes="any"),
    "rolling": Does(((0, "index_column"),), makes="any"),
    "partition_by": Does(((None, "by"),), every=True, makes="any"),
    "join": Does(makes=_join),
    "join_asof": Does(((None, "on"), (None, "left_on")), makes="any"),
    "pivot": Does(((0, "on"), (None, "index"), (None, "values")), makes="any"),
    "unpivot": Does(makes=_unpivot),
    "melt": Does(makes="any"),
    "unnest": Does(every=True, makes="any"),
    "cast": Does(makes=lambda call: _cast(call)),
    "with_row_index": Does(makes=_row_index),
    "get_column": Does(makes=_get_column),
    "lazy": Does(makes=_lazy),
    "collect": Does(makes=_collect),
    "describe": Does(makes=lambda call: call.make(_collected(call).plus("statistic"))),
    "to_pandas": Does(makes=_to_pandas),
    "iter_rows": Does(makes=_iter_rows),
    "pipe": Does(makes=_pipe),
    "insert_column": Does(makes=_changed),
    "replace_column": Does(makes=_changed),
    "drop_in_place": Does(((0, "name"),), makes=_changed),
    "hstack": Does(makes=_changed),
    "extend": Does(makes=_changed),
    "vstack": Does(makes=_changed),
}


def _cast(call: Call) -> Known:
    wanted = call.given(0, "dtypes")
    if isinstance(wanted, Mapping) and call.flag("strict", True):
        call.uses(wanted)
    return call.same()


# -- groups ------------------------------------------------------------------------------------

_REDUCING = words("""
    mean sum min max median first last all n_unique quantile head tail
""")


def grouped_method(call: Call, group: Grouped, name: str) -> Known:
    keys = None if group.keys is None else frozenset(group.keys)
    if name == "agg":
        _needed(call)
        made = outputs(call.args, call.named, call.table)
        return _of(call, None if made is None or keys is None else made | keys)
    if name in _REDUCING and keys is not None and call.table.columns is not None:
        return _of(call, call.table.columns | keys)
    if name in ("len", "count") and keys is not None:
        called = call.text(0, "name", "len")
        return _of(call, None if called is None else keys | {called, "count"})
    return group if name == "having" else PLAIN
