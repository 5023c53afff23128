from __future__ import annotations

import collections
import contextlib
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.kernel.namespace import LISTING_LIMIT, Namespace
from shiro_jupyter.kernel.privacy import Privacy

RAN: list[str] = []


def namespace(hidden: dict[str, object] | None = None, **names: object) -> Namespace:
    return Namespace(types.SimpleNamespace(user_ns=names, user_ns_hidden=hidden or {}))


def namespace_of(private: Private, **names: object) -> Namespace:
    """Of variables that cells of the person's own made."""
    cells = [f"{name} = 0" for name in names]
    shell = types.SimpleNamespace(
        user_ns=names,
        user_ns_hidden={},
        history_manager=types.SimpleNamespace(input_hist_parsed=["", *cells]),
    )
    return Namespace(shell, Privacy(shell, private))


def without_values(**names: object) -> Namespace:
    return namespace_of(Private(schema_only=True), **names)


def orders() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "order_id": [1, 2, 3, 4],
            "region": ["north", "south", "north", None],
            "amount": [2.5, math.nan, 990.0, 7.5],
            "placed": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-03-01"]),
            "paid": [True, False, True, True],
        }
    )


# -- hostile objects -------------------------------------------------------------------------


def effect(what: str) -> Any:
    RAN.append(what)
    raise RuntimeError(what)


class HostileMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        return effect(f"metaclass {name}")

    def __hash__(cls) -> int:
        return int(effect("hash of a class"))

    def __eq__(cls, other: object) -> bool:
        return bool(effect("equality of a class"))

    def __repr__(cls) -> str:
        return str(effect("repr of a class"))

    def __instancecheck__(cls, instance: object) -> bool:
        return bool(effect("isinstance"))


class Hostile(metaclass=HostileMeta):
    def __getattribute__(self, name: str) -> Any:
        return effect(f"attribute {name}")

    def __repr__(self) -> str:
        return str(effect("repr"))

    __str__ = __repr__

    def __len__(self) -> int:
        return int(effect("len"))

    def __iter__(self) -> Iterator[object]:
        yield effect("iter")

    def __hash__(self) -> int:
        return int(effect("hash"))

    def __eq__(self, other: object) -> bool:
        return bool(effect("eq"))

    def __bool__(self) -> bool:
        return bool(effect("bool"))


class Liar:
    """Says that it is a table."""

    @property
    def __class__(self) -> Any:
        return effect("__class__")

    @property
    def __dict__(self) -> Any:
        return effect("__dict__")

    @property
    def shape(self) -> Any:
        return effect("shape")


class DataFrame(Hostile):
    __module__ = "pandas"
    __qualname__ = "DataFrame"


class HostileDict(dict[str, int]):
    def __len__(self) -> int:
        return int(effect("dict len"))

    def __iter__(self) -> Iterator[str]:
        yield effect("dict iter")

    def items(self) -> Any:
        return effect("dict items")


class HostileList(list[int]):
    def __len__(self) -> int:
        return int(effect("list len"))

    def __getitem__(self, index: Any) -> Any:
        return effect("list item")

    def __iter__(self) -> Iterator[int]:
        yield effect("list iter")


class HostileText(str):
    def __repr__(self) -> str:
        return str(effect("text repr"))

    __str__ = __repr__

    def __len__(self) -> int:
        return int(effect("text len"))


class HostileNumber(int):
    def __repr__(self) -> str:
        return str(effect("number repr"))

    __str__ = __repr__


class Zone(datetime.tzinfo):
    def utcoffset(self, moment: datetime.datetime | None) -> datetime.timedelta:
        return effect("zone")  # type: ignore[no-any-return]


class OwnFrame(pd.DataFrame):
    @property
    def columns(self) -> Any:
        return effect("columns")


def hostile_names() -> dict[str, object]:
    return {
        "hostile": Hostile(),
        "hostile_class": Hostile,
        "liar": Liar(),
        "fake_frame": DataFrame(),
        "mapping": HostileDict(a=1, b=2),
        "sequence": HostileList([1, 2, 3]),
        "text": HostileText("hello"),
        "number": HostileNumber(7),
        "moment": datetime.datetime(2024, 1, 1, tzinfo=Zone()),
        "holder": types.SimpleNamespace(inner=Hostile(), table=DataFrame()),
        "items": [Hostile(), Liar()],
        "keyed": {"a": Hostile(), 3: Liar()},
        "cells": pd.DataFrame({"x": pd.Series([Liar(), Liar()], dtype=object)}),
        "own_frame": OwnFrame({"a": [1]}),
    }


