"""The agent reads, changes and runs cells of its open, unsaved notebook, in a real JupyterLab."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import says

LAB = {"SHIRO_LIVE": "1", "SHIRO_MODE": "yolo"}
LOAD = "%load_ext shiro_jupyter"


def calls(when: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"when": when, "calls": [{"name": name, "arguments": arguments}]}


def edits(when: str, action: str, **arguments: Any) -> dict[str, Any]:
    return calls(when, "notebook_edit", action=action, **arguments)


def sources(page: Page, notebook: str = "") -> list[str]:
    """Of the cells as they stand in the page, unsaved."""
    found: list[str] = page.dom.evaluate(
        "path => [...labTest.panel(path).content.model.cells]"
        ".map(each => each.sharedModel.getSource())",
        notebook or page.notebook,
    )
    return found


def on_disk(lab: Lab, name: str) -> list[str]:
    return [cell.source for cell in nbformat.read(lab.folder / name, as_version=4).cells]


def ask(page: Page, prompt: str) -> Locator:
    panel = page.panel()
    box = panel.get_by_role("textbox", name="Ask shiro")
    expect(box).to_be_enabled()
    box.fill(prompt)
    box.press("Enter")
    return panel


@pytest.mark.parametrize("kernel", ["newest", "six"])
def test_cells_are_changed_and_run_from_a_cell_and_put_back(
    lab: Lab, page: Page, kernel: str
) -> None:
    chart = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint(a)\na + 1"
    lab.play(
        calls("work", "notebook_read"),
        calls("work", "notebook_read", cells="cell-1, cell-2"),
        edits("work", "replace", cell="cell-1", source="a = 41"),
        edits("work", "insert", source=chart, after="cell-1"),
        edits("work", "delete", cell="cell-2"),
        calls("work", "notebook_run", cells="cell-1, 3"),
        says("work", "Done."),
    )
    before = [LOAD, "a = 1  # typed", "'goes'", "%shiro work", "a"]
    name = lab.notebook(f"worked-{kernel}.ipynb", [LOAD, "a = 1", *before[2:]], kernel=kernel)
    page.open(name)
    page.run(0, 2)
    page.cell(1).locator(".cm-content").click()
    page.dom.keyboard.press("End")
    page.dom.keyboard.type("  # typed")
    page.dom.keyboard.press("Escape")
    page.run(3)
    assert sources(page) == [LOAD, "a = 41", chart, *before[3:]]
    expect(page.output(2)).to_contain_text("41")
    expect(page.output(2)).to_contain_text("42")
    expect(page.output(2).locator("img")).to_have_count(1)
    for at in (1, 2, 3):  # what a cell has run is of its number
        expect(page.cell(at).locator(".jp-InputPrompt")).to_contain_text("[3]")
    expect(page.output(3).locator(".jp-OutputArea-child")).to_have_count(1)  # the turn alone
    expect(page.output(3).locator("img")).to_have_count(0)
    page.run(4)
    assert page.text(4).strip().endswith("41")
    assert on_disk(lab, name) == [LOAD, "a = 1", *before[2:]]  # as it was saved
    saved = page.saved().cells
    assert saved[1].metadata.shiro.turn == 1 == saved[2].metadata.shiro.turn
    assert [each.output_type for each in saved[2].outputs].count("display_data") == 2

    page.cell(4).locator(".cm-content").click()
    page.dom.keyboard.press("Control+a")
    page.dom.keyboard.type("%shiro /undo")
    page.dom.keyboard.press("Escape")
    page.run(4)
    assert sources(page) == [*before[:4], "%shiro /undo"]
    expect(page.output(4)).to_contain_text("cell 4 (`'goes'`): restored")
    expect(page.output(2)).to_contain_text("goes")
    assert "shiro" not in page.saved().cells[1].metadata
    assert not page.errors


def test_its_own_notebook_is_meant_whatever_tab_is_in_front(lab: Lab, page: Page) -> None:
    lab.play(
        edits("add", "insert", source="made = 6 * 7\nmade"),
        calls("add", "notebook_run", cells="3"),
        edits("add", "insert", source="x = 1", path="other.ipynb"),
        edits("add", "insert", source="y = 1", path="closed.ipynb"),
        says("add", "Added."),
    )
    lab.notebook("closed.ipynb", ["'closed'"])
    go = "import pathlib, asyncio\nwhile not pathlib.Path('go').exists(): await asyncio.sleep(0.05)"
    page.open(lab.notebook("own.ipynb", [LOAD, f"{go}\nprint('gone')"]))
    page.run(0)
    run = page.start(1)
    panel = ask(page, "add")
    page.open(lab.notebook("other.ipynb", ["'other'"]))
    (lab.folder / "go").touch()
    page.until("labTest.panel('own.ipynb').content.model.cells.length === 3")
    page.finished(run)
    page.open("own.ipynb")
    expect(panel).to_contain_text("Added.")
    assert sources(page) == [LOAD, f"{go}\nprint('gone')", "made = 6 * 7\nmade"]
    expect(page.output(2)).to_contain_text("42")
    expect(page.cell(2).locator(".jp-InputPrompt")).to_contain_text("[3]")
    assert sources(page, "other.ipynb") == ["'other'"] == on_disk(lab, "other.ipynb")
    assert on_disk(lab, "closed.ipynb") == ["'closed'", "y = 1"]
    assert len(on_disk(lab, "own.ipynb")) == 2
    assert not page.errors


def test_what_the_person_types_meanwhile_is_not_overwritten(lab: Lab, page: Page) -> None:
    wait = "import asyncio, pathlib\nwhile not pathlib.Path('typed').exists():\n"
    wait += "    await asyncio.sleep(0.05)"
    lab.play(
        calls("fix", "notebook_read", cells="cell-1"),
        calls("fix", "run_python", code=wait),
        edits("fix", "replace", cell="cell-1", source="a = 2"),
        says("fix", "So be it."),
    )
    page.open(lab.notebook("typed.ipynb", [LOAD, "a = 1"]))
    page.run(0)
    panel = ask(page, "fix")
    expect(panel.locator(".shiro-card")).to_have_count(1)
    page.cell(1).locator(".cm-content").click()
    page.dom.keyboard.press("End")
    page.dom.keyboard.type("0")
    (lab.folder / "typed").touch()
    expect(panel).to_contain_text("So be it.")
    assert sources(page) == [LOAD, "a = 10"]
    panel.locator(".shiro-card > summary").last.click()
    expect(panel.locator(".shiro-card").last).to_contain_text("has changed since it was read")
    assert not page.errors
