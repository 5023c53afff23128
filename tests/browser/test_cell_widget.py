"""The widget of a turn in its cell, in a page without the labextension: over its own comm."""

from __future__ import annotations

import pytest
from nbconvert.exporters import HTMLExporter, MarkdownExporter
from playwright.sync_api import Locator, expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"labextension": False, "SHIRO_LIVE": "1"}
LOAD = "%load_ext shiro_jupyter"
FORMS = {"text/html", "text/markdown", "text/plain"}


@pytest.fixture(autouse=True)
def played(lab: Lab) -> None:
    lab.play(runs("sum", "total = 40 + 2\ntotal"), says("sum", "It is **forty-two**."))


def allow(page: Page, cell: int) -> Locator:
    return page.output(cell).get_by_role("button", name="Allow", exact=True)


@pytest.mark.parametrize("kernel", ["newest", "oldest"])
@pytest.mark.parametrize("form", ["%shiro sum", "%%time\n%shiro sum"])
def test_a_question_is_answered_in_the_cell_while_it_runs(
    lab: Lab, page: Page, kernel: str, form: str
) -> None:
    page.open(lab.notebook("asked.ipynb", [LOAD, form, "total"], kernel=kernel))
    page.run(0)
    running = page.start(1)
    allow(page, 1).click()
    page.finished(running)
    expect(page.output(1)).to_contain_text("forty-two")
    expect(allow(page, 1)).to_have_count(0)
    expect(page.output(1).locator(".jp-Stdin")).to_have_count(0)
    page.run(2)
    assert "42" in page.text(2)
    assert not page.errors


def test_what_is_left_needs_no_kernel_and_no_widget(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("left.ipynb", [LOAD, "%shiro --yolo sum"]))
    page.run(0, 1)
    expect(page.output(1)).to_contain_text("forty-two")
    live = page.output(1).locator(".shiro-turn")
    expect(live).to_have_count(0)
    saved = page.saved()
    (output,) = (each for each in saved.cells[1].outputs if "text/html" in each.get("data", {}))
    assert set(output.data) == FORMS and output.metadata.shiro.ended
    assert "widgets" not in saved.metadata
    page.restart_kernel()
    page.reload()
    expect(page.output(1)).to_contain_text("forty-two")
    assert "Error displaying widget" not in page.text(1) and "Loading" not in page.text(1)
    for exporter in (HTMLExporter(), MarkdownExporter()):
        read, _ = exporter.from_notebook_node(saved)
        assert "forty-two" in read and "widget-view" not in read


@pytest.mark.parametrize("form", ["%shiro sum", "%%time\n%shiro sum"])
def test_where_messages_come_too_late_it_is_html_and_the_keyboard(
    lab: Lab, page: Page, form: str
) -> None:
    page.open(lab.notebook("six.ipynb", [LOAD, form, "total"], kernel="six"))
    page.run(0)
    running = page.start(1)
    page.output(1).locator(".jp-Stdin-input").fill("y")
    expect(page.output(1)).to_contain_text("total = 40 + 2")
    expect(page.output(1).locator(".shiro-turn")).to_have_count(0)
    page.dom.keyboard.press("Enter")
    page.finished(running)
    page.run(2)
    assert "42" in page.text(2)
    assert "forty-two" in page.text(1)


def test_two_views_of_an_output_show_the_same(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("twice.ipynb", [LOAD, "%shiro sum"]))
    page.run(0)
    running = page.start(1)
    expect(allow(page, 1)).to_be_visible()
    page.command("notebook:create-output-view")
    expect(page.dom.get_by_role("button", name="Allow", exact=True)).to_have_count(2)
    allow(page, 1).click()
    page.finished(running)
    expect(page.dom.get_by_role("button", name="Allow", exact=True)).to_have_count(0)
