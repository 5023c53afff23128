"""Context variables that code set in a task of its own, which has a copy of them."""

from __future__ import annotations

import contextvars
from typing import Any

_UNSET: Any = object()


def carry(context: contextvars.Context) -> None:
    """Take over what a task changed in its copy of our context."""
    for variable, value in context.items():
        if variable.get(_UNSET) is not value:
            variable.set(value)
