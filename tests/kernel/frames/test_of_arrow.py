from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from shiro_jupyter.kernel.frames import Frame, cell, frame_of
from shiro_jupyter.kernel.frames.of_arrow import arrow_type, is_arrow

READ: list[str] = []


def table(value: object) -> Frame:
    frame = frame_of(value)
    assert frame is not None
    return frame


class Kelvin(pa.ExtensionType):
    """A type of the person's own."""

    def __init__(self) -> None:
        super().__init__(pa.float64(), "tests.kelvin")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Kelvin:
        return cls()

    def __arrow_ext_scalar_class__(self) -> Any:
        READ.append("scalar")
        return pa.ExtensionScalar

    def __str__(self) -> str:
        READ.append("str")
        return "kelvin"

    __repr__ = __str__


def test_a_table_and_a_batch() -> None:
    made = pa.table({"n": [1, None, 3], "s": ["x", "y", None]})
    frame = table(made)
    assert frame.headline() == "pyarrow.Table, 3 rows, 2 columns"
    assert [frame.dtype(n) for n in (0, 1)] == ["int64", "string"]
    assert [frame.stored_missing(n) for n in (0, 1)] == [1, 1]
    assert frame.rows(2) == [[1, "x"], [None, "y"]]
    batch = table(made.to_batches()[0])
    assert batch.headline() == "pyarrow.RecordBatch, 3 rows, 2 columns"
    assert batch.facts(0, True).missing == 1


def test_a_list_in_a_cell_may_be_as_long_as_it_likes() -> None:
    frame = table(pa.table({"n": [1], "many": [[1, 2]], "deep": [{"a": 1}]}))
    assert frame.rows(1) == [[1, [], []]]


def test_two_columns_of_one_name() -> None:
    frame = table(pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], names=["a", "a"]))
    assert frame.names() == ["a", "a"]
    assert frame.rows(1) == [[1, "x"]]


def test_the_size_of_a_large_table() -> None:
    assert table(pa.table({"n": pa.nulls(500_000, pa.int64())})).headline() == (
        "pyarrow.Table, 500,000 rows, 1 column, 4.1 MB"
    )


def test_a_type_of_the_persons_is_named_and_not_asked() -> None:
    values = pa.ExtensionArray.from_storage(Kelvin(), pa.array([1.0, None]))
    frame = table(pa.table({"heat": values, "n": [1, 2]}))
    READ.clear()
    assert frame.dtype(0) == "Kelvin"
    assert frame.stored_missing(0) == 1
    rows = [[cell(each) for each in row] for row in frame.rows(5)]
    assert rows == [["<Kelvin>", "1"], ["<Kelvin>", "2"]]
    nested = pa.struct({"inner": pa.list_(Kelvin())})
    assert arrow_type(nested) == "StructType"
    assert READ == []


@pytest.mark.parametrize(
    "dtype",
    [
        pa.int8(),
        pa.timestamp("us", "UTC"),
        pa.decimal128(10, 2),
        pa.dictionary(pa.int8(), pa.string()),
        pa.struct({"a": pa.list_(pa.int8())}),
        pa.map_(pa.string(), pa.int64()),
        pa.run_end_encoded(pa.int32(), pa.int64()),
    ],
    ids=str,
)
def test_types_of_arrow_are_told_as_it_prints_them(dtype: pa.DataType) -> None:
    assert is_arrow(dtype)
    assert arrow_type(dtype) == str(dtype)


@pytest.mark.parametrize(
    "holder",
    [
        lambda inner: pa.list_(inner),
        lambda inner: pa.struct({"a": inner}),
        lambda inner: pa.map_(pa.string(), inner),
        lambda inner: pa.dictionary(pa.int8(), inner),
        lambda inner: pa.list_(pa.struct({"b": pa.list_(inner)})),
    ],
)
def test_a_type_of_the_persons_is_found_wherever_it_is_held(holder: Any) -> None:
    assert not is_arrow(holder(Kelvin()))


def test_a_long_type_is_cut() -> None:
    text = arrow_type(pa.struct({f"field_{n}": pa.int64() for n in range(50)}))
    assert len(text) == 80 and text.endswith("…")
