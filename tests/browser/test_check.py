"""`/check` in a real JupyterLab: the cells as they are in the page, and a table of what came."""

from __future__ import annotations

import nbformat
import pytest
from playwright.sync_api import expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import says

CHANGE = "path => labTest.panel(path).content.model.cells.get(1).sharedModel.setSource('kept = 1')"


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(says("nothing is asked", "of the model"))


@pytest.mark.parametrize("kernel", ["newest", "six"])
def test_the_unsaved_cells_are_checked_and_the_table_is_in_the_file(
    lab: Lab, page: Page, kernel: str
) -> None:
    name = f"check-{kernel}.ipynb"
    cells = ["%load_ext shiro_jupyter", "gone = 1", "print(gone)", "%shiro /check"]
    page.open(lab.notebook(name, cells, kernel=kernel))
    page.run(0, 1, 2)
    page.dom.evaluate(CHANGE, page.notebook)
    page.run(3)
    output = page.output(3)
    failure = f"{name} does not re-run: cell 3 fails: NameError: name 'gone' is not defined"
    expect(output).to_contain_text(failure)
    expect(output).to_contain_text("Forecast: cell 3 fails: name 'gone' is not defined")
    expect(output).to_contain_text(f"Ran {name} in a fresh kernel.")
    expect(output).to_contain_text("The cells were taken from the open notebook")
    expect(output.get_by_role("row", name="3").filter(has_text="FAILS")).to_be_visible()
    expect(output.get_by_role("row", name="gone [2]")).to_contain_text("a cell that is gone")
    page.screenshot(f"check-{kernel}")
    assert nbformat.read(lab.folder / name, as_version=4).cells[1].source == "gone = 1"
    saved = page.saved().cells[3].outputs
    assert "<table>" in "".join(each.get("data", {}).get("text/html", "") for each in saved)
