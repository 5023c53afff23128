"""What an object holds, kept cheaply so that a change in place can be seen and put back.

Only types that are known, exactly: nothing of the person's own is run. What is kept of a pandas
frame is a shallow copy, which under copy-on-write costs nothing until one of the two is changed.
"""

from __future__ import annotations

import sys
import types
import zlib
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar

from .describe import module_of
from .frames import TABLE_ERRORS
from .sizes import CHANGEABLE, is_exactly, is_pandas, is_polars, octets_of, size_of

HELD = 256_000_000  # bytes, by an estimate, of all that is held for an undo
ITEMS = 100_000  # of a list, dict or set
INNER, INNER_DEPTH = 200, 3  # objects inside one of them that are looked into, and how deep
ARRAY = 1_000_000  # bytes of an array, which has to be copied
SUMMED = 32_000_000  # bytes of one of which a checksum is taken
_PLAIN = frozenset(map(id, (str, int, float, bool, bytes, type(None))))
SAMPLED = 256  # items of a larger one


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
    """Of a container: its items, and what those that are containers or tables themselves held."""

    inner: tuple[tuple[Any, Contents], ...] = ()

    def are_of(self, value: Any) -> bool:
        return self._same(value) and all(held.are_of(item) for item, held in self.inner)

    def are(self, other: Contents) -> bool:
        if not isinstance(other, _Items) or not self._same(other.kept):
            return False
        pairs = zip(self.inner, other.inner, strict=False)
        return all(a.are(b) for (_, a), (_, b) in pairs)

    def _same(self, value: Any) -> bool:
        if len(value) != len(self.kept):
            return False
        if isinstance(value, dict):
            pairs = zip(value.items(), self.kept.items(), strict=True)
            return all(a is c and b is d for (a, b), (c, d) in pairs)
        if isinstance(value, set):
            return {id(each) for each in value} == {id(each) for each in self.kept}
        return all(a is b for a, b in zip(value, self.kept, strict=True))

    def beyond(self, value: Any) -> int:
        inside = sum(held.beyond(item) for item, held in self.inner)
        return inside + _left_out(self.kept, value)

    def put_back(self, value: Any) -> bool:
        changed = [(item, held) for item, held in self.inner if not held.are_of(item)]
        if not all(held.restores for _, held in changed):
            return False
        if isinstance(value, list):
            value[:] = self.kept
        elif isinstance(value, deque):
            value.clear()
            value.extend(self.kept)
        else:
            value.clear()
            value.update(self.kept)
        put_back = [held.put_back(item) for item, held in changed]
        return all(put_back)


@dataclass(frozen=True)
class _Bytes(Contents):
    def are_of(self, value: Any) -> bool:
        return bool(bytes(value) == self.kept)

    def beyond(self, value: Any) -> int:
        return len(self.kept)

    def put_back(self, value: Any) -> bool:
        value[:] = self.kept
        return True


@dataclass(frozen=True)
class _Attributes(Contents):
    """Of a function or an object of the person's own class: what it stores by name. It may hold
    more than that, so that nothing is put back."""

    restores: ClassVar[bool] = False

    def are_of(self, value: Any) -> bool:
        now = _attributes(value)
        return now is not None and _Items(self.kept).are_of(now)

    def beyond(self, value: Any) -> int:
        return _left_out(self.kept, _attributes(value))


@dataclass(frozen=True)
class _Polars(Contents):
    """A frame or series; a clone of one shares its columns."""

    def are_of(self, value: Any) -> bool:
        return _types(value) == _types(self.kept) and bool(value.equals(self.kept))

    def put_back(self, value: Any) -> bool:
        inside = "_df" if hasattr(value, "_df") else "_s"
        if not hasattr(value, inside):
            return False
        setattr(value, inside, getattr(self.kept.clone(), inside))
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
        if not all(_is_alike(a, b) and list(a.names) == list(b.names) for a, b in axes):
            return False
        if value.ndim == 1 and value.name != self.kept.name:
            return False
        if not _Items(self.kept.attrs).are_of(value.attrs):
            return False
        return _places(value) == _places(self.kept)

    def beyond(self, value: Any) -> int:
        there = [] if value is None else [_place(each.values) for each in value._mgr.blocks]
        mine = (each.values for each in self.kept._mgr.blocks)
        return sum(octets_of(each) for each in mine if _place(each) not in there)

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


@dataclass
class _Budget:
    """What may be kept of what is inside one value."""

    objects: int = INNER
    octets: int = SUMMED
    depth: int = INNER_DEPTH


def contents(value: object) -> Contents | None:
    """What it holds now; None where that cannot be told cheaply."""
    return _guarded(value, _Budget())


