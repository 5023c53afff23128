"""What stands behind an attribute or in brackets, and what iterating gives."""

from __future__ import annotations

import ast
from dataclasses import replace

from ...core.policy.names import named as words
from .methods import Call
from .pandas_groups import grouped_item
from .polars_expressions import made_by
from .schema import attribute
from .values import (
    ANY,
    LIBRARY,
    LIKE_PANDAS,
    PLAIN,
    Bound,
    Closure,
    Column,
    Connection,
    Const,
    Expr,
    Frame,
    Grouped,
    Items,
    Known,
    Mapping,
    Mask,
    Module,
    Part,
    Row,
    Rows,
    Value,
    all_strings,
    frames,
    strings,
    text,
    trust,
)
from .world import World

_ROW_FIELDS = ("Index", "count", "index")
_GROUP_METHODS = words("""
    agg aggregate apply pipe filter transform size mean sum min max median std var count
    nunique first last prod any all sem head tail nth cumsum cumcount rank shift diff describe
    groups ngroups get_group rolling resample plot hist value_counts quantile indices
    obj keys level axis as_index sort group_keys observed dropna grouper exclusions squeeze mutated
""")


class Access(World):
    """Of values that are known already."""

    def element(self, source: Known) -> Known:
        """What iterating over it gives."""
        if isinstance(source, Rows):
            return Items((PLAIN, source.row)) if source.numbered else source.row
        if isinstance(source, Grouped):
            return Items((PLAIN, self.add(self.table(source.of).made())))
        if isinstance(source, Frame | Part):
            return PLAIN
        self.used(source)
        return Value(trust(source), frames(source))

    # -- attributes ----------------------------------------------------------------------------

    def attribute(self, owner: Known, node: ast.Attribute) -> Known:
        name = node.attr
        match owner:
            case Frame():
                return self._of_frame(owner, node)
            case Part():
                return replace(owner, name=f"{owner.name}.{name}")
            case Module():
                if owner.path == "polars.col":
                    return made_by("col", node, [Const(value=name)], {})
                return replace(owner, path=f"{owner.path}.{name}")
            case Grouped() if name not in _GROUP_METHODS and not name.startswith("_"):
                return self._of_group(owner, node)
            case Bound():
                return replace(owner, name=f"{owner.name}.{name}")
            case Row(fields=True):
                if not name.startswith("_") and name not in _ROW_FIELDS and owner.table:
                    self.uses_of(owner.table, [name], node, where=node.value)
                return PLAIN
            case Column() | Expr() | Grouped() | Items() | Mapping() | Connection() | Row():
                return Bound(trust(owner), frames(owner), owner, name)
            case Const() | Closure():
                return PLAIN
        self.used(owner)
        return Value(trust(owner), frames(owner))

    def _of_group(self, group: Grouped, node: ast.Attribute) -> Known:
        table, name = self.table(group.of), node.attr
        if table.has(name):
            return replace(group, picked=name)
        missing = table.kind == "pandas" and attribute("groups", name) == "missing"
        if missing and group.picked is None and self.attributes_known:
            self.lacks(table, name, node, "groups")
        return Bound(trust(group), frames(group), group, name)

    def _of_frame(self, frame: Frame, node: ast.Attribute) -> Known:
        table, name = self.table(frame), node.attr
        there = attribute(table.kind, name)
        if there == "own" or name.startswith("_"):
            return Part(of=frame, name=name)
        if there == "foreign":
            self.open(frame)
            return Value(LIBRARY, True)
        columns = table.kind in LIKE_PANDAS
        if columns and (table.has(name) or name in table.extras):
            return Column(name=name, levels=table.levels)
        if self.attributes_known:
            self.lacks(table, name, node)
        return ANY

    # -- items ---------------------------------------------------------------------------------

    def item(self, owner: Known, key: Known, node: ast.Subscript) -> Known:
        match owner:
            case Frame():
                return self._item_of_frame(owner, key, node)
            case Part(name="loc" | "at"):
                return self._located(owner, key, node)
            case Part():
                return owner if owner.name == "columns" else PLAIN
            case Grouped():
                if self.table(owner.of).kind not in LIKE_PANDAS:
                    return ANY
                call = Call(self, node, owner.of, [], {}, on=node.value)
                return grouped_item(call, owner, key)
            case Row(table=table) if table is not None and not owner.fields:
                self.uses_of(table, strings(key), node, where=node.value)
                return PLAIN
            case Items(values=values) if values is not None and isinstance(key, Const):
                if type(key.value) is int and -len(values) <= key.value < len(values):
                    return values[key.value]
            case Mapping(pairs=pairs) if pairs is not None and isinstance(key, Const):
                for known, value in reversed(pairs):
                    if known == key:
                        return value
            case Column():
                return replace(owner) if isinstance(key, Mask) else PLAIN
        self.used(owner, key)
        return Value(trust(owner), frames(owner))

    def _item_of_frame(self, frame: Frame, key: Known, node: ast.Subscript) -> Known:
        table, pandas = self.table(frame), self.table(frame).kind in LIKE_PANDAS
        if isinstance(node.slice, ast.Tuple):
            if table.kind == "polars" and isinstance(key, Items) and len(key.values or ()) == 2:
                self.uses(frame, strings((key.values or (PLAIN, PLAIN))[1]), node, where=node.value)
            return PLAIN
        if table.kind not in (*LIKE_PANDAS, "polars"):
            return ANY
        if isinstance(key, Closure) and pandas:
            key = self.call(key, frame)
        if isinstance(key, Mask | Frame):
            return self.add(table.made())
        names = strings(key) if isinstance(key, Const | Items) else []
        self.uses(frame, names, node, where=node.value)
        if (name := text(key)) is not None:
            of = "pandas" if pandas else "polars"
            return (
                Column(name=name, levels=table.levels, of=of)
                if table.columns is not None
                else PLAIN
            )
        if not isinstance(key, Items):
            return Value(0, True)
        known = all_strings(key)
        made = table.made()
        return self.add(
            made.opened() if known is None or made.columns is None else made.only(*known)
        )

    def _located(self, part: Part, key: Known, node: ast.Subscript) -> Known:
        """`df.loc[rows, columns]`, which means columns for sure where rows have one level."""
        table = self.table(part.of)
        two = key.values if isinstance(node.slice, ast.Tuple) and isinstance(key, Items) else None
        if two is None or len(two) != 2:
            if isinstance(key, Closure):
                key = self.call(key, part.of)
            return self.add(table.made()) if isinstance(key, Mask | Items) else PLAIN
        rows, columns = two
        if isinstance(rows, Closure):
            rows = self.call(rows, part.of)
        if not table.flat:
            return Value(0, True)
        on = node.value.value if isinstance(node.value, ast.Attribute) else None
        names = strings(columns) if isinstance(columns, Const | Items) else []
        self.uses(part.of, names, node, where=on)
        several = isinstance(rows, Mask | Items)
        if several and (name := text(columns)) is not None:
            return Column(name=name, levels=table.levels)
        if several and isinstance(columns, Items) and (known := all_strings(columns)) is not None:
            made = table.made()
            return self.add(made if made.columns is None else made.only(*known))
        return PLAIN
