"""Variables that no listing may touch: whatever of theirs is called is written down first.

`mischief()` makes objects whose every method raises, blocks, prints or merely counts;
`large_namespace()` puts them among two thousand names, wide tables and lazy ones.
"""

from __future__ import annotations

import collections
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

# What was called while armed, and of which mode.
CALLED: collections.Counter[str] = collections.Counter()
MODES = ("raises", "blocks", "prints", "counts")
METHODS = (
    *("__repr__", "__str__", "__format__", "__len__", "__length_hint__", "__bool__", "__iter__"),
    *("__getattribute__", "__getattr__", "__dir__", "__eq__", "__ne__", "__hash__", "__contains__"),
    *(
        "__getitem__",
        "__index__",
        "__int__",
        "__float__",
        "__call__",
        "__reduce_ex__",
        "__sizeof__",
    ),
    *("__array__", "__array_ufunc__", "__array_function__", "__dataframe__", "__arrow_c_stream__"),
    *("__copy__", "__deepcopy__", "_repr_html_", "_repr_mimebundle_", "copy", "items", "head"),
)
PROPERTIES = (
    *("__class__", "__dict__", "__array_interface__", "shape", "columns", "dtype", "dtypes"),
    *("schema", "index", "_mgr", "nbytes", "values", "name", "size", "T"),
)
_armed = threading.Event()
_never = threading.Event()


@contextmanager
def armed() -> Iterator[collections.Counter[str]]:
    """Within it, every call is counted and does its mischief."""
    CALLED.clear()
    _armed.set()
    try:
        yield CALLED
    finally:
        _armed.clear()


# What they do until then, so that tables and arrays of them can be made.
_UNARMED: dict[str, Callable[..., Any]] = {
    "__hash__": lambda self: id(self),
    "__eq__": lambda self, other: self is other,
    "__ne__": lambda self, other: self is not other,
    "__bool__": lambda self: True,
    "__class__": type,
    "__repr__": lambda self: "Hostile",
    "__str__": lambda self: "Hostile",
    "__instancecheck__": type.__instancecheck__,
}


def _call(mode: str, name: str) -> Callable[..., Any]:
    def called(self: Any, *arguments: Any, **named: Any) -> Any:
        if not _armed.is_set():
            unarmed = _UNARMED.get(name.removeprefix("metaclass "))
            if unarmed is None:
                raise AttributeError(name)
            return unarmed(self, *arguments)
        CALLED[f"{mode} {name}"] += 1
        if mode == "raises":
            raise RuntimeError(name)
        if mode == "blocks":
            _never.wait()
        if mode == "prints":
            sys.__stderr__.write(f"{name} was called\n")
        return None

    return called


def hostile_class(mode: str, *bases: type, named: str = "Hostile", module: str = "") -> Any:
    """A class of which every method and property, and its metaclass's, does mischief."""

    meta_members = {
        name: _call(mode, f"metaclass {name}")
        for name in ("__repr__", "__eq__", "__hash__", "__instancecheck__", "__len__", "__iter__")
    }
    meta_members["__getattribute__"] = _of_class(mode)
    inherited = type(bases[0]) if bases else type
    meta = type(inherited)("Meta", (inherited,), meta_members)
    body: dict[str, Any] = {name: _call(mode, name) for name in METHODS}
    body["__getattribute__"] = _attribute(mode)
    body.update({name: property(_call(mode, name)) for name in PROPERTIES})
    body.update({"__module__": module or __name__, "__qualname__": named})
    return meta(named, bases or (object,), body)


def _of_class(mode: str) -> Callable[..., Any]:
    def found(cls: Any, name: str) -> Any:
        if _armed.is_set():
            _call(mode, f"metaclass attribute {name}")(cls)
        return type.__getattribute__(cls, name)

    return found


def _attribute(mode: str) -> Callable[..., Any]:
    def found(self: Any, name: str) -> Any:
        if _armed.is_set():
            return _call(mode, f"attribute {name}")(self)
        return object.__getattribute__(self, name)

    return found


