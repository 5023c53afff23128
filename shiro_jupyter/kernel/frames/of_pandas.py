"""Tables of pandas, read from the blocks that hold their cells.

Nothing of the table itself is called: a subclass may give `columns` or `copy` a meaning of its own,
`attrs` are copied along with whatever they hold, and a column may be an array of their own class.
"""

from __future__ import annotations

import datetime
import decimal
from functools import cached_property
from typing import Any

from ..describe import (
    class_name,
    comes_from,
    instance_dict,
    is_numpy_scalar,
    known_zone,
    library,
    missing_marks,
    number,
)
from .base import ADDED_UP, TOP, Facts, Frame, cell, extreme
from .of_arrow import arrow_type, is_arrow

# Columns from which on rows are not compared as wholes, and labels that are read for a start.
WIDE = 100
# Types whose `__eq__` and `__hash__` are none of the person's, by identity.
_SAFE_CELLS = frozenset(map(id, (str, bool, int, float, datetime.date, decimal.Decimal)))


class PandasFrame(Frame):
    def __init__(self, data: Any) -> None:
        super().__init__(data)
        self.kind = class_name(type(data))
        manager: Any = instance_dict(data)["_mgr"]
        self._axes, self._arrays = manager.axes, [block.values for block in manager.blocks]
        self._blocks, self._rows_of = self._places(manager)

    def _places(self, manager: Any) -> tuple[Any, Any]:
        """For each column the number of its array, and of its row in that."""
        numbers, rows, labels = manager._blknos, manager._blklocs, manager.axes[0]
        if numbers is None:  # not yet known; what looks leaves that to pandas
            places = [block.mgr_locs.as_array for block in manager.blocks]
            width, empty = sum(map(len, places)), library("numpy")["full"]
            numbers, rows = empty(width, -1), empty(width, -1)
            for number, columns in enumerate(places):
                numbers[columns], rows[columns] = number, range(len(columns))
        if (_is_readable(labels) and len(labels) != len(numbers)) or (numbers < 0).any():
            raise ValueError("the table is changing")
        return numbers, rows

    def _array(self, index: int) -> Any:
        return self._arrays[self._blocks[index]]

    @cached_property
    def shape(self) -> tuple[int, int]:
        ours = (int(array.shape[-1]) for array in self._arrays if _is_ours(array))
        rows = next(ours, None)
        if rows is None and not _is_readable(self._axes[-1]):
            raise ValueError("its rows are of a class of their own")
        return len(self._axes[-1]) if rows is None else rows, len(self._blocks)

    @cached_property
    def _first(self) -> list[str]:
        return self._named(WIDE)

    @cached_property
    def _names(self) -> list[str]:
        return self._named(len(self._blocks))

    def _named(self, how_many: int) -> list[str]:
        labels = self._axes[0]
        if not _is_readable(labels):
            return [f"column {n}" for n in range(min(how_many, len(self._blocks)))]
        return [_label(each) for each in labels[:how_many].tolist()]

    def names(self) -> list[str]:
        return self._names

    def name(self, index: int) -> str:
        return self._first[index] if index < WIDE else self._names[index]

    def dtype(self, index: int) -> str:
        array = self._array(index)
        return _dtype(array.dtype) if _is_ours(array) else class_name(type(array))

    def stored_missing(self, index: int) -> int | None:
        return None

    def missing(self, index: int) -> int | None:
        if not _is_ours(self._array(index)):
            return None
        series = self.select(index)
        return _object_cells(series)[0] if _holds_objects(series) else int(series.isna().sum())

    def slow(self, index: int) -> bool:
        array = self._array(index)
        return _is_ours(array) and array.dtype.kind == "O"

    def select(self, index: int) -> Any:
        array = self._array(index)
        if not _is_ours(array):  # an object of its class, as any other
            return array
        if array.ndim == 2:
            array = array[self._rows_of[index]]
        return library("pandas")["Series"](
            array, dtype=array.dtype, name=self.name(index), copy=False
        )

    def octets(self) -> int:
        if len(self._arrays) > ADDED_UP:
            return 0
        return sum(int(array.nbytes) for array in self._arrays if _is_ours(array))

    def duplicates(self) -> int | None:
        columns = range(self.shape[1])
        if self.single or len(columns) > WIDE or not all(map(self._comparable, columns)):
            return None
        table = library("pandas")["DataFrame"]({n: self.select(n) for n in columns}, copy=False)
        return int(table.duplicated().sum())

    def rows(self, how_many: int) -> list[list[object]]:
        head = [self._begin(index, how_many) for index in range(self.shape[1])]
        return [list(row) for row in zip(*head, strict=True)]

    def _begin(self, index: int, how_many: int) -> list[object]:
        array = self._array(index)
        if not _is_ours(array):  # its values are the person's to make; by type alone
            return [array] * min(how_many, self.shape[0])
        return list(self.select(index).iloc[:how_many])

    def _comparable(self, index: int) -> bool:
        """Whether counting its values runs no `__eq__` or `__hash__` of the person's."""
        if not _is_ours(self._array(index)):
            return False
        series = self.select(index)
        return _object_cells(series)[1] if _holds_objects(series) else True

    def facts(self, index: int, show_values: bool) -> Facts:
        missing = self.missing(index)
        if not self._comparable(index):
            return Facts(missing)
        series = self.select(index)
        if _holds_objects(series) and missing:  # a Decimal NaN counts as a value for pandas
            series = series[series.notna()]
        if not show_values or missing == self.shape[0]:
            return Facts(missing, int(series.nunique()))
        types = library("pandas")["api"].types
        if types.is_bool_dtype(series.dtype) or not (
            types.is_numeric_dtype(series.dtype) or types.is_datetime64_any_dtype(series.dtype)
        ):
            counts = series.value_counts()
            # A category may have no value.
            counts = counts.iloc[: int((counts.to_numpy() > 0).sum())]
            top = tuple((cell(value), int(n)) for value, n in counts.head(TOP).items())
            return Facts(missing, len(counts), top=top)
        numeric = types.is_numeric_dtype(series.dtype) and series.dtype.kind != "c"
        return Facts(
            missing,
            int(series.nunique()),
            extreme(series.min()),
            extreme(series.max()),
            number(float(series.mean())) if numeric else "",
        )


