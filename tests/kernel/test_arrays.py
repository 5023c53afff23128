from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from shiro_jupyter.kernel.arrays import array_summary
from tests.support.hostile_names import armed, hostile_class, mapped_array


def test_arrays_of_numpy() -> None:
    fields: Any = [("id", "i4"), ("city", "U3"), ("spot", "f8", (2,))]
    records: Any = np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    text: Any = np.array(["a"], dtype=np.dtypes.StringDType())
    cases: list[tuple[Any, str]] = [
        (np.zeros((3, 4), dtype="f4"), "ndarray, shape 3 x 4, float32"),
        (np.array(1), "ndarray, shape no dimension, int64"),
        (
            np.zeros(3, dtype=fields),
            "ndarray, shape 3, structured: id (int32), city (<U3), spot (float64 x 2)",
        ),
        (records, "recarray, shape 1, structured: a (int32), b (float64)"),
        (np.ma.masked_array([1, 2], [0, 1]), "MaskedArray, shape 2, int64"),
        (np.array([object()]), "ndarray, shape 1, object"),
        (text, "ndarray, shape 1, StringDType"),
        (np.array(["2024"], dtype="M8[s]"), "ndarray, shape 1, datetime64[s]"),
        (np.zeros(2_000_000), "ndarray, shape 2,000,000, float64, 16.0 MB"),
    ]
    for array, said in cases:
        assert array_summary(array) == said
    many = np.zeros(1, dtype=[(f"f{n}", "i1") for n in range(30)])
    assert array_summary(many).endswith("f19 (int8), … and 10 more fields")
    assert array_summary([1]) == ""


def test_an_array_on_disk_is_not_read(tmp_path: Path) -> None:
    assert array_summary(mapped_array(tmp_path)) == (
        "memmap, shape 625,000,000, float64, 5.0 GB, on disk"
    )


def test_a_subclass_is_read_past_what_it_overrides() -> None:
    array = np.zeros((2, 3)).view(hostile_class("raises", np.ndarray, named="Grid"))
    missing = object.__new__(hostile_class("raises"))
    text: Any = np.array(["a"], dtype=np.dtypes.StringDType(na_object=missing))
    with armed() as called:
        assert array_summary(array) == "tests.Grid, shape 2 x 3, float64"
        assert array_summary(text) == "ndarray, shape 1, StringDType"
    assert not called


def test_arrays_of_xarray() -> None:
    dataset = xr.Dataset(
        {"heat": (("x", "y"), np.zeros((2, 3))), "later": (("x",), da.ones(2, dtype="f4"))},
        coords={"x": [1, 2]},
    )
    assert array_summary(dataset) == (
        "xarray.Dataset, x 2, y 3, holding heat (float64), later (float32, lazy)"
    )
    assert array_summary(dataset.heat) == "xarray.DataArray, x 2, y 3, float64"
    assert array_summary(dataset.later) == "xarray.DataArray, x 2, float32, lazy"
    assert array_summary(dataset.x) == "xarray.DataArray, x 2, int64"
    many = xr.Dataset({f"v{n}": ("x", [1]) for n in range(25)})
    assert array_summary(many).endswith("v19 (int64), … and 5 more")
    assert array_summary(xr.DataArray(1.0)) == "xarray.DataArray, no dimension, float64"


class Grown:
    """An array of the person's own, as xarray takes them."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __array_function__(self, *call: object) -> object:
        return NotImplemented

    def __array_ufunc__(self, *call: object) -> object:
        return NotImplemented

    @property
    def shape(self) -> tuple[int, ...]:
        self.read.append("shape")
        return (2,)

    @property
    def ndim(self) -> int:
        return 1

    @property
    def dtype(self) -> object:
        self.read.append("dtype")
        return np.dtype("f8")


def test_what_xarray_holds_may_be_of_the_persons_class() -> None:
    grown: Any = Grown()
    array = xr.DataArray(grown, dims=("x",))
    dataset = xr.Dataset({"v": array})
    grown.read.clear()
    assert array_summary(array) == "xarray.DataArray of tests.Grown"
    assert array_summary(dataset) == "xarray.Dataset, x 2, holding v (tests.Grown)"
    assert grown.read == []


class Backend(xr.backends.BackendArray):
    """What reads a file for xarray."""

    shape, dtype = (4,), np.dtype("i2")

    def __getitem__(self, key: object) -> object:
        raise AssertionError("the file was read")


def test_what_xarray_has_not_read_stays_unread() -> None:
    from xarray.core.indexing import LazilyIndexedArray

    lazily = xr.DataArray(xr.Variable(("x",), LazilyIndexedArray(Backend())))
    # Who reads the file is a class of the person's here, and is not asked for its type.
    assert array_summary(lazily).startswith("xarray.DataArray of xarray.")


def test_tensors_by_a_look_alike_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch is not installed where the tests run; this holds the adapter to the names it reads."""
    torch: Any = types.ModuleType("torch")

    class Tensor:
        __module__ = "torch"
        shape, dtype, device = (2, 3), "torch.float32", "cuda:0"

    torch.Tensor = Tensor
    Tensor.__qualname__ = "Tensor"
    assert array_summary(Tensor()) == ""
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert array_summary(Tensor()) == "torch.Tensor, shape 2 x 3, torch.float32, on cuda:0"
