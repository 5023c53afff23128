"""Tables of polars, which stores how many values are missing."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..describe import class_name, comes_from, number
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
        dtype = self._dtypes[index]
        cls = dtype if isinstance(dtype, type) else type(dtype)
        return str(dtype) if comes_from(cls, "polars") else class_name(cls)

    def stored_missing(self, index: int) -> int | None:
        return int(self.select(index).null_count())

    def missing(self, index: int) -> int | None:
        return self.stored_missing(index)

    def select(self, index: int) -> Any:
        return self.data.to_series(index)

    def octets(self) -> int:
        return int(self.data.estimated_size())

    def rows(self, how_many: int) -> list[list[object]]:
        return [list(row) for row in self.data.head(how_many).rows()]

    def facts(self, index: int, show_values: bool) -> Facts:
        series, missing = self.select(index), self.missing(index)
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
