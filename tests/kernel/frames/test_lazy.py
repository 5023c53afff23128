"""Plans of real libraries: told as far as they are stored, and never run."""

from __future__ import annotations

import contextlib
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import dask.datasets
import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from shiro_jupyter.kernel.frames import is_lazy, lazy_column, lazy_of
from tests.support.hostile_names import CALLED, SPARK_FRAMES, spark_frame, spark_modules


def line(value: object) -> str:
    """The headline, and the columns that are known."""
    lazy = lazy_of(value)
    assert lazy is not None
    columns = ", ".join(f"{name} ({dtype})" for name, dtype in lazy.columns or ())
    return f"{lazy.headline()}: {columns}" if columns else lazy.headline()


@contextlib.contextmanager
def nothing_computed() -> Iterator[None]:
    """A dask graph that is run within fails."""

    def refused(graph: Any, keys: Any, **options: Any) -> Any:
        raise AssertionError(f"dask was to compute {keys}")

    with dask.config.set(scheduler=refused):
        yield


def parts() -> Any:
    """A frame in three partitions that no machine need hold; making one of them fails."""

    def part(number: int) -> pd.DataFrame:
        raise AssertionError("a partition was made")

    meta = pd.DataFrame({"city": pd.Series(dtype="str"), "euro": pd.Series(dtype="float64")})
    return dd.from_map(part, range(3), meta=meta)


# -- dask ------------------------------------------------------------------------------------


def test_a_dask_frame_is_told_by_its_stand_in() -> None:
    frame = parts()
    with nothing_computed():
        assert line(frame) == (
            "dask.DataFrame, lazy (reduce before .compute()), 3 partitions, 2 columns: "
            f"city ({frame.dtypes['city']}), euro (float64)"
        )
        assert line(frame["euro"]) == (
            "dask.Series, lazy (reduce before .compute()), 3 partitions, 1 column: euro (float64)"
        )
        assert line(frame.index) == "dask.Index, lazy (reduce before .compute()), 3 partitions"


def test_what_is_made_of_a_dask_frame_keeps_its_columns() -> None:
    frame = parts()
    with nothing_computed():
        assert "3 partitions, 2 columns" in line(frame[frame.euro > 0])
        assert "3 partitions, 3 columns" in line(frame.assign(cent=frame.euro * 100))
        reduced = line(frame.groupby("city").euro.mean())
        assert reduced.endswith("1 column: euro (float64)")
        # How many there are would have to be asked of the data.
        assert "partition" not in line(frame.set_index("euro", divisions=[0.0, 1.0, 2.0]))
        assert "31 partitions" in line(dask.datasets.timeseries(end="2000-02-01"))


def test_a_dask_frame_on_files_reads_none_of_them(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1], "s": ["x"]}), file)
    frame = dd.read_parquet(tmp_path)
    file.unlink()
    with nothing_computed():
        assert line(frame).startswith("dask.DataFrame, lazy (reduce before .compute()), 2 columns:")


def test_arrays_bags_and_delayed_calls_of_dask() -> None:
    array = da.ones((1_000, 2_000), chunks=500)
    with nothing_computed():
        assert line(array) == (
            "dask.Array, lazy (reduce before .compute()), shape 1,000 x 2,000, float64, 8 chunks"
        )
        assert "shape unknown x 2,000" in line(array[array[:, 0] > 0])
        bag = db.from_sequence(range(10), npartitions=5)
        assert line(bag) == "dask.Bag, lazy (reduce before .compute()), 5 partitions"
        assert line(dask.delayed(len)([])) == "dask.Delayed, lazy"


def test_a_column_of_a_dask_frame() -> None:
    table = lazy_of(parts())
    assert table is not None
    column = lazy_column(table, "euro")
    assert column is not None
    assert lazy_of(column) is column  # it is looked at as a variable is
    assert line(column) == (
        "column of dask.DataFrame, lazy (reduce before .compute()), 1 column: euro (float64)"
    )
    assert lazy_column(table, "eur") is None


# -- plans of others ----------------------------------------------------------------------------


def test_a_plan_of_polars_reads_no_schema(tmp_path: Path) -> None:
    plan = pl.scan_parquet(tmp_path / "missing.parquet").filter(pl.col("a") > 0)
    assert line(plan) == "polars.LazyFrame, lazy (reduce before .collect())"


def test_a_relation_of_duckdb_is_told_when_its_connection_is_closed() -> None:
    connection = duckdb.connect()
    relation = connection.sql("select range a, 'x' s, {'q': 1} t from range(1000000000)")
    connection.close()
    assert line(relation) == (
        "duckdb.Relation, lazy (reduce before .df()), 3 columns: a (BIGINT), s (VARCHAR), "
        "t (STRUCT(q INTEGER))"
    )


