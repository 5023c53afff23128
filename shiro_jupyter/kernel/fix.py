"""A prompt made of the last error: its traceback, the cell it rose in, and the names in it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Mapping
from typing import Any

from ..core.errors import ToolFailed
from .namespace import Namespace
from .tracebacks import places, traceback_text

# Characters, and how many variables.
TRACEBACK_LIMIT, CELL_LIMIT, NAME_LIMIT, NAMES = 4_000, 4_000, 600, 20
ASK = "Find the cause of this error and mend it, or say what to change."


def prompt_of_error(
    error: BaseException, source: str, namespace: Namespace, words: str = ""
) -> str:
    """The prompt for an error that a cell with this source raised.

    An error's words quote values: where something is private, only its class and place are told.
    """
    private = namespace.privacy.private
    traced = places(error) if private.any else traceback_text(error)
    parts = [words or ASK, f"Error:\n{private.scrubbed(_cut(traced, TRACEBACK_LIMIT))}"]
    if source:
        parts.append(f"The cell:\n{private.scrubbed(_cut(source, CELL_LIMIT))}")
    if names := names_in(source, namespace.variables()):
        described = "\n".join(_cut(_said(namespace, name), NAME_LIMIT) for name in names)
        parts.append(f"Variables in it:\n{described}")
    return "\n\n".join(parts)


def _said(namespace: Namespace, name: str) -> str:
    try:
        return namespace.inspect(name)
    except ToolFailed as error:
        return str(error)


def names_in(source: str, namespace: Mapping[str, Any]) -> list[str]:
    """The live variables that a cell mentions, in order; by words where it does not parse."""
    try:
        names = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)]
        mentioned = [n.id for n in sorted(names, key=lambda n: (n.lineno, n.col_offset))]
    except (SyntaxError, ValueError):
        mentioned = re.findall(r"[^\W\d]\w*", source)
    known = [
        name
        for name in dict.fromkeys(mentioned)
        if name in namespace and not name.startswith("_") and not hasattr(builtins, name)
    ]
    return known[:NAMES]


def _cut(text: str, limit: int) -> str:
    """The end of a traceback says the most, and so does the start: both are kept."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - limit:,} characters left out …]\n{text[-half:]}"
