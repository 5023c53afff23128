"""One value in words, by its exact type, without running any code of the person's.

Nothing here calls `repr`, `len`, `isinstance` or an attribute of an object whose type is not
known: each may be code with effects, and `__class__` may lie. Types are told apart by identity,
and what a type says of itself is read past its metaclass.
"""

from __future__ import annotations

import datetime
import decimal
import difflib
import fractions
import pathlib
import sys
import types
import uuid
from collections.abc import Callable
from itertools import islice
from typing import Any

# Characters of a value shown in passing, and items of a container looked at for their types.
SHORT = 60
SAMPLE = 100
# Bits of the longest integer written out: turning it into text takes quadratic time.
_INT_BITS = 256

_MRO = type.__dict__["__mro__"]
_NAME = type.__dict__["__qualname__"]
_MODULE = type.__dict__["__module__"]
# Types whose text is cheap, short and their own.
_PLAIN: tuple[type, ...] = (
    complex,
    datetime.date,
    datetime.timedelta,
    decimal.Decimal,
    fractions.Fraction,
    uuid.UUID,
    range,
    pathlib.PosixPath,
    pathlib.WindowsPath,
    pathlib.PurePosixPath,
    pathlib.PureWindowsPath,
)
_ABSENT = object()
_CONTAINERS: tuple[type, ...] = (dict, list, tuple, set, frozenset)


def mro_of(cls: type) -> tuple[type, ...]:
    return _MRO.__get__(cls)  # type: ignore[no-any-return]


def derives(value: object, base: type) -> bool:
    """As `isinstance`, by identity: `in` would ask a metaclass for equality."""
    return any(each is base for each in mro_of(type(value)))


def is_class(value: object) -> bool:
    return derives(value, type)


def class_name(cls: type) -> str:
    return str(_NAME.__get__(cls))


def module_of(cls: type) -> str:
    name = _MODULE.__get__(cls)
    return name if type(name) is str else ""


def library(name: str) -> dict[str, Any]:
    """The public names of a module that is loaded already; empty where it is not."""
    module = sys.modules.get(name)
    if module is None:
        return {}
    return types.ModuleType.__getattribute__(module, "__dict__")  # type: ignore[no-any-return]


def is_of(cls: type, root: str) -> bool:
    """Whether the class is a public one of the library, which its own word does not prove."""
    return library(root).get(class_name(cls)) is cls


def kind(value: object) -> str:
    """The type's name, with its module where the name alone may mislead."""
    cls = type(value)
    name, root = class_name(cls), module_of(cls).partition(".")[0]
    return name if root in ("builtins", "__main__", "", "datetime", "decimal") else f"{root}.{name}"


