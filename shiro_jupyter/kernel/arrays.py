"""Arrays and tensors in words: shape and type, which are stored beside the numbers.

A subclass of numpy's array may give `shape` or `dtype` a meaning of its own, so both are read with
numpy's own descriptors; what an array of xarray holds may be of any class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

from .describe import (
    class_name,
    comes_from,
    count,
    kind,
    library,
    mro_of,
    number,
    one_line,
    size,
)

# Variables of a dataset and fields of a structured array that are named.
NAMED = 20


def unwarned() -> AbstractContextManager[object]:
    """Within it figures that overflow, or that nobody can give, raise no warning, which would show
    in the person's cell and run their hook. Of this thread alone; a filter of warnings would be
    of all."""
    errstate = library("numpy").get("errstate")
    return errstate(all="ignore") if errstate else nullcontext()


def array_summary(value: object) -> str:
    """`ndarray, shape 3 x 4, float64`; empty for what is no array of a known class."""
    cls = type(value)
    for root, name, describe in _ARRAYS:
        if library(root).get(name) is cls:
            return describe(value)
    ndarray = library("numpy").get("ndarray")
    return _ndarray(value) if any(each is ndarray for each in mro_of(cls)) else ""


def array_facts(value: Any, limit: int) -> str:
    """Figures of a numeric numpy array of at most `limit` numbers; else empty."""
    numpy = library("numpy")
    if type(value) is not numpy.get("ndarray") or value.dtype.kind not in "biuf":
        return ""
    if not 0 < value.size <= limit:
        return ""
    known = value[~numpy["isnan"](value)] if value.dtype.kind == "f" else value.reshape(-1)
    said = f"{count(int(value.size - known.size), 'missing number')}"
    if known.size:
        low, high, mean = (each.item() for each in (known.min(), known.max(), known.mean()))
        said += f", min {number(low)}, max {number(high)}, mean {number(float(mean))}"
    return f"{said}; it begins {', '.join(number(each.item()) for each in value.flat[:10])}"


def shape_of(lengths: Any) -> str:
    """`shape 3 x 4`; a length that is not known is NaN in dask."""
    known = ("unknown" if each != each else f"{int(each):,}" for each in lengths)
    return f"shape {' x '.join(known) or 'no dimension'}"


def dtype_text(dtype: Any) -> str:
    """As numpy prints it. Fields by name and type alone: a title may be any object, as may be what
    a text type takes for missing."""
    if not comes_from(type(dtype), "numpy"):
        return class_name(type(dtype))
    if dtype.names is not None:
        fields = [
            f"{one_line(name)} ({dtype_text(dtype.fields[name][0])})"
            for name in dtype.names[:NAMED]
        ]
        more = len(dtype.names) - NAMED
        return ", ".join([*fields, *([f"… and {count(more, 'more field')}"] if more > 0 else [])])
    if dtype.subdtype is not None:
        return f"{dtype_text(dtype.base)} x {' x '.join(map(str, dtype.shape))}"
    return "StringDType" if class_name(type(dtype)) == "StringDType" else str(dtype)


def _ndarray(value: Any) -> str:
    numpy = library("numpy")
    own = type.__dict__["__dict__"].__get__(numpy["ndarray"])
    shape, dtype, octets = (own[name].__get__(value) for name in ("shape", "dtype", "nbytes"))
    fields = dtype_text(dtype)
    described = f"structured: {fields}" if dtype.names is not None else fields
    where = "on disk" if any(each is numpy["memmap"] for each in mro_of(type(value))) else ""
    parts = [kind(value).removeprefix("numpy."), shape_of(shape), size(octets), where]
    parts.insert(len(parts) if dtype.names is not None else 2, described)
    return ", ".join(part for part in parts if part)


def _tensor(value: Any) -> str:
    return f"{kind(value)}, {shape_of(value.shape)}, {value.dtype}, on {value.device}"


def _dataset(value: Any) -> str:
    coordinates = value._coord_names
    held = [
        f"{_name(name)} ({_held(variable)})"
        for name, variable in value._variables.items()
        if not (type(name) is str and name in coordinates)
    ]
    more = len(held) - NAMED
    named = [*held[:NAMED], *([f"… and {more:,} more"] if more > 0 else [])]
    return _labelled(value, value._dims.items()) + (f", holding {', '.join(named)}" if held else "")


def _data_array(value: Any) -> str:
    variable = value._variable
    held = _held(variable)
    if not _is_known(variable):
        return f"xarray.DataArray of {held}"
    return f"{_labelled(value, zip(variable._dims, variable._data.shape, strict=True))}, {held}"


def _labelled(value: object, sizes: Iterable[tuple[object, Any]]) -> str:
    lengths = [f"{_name(name)} {_length(length)}" for name, length in islice(sizes, NAMED)]
    return f"xarray.{class_name(type(value))}, {', '.join(lengths) or 'no dimension'}"


def _length(length: Any) -> str:
    """dask says NaN where it does not know."""
    return "unknown" if length != length else f"{int(length):,}"


def _held(variable: Any) -> str:
    """The type of what a variable holds, and that it is lazy where it is."""
    if not _is_known(variable):
        return kind(variable._data) if comes_from(type(variable), "xarray") else kind(variable)
    data = variable._data
    if comes_from(type(data), "dask"):
        return f"{meta_dtype(data)}, lazy"
    unread = class_name(type(data)).startswith(("MemoryCached", "CopyOnWrite", "Lazily"))
    return dtype_text(data.dtype) + (", not read yet" if unread else "")


def meta_dtype(array: Any) -> str:
    """The type of the numbers of a dask array, whose stand-in may be of any class."""
    meta = array._meta
    return dtype_text(meta.dtype) if comes_from(type(meta), "numpy") else kind(meta)


def _is_known(variable: Any) -> bool:
    """Whether a variable, and all below xarray's wrappers, is of a library's own class."""
    data = variable._data if comes_from(type(variable), "xarray") else variable
    while comes_from(type(data), "xarray") and not class_name(type(data)).startswith("Pandas"):
        if data is variable or (inner := getattr(data, "array", None)) is None:
            break  # what reads a file, which stores its type
        data = inner
    return comes_from(type(data), "numpy", "dask", "xarray")


def _name(label: object) -> str:
    return one_line(label) if type(label) is str else f"<{class_name(type(label))}>"


_ARRAYS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("torch", "Tensor", _tensor),
    ("torch.nn", "Parameter", _tensor),
    ("xarray", "DataArray", _data_array),
    ("xarray", "Dataset", _dataset),
)
