"""What an object holds, kept cheaply so that a change in place can be seen and put back.

Only types that are known, exactly: nothing of the person's own is run. What is kept of a pandas
frame is a shallow copy, which under copy-on-write costs nothing until one of the two is changed.
"""

from __future__ import annotations

import sys
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from .frames import TABLE_ERRORS

HELD = 256_000_000  # bytes, by an estimate, of all that is held for an undo
ITEMS = 100_000  # of a list, dict or set
ARRAY = 1_000_000  # bytes of an array, which has to be copied
SUMMED = 32_000_000  # bytes of one of which a checksum is taken
SAMPLE, DEPTH = 20, 2  # items of a container that its size is estimated from, and how deep


@dataclass(frozen=True)
class Contents(ABC):
    """What an object held at one time: `kept` is a copy of it."""

    restores: ClassVar[bool] = True  # whether `put_back` can do anything
    kept: Any

    @property
    def sure(self) -> bool:
        """Whether every change is seen."""
        return True

    @abstractmethod
    def are_of(self, value: Any) -> bool:
        """Whether it holds the same now; never wrongly so for what `put_back` puts back."""

    def are(self, other: Contents) -> bool:
        """Whether the same was held then."""
        return type(self) is type(other) and self.are_of(other.kept)

    def beyond(self, value: Any) -> int:
        """Bytes that are held here and not by the value, which is None where it is gone."""
        return 0

    def put_back(self, value: Any) -> bool:
        """Make it hold that again, for everyone who has it; whether that could be done."""
        return False


@dataclass(frozen=True)
class _Items(Contents):
    def are_of(self, value: Any) -> bool:
        if len(value) != len(self.kept):
            return False
        if isinstance(value, dict):
            pairs = zip(value.items(), self.kept.items(), strict=True)
            return all(a is c and b is d for (a, b), (c, d) in pairs)
        if isinstance(value, set):
            return {id(each) for each in value} == {id(each) for each in self.kept}
        return all(a is b for a, b in zip(value, self.kept, strict=True))

    def put_back(self, value: Any) -> bool:
        if isinstance(value, list):
            value[:] = self.kept
        else:
            value.clear()
            value.update(self.kept)
        return True


@dataclass(frozen=True)
class _Array(Contents):
    def are_of(self, value: Any) -> bool:
        alike = value.shape == self.kept.shape and value.dtype == self.kept.dtype
        return bool(alike and value.tobytes() == self.kept.tobytes())

    def beyond(self, value: Any) -> int:
        return size_of(self.kept)

    def put_back(self, value: Any) -> bool:
        if value.shape != self.kept.shape or value.dtype != self.kept.dtype:
            return False
        try:
            value[...] = self.kept
        except ValueError:  # it is read-only by now
            return False
        return True


@dataclass(frozen=True)
class _Pandas(Contents):
    def are_of(self, value: Any) -> bool:
        axes = zip(value.axes, self.kept.axes, strict=True)
        if not all(a.is_(b) and list(a.names) == list(b.names) for a, b in axes):
            return False
        if value.ndim == 1 and value.name != self.kept.name:
            return False
        if not _Items(self.kept.attrs).are_of(value.attrs):
            return False
        return _places(value) == _places(self.kept)

    def beyond(self, value: Any) -> int:
        there = [] if value is None else [_place(each.values) for each in value._mgr.blocks]
        mine = (each.values for each in self.kept._mgr.blocks)
        return sum(_octets(each) for each in mine if _place(each) not in there)

    def put_back(self, value: Any) -> bool:
        type(value).__init__(value, self.kept)  # in place: all names of it see it
        if value.ndim == 1:
            value.name = self.kept.name
        value.attrs = self.kept.attrs
        return True


@dataclass(frozen=True)
class _Outline(Contents):
    """Of what is too large to keep: enough to see some changes, and to put back none."""

    restores: ClassVar[bool] = False

    @property
    def sure(self) -> bool:
        return False

    def are_of(self, value: Any) -> bool:
        return bool(_outline(value) == self.kept)

    def are(self, other: Contents) -> bool:
        return self == other


class _Checksum(_Outline):
    """Of an array: enough to see any change, and to put back none."""

    @property
    def sure(self) -> bool:
        return True


