from __future__ import annotations

import datetime
import sys
import types
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from shiro_jupyter.kernel.describe import known_zone
from shiro_jupyter.kernel.frames import CELL_LIMIT, Frame, cell, frame_of
from tests.support.hostile_names import armed, hostile_class

READ: list[str] = []


def table(value: object) -> Frame:
    frame = frame_of(value)
    assert frame is not None
    return frame


def all_told(value: object) -> str:
    """Everything that is told of a table, in one text."""
    frame = table(value)
    columns = range(frame.shape[1])
    facts = [frame.facts(index, True) for index in columns]
    dtypes = [frame.dtype(index) for index in columns]
    rows = [[cell(each) for each in row] for row in frame.rows(3)]
    return f"{frame.headline()} {frame.names()} {dtypes} {facts} {rows} {frame.duplicates()}"


def test_every_kind_of_column_is_told_as_pandas_prints_it() -> None:
    when = pd.date_range("2024-01-01", periods=2)
    columns: dict[str, Any] = {
        "text": ["a", "b"],
        "objects": pd.Series(["a", 1], dtype=object),
        "category": pd.Categorical(["x", "y"]),
        "whole": pd.array([1, None], dtype="Int64"),
        "flag": pd.array([True, None], dtype="boolean"),
        "when": when,
        "zone": when.tz_localize("Europe/Berlin"),
        "period": pd.period_range("2024", periods=2),
        "span": pd.interval_range(0, 2),
        "gap": pd.to_timedelta([1, 2], unit="D"),
        "sparse": pd.arrays.SparseArray([0, 1]),
        "arrow": pd.array([1, None], dtype=pd.ArrowDtype(pa.int64())),
        "wave": [1j, 2j],
        "number": [0.5, np.nan],
    }
    made = pd.DataFrame(columns)
    frame = table(made)
    for index, name in enumerate(made.columns):
        if name == "sparse":
            assert frame.dtype(index) == "Sparse[int64]"  # whatever fills it
        else:
            assert frame.dtype(index) == str(made.dtypes[name])
        assert frame.missing(index) == made[name].isna().sum()
        assert frame.facts(index, True).distinct == made[name].nunique(), name


def test_a_subclass_is_a_table_under_its_own_name() -> None:
    own = hostile_class("raises", pd.DataFrame, named="Orders")
    made = pd.DataFrame({"a": [1, None], "b": ["x", "x"]})
    made.__class__ = own
    with armed() as called:
        frame = table(made)
        assert frame.headline() == "Orders, 2 rows, 2 columns"
        assert frame.names() == ["a", "b"]
        assert frame.facts(1, True).top == (("x", 2),)
    assert not called


def test_what_a_table_carries_along_is_not_copied() -> None:
    made = pd.DataFrame({"a": [1]})
    made.attrs["held"] = object.__new__(hostile_class("raises"))
    series = pd.Series([1], name="n")
    series.attrs["held"] = made.attrs["held"]
    with armed() as called:
        assert "1 row" in all_told(made)
        assert table(series).names() == ["n"]
        assert "Series, 1 row" in all_told(series)
    assert not called


class Money(ExtensionDtype):
    name, type = "money", float

    @classmethod
    def construct_array_type(cls) -> Any:
        return Amounts


class Amounts(ExtensionArray):
    """A column of the person's own class; every call of it is written down."""

    def __init__(self, numbers: list[float]) -> None:
        self.numbers = numbers

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__"):
            READ.append(name)
        return super().__getattribute__(name)

    def __len__(self) -> int:
        READ.append("len")
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        READ.append("item")
        return self.numbers[index]

    @property
    def dtype(self) -> Money:
        READ.append("dtype")
        return Money()

    @property
    def nbytes(self) -> int:
        return 8

    def isna(self) -> Any:
        return np.zeros(len(self.numbers), dtype=bool)

    def copy(self) -> Any:
        return Amounts(self.numbers)

    def take(self, indices: Any, **more: Any) -> Any:
        return Amounts([self.numbers[index] for index in indices])

    @classmethod
    def _from_sequence(cls, scalars: Any, **more: Any) -> Any:
        return cls(list(scalars))


def test_a_column_of_the_persons_class_is_named_and_not_read() -> None:
    made = pd.DataFrame({"id": [1, 2], "paid": Amounts([1.0, 2.0])})
    READ.clear()
    frame = table(made)
    assert frame.headline() == "DataFrame, 2 rows, 2 columns"
    assert (frame.dtype(1), frame.missing(1)) == ("Amounts", None)
    assert frame.facts(1, True).distinct is None
    assert frame.duplicates() is None
    ids, amounts = zip(*frame.rows(3), strict=True)
    assert list(ids) == [1, 2] and [type(each) for each in amounts] == [Amounts, Amounts]
    assert frame.dtype(0) == "int64" and frame.facts(0, True).high == "2"
    assert type(frame.select(1)) is Amounts  # looked at as any object is
    assert READ == []