def test_looking_runs_no_code_of_the_persons() -> None:
    names = hostile_names()
    space = namespace(**names)
    RAN.clear()
    listing = space.listing()
    for name in names:
        with contextlib.suppress(ToolFailed):
            space.inspect(name)
    for part in ("hostile.x", "liar.shape", "mapping['a']", "sequence[1]", "holder.inner.y"):
        with contextlib.suppress(ToolFailed):
            space.inspect(part)
    assert RAN == []
    for line in (
        "classes: hostile_class",
        "mapping: HostileDict, 2 items",
        "sequence: HostileList, 3 items of int",
        "text: HostileText, 5 characters = 'hello'",
        "number: HostileNumber = 7",
        "moment: datetime = 2024-01-01 00:00:00",
        "cells: DataFrame, 2 rows, 1 column: x (object)",
    ):
        assert line.split(": ")[-1] in listing, line
    assert "fake_frame: pandas.DataFrame\n" in listing  # by its own word, and nothing of it read
    assert space.inspect("sequence[1]") == "sequence[1]: int = 2"
    RAN.clear()


def test_an_object_that_blocks_does_not_block_the_listing() -> None:
    never = threading.Event()

    class Blocking:
        def __repr__(self) -> str:
            never.wait()
            return ""

        def __len__(self) -> int:
            never.wait()
            return 0

        def __getattr__(self, name: str) -> object:
            never.wait()
            return None

    assert "blocking: " in namespace(blocking=Blocking()).listing()


# -- the listing -----------------------------------------------------------------------------


def test_tables_come_first_with_columns_types_and_missing_values() -> None:
    listing = namespace(threshold=5, orders=orders(), names=["a", "b"]).listing()
    assert listing.splitlines() == [
        "3 variables:",
        "orders: DataFrame, 4 rows, 5 columns: order_id (int64), region (str, 1 missing), "
        f"amount (float64, 1 missing), placed ({orders()['placed'].dtype}, 1 missing), "
        "paid (bool)",
        "threshold: int = 5",
        "names: list, 2 items of str",
    ]


def test_polars_tables_and_lazy_ones() -> None:
    frame = pl.DataFrame({"a": [1, None], "s": ["x", "y"]})
    listing = namespace(frame=frame, plan=frame.lazy(), column=frame["a"]).listing()
    assert "frame: polars.DataFrame, 2 rows, 2 columns: a (Int64, 1 missing), s (String)" in listing
    assert "plan: polars.LazyFrame, lazy (reduce before .collect())" in listing
    assert "column: polars.Series, 2 rows: a (Int64, 1 missing)" in listing


def test_looking_at_a_lazy_table_reads_no_file(tmp_path: pathlib.Path) -> None:
    plan = pl.scan_csv(tmp_path / "missing.csv")
    assert namespace(plan=plan).inspect("plan") == (
        "plan: polars.LazyFrame, lazy (reduce before .collect())\n"
        "Nothing of it was computed by looking."
    )


def test_plain_values() -> None:
    class Colour(enum.IntEnum):
        RED = 1

    values: dict[str, tuple[object, str]] = {
        "yes": (True, "bool = True"),
        "nothing": (None, "None"),
        "big": (10**5_000, "int = an integer of 16,610 bits"),
        "ratio": (0.1, "float = 0.1"),
        "text": ("it's", 'str, 4 characters = "it\'s"'),
        "raw": (b"abc", "bytes = 3 bytes"),
        "when": (datetime.date(2024, 1, 2), "date = 2024-01-02"),
        "price": (decimal.Decimal("1.50"), "Decimal = 1.50"),
        "place": (pathlib.PurePosixPath("/a/b"), "pathlib.PurePosixPath = /a/b"),
        "colour": (Colour.RED, "= 1"),
        "scalar": (np.float64(2.5), "numpy.float64 = 2.5"),
        "stamp": (pd.Timestamp("2024-01-02"), "pandas.Timestamp = 2024-01-02 00:00:00"),
        "gone": (pd.NA, "missing"),
        "counts": (collections.Counter("aab"), "collections.Counter, 2 items"),
        "pair": ((1, "a"), "tuple, 2 items of int and str"),
        "empty": ([], "list, 0 items"),
        "grid": (np.zeros((3, 4)), "ndarray, shape 3 x 4, float64"),
        "dot": (np.array(1), "ndarray, shape no dimension, int64"),
        "large": (np.zeros(2_000_000), "ndarray, shape 2,000,000, float64, 16.0 MB"),
    }
    listing = namespace(**{name: value for name, (value, _) in values.items()}).listing()
    for name, (_, text) in values.items():
        line = next(each for each in listing.splitlines() if each.startswith(f"{name}: "))
        assert line.endswith(text), line


