"""Tables and their columns, from what the libraries store; each library by a small adapter.

Shapes, column names and types cost nothing. Anything that reads the cells is asked for only
under a limit, and reads a shallow copy, column by column: pure, and so fit for the agent's
thread, which can look while the main thread is busy for hours. Lazy and distributed tables are
named and never computed.
"""

from __future__ import annotations

import datetime
import decimal
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from .describe import class_name, count, library, missing_marks, number, plain, size

# Cells of a table that may be read just by looking.
CELL_LIMIT = 1_000_000
TOP = 5
# Columns from which on rows are not compared as wholes.
WIDE = 100
# What a library may raise about a table that another thread is changing.
TABLE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)
# Types whose `__eq__` and `__hash__` are none of the person's, by identity.
_SAFE_CELLS = frozenset(map(id, (str, bool, int, float, datetime.date, decimal.Decimal)))


@dataclass(frozen=True)
class Facts:
    """What reading one column found. `top` holds its most frequent values, as text."""

    missing: int
    distinct: int | None = None
    low: str = ""
    high: str = ""
    mean: str = ""
    top: tuple[tuple[str, int], ...] = ()


class Frame(ABC):
    """A table: `kind` as the person knows it. Columns are numbered from 0."""

    kind = "DataFrame"
    # A series: a column on its own.
    single = False

    def __init__(self, data: Any) -> None:
        self.data = data

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]: ...

    @abstractmethod
    def names(self) -> list[str]: ...

    @abstractmethod
    def dtype(self, index: int) -> str: ...

    @abstractmethod
    def stored_missing(self, index: int) -> int | None:
        """How many values are missing, where the library stores that."""

    @abstractmethod
    def missing(self, index: int) -> int:
        """The same, counted."""

    @abstractmethod
    def facts(self, index: int, show_values: bool) -> Facts: ...

    @abstractmethod
    def rows(self, how_many: int) -> list[list[object]]: ...

    @abstractmethod
    def select(self, index: int) -> Any:
        """The column alone, as the library gives it."""

    def octets(self) -> int:
        return 0

    def duplicates(self) -> int | None:
        """Rows that repeat an earlier one; None where that cannot be told cheaply."""
        return None

    @property
    def cheap(self) -> bool:
        rows, columns = self.shape
        return rows * columns <= CELL_LIMIT

    def headline(self) -> str:
        rows, columns = self.shape
        parts = [self.kind, count(rows, "row"), count(columns, "column"), size(self.octets())]
        if self.single:
            del parts[2]
        return ", ".join(part for part in parts if part)


def frame_of(value: object) -> Frame | None:
    """The value as a table, None where it is none whose type is known exactly."""
    adapter = _adapter_of(value)
    return adapter(value) if adapter else None


def is_frame(value: object) -> bool:
    return _adapter_of(value) is not None


def _adapter_of(value: object) -> type[Frame] | None:
    cls = type(value)
    for root, name, adapter in _ADAPTERS:
        if library(root).get(name) is cls:
            return adapter
    return None


def lazy(value: object) -> str:
    """What to say of a table that would have to be computed to be known; else empty."""
    cls = type(value)
    for root, name in _LAZY:
        if library(root).get(name) is cls:
            return f"{root.partition('.')[0]}.{name}, lazy: not computed by looking"
    return ""


class _Pandas(Frame):
    def __init__(self, data: Any, labels: list[object] | None = None) -> None:
        super().__init__(data.copy(deep=False))
        self._names = [_label(each) for each in (labels or self.data.columns)]
        # pandas hashes and compares labels, which may be objects of the person's.
        self.data.columns = range(len(self._names))
        self._dtypes = list(self.data.dtypes)

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape  # type: ignore[no-any-return]

    def names(self) -> list[str]:
        return self._names

    def dtype(self, index: int) -> str:
        return _dtype(self._dtypes[index])

    def stored_missing(self, index: int) -> int | None:
        return None

    def missing(self, index: int) -> int:
        series = self.select(index)
        return _object_cells(series)[0] if _holds_objects(series) else int(series.isna().sum())

    def select(self, index: int) -> Any:
        series = self.data.iloc[:, index]
        series.name = self._names[index]
        return series

    def octets(self) -> int:
        widths = sum(getattr(each, "itemsize", 8) for each in self._dtypes)
        return int(self.shape[0] * widths)

    def duplicates(self) -> int | None:
        if (
            self.single
            or self.shape[1] > WIDE
            or not all(_comparable(self.select(index)) for index in range(self.shape[1]))
        ):
            return None
        return int(self.data.duplicated().sum())

    def rows(self, how_many: int) -> list[list[object]]:
        head = [list(self.select(index).iloc[:how_many]) for index in range(self.shape[1])]
        return [list(row) for row in zip(*head, strict=True)]

    def facts(self, index: int, show_values: bool) -> Facts:
        series, missing = self.select(index), self.missing(index)
        if not _comparable(series):
            return Facts(missing)
        distinct = int(series.nunique())
        if not show_values or missing == len(series):
            return Facts(missing, distinct)
        types = library("pandas")["api"].types
        if types.is_bool_dtype(series.dtype) or not (
            types.is_numeric_dtype(series.dtype) or types.is_datetime64_any_dtype(series.dtype)
        ):
            counts = series.value_counts().head(TOP)
            top = tuple((cell(value), int(n)) for value, n in counts.items())
            return Facts(missing, distinct, top=top)
        numeric = types.is_numeric_dtype(series.dtype) and series.dtype.kind != "c"
        return Facts(
            missing,
            distinct,
            _extreme(series.min()),
            _extreme(series.max()),
            number(float(series.mean())) if numeric else "",
        )


