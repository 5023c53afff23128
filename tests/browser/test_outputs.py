"""What a turn leaves in its cell where the page did not see its end, or the kernel had none."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1"}
LOAD = "%load_ext shiro_jupyter"
WIDGET = "application/vnd.jupyter.widget-view+json"
TURN = "application/vnd.shiro.turn+json"


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(runs("draw", "6 * 7", reasoning="A musing."), says("draw", "It is **42**."))


def asked(lab: Lab, page: Page, name: str) -> Locator:
    """A notebook whose second cell waits for the person; its button that allows."""
    page.open(lab.notebook(name, [LOAD, "%shiro draw"]))
    page.panel()
    page.run(0)
    page.start(1)
    return allow(page)


def allow(page: Page) -> Locator:
    button = page.output(1).locator(".shiro-allow")
    expect(button).to_be_visible()
    return button


def left(page: Page) -> tuple[str, bool]:
    """What the second cell holds when saved, and whether it is marked as ended."""
    (output,) = [
        each for each in page.saved().cells[1].outputs if "shiro" in each.get("metadata", {})
    ]
    assert WIDGET not in output["data"]
    return output["data"]["text/plain"], output["metadata"]["shiro"]["ended"]


def test_a_killed_kernel_leaves_what_was_seen(lab: Lab, page: Page) -> None:
    asked(lab, page, "killed.ipynb")
    page.kernel.kill()
    page.dom.locator(".jp-Dialog button.jp-mod-accept").click()
    assert_gone(page, "The kernel died and was started again: this turn ended there.")


def test_a_restarted_kernel_leaves_what_was_seen(lab: Lab, page: Page) -> None:
    asked(lab, page, "restarted.ipynb")
    page.dom.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.dom.locator(".lm-Menu-itemLabel").get_by_text("Restart Kernel…", exact=True).click()
    page.dom.locator(".jp-Dialog button.jp-mod-accept").click()
    assert_gone(page, "The kernel was restarted: this turn ended there.")


def test_a_kernel_restarted_amid_a_run_is_idle_then(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("amid.ipynb", [LOAD, "%shiro draw", "1", "2"]))
    page.run_all()
    allow(page)
    page.dom.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.dom.locator(".lm-Menu-itemLabel").get_by_text("Restart Kernel…", exact=True).click()
    page.dom.locator(".jp-Dialog button.jp-mod-accept").click()
    expect(page.output(1)).to_contain_text("The kernel was restarted: this turn ended there.")
    page.ready("idle")
    page.screenshot("amid")
    expect(page.indicator).to_have_attribute("data-status", "idle")
    assert lab.state(page.kernel_id) == "idle"
    page.run(2)
    assert page.text(2).strip().endswith("1")


def assert_gone(page: Page, said: str) -> None:
    """Cell, panel and file say so of the turn, nothing of it moves, and a new one can be asked."""
    expect(page.output(1).locator(".shiro-turn")).to_have_count(0)
    for place in (page.output(1), page.panel().locator(".shiro-turn")):
        expect(place).to_contain_text(said)
        expect(place.get_by_role("button")).to_have_count(0)
        expect(place.locator(".shiro-flight")).to_be_hidden()
        assert "musing" not in (place.text_content() or "")
    text, ended = left(page)
    assert "6 * 7" in text and said in text and ended
    expect(page.panel().get_by_role("button", name="Load shiro")).to_be_visible()
    page.ready("idle")
    page.run(0)
    again = page.start(1)
    allow(page).click()
    page.finished(again)
    expect(page.output(1)).to_contain_text("It is 42.")


def test_a_copy_of_the_cell_gets_the_end_and_no_view(lab: Lab, page: Page) -> None:
    allowing = asked(lab, page, "pasted.ipynb")
    page.cell(1).locator(".jp-InputPrompt").click()
    for command in ("notebook:copy-cell", "notebook:paste-cell-below"):
        page.command(command)
    expect(page.output(2)).to_contain_text("In progress")
    expect(page.output(2).locator(".shiro-turn")).to_have_count(0)
    allowing.click()
    for cell in (1, 2):
        expect(page.output(cell)).to_contain_text("It is 42.")
    assert WIDGET not in json.dumps(page.saved()) and TURN not in json.dumps(page.saved())


FORGED: list[Any] = [None, "x", [], {}, 7, True, {"turn": 1}, {"kernel": None, "turn": 1}]
FORGED += [{"kernel": "TOKEN", "turn": each} for each in (None, "1", -1, 0, 1.5, 1e30, [1], {}, 9)]


def test_a_forged_bundle_shows_what_stands_beside_it(lab: Lab, page: Page) -> None:
    asked(lab, page, "live.ipynb")
    saved = page.saved()
    text = json.dumps(FORGED).replace("TOKEN", saved.cells[1].outputs[0].metadata.shiro.kernel)
    beside = [{"text/html": "<b>its own</b>"}, {"text/plain": "its own"}, {}]
    outputs = [
        nbformat.v4.new_output("display_data", {TURN: forged, **more})
        for forged in json.loads(text)
        for more in beside
    ]
    saved.cells[0].outputs = outputs
    nbformat.write(saved, lab.folder / "live.ipynb")
    sent: list[str] = []
    page.dom.on("websocket", lambda socket: socket.on("framesent", lambda p: sent.append(str(p))))
    page.reload()
    allow(page)
    expect(page.output(0).get_by_text("its own")).to_have_count(2 * len(FORGED))
    expect(page.output(0).locator(".shiro-turn")).to_have_count(0)
    assert "rror" not in page.text(0) and "undefined" not in page.text(0)
    assert len([each for each in sent if '"drawn"' in each]) == 1
    assert not page.errors
    allow(page).click()
    expect(page.output(1)).to_contain_text("It is 42.")


def test_a_live_view_without_its_kernel_is_no_error(lab: Lab, page: Page) -> None:
    asked(lab, page, "live.ipynb")
    live = json.dumps(page.saved())
    assert WIDGET in live
    (lab.folder / "copied.ipynb").write_text(live, encoding="utf-8")
    page.open("copied.ipynb")
    expect(page.output(1)).to_contain_text("In progress")
    expect(page.output(1)).not_to_contain_text("Error")
    expect(page.panel().get_by_role("button", name="Load shiro")).to_be_visible()
    assert not left(page)[1]