def test_functions_classes_and_modules_are_a_line_each() -> None:
    def load(path: str, *parts: str, year: int = 2024, **more: object) -> None: ...

    listing = namespace(load=load, Decimal=decimal.Decimal, math=math, np=np, n=1).listing()
    assert listing.splitlines() == [
        "1 variable:",
        "n: int = 1",
        "functions: load(path, year, *parts, **more)",
        "classes: Decimal",
        "modules: math, np (numpy)",
    ]


def test_private_hidden_and_denied_names_are_left_out() -> None:
    secret = "s3cret"
    space = namespace({"exit": exit, "In": RAN}, exit=exit, In=RAN, _1=secret, __=secret, open=3)
    assert space.listing() == "1 variable:\nopen: int = 3"
    # A name of IPython's that the person has given another meaning is theirs.
    assert "exit: int = 1" in namespace({"exit": exit}, exit=1).listing()
    denied = namespace_of(Private(("*_key",)), api_key=secret, n=1)
    assert denied.listing() == "1 variable:\nn: int = 1"
    with pytest.raises(ToolFailed, match=r"No variable 'api_key'; there are n\."):
        denied.inspect("api_key")
    with pytest.raises(ToolFailed):
        space.inspect("_1")


def test_a_match_narrows_the_listing() -> None:
    space = namespace(orders=1, old_orders=2, customers=3)
    assert space.listing("ORDERS").splitlines()[0] == "2 variables:"
    assert space.listing("zebra") == "No variable's name holds 'zebra'."
    assert namespace().listing() == "No variables yet."


def test_two_thousand_names_fit_the_limit_and_are_counted() -> None:
    listing = namespace(**{f"name_{n}": n for n in range(2_000)}).listing()
    assert len(listing) <= LISTING_LIMIT
    lines = listing.splitlines()
    assert lines[:2] == ["2,000 variables:", "name_0: int = 0"]
    described = len(lines) - 2
    named, others = lines[-1].removesuffix(" others").rsplit("… and ", 1)
    assert named.startswith(f"and {2_000 - described:,} more variables: name_{described}, ")
    assert described + named.count("name_") + int(others.replace(",", "")) == 2_000


def test_a_hundred_thousand_names_are_grouped_and_the_nearest_is_found() -> None:
    names: dict[str, object] = {f"name_{n}": n for n in range(100_000)}
    space = namespace(**names, table=orders(), load=effect, last_module=math)
    lines = space.listing().splitlines()
    assert lines[0] == "100,001 variables:"
    assert lines[1].startswith("table: DataFrame, 4 rows, 5 columns: ")
    assert lines[-2:] == ["functions: load(what)", "modules: last_module (math)"]
    assert lines[-3].startswith("and 99,")
    for wrong, right in {
        "nane_54321": "name_54321",
        "tabel": "table",
        "ame_9876": "name_9876",
    }.items():
        with pytest.raises(ToolFailed, match=f"there are (name_[0-9]+, ){{0,2}}{right}, "):
            space.inspect(wrong)


def test_many_functions_fit_their_line_and_are_cut() -> None:
    lines = namespace(**{f"load_{n}": effect for n in range(5_000)}).listing().splitlines()
    assert [len(line) for line in lines] == [1_000]
    assert lines[0].startswith("functions: load_0(what), load_1(what), ")
    assert lines[0].endswith("…")


