from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.kernel.check.cells import CodeCell, Notebook
from shiro_jupyter.kernel.check.hidden import Order
from shiro_jupyter.kernel.check.report import report
from shiro_jupyter.kernel.check.result import Result
from shiro_jupyter.views.document import plain


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (1, "1 run in between is of a cell that was run again, changed or deleted."),
        (3, "3 runs in between are of cells that were run again, changed or deleted."),
    ],
)
def test_runs_of_cells_that_are_gone_are_counted(gone: int, said: str) -> None:
    late = ((CodeCell(2, "y", count=1), CodeCell(1, "x", count=9)),)
    notebook = Notebook(Path("a.ipynb"), ())
    found = Result(notebook, (), (), None, Order(late, gone=gone), 1.0, "in a copy")
    assert plain(report(found)).endswith(f"cell 2 ran as [1], before cell 1 above it [9].\n{said}")
