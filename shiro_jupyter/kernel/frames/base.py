"""What is told of a table, whatever library made it, and the words for a cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from ..describe import class_name, count, number, one_line, plain, size

# Cells of a table that may be read just by looking.
CELL_LIMIT = 1_000_000
# Rows up to which a listing counts a column of which each cell is asked in Python: a millisecond.
SLOW_ROWS = 20_000
TOP = 5
# Arrays of a table whose sizes are added up.
ADDED_UP = 1_000
# What a library may raise about a table that another thread is changing, or where the person has
# made errors of warnings.
TABLE_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
    Warning,
)


@dataclass(frozen=True)
class Facts:
    """What reading one column found. `top` holds its most frequent values, as text."""

    missing: int | None
    distinct: int | None = None
    low: str = ""
    high: str = ""
    mean: str = ""
    top: tuple[tuple[str, int], ...] = ()


class Frame(ABC):
    """A table in memory: `kind` as the person knows it. Columns are numbered from 0."""

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

    def name(self, index: int) -> str:
        return self.names()[index]

    @abstractmethod
    def dtype(self, index: int) -> str: ...

    @abstractmethod
    def stored_missing(self, index: int) -> int | None:
        """How many values are missing, where the library stores that."""

    @abstractmethod
    def missing(self, index: int) -> int | None:
        """The same, counted; None where that would run code of somebody else's."""

    def slow(self, index: int) -> bool:
        """Whether counting asks each cell in Python."""
        return False

    @abstractmethod
    def facts(self, index: int, show_values: bool) -> Facts: ...

    @abstractmethod
    def rows(self, how_many: int) -> list[list[object]]: ...

    @abstractmethod
    def select(self, index: int) -> Any:
        """The column alone, as the library gives it."""

    def octets(self) -> int:
        """How large it is; 0 where that takes long to tell."""
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


def extreme(value: object) -> str:
    return number(float(value)) if isinstance(value, float) else cell(value)


def cell(value: object) -> str:
    """A cell as a person reads it: text without quotes, an unknown object by its type."""
    if value is None or (type(value) is float and value != value):
        return "missing"
    if type(value) is str:
        return one_line(value if len(value) <= 40 else value[:39] + "…")
    text = plain(value, 40)
    return f"<{class_name(type(value))}>" if text is None else text
