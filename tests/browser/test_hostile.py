"""What a model, a tool or a script of the page would do in JupyterLab, and does not get to do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, WebSocket, expect

from shiro_jupyter.views.prose import open_fence
from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says
from tests.views.reading import HOSTILE

LAB = {"SHIRO_LIVE": "1"}
LOAD = "%load_ext shiro_jupyter"
# Whatever of it runs, calls this; in whichever frame.
WATCH = "window.alert = () => { window.top.hacked = true; };"
MORE = [
    "<iframe srcdoc='<script>alert(1)</script>' src='https://evil.test/frame'></iframe>",
    "<meta http-equiv=refresh content='0;url=https://evil.test/refresh'>",
    "<link rel=stylesheet href='https://evil.test/a.css'><base href='https://evil.test/'>",
    "<object data='https://evil.test/o'></object><embed src='https://evil.test/e'>",
    "<video poster='https://evil.test/v.png' src='https://evil.test/v' autoplay></video>",
    "<form action='javascript:alert(1)'><button autofocus onfocus=alert(1)>x</button></form>",
    "<style>.jp-Notebook { background: url(https://evil.test/bg.png) }</style>",
    "<a data-commandlinker-command='notebook:run-all-cells' href='#'>x</a>",
    "<https://evil.test/auto> https://evil.test/bare www.evil.test",
    r"$\href{javascript:alert(1)}{x}$ \(\href{javascript:alert(1)}{x}\)",
    "$$\n\\require{html}\\href{javascript:alert(1)}{x}\n$$",
    r"\begin{equation}\href{javascript:alert(1)}{x}\end{equation} \ref{a\href{javascript:x}{y}}",
    r"$\class{jp-mod-x}{\style{color:red}{x}}$ \\(\unicode[x;background:url(//evil.test)]{65}\\)",
]
# Of a text that leaves a code block open, the next one would be a part.
MARKDOWN = "\n\n".join(f"{each}\n{open_fence(each)}" for each in [*HOSTILE, *MORE])
ENDED = "\n\nWith $x^2 = y$ this is the end."
TAG = "<img src='https://evil.test/p.png' onerror=alert(1)><svg onload=alert(1)></svg>"
FILE = "<img src=x onerror=alert(1)> $\\href{javascript:alert(1)}{x}$.md"

AS_MARKDOWN = """
import nbformat
from IPython.display import display
for output in nbformat.read("hostile.ipynb", as_version=4).cells[1].outputs:
    if text := output.get("data", {}).get("text/markdown"):
        display({"text/markdown": text}, raw=True)
