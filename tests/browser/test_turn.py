"""A turn as a person sees it in JupyterLab: in its cell, and in the panel beside it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.support.browser import Page
from tests.support.kernels import ROOT
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1"}
LOAD = "%load_ext shiro_jupyter"
PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 4])\nplt.show()\ngrown = 4"


def plans(when: str, **tasks: str) -> dict[str, Any]:
    todos = [{"text": text, "status": status} for text, status in tasks.items()]
    return {"when": when, "calls": [{"name": "todo_write", "arguments": {"todos": todos}}]}


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(
        plans("draw", count="in_progress", plot="pending"),
        runs("draw", PLOT),
        plans("draw", count="done", plot="done"),
        says("draw", "It **grows**, from 1 to 4."),
        says("slowly", " ".join(f"word{n}." for n in range(60)), chunk=8, pace=0.05),
        says("for ever", "never said", delay=600),
    )


@pytest.fixture(params=["newest", "oldest", "six"])
def kernel(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def view(place: Locator) -> Locator:
    return place.locator(".shiro-turn")


def test_a_turn_is_answered_by_a_click_while_its_cell_runs(
    lab: Lab, page: Page, kernel: str
) -> None:
    cells = [LOAD, "%shiro draw", "grown"]
    page.open(lab.notebook(f"drawn-{kernel}.ipynb", cells, kernel=kernel))
    page.run(0)
    turn = page.start(1)
    shown = view(page.output(1))
    expect(shown.locator(".shiro-bar")).to_contain_text("0/2")
    question = shown.locator(".shiro-question")
    expect(question).to_contain_text("plt.plot([1, 2, 4])")
    expect(shown.locator(".shiro-words")).to_have_text("waiting for you")
    expect(page.indicator).to_have_attribute("data-status", "busy")
    beside = view(page.panel())
    expect(beside.locator(".shiro-question")).to_contain_text("plt.plot([1, 2, 4])")
    question.locator(".shiro-allow").click()
    expect(beside.locator(".shiro-question")).to_have_count(0)
    page.finished(turn)
    expect(beside).to_contain_text("It grows, from 1 to 4.")
    expect(beside.locator(".shiro-bar")).to_contain_text("2/2")
    expect(page.output(1)).to_contain_text("It grows, from 1 to 4.")
    expect(page.output(1).locator("img")).to_have_count(1)
    page.run(2)
    assert page.text(2).strip().endswith("4")
    assert not page.errors and not page.elsewhere


def test_what_is_left_behind_needs_no_widget(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("left.ipynb", [LOAD, "%shiro draw"]))
    page.run(0)
    turn = page.start(1)
    view(page.output(1)).locator(".shiro-allow").click()
    page.finished(turn)
    expect(page.output(1)).to_contain_text("It grows, from 1 to 4.")
    outputs = page.saved().cells[1].outputs
    forms = [form for output in outputs for form in output.get("data", {})]
    assert "image/png" in forms
    assert not [form for form in forms if "widget" in form]
    (left,) = [output.data for output in outputs if "text/html" in output.get("data", {})]
    assert {"text/html", "text/markdown", "text/plain"} <= set(left)
    assert "<script" not in left["text/html"] and "grows" in left["text/plain"]
    page.reload("idle")
    expect(page.output(1)).to_contain_text("It grows, from 1 to 4.")


def test_an_answer_streams(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("streams.ipynb", [LOAD, "%shiro slowly"]))
    page.run(0)
    turn = page.start(1)
    page.until("document.querySelector('.shiro-turn')?.textContent.includes('word3.')")
    seen = page.text(1)
    assert "word3." in seen and "word59." not in seen
    expect(view(page.panel())).to_contain_text("word10.")
    page.finished(turn)
    expect(page.output(1)).to_contain_text("word59.")


def test_the_views_stop_ends_the_turn(lab: Lab, page: Page, kernel: str) -> None:
    cells = [LOAD, "%shiro for ever", "6 * 7"]
    page.open(lab.notebook(f"stopped-{kernel}.ipynb", cells, kernel=kernel))
    page.run(0)
    turn = page.start(1)
    view(page.output(1)).get_by_role("button", name="Stop").click()
    page.finished(turn, timeout=10_000)
    expect(page.output(1)).to_contain_text("interrupted")
    page.run(2)
    assert "42" in page.text(2)


def test_the_page_is_made_of_this_checkout() -> None:
    built = (ROOT / "shiro_jupyter" / "static" / "cell.js").stat().st_mtime
    sources = (ROOT / "labextension" / "src").rglob("*.ts")
    newest = max(sources, key=lambda each: each.stat().st_mtime)
    assert newest.stat().st_mtime <= built, (
        f"{newest.name} is newer than the page: make labextension"
    )