def test_the_values_of_an_enum_are_not_told() -> None:
    query = "select 'se)c''ret'::ENUM('a', 'se)c''ret') e, {'f': 'b'::ENUM('b')} s"
    with duckdb.connect() as connection:
        relation = connection.sql(query)
        assert line(relation).endswith("2 columns: e (ENUM), s (STRUCT(f ENUM))")


# What ibis itself warns of, with the newest duckdb.
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
def test_a_table_of_ibis_asks_no_backend() -> None:
    backend = ibis.duckdb.connect()
    table = backend.create_table("t", schema={"a": "int64", "s": "string"})
    made = {
        "table": table,
        "more": table.filter(table.a > 1).mutate(b=table.a * 2),
        "groups": table.group_by("s").agg(total=table.a.sum()),
        "joined": table.join(table.view(), "a"),
        "memory": ibis.memtable(pa.table({"n": [1]})),
    }
    backend.disconnect()
    assert line(made["table"]) == (
        "ibis.Table, lazy (reduce before .execute()), 2 columns: a (int64), s (string)"
    )
    assert line(made["more"]).endswith("3 columns: a (int64), s (string), b (int64)")
    assert line(made["groups"]).endswith("2 columns: s (string), total (int64)")
    assert line(made["joined"]).startswith("ibis.Join, lazy (reduce before .execute()), 3 columns:")
    assert line(made["memory"]).endswith("1 column: n (int64)")


def test_a_dataset_of_arrow_lists_no_file(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1], "s": ["x"]}), file)
    dataset = pyarrow.dataset.dataset(tmp_path)
    file.unlink()
    assert line(dataset) == (
        "pyarrow.FileSystemDataset, lazy (reduce before .to_table()), 2 columns: "
        "a (int64), s (string)"
    )


# -- Spark: a look-alike of its classes, since it needs a JVM --------------------------------------


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> dict[str, types.ModuleType]:
    modules = spark_modules()
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    CALLED.clear()
    return modules


@pytest.mark.parametrize("home", SPARK_FRAMES)
def test_a_frame_of_spark_tells_the_schema_it_has_been_told(
    home: str, spark: dict[str, types.ModuleType]
) -> None:
    lazily = "pyspark.DataFrame, lazy (reduce before .toPandas() or .collect())"
    told, untold = (spark_frame(spark, told=each, home=home) for each in (True, False))
    assert line(told) == f"{lazily}, 2 columns: id (long), city (string)"
    assert line(untold) == lazily
    assert not CALLED  # the JVM was asked for nothing


def test_the_look_alike_does_ask_the_jvm_where_it_is_used(
    spark: dict[str, types.ModuleType],
) -> None:
    frame = spark_frame(spark, told=False)
    for use in (repr, lambda it: it.schema, lambda it: it.count(), lambda it: it.city):
        with pytest.raises(RuntimeError, match="the JVM was called"):
            use(frame)
    assert sum(CALLED.values()) == 4


# -- what is none ---------------------------------------------------------------------------------


def test_what_only_says_that_it_is_lazy_is_none() -> None:
    class Array:
        __module__ = "dask.array.core"
        chunks = ((1,),)

    assert lazy_of(Array()) is None and not is_lazy(Array())
    assert lazy_of(np.zeros(3)) is None
    assert lazy_of(pd.DataFrame()) is None


# -- the documentation -----------------------------------------------------------------------------


def example(word: str) -> str:
    """The block of code in docs/kernel.md that begins with a comment on this."""
    page = Path(__file__).parents[3].joinpath("docs/kernel.md").read_text(encoding="utf-8")
    blocks: list[str] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (found,) = (block for block in blocks if word in block.splitlines()[0])
    return found


def test_the_example_for_dask_runs_as_documented() -> None:
    sales = pd.DataFrame({"shop": [1, 1, 2, 3, 4], "euro": [1.0, 3.0, 9.0, 5.0, 1.5]})
    names: dict[str, Any] = {"events": dd.from_pandas(sales, npartitions=2)}
    with dask.config.set(scheduler="synchronous"):
        exec(example("Dask"), names)
    assert names["top"].to_dict() == {2: 9.0, 3: 5.0, 1: 2.0}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_example_for_ibis_runs_as_documented() -> None:
    backend = ibis.duckdb.connect()
    backend.con.execute(
        "create table orders as from (values (1, 1.0), (1, 3.0), (2, 9.0)) t(shop, euro)"
    )
    names: dict[str, Any] = {"orders": backend.table("orders"), "ibis": ibis}
    exec(example("ibis"), names)
    assert dict(names["top"].itertuples(index=False, name=None)) == {2: 9.0, 1: 2.0}
    backend.disconnect()


def test_the_example_for_spark_can_be_read() -> None:
    compile(example("pyspark"), "docs/kernel.md", "exec")
