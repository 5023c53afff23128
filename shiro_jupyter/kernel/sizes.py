"""How many bytes a value holds, by an estimate; nothing of the person's own is run."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from itertools import islice
from typing import Any

CHANGEABLE = (list, dict, set, deque, OrderedDict, defaultdict, Counter)  # containers
SAMPLE, DEPTH = 20, 2  # items of a container that its size is estimated from, and how deep


def size_of(value: Any, depth: int = DEPTH) -> int:
    """An estimate of the bytes that it holds, from its outside and a few of its items."""
    if is_pandas(value):
        return sum(octets_of(each.values) for each in value._mgr.blocks)
    if is_polars(value):
        return int(value.estimated_size())
    if (
        is_exactly(value, "numpy", "ndarray")
        or is_exactly(value, "pyarrow.lib", "Table")
        or is_exactly(value, "torch", "Tensor")
    ):
        return int(value.nbytes)
    if is_container(value):
        items = list(islice(value.values() if isinstance(value, dict) else value, SAMPLE))
        inner = sum(size_of(each, depth - 1) for each in items) if depth else 0
        return sys.getsizeof(value) + inner * len(value) // max(1, len(items))
    if type(value).__module__ == "builtins":
        return sys.getsizeof(value)
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return 100
    return 100 + (size_of(dict(held), depth) if depth and type(held) is dict else 0)


def is_container(value: object) -> bool:
    """Of those that Python has: looking at its items and counting them runs nothing else."""
    kind = type(value)
    return any(kind is each for each in (*CHANGEABLE, tuple, frozenset))


def is_exactly(value: object, module: str, name: str) -> bool:
    """Whether its type is that one, without importing the package."""
    kind = type(value)
    return kind.__name__ == name and kind is getattr(sys.modules.get(module), name, None)


def is_polars(value: object) -> bool:
    return is_exactly(value, "polars", "DataFrame") or is_exactly(value, "polars", "Series")


def is_pandas(value: object) -> bool:
    known = is_exactly(value, "pandas", "DataFrame") or is_exactly(value, "pandas", "Series")
    return known and hasattr(getattr(value, "_mgr", None), "blocks")


def octets_of(values: Any) -> int:
    return int(getattr(values, "nbytes", 0))
