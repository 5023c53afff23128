"""Edits of a JSON text as pieces that take the place of others; the rest stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .scan import Member, Object, blank, object_at
from .style import Style, is_one_line, style_of

Splice = tuple[int, int, str]  # the new text instead of `text[start:end]`


def spliced(text: str, splices: list[Splice]) -> str:
    parts, done = [], 0
    for start, end, new in sorted(splices, key=lambda splice: splice[:2]):
        parts += [text[done:start], new]
        done = end
    return "".join([*parts, text[done:]])


def with_item(text: str, whole: Member, at: int, new: str, style: Style) -> Splice:
    """One more object in a list of them, which then has that index. Between it and those beside
    it stands what stands between two there."""
    items: tuple[Object, ...] = whole.value
    if not items:
        last = style.end + style.outer.removesuffix(style.unit or "")
        return whole.start + 1, whole.end - 1, f"{style.end}{style.outer}{new}{last}"
    between = style.item + text[whole.start + 1 : blank(text, whole.start + 1)]
    if len(items) > 1:
        beside = min(max(at - 1, 0), len(items) - 2)
        between = text[items[beside].end : items[beside + 1].start]
    if at == 0:
        return items[0].start, items[0].start, new + between
    return items[at - 1].end, items[at - 1].end, between + new


def without_item(whole: Member, at: int) -> Splice:
    """What `with_item` added."""
    items: tuple[Object, ...] = whole.value
    if len(items) == 1:
        return whole.start + 1, whole.end - 1, ""
    return (
        (items[0].start, items[1].start, "") if at == 0 else (items[at - 1].end, items[at].end, "")
    )


def with_members(text: str, item: Object, values: dict[str, Any], style: Style) -> list[Splice]:
    """An object with members, where these have other values; a new one stands where its name sorts,
    in an object that is sorted, else at the end."""
    splices = []
    for key, value in sorted(values.items()):
        if member := item.members.get(key):
            old = text[member.start : member.end]
            flat = isinstance(member.value, list) and member.value and is_one_line(old)
            written = style.on_one_line() if flat else style
            splices.append((member.start, member.end, written.written(value, style.inner)))
        else:
            new = f"{style.written(key, '')}{style.key}{style.written(value, style.inner)}"
            splices.append(_added(item, key, new, style))
    return splices


def merged(text: str, item: Object, key: str, values: dict[str, Any], style: Style) -> list[Splice]:
    """An object with members, where that of the object `key` have these values."""
    member = item.members.get(key)
    if not member or not isinstance(member.value, dict) or not member.value:
        return with_members(text, item, {key: values}, style)
    inner = object_at(text, member.start)
    return with_members(text, inner, values, style_of(text, inner))


def _added(item: Object, key: str, new: str, style: Style) -> Splice:
    between = style.item if style.unit is None else style.item + style.end + style.inner
    *_, last = item.members.values()
    if behind := next(_sorted_behind(item, key), None):
        return behind.key, behind.key, new + between
    return last.end, last.end, between + new


def _sorted_behind(item: Object, key: str) -> Iterator[Member]:
    if [*item.members] == sorted(item.members):
        yield from (member for name, member in item.members.items() if name > key)
