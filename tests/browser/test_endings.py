"""However a turn ends: what moved is gone from cell and panel, and the session goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.support.browser import Page, opened_page
from tests.support.lab import Lab
from tests.support.scripts import runs, says, shells

LAB = {"SHIRO_LIVE": "1", "SHIRO_MAX_STEPS": "2"}
LOAD = "%load_ext shiro_jupyter"
MUSING = "a musing, "
MUSES = {"reasoning": MUSING * 40, "chunk": len(MUSING), "pace": 0.05}
FORMS = {"text/html", "text/markdown", "text/plain"}
STEPS = [
    says("answer", "All said.", **MUSES),
    says("think", "never said", **{**MUSES, "pace": 1}),
    shells("command", "sleep 600"),
    says("command", "Without it, then.", **MUSES),
    {"when": "broken", "error": "The endpoint is on fire; put it out.", **MUSES},
    shells("endless", "true", **MUSES),
    shells("endless", "true"),
    shells("endless", "true"),
    runs("ask", "1", **MUSES),
    says("ask", "never said", delay=600),
]
SET_SOURCE = """([path, line]) => {
  labTest.panel(path).content.widgets[1].model.sharedModel.setSource(line);
}"""
Press = Callable[[Page], object]


@pytest.fixture(scope="module")
def page(lab: Lab, browser: BrowserContext) -> Iterator[Page]:
    lab.play(*STEPS)
    with opened_page(browser, lab) as page:
        page.open(lab.notebook("ends.ipynb", [LOAD, ""]))
        page.run(0)
        yield page
        assert not page.elsewhere


def ask(page: Page, line: str) -> int:
    """Run the last cell with this line."""
    page.dom.evaluate(SET_SOURCE, [page.notebook, line])
    return page.start(1)


def live(page: Page) -> tuple[Locator, Locator]:
    """The view of the newest turn in its cell and in the panel."""
    return page.output(1).locator(".shiro-turn"), page.panel().locator(".shiro-turn").last


def assert_over(page: Page, said: str) -> str:
    """Nothing of the turn moves any more, in no place; what is kept of it as plain text."""
    cell, panel = page.output(1), page.panel().locator(".shiro-turn").last
    for place in (cell, panel):
        expect(place).to_contain_text(said)
        for part in ("reasoning", "flight", "question", "status"):
            for found in place.locator(f".shiro-{part}").all():
                expect(found).to_be_hidden()
        expect(place.locator(".shiro-question")).to_have_count(0)
        assert MUSING not in (place.text_content() or "")
    expect(cell.locator(".shiro-turn")).to_have_count(0)
    outputs = page.saved().cells[1].outputs
    (output,) = [each for each in outputs if "shiro" in each.get("metadata", {})]
    assert {"text/html", "text/plain"} <= set(output["data"]) <= FORMS
    assert output.metadata.shiro.ended and MUSING not in str(output["data"])
    return str(output["data"]["text/plain"])


def interrupt(page: Page) -> None:
    page.front.get_by_role("button", name="Interrupt the kernel").click()


def interrupt_twice(page: Page) -> None:
    """The first ends the call that asks."""
    interrupt(page)
    for place in live(page):
        expect(place.locator(".shiro-question")).to_have_count(0)
        expect(place.locator(".shiro-words")).to_have_text("thinking")
    interrupt(page)


def stop(page: Page) -> None:
    live(page)[0].get_by_role("button", name="Stop").click()


def nothing(page: Page) -> None:
    pass


@pytest.mark.parametrize(
    ("prompt", "sees", "press", "said"),
    [
        ("answer", ".shiro-reasoning", nothing, "All said."),
        ("think", ".shiro-reasoning", interrupt, "interrupted"),
        ("think", ".shiro-reasoning", stop, "interrupted"),
        ("command", ".shiro-flight", interrupt, "Without it, then."),
        ("broken", ".shiro-reasoning", nothing, "The endpoint is on fire; put it out."),
        ("endless", ".shiro-reasoning", nothing, "Stopped after 2 steps"),
        ("ask", ".shiro-question", interrupt_twice, "interrupted ·"),
    ],
    ids=["answered", "interrupted", "stopped", "call", "failed", "limited", "twice"],
)
def test_an_ending_clears_what_moved(
    page: Page, prompt: str, sees: str, press: Press, said: str
) -> None:
    running = ask(page, f"%shiro {'' if prompt == 'ask' else '--yolo '}{prompt}")
    for place in live(page):
        expect(place.locator(sees)).to_be_visible()
    press(page)
    page.finished(running)
    assert said in assert_over(page, said)
