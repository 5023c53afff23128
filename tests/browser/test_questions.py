"""A question that waits in a cell: what the keys do there, and once it has gone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1"}
LOAD = "%load_ext shiro_jupyter"
KEYS = "dd"  # they delete a cell, where the notebook gets them


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(runs("sum", "6 * 7"), says("sum", "word " * 40 + "ended.", chunk=5, pace=0.1))


@pytest.mark.parametrize("at", ["allow", "field", "words"])
def test_the_notebook_gets_no_keys_meant_for_a_question(lab: Lab, page: Page, at: str) -> None:
    page.open(lab.notebook(f"{at}.ipynb", [LOAD, "%shiro sum", "'kept'"]))
    page.run(0)
    running = page.start(1)
    question = page.output(1).locator(".shiro-question")
    expect(question.locator(".shiro-allow")).to_be_enabled()
    page.cell(1).locator(".jp-InputPrompt").click()  # the keys are the notebook's, from here on
    place = question.locator(".shiro-allow" if at == "allow" else ".shiro-field")
    place.focus() if at == "allow" else place.click()
    page.dom.keyboard.type(KEYS)
    if at != "field":
        page.dom.keyboard.press("Enter")
        page.dom.keyboard.type(KEYS)
    else:
        page.interrupt()
    expect(question).to_have_count(0)
    page.dom.keyboard.type(KEYS)
    expect(page.output(1)).to_contain_text("word word word")
    page.dom.keyboard.type(KEYS)
    page.finished(running)
    expect(page.output(1).locator(".shiro-turn")).to_have_count(0)
    page.dom.keyboard.type(KEYS)
    assert len(page.saved().cells) == 3
    page.cell(1).locator(".jp-InputPrompt").click()
    page.dom.keyboard.type(KEYS)
    assert len(page.saved().cells) == 2


def test_a_question_that_no_view_shows_is_pointed_to(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("cleared.ipynb", [LOAD, "%shiro sum"]))
    page.run(0)
    running = page.start(1)
    question = page.output(1).locator(".shiro-question")
    expect(question.locator(".shiro-allow")).to_be_enabled()
    notice = page.dom.locator(".jp-toastContainer, .Toastify").get_by_text(
        "cleared.ipynb: Run this"
    )
    page.dom.wait_for_timeout(5_000)
    expect(notice).to_have_count(0)  # it is in sight
    page.command("notebook:clear-all-cell-outputs")
    expect(question).to_have_count(0)
    expect(notice).to_be_visible()
    page.screenshot("attention")
    page.dom.get_by_role("button", name="Show", exact=True).click()
    panel = page.dom.locator("#shiro-panel")
    panel.locator(".shiro-allow").click()
    expect(notice).to_have_count(0)
    page.finished(running)
    expect(panel).to_contain_text("ended.")
