"""The names that the strings of pandas' `query` and `eval` need."""

from __future__ import annotations

import ast
import re

_QUOTED = re.compile(r"`([^`\n]+)`")
_LOCAL = re.compile(r"@(?=[^\W\d])")
# What pandas knows there by itself.
_OWN = re.compile(
    r"index|columns|ilevel_\d+|inf|Inf|nan|NaN|Timestamp|datetime|list|tuple|level_\d+"
)
_ASSIGNED = re.compile(r"\s*([^\W\d]\w*|`[^`\n]+`)\s*(?<![=!<>])=(?!=)(.*)", re.DOTALL)


def names_in(said: str) -> list[str]:
    """Columns, or levels of the index, that it needs; none where it is not understood."""
    if "``" in said:  # a name that holds one
        return []
    quoted: dict[str, str] = {}
    pieces = re.split(r"('[^']*'|\"[^\"]*\")", said.strip())

    def stand_in(match: re.Match[str]) -> str:
        return quoted.setdefault(match[1], f"quoted_{len(quoted)}_")

    text = "".join(
        piece if at % 2 else _LOCAL.sub("local_", _QUOTED.sub(stand_in, piece))
        for at, piece in enumerate(pieces)
    )
    try:
        tree = ast.parse(" ".join(text.splitlines()), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    back = {name: column for column, name in quoted.items()}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called
    ]
    return [
        back.get(name, name)
        for name in dict.fromkeys(names)
        if name in back or not (name.startswith("local_") or _OWN.fullmatch(name))
    ]


def assigned(said: str) -> list[tuple[str, list[str]]]:
    """Each line of an `eval`: the column that it makes, empty for none, and the names it needs."""
    lines = [line for line in said.splitlines() if line.strip()]
    found = []
    for line in lines:
        match = _ASSIGNED.fullmatch(line)
        target, value = (match[1].strip("`"), match[2]) if match else ("", line)
        found.append((target, names_in(value)))
    return found
