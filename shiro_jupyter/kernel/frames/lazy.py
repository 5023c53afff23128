"""Tables that would have to be computed, or read from elsewhere, to be known in full.

Told is what each library stores beside the plan: nothing is planned, read or sent anywhere. polars
keeps no schema with a plan (`collect_schema` reads files), and Spark asks its JVM for one that it
has not told yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..arrays import meta_dtype, shape_of
from ..describe import class_name, comes_from, count, cut, instance_dict, is_of, library, mro_of
from .base import Frame
from .of_arrow import arrow_type
from .of_pandas import PandasFrame, PandasSeries

# Expressions of dask whose number of partitions is what their arguments say.
_ENUM = re.compile(r"ENUM\((?:'(?:[^']|'')*'(?:, *)?)*\)")
_COUNTED = ("FromMap", "FromDelayed", "FromGraph", "Timeseries")


@dataclass(frozen=True)
class Lazy:
    """`columns` are those that are stored, with their types; None where none are."""

    kind: str
    facts: tuple[str, ...] = ()
    columns: Sequence[tuple[str, str]] | None = None
    fetch: str = ""  # the call that brings all of it here

    def headline(self) -> str:
        how = f"lazy (reduce before {self.fetch})" if self.fetch else "lazy"
        columns = () if self.columns is None else (count(len(self.columns), "column"),)
        return ", ".join([self.kind, how, *self.facts, *columns])


def lazy_column(table: Lazy, name: str) -> Lazy | None:
    """One of its columns, as far as it is known; None where there is none of that name."""
    found = [(column, dtype) for column, dtype in table.columns or () if column == name]
    return Lazy(f"column of {table.kind}", (), found[:1], table.fetch) if found else None


def lazy_of(value: object) -> Lazy | None:
    """The value as a lazy table or array, None where it is none whose type is known exactly."""
    if type(value) is Lazy:  # a column of one, which is a part of a variable
        return value
    reader = _reader_of(value)
    return reader(value) if reader else None


def is_lazy(value: object) -> bool:
    return _reader_of(value) is not None


def _reader_of(value: object) -> Callable[[Any], Lazy] | None:
    cls = type(value)
    name = class_name(cls)
    for root, reader in _READERS.get(name, ()):
        if library(root).get(name) is cls:
            return reader
    return None


def _dask_frame(value: Any) -> Lazy:
    """dask keeps an empty stand-in with the columns beside each expression."""
    expression = instance_dict(value)["_expr"]
    meta = instance_dict(expression).get("_meta")
    stand_in: Frame | None = None
    if is_of(type(meta), "pandas"):
        stand_in = PandasFrame(meta) if class_name(type(meta)) == "DataFrame" else None
        stand_in = PandasSeries(meta) if class_name(type(meta)) == "Series" else stand_in
    partitions = _partitions(expression)
    return Lazy(
        f"dask.{class_name(type(value))}",
        () if partitions is None else (count(partitions, "partition"),),
        None if stand_in is None else _columns_of(stand_in),
        ".compute()",
    )


def _columns_of(frame: Frame) -> list[tuple[str, str]]:
    return [(name, frame.dtype(index)) for index, name in enumerate(frame.names())]


def _partitions(expression: Any) -> int | None:
    """How many there are, where that is stored or follows from what is: else dask may have to read
    a file, or to compute quantiles."""
    stored = instance_dict(expression)
    if type(stored.get("npartitions")) is int:
        return stored["npartitions"]  # type: ignore[return-value]
    if type(divisions := stored.get("divisions")) is tuple:
        return len(divisions) - 1
    if not comes_from(type(expression), "dask"):
        return None
    if class_name(type(expression)) in _COUNTED:
        return int(expression.npartitions)
    if not _is_blockwise(expression):
        return None
    operands = stored.get("operands")
    below = [each for each in operands if _is_expression(each)] if type(operands) is list else []
    known = [_partitions(each) for each in below]
    return None if not known or None in known else max(filter(None, known), default=None)


def _is_expression(value: object) -> bool:
    base = library("dask._expr").get("Expr")
    return any(each is base for each in mro_of(type(value)))


def _is_blockwise(expression: object) -> bool:
    """Whether it has a partition for each of those it stands on."""
    names = library("dask.dataframe.dask_expr._expr")
    reads = library("dask.dataframe.dask_expr.io.io").get("IO")
    bases = mro_of(type(expression))
    return any(each is names.get("Blockwise") for each in bases) and not any(
        each is reads for each in bases
    )


def _dask_array(value: Any) -> Lazy:
    blocks = 1
    for lengths in value.chunks:
        blocks *= len(lengths)
    shape = shape_of(map(sum, value.chunks))
    return Lazy(
        "dask.Array", (shape, meta_dtype(value), count(blocks, "chunk")), None, ".compute()"
    )


def _dask_bag(value: Any) -> Lazy:
    return Lazy("dask.Bag", (count(int(value.npartitions), "partition"),), None, ".compute()")


def _delayed(value: Any) -> Lazy:
    return Lazy("dask.Delayed")


def _polars(value: Any) -> Lazy:
    return Lazy("polars.LazyFrame", (), None, ".collect()")


def _duckdb(value: Any) -> Lazy:
    """Since duckdb 2 `columns` may bind the query again, on a connection that may be busy."""
    stored = type.__dict__["__dict__"].__get__(type(value)).get("_schema")
    schema = (value.columns, value.types) if stored is None else stored.__get__(value)
    columns = schema and [(n, _short(str(kind))) for n, kind in zip(*schema, strict=True)]
    return Lazy("duckdb.Relation", (), columns, ".df()")


def _ibis(value: Any) -> Lazy:
    """Every table of ibis knows its schema from its parts; no backend is asked."""
    operation = value._arg
    known = comes_from(type(operation), "ibis")
    fields = operation.schema.fields.items() if known else ()
    columns = [(name, _short(str(kind))) for name, kind in fields] if known else None
    return Lazy(f"ibis.{class_name(type(value))}", (), columns, ".execute()")


def _arrow_dataset(value: Any) -> Lazy:
    columns = [(field.name, arrow_type(field.type)) for field in value.schema]
    return Lazy(f"pyarrow.{class_name(type(value))}", (), columns, ".to_table()")


def _spark(value: Any) -> Lazy:
    """What Spark has told before is kept in the object."""
    stored = instance_dict(value)
    schema = stored.get("_schema", stored.get("_cached_schema"))
    columns = None
    if comes_from(type(schema), "pyspark"):
        fields: Iterable[Any] = instance_dict(schema).get("fields", ())  # type: ignore[assignment]
        columns = [(str(field.name), _spark_type(field.dataType)) for field in fields]
    return Lazy("pyspark.DataFrame", (), columns, ".toPandas() or .collect()")


def _spark_type(kind: object) -> str:
    """`long` of LongType; a type of the person's is not asked."""
    return class_name(type(kind)).removesuffix("Type").lower()


