"""Looking at a namespace is harmless and bounded, whatever is in it."""

from __future__ import annotations

import contextlib
import math
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.kernel.namespace import (
    BRIEF_LIMIT,
    INSPECT_LIMIT,
    LISTING_LIMIT,
    Namespace,
)
from tests.support.hostile_names import armed, large_namespace, mischief, spark_modules

# What the brief listing's own first words take, and a sentence that says why not.
FIRST_WORDS, SENTENCE = 20, 3_000


def namespace(names: dict[str, Any]) -> Namespace:
    return Namespace(types.SimpleNamespace(user_ns=names, user_ns_hidden={}))


@contextlib.contextmanager
def nothing_computed() -> Iterator[None]:
    def refused(graph: Any, keys: Any, **options: Any) -> Any:
        raise AssertionError(f"dask was to compute {keys}")

    with dask.config.set(scheduler=refused):
        yield


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        for name, module in (modules := spark_modules()).items():
            patch.setitem(sys.modules, name, module)
        yield large_namespace(tmp_path_factory.mktemp("large"), spark=modules)


# What ibis itself warns of, with the newest duckdb.
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_a_listing_of_two_thousand_names_calls_none_of_them(
    large: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    space = namespace(large)
    with armed() as called, nothing_computed():
        listing, brief = space.listing(), space.brief()
    assert not called
    assert capfd.readouterr() == ("", "")
    assert len(listing) <= LISTING_LIMIT
    assert len(brief) <= BRIEF_LIMIT + FIRST_WORDS
    classes = sum(name.startswith("class_") for name in large)
    assert listing.splitlines()[0] == f"{2_000 - classes:,} variables:"
    for line in (
        "frame_blocks: OwnFrame, 2 rows, 2 columns: x (float64, 1 missing), s (str)",
        "wide_pandas: DataFrame, 50 rows, 10,000 columns, 4.0 MB: column_0 (float64), ",
        "wide_parts: DataFrame, 3 rows, 10,000 columns: column_0 (float64), ",
        "wide_polars: polars.DataFrame, 3 rows, 10,000 columns: column_0 (Float64), ",
        "wide_arrow: pyarrow.Table, 3 rows, 10,000 columns: column_0 (double), ",
        "dask_frame: dask.DataFrame, lazy (reduce before .compute()), 31 partitions, 4 columns: ",
        "polars_plan: polars.LazyFrame, lazy (reduce before .collect())",
        "duckdb_relation: duckdb.Relation, lazy (reduce before .df()), 1 column: a (BIGINT)",
        "ibis_table: ibis.Table, lazy (reduce before .execute()), 2 columns: a (int64), s (string)",
        "spark_told: pyspark.DataFrame, lazy (reduce before .toPandas() or .collect()), 2 columns",
    ):
        assert f"\n{line}" in listing
    assert "wide_pandas" in brief


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_each_of_them_in_detail_calls_none_of_them(large: dict[str, Any]) -> None:
    space = namespace(large)
    odd = [name for name in large if not name.startswith("name_")]
    with armed() as called, nothing_computed():
        texts = {name: space.inspect(name) for name in odd}
        matched = [space.listing(name) for name in odd]
    assert not called
    assert all(len(text) <= INSPECT_LIMIT for text in texts.values())
    assert all(len(text) <= LISTING_LIMIT for text in matched)
    assert texts["mapped"].startswith("mapped: memmap, shape 625,000,000, float64, 5.0 GB, on disk")
    assert "No figures" not in texts["dask_frame"]


def test_what_they_hold_is_not_called_either() -> None:
    names = mischief()
    held = {
        "items": list(names.values()),
        "keyed": dict(names),
        "pair": tuple(names.values()),
        "holder": types.SimpleNamespace(**names),
    }
    space = namespace(held)
    with armed() as called:
        for name in held:
            space.inspect(name)
        for name in names:
            for part in (f"holder.{name}", f"keyed['{name}']", f"keyed['{name}'].shape"):
                with contextlib.suppress(ToolFailed):
                    space.inspect(part)
        for index in range(len(names)):
            space.inspect(f"items[{index}]")
    assert not called


def test_a_table_that_changes_meanwhile_stays_whole() -> None:
    """The person's code goes on while the agent's thread looks."""
    changing = pd.DataFrame({"a": range(50), "b": ["x"] * 50})
    space = namespace({"changing": changing, "after": 1})
    stop, failures = threading.Event(), []

    def change() -> None:
        number = 0
        try:
            while not stop.is_set():
                number += 1
                changing[f"n{number}"] = number
                changing.loc[0, "a"] = number
                assert changing[f"n{number}"].iloc[-1] == number
                if number % 7 == 0:
                    for extra in [name for name in changing.columns if name not in ("a", "b")]:
                        del changing[extra]
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(60):
            assert space.listing().splitlines()[-1] == "after: int = 1"
            with contextlib.suppress(ToolFailed):
                assert space.inspect("changing").startswith("changing: DataFrame, 50 rows, ")
    finally:
        stop.set()
        thread.join()
    assert not failures
    assert changing["b"].tolist() == ["x"] * 50
    assert "- b: str, 0 missing, 1 distinct: x (50)" in space.inspect("changing")


def test_thousands_of_functions_classes_and_modules_take_a_line_each() -> None:
    """As after `from library import *`: once that put 39,000 tokens into each request elsewhere."""
    made: dict[str, Any] = {"orders": pd.DataFrame({"euro": [1.5]})}
    for number in range(2_000):
        made[f"function_{number}"] = types.FunctionType(
            (lambda path, year: None).__code__, {}, f"function_{number}"
        )
        made[f"Class{number}"] = type(f"Class{number}", (), {})
        made[f"module_{number}"] = types.ModuleType(f"package.module_{number}")
    space = namespace(made)
    for text, limit in (
        (space.listing(), LISTING_LIMIT),
        (space.brief(), BRIEF_LIMIT + FIRST_WORDS),
    ):
        assert len(text) <= limit
        lines = text.splitlines()
        assert lines[1] == "orders: DataFrame, 1 row, 1 column: euro (float64)"
        starts = [
            "functions: function_0(path, year)",
            "classes: Class0",
            "modules: module_0 (package",
        ]
        assert all(map(str.startswith, lines[2:], starts)) and len(lines) == 5


def test_the_mischief_is_real() -> None:
    names = mischief()
    with armed() as called:
        with pytest.raises(RuntimeError):
            repr(names["plain_raises"])
        with pytest.raises(RuntimeError):
            names["frame_raises"].columns  # noqa: B018
        assert names["array_counts"].shape is None
    assert sum(called.values()) == 3


# -- odd names and values -------------------------------------------------------------------------

labels = st.one_of(
    st.text(max_size=20),
    st.just("a\nb\r\n- c: 1"),
    st.just("x" * 5_000),
    st.integers(),
    st.floats(),
    st.none(),
    st.tuples(st.text(max_size=3), st.integers()),
)
plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**200, -(10**4_000)]),
    st.floats(),
    st.complex_numbers(),
    st.text(),
    st.just("y" * 50_000),
    st.binary(),
    st.decimals(),
    st.just(Decimal("sNaN")),
    st.fractions(),
    st.builds(Fraction, st.integers(), st.integers(min_value=1)),
    st.dates(),
    st.datetimes(timezones=st.just(timezone(timedelta(hours=1)))),
    st.timedeltas(),
    st.sampled_from([date.max, datetime.min, math.inf, range(10**30), pd.NA, pd.NaT, ...]),
    st.sampled_from([np.float32(1), np.datetime64("NaT"), np.void(b"ab"), np.str_("z" * 500)]),
    st.sampled_from([len, print, math, Namespace, ValueError("x"), object(), Path("a\n- b: 1")]),
    st.sampled_from([np.str_("a\nb"), types.ModuleType("a\nb"), type("a\nb", (), {})()]),
    st.sampled_from([np.zeros(1, dtype=[("a", "O")])[0], types.SimpleNamespace(**{"a\nb": 1})]),
)
nested = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=8),
        st.dictionaries(st.one_of(st.text(), st.integers(), st.none()), inner, max_size=8),
        st.tuples(inner, inner),
        st.builds(lambda item: types.SimpleNamespace(item=item), inner),
    ),
    max_leaves=20,
)
columns = st.one_of(
    st.lists(st.floats(), min_size=3, max_size=3),
    st.lists(st.text(max_size=50), min_size=3, max_size=3),
    st.lists(plain, min_size=3, max_size=3),
    st.lists(nested, min_size=3, max_size=3),
)


