"""What a person sees of the change of a file that they are asked about, in light and dark."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import says

LAB = {"SHIRO_LIVE": "1"}
CELLS = ["%load_ext shiro_jupyter", "%shiro change"]
READABLE = 4.5  # the contrast that WCAG asks for
DISTINCT = 1.2  # between the grounds of two lines

COLOURS = """el => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const behind = (el, own) => {
        const over = el.parentElement ? behind(el.parentElement) : [255, 255, 255];
        return blend(getComputedStyle(el).backgroundColor, over);
    };
    const blend = (colour, over) => {
        canvas.fillStyle = `rgb(${over})`;
        canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const ground = behind(el);
    return [ground, blend(getComputedStyle(el).color, ground)];
}"""


def change(path: str, old: str, new: str) -> dict[str, Any]:
    arguments = {"path": path, "old_text": old, "new_text": new}
    return {"when": "change", "calls": [{"name": "edit_file", "arguments": arguments}]}


def asked(lab: Lab, page: Page, name: str) -> tuple[Locator, int]:
    """The question of the second cell, and its run."""
    page.open(lab.notebook(name, CELLS))
    page.run(0)
    running = page.start(1)
    question = page.output(1).locator(".shiro-question")
    expect(question.locator(".shiro-allow")).to_be_enabled()
    return question, running


def contrast(one: list[int], other: list[int]) -> float:
    """As WCAG counts it."""

    def light(colour: list[int]) -> float:
        parts = [each / 255 for each in colour]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_diff_is_coloured_and_readable(lab: Lab, page: Page, theme: str) -> None:
    folder = lab.folder / theme
    folder.mkdir()
    (folder / "q.sql").write_text("select 1\n-- of one year\nfrom a\n")
    lab.play(change("q.sql", "-- of one year", "++ of each"), says("change", "Done."))
    question, running = asked(lab, page, f"{theme}/a.ipynb")
    page.theme(theme)
    expect(question.locator(".shiro-title")).to_have_text("Change q.sql?")
    shown = question.locator(".shiro-verbatim")
    expect(shown.locator(".shiro-taken")).to_have_text("--- of one year")
    expect(shown.locator(".shiro-added")).to_have_text("+++ of each")
    expect(shown.locator(".shiro-place")).to_have_text("@@ -1,3 +1,3 @@")
    lines = {
        each: shown.locator(f".shiro-{each}").evaluate(COLOURS) for each in ("taken", "added")
    } | {"same": shown.locator(".shiro-line").last.evaluate(COLOURS)}
    for ground, ink in lines.values():
        assert contrast(ground, ink) > READABLE
    for each in ("taken", "added"):
        assert contrast(lines[each][0], lines["same"][0]) > DISTINCT
    allow = question.locator(".shiro-allow")
    assert contrast(*allow.evaluate(COLOURS)) > READABLE
    allow.click()
    page.finished(running)
    assert (folder / "q.sql").read_text() == "select 1\n++ of each\nfrom a\n"


def test_a_long_diff_is_scrolled_by_keys_beside_its_buttons(lab: Lab, page: Page) -> None:
    (lab.folder / "long.py").write_text("".join(f"a{n} = {n}\n" for n in range(200)))
    step = change("long.py", " = ", "=")
    step["calls"][0]["arguments"]["replace_all"] = True
    lab.play(step, says("change", "Done."))
    question, running = asked(lab, page, "long.ipynb")
    shown = question.locator(".shiro-verbatim")
    for part in (question.locator(".shiro-title"), question.locator(".shiro-allow")):
        expect(part).to_be_in_viewport(ratio=1)
    assert "monospace" in shown.evaluate("el => getComputedStyle(el).fontFamily")
    shown.focus()
    page.dom.keyboard.press("End")
    expect(shown.locator(".shiro-added").last).to_be_in_viewport()
    expect(shown.locator(".shiro-added").last).to_have_text("+a199=199")
    question.locator(".shiro-deny").click()
    page.finished(running)
    assert "1 tool call, 1 refused" in page.text(1)


def test_a_change_that_is_asked_again_says_why(lab: Lab, page: Page) -> None:
    path = lab.folder / "again.py"
    path.write_text("a = 1\n")
    lab.play(change("again.py", "a = 1", "a = 2"), says("change", "Done."))
    question, running = asked(lab, page, "again.ipynb")
    path.write_text("# saved meanwhile\na = 1\n")
    question.locator(".shiro-allow").click()
    title = question.locator(".shiro-title")
    expect(title).to_have_text(re.compile(r"^Change again\.py\? It has changed since you allowed"))
    expect(question.locator(".shiro-verbatim")).to_contain_text("# saved meanwhile")
    assert path.read_text() == "# saved meanwhile\na = 1\n"
    expect(question.locator(".shiro-allow")).to_be_enabled()
    question.locator(".shiro-allow").click()
    page.finished(running)
    assert path.read_text() == "# saved meanwhile\na = 2\n"
