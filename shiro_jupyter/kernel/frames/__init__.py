"""Tables and their columns, from what the libraries store; each library by a small adapter.

Shapes, column names and types cost nothing. Anything that reads the cells is asked for only
under a limit, and column by column: pure, and so fit for the agent's thread, which can look while
the main thread is busy for hours. Lazy and distributed tables are named and never computed.
"""

from __future__ import annotations

from ..describe import class_name, library, mro_of
from .base import CELL_LIMIT, SLOW_ROWS, TABLE_ERRORS, Facts, Frame, cell
from .closed import Closed, without_categories
from .lazy import Lazy, is_lazy, lazy_column, lazy_of
from .of_arrow import ArrowBatch, ArrowTable
from .of_pandas import PandasFrame, PandasSeries
from .of_polars import PolarsFrame, PolarsSeries

__all__ = [
    "CELL_LIMIT",
    "SLOW_ROWS",
    "TABLE_ERRORS",
    "Closed",
    "Facts",
    "Frame",
    "Lazy",
    "cell",
    "frame_of",
    "is_frame",
    "is_lazy",
    "lazy_column",
    "lazy_of",
    "without_categories",
]

# By the name of the class, since a listing asks of every variable.
_EXACTLY: dict[str, tuple[str, type[Frame]]] = {
    "DataFrame": ("polars", PolarsFrame),
    "Series": ("polars", PolarsSeries),
    "Table": ("pyarrow", ArrowTable),
    "RecordBatch": ("pyarrow", ArrowBatch),
}
# Read past what a subclass overrides, so that a subclass is a table, too.
_DERIVED: tuple[tuple[str, type[Frame]], ...] = (
    ("DataFrame", PandasFrame),
    ("Series", PandasSeries),
)


def frame_of(value: object) -> Frame | None:
    """The value as a table in memory, None where it is none whose type is known.

    Raises one of `TABLE_ERRORS` where it cannot be read, or not now.
    """
    adapter = _adapter_of(value)
    return adapter(value) if adapter else None


def is_frame(value: object) -> bool:
    return _adapter_of(value) is not None


def _adapter_of(value: object) -> type[Frame] | None:
    cls = type(value)
    name = class_name(cls)
    root, exactly = _EXACTLY.get(name, ("", None))
    if exactly and library(root).get(name) is cls:
        return exactly
    pandas, bases = library("pandas"), mro_of(cls)
    for base, adapter in _DERIVED if pandas and len(bases) > 2 else ():
        if any(each is pandas.get(base) for each in bases):
            return adapter
    return None
