"""What pandas' groups and series make."""

from __future__ import annotations

from dataclasses import replace

from ...core.policy.names import named as words
from .methods import Call
from .values import (
    ANY,
    PLAIN,
    Closure,
    Column,
    Const,
    Grouped,
    Items,
    Known,
    Mapping,
    Mask,
    Table,
    all_strings,
    text,
    truth,
)


def named_aggregation(call: Call) -> Known:
    """`pd.NamedAgg`, which is a pair."""
    column, how = call.given(0, "column"), call.given(1, "aggfunc")
    return Items((column or PLAIN, how or PLAIN))


# -- groups ------------------------------------------------------------------------------------

_REDUCING = words("""
    mean sum min max median std var count nunique first last prod any all sem
""")


def grouped_item(call: Call, group: Grouped, key: Known) -> Known:
    """`groups["x"]`, `groups[["x", "y"]]`."""
    call.uses(key)
    if (name := text(key)) is not None:
        return replace(group, picked=name)
    names = all_strings(key)
    return ANY if names is None else replace(group, picked=tuple(names))


def grouped_method(call: Call, group: Grouped, name: str) -> Known:
    table, how = call.table, call.given(0, "func")
    if name in ("agg", "aggregate"):
        return _grouped_agg(call, group, how)
    if name in ("apply", "pipe", "filter", "transform") and isinstance(how, Closure):
        inside = replace(table.made().plus(*(group.keys or ())), extras=frozenset({"name"}))
        whole = name == "apply" and group.picked is None
        with call.world.doubted():
            call.world.call(how, call.make(inside) if whole else PLAIN)
        return PLAIN
    if name == "size" and group.as_index and not isinstance(group.picked, tuple):
        keys = group.keys
        return Column(name=group.picked or "size", levels=None if keys is None else frozenset(keys))
    if name not in _REDUCING or group.keys is None:
        return PLAIN
    return _reduced(call, group, group.picked)


def _reduced(call: Call, group: Grouped, picked: tuple[str, ...] | str | None) -> Known:
    keys = frozenset(group.keys or ())
    if isinstance(picked, str) and group.as_index:
        return Column(name=picked, levels=keys)
    names = (picked,) if isinstance(picked, str) else picked
    # Where it was asked before, it goes on with the columns of then.
    made = call.table.made() if group.seen is None else call.table.made().joined(group.seen)
    made = made.minus(*keys) if names is None else made.only(*names)
    if not group.as_index:
        return call.make(replace(made.plus(*keys), levels=frozenset(), flat=True))
    return call.make(replace(made, levels=keys, flat=len(keys) == 1))


def _grouped_agg(call: Call, group: Grouped, how: Known | None) -> Known:
    made: list[str] | None = list(call.named)
    if isinstance(how, Mapping) and group.picked is None:
        call.uses(how)
        simple = all(text(value) is not None for _, value in how.pairs or ())
        made = all_strings(how) if simple else None
    elif isinstance(how, Items) and isinstance(group.picked, str):
        made = all_strings(how)
    elif how is not None or call.starred:
        made = None
    else:
        for value in call.named.values():
            if isinstance(value, Items) and value.values and group.picked is None:
                call.uses(value.values[0])
    if made is None or group.keys is None:
        return PLAIN
    keys = frozenset(group.keys)
    table = call.table.made().only(*made)
    if not group.as_index:
        return call.make(replace(table.plus(*keys), levels=frozenset(), flat=True))
    return call.make(replace(table, levels=keys, flat=len(keys) == 1))


# -- series ------------------------------------------------------------------------------------


def counted(call: Call, at: int) -> str | None:
    """The name of what `value_counts` makes, whose argument `normalize` is at that position."""
    normalize = truth(call.given(at, "normalize") or Const(value=False))
    return None if normalize is None else "proportion" if normalize else "count"


_MASKING = words("""
    isin isna notna isnull notnull between duplicated eq ne gt ge lt le
""")
_COLUMN_KEEPING = words("""
    fillna astype head tail round abs sort_values sort_index dropna nlargest nsmallest copy
    replace clip
""")


def column_method(call: Call, column: Column, name: str) -> Known:
    if column.of != "pandas":
        return Mask() if name in ("is_in", "is_null", "is_not_null", "is_between") else PLAIN
    if name in _MASKING:
        return Mask()
    if "inplace" in call.named or call.starred:
        call.world.unsettle()
        return PLAIN
    if name in _COLUMN_KEEPING:
        return column
    if name == "value_counts":
        levels = None if column.name is None else frozenset({column.name, "index"})
        return Column(name=counted(call, 0), levels=levels)
    if name == "rename" and (new := text(call.given(0, "index"))) is not None:
        return replace(column, name=new)
    if name in ("reset_index", "to_frame"):
        return _framed(call, column, name)
    if name in ("apply", "map", "transform") and (function := call.given(0, "func")) is not None:
        call.world.ran(function)
    return PLAIN


def _framed(call: Call, column: Column, name: str) -> Known:
    if truth(call.named.get("drop")):
        return column
    named = text(call.named["name"]) if "name" in call.named else column.name
    if call.args or call.named.keys() - {"name"} or named is None or column.levels is None:
        return PLAIN
    if name == "to_frame":
        return call.make(Table(columns=frozenset({named}), levels=column.levels))
    # Older versions name counts after the column, and sizes 0.
    made = Table(columns=column.levels | {named}, levels=frozenset(), flat=True)
    return call.make(made.perhaps("index", "level_0", "level_1", "level_2"))