class Labels(pd.Index):
    """Labels of the person's own class."""

    def __len__(self) -> int:
        READ.append("len of labels")
        return super().__len__()

    def __getitem__(self, key: Any) -> Any:
        READ.append("a label")
        return super().__getitem__(key)

    def tolist(self) -> list[Any]:
        READ.append("labels")
        return super().tolist()


def test_labels_of_the_persons_class_are_numbered() -> None:
    made: Any = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    labels = pd.Index(["a", "b"])
    labels.__class__ = Labels
    made._mgr.axes[0] = labels
    READ.clear()
    frame = table(made)
    assert frame.names() == ["column 0", "column 1"]
    assert frame.headline() == "DataFrame, 2 rows, 2 columns"
    assert frame.rows(1) == [[1, "x"]]
    assert READ == []


class Zone(datetime.tzinfo):
    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        READ.append("offset")
        return datetime.timedelta()

    dst = utcoffset

    def tzname(self, moment: datetime.datetime | None) -> str:
        READ.append("name")
        return "zone"

    def __str__(self) -> str:
        READ.append("str")
        return "zone"

    __repr__ = __str__


def test_a_time_zone_of_the_persons_is_not_asked() -> None:
    made = pd.DataFrame({"when": pd.to_datetime(["2024-01-01"]).tz_localize(Zone())})
    READ.clear()
    text = all_told(made)
    assert "'DatetimeArray'" in text
    assert READ == []


def test_a_zone_of_pytz_is_known_by_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look-alike: pandas 2 brings pytz along, which makes a class for each zone; 3 does not."""
    base = type("BaseTzInfo", (datetime.tzinfo,), {"__module__": "pytz.tzinfo"})
    berlin = type("Europe/Berlin", (base,), {"__module__": "pytz.tzfile"})
    assert not known_zone(berlin())
    module: Any = types.ModuleType("pytz.tzinfo")
    module.BaseTzInfo = base
    monkeypatch.setitem(sys.modules, "pytz.tzinfo", module)
    assert known_zone(berlin())
    assert not known_zone(Zone())


def test_categories_and_labels_of_the_persons_are_not_asked() -> None:
    held = object.__new__(hostile_class("raises"))
    cells = np.empty(2, dtype=object)
    cells[0], cells[1] = object(), held
    made = pd.DataFrame({"kind": pd.Categorical.from_codes([0, 0], categories=cells)})
    made.columns = pd.Index([held], dtype=object)
    rows = pd.DataFrame({"n": [1, 2]}, index=pd.Index(cells, dtype=object))
    pair = pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")]))
    with armed() as called:
        assert "category" in all_told(made)
        assert table(made).names() == ["<Hostile>"]
        assert "DataFrame, 2 rows, 1 column" in all_told(rows)
        assert table(pair).names() == ["(a, b)"]
    assert not called


def test_looking_reads_no_cell_of_a_large_table() -> None:
    large = table(pd.DataFrame({"x": np.zeros(CELL_LIMIT + 1)}))
    assert not large.cheap
    assert large.headline() == "DataFrame, 1,000,001 rows, 1 column, 8.0 MB"


def test_a_table_that_is_changing_is_said_to_be() -> None:
    made: Any = pd.DataFrame({"a": [1], "b": [2]})
    assert len(made._mgr.blknos) == 2
    made._mgr.axes[0] = pd.Index(["a", "b", "c"])  # as another thread may have left it
    with pytest.raises(ValueError, match="changing"):
        frame_of(made)


def test_the_table_is_left_as_it_is() -> None:
    made: Any = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [3, 4]}).copy()
    made._mgr._blknos = made._mgr._blklocs = None  # as after a change
    assert table(made).rows(9) == [[1, "x", 3], [2, "y", 4]]
    assert made._mgr._blknos is None
    made._mgr.axes[0] = pd.Index(["a", "b", "c", "d"])  # as another thread may have left it
    with pytest.raises(ValueError, match="changing"):
        frame_of(made)


def test_the_cells_are_those_of_the_table() -> None:
    made = pd.DataFrame(np.arange(12).reshape(3, 4), columns=list("abcd"))
    made["e"] = ["x", "y", "z"]
    made.insert(1, "first", made.pop("e"))
    frame = table(made)
    assert frame.names() == list(made.columns)
    assert frame.rows(9) == [list(row) for row in made.itertuples(index=False)]
    for index, name in enumerate(made.columns):
        pd.testing.assert_series_equal(frame.select(index), made[name])