def count(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size(octets: int) -> str:
    """`3.4 MB`; empty below one, where it tells nothing."""
    if octets < 1_000_000:
        return ""
    return f"{octets / 1e9:.1f} GB" if octets >= 1_000_000_000 else f"{octets / 1e6:.1f} MB"


def number(value: float) -> str:
    """A computed figure as a person would write it, without noise digits."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value and not 1e-3 <= abs(value) < 1e15:
        return f"{value:.6g}"
    return f"{value:.4f}".rstrip("0").rstrip(".")


def plain(value: object, limit: int = SHORT) -> str | None:
    """The value itself as one short line, None where its type is not known to be cheap."""
    cls = type(value)
    if cls is bool or value is None:
        return str(value)
    if cls is datetime.datetime or cls is datetime.time:
        return _moment(value)
    if cls is fractions.Fraction and not _short(value.numerator, value.denominator):  # type: ignore[attr-defined]
        return None
    if cls is range and not _short(value.start, value.stop, value.step):  # type: ignore[attr-defined]
        return None
    if any(cls is each for each in _PLAIN) or _numpy_scalar(cls):
        return _cut(str(value), limit)
    if derives(value, int):
        return _integer(value)
    if derives(value, float):
        return float.__repr__(value)
    if derives(value, str):
        text = str.__str__(value)
        return _cut(repr(text[: limit + 1]), limit)
    if derives(value, bytes):
        return f"{bytes.__len__(value):,} bytes"  # type: ignore[arg-type]
    if _is_missing(value):
        return "missing"
    if is_of(cls, "pandas") and class_name(cls) in ("Timestamp", "Timedelta", "Period"):
        return _cut(str(value), limit)
    return None


def _numpy_scalar(cls: type) -> bool:
    return is_of(cls, "numpy") and any(class_name(each) == "generic" for each in mro_of(cls))


def _is_missing(value: object) -> bool:
    return any(mark is value for mark in missing_marks())


def missing_marks() -> tuple[object, object]:
    """pandas' own objects for a missing value and a missing time; others where it is absent."""
    pandas = library("pandas")
    return pandas.get("NA", _ABSENT), pandas.get("NaT", _ABSENT)


def summary(value: object, show_values: bool = True) -> str:
    """What is said of a variable that is no frame: `int = 5`, `list, 12 items`."""
    for base in _CONTAINERS:
        if derives(value, base):
            return _container(value, base)
    if derives(value, str):
        length = count(str.__len__(value), "character")  # type: ignore[arg-type]
        return f"{kind(value)}, {length}" + (f" = {plain(value)}" if show_values else "")
    described = _array(value)
    if described is not None:
        return described
    if value is None:
        return "None"
    text = plain(value) if show_values else None
    return kind(value) if text is None else f"{kind(value)} = {text}"


def is_function(value: object) -> bool:
    return type(value) is types.FunctionType or type(value) is types.BuiltinFunctionType


def signature(name: str, value: object) -> str:
    """`load(path, year)`, from the code object alone."""
    if type(value) is not types.FunctionType:
        return name
    code = value.__code__
    names = code.co_varnames
    wanted = code.co_argcount + code.co_kwonlyargcount
    shown = list(names[:wanted])
    for flag, star in ((0x04, "*"), (0x08, "**")):
        if code.co_flags & flag:
            shown.append(star + names[wanted])
            wanted += 1
    return f"{name}({', '.join(shown)})"


def module(name: str, value: object) -> str:
    """`np (numpy)`."""
    full = types.ModuleType.__getattribute__(value, "__dict__").get("__name__")
    return name if type(full) is not str or full == name else f"{name} ({full})"


def item_kinds(items: Any) -> str:
    """The types among the first items of a builtin container: `of str`, `of int and str`."""
    names = list(dict.fromkeys(kind(item) for item in islice(items, SAMPLE)))
    if not names or len(names) > 3:
        return "of mixed types" if names else ""
    return f"of {' and '.join(names)}"


def _container(value: Any, base: type) -> str:
    length = base.__len__(value)  # type: ignore[attr-defined]
    said = f"{kind(value)}, {count(length, 'item')}"
    if base in (list, tuple) and length:
        said += f" {item_kinds(base.__iter__(value))}"
    return said


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
        low, high, mean = (float(each) for each in (known.min(), known.max(), known.mean()))
        said += f", min {number(low)}, max {number(high)}, mean {number(mean)}"
    return f"{said}; it begins {', '.join(number(float(each)) for each in value.flat[:10])}"


def _array(value: Any) -> str | None:
    """Arrays and tensors: their shape and type are stored beside the numbers."""
    cls = type(value)
    for root, name, describe in _ARRAYS:
        if library(root).get(name) is cls:
            return describe(value)
    return None


def _ndarray(value: Any) -> str:
    shape = " x ".join(f"{each:,}" for each in value.shape) or "no dimension"
    parts = ["ndarray", f"shape {shape}", str(value.dtype), size(value.nbytes)]
    return ", ".join(part for part in parts if part)


def _tensor(value: Any) -> str:
    shape = " x ".join(f"{each:,}" for each in value.shape) or "no dimension"
    return f"torch.Tensor, shape {shape}, {value.dtype}, on {value.device}"


def _labelled(value: Any) -> str:
    sizes = ", ".join(f"{name} {length:,}" for name, length in value.sizes.items())
    held = getattr(value, "data_vars", ())  # a dataset's; an array holds none
    names = f", holding {', '.join(map(str, islice(held, 20)))}" if held else ""
    return f"xarray.{class_name(type(value))}, {sizes or 'no dimension'}{names}"


_ARRAYS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("numpy", "ndarray", _ndarray),
    ("torch", "Tensor", _tensor),
    ("xarray", "DataArray", _labelled),
    ("xarray", "Dataset", _labelled),
)


def _short(*numbers: int) -> bool:
    return all(int.bit_length(each) <= _INT_BITS for each in numbers)


def _integer(value: Any) -> str:
    bits = int.bit_length(value)
    return int.__repr__(value) if bits <= _INT_BITS else f"an integer of {bits:,} bits"


def _moment(value: Any) -> str:
    # A time zone may be a class of the person's; it is not asked.
    return str(value.replace(tzinfo=None))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def no_such(name: str, names: list[str], noun: str = "variable") -> str:
    if not names:
        return f"No {noun} {name!r}; there are none."
    near = difflib.get_close_matches(name, names, n=3)
    shown = list(dict.fromkeys([*near, *names]))[:20]
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return f"No {noun} {name!r}; there are {', '.join(shown)}{more}."
