"""Tables of polars, which stores how many values are missing."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..describe import class_name, comes_from, derives, number
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
        text = str(dtype) if _is_polars(dtype) else class_name(_class_of(dtype))
        return text if len(text) <= 80 else text[:79] + "…"

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


def _class_of(dtype: Any) -> type:
    """polars takes a type's class for the type where it has no parameters."""
    return dtype if derives(dtype, type) else type(dtype)


def _is_polars(dtype: Any) -> bool:
    """Whether it is polars' own, all through: an extension is a class of somebody else's."""
    if not comes_from(_class_of(dtype), "polars"):
        return False
    inner = getattr(dtype, "inner", None)
    parts = [field.dtype for field in getattr(dtype, "fields", ())]
    return all(map(_is_polars, parts if inner is None else [inner]))
