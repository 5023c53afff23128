"""The methods of pandas' tables and groups."""

from __future__ import annotations

from dataclasses import replace

from .methods import Call, Does
from .pandas_groups import counted
from .query import assigned, names_in
from .values import (
    PLAIN,
    Closure,
    Column,
    Const,
    Frame,
    Grouped,
    Items,
    Known,
    Mapping,
    Mask,
    Row,
    Rows,
    Table,
    Value,
    all_strings,
    strings,
    text,
    truth,
)

ON_COLUMNS = (1, "columns")


def _on_columns(call: Call, at: int | None = None) -> bool:
    axis = call.given(at, "axis")
    return isinstance(axis, Const) and axis.value in ON_COLUMNS


def _drop(call: Call) -> Known:
    gone = call.named.get("columns")
    if gone is None and _on_columns(call, 1):
        gone = call.given(0, "labels")
    if gone is None:
        return call.same()  # rows
    if call.text(None, "errors", "raise") == "raise":
        call.uses(gone)
    return call.make(call.table.made().minus(*strings(gone)))


def _rename(call: Call) -> Known:
    mapping = call.named.get("columns")
    if mapping is None and _on_columns(call):
        mapping = call.given(0, "mapper")
    if mapping is None:
        return call.same() if "axis" not in call.named else call.make(call.table.opened())
    if not isinstance(mapping, Mapping) or mapping.pairs is None:
        return call.make(call.table.opened())
    if text(call.named.get("errors")) == "raise":
        call.uses(mapping)
    return call.make(renamed(call.table, mapping))


def renamed(table: Table, mapping: Mapping) -> Table:
    old = all_strings(mapping)
    new = [text(value) for _, value in mapping.pairs or ()]
    if old is None or None in new:
        return table.opened()
    kept = [name for before, name in zip(old, new, strict=True) if table.has(before) and name]
    return table.made().minus(*old).plus(*kept)


def _assign(call: Call) -> Known:
    made = call.make(call.table.made())
    for name, value in call.named.items():
        if isinstance(value, Closure):
            call.world.call(value, made)
        call.world.put(made, call.world.table(made).plus(name))
    return made


def _insert(call: Call) -> Known:
    name = text(call.given(1, "column"))
    if name is None:
        call.world.open(call.frame)
    else:
        call.world.gain(call.frame, [name])
    return PLAIN


def _pop(call: Call) -> Known:
    call.uses(call.given(0, "item"))
    name = text(call.given(0, "item"))
    if name is not None:
        call.world.put(call.frame, call.table.minus(name))
    return Column(name=name, levels=call.table.levels)


def _set_index(call: Call) -> Known:
    keys, table = call.given(0, "keys"), call.table
    call.uses(keys)
    names = all_strings(keys)
    if names is None or "append" in call.named:
        return call.make(replace(table.made(), levels=None, flat=False))
    left = table.made()
    if call.flag("drop", True):
        left = left.minus(*names)
    return call.make(replace(left, levels=frozenset(names), flat=len(names) == 1))


def _reset_index(call: Call) -> Known:
    table = call.table
    if call.flag("drop", False):
        return call.make(replace(table.made(), levels=frozenset(), flat=True))
    if call.args or call.named.keys() - {"inplace", "drop"} or table.levels is None:
        return call.make(table.opened())
    default = ("index", "level_0", "level_1", "level_2", "level_3")
    made = table.made().plus(*table.levels).perhaps(*default)
    return call.make(replace(made, levels=frozenset(), flat=True))


def _merge(call: Call) -> Known:
    right = call.given(0, "right")
    on = call.given(2, "on")
    call.uses(on, levels=True)
    call.uses(call.given(3, "left_on"), levels=True)
    if not isinstance(right, Frame):
        return call.make(call.table.opened())
    world, other = call.world, call.world.table(right)
    for value in (on, call.given(4, "right_on")):
        world.uses(right, strings(value), call.node, levels=True, where=call.first)
    return call.make(_merged(call, call.table, other))


def _merged(call: Call, left: Table, right: Table) -> Table:
    if left.columns is None or right.columns is None:
        return left.opened()
    suffixes = call.given(8, "suffixes")
    ends = ["_x", "_y"] if suffixes is None else all_strings(suffixes)
    if ends is None or len(ends) != 2 or left.levels is None or right.levels is None:
        return left.opened()
    mine, theirs = left.columns | left.hidden, right.columns | right.hidden
    both = mine & theirs
    on = all_strings(call.given(2, "on"))
    levels = left.levels | right.levels
    rows_kept = levels or call.given(5, "left_index") or call.given(6, "right_index")
    made = left.made().plus(*right.columns, *levels)
    hidden = left.hidden | right.hidden
    made = replace(made, hidden=hidden, levels=levels, flat=not rows_kept)
    shown = both & left.columns & right.columns
    made = made.plus(*(name + end for name in shown for end in ends))
    indicator = call.given(10, "indicator")
    if indicator is not None and truth(indicator) is not False:
        if not isinstance(indicator, Const):
            return left.opened()
        made = made.plus(text(indicator) or "_merge")
    made = made.perhaps("key_0", *(name + end for name in both - shown for end in ends))
    # Surely suffixed are those that both tables surely have, apart from the keys.
    known = isinstance(call.given(2, "on"), Const | Items) and on is not None
    if known and all(ends) and left.live is not None and right.live is not None:
        made = made.minus(*(both - set(on or ()) - left.levels - right.levels))
    return made