def _short(text: str) -> str:
    """What an ENUM of duckdb may be are values."""
    return cut(_ENUM.sub("ENUM", text), 80)


# By the name of the class, since a listing asks of every variable: where it is, and who reads it.
_READERS: dict[str, tuple[tuple[str, Callable[[Any], Lazy]], ...]] = {
    "LazyFrame": (("polars", _polars),),
    "DataFrame": (
        ("dask.dataframe", _dask_frame),
        ("pyspark.sql", _spark),
        ("pyspark.sql.classic.dataframe", _spark),
        ("pyspark.sql.connect.dataframe", _spark),
    ),
    "Series": (("dask.dataframe", _dask_frame),),
    "Index": (("dask.dataframe", _dask_frame),),
    "Array": (("dask.array", _dask_array),),
    "Bag": (("dask.bag", _dask_bag),),
    "Delayed": (("dask.delayed", _delayed),),
    "DuckDBPyRelation": (("duckdb", _duckdb),),
    "Table": (("ibis", _ibis),),
    "CachedTable": (("ibis.expr.types.relations", _ibis),),
    "Join": (("ibis.expr.types.joins", _ibis),),
    "FileSystemDataset": (("pyarrow.dataset", _arrow_dataset),),
    "InMemoryDataset": (("pyarrow.dataset", _arrow_dataset),),
    "UnionDataset": (("pyarrow.dataset", _arrow_dataset),),
}
