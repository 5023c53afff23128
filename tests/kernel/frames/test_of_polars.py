from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from shiro_jupyter.kernel.frames import Frame, frame_of
from tests.support.hostile_names import armed, hostile_class

READ: list[str] = []


def table(value: object) -> Frame:
    frame = frame_of(value)
    assert frame is not None
    return frame


class Kelvin(pl.BaseExtension):
    """A type of the person's own."""

    def __init__(self) -> None:
        super().__init__("tests.kelvin", pl.Float64())

    def _string_repr(self) -> str:
        READ.append("string")
        return "kelvin"

    def __repr__(self) -> str:
        READ.append("repr")
        return "kelvin"

    __str__ = __repr__


def test_types_are_told_as_polars_prints_them() -> None:
    made = pl.DataFrame(
        {"n": [1, None], "s": ["x", "y"], "pairs": [[1], None], "deep": [{"a": 1}, {"a": 2}]}
    )
    frame = table(made)
    assert frame.headline() == "polars.DataFrame, 2 rows, 4 columns"
    assert [frame.dtype(n) for n in range(4)] == [
        "Int64",
        "String",
        "List(Int64)",
        "Struct(a: Int64)",
    ]
    assert frame.rows(1) == [[1, "x", [], []]]  # a list may be as long as it likes
    assert [frame.stored_missing(n) for n in range(4)] == [1, 0, 1, 0]
    assert table(made["n"]).headline() == "polars.Series, 2 rows"


def test_objects_in_a_table_are_not_asked() -> None:
    held = object.__new__(hostile_class("raises"))
    made = pl.DataFrame({"x": pl.Series([held], dtype=pl.Object)})
    with armed() as called:
        frame = table(made)
        assert frame.dtype(0) == "Object"
        assert frame.facts(0, True).distinct is None
        assert [type(row[0]) for row in frame.rows(3)] == [type(held)]
    assert not called


def test_what_is_missing_in_a_large_table_is_stored() -> None:
    made = pl.DataFrame({"x": np.zeros(1_500_000)}).with_columns(y=pl.lit(None, pl.Int64))
    frame = table(made)
    assert not frame.cheap
    # Of floats NaN is missing, too, which is not stored.
    assert [frame.stored_missing(n) for n in (0, 1)] == [None, 1_500_000]


@pytest.fixture
def kelvin() -> Iterator[pl.BaseExtension]:
    pl.register_extension_type("tests.kelvin", Kelvin)
    yield Kelvin()
    pl.unregister_extension_type("tests.kelvin")


@pytest.mark.parametrize("held", ["alone", "in a list", "in a struct"])
def test_a_type_of_the_persons_is_named_and_not_asked(held: str, kelvin: pl.BaseExtension) -> None:
    made = pl.DataFrame({"heat": pl.Series([1.0, None]).ext.to(kelvin)})
    if held == "in a list":
        made = made.select(pl.col("heat").implode())
    if held == "in a struct":
        made = made.select(pl.struct("heat"))
    READ.clear()
    named = {"alone": "Kelvin", "in a list": "List(Kelvin)", "in a struct": "Struct(heat: Kelvin)"}
    assert table(made).dtype(0) == named[held]
    assert READ == []


def test_the_categories_of_a_type_are_values_and_not_told() -> None:
    kind = pl.Enum(["secret", "no)], secret"])
    made = pl.DataFrame({"k": pl.Series(["secret"], dtype=kind)})
    nested = made.select(pl.struct("k"), ks=pl.col("k").implode())
    assert table(made).dtype(0) == "Enum"
    assert [table(nested).dtype(n) for n in (0, 1)] == ["Struct(k: Enum)", "List(Enum)"]


def test_a_long_type_is_cut() -> None:
    made = pl.DataFrame({"deep": [{f"field_{n}": n for n in range(50)}]})
    assert len(table(made).dtype(0)) == 80