def _join(call: Call) -> Known:
    call.uses(call.given(1, "on"), levels=True)
    other = call.given(0, "other")
    suffixed = call.given(3, "lsuffix") or call.given(4, "rsuffix")
    if not isinstance(other, Frame) or suffixed:
        return call.make(call.table.opened())
    right, table = call.world.table(other), call.table
    if right.columns is None or table.columns is None:
        return call.make(table.opened())
    made = table.made().plus(*right.columns)
    levels = None if table.levels is None or right.levels is None else table.levels | right.levels
    hidden = made.hidden | right.hidden
    return call.make(replace(made, hidden=hidden, levels=levels, flat=table.flat and right.flat))


def _melt(call: Call) -> Known:
    kept = call.given(0, "id_vars")
    call.uses(kept)
    call.uses(call.given(1, "value_vars"))
    names = [] if kept is None else all_strings(kept)
    variable, value = text(call.given(2, "var_name")), call.text(3, "value_name", "value")
    if names is None or variable is None or value is None:
        return call.make(call.table.opened())
    return call.make(replace(call.table.made().only(*names, variable, value), levels=None))


def _query(call: Call) -> Known:
    said = text(call.given(0, "expr"))
    if said is not None and not call.named.keys() - {"inplace", "engine"}:
        call.world.uses(call.frame, names_in(said), call.node, levels=True, where=call.on)
    return call.same()


def _eval(call: Call) -> Known:
    said = text(call.given(0, "expr"))
    if said is None or call.named.keys() - {"inplace", "engine"}:
        return call.make(call.table.opened())
    lines = assigned(said)
    made = call.table.made()
    for target, names in lines:
        call.world.uses_of(made, names, call.node, levels=True, where=call.on)
        made = made.plus(target) if target else made
    return call.make(made) if any(target for target, _ in lines) else Column()


def _select(call: Call) -> Known:
    """`reindex(columns=…)`, which makes what is missing."""
    wanted, made = call.named.get("columns"), replace(call.table.made(), levels=None)
    if wanted is None and not call.args and "labels" not in call.named:
        return call.make(made)
    names = all_strings(wanted)
    return call.make(call.table.opened() if names is None else made.only(*names))


def _group(call: Call) -> Known:
    by = call.given(0, "by")
    # A dict, or a function, says the group of each label of the rows.
    about = not isinstance(by, Mapping) and "level" not in call.named and len(call.args) < 2
    about &= Does(unless=("axis",)).about_columns(call)
    names, table = all_strings(by), call.table
    if about:
        # A list of as many names as there are rows would be a label for each.
        many = len(by.values or ()) if isinstance(by, Items) else 0
        found = sum(table.has(each, levels=True) for each in set(names or ()))
        stray = bool(many) and (not found or len(set(names or ())) < many)
        if not many or table.rows != many:
            with call.world.doubted(stray and table.rows is None):
                call.uses(by, levels=True)
    return Grouped(
        of=call.frame,
        seen=table.made(),
        keys=tuple(names) if about and names is not None else None,
        as_index=call.flag("as_index", True) is True,
    )


def _apply(call: Call) -> Known:
    function = call.given(0, "func")
    if not isinstance(function, Closure):
        return Value(call.world.ran(function), True)
    certain = bool(call.table.rows)
    with call.world.doubted(not certain):
        if _on_columns(call, 1):
            call.world.call(function, Row(table=call.table))
        else:
            call.world.call(function, PLAIN)
    return PLAIN


def _pipe(call: Call) -> Known:
    function = call.given(0, "func")
    if isinstance(function, Closure):
        return call.world.call(function, call.frame, *call.args[1:])
    return Value(call.world.ran(function, call.frame), True)


def _agg(call: Call) -> Known:
    how = call.given(0, "func")
    if isinstance(how, Mapping) and call.given(1, "axis") is None:
        call.uses(how)
    for value in call.named.values():
        if isinstance(value, Items) and value.values and len(value.values) == 2:
            call.uses(value.values[0])
    return PLAIN


def _value_counts(call: Call) -> Known:
    call.uses(call.given(0, "subset"), levels=True)
    names = all_strings(call.given(0, "subset"))
    return Column(name=counted(call, 1), levels=None if names is None else frozenset(names))