@pytest.mark.parametrize(
    ("column", "facts"),
    [
        (pd.Series([np.float64("nan"), "x"], dtype=object), "1 missing, 1 distinct, such as x"),
        (
            pd.Series([decimal.Decimal("NaN"), decimal.Decimal(1)]),
            "1 missing, 1 distinct, such as 1",
        ),
        (
            pd.Series([decimal.Decimal("sNaN"), decimal.Decimal(1)]),
            "1 missing, its values cannot be counted (InvalidOperation)",
        ),
        (pl.Series([1.0, math.nan, None]), "2 missing, 1 distinct, min 1, max 1, mean 1"),
        (pd.Series([0.00105, 0.00149]), "2 distinct, min 0.00105, max 0.00149, mean 0.00127"),
        (
            pd.Series(["b", None], dtype=pd.CategoricalDtype(["a", "b"])),
            "1 missing, 1 distinct, such as b",
        ),
        (
            pd.Series([{"a": 1}, None], dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())]))),
            "1 missing, its values cannot be counted (ArrowNotImplementedError)",
        ),
        (
            np.array([20231107000000001, 20231107000000002]),
            "min 20231107000000001, max 20231107000000002, mean 2.02311e+16; "
            "it begins 20231107000000001, 20231107000000002",
        ),
    ],
)
def test_figures_are_those_of_the_values(column: Any, facts: str) -> None:
    assert facts in namespace(t=column).inspect("t").splitlines()[1]


def test_many_wide_tables_fit_the_limit() -> None:
    wide = pd.DataFrame(np.zeros((2, 10_000)), columns=[f"column_{n}" for n in range(10_000)])
    listing = namespace(**{f"wide_{n}": wide for n in range(50)}).listing()
    assert len(listing) <= LISTING_LIMIT
    first = listing.splitlines()[1]
    shown = first.count("column_")
    assert first.endswith(f", … and {10_000 - shown:,} more columns")
    assert "wide_49" in listing


def test_counting_stops_at_a_million_cells() -> None:
    small = pd.DataFrame({"x": [math.nan] * 1_000_000})
    large = pd.DataFrame({"x": [math.nan] * 1_000_001})
    assert "x (float64, 1,000,000 missing)" in namespace(t=small).listing()
    assert namespace(t=large).listing().endswith("x (float64)")
    # Polars stores the number.
    stored = pl.DataFrame({"x": [None] * 1_000_001}, schema={"x": pl.Int64})
    assert "x (Int64, 1,000,001 missing)" in namespace(t=stored).listing()


def test_a_listing_while_names_come_and_go() -> None:
    names: dict[str, object] = {}
    space = Namespace(types.SimpleNamespace(user_ns=names, user_ns_hidden={}))
    stop = threading.Event()

    def churn() -> None:
        n = 0
        while not stop.is_set():
            n += 1
            names[f"name_{n % 5_000}"] = n
            names.pop(f"name_{(n * 7) % 5_000}", None)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert all(space.listing() for _ in range(10))
    finally:
        stop.set()
        thread.join()


def test_schema_only_shows_no_value_anywhere() -> None:
    secret = "Ada Lovelace"
    table = pd.DataFrame({"name": [secret, secret, None], "age": [36, 37, 38]})
    names: dict[str, object] = {
        "table": table,
        "polar": pl.DataFrame({"name": [secret], "age": [36]}),
        "text": secret,
        "items": [secret, 37],
        "mapping": {secret: 38},
        "pair": {secret},
        "age": 36,
        "array": np.array([36, 37]),
        "config": types.SimpleNamespace(owner=secret),
    }
    space = without_values(**names)
    said = [space.listing(), *(space.inspect(name) for name in names)]
    said.append(space.inspect("table['name']"))
    for text in said:
        assert "Ada" not in text
        assert "36" not in text
        assert "37" not in text
    assert "name (str, 1 missing)" in said[0]
    assert "- name: str, 1 missing, 1 distinct" in said[1]


# -- one variable ------------------------------------------------------------------------------


def test_a_table_in_detail() -> None:
    table = pd.concat([orders(), orders().head(1)])
    lines = namespace(orders=table).inspect("orders").splitlines()
    placed = table["placed"].dtype
    assert lines[:7] == [
        "orders: DataFrame, 5 rows, 5 columns, 1 duplicate row",
        "- order_id: int64, 0 missing, 4 distinct, min 1, max 4, mean 2.2",
        "- region: str, 1 missing, 2 distinct: north (3), south (1)",
        "- amount: float64, 1 missing, 3 distinct, min 2.5, max 990, mean 250.625",
        f"- placed: {placed}, 1 missing, 3 distinct, min 2024-01-01 00:00:00, "
        "max 2024-03-01 00:00:00",
        "- paid: bool, 0 missing, 2 distinct: True (4), False (1)",
        "3 missing values in all.",
    ]
    assert lines[7:9] == [
        "First 3 of 5 rows, as order_id | region | amount | placed | paid:",
        "1 | north | 2.5 | 2024-01-01 00:00:00 | True",
    ]


