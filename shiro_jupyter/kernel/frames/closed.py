"""A table of which the model sees no value, and some columns not at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .base import Facts, Frame

# Types that name fields or values, and what of them does not.
_NAMING = re.compile(r"struct|union|row\b|categor|enum|dict|object", re.IGNORECASE)
_PLAIN = re.compile(r"[^(\[<{]*")


class Closed(Frame):
    """`frame` with these of its columns alone, and without its values. The label of a column on
    its own may be one: that of a row is."""

    def __init__(self, frame: Frame, shown: Sequence[int]) -> None:
        super().__init__(frame.data)
        self.kind, self.single = frame.kind, frame.single
        self._frame, self._shown = frame, shown

    @property
    def shape(self) -> tuple[int, int]:
        return self._frame.shape[0], len(self._shown)

    def names(self) -> list[str]:
        if self.single:
            return ["value"] * len(self._shown)
        names = self._frame.names()
        return [names[index] for index in self._shown]

    def name(self, index: int) -> str:
        return "value" if self.single else self._frame.name(self._shown[index])

    def dtype(self, index: int) -> str:
        return without_categories(self._frame.dtype(self._shown[index]))

    def stored_missing(self, index: int) -> int | None:
        return self._frame.stored_missing(self._shown[index])

    def missing(self, index: int) -> int | None:
        return self._frame.missing(self._shown[index])

    def slow(self, index: int) -> bool:
        return self._frame.slow(self._shown[index])

    def facts(self, index: int, show_values: bool) -> Facts:
        return self._frame.facts(self._shown[index], False)

    def rows(self, how_many: int) -> list[list[object]]:
        return []

    def select(self, index: int) -> Any:
        return self._frame.select(self._shown[index])

    def octets(self) -> int:
        return self._frame.octets()

    def headline(self) -> str:
        private = self._frame.shape[1] - len(self._shown)
        return self._frame.headline() + (f", {private:,} of them private" if private else "")


def without_categories(dtype: str) -> str:
    """A type as text, without values that it allows and fields, whose names may be some."""
    kept = _PLAIN.match(dtype) if _NAMING.search(dtype) else None
    return kept[0].strip() if kept else dtype
