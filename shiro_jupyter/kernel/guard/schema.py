"""What the namespace knows: its tables with their columns, and whose code its other values are.

Read on any thread and past whatever a value's own class says, as `describe.py` does.
"""

from __future__ import annotations

import builtins
import dis
import sys
import types
from collections.abc import Callable, Collection
from collections.abc import Mapping as Names
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..describe import class_name, derives, is_class, library, module_of, mro_of
from ..frames import TABLE_ERRORS, lazy_of
from .values import (
    ANY,
    KNOWN,
    LIBRARY,
    PLAIN,
    THEIRS,
    USER,
    Column,
    Connection,
    Const,
    Items,
    Known,
    Mapping,
    Module,
    Table,
    Value,
)

# Libraries whose functions change no table that they are given, and that add nothing to its class.
HARMLESS = frozenset({
    *("pandas", "numpy", "polars", "pyarrow", "dask", "matplotlib", "mpl_toolkits", "seaborn"),
    *("scipy", "statsmodels", "duckdb", "_duckdb", "altair", "IPython", "builtins"),
    *("geopandas", "plotly", "tabulate"),
})  # fmt: skip
# Of the standard library, what may run any code or change any object.
_REACHING = frozenset({
    *("importlib", "runpy", "code", "ctypes", "gc", "inspect", "sys", "threading", "operator"),
    *("asyncio", "concurrent", "multiprocessing", "pdb", "timeit", "trace", "cProfile", "profile"),
    *("contextlib", "functools", "__main__", "types", "atexit", "sched", "unittest", "doctest"),
})  # fmt: skip
# Builtins with which code reaches what it does not name.
REACHING = frozenset({"exec", "eval", "globals", "locals", "vars", "__import__", "compile"})
_FRAMES = (
    ("pandas", "pandas", "DataFrame"),
    ("geopandas", "geopandas", "GeoDataFrame"),
    ("polars", "polars", "DataFrame"),
    ("lazy", "polars", "LazyFrame"),
    ("dask", "dask.dataframe", "DataFrame"),
)
_CLASSES = (*_FRAMES, ("groups", "pandas.api.typing", "DataFrameGroupBy"))
_ITEMS = 200  # elements of a list that are looked at
# Types of these modules hold, or run, what others made, apart from those of plain data.
_HOLDING = ("builtins", "itertools", "collections", "_collections", "weakref", "queue")
_PLAIN = (bytes, bytearray, complex, range, slice, memoryview, type(...), type(NotImplemented))
_LABELS = (str, int, float, bool, type(None))
_TOLD = (*_LABELS, list, tuple, dict, set)  # of which a finding may tell what they hold


@dataclass
class Schema:
    """`variables` are those that may be shown. `closed` are those of which no value is told, and
    of their columns those alone that `shown` tells, by name and value of the variable: the others
    are known to be there and never named."""

    variables: Names[str, object]
    closed: Collection[str] = ()
    shown: Callable[[str, object], Collection[str]] = lambda name, value: ()
    _known: dict[int, Known] = field(default_factory=dict)

    def table(self, name: str) -> tuple[int, Table] | None:
        """The table of that name, and what tells whether another name is of the same one."""
        value = self.variables.get(name)
        for kind, root, cls in _FRAMES:
            if type(value) is library(root).get(cls):
                try:
                    table = _read(kind, value)
                except TABLE_ERRORS:  # another thread is changing it
                    table = Table(kind)
                if name in self.closed and table.columns is not None:
                    table = table.hiding(table.columns.difference(self.shown(name, value)))
                    table = replace(table, levels=None)  # names, too
                return id(value), table
        return None

    def value(self, name: str) -> Known | None:
        """What is known of a variable that is no table; None where there is none."""
        if name not in self.variables:
            if name in REACHING:
                return Module(USER, True, f"builtins.{name}")
            return Module(path=f"builtins.{name}") if hasattr(builtins, name) else None
        value = self.variables[name]
        if name in self.closed and type(value) in _TOLD:
            return ANY if type(value) in _LABELS else THEIRS
        if id(value) not in self._known:
            self._known[id(value)] = self._value(value)
        return self._known[id(value)]

    def _value(self, value: Any) -> Known:
        cls = type(value)
        if cls in (str, int, float, bool) or value is None:
            return Const(value=value)
        if cls in (list, tuple) and len(value) <= _ITEMS and all(type(v) is str for v in value):
            return Items(tuple(Const(value=each) for each in value))
        if cls is dict and len(value) <= _ITEMS:
            pairs = list(value.items())
            if all(type(each) is str for pair in pairs for each in pair):
                return Mapping(tuple((Const(value=a), Const(value=b)) for a, b in pairs))
        if cls in (list, tuple, dict, set):
            return Mapping(None) if cls is dict else Items(None)
        if cls is types.ModuleType:
            name = types.ModuleType.__getattribute__(value, "__dict__").get("__name__")
            return Module(origin(str(name)), False, str(name))
        if is_class(value):
            return Module(origin(module_of(value)), False, _public(value))
        if cls in (types.FunctionType, types.BuiltinFunctionType, types.MethodType):
            return self._function(value)
        if cls is library("pandas").get("Series"):
            return Column()
        if class_name(cls) == "DuckDBPyConnection":
            return Connection()
        rank = origin(module_of(cls))
        if module_of(cls) in _HOLDING and cls not in _PLAIN:  # generators, iterators, containers
            rank = USER
        return Value(rank, not module_of(cls).startswith(("numpy", "matplotlib")))

    def _function(self, value: Any) -> Known:
        module = value.__module__ if type(value) is types.FunctionType else None
        if type(value) is types.FunctionType and origin(str(module)) == USER:
            return Value(LIBRARY, True) if self._harmless(value, set()) else THEIRS
        owner = value.__self__ if type(value) is not types.FunctionType else None
        if owner is not None and type(owner) is not types.ModuleType:
            if value.__name__ == "get_ipython":
                return Module(path="get_ipython")
            plain = module_of(type(owner)).startswith(("numpy", "matplotlib"))
            return PLAIN if plain else THEIRS  # it may change what it belongs to
        name = value.__module__
        return Module(origin(str(name)), False, _public(value)) if name else ANY

    def _harmless(self, function: Any, seen: set[int]) -> bool:
        """Whether a function of the person's reaches no table but those that it is given."""
        if type(function) is not types.FunctionType or function.__closure__:
            return False
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        if any(type(each) not in _LABELS for each in defaults):
            return False
        if id(function) in seen:
            return True
        seen.add(id(function))
        codes = [function.__code__]
        while codes:
            code = codes.pop()
            codes += [each for each in code.co_consts if type(each) is types.CodeType]
            for line in dis.get_instructions(code):
                if line.opname in ("STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME"):
                    return False
                loads = line.opname in ("LOAD_GLOBAL", "LOAD_NAME")
                if loads and not self._harmless_name(str(line.argval), seen):
                    return False
        return True

    def _harmless_name(self, name: str, seen: set[int]) -> bool:
        if name not in self.variables:
            return name not in REACHING and hasattr(builtins, name)
        value = self.variables[name]
        if type(value) is types.FunctionType and origin(str(value.__module__)) == USER:
            return self._harmless(value, seen)
        known = self._value(value) if self.table(name) is None else ANY
        return isinstance(known, Const | Module) and known.trust == KNOWN


