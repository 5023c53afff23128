"""Which cells of a notebook are meant: by id, number, range or heading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..errors import ToolFailed
from ..numbers import whole_number
from .document import Cell, find
from .shown import headings

_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")


def selected(cells: Sequence[Cell], wanted: str) -> list[Cell]:
    """Those named, with commas between: `3-7, 1f2e, Load the data`; a heading stands for all below
    it, down to the next of its level. From top to bottom, each once. Raises `ToolFailed`."""
    found: dict[int, Cell] = {}
    for name in _names(cells, wanted):
        for cell in _named(cells, name):
            found[cell.number] = cell
    return [found[number] for number in sorted(found)]


def _names(cells: Sequence[Cell], wanted: str) -> list[str]:
    """A heading may hold commas itself."""
    whole = wanted.strip()
    if _below(cells, whole):
        return [whole]
    return [each for each in map(str.strip, whole.split(",")) if each]


def _named(cells: Sequence[Cell], name: str) -> Sequence[Cell]:
    if any(cell.id == name for cell in cells):
        return [find(cells, name)]
    if match := _RANGE.fullmatch(name):
        first, last = (whole_number(each) or 0 for each in match.groups())
        if not 1 <= first <= last or first > len(cells):
            raise ToolFailed(f"There are no cells {name}: the notebook has {len(cells):,}.")
        return cells[first - 1 : last]
    return _below(cells, name) or [find(cells, name)]


def _below(cells: Sequence[Cell], title: str) -> list[Cell]:
    """The cell with this heading and those behind it, up to the next heading of its level or
    above; nothing where there is no such heading."""
    wanted, section, depth = title.lstrip("#").strip().casefold(), list[Cell](), 0
    for cell in cells:
        levels = list(_levels(cell, wanted))
        if section and any(level <= depth for level, _ in levels):
            break
        if not section:
            depth = next((level for level, is_it in levels if is_it), 0)
        if depth:
            section.append(cell)
    return section if wanted else []


def _levels(cell: Cell, wanted: str) -> Iterator[tuple[int, bool]]:
    for level, title in headings(cell):
        yield level, title.strip().casefold() == wanted