def _disguised(plain: Any, cls: Any) -> Any:
    """The object as one of a subclass, without running what that overrides."""
    object.__setattr__(plain, "__class__", cls)
    return plain


def mischief() -> dict[str, Any]:
    """One object of each kind and mode, by name."""
    made: dict[str, Any] = {}
    for mode in MODES:
        plain = hostile_class(mode)
        made[f"plain_{mode}"] = object.__new__(plain)
        made[f"class_{mode}"] = plain
        for root in ("pandas", "polars", "dask.dataframe", "pyspark.sql", "torch", "numpy"):
            liar = hostile_class(mode, named="DataFrame", module=root)
            made[f"{root.partition('.')[0]}_liar_{mode}"] = object.__new__(liar)
        builtin: dict[type, Any] = {
            dict: {"a": 1},
            list: [1, 2],
            tuple: (1, 2),
            set: {1},
            str: "text",
            int: 7,
            float: 0.5,
            bytes: b"x",
        }
        for base, value in builtin.items():
            sub = hostile_class(mode, base, named=f"Own{base.__name__}")
            made[f"{base.__name__}_{mode}"] = base.__new__(sub, value)
            if base in (dict, list, set):
                base.__init__(made[f"{base.__name__}_{mode}"], value)  # type: ignore[misc]
        frame = pd.DataFrame({"x": [1.0, None], "s": ["a", "b"]})
        made[f"frame_{mode}"] = _disguised(
            frame, hostile_class(mode, pd.DataFrame, named="OwnFrame")
        )
        made[f"series_{mode}"] = _disguised(
            pd.Series([1, 2]), hostile_class(mode, pd.Series, named="OwnSeries")
        )
        made[f"array_{mode}"] = np.zeros((2, 3)).view(hostile_class(mode, np.ndarray))
        held = object.__new__(plain)
        cells = np.empty(2, dtype=object)
        cells[0] = held
        made[f"objects_{mode}"] = cells
        made[f"cells_{mode}"] = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
        made[f"attrs_{mode}"] = pd.DataFrame({"x": [1]})
        made[f"attrs_{mode}"].attrs["held"] = held
        made[f"polars_cells_{mode}"] = pl.DataFrame({"x": pl.Series([held], dtype=pl.Object)})
        made[f"holder_{mode}"] = types.SimpleNamespace(inner=held, more=[held, {"a": held}])
        made[f"error_{mode}"] = RuntimeError(held)
    return made


# -- Spark, which needs a JVM: its shape ---------------------------------------------------------

# Where the class of a frame is, and what it keeps the schema in: pyspark 3, 4, and Connect.
SPARK_FRAMES = {
    "pyspark.sql": "_schema",
    "pyspark.sql.classic.dataframe": "_schema",
    "pyspark.sql.connect.dataframe": "_cached_schema",
}


class Jvm:
    """What stands for the JVM's side: no attribute of it may be looked up."""

    def __getattr__(self, name: str) -> Any:
        CALLED[f"jvm {name}"] += 1
        raise RuntimeError("the JVM was called")


def spark_modules() -> dict[str, types.ModuleType]:
    """Modules with the classes of pyspark that hold a schema, under their names."""
    kinds = types.ModuleType("pyspark.sql.types")
    homes = {name: types.ModuleType(name) for name in SPARK_FRAMES}

    def made(module: types.ModuleType, name: str, members: dict[str, Any]) -> Any:
        cls = type(name, (), {"__module__": module.__name__, **members})
        setattr(module, name, cls)
        return cls

    def keeps(*names: str) -> dict[str, Any]:
        def init(self: Any, *values: Any) -> None:
            vars(self).update(zip(names, values, strict=True))

        return {"__init__": init}

    for name in ("LongType", "StringType", "DoubleType"):
        made(kinds, name, {})
    made(kinds, "StructField", keeps("name", "dataType"))
    made(kinds, "StructType", keeps("fields"))

    def asks(name: str) -> Callable[..., Any]:
        def asked(self: Any, *arguments: Any) -> Any:
            return getattr(vars(self)["_jdf"], name)()

        return asked

    asking = {
        **{name: property(asks(name)) for name in ("schema", "columns", "dtypes", "rdd")},
        **{name: asks(name) for name in ("count", "collect", "toPandas")},
        "__repr__": asks("showString"),
        "__getattr__": asks("columns"),
    }
    for name, kept_in in SPARK_FRAMES.items():
        made(homes[name], "DataFrame", keeps("_jdf", kept_in) | asking)
    return {"pyspark": types.ModuleType("pyspark"), **homes, kinds.__name__: kinds}


