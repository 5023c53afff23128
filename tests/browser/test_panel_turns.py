"""Turns asked for in the panel: code in the kernel and nothing in a cell, answers, the queue."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.support.browser import Page, opened_page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1"}
LOAD = "%load_ext shiro_jupyter"


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(
        runs("sum", "total = 40 + 2\nprint('in code')\ntotal"),
        says("sum", "It is **42**."),
        says("hello", "Good day."),
        says("for ever", "never said", delay=600),
        runs("draw", "import matplotlib.pyplot as plt\nplt.plot([1, 2, 4])\nplt.show()"),
        says("draw", "It grows."),
    )


def ask(panel: Locator, prompt: str) -> None:
    box = panel.get_by_role("textbox", name="Ask shiro")
    expect(box).to_be_enabled()
    box.fill(prompt)
    box.press("Enter")


def turn(panel: Locator, prompt: str) -> Locator:
    """The entry of the turn with this prompt, folded or not."""
    return panel.locator(".shiro-panel-turn").filter(
        has=panel.page.locator("summary", has_text=prompt)
    )


@pytest.mark.parametrize("kernel", ["newest", "oldest", "six"])
def test_its_code_runs_in_the_kernel_and_leaves_nothing_in_a_cell(
    lab: Lab, page: Page, kernel: str
) -> None:
    cells = [LOAD, "print('theirs')\n6 * 7", "total, sorted(Out), len(In)"]
    page.open(lab.notebook(f"panel-{kernel}.ipynb", cells, kernel=kernel))
    panel = page.panel()
    page.run(0, 1)
    before = page.saved().cells
    ask(panel, "sum")
    question = panel.locator(".shiro-question")
    expect(question).to_contain_text("total = 40 + 2")
    expect(question.locator(".shiro-title")).to_have_text(
        "Run this code in the kernel?\nWill change total.", use_inner_text=True
    )
    page.screenshot(f"foreseen-{kernel}")
    question.get_by_role("button", name="Allow", exact=True).click()
    expect(panel).to_contain_text("It is 42.")
    expect(question).to_have_count(0)
    panel.locator(".shiro-card > summary").click()
    expect(panel.locator(".shiro-card")).to_contain_text("in code\nvalue: 42", use_inner_text=True)
    page.ready("idle")
    assert page.saved().cells == before
    page.run(2)
    assert "(42, [2], 4)" in page.text(2)
    assert page.saved().cells[2].execution_count == 3
    assert not page.errors


def test_a_figure_is_drawn_in_the_panel_and_again_after_a_reload(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("figure.ipynb", [LOAD]))
    panel = page.panel()
    page.run(0)
    ask(panel, "draw")
    panel.get_by_role("button", name="Allow", exact=True).click()
    expect(panel).to_contain_text("It grows.")
    drawn = "document.querySelector('.shiro-picture img')?.naturalWidth > 100"
    page.until(drawn)
    page.saved()
    page.reload("idle")
    page.panel()
    page.until(drawn)
    assert not page.errors


def test_a_second_prompt_waits_and_stop_ends_the_first_alone(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("queue.ipynb", [LOAD]))
    panel = page.panel()
    page.run(0)
    ask(panel, "for ever")
    first = turn(panel, "for ever")
    expect(first.locator(".shiro-words")).to_have_text("thinking")
    ask(panel, "hello")
    waiting = panel.locator(".shiro-queue-words")
    expect(waiting).to_have_text(["hello"])
    assert turn(panel, "hello").count() == 0
    first.get_by_role("button", name="Stop").click()
    expect(first).to_contain_text("interrupted")
    expect(turn(panel, "hello")).to_contain_text("Good day.")
    expect(waiting).to_have_count(0)


def test_commands_are_answered_and_an_unknown_one_names_the_nearest(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("commands.ipynb", [LOAD]))
    panel = page.panel()
    page.run(0)
    said = panel.locator(".shiro-panel-said")
    ask(panel, "/help")
    expect(said).to_contain_text("/status")
    ask(panel, "/stauts")
    expect(said.last).to_have_text("There is no command /stauts; did you mean /status?")
    assert panel.locator(".shiro-panel-turn").count() == 0


def test_each_notebook_has_its_kernels_turns(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("ours.ipynb", [LOAD]))
    panel = page.panel()
    page.run(0)
    ask(panel, "sum")
    question = panel.locator(".shiro-question")
    expect(question).to_be_visible()
    page.open(lab.notebook("theirs.ipynb", [LOAD]))
    page.run(0)
    expect(question).to_have_count(0)
    ask(panel, "hello")
    expect(panel).to_contain_text("Good day.")
    assert panel.locator(".shiro-panel-turn").count() == 1
    page.open("ours.ipynb")
    expect(panel).not_to_contain_text("Good day.")
    question.get_by_role("button", name="Allow", exact=True).click()
    expect(panel).to_contain_text("It is 42.")


def test_a_reload_brings_all_turns_back_and_folds_the_earlier(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("back.ipynb", [LOAD, "%shiro hello"]))
    panel = page.panel()
    page.run(0, 1)
    ask(panel, "sum")
    question = panel.locator(".shiro-question")
    expect(question).to_be_visible()
    page.saved()
    page.reload()
    panel = page.panel()
    question.get_by_role("button", name="Allow", exact=True).click()
    expect(turn(panel, "sum")).to_contain_text("It is 42.")
    earlier = turn(panel, "hello")
    expect(earlier).not_to_have_attribute("open", "")
    earlier.locator("summary").first.click()
    expect(earlier).to_contain_text("Good day.")
    assert panel.locator(".shiro-panel-turn").count() == 2


def test_a_new_tab_finds_what_runs_in_a_busy_kernel(
    lab: Lab, page: Page, browser: BrowserContext
) -> None:
    notebook = lab.notebook("tabs.ipynb", [LOAD, "%shiro sum"])
    page.open(notebook)
    page.run(0)
    page.start(1)
    expect(page.panel().locator(".shiro-question")).to_be_visible()
    page.saved()
    page.dom.close()  # nobody is left who would be told of anything
    with opened_page(browser, lab) as other:
        other.open(notebook, statuses=("busy", "unknown"))
        panel = other.panel()
        allow = panel.get_by_role("button", name="Allow", exact=True)
        expect(allow).to_be_visible()
        expect(other.dom.locator(".jp-Stdin")).to_have_count(0)  # it was left to the page
        allow.click()
        expect(panel).to_contain_text("It is 42.")


@pytest.mark.parametrize("kernel", ["newest", "oldest", "six"])
def test_a_click_wins_over_the_box_that_came_before_the_page(
    lab: Lab, page: Page, kernel: str
) -> None:
    cells = [LOAD, "1", "%shiro sum", "input('name? ')"]
    page.open(lab.notebook(f"late-{kernel}.ipynb", cells, kernel=kernel))
    panel = page.panel()
    page.run(0)
    page.dom.evaluate("window.dispatchEvent(new Event('pagehide'))")  # so it says good-bye
    page.run(1)
    running = page.start(2)
    box = page.dom.locator(".jp-Stdin-input")
    expect(box).to_be_visible()
    page.dom.evaluate("path => labTest.kernel(path).reconnect()", page.notebook)
    panel.get_by_role("button", name="Allow", exact=True).click()
    page.finished(running)
    expect(box).to_have_count(0)
    expect(page.output(2)).to_contain_text("It is 42.")
    asked = page.start(3)
    box.fill("me")
    box.press("Enter")
    page.finished(asked)
    assert "'me'" in page.text(3)
