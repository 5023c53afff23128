"""Whether a notebook file is valid by nbformat; the one place that imports it."""

from __future__ import annotations

import json
import warnings


def problem(data: bytes) -> str:
    """What first makes a notebook invalid by the schema of its own version, with the cell; empty
    where nothing does. Blocks, the first time for seconds: nbformat is slow to import."""
    import nbformat

    try:
        notebook = json.loads(data.decode("utf-8-sig"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what nbformat would mend in what it is given
            nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        return _told(error.message, list(error.path))
    except (ValueError, RecursionError, Warning) as error:
        return str(error)
    return ""


def _told(message: str, path: list[str | int]) -> str:
    where = ""
    if path[:1] == ["cells"] and len(path) > 1 and isinstance(path[1], int):
        where, path = f"cell {path[1] + 1}: ", path[2:]
    return f"{where}{''.join(f'{part}: ' for part in path)}{message}"