def _read(kind: str, value: Any) -> Table:
    if kind in ("lazy", "dask"):
        lazy = lazy_of(value)
        known = lazy.columns if lazy else None
        return Table(kind, None if known is None else frozenset(name for name, _ in known))
    if kind == "polars":
        return Table("polars", frozenset(value.columns), rows=value.height, live=value)
    labels, index = value.columns, value.index
    names = _texts(list(labels)) if labels.nlevels == 1 else None
    if str(labels.dtype).startswith(("datetime", "period", "category", "interval")):
        names = None
    old = int(str(library("pandas")["__version__"]).partition(".")[0]) < 2
    if old and type(index).__name__ in ("DatetimeIndex", "PeriodIndex"):  # `df["2020"]` is rows
        names = None
    extras = frozenset(
        each for each in object.__getattribute__(value, "__dict__") if type(each) is str
    )
    levels = _texts([each for each in index.names if each is not None])
    return Table(kind, names, levels, index.nlevels == 1, frozenset(), len(index), extras, value)


def _texts(labels: list[Any]) -> frozenset[str] | None:
    """Those that are text; None where one may be equal to a text without being one."""
    found = set()
    for each in labels:
        if derives(each, str):
            found.add(str.__str__(each))
        elif type(each) not in _LABELS and module_of(type(each)) != "numpy":
            return None
    return frozenset(found)


def _public(value: Any) -> str:
    """`pandas.merge` of a function or class that its library offers under its own name."""
    root, name = str(value.__module__).partition(".")[0], str(value.__name__)
    offered = library(root).get(name) is value
    return f"{root}.{name}" if offered else f"{value.__module__}.{name}"


def origin(module: str) -> int:
    """Whose code a module is."""
    root = module.partition(".")[0]
    if root in HARMLESS:
        return KNOWN
    if root in sys.stdlib_module_names:
        return USER if root in _REACHING else KNOWN
    file = library(root).get("__file__") or library(module).get("__file__")
    installed = type(file) is str and ("site-packages" in file or "dist-packages" in file)
    return LIBRARY if installed else USER


Attribute = Literal["own", "foreign", "missing"]


def attribute(kind: str, name: str) -> Attribute:
    """What the class of such tables has under a name: something of its library's own, something
    that somebody added, or nothing. Where the class is not loaded all is taken for its own."""
    for each, root, cls_name in _CLASSES:
        if each == kind:
            cls = library(root).get(cls_name)
            if cls is None:
                return "own"
            for base in mro_of(cls):
                found = type.__dict__["__dict__"].__get__(base).get(name)
                if found is not None:
                    return "own" if _own(found, root) else "foreign"
            return "missing" if name not in type.__dict__["__dict__"].__get__(cls) else "own"
    return "own"


def attributes(kind: str) -> set[str]:
    """The public names of that class."""
    for each, root, cls_name in _CLASSES:
        if each == kind and (cls := library(root).get(cls_name)) is not None:
            found = (type.__dict__["__dict__"].__get__(base) for base in mro_of(cls))
            return {name for names in found for name in names if not name.startswith("_")}
    return set()


def _own(member: Any, root: str) -> bool:
    accessor = getattr(member, "_accessor", member)  # of pandas' own class for accessors
    function = getattr(accessor, "fget", None) or getattr(accessor, "func", None) or accessor
    module = getattr(function, "__module__", None) or module_of(type(function))
    homes = (root.partition(".")[0], "pandas", "shapely", "builtins", "functools")
    return str(module).partition(".")[0] in homes