class _PandasSeries(_Pandas):
    kind, single = "Series", True

    def __init__(self, data: Any) -> None:
        name = data.name
        super().__init__(data.to_frame(name="value"), ["value" if name is None else name])


class _Polars(Frame):
    kind = "polars.DataFrame"

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape  # type: ignore[no-any-return]

    def names(self) -> list[str]:
        return list(self.data.columns)

    def dtype(self, index: int) -> str:
        return str(self.data.dtypes[index])

    def stored_missing(self, index: int) -> int | None:
        return int(self.select(index).null_count())

    def missing(self, index: int) -> int:
        return int(self.select(index).null_count())

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
        return Facts(missing, distinct, _extreme(series.min()), _extreme(series.max()), mean)


class _PolarsSeries(_Polars):
    kind, single = "polars.Series", True

    def __init__(self, data: Any) -> None:
        super().__init__(data.to_frame())


class _Arrow(Frame):
    kind = "pyarrow.Table"

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.num_rows, self.data.num_columns

    def names(self) -> list[str]:
        return [field.name for field in self.data.schema]

    def dtype(self, index: int) -> str:
        return str(self.data.schema.field(index).type)

    def stored_missing(self, index: int) -> int | None:
        return int(self.select(index).null_count)

    def missing(self, index: int) -> int:
        return int(self.select(index).null_count)

    def select(self, index: int) -> Any:
        return self.data.column(index)

    def octets(self) -> int:
        return int(self.data.nbytes)

    def rows(self, how_many: int) -> list[list[object]]:
        return [list(row.values()) for row in self.data.slice(0, how_many).to_pylist()]

    def facts(self, index: int, show_values: bool) -> Facts:
        return Facts(self.missing(index))


_ADAPTERS: tuple[tuple[str, str, type[Frame]], ...] = (
    ("pandas", "DataFrame", _Pandas),
    ("pandas", "Series", _PandasSeries),
    ("geopandas", "GeoDataFrame", _Pandas),
    ("polars", "DataFrame", _Polars),
    ("polars", "Series", _PolarsSeries),
    ("pyarrow", "Table", _Arrow),
    ("pyarrow", "RecordBatch", _Arrow),
)
_LAZY: tuple[tuple[str, str], ...] = (
    ("polars", "LazyFrame"),
    ("dask.dataframe", "DataFrame"),
    ("dask.dataframe", "Series"),
    ("dask.array", "Array"),
    ("pyspark.sql", "DataFrame"),
    ("pyspark.sql.connect.dataframe", "DataFrame"),
    ("duckdb", "DuckDBPyRelation"),
    ("ibis", "Table"),
)


def _holds_objects(series: Any) -> bool:
    return str(series.dtype) == "object"


def _comparable(series: Any) -> bool:
    """Whether counting its values runs no `__eq__` or `__hash__` of the person's."""
    if _holds_objects(series):
        return _object_cells(series)[1]
    return type(series.dtype).__module__.partition(".")[0] in ("numpy", "pandas")


def _object_cells(series: Any) -> tuple[int, bool]:
    """How many are missing, and whether the others are safe to compare.

    pandas' own ways ask each object for its class.
    """
    not_given, not_a_time = missing_marks()
    missing, safe = 0, True
    for value in series.to_numpy().tolist():
        cls = type(value)
        if cls is str:
            continue
        if value is None or value is not_given or value is not_a_time:
            missing += 1
        elif cls is float:
            missing += value != value
        elif id(cls) not in _SAFE_CELLS:
            safe = False
    return missing, safe


def _dtype(dtype: Any) -> str:
    """As pandas prints it; an extension of somebody else's by its class alone."""
    root = type(dtype).__module__.partition(".")[0]
    return str(dtype) if root in ("numpy", "pandas") else class_name(type(dtype))


def _label(label: object) -> str:
    """A column's name; pandas allows any object there."""
    if type(label) is str:
        return label
    if type(label) is tuple:
        return f"({', '.join(map(_label, label))})"
    return cell(label)


def _extreme(value: object) -> str:
    return number(float(value)) if isinstance(value, float) else cell(value)


def cell(value: object) -> str:
    """A cell as a person reads it: text without quotes, an unknown object by its type."""
    if value is None or (type(value) is float and value != value):
        return "missing"
    if type(value) is str:
        return value if len(value) <= 40 else value[:39] + "…"
    text = plain(value, 40)
    return f"<{class_name(type(value))}>" if text is None else text
