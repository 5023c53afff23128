"""Turns among the cells of a run: each in its own place, and the other cells as without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1", "SHIRO_MODE": "yolo"}
LOAD = "%load_ext shiro_jupyter"
WIDGET = "application/vnd.jupyter.widget-view+json"
BEGIN = f"{LOAD}\nimport pathlib, time\nran = []\nmain = get_ipython()._shiro_extension.host.main"
GO = "while not pathlib.Path('go').exists(): time.sleep(0.01)"
# The turn's code waits for main when the first ends; behind it, and again later, one fails.
AROUND = [
    "print('a')\nwhile beside and not main.pending: time.sleep(0.01)",
    f"print('b')\n{GO}\n1 / 0",
    "print('c')",
    f"print('d')\n{GO}\nNone.d",
    "print('e')",
]


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(
        runs("later", "ran.append(1)\nprint('in code')", delay=1),
        says("later", "Ran."),
        says("first", "The first."),
        says("second", "The second."),
        says("slow", "Slowly.", delay=2),
    )


def run_below(page: Page, first: int, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Run the cells from this one on; one of them fails, once Lab has sent all of them and
    `meanwhile` has been done."""
    running = page.start(first, "notebook:run-all-below")
    expect(page.cell(7).locator(".jp-InputPrompt")).to_contain_text("*")
    meanwhile()
    go = page.lab.folder / "go"
    go.touch()
    page.finished(running)
    go.unlink()


def around(page: Page, asked: str, kernel: str) -> list[Any]:
    """Run all cells around a turn, then those after the one that failed; what they are then."""
    turn = "reply = %shiro later &" if asked == "cell" else ""
    cells = [BEGIN, f"beside = {bool(asked)}\n{turn}", *AROUND, "ran"]
    name = f"{asked or 'alone'}-{kernel}.ipynb"
    page.open(page.lab.notebook(name, cells, kernel=kernel))
    panel = page.panel()
    box = panel.get_by_role("textbox", name="Ask shiro")

    def ask() -> None:
        box.fill("later")
        box.press("Enter")

    page.run(0)
    if asked == "cell":
        run_below(page, 1)
    else:
        page.run(1)
        run_below(page, 2, ask if asked else lambda: None)
    run_below(page, 5)
    if asked:
        expect(panel).to_contain_text("Ran.")
        expect(panel.locator(".shiro-card")).to_have_attribute("data-outcome", "ok")
        page.run(7)
        assert page.text(7).endswith("[1]")
    return [[each.execution_count, each.outputs] for each in page.saved().cells[2:7]]


@pytest.mark.parametrize("kernel", ["newest", "oldest", "six"])
def test_failing_cells_around_a_turn_are_as_they_are_without_it(
    lab: Lab, page: Page, kernel: str
) -> None:
    alone = around(page, "", kernel)
    assert [count for count, _ in alone] == [3, 4, None, 5, None]
    assert [len(outputs) for _, outputs in alone] == [1, 2, 0, 2, 0]
    for asked in ("panel", "cell"):
        assert around(page, asked, kernel) == alone
    assert not page.errors


def ended(page: Page, cell: int) -> list[str]:
    """What turns have left in a cell: text for each, none of it live."""
    outputs = page.saved().cells[cell].outputs
    outputs = [each for each in outputs if "shiro" in each.get("metadata", {})]
    assert all(each.metadata.shiro.ended and WIDGET not in each.data for each in outputs)
    expect(page.output(cell).locator(".shiro-turn")).to_have_count(0)
    return [each.data["text/plain"] for each in outputs]


def test_each_turn_of_a_cell_has_its_own_view(lab: Lab, page: Page) -> None:
    loop = "for asked in ('first', 'second'):\n    get_ipython().run_line_magic('shiro', asked)"
    cells = [LOAD, "%%time\n%shiro first", "%%capture held\n%shiro first", loop, "held.show()"]
    page.open(lab.notebook("forms.ipynb", cells))
    panel = page.panel()
    page.run(0)
    page.finished(page.start(0, "notebook:run-all-below"))
    expect(panel.locator(".shiro-panel-turn")).to_have_count(4)
    (timed,) = ended(page, 1)
    assert "The first." in timed and "Wall time" in page.text(1)
    assert page.text(2).strip() == ""
    first, second = ended(page, 3)
    assert "The first." in first and "The second." in second
    assert not page.errors


def test_a_cell_whose_turn_waits_says_so_and_shows_it_then(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("behind.ipynb", [LOAD, "%shiro slow &", "%shiro first"]))
    page.run(0, 1)
    running = page.start(2)
    expect(page.output(2)).to_contain_text("waits behind 1 turn")
    expect(page.output(1).locator(".shiro-words")).to_have_text("thinking")
    page.finished(running)
    (slow,), (first,) = ended(page, 1), ended(page, 2)
    assert "Slowly." in slow and "The first." in first