def contents(value: object) -> Contents | None:
    """What it holds now; None where that cannot be told cheaply."""
    try:
        return _contents(value)
    except TABLE_ERRORS:  # a column of a kind of its own
        return None


def _contents(value: object) -> Contents | None:
    kind = type(value)
    if kind in (list, dict, set):
        items: Any = value
        kept = len(items) <= ITEMS and size_of(items) <= HELD
        return _Items(items.copy()) if kept else _Outline(_outline(value))
    if _is(value, "numpy", "ndarray"):
        array: Any = value
        copied = array.nbytes <= ARRAY and not array.dtype.hasobject
        if copied:
            return _Array(array.copy())
        return (_Checksum if array.nbytes <= SUMMED else _Outline)(_outline(value))
    if _is_pandas(value):
        frame: Any = value
        kept = _copies_on_write() and _places(frame) is not None and size_of(frame) <= HELD
        return _pandas(frame) if kept else _Outline(_outline(value))
    return None


def _pandas(frame: Any) -> _Pandas:
    copy = frame.copy(deep=False)
    copy.attrs = frame.attrs  # the same values, not pandas' copies of them
    return _Pandas(copy)


def size_of(value: Any, depth: int = DEPTH) -> int:
    """An estimate of the bytes that it holds, from its outside and a few of its items."""
    if _is_pandas(value):
        return sum(_octets(each.values) for each in value._mgr.blocks)
    if _is(value, "polars", "DataFrame") or _is(value, "polars", "Series"):
        return int(value.estimated_size())
    if (
        _is(value, "numpy", "ndarray")
        or _is(value, "pyarrow.lib", "Table")
        or _is(value, "torch", "Tensor")
    ):
        return int(value.nbytes)
    if type(value) in (list, tuple, set, frozenset, dict):
        items = list(islice(value.values() if type(value) is dict else value, SAMPLE))
        inner = sum(size_of(each, depth - 1) for each in items) if depth else 0
        return sys.getsizeof(value) + inner * len(value) // max(1, len(items))
    if type(value).__module__ == "builtins":
        return sys.getsizeof(value)
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return 100
    return 100 + (size_of(dict(held), depth - 1) if depth and type(held) is dict else 0)


def _is(value: object, module: str, name: str) -> bool:
    """Whether its type is that one, without importing the package."""
    kind = type(value)
    return kind.__name__ == name and kind is getattr(sys.modules.get(module), name, None)


def _is_pandas(value: object) -> bool:
    known = _is(value, "pandas", "DataFrame") or _is(value, "pandas", "Series")
    return known and hasattr(getattr(value, "_mgr", None), "blocks")


def _copies_on_write() -> bool:
    pandas: Any = sys.modules["pandas"]
    if int(pandas.__version__.partition(".")[0]) >= 3:
        return True
    return getattr(pandas.options.mode, "copy_on_write", False) is True


def _places(frame: Any) -> list[object] | None:
    """Where its columns are in memory: under copy-on-write a change moves them. None where a
    column is of a kind that does not tell."""
    found: list[object] = []
    for block in frame._mgr.blocks:
        place = _place(block.values)
        if place is None:
            return None
        found += [tuple(block.mgr_locs), place]
    return found


def _octets(values: Any) -> int:
    return int(getattr(values, "nbytes", 0))


def _place(values: Any) -> object:
    for name in ("_ndarray", "_pa_array", "_data"):
        inner = getattr(values, name, None)
        if inner is not None and not isinstance(inner, memoryview):
            values = inner
            break
    if _is(values, "numpy", "ndarray"):
        return values.ctypes.data, values.shape, values.strides, str(values.dtype)
    return id(values) if _is(values, "pyarrow.lib", "ChunkedArray") else None


def _outline(value: Any) -> tuple[Any, ...]:
    if _is_pandas(value):
        return tuple((len(axis), id(axis)) for axis in value.axes)
    if _is(value, "numpy", "ndarray"):
        summed = value.nbytes <= SUMMED
        return value.shape, str(value.dtype), zlib.crc32(value.tobytes()) if summed else 0
    return (len(value),)