def spark_frame(
    modules: dict[str, types.ModuleType], *, told: bool, home: str = "pyspark.sql"
) -> Any:
    """A frame whose schema Spark has told before, or has not."""
    kinds: Any = modules["pyspark.sql.types"]
    fields = [
        kinds.StructField("id", kinds.LongType()),
        kinds.StructField("city", kinds.StringType()),
    ]
    schema = kinds.StructType(fields) if told else None
    sql: Any = modules[home]
    return sql.DataFrame(Jvm(), schema)


# -- all of it -----------------------------------------------------------------------------------


def wide_tables() -> dict[str, Any]:
    """Tables of 10,000 columns, in every library that has them in memory."""
    names = [f"column_{n}" for n in range(10_000)]
    numbers = pd.DataFrame(np.zeros((50, 10_000)), columns=names)
    columns = {name: np.zeros(3) for name in names}
    return {
        "wide_pandas": numbers,
        "wide_text": pd.DataFrame([["a"] * 10_000] * 3, columns=names),
        "wide_objects": pd.DataFrame([["a"] * 10_000] * 3, columns=names, dtype=object),
        "wide_parts": pd.DataFrame(columns, copy=False),  # an array for each column
        "wide_polars": pl.DataFrame(columns),
        "wide_arrow": pa.table(columns),
        "long_objects": pd.DataFrame({"x": ["a"] * 1_000_000}, dtype=object),
        "long_text": pd.DataFrame({f"s{n}": ["some text"] * 100_000 for n in range(10)}),
        "long_numbers": pd.DataFrame(np.zeros((10_000, 100))),
    }


def lazy_tables(folder: Path) -> dict[str, Any]:
    """Plans of every library at hand, none of which may run."""
    import dask.array
    import dask.bag
    import dask.datasets
    import duckdb
    import ibis
    import pyarrow.dataset

    frame = dask.datasets.timeseries(end="2000-02-01")
    connection, backend = duckdb.connect(), ibis.duckdb.connect()
    return {
        "dask_frame": frame,
        "dask_reduced": frame.groupby("name").x.mean(),
        "dask_array": dask.array.ones((10_000, 10_000), chunks=1_000),
        "dask_bag": dask.bag.from_sequence(range(10), npartitions=3),
        "polars_plan": pl.scan_csv(folder / "missing.csv"),
        "duckdb_connection": connection,
        "duckdb_relation": connection.sql("select range a from range(1000000000)"),
        "ibis_backend": backend,
        "ibis_table": backend.create_table("t", schema={"a": "int64", "s": "string"}),
        "arrow_dataset": pyarrow.dataset.InMemoryDataset(pa.table({"a": [1]})),
    }


def mapped_array(folder: Path) -> Any:
    """5 GB on a disk that holds none of them."""
    path = folder / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(5_000_000_000)
    return np.memmap(path, dtype="f8", mode="r")


def large_namespace(folder: Path, *, spark: dict[str, types.ModuleType]) -> dict[str, Any]:
    """Two thousand names: mischief, wide tables, plans, and plain values for the rest."""
    names = {
        **mischief(),
        **wide_tables(),
        **lazy_tables(folder),
        "mapped": mapped_array(folder),
        "spark_told": spark_frame(spark, told=True),
        "spark_untold": spark_frame(spark, told=False),
    }
    return names | {f"name_{n}": n for n in range(2_000 - len(names))}
