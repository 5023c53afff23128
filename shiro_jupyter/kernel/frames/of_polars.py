"""Tables of polars, which stores how many values are missing."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..describe import class_name, comes_from, cut, derives, number, one_line
from .base import TOP, Facts, Frame, cell, extreme


class PolarsFrame(Frame):
    kind = "polars.DataFrame"

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape  # type: ignore[no-any-return]

    @cached_property
    def _names(self) -> list[str]:
        return list(self.data.columns)

    @cached_property
    def _dtypes(self) -> list[Any]:
        return list(self.data.dtypes)

    def names(self) -> list[str]:
        return self._names

    def dtype(self, index: int) -> str:
        return cut(_text(self._dtypes[index]), 80)

    def stored_missing(self, index: int) -> int | None:
        """NaN, which is missing as well, is not."""
        return None if self._dtypes[index].is_float() else int(self.select(index).null_count())

    def missing(self, index: int) -> int | None:
        return int(self._known(index).null_count())

    def _known(self, index: int) -> Any:
        """The column with null for NaN, as cells of both are told alike."""
        series = self.select(index)
        return series.fill_nan(None) if series.dtype.is_float() else series

    def select(self, index: int) -> Any:
        return self.data.to_series(index)

    def octets(self) -> int:
        return int(self.data.estimated_size())

    def rows(self, how_many: int) -> list[list[object]]:
        head = self.data.head(how_many)
        columns = [self._begin(head.to_series(index)) for index in range(self.shape[1])]
        return [list(row) for row in zip(*columns, strict=True)]

    def _begin(self, head: Any) -> list[object]:
        """A list may be as long as it likes; it is told by its type alone."""
        return [[]] * len(head) if head.dtype.is_nested() else list(head)

    def facts(self, index: int, show_values: bool) -> Facts:
        series, missing = self._known(index), self.missing(index)
        dtype = series.dtype
        if dtype.is_nested() or str(dtype) in ("Object", "Null", "Unknown", "Binary"):
            return Facts(missing)
        distinct = int(series.drop_nulls().n_unique())
        if not show_values or missing == len(series):
            return Facts(missing, distinct)
        if not (dtype.is_numeric() or dtype.is_temporal()):
            counts = series.drop_nulls().value_counts(sort=True).head(TOP)
            top = tuple((cell(value), int(n)) for value, n in counts.rows())
            return Facts(missing, distinct, top=top)
        mean = number(float(series.mean())) if dtype.is_numeric() else ""
        return Facts(missing, distinct, extreme(series.min()), extreme(series.max()), mean)


class PolarsSeries(PolarsFrame):
    kind, single = "polars.Series", True

    def __init__(self, data: Any) -> None:
        super().__init__(data.to_frame())


def _class_of(dtype: Any) -> type:
    """polars takes a type's class for the type where it has no parameters."""
    return dtype if derives(dtype, type) else type(dtype)


def _text(dtype: Any) -> str:
    """As polars prints it, but for an Enum, whose categories are values, and for an extension,
    which is a class of somebody else's."""
    cls = _class_of(dtype)
    name = class_name(cls)
    if not comes_from(cls, "polars") or name == "Enum":
        return name
    if (inner := getattr(dtype, "inner", None)) is not None:
        return f"{name}({_text(inner)})"
    if fields := getattr(dtype, "fields", ()):
        return f"{name}({', '.join(f'{one_line(f.name)}: {_text(f.dtype)}' for f in fields)})"
    return str(dtype)
