"""A change in place is seen, and put back for everyone who has the object."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shiro_jupyter.kernel import contents as module
from shiro_jupyter.kernel.contents import contents
from shiro_jupyter.kernel.sizes import size_of


def frame() -> pd.DataFrame:
    made = pd.DataFrame(
        {
            "a": np.arange(5),
            "b": np.arange(5.0),
            "s": list("abcde"),
            "c": pd.Categorical(list("ababa")),
            "d": pd.date_range("2026-01-01", periods=5),
            "z": pd.date_range("2026-01-01", periods=5, tz="UTC"),
            "i": pd.array([1, 2, None, 4, 5]),
            "o": pd.Series([1, "x", None, 2.5, ()], dtype=object),
        }
    )
    made.attrs["unit"] = "EUR"
    return made


CHANGES: dict[str, Callable[[pd.DataFrame], object]] = {
    "a cell": lambda df: df.loc.__setitem__((0, "a"), 9),
    "a text": lambda df: df.loc.__setitem__((0, "s"), "z"),
    "a category": lambda df: df.loc.__setitem__((0, "c"), "b"),
    "a missing integer": lambda df: df.loc.__setitem__((0, "i"), 7),
    "an object": lambda df: df.loc.__setitem__((0, "o"), 7),
    "a time": lambda df: df.loc.__setitem__((0, "z"), df.loc[1, "z"]),
    "many cells": lambda df: df.update(pd.DataFrame({"b": [9.0, 8.0]})),
    "a row more": lambda df: df.loc.__setitem__(9, df.loc[0]),
    "a column more": lambda df: df.__setitem__("n", 1),
    "a column in between": lambda df: df.insert(1, "n", df["a"]),
    "a column less": lambda df: df.__delitem__("a"),
    "a column taken": lambda df: df.pop("d"),
    "a column in place of another": lambda df: df.__setitem__("a", df["b"]),
    "an index": lambda df: setattr(df, "index", list("vwxyz")),
    "a name of the index": lambda df: setattr(df.index, "name", "row"),
    "an attribute": lambda df: df.attrs.__setitem__("unit", "USD"),
    "an attribute more": lambda df: df.attrs.__setitem__("mine", 1),
    "names of columns": lambda df: setattr(df, "columns", list("12345678")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_frame_is_seen_and_put_back(change: str) -> None:
    df = frame()
    alias, before = df, df.copy()
    held = contents(df)
    assert held is not None and held.are_of(df)
    CHANGES[change](df)
    assert not held.are_of(df)
    assert held.put_back(df) and held.are_of(alias)
    pd.testing.assert_frame_equal(alias, before)
    assert alias.attrs == {"unit": "EUR"} and alias.index.name is None
    CHANGES[change](df)  # and what is held stays what it was
    assert held.put_back(df)
    pd.testing.assert_frame_equal(alias, before)


def test_what_only_looks_is_no_change() -> None:
    df = frame()
    held = contents(df)
    df["a"].sum(), df.head(), df.describe(), df.groupby("s").size(), df.to_numpy(), df.copy()
    df["b"].iloc[0]
    column = df["b"]
    column.iloc[0] = 100.0  # of a copy, under copy-on-write
    assert held is not None and held.are_of(df)


def test_a_series_is_put_back_with_its_name() -> None:
    series = pd.Series([1, 2, 3], name="x")
    held = contents(series)
    series.iloc[0], series.name = 5, "y"
    assert held is not None and not held.are_of(series) and held.put_back(series)
    assert series.tolist() == [1, 2, 3] and series.name == "x"
    series.name = "z"
    assert not held.are_of(series)


PLAIN: list[tuple[Any, Callable[[Any], object]]] = [
    ([1, 2], lambda x: x.append(3)),
    ([1, 2], lambda x: x.reverse()),
    ({"a": 1}, lambda x: x.update(a=2)),
    ({"a": 1, "b": 2}, lambda x: x.__setitem__("a", x.pop("a"))),  # the order
    ({1, 2}, lambda x: x.discard(1)),
    (np.arange(4), lambda x: x.__setitem__(0, 9)),
    (np.array([np.nan, 1.0]), lambda x: x.__setitem__(1, np.nan)),
    (OrderedDict(a=1, b=2), lambda x: x.move_to_end("a")),
    (defaultdict(list, a=[1]), lambda x: x["b"]),
    (Counter("aab"), lambda x: x.update("b")),
    (deque([1, 2], maxlen=3), lambda x: x.appendleft(0)),
    (bytearray(b"ab"), lambda x: x.extend(b"c")),
    ({"a": {"b": [1, 2]}}, lambda x: x["a"]["b"].append(3)),
    ([[1], {"a": np.arange(3)}], lambda x: x[1]["a"].fill(9)),
    ({"t": pd.DataFrame({"a": [1, 2]})}, lambda x: x["t"].insert(0, "b", 1)),
    (pl.DataFrame({"a": [1, 2]}), lambda x: x.insert_column(0, pl.Series("b", [3, 4]))),
    (pl.DataFrame({"a": [1, None]}), lambda x: x.__setitem__((0, "a"), 7)),
    (pl.DataFrame({"a": [1, 2]}), lambda x: x.drop_in_place("a")),
    (pl.Series("a", [1, 2]), lambda x: x.__setitem__(0, 7)),
    (pl.Series("a", [1, 2]), lambda x: x.append(pl.Series("a", [3]))),
]


@pytest.mark.parametrize("number", range(len(PLAIN)))
def test_a_change_of_a_list_dict_set_or_array_is_seen_and_put_back(number: int) -> None:
    value, change = PLAIN[number]
    held, before = contents(value), repr(value)
    assert held is not None and held.are_of(value)
    change(value)
    assert not held.are_of(value) and held.put_back(value)
    assert repr(value) == before and held.are_of(value)


def test_a_list_that_holds_itself_is_looked_through_once() -> None:
    value: list[Any] = [1]
    value.append(value)
    held = contents(value)
    assert held is not None and held.are_of(value)
    value[0] = 2
    assert not held.are_of(value) and held.put_back(value) and value[0] == 1 and value[1] is value


def test_what_is_inside_and_cannot_be_put_back_leaves_all_as_it_is() -> None:
    value = {"big": np.zeros(300_000), "small": [1]}
    held = contents(value)
    value["big"][5], value["new"] = 1, 2  # type: ignore[index]
    assert held is not None and not held.are_of(value) and not held.put_back(value)
    assert value["big"][5] == 1 and value["new"] == 2  # type: ignore[index]


def test_arrays_inside_are_kept_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._Budget, "__init__", lambda self: vars(self).update(BUDGET))
    value = [np.zeros(100) for _ in range(5)]
    held = contents(value)
    assert held is not None
    value[4][0] = 1
    assert not held.are_of(value) and not held.put_back(value)
    value[4][0], value[0][0] = 0, 1
    assert held.put_back(value) and value[0][0] == 0


BUDGET = {"objects": 10, "octets": 1_700, "depth": 3}


def test_attributes_of_own_functions_and_objects_are_seen_and_not_put_back() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("class Model:\n    rate = 1\ndef f(): pass\nmodel = Model()", names)
    for value in (names["f"], names["model"]):
        held = contents(value)
        assert held is not None and held.are_of(value) and held.sure and not held.restores
        value.cache = 1
        assert not held.are_of(value) and not held.put_back(value)
    assert contents(SimpleNamespace(a=1)) is None and contents(len) is None


def test_what_is_held_of_items_that_went_is_counted() -> None:
    value: list[Any] = [np.zeros(300_000), 1]
    held = contents(value)
    assert held is not None and held.beyond(value) < 1_000
    value[0] = 2
    assert held.beyond(value) >= 2_400_000 and held.beyond(None) >= 2_400_000


def test_some_changes_of_a_very_large_array_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SUMMED", 1_000)
    value = np.zeros((600, 600))
    held = contents(value)
    value += 1
    assert held is not None and not held.sure and not held.are_of(value)


def test_what_is_large_is_not_kept_but_some_changes_of_it_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "HELD", 1_000)
    monkeypatch.setattr(module, "ITEMS", 10)
    for value, change in (
        (list(range(11)), lambda x: x.append(1)),
        (pd.DataFrame({"a": np.arange(1_000)}), lambda x: x.__setitem__("b", 1)),
    ):
        held = contents(value)
        assert held is not None and held.are_of(value)
        change(value)
        assert not held.are_of(value) and not held.put_back(value)


@pytest.mark.parametrize(
    "made",
    [
        lambda: np.zeros(300_000),
        lambda: np.zeros((600, 600))[:, ::2],
        lambda: np.array([1, "x", ()], dtype=object),
        lambda: np.full(200_000, np.datetime64("2026-01-01")),
    ],
)
def test_any_change_of_an_array_that_is_not_kept_is_seen(made: Callable[[], Any]) -> None:
    value = made()
    held = contents(value)
    assert held is not None and held.are_of(value) and held.sure and not held.restores
    value[-1] = value[0] if value.dtype.hasobject else np.array(7).astype(value.dtype)
    changed = contents(value)
    assert not held.are_of(value) and changed and not held.are(changed)


def test_what_is_too_large_to_look_through_is_not_said_to_be_sure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SUMMED", 1_000)
    monkeypatch.setattr(module, "ITEMS", 10)
    for value in (np.zeros(300_000), list(range(11)), dict.fromkeys(range(11)), set(range(11))):
        held = contents(value)
        assert held is not None and held.are_of(value) and not held.sure


def test_older_pandas_whose_copies_are_not_safe_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pd, "__version__", "2.3.0")
    monkeypatch.setattr(pd, "options", SimpleNamespace(mode=SimpleNamespace(copy_on_write="warn")))
    df = frame()
    held = contents(df)
    df["n"] = 1
    assert held is not None and not held.are_of(df) and not held.put_back(df)


def test_nothing_of_the_persons_own_is_run() -> None:
    class Mine(list[int]):
        def __len__(self) -> int:
            raise AssertionError

        __sizeof__ = __iter__ = copy = __len__  # type: ignore[assignment]

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

    assert contents(Mine()) is None and size_of(Mine()) >= 100
