"""JupyterLab without the labextension, and without one thing more that a cell's view needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.support.browser import Page
from tests.support.lab import Lab, running_lab
from tests.support.scripts import runs, says

LOAD = "%load_ext shiro_jupyter"
AWAITED, BLOCKING = "%shiro sum", "%%time\n%shiro sum"


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    with running_lab(labextension=False, SHIRO_LIVE="1", **{request.param: False}) as running:
        running.play(runs("sum", "total = 40 + 2\ntotal"), says("sum", "It is **forty-two**."))
        yield running


def without(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("lab", [name], indirect=True, ids=[f"no-{name}"])


def answer_by_keyboard(page: Page) -> None:
    """Allow what the second cell shows it asks for, in the box below it."""
    box = page.output(1).locator(".jp-Stdin-input")
    box.fill("y")
    expect(page.output(1)).to_contain_text("total = 40 + 2")
    expect(page.output(1).locator(".shiro-turn")).to_have_count(0)
    page.dom.keyboard.press("Enter")


def check_answered(page: Page) -> None:
    expect(page.output(1)).to_contain_text("forty-two")
    page.run(2)
    assert "42" in page.text(2)


@without("widgets")
@pytest.mark.parametrize(
    ("kernel", "form"), [("newest", AWAITED), ("newest", BLOCKING), ("oldest", AWAITED)]
)
def test_without_widgets_it_is_html_and_the_keyboard(
    lab: Lab, page: Page, kernel: str, form: str
) -> None:
    page.open(lab.notebook("asked.ipynb", [LOAD, form, "total"], kernel=kernel))
    page.run(0)
    running = page.start(1)
    answer_by_keyboard(page)
    page.finished(running)
    assert "widget" not in page.text(1).lower()
    check_answered(page)


@without("subshells")
def test_without_subshells_a_click_reaches_a_cell_that_awaits(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("awaited.ipynb", [LOAD, AWAITED, "total"]))
    page.run(0)
    running = page.start(1)
    page.output(1).get_by_role("button", name="Allow", exact=True).click()
    page.finished(running)
    expect(page.output(1).locator(".jp-Stdin")).to_have_count(0)
    check_answered(page)


@without("subshells")
def test_without_subshells_a_cell_that_blocks_asks_by_keyboard(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("blocking.ipynb", [LOAD, BLOCKING, "total"]))
    page.run(0)
    running = page.start(1)
    answer_by_keyboard(page)
    page.finished(running)
    check_answered(page)