class PandasSeries(PandasFrame):
    single = True

    def _places(self, manager: Any) -> tuple[Any, Any]:
        return [0], [0]

    def _named(self, how_many: int) -> list[str]:
        name = instance_dict(self.data)["_name"]
        return ["value" if name is None else _label(name)]


def _is_ours(array: Any) -> bool:
    """Whether its cells, and their type, are read by numpy and pandas alone."""
    if not comes_from(type(array), "numpy", "pandas"):
        return False
    dtype = array.dtype
    if not comes_from(type(dtype), "numpy", "pandas"):
        return False
    match class_name(type(dtype)):
        case "ArrowDtype":
            return is_arrow(dtype.pyarrow_dtype)
        case "DatetimeTZDtype":
            return known_zone(dtype.tz)
        case "SparseDtype":
            return bool(dtype.subtype.kind != "O")
        case "CategoricalDtype":
            return _is_readable(dtype.categories)
        case _:
            return True


def _is_readable(axis: Any) -> bool:
    """Whether an index is pandas' own, with what it holds."""
    if not comes_from(type(axis), "pandas"):
        return False
    match class_name(type(axis)):
        case "RangeIndex":
            return True
        case "MultiIndex":
            return all(map(_is_readable, axis.levels))
        case _:
            return _is_ours(axis._data)


def _holds_objects(series: Any) -> bool:
    return bool(series.dtype.kind == "O" and class_name(type(series.dtype)) == "ObjectDType")


def _object_cells(series: Any) -> tuple[int, bool]:
    """How many are missing, and whether the others are safe to compare.

    pandas' own ways ask each object for its class.
    """
    not_given, not_a_time = missing_marks()
    missing, safe = 0, True
    scalars: dict[int, bool] = {}  # by type
    for value in series.to_numpy().tolist():
        cls = type(value)
        if cls is str:
            continue
        if value is None or value is not_given or value is not_a_time:
            missing += 1
        elif cls is decimal.Decimal:
            missing += value.is_nan()
        elif cls is float:
            missing += value != value
        elif id(cls) not in _SAFE_CELLS:
            if id(cls) not in scalars:
                scalars[id(cls)] = is_numpy_scalar(cls)
            if scalars[id(cls)]:
                missing += bool(value != value)
            else:
                safe = False
    return missing, safe


def _dtype(dtype: Any) -> str:
    """As pandas prints it, but for those that may be as long as they like."""
    match class_name(type(dtype)):
        case "ArrowDtype":
            return f"{arrow_type(dtype.pyarrow_dtype)}[pyarrow]"
        case "SparseDtype":
            return f"Sparse[{dtype.subtype}]"
        case _:
            return str(dtype)


def _label(label: object) -> str:
    """A column's name; pandas allows any object there."""
    if type(label) is str:
        return label
    if type(label) is tuple:
        return f"({', '.join(map(_label, label))})"
    return cell(label)
