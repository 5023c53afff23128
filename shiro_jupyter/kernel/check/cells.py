"""The code cells that are checked, as saved or as they are in the page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...core.errors import UsageError
from ...views.visible import one_line

SHOWN = 60  # characters of a cell's first line
OPEN = "The cells were taken from the open notebook, saved or not."
INVALID = "{} is no valid notebook: open and save it in Jupyter."
FAILS, SKIPPED = "raises-exception", "skip-execution"  # tags that nbclient heeds


@dataclass(frozen=True)
class CodeCell:
    """`number` counts all cells from the top, from 1. `outputs` are as a notebook file has them."""

    number: int
    source: str
    id: str = ""
    count: int | None = None
    outputs: tuple[Mapping[str, Any], ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """`cell 3: df = load()`"""
        lines = [line for line in self.source.splitlines() if line.strip()]
        return f"cell {self.number}: {one_line(lines[0], SHOWN)}" if lines else self.name

    @property
    def name(self) -> str:
        return f"cell {self.number}"

    @property
    def answers(self) -> list[str]:
        """What the turns of a `%shiro` cell show in it: an output with our mark, which an open page
        leaves out, or in the three forms that we show a turn in."""
        texts = list[str]()
        for output in self.outputs:
            match output:
                case {"metadata": {"shiro": _}, "data": {"text/plain": text}} | {
                    "data": {"text/plain": text, "text/markdown": _, "text/html": _}
                }:
                    texts.append(joined(text))
        return texts


@dataclass(frozen=True)
class Notebook:
    """`kernel` names its kernelspec, empty where it has none. `taken` says where the cells are
    from, empty for a file that was named."""

    path: Path
    cells: tuple[CodeCell, ...]
    kernel: str = ""
    taken: str = ""

    def with_live(self, cells: Sequence[Any]) -> Notebook:
        """The same notebook with all cells that `LiveDocument.read` told."""
        told = [vars(each) | {"cell_type": each.type} for each in cells]
        return Notebook(self.path, _valid(self.path, told), self.kernel, OPEN)


def read_saved(path: Path) -> Notebook:
    """Raises `UsageError` for what cannot be checked."""
    try:
        stored = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is no notebook: it does not hold JSON.") from None
    if not isinstance(stored, dict) or not isinstance(stored.get("nbformat"), int):
        raise UsageError(f"{path} is no notebook: it names no nbformat.")
    if stored["nbformat"] != 4 or not isinstance(stored.get("cells"), list):
        raise UsageError(
            f"{path} is no notebook of format 4: convert it with "
            "jupyter nbconvert --to notebook --inplace, then check it."
        )
    try:
        metadata = stored.get("metadata", {})
        spec = metadata.get("kernelspec", {})
        language = spec.get("language") or metadata.get("language_info", {}).get("name", "python")
        name = str(spec.get("name", ""))
    except AttributeError:
        raise UsageError(INVALID.format(path)) from None
    cells = _valid(path, stored["cells"])
    if str(language).lower() not in ("python", "ipython", "python3"):
        raise UsageError(f"{path} is a notebook for {language}: only those for Python are checked.")
    return Notebook(path, cells, name)


def _valid(path: Path, cells: Iterable[Mapping[str, Any]]) -> tuple[CodeCell, ...]:
    """Raises `UsageError` for what nbformat does not allow."""
    try:
        found = tuple(_code_cells(cells))
        for cell in found:
            cell.source.encode()
            for output in cell.outputs:
                (output.get("data") or {}).items()
        if all(isinstance(cell.count, int | None) for cell in found):
            return found
    except (AttributeError, KeyError, TypeError, UnicodeError):
        pass
    raise UsageError(INVALID.format(path))


def _code_cells(cells: Iterable[Mapping[str, Any]]) -> Iterable[CodeCell]:
    for number, cell in enumerate(cells, 1):
        if cell["cell_type"] == "code":
            yield CodeCell(
                number,
                joined(cell["source"]),
                cell.get("id") or "",
                cell.get("execution_count"),
                tuple(cell.get("outputs") or ()),
                tuple(cell.get("metadata", {}).get("tags") or ()),
            )


def joined(text: Any) -> str:
    """A text of a notebook file, which may be a list of its lines."""
    return "".join(map(str, text)) if isinstance(text, list | tuple) else str(text)