@st.composite
def pandas_tables(draw: st.DrawFn) -> pd.DataFrame:
    held = draw(st.lists(columns, max_size=4))
    made = pd.DataFrame({n: pd.Series(values, dtype=object) for n, values in enumerate(held)})
    if draw(st.booleans()):
        made = made.infer_objects()
    made.columns = pd.Index(
        draw(st.lists(labels, min_size=len(held), max_size=len(held))), dtype=object
    )
    return made


@st.composite
def polars_tables(draw: st.DrawFn) -> pl.DataFrame:
    names = draw(st.lists(st.text(max_size=30), unique=True, max_size=4))
    return pl.DataFrame(
        [
            pl.Series(
                name, draw(st.lists(st.one_of(st.none(), st.floats()), min_size=2, max_size=2))
            )
            for name in names
        ]
    )


numpy_arrays = arrays.arrays(
    dtype=st.one_of(arrays.scalar_dtypes(), arrays.array_dtypes(), arrays.nested_dtypes()),
    shape=arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
arrow_tables = st.builds(
    lambda names: pa.Table.from_arrays([pa.array([1, None]) for _ in names], names=names),
    st.lists(st.text(max_size=10), max_size=4),
)
values = st.one_of(nested, pandas_tables(), polars_tables(), numpy_arrays, arrow_tables)
names = st.one_of(
    st.text(min_size=1, max_size=20),
    st.from_regex(r"[a-z]{1,8}", fullmatch=True),
    st.just("v" * 9_000),
)
steps = st.one_of(
    st.builds("[{!r}]".format, st.one_of(st.text(max_size=5), st.integers(), st.floats())),
    st.builds(".{}".format, st.from_regex(r"[a-z_]{1,6}", fullmatch=True)),
    st.text(max_size=10),
)


@settings(max_examples=50)
@given(st.dictionaries(names, values, max_size=8), st.lists(steps, max_size=3), st.text())
def test_whatever_there_is_the_text_keeps_its_caps(
    variables: dict[str, Any], parts: list[str], match: str
) -> None:
    space = namespace(variables)
    assert len(space.listing()) <= LISTING_LIMIT
    assert len(space.listing(match)) <= LISTING_LIMIT
    assert len(space.brief()) <= BRIEF_LIMIT + FIRST_WORDS
    for name in [*variables, match]:
        for expression in (name, name + "".join(parts)):
            try:
                assert len(space.inspect(expression)) <= INSPECT_LIMIT
            except ToolFailed as failed:
                assert len(str(failed)) <= SENTENCE


@pytest.mark.parametrize("action", ["always", "error"])
def test_looking_warns_of_nothing(action: Any) -> None:
    """It would show in the person's cell, run their hook, or break where they made it an error."""
    infinite, large = [math.inf, -math.inf], [1.7e308] * 2
    space = namespace(
        {
            "infinite": np.array(infinite),
            "large": np.array(large),
            "column": pd.Series(infinite),
            "table": pd.DataFrame({"a": infinite, "b": large}),
            "sparse": pd.Series(infinite).astype("Sparse[float]"),
            "long": pd.Series(np.array(["1e4000"], dtype=np.longdouble)),
            "keyed": {r"\d": 1},
        }
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter(action)
        texts = {name: space.inspect(name) for name in space.variables()}
        assert space.inspect(r'keyed["\d"]') == r'keyed["\d"]: int = 1'
        assert space.inspect(r'keyed[r"\d"]') == r'keyed[r"\d"]: int = 1'
        assert space.inspect(r'keyed["\\d"]') == r'keyed["\\d"]: int = 1'
        space.listing()
    assert not warned
    assert "min -inf, max inf, mean nan" in texts["infinite"]
    assert "min 1.7e+308, max 1.7e+308, mean inf" in texts["large"]
    assert "- a: float64, 0 missing, 2 distinct, min -inf, max inf, mean nan" in texts["table"]
    assert "0 missing, 2 distinct" in texts["sparse"]
    assert "0 missing, 1 distinct" in texts["long"]


@given(values)
def test_a_value_is_a_line_of_the_listing(value: Any) -> None:
    """Whatever it holds, it cannot add a line to what is said of others."""
    listing = namespace({"first": 1, "second": value, "third": 3}).listing()
    assert len(listing.splitlines()) <= 5
    assert "third: int = 3" in listing