def _by_columns(call: Call) -> Known:
    """Rows are labelled by the columns, whose own name is not known."""
    return call.make(replace(call.table.made(), levels=None, flat=True))


def _plot(call: Call) -> Known:
    for word in ("x", "y"):  # some backends take levels of the index, too
        call.uses(call.named.get(word), levels=True)
    return PLAIN


def _iterrows(call: Call) -> Known:
    return Rows(row=Row(table=call.table), numbered=True)


def _itertuples(call: Call) -> Known:
    return Rows(row=Row(table=call.table, fields=True))


def _get(call: Call) -> Known:
    call.world.asked.update(strings(call.given(0, "key")))
    return PLAIN


def _changes(call: Call) -> Known:
    call.world.open(call.frame)
    return PLAIN


def _plain(call: Call) -> Known:
    return PLAIN


SAME = Does(unless=())
PLAINLY = Does(makes=_plain)
_KEEPING = (
    "copy head tail sample fillna ffill bfill interpolate round clip infer_objects convert_dtypes "
    "replace where mask abs sort_index truncate set_flags map applymap diff cumsum cumprod "
    "cummax cummin rank pct_change isna notna isnull notnull between_time at_time "
    "first last select_dtypes describe nlargest tz_localize tz_convert"
)
_PLAINLY = (
    "info to_csv to_excel to_parquet to_json to_dict to_numpy to_html to_markdown to_string "
    "to_records to_sql to_pickle to_clipboard to_latex to_feather to_hdf mean sum min max median "
    "std var sem skew kurt count nunique prod quantile mode any all keys items memory_usage "
    "idxmax idxmin equals squeeze hist"
)
PANDAS: dict[str, Does] = {
    **dict.fromkeys(_KEEPING.split(), SAME),
    **dict.fromkeys(_PLAINLY.split(), PLAINLY),
    **dict.fromkeys(("corr", "cov"), Does(makes=_by_columns)),
    "hist": Does(((0, "column"),), makes=_plain, unless=()),
    "boxplot": Does(((0, "column"),), makes=_plain, unless=()),
    "sort_values": Does(((0, "by"),), levels=True),
    "dropna": Does(((None, "subset"),)),
    "drop_duplicates": Does(((0, "subset"),)),
    "duplicated": Does(((0, "subset"),), makes=lambda call: Mask()),
    "explode": Does(((0, "column"),)),
    "nlargest": Does(((1, "columns"),)),
    "nsmallest": Does(((1, "columns"),)),
    "astype": Does(makes=lambda call: _astype(call)),
    "pivot_table": Does(((0, "values"), (1, "index"), (2, "columns")), levels=True, makes="any"),
    "pivot": Does(((None, "values"), (None, "index"), (None, "columns")), levels=True, makes="any"),
    "drop": Does(makes=_drop),
    "rename": Does(makes=_rename),
    "assign": Does(makes=_assign),
    "insert": Does(makes=_insert),
    "pop": Does(makes=_pop),
    "update": Does(makes=_plain),
    "isetitem": PLAINLY,
    "set_index": Does(makes=_set_index),
    "reset_index": Does(makes=_reset_index),
    "merge": Does(makes=_merge),
    "join": Does(makes=_join),
    "melt": Does(makes=_melt),
    "query": Does(makes=_query),
    "eval": Does(makes=_eval),
    "reindex": Does(makes=_select),
    "filter": Does(makes=lambda call: call.make(call.table.made())),
    "groupby": Does(makes=_group),
    "apply": Does(makes=_apply),
    "transform": Does(makes=_apply),
    "pipe": Does(makes=_pipe),
    "agg": Does(makes=_agg),
    "aggregate": Does(makes=_agg),
    "value_counts": Does(makes=_value_counts),
    "plot": Does(makes=_plot),
    "iterrows": Does(makes=_iterrows),
    "itertuples": Does(makes=_itertuples),
    "get": Does(makes=_get),
    "isin": Does(makes=lambda call: call.same()),
}


def _astype(call: Call) -> Known:
    if isinstance(wanted := call.given(0, "dtype"), Mapping):
        call.uses(wanted)
    return call.same()


def _computed(call: Call) -> Known:
    return call.make(replace(call.table.made(), kind="pandas"))


# What Dask does as pandas does it, on columns that it knows without computing.
DASK: dict[str, Does] = {
    **{
        name: PANDAS[name]
        for name in (
            *("assign", "astype", "copy", "drop", "drop_duplicates", "dropna", "fillna", "groupby"),
            *("merge", "nlargest", "nsmallest", "query", "rename", "sample", "sort_values"),
        )
    },
    **dict.fromkeys(("head", "tail", "compute"), Does(makes=_computed)),
    **dict.fromkeys(("persist", "repartition"), SAME),
}