def _guarded(value: object, budget: _Budget) -> Contents | None:
    try:
        return _contents(value, budget)
    except TABLE_ERRORS:  # a column of a kind of its own
        return None


def _contents(value: object, budget: _Budget) -> Contents | None:
    kind = type(value)
    if any(kind is each for each in CHANGEABLE):
        items: Any = value
        if len(items) > ITEMS or size_of(items) > HELD:
            return _Outline(_outline(value))
        return _Items(items.copy(), _inner(items, budget))
    if kind is bytearray:
        octets: Any = value
        return _Bytes(bytes(octets)) if len(octets) <= ARRAY else _Outline(_outline(value))
    if is_exactly(value, "numpy", "ndarray"):
        array: Any = value
        copied = array.nbytes <= min(ARRAY, budget.octets) and not array.dtype.hasobject
        if copied:
            budget.octets -= array.nbytes
            return _Array(array.copy())
        return (_Checksum if array.nbytes <= SUMMED else _Outline)(_outline(value))
    if is_pandas(value):
        frame: Any = value
        kept = _copies_on_write() and _places(frame) is not None and size_of(frame) <= HELD
        return _pandas(frame) if kept else _Outline(_outline(value))
    if is_polars(value):
        table: Any = value
        kept = table.estimated_size() <= SUMMED and "Object" not in map(str, _types(table))
        return _Polars(table.clone()) if kept else _Outline(_outline(value))
    held = _attributes(value)
    return None if held is None else _Attributes(held.copy())


def _inner(items: Any, budget: _Budget) -> tuple[tuple[Any, Contents], ...]:
    """What is held by the items; of some where there are many, and not endlessly deep."""
    found: list[tuple[Any, Contents]] = []
    budget.depth -= 1
    if budget.depth >= 0 and not isinstance(items, set):
        for item in items.values() if isinstance(items, dict) else items:
            if budget.objects <= 0:
                break
            if id(type(item)) in _PLAIN:
                continue
            budget.objects -= 1
            if held := _guarded(item, budget):
                found.append((item, held))
    budget.depth += 1
    return tuple(found)


def _attributes(value: object) -> dict[str, Any] | None:
    """The dictionary of a function or object that the person's own code defined."""
    kind = type(value)
    module = value.__module__ if kind is types.FunctionType else module_of(kind)
    if type(module) is not str or module != "__main__":
        return None
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return held if type(held) is dict else None


def _left_out(kept: Any, now: Any) -> int:
    """Bytes of the items of a container that another one, which may be gone, does not hold."""
    if now is None:
        return size_of(kept)
    there = {id(each) for each in (now.values() if isinstance(now, dict) else now)}
    items = kept.values() if isinstance(kept, dict) else kept
    gone = [each for each in items if id(each) not in there]
    return size_of(gone) if gone else 0


def _types(table: Any) -> tuple[Any, ...]:
    """The columns of a polars frame, or of a series, with their types."""
    if not hasattr(table, "columns"):
        return table.name, table.dtype
    return (*table.columns, *table.dtypes)


def _is_alike(axis: Any, other: Any) -> bool:
    """The same, or equal texts: a column that came and went leaves another axis behind."""
    if axis.is_(other):
        return True
    if type(axis) is not type(other) or len(axis) != len(other) or len(axis) > ITEMS:
        return False
    pairs = zip(axis, other, strict=True)
    return axis.dtype == other.dtype and all(type(a) is type(b) is str and a == b for a, b in pairs)


def _pandas(frame: Any) -> _Pandas:
    copy = frame.copy(deep=False)
    copy.attrs = frame.attrs  # the same values, not pandas' copies of them
    return _Pandas(copy)


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


def _place(values: Any) -> object:
    for name in ("_ndarray", "_pa_array", "_data"):
        inner = getattr(values, name, None)
        if inner is not None and not isinstance(inner, memoryview):
            values = inner
            break
    if is_exactly(values, "numpy", "ndarray"):
        return values.ctypes.data, values.shape, values.strides, str(values.dtype)
    return id(values) if is_exactly(values, "pyarrow.lib", "ChunkedArray") else None


def _outline(value: Any) -> tuple[Any, ...]:
    if is_pandas(value):
        return tuple((len(axis), id(axis)) for axis in value.axes)
    if is_polars(value):
        return value.shape, _types(value)
    if is_exactly(value, "numpy", "ndarray"):
        # Of a large one a few of its items: most changes of it are seen.
        part = value if value.nbytes <= SUMMED else value.flat[:: value.size // SAMPLED]
        told = 0 if value.nbytes > SUMMED and value.dtype.hasobject else zlib.crc32(part.tobytes())
        return value.shape, str(value.dtype), told
    return (len(value),)
