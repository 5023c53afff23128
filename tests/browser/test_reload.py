"""A turn whose page is reloaded, and one that several pages show."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1"}
LOAD = "%load_ext shiro_jupyter"
FORMS = {"text/html", "text/markdown", "text/plain"}


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(
        runs("tell", "told = 6 * 7"),
        says("tell", " ".join(f"word{n}." for n in range(100)), chunk=7, pace=0.1),
        runs("twice", "first = 1"),
        runs("twice", "second = 2"),
        says("twice", "It is done."),
    )


def question(place: Locator) -> Locator:
    return place.locator(".shiro-question")


@pytest.mark.parametrize("kernel", ["newest", "oldest", "six"])
def test_a_turn_goes_on_over_reloads_and_its_end_reaches_its_cell(
    lab: Lab, page: Page, kernel: str
) -> None:
    page.open(lab.notebook(f"{kernel}.ipynb", [LOAD, "%shiro tell", "told"], kernel=kernel))
    page.panel()
    page.run(0)
    page.start(1)
    expect(question(page.output(1))).to_contain_text("told = 6 * 7")
    page.saved()
    page.reload()
    expect(question(page.panel())).to_contain_text("told = 6 * 7")
    question(page.output(1)).locator(".shiro-allow").click()
    expect(page.panel()).to_contain_text("word3.")
    assert "word99." not in page.panel().inner_text()
    page.reload()
    expect(page.panel()).to_contain_text("word99.")
    expect(page.output(1)).to_contain_text("word99.")
    expect(page.output(1).locator(".shiro-turn")).to_have_count(0)
    page.ready("idle")
    (output,) = page.saved().cells[1].outputs
    assert set(output["data"]) == FORMS and output["metadata"]["shiro"]["ended"]
    assert "word99." in output["data"]["text/plain"]
    page.run(2)
    assert page.text(2).strip().endswith("42")


def test_two_pages_show_a_question_and_either_answers_it(
    lab: Lab, page: Page, browser: BrowserContext
) -> None:
    page.open(lab.notebook("two.ipynb", [LOAD, "%shiro twice", "first, second"]))
    page.run(0)
    running = page.start(1)
    other = Page(lab, browser.new_page())
    other.open(page.notebook, statuses=("busy", "idle", "unknown"))
    places = [page.output(1), page.panel(), other.panel()]
    for code, answers in ("first = 1", 2), ("second = 2", 0):
        for place in places:
            expect(question(place)).to_contain_text(code)
        question(places[answers]).locator(".shiro-allow").click()
        for place in places:
            expect(question(place).filter(has_text=code)).to_have_count(0)
    page.finished(running)
    for place in places:
        expect(place).to_contain_text("It is done.")
    page.run(2)
    assert page.text(2).strip().endswith("(1, 2)")
    # The cell of the other tab was never run there: what it shows, and saves, stays its own.
    other.dom.wait_for_timeout(3_000)  # twice what a page waits for an end to come by itself
    assert other.text(1).strip() == ""
    assert not page.errors and not other.errors
    other.dom.close()


def test_a_cell_that_is_run_again_keeps_what_is_newer(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("again.ipynb", [LOAD, "%shiro twice &"]))
    panel = page.panel()
    page.run(0, 1)
    expect(question(panel)).to_contain_text("first = 1")
    page.dom.evaluate(
        "path => labTest.panel(path).content.widgets[1].model.sharedModel.setSource(\"'newer'\")",
        page.notebook,
    )
    page.run(1)
    for code in "first = 1", "second = 2":
        question(panel).filter(has_text=code).locator(".shiro-allow").click()
    expect(panel).to_contain_text("It is done.")
    page.dom.wait_for_timeout(3_000)
    assert page.text(1).split() == ["[3]:", "'newer'"]
    assert len(page.saved().cells[1].outputs) == 1