def test_columns_of_every_kind() -> None:
    table = pd.DataFrame(
        {
            "words": pd.Series(["a", "b"], dtype=object),
            "mixed": pd.Series(["a", 1], dtype=object),
            "lists": pd.Series([[1], [2]], dtype=object),
            "kind": pd.Categorical(["x", "y"]),
            "whole": pd.array([1, None], dtype="Int64"),
            "gap": pd.to_timedelta([1, 2], unit="D"),
            "nothing": [None, None],
            3: [1.0, 2.0],
        }
    )
    lines = namespace(table=table).inspect("table").splitlines()
    found = {line[2:].partition(": ")[0]: line for line in lines if line.startswith("- ")}
    assert found["words"].endswith("object, 0 missing, 2 distinct, such as a, b")
    assert found["mixed"].endswith("object, 0 missing, 2 distinct, such as a, 1")
    assert found["lists"].endswith("object, 0 missing")
    assert found["kind"].endswith("category, 0 missing, 2 distinct, such as x, y")
    assert found["whole"].endswith("Int64, 1 missing, 1 distinct, min 1, max 1, mean 1")
    assert "0 missing, 2 distinct" in found["gap"]
    assert "2 missing" in found["nothing"]
    assert found["3"].endswith("float64, 0 missing, 2 distinct, min 1, max 2, mean 1.5")


def test_a_polars_table_in_detail() -> None:
    frame = pl.DataFrame(
        {
            "n": [1, 2, None],
            "s": ["x", "x", "y"],
            "d": [datetime.date(2024, 1, 1), None, None],
            "nested": [[1], [2], [3]],
        }
    )
    lines = namespace(frame=frame).inspect("frame").splitlines()
    assert lines[:6] == [
        "frame: polars.DataFrame, 3 rows, 4 columns",
        "- n: Int64, 1 missing, 2 distinct, min 1, max 2, mean 1.5",
        "- s: String, 0 missing, 2 distinct: x (2), y (1)",
        "- d: Date, 2 missing, 1 distinct, min 2024-01-01, max 2024-01-01",
        "- nested: List(Int64), 0 missing",
        "3 missing values in all.",
    ]


def test_empty_tables() -> None:
    space = namespace(none=pd.DataFrame(), rows=pd.DataFrame({"a": []}), polar=pl.DataFrame())
    assert space.inspect("none").startswith("none: DataFrame, 0 rows, 0 columns")
    assert "- a: " in space.inspect("rows")
    assert space.inspect("polar").startswith("polar: polars.DataFrame, 0 rows, 0 columns")


def test_figures_are_left_out_of_large_tables() -> None:
    large = pd.DataFrame({"x": np.zeros(1_500_000)})
    text = namespace(large=large).inspect("large")
    assert text.splitlines()[:3] == [
        "large: DataFrame, 1,500,000 rows, 1 column, 12.0 MB",
        "- x: float64",
        "No figures: over 1,000,000 cells; compute them with code.",
    ]


def test_looking_leaves_the_table_as_it_is() -> None:
    table = orders()
    before = table.copy(deep=True)
    namespace(table=table).inspect("table")
    namespace(table=table).listing()
    pd.testing.assert_frame_equal(table, before)


@dataclass
class Config:
    path: str
    table: pd.DataFrame

    @property
    def rows(self) -> int:
        return int(effect("property"))


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = 3


