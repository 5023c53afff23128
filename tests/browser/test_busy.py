"""Clicks while a cell holds the kernel's main thread, and what the kernel is shown as meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import groupby, pairwise
from operator import itemgetter

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.support.browser import Page, opened_page
from tests.support.lab import Lab, running_lab
from tests.support.scripts import runs, says, shells

LAB = {"SHIRO_LIVE": "1"}
HOLDS = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.02)"
LONG = "print('it began')\nwhile True: rounds = 1"
CELLS = [
    "%load_ext shiro_jupyter",
    "%shiro make it &",
    HOLDS,
    "made",
    "%%time\n%shiro ask me",
    "%shiro --yolo go round",
    "made, rounds",
]
STEPS = [
    shells("make", "sleep 600"),
    runs("make", "made = 40 + 2"),
    says("make", "It was made."),
    runs("ask", "made += 1"),
    says("ask", "You said so."),
    runs("round", LONG),
    says("round", "It went on."),
]
# Milliseconds that a stop may take; it is promised within a second, to a machine that is free.
SOON = 5000
# Seconds that a kernel may look idle for, between a message and the one behind it: it is some
# thousandths of a second, but a busy machine takes its time with either.
BLINK = 0.5
QUIET = 3000  # milliseconds
WATCH = """path => {
  const kernel = labTest.kernel(path), note = () => {
    labTest.statuses.push([performance.now() / 1000, kernel.status]);
  };
  labTest.statuses = [];
  kernel.statusChanged.connect(note);
  note();
}"""


@pytest.fixture(scope="module", params=["newest", "no-subshells", "oldest", "six"])
def page(lab: Lab, browser: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    with ExitStack() as stack:
        kernel = request.param
        if kernel == "no-subshells":
            lab, kernel = stack.enter_context(running_lab(subshells=False, **LAB)), "newest"
        lab.play(*STEPS)
        page = stack.enter_context(opened_page(browser, lab))
        page.open(lab.notebook(f"{request.param}/busy.ipynb", CELLS, kernel=kernel))
        page.dom.evaluate(WATCH, page.notebook)
        page.run(0)
        yield page
        assert not page.errors and not page.elsewhere


def view(place: Locator) -> Locator:
    """The newest turn that is drawn there."""
    return place.locator(".shiro-turn").last


def question(place: Locator) -> Locator:
    return view(place).locator(".shiro-question")


def words(place: Locator) -> Locator:
    return view(place).locator(".shiro-words")


@contextmanager
def looks_busy(page: Page) -> Iterator[None]:
    """Neither the page nor the server takes the kernel for idle for longer than a blink."""
    expect(page.indicator).to_have_attribute("data-status", "busy")
    kernel, ended = page.kernel_id, threading.Event()
    sampled: list[tuple[float, str]] = []

    def sample() -> None:
        while not ended.wait(BLINK / 10):
            sampled.append((time.monotonic(), page.lab.state(kernel)))

    sampler = threading.Thread(target=sample)
    sampler.start()
    begun = page.dom.evaluate("labTest.statuses.length") - 1
    try:
        yield
        page.dom.wait_for_timeout(2000 * BLINK)
        shown = page.dom.evaluate("[...labTest.statuses, [performance.now() / 1000, 'now']]")
    finally:
        ended.set()
        sampler.join()
    expect(page.indicator).to_have_attribute("data-status", "busy")
    for states in (shown[begun:], [*sampled, (time.monotonic(), "now")]):
        runs = [next(run) for _, run in groupby(states, key=itemgetter(1))]
        idle = [end - at for (at, state), (end, _) in pairwise(runs) if state != "busy"]
        assert runs[-2][1] == "busy" and max(idle, default=0) < BLINK, states


def test_clicks_need_no_main_thread(page: Page) -> None:
    cell, panel = page.output(1), page.panel()
    page.run(1)
    held = page.start(2)
    with looks_busy(page):
        question(cell).locator(".shiro-allow").click()
        expect(words(panel)).to_have_text("running bash")
        view(panel).get_by_role("button", name="Stop").click()
        expect(question(cell)).to_contain_text("made = 40 + 2", timeout=SOON)
        question(panel).locator(".shiro-allow").click()
        for place in (cell, panel):
            expect(question(place)).to_have_count(0)
            expect(words(place)).to_have_text("running run_python")
        assert not page.dom.evaluate("run => labTest.runs[run]", held)
    (page.folder / "go").touch()
    page.finished(held)
    for place in (cell, panel):
        expect(place).to_contain_text("It was made.")
    page.run(3)
    assert page.text(3).strip().endswith("42")
    page.ready("idle")


def test_a_blocking_prompt_is_answered_in_its_cell(page: Page) -> None:
    running = page.start(4)
    expect(question(page.output(4))).to_contain_text("made += 1")
    expect(question(page.panel())).to_contain_text("made += 1")
    allow = question(page.output(4)).locator(".shiro-allow")
    expect(allow).to_be_enabled()
    with looks_busy(page):
        before = len(page.heard)
        page.dom.wait_for_timeout(QUIET)
        assert page.heard[before:] == []
    allow.click()
    page.finished(running)
    expect(page.output(4)).to_contain_text("You said so.")
    expect(question(page.panel())).to_have_count(0)


def test_a_stop_ends_the_code_and_the_turn_goes_on(page: Page) -> None:
    running = page.start(5)
    expect(view(page.panel()).locator(".shiro-flight")).to_contain_text("it began")
    with looks_busy(page):
        pass
    view(page.panel()).get_by_role("button", name="Stop").click()
    page.finished(running, SOON)
    expect(page.output(5)).to_contain_text("It went on.")
    page.run(6)
    assert page.text(6).strip().endswith("(43, 1)")
    page.ready("idle")
    page.dom.wait_for_timeout(1000 * BLINK)
    page.ready("idle")
    assert page.lab.state(page.kernel_id) == "idle"
