"""Cells as text: with their ids, outputs bounded; and an outline of a notebook by its headings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..numbers import sized
from ..workspace.names import printable
from ..workspace.output import bounded
from .document import Cell
from .stored import joined

OUTPUT_SHOWN = 2_000  # characters of one output
OUTPUTS_SHOWN = 50  # of one cell
LINE_SHOWN = 80  # characters of the first line in an outline
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def cells_as_text(source: str, *, outputs: bool = True) -> str | None:
    """The whole of a notebook file; outputs alone are bounded. None for what is no notebook, or
    nests too deep."""
    try:
        notebook = json.loads(source)
    except (ValueError, RecursionError):
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        return None
    return _joined(
        (
            Cell.of(number, stored)
            for number, stored in enumerate(cells, start=1)
            if isinstance(stored, dict)
        ),
        outputs,
    )


def cells_text(cells: Iterable[Cell], *, outputs: bool = True) -> str:
    """At most what one result may hold. Binary outputs are told by type and size."""
    return bounded(_joined(cells, outputs), hint="ask for fewer cells")


def outputs_text(outputs: Sequence[dict[str, Any]]) -> str:
    """What one cell shows, as `cells_text` has it."""
    lines = [line for output in outputs[:OUTPUTS_SHOWN] for line in _output(output)]
    if (left := len(outputs) - OUTPUTS_SHOWN) > 0:
        lines.append(f"[{left:,} more outputs]")
    return bounded("\n".join(lines))


def outline(cells: Iterable[Cell]) -> str:
    """A line for each cell, indented below the headings of the Markdown before it; at most what
    one result may hold."""
    lines, depth = [], 0
    for cell in cells:
        found = [*headings(cell)]
        level = min((level for level, _ in found), default=depth + 1)
        titles = " / ".join(f"{'#' * level} {title}" for level, title in found)
        lines.append("  " * (level - 1) + _line(cell, titles))
        if found:
            depth = found[-1][0]
    return bounded("\n".join(lines), hint="ask for cells by number")


def headings(cell: Cell) -> Iterator[tuple[int, str]]:
    """Level, from 1, and title of each, outside fences."""
    fence = ""
    for line in cell.source.splitlines() if cell.type == "markdown" else ():
        if opened := _FENCE.match(line):
            fence = "" if fence == opened[1] else fence or opened[1]
        elif not fence and (found := _HEADING.match(line)):
            yield len(found[1]), found[2].rstrip("# \t") or found[2]


def _line(cell: Cell, titles: str) -> str:
    count = cell.source.count("\n") + 1 if cell.source else 0
    parts = [_name(cell.type), f"{count} {'line' if count == 1 else 'lines'}"]
    if cell.execution_count is not None:
        parts.append(f"run as [{cell.execution_count}]")
    if cell.outputs:
        parts.append(f"{len(cell.outputs)} {'output' if len(cell.outputs) == 1 else 'outputs'}")
    if any(output.get("output_type") == "error" for output in cell.outputs):
        parts.append("failed")
    named = f"{cell.number} {_name(cell.id)}" if cell.id else str(cell.number)
    said = titles or next(filter(str.strip, cell.source.splitlines()), "").strip()
    said = said if len(said) <= LINE_SHOWN else f"{said[:LINE_SHOWN]}…"
    return f"{named} ({', '.join(parts)}) {said}".rstrip()


def _joined(cells: Iterable[Cell], outputs: bool) -> str:
    return "\n\n".join("\n".join(_cell(cell, outputs)) for cell in cells)


def _cell(cell: Cell, outputs: bool) -> Iterator[str]:
    parts = [f"cell {cell.number}", _name(cell.type)]
    if cell.id:
        parts.append(f"id={_name(cell.id)}")
    if cell.execution_count is not None:
        parts.append(f"run as [{cell.execution_count}]")
    yield f"# --- {', '.join(parts)} ---"
    yield cell.source
    for output in cell.outputs[:OUTPUTS_SHOWN] if outputs else ():
        yield f"# --- output of cell {cell.number} ---"
        yield from _output(output)
    if outputs and (left := len(cell.outputs) - OUTPUTS_SHOWN) > 0:
        yield f"# --- {left:,} more outputs of cell {cell.number} ---"


def _output(output: dict[str, Any]) -> Iterator[str]:
    kind = output.get("output_type")
    if kind == "stream":
        yield _shown(output.get("text", ""))
    elif kind == "error":
        yield _shown(f"{output.get('ename', '')}: {output.get('evalue', '')}")
        yield _shown(joined(output.get("traceback", []), "\n"))
    elif isinstance(data := output.get("data"), dict):
        if "text/plain" in data:
            yield _shown(data["text/plain"])
        for mime, content in list(data.items())[:OUTPUTS_SHOWN]:
            if mime != "text/plain":
                yield f"[{_name(mime)}, {sized(_size(content))}]"


def _size(content: object) -> int:
    """Of what is in a bundle; a page tells the size of what it keeps back."""
    if isinstance(content, dict) and isinstance(kept_back := content.get("bytes"), int):
        return kept_back
    try:
        return len(joined(content if isinstance(content, str | list) else json.dumps(content)))
    except RecursionError:
        return 0


def _name(text: str) -> str:
    """What should be short and visible, and in a file that others made may be neither."""
    return printable(text[:64])


def _shown(text: object) -> str:
    return bounded(_ANSI.sub("", joined(text)).rstrip("\n"), OUTPUT_SHOWN)
