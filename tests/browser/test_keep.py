"""What a turn did to the data is seen, and its code goes into cells by a button."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1", "SHIRO_MODE": "yolo"}
FRAME = (
    "import pandas as pd\ndf = pd.DataFrame({'city': ['Rome', 'Oslo', 'Rome'], 'price': [1, 2, 3]})"
)
FIRST = "df['price_eur'] = df['price'] * 0.9"
SECOND = "df = df[df.price > 1]\ntotal = df['price'].sum()"
DATA = "data: df 3 → 2 rows, +price_eur · new: total"
OFFER = "The code that bound df, total ran in no cell: %shiro /keep puts it into cells."


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(
        runs("clean", FIRST),
        runs("clean", SECOND),
        says("clean", "Clean now: **2** rows."),
        runs("again", "again = total + 1"),
        says("again", "One more."),
    )


def keep(place: Locator) -> Locator:
    return place.get_by_role("button", name="Keep as cells")


def sources(page: Page) -> list[str]:
    return [cell.source for cell in page.saved().cells]


@pytest.mark.parametrize("kernel", ["newest", "oldest", "six"])
def test_the_button_under_a_turn_puts_its_code_below_the_cell_that_asked(
    lab: Lab, page: Page, kernel: str
) -> None:
    cells = [f"%load_ext shiro_jupyter\n{FRAME}", "%shiro clean", "'theirs'"]
    page.open(lab.notebook(f"keep-{kernel}.ipynb", cells, kernel=kernel))
    page.run(0, 1)
    expect(page.output(1)).to_contain_text("Clean now: 2 rows.")
    expect(page.output(1)).to_contain_text(DATA)
    expect(page.output(1)).to_contain_text(OFFER)
    expect(keep(page.output(1))).to_be_visible()
    page.screenshot(f"keep-{kernel}-before")
    keep(page.output(1)).click()
    expect(page.cell(3)).to_contain_text("total = df")
    expect(keep(page.output(1))).to_have_count(0)
    page.screenshot(f"keep-{kernel}-after")
    saved = page.saved().cells
    assert [cell.source for cell in saved] == [*cells[:2], FIRST, SECOND, cells[2]]
    marks = [cell.metadata.get("shiro") for cell in saved]
    assert marks[1] is None and marks[2] == marks[3] and marks[2]["turn"] == 1
    assert DATA in saved[1].outputs[-1].data["text/plain"]
    assert not page.errors


def test_a_turn_of_the_panel_is_kept_at_the_end_of_the_notebook(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("keep-panel.ipynb", ["%load_ext shiro_jupyter\ntotal = 1", "'theirs'"]))
    panel = page.panel()
    page.run(0)
    box = panel.get_by_role("textbox", name="Ask shiro")
    expect(box).to_be_enabled()
    box.fill("again")
    box.press("Enter")
    expect(panel).to_contain_text("One more.")
    expect(panel.locator(".shiro-data")).to_contain_text("data: new: again")
    page.screenshot("keep-panel")
    keep(panel).click()
    expect(panel.locator(".shiro-panel-said")).to_have_text(
        "Put 1 cell at the end of the notebook."
    )
    expect(keep(panel)).to_have_count(0)
    assert sources(page)[1:] == ["'theirs'", "again = total + 1"]
    assert not page.errors


def test_after_a_reload_the_button_is_there_until_it_has_kept_the_code(
    lab: Lab, page: Page
) -> None:
    cells = [f"%load_ext shiro_jupyter\n{FRAME}", "%shiro clean"]
    page.open(lab.notebook("keep-again.ipynb", cells))
    page.run(0, 1)
    expect(keep(page.output(1))).to_be_visible()
    page.saved()
    page.reload("idle")
    panel = page.panel()
    expect(keep(page.output(1))).to_be_enabled()
    keep(page.output(1)).click()
    said = panel.locator(".shiro-panel-said")
    expect(said).to_have_text("Put 2 cells below the cell that asked.")
    expect(keep(page.output(1))).to_have_count(0)
    assert sources(page) == [*cells, FIRST, SECOND]
    page.saved()
    page.reload("idle")
    expect(page.panel().locator(".shiro-data")).to_contain_text(DATA)  # told anew
    expect(keep(page.panel())).to_have_count(0)
