"""Whether a notebook file is valid by nbformat; the one place that imports it."""

from __future__ import annotations

import json

from ..core.errors import BrokenNotebook
from ..core.notebook.document import NotebookText
from ..core.workspace.output import bounded

REASON_SHOWN = 500  # characters; a reason may quote what it is about


def problem(data: bytes) -> str:
    """Why the schema of a notebook's own version first refuses it, with the cell; empty where it is
    valid. Blocks, the first time for seconds: nbformat is slow to import."""
    # Not `validate`, which mends ids in what it is given, and warns.
    from nbformat.validator import iter_validate

    try:
        notebook = NotebookText.parse(data)
        value = json.loads(data.decode("utf-8-sig"))
        for number, cell in enumerate(value["cells"], start=1):
            if not isinstance(cell.get("cell_type", ""), str):  # it would fail on that
                return f"cell {number}: cell_type is no text"
        errors = iter_validate(value)  # type: ignore[no-untyped-call]
        if error := next(iter(errors), None):
            return bounded(_told(error.message, [*error.relative_path]), REASON_SHOWN)
    except BrokenNotebook as error:
        return str(error)
    except RecursionError:
        return "It nests too deep to be checked."
    for name, numbers in notebook.duplicates.items():
        return f"cells {', '.join(map(str, numbers))}: all have the id {name}"
    return ""


def _told(message: str, path: list[str | int]) -> str:
    where = ""
    if path[:1] == ["cells"] and len(path) > 1 and isinstance(path[1], int):
        where, path = f"cell {path[1] + 1}: ", path[2:]
    return f"{where}{''.join(f'{part}: ' for part in path)}{message}"
