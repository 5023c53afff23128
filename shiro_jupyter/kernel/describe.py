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
import heapq
import operator
import pathlib
import sys
import types
import uuid
from itertools import islice
from typing import Any

# Characters of a value shown in passing, and items of a container looked at for their types.
SHORT = 60
SAMPLE = 100
# Names that are compared closely with one that there is not.
_COMPARED = 200
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
    return one_line(str.__str__(_NAME.__get__(cls)))


def module_of(cls: type) -> str:
    try:
        name = _MODULE.__get__(cls)
    except AttributeError:  # made where there is no `__name__`
        return ""
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


def comes_from(cls: type, *roots: str) -> bool:
    """Whether a library of these names defines the class, and holds it where it says."""
    home = module_of(cls)
    return home.partition(".")[0] in roots and library(home).get(class_name(cls)) is cls


def instance_dict(value: object) -> dict[Any, object]:
    """What the object stores, by the way that Python's own classes take: nothing is computed."""
    for cls in mro_of(type(value)):
        member = type.__dict__["__dict__"].__get__(cls).get("__dict__")
        if type(member) is types.GetSetDescriptorType:
            found = member.__get__(value)
            return found if type(found) is dict else {}
    return {}


def known_zone(zone: object) -> bool:
    """Whether a time zone is of no class of the person's, which would be asked for its offset."""
    cls = type(zone)
    if zone is None or comes_from(cls, "datetime", "zoneinfo", "pytz", "dateutil"):
        return True
    base = library("pytz.tzinfo").get("BaseTzInfo")  # pytz makes a class for each of its zones
    return module_of(cls) == "pytz.tzfile" and any(each is base for each in mro_of(cls))


def kind(value: object) -> str:
    """The type's name, with its module where the name alone may mislead."""
    cls = type(value)
    name, root = class_name(cls), one_line(module_of(cls).partition(".")[0])
    outer = library("__main__").get(name.partition(".")[0])
    if root == "__main__" and not (is_class(outer) or is_function(outer)):
        return "object"  # of a class that is gone, or that code has named after a value
    return name if root in ("builtins", "__main__", "", "datetime", "decimal") else f"{root}.{name}"


def count(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def one_line(text: str) -> str:
    """A label or a cell may hold line ends, which would end ours, or what cannot be seen."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def size(octets: int) -> str:
    """`3.4 MB`; empty below one, where it tells nothing."""
    if octets < 1_000_000:
        return ""
    return f"{octets / 1e9:.1f} GB" if octets >= 1_000_000_000 else f"{octets / 1e6:.1f} MB"


def number(value: float) -> str:
    """A computed figure as a person would write it, without noise digits."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if type(value) is int:
        return str(value)
    if value and not 0.1 <= abs(value) < 1e15:
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
    if any(cls is each for each in _PLAIN) or is_numpy_scalar(cls):
        return one_line(cut(str(value), limit))
    if derives(value, int):
        return _integer(value)
    if derives(value, float):
        return float.__repr__(value)
    if derives(value, str):
        text = str.__str__(value)
        return cut(repr(text[: limit + 1]), limit)
    if derives(value, bytes):
        return count(bytes.__len__(value), "byte")  # type: ignore[arg-type]
    if _is_missing(value):
        return "missing"
    if is_of(cls, "pandas") and class_name(cls) in ("Timestamp", "Timedelta", "Period"):
        return cut(str(value), limit) if known_zone(getattr(value, "tzinfo", None)) else None
    return None


def is_numpy_scalar(cls: type) -> bool:
    """But one of several fields, which may be objects."""
    scalar = any(class_name(each) == "generic" for each in mro_of(cls))
    return is_of(cls, "numpy") and scalar and class_name(cls) not in ("void", "record")


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
    known = type(full) is str and full != name
    return f"{name} ({cut(one_line(full), 100)})" if known else name


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


def _short(*numbers: int) -> bool:
    return all(int.bit_length(each) <= _INT_BITS for each in numbers)


def _integer(value: Any) -> str:
    bits = int.bit_length(value)
    return int.__repr__(value) if bits <= _INT_BITS else f"an integer of {bits:,} bits"


def _moment(value: Any) -> str:
    # A time zone may be a class of the person's; it is not asked.
    return str(value.replace(tzinfo=None))


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _in_place(one: str, other: str) -> int:
    """How many characters of both stand at the same place, from the start or from the end."""
    from_start = map(operator.eq, one, other)
    return int(sum(from_start) + sum(map(operator.eq, one[::-1], other[::-1])))


def no_such(name: str, names: list[str], noun: str = "variable") -> str:
    if not names:
        return f"No {noun} {name!r}; there are none."
    name = cut(name, 100)
    likely = [each for each in names if len(each) <= 100]
    if len(likely) > _COMPARED:
        likely = heapq.nlargest(_COMPARED, likely, key=lambda each: _in_place(name, each))
    near = difflib.get_close_matches(name, likely, n=3)
    shown = [cut(one_line(each), 100) for each in dict.fromkeys([*near, *names[:20]])][:20]
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return f"No {noun} {name!r}; there are {', '.join(shown)}{more}."
