"""What is in the place of something else for a while, and then is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_UNSET: Any = object()


@contextmanager
def replaced(target: Any, name: str, replacement: Any) -> Iterator[None]:
    """An attribute of one object, put back as it was, unless somebody has changed it since."""
    before = vars(target).get(name, _UNSET)
    setattr(target, name, replacement)
    try:
        yield
    finally:
        if vars(target).get(name) is replacement:
            if before is _UNSET:
                delattr(target, name)
            else:
                setattr(target, name, before)


@contextmanager
def kept_underscores(shell: Any) -> Iterator[None]:
    """Code may use `_` as a throw-away name; the person's last results stay theirs."""
    namespace = shell.user_ns
    before = {name: namespace.get(name, _UNSET) for name in ("_", "__", "___")}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is _UNSET:
                namespace.pop(name, None)
            else:
                namespace[name] = value