def test_parts_of_variables() -> None:
    space = namespace(
        config=Config("data.csv", orders()),
        slotted=Slotted(),
        nested={"a": {"b": [1, 2, {"c": "deep"}]}, 3: "three"},
        math=math,
        orders=orders(),
        polar=pl.DataFrame({"n": [1, None]}),
    )
    assert (
        space.inspect("config.path").splitlines()[0]
        == "config.path: str, 8 characters = 'data.csv'"
    )
    assert space.inspect("config.table.amount").startswith("config.table.amount: Series, 4 rows\n")
    assert "- amount: float64, 1 missing" in space.inspect('orders["amount"]')
    assert "- n: Int64, 1 missing" in space.inspect("polar['n']")
    assert space.inspect("slotted.left") == "slotted.left: int = 3"
    assert space.inspect("nested['a']['b'][-1]['c']").startswith("nested['a']['b'][-1]['c']: str")
    assert space.inspect("nested[3]").startswith("nested[3]: str, 5 characters")
    assert space.inspect("math.pi").startswith("math.pi: float = 3.14159")
    assert "- .path: str" in space.inspect("config")


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("order", r"No variable 'order'; there are orders, config\."),
        ("orders['amout']", r"No column 'amout'; there are amount, "),
        ("orders.head", r"No column 'head'; there are "),
        ("config.rows", r"Config stores no 'rows'; if it computes it, run code"),
        ("config['path']", r"has to be computed; run code"),
        ("orders.head()", r"is no variable: give a name"),
        ("1 + 1", r"is no variable: give a name"),
        ("orders[", r"is no variable: give a name"),
        ("", r"is no variable: give a name"),
    ],
)
def test_what_cannot_be_looked_at_is_said(expression: str, sentence: str) -> None:
    RAN.clear()
    with pytest.raises(ToolFailed, match=sentence):
        namespace(orders=orders(), config=Config("a", orders())).inspect(expression)
    assert RAN == []


def test_long_values_are_bounded() -> None:
    space = namespace(
        text="x" * 1_000_000,
        items=list(range(1_000_000)),
        mapping={str(n): n for n in range(1_000_000)},
        array=np.arange(1_000_000),
    )
    assert len(space.inspect("text")) < 5_000
    assert space.inspect("items").splitlines()[-1] == "… and 999,950 more"
    assert space.inspect("mapping").splitlines()[-1] == "… and 999,950 more"
    assert (
        space.inspect("array")
        .splitlines()[1]
        .startswith("0 missing numbers, min 0, max 999999, mean 499999.5; it begins 0, 1, 2")
    )


def test_libraries_that_are_not_loaded_stay_unloaded() -> None:
    before = set(sys.modules)
    space = namespace(n=1, t="x", items=[1], here=pathlib.Path())
    space.listing()
    space.inspect("items")
    assert {"torch", "xarray", "dask", "geopandas"}.isdisjoint(set(sys.modules) - before)


# -- one odd value ---------------------------------------------------------------------------


def test_an_odd_value_does_not_hide_the_others() -> None:
    odd: dict[str, Any] = {
        "fraction": fractions.Fraction(10**5000, 3),
        "numbers": range(10**5000),
        "signal": pd.DataFrame({"s": [decimal.Decimal("sNaN"), decimal.Decimal(1)], "n": [1, 2]}),
    }
    live = namespace(**odd, plain=fractions.Fraction(1, 3), few=range(3))
    listing = live.listing()
    for line in (
        "fraction: fractions.Fraction",
        "numbers: range",
        "plain: fractions.Fraction = 1/3",
    ):
        assert line in listing
    assert "few: range = range(0, 3)" in listing
    for name in odd:
        assert name in live.inspect(name)
    assert "- n: int64, 0 missing, 2 distinct" in live.inspect("signal")


def test_a_value_that_cannot_be_read_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(value: object, show_values: bool) -> str:
        if value == 1:
            raise ValueError("odd")
        return "fine"

    monkeypatch.setattr("shiro_jupyter.kernel.details.summary", broken)
    live = namespace(odd=1, good=2, items=[1])
    assert "odd: int, which cannot be read now\ngood: fine" in live.listing()
    assert "[0] int, which cannot be read now" in live.inspect("items")


class HostileLabel:
    armed = False

    def __hash__(self) -> int:
        return effect("label hash") if HostileLabel.armed else 1

    def __eq__(self, other: object) -> bool:
        return bool(effect("label eq")) if HostileLabel.armed else self is other

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return effect("label class") if HostileLabel.armed else HostileLabel

    def __repr__(self) -> str:
        return str(effect("label repr"))

    __str__ = __repr__


def test_labels_of_the_persons_own_classes_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    label = HostileLabel()
    table = pd.DataFrame([[1, "a"], [1, "a"]], columns=pd.Index([label, "plain"], dtype=object))
    series = pd.Series([1, 2])
    object.__setattr__(series, "_name", label)  # as a name that was set before it turned hostile
    module = types.ModuleType("fine")
    monkeypatch.setitem(vars(module), "__name__", label)
    RAN.clear()
    monkeypatch.setattr(HostileLabel, "armed", True)
    live = namespace(table=table, series=series, module=module)
    texts = [live.listing(), live.inspect("table"), live.inspect("series")]
    texts.append(live.inspect("table['plain']"))
    monkeypatch.setattr(HostileLabel, "armed", False)
    assert RAN == []
    assert "<HostileLabel> (int64)" in texts[0] and "modules: module" in texts[0]
    assert "1 duplicate row" in texts[1] and "- plain: " in texts[1]
    assert "- plain: " in texts[3]
    assert list(table.columns) == [label, "plain"]  # ours was a copy