"""

# What is none of ours in a part of the page. What a program prints, Lab makes links of.
FOREIGN = """roots => roots.flatMap(root => [...root.querySelectorAll('*')]).flatMap(el => {
  const tags = 'img image script svg iframe object embed video audio link meta style base form';
  const bad = tags.split(' ').includes(el.localName) ? [el.outerHTML] : [];
  const away = /^(href|src|srcset|action|data|poster|xlink:href)$/;
  const printed = el.closest('[data-mime-type="application/vnd.jupyter.stdout"]');
  for (const { name, value } of el.attributes) {
    if (name.startsWith('on') || name.startsWith('data-commandlinker') ||
        (away.test(name) && !printed && !/^(#|https?:\\/\\/|mailto:)/i.test(value)) ||
        (name === 'style' && /url|import|expression/i.test(value))) {
      bad.push(`${el.localName} ${name}=${value}`);
    }
  }
  return bad;
})"""

# All that a script can do to press what it finds.
FORGE = """root => {
  for (const el of root.querySelectorAll('button, input, textarea, [tabindex]')) {
    el.focus();
    el.click();
    const options = { bubbles: true, cancelable: true, composed: true };
    for (const type of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click']) {
      el.dispatchEvent(new PointerEvent(type, options));
      el.dispatchEvent(new MouseEvent(type, options));
    }
    for (const key of ['Enter', ' ']) {
      for (const type of ['keydown', 'keypress', 'keyup']) {
        el.dispatchEvent(new KeyboardEvent(type, { ...options, key }));
      }
    }
  }
}"""


def calls(when: str, **arguments_by_name: dict[str, Any]) -> dict[str, Any]:
    made = [{"name": name, "arguments": each} for name, each in arguments_by_name.items()]
    return {"when": when, "calls": made}


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    todos = [{"text": TAG, "status": "in_progress"}, {"text": FILE, "status": "pending"}]
    lab.play(
        calls("attack", todo_write={"todos": todos}) | {"text": MARKDOWN},
        calls("attack", list_dir={}, read_file={"path": FILE}, **{TAG: {"path": TAG}}),
        calls("attack", ask={"question": f"{TAG} {FILE}?", "choices": [TAG, "Go on"]})
        | {"reasoning": MARKDOWN},
        runs("attack", f"print({MARKDOWN!r})"),
        says("attack", MARKDOWN + ENDED),
        {"when": "breaks", "error": f"{TAG} {MARKDOWN}"},
        runs("guarded", "touched = True"),
        says("guarded", "It was refused."),
        says("again", "Here I am."),
    )


@pytest.fixture
def watched(lab: Lab, page: Page) -> Page:
    (lab.folder / FILE).write_text(MARKDOWN, encoding="utf-8")
    page.dom.add_init_script(WATCH)
    return page


@pytest.fixture
def asked(page: Page) -> list[str]:
    """What the page asked of our side of the kernel, by its `do`."""
    done: list[str] = []

    def sent(payload: str | bytes) -> None:
        text = payload if isinstance(payload, str) else payload.decode("utf-8", "replace")
        if "shiro_request" in text:
            done.extend(re.findall(r'"do":"(\w+)"', text))

    def connected(socket: WebSocket) -> None:
        socket.on("framesent", sent)

    page.dom.on("websocket", connected)
    return done


def view(place: Locator) -> Locator:
    return place.locator(".shiro-turn")


def harmless(page: Page, *places: Locator) -> None:
    for place in places:
        parts = place.locator(".jp-OutputArea-output, .shiro-panel-turns")
        assert parts.count() > 0 and parts.evaluate_all(FOREIGN) == []
    assert page.dom.evaluate("'hacked' in window") is False
    assert not page.elsewhere
    assert page.dom.url.startswith(page.lab.url)


def typeset(place: Locator) -> None:
    """The formulas are done: those of the attack would be, too."""
    expect(place.locator("mjx-container").first).to_be_visible()


def trusted(page: Page, cell: int) -> bool:
    found = "([path, at]) => labTest.panel(path).content.model.cells.get(at).trusted"
    return bool(page.dom.evaluate(found, [page.notebook, cell]))


def test_what_a_model_writes_stays_text(lab: Lab, watched: Page) -> None:
    page = watched
    page.open(lab.notebook("hostile.ipynb", [LOAD, f"%%shiro\nattack {MARKDOWN}", AS_MARKDOWN]))
    page.run(0)
    turn = page.start(1)
    cell, panel = page.output(1), page.panel()
    expect(view(cell).get_by_role("button", name="Go on")).to_be_enabled()
    expect(view(cell).locator(".shiro-reasoning")).to_contain_text("onerror=alert(1)")
    expect(view(cell).locator(".shiro-tasks")).to_contain_text(TAG)
    expect(view(cell).locator(".shiro-question")).to_contain_text(TAG)
    expect(view(cell).locator(".shiro-card", has_text="read_file").first).to_contain_text(FILE)
    expect(view(panel).locator(".shiro-question")).to_contain_text(TAG)
    harmless(page, cell, panel)
    view(cell).get_by_role("button", name="Go on").click()
    expect(view(cell).locator(".shiro-question")).to_contain_text("print('![x]")
    harmless(page, cell, panel)
    view(cell).locator(".shiro-allow").click()
    page.finished(turn)
    expect(cell).to_contain_text("this is the end")
    expect(view(cell)).to_have_count(0)
    expect(view(panel)).to_contain_text("this is the end")
    typeset(cell)
    harmless(page, cell, panel)
    page.saved()
    page.run(2)
    typeset(page.output(2))
    harmless(page, page.output(2))
    page.saved()
    page.reload("idle")
    assert trusted(page, 1) and trusted(page, 2)
    typeset(page.output(1))
    typeset(page.output(2))
    expect(view(page.panel())).to_contain_text("this is the end")
    harmless(page, page.output(1), page.output(2), panel)


def test_what_an_endpoint_says_stays_text(lab: Lab, watched: Page) -> None:
    page = watched
    page.open(lab.notebook("breaks.ipynb", [LOAD, "%shiro breaks"]))
    page.run(0, 1)
    expect(page.output(1)).to_contain_text("onerror=alert(1)")
    expect(view(page.panel())).to_contain_text("onerror=alert(1)")
    box = page.panel().get_by_role("textbox", name="Ask shiro")
    box.fill(f"/{TAG}")
    box.press("Enter")
    expect(page.panel().locator(".shiro-panel-turn").last).to_contain_text(TAG)
    harmless(page, page.output(1), page.panel())


def test_what_is_kept_of_a_turn_whose_kernel_died_stays_text(lab: Lab, watched: Page) -> None:
    page = watched
    page.open(lab.notebook("died.ipynb", [LOAD, f"%%shiro\nattack {MARKDOWN}"]))
    page.run(0)
    page.start(1)
    expect(view(page.output(1)).get_by_role("button", name="Go on")).to_be_visible()
    page.kernel.kill()
    expect(page.output(1)).to_contain_text("The kernel died")
    expect(view(page.output(1))).to_have_count(0)
    harmless(page, page.output(1), page.panel())
    page.dom.locator(".jp-Dialog button.jp-mod-accept").click()
    page.saved()
    page.reload("idle")
    assert trusted(page, 1)
    expect(page.output(1)).to_contain_text("The kernel died")
    harmless(page, page.output(1))


def test_a_script_presses_nothing(lab: Lab, page: Page, asked: list[str]) -> None:
    loaded = "import sys\n'shiro_jupyter' in sys.modules"
    cells = [loaded, LOAD, "%shiro guarded", "'touched' in globals()"]
    page.open(lab.notebook("guarded.ipynb", cells))
    panel = page.panel()
    expect(panel.get_by_role("button", name="Load shiro")).to_be_visible()
    panel.evaluate(FORGE)
    page.run(0)
    assert "False" in page.text(0)
    page.run(1)
    turn = page.start(2)
    for place in (page.output(2), panel):
        expect(view(place).locator(".shiro-allow")).to_be_enabled()
        expect(view(place).get_by_role("button", name="Stop")).to_be_enabled()
        view(place).locator(".shiro-field").fill("forged")
        place.evaluate(FORGE)
        view(place).locator(".shiro-field").fill("")
    view(panel).locator(".shiro-deny").click()
    page.finished(turn)
    expect(page.output(2)).to_contain_text("It was refused.")
    page.run(3)
    assert "False" in page.text(3)
    box = panel.get_by_role("textbox", name="Ask shiro")
    box.fill("again")
    panel.evaluate(FORGE)
    panel.get_by_role("button", name="Send", exact=True).click()
    expect(panel.locator(".shiro-panel-turn").last).to_contain_text("Here I am.")
    expect(panel.locator(".shiro-panel-turn")).to_have_count(2)
    assert [do for do in asked if do in ("answer", "stop", "prompt")] == ["answer", "prompt"]
