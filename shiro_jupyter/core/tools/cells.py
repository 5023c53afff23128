"""A notebook file as text: its cells with their ids, outputs bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .base import bounded, sized

OUTPUT_SHOWN = 2_000  # characters of one output
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def cells_as_text(source: str) -> str | None:
    """None for what is no notebook, or nests too deep. Binary outputs are told by type and size."""
    try:
        return _as_text(json.loads(source))
    except (ValueError, RecursionError):
        return None


def _as_text(notebook: Any) -> str | None:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        return None
    return "\n\n".join(
        "\n".join(_cell(number, cell))
        for number, cell in enumerate(cells, start=1)
        if isinstance(cell, dict)
    )


def _cell(number: int, cell: dict[str, Any]) -> Iterator[str]:
    parts = [f"cell {number}", str(cell.get("cell_type", "unknown"))]
    if cell.get("id"):
        parts.append(f"id={cell['id']}")
    if cell.get("execution_count") is not None:
        parts.append(f"run as [{cell['execution_count']}]")
    yield f"# --- {', '.join(parts)} ---"
    yield _joined(cell.get("source", ""))
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if isinstance(output, dict):
            yield f"# --- output of cell {number} ---"
            yield from _output(output)


def _output(output: dict[str, Any]) -> Iterator[str]:
    kind = output.get("output_type")
    if kind == "stream":
        yield _shown(output.get("text", ""))
    elif kind == "error":
        yield f"{output.get('ename', '')}: {output.get('evalue', '')}"
        yield _shown(_joined(output.get("traceback", []), "\n"))
    elif isinstance(data := output.get("data"), dict):
        if "text/plain" in data:
            yield _shown(data["text/plain"])
        for mime, content in data.items():
            if mime != "text/plain":
                text = content if isinstance(content, str | list) else json.dumps(content)
                yield f"[{mime}, {sized(len(_joined(text)))}]"


def _shown(text: object) -> str:
    return bounded(_ANSI.sub("", _joined(text)).rstrip("\n"), OUTPUT_SHOWN)


def _joined(text: object, between: str = "") -> str:
    """A multi-line string as the format stores it: one string, or a list of lines."""
    if isinstance(text, list):
        return between.join(map(str, text))
    return "" if text is None else str(text)
