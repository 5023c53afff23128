from __future__ import annotations

import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.notebook.document import Cell
from shiro_jupyter.core.notebook.select import selected

KINDS = {"#": "markdown"}
SOURCES = ("# Load, clean", "a = 1", "## Types", "b = 2", "# Model", "c = 3", "d = 4")
CELLS = tuple(
    Cell(number, f"id-{number}", KINDS.get(source[:1], "code"), source, (), None, {})
    for number, source in enumerate(SOURCES, start=1)
)


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ("2", [2]),
        ("id-2", [2]),
        ("6, id-2 ,6", [2, 6]),
        ("2-4", [2, 3, 4]),
        ("6 - 99", [6, 7]),
        ("# Model", [5, 6, 7]),
        ("types", [3, 4]),
        ("Load, clean", [1, 2, 3, 4]),
        ("Types, 7", [3, 4, 7]),
    ],
)
def test_cells_are_named_by_id_number_range_and_heading(wanted: str, numbers: list[int]) -> None:
    assert [cell.number for cell in selected(CELLS, wanted)] == numbers


def test_an_id_that_looks_like_a_range_is_an_id() -> None:
    odd = Cell(1, "1-2", "code", "x", (), None, {})
    assert selected((odd, *CELLS), "1-2") == [odd]


@pytest.mark.parametrize("wanted", ["0", "8", "9-12", "4-2", "id-99", "#", "Plots"])
def test_what_is_not_there_is_told_with_what_is(wanted: str) -> None:
    with pytest.raises(ToolFailed, match="7"):
        selected(CELLS, wanted)


def test_nothing_named_is_nothing() -> None:
    assert selected(CELLS, " , ") == []
