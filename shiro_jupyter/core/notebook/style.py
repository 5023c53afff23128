"""How a notebook's text is written, so that what is new in it is written alike."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

from ..errors import EditRefused
from .scan import Member, Object, blank

_LINE_END = re.compile(r"\r\n|\n|\r")
_ITEM = re.compile(r"[ \t]*,[ \t]*")
_KEY = re.compile(r"[ \t]*:[ \t]*")
# A backslash, or a character that is written as an escape and need not be.
_ESCAPED = re.compile(r"\\(?:\\|u(?!00[0-7])[0-9a-fA-F]{4})")
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Style:
    """Of an object: its lines begin with `outer`, those of its members with `inner`; a level in
    them is indented by `unit`, None where all of it is one line."""

    unit: str | None
    end: str
    outer: str
    inner: str
    item: str
    key: str
    ascii: bool

    def written(self, value: Any, indent: str) -> str:
        """JSON whose lines after the first begin with `indent`."""
        try:
            text = json.dumps(
                value,
                indent=self.unit,
                separators=(self.item, self.key),
                ensure_ascii=self.ascii,
                sort_keys=True,
            )
        except RecursionError:
            raise EditRefused("What is to be written nests too deep.") from None
        text = _LONE.sub(lambda lone: f"\\u{ord(lone[0]):04x}", text)
        return text if self.unit is None else text.replace("\n", self.end + indent)

    def on_one_line(self) -> Style:
        return replace(self, unit=None, item=", ") if self.unit is not None else self


def style_of(text: str, item: Object) -> Style:
    """Of an object with members."""
    first, *others = item.members.values()
    last = others[-1] if others else first
    opening = text[item.start + 1 : blank(text, item.start + 1)]
    ends = _LINE_END.search(opening)
    outer = _last_line(text[last.end : item.end - 1])
    inner = _last_line(opening)
    deeper = inner.removeprefix(outer) if inner.startswith(outer) else " "
    return Style(
        unit=deeper if ends else None,
        end=ends[0] if ends else "",
        outer=outer,
        inner=inner,
        item=_item(text, first, others, one_line=not ends),
        key=_matched(_KEY, text[first.key_end : first.start], ": "),
        ascii=_is_ascii(text),
    )


def cell_style(text: str, root: Object) -> Style:
    """Of the first cell of a notebook that has none."""
    style = style_of(text, root)
    if style.unit is None:
        return style
    outer = style.inner + style.unit
    return replace(style, outer=outer, inner=outer + style.unit)


def _is_ascii(text: str) -> bool:
    """Whether characters that are not ASCII are written as escapes; not where there are none."""
    if not text.isascii() or "\\u" not in text:
        return False
    return any(found[0] != r"\\" for found in _ESCAPED.finditer(text))


def is_one_line(text: str) -> bool:
    return not _LINE_END.search(text)


def _item(text: str, first: Member, others: list[Member], *, one_line: bool) -> str:
    usual = ", " if one_line else ","
    if not others:
        return usual
    between = _LINE_END.split(text[first.end : others[0].key])[0]
    return _matched(_ITEM, between, usual)


def _matched(pattern: re.Pattern[str], found: str, usual: str) -> str:
    return found if pattern.fullmatch(found) else usual


def _last_line(white: str) -> str:
    return _LINE_END.split(white)[-1]