# -- lazy tables, and a class's own words ------------------------------------------------------


def test_a_lazy_table_is_told_with_its_columns_and_how_to_keep_it_there() -> None:
    events = dd.from_map(lambda number: pd.DataFrame(), range(3), meta=orders()[["amount", "paid"]])
    space = namespace(n=1, events=events, large=pl.LazyFrame({"a": [1]}))
    said = (
        "events: dask.DataFrame, lazy (reduce before .compute()), 3 partitions, 2 columns: "
        "amount (float64), paid (bool)"
    )
    assert space.listing().splitlines()[1:] == [
        said,
        "large: polars.LazyFrame, lazy (reduce before .collect())",
        "n: int = 1",
    ]
    assert said in space.brief()
    assert space.inspect("events").splitlines() == [
        "events: dask.DataFrame, lazy (reduce before .compute()), 3 partitions, 2 columns",
        "- amount: float64",
        "- paid: bool",
        "Nothing of it was computed by looking.",
    ]
    assert space.inspect("events['paid']").splitlines()[1] == "- paid: bool"
    with pytest.raises(ToolFailed, match=r"No column 'amout'; there are amount, paid\."):
        space.inspect("events.amout")
    with pytest.raises(ToolFailed, match=r"polars.LazyFrame stores no 'a'"):
        space.inspect("large.a")


class Basket:
    asked = 0

    def __init__(self, said: object) -> None:
        self.said = said

    def _repr_shiro_(self) -> Any:
        Basket.asked += 1
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def test_a_class_tells_how_its_objects_are_described(monkeypatch: pytest.MonkeyPatch) -> None:
    # Under load a thread may start late.
    monkeypatch.setattr("shiro_jupyter.kernel.namespace.WORDS_SECONDS", 30.0)
    monkeypatch.setattr("shiro_jupyter.kernel.details.WORDS_SECONDS", 30.0)
    space = namespace(
        basket=Basket("3 items\n  worth 30 euro"),
        long=Basket("word " * 10_000),
        broken=Basket(ValueError("secret")),
        wrong=Basket(3),
    )
    assert space.listing(counting=30.0).splitlines()[1:] == [
        "basket: tests.Basket = 3 items worth 30 euro",
        f"{('long: tests.Basket = ' + 'word ' * 100)[:299]}…",
        "broken: tests.Basket = its _repr_shiro_ failed (ValueError)",
        "wrong: tests.Basket = its _repr_shiro_ gave int, not str",
    ]
    assert space.inspect("basket").splitlines() == [
        "basket: tests.Basket",
        "3 items",
        "  worth 30 euro",
        "- .said: str, 23 characters = '3 items\\n  worth 30 euro'",
    ]
    assert 2_000 <= len(space.inspect("long")) < 2_300


def test_a_class_with_own_words_that_hangs_holds_up_no_listing() -> None:
    end = threading.Event()
    asked: list[threading.Thread] = []

    class Hanging:
        def _repr_shiro_(self) -> str:
            asked.append(threading.current_thread())
            end.wait()
            return ""

    space = namespace(one=Hanging(), two=Hanging(), last=3)
    try:
        for _ in range(3):
            listing, brief = space.listing(), space.brief()
            assert "last: int = 3" in listing and "last: int = 3" in brief
        assert "two: tests.test_a_class" in listing
        assert len(asked) == 1
    finally:
        end.set()
        for thread in asked:
            thread.join()


def test_own_words_are_values_and_not_asked_for_in_schema_only_mode() -> None:
    Basket.asked = 0
    space = without_values(basket=Basket("secret"), items=[Basket("secret")])
    said = [space.listing(), space.brief(), space.inspect("basket"), space.inspect("items")]
    assert Basket.asked == 0
    assert not any("secret" in text for text in said)
    # What is held in a list is not asked either: there may be thousands.
    namespace(items=[Basket("secret")]).inspect("items")
    assert Basket.asked == 0
