"""The panel: whose turns it shows, when it loads the extension, what happens to a prompt."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import says

LAB = {"SHIRO_LIVE": "1"}
LOAD = "%load_ext shiro_jupyter"
WAIT = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)"
SCROLLED = "[...document.querySelectorAll('.shiro-panel-scroll')].map(each => each.scrollTop)[0]"


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(
        says("hello", "Good day."),
        says("much", "\n\n".join(f"paragraph {n}" for n in range(80)), chunk=8, pace=0.02),
    )


def test_a_button_loads_it_and_the_first_prompt_starts_it(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("loaded.ipynb", [WAIT]))
    panel = page.panel()
    panel.get_by_role("button", name="Load shiro").click()
    box = panel.get_by_role("textbox", name="Ask shiro")
    expect(box).to_be_enabled()
    waiting = page.start(0)
    page.ready("busy")
    box.fill("hello")
    box.press("Shift+Enter")
    box.press("Enter")
    # It stays in the box until the kernel has taken it.
    expect(panel).to_contain_text("waits until the kernel is free")
    expect(box).to_have_value("hello\n")
    (lab.folder / "go").touch()
    page.finished(waiting)
    expect(panel).to_contain_text("Good day.")
    expect(box).to_have_value("")
    assert "kernel is free" not in panel.inner_text()
    assert not page.errors


def test_it_follows_the_notebook_in_front(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("one.ipynb", [LOAD, "%shiro hello"]))
    panel = page.panel()
    page.run(0, 1)
    expect(panel).to_contain_text("Good day.")
    box = panel.get_by_role("textbox", name="Ask shiro")
    box.fill("a draft")
    page.open(lab.notebook("two.ipynb", ["1"]))
    expect(panel).to_contain_text("not loaded in the kernel")
    expect(box).to_have_value("")
    page.open("one.ipynb")
    expect(panel).to_contain_text("Good day.")
    expect(box).to_have_value("a draft")
    page.dom.evaluate("[...jupyterapp.shell.widgets('main')].forEach(each => each.dispose())")
    expect(panel).to_contain_text("Open a notebook")


def test_it_stays_where_the_person_reads(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("much.ipynb", [LOAD]))
    panel = page.panel()
    page.run(0)
    box = panel.get_by_role("textbox", name="Ask shiro")
    box.fill("much")
    box.press("Enter")
    expect(panel).to_contain_text("paragraph 50")
    assert page.dom.evaluate(SCROLLED) > 0
    panel.locator(".shiro-panel-scroll").hover()
    page.dom.mouse.wheel(0, -100_000)
    expect(panel).to_contain_text("paragraph 79")
    assert page.dom.evaluate(SCROLLED) == 0


def test_what_a_command_says_is_plain_text(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("said.ipynb", [LOAD]))
    panel = page.panel()
    page.run(0)
    box = panel.get_by_role("textbox", name="Ask shiro")
    box.fill("/resume <b>none</b>")
    box.press("Enter")
    expect(panel.locator(".shiro-panel-said")).to_contain_text("<b>none</b>")
    assert not page.errors


def test_a_script_of_the_page_cannot_ask(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("script.ipynb", [LOAD]))
    panel = page.panel()
    page.run(0)
    box = panel.get_by_role("textbox", name="Ask shiro")
    box.fill("hello")
    panel.get_by_role("button", name="Send").evaluate("each => each.click()")
    box.dispatch_event("keydown", {"key": "Enter"})
    assert page.dom.evaluate("'shiro' in window") is False
    expect(box).to_have_value("hello")
    box.press("Enter")
    expect(panel).to_contain_text("Good day.")
    assert panel.locator(".shiro-panel-turn").count() == 1
