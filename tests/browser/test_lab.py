"""The ground of the browser tests: a Lab that opens, kernels that start, a page that is watched."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from playwright.sync_api import expect

from tests.support.browser import Page, chromium
from tests.support.kernels import SIX
from tests.support.lab import KERNELS, Lab

VERSIONS = {"newest": version("ipykernel"), "oldest": "7.0.0", "six": "6.30.1"}


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_cell_runs_in_each_kernel(lab: Lab, page: Page, kernel: str) -> None:
    cells = ["import ipykernel\nprint('ipykernel', ipykernel.__version__)", "input('who? ')"]
    page.open(lab.notebook(f"{kernel}.ipynb", cells, kernel=kernel))
    page.run(0)
    expect(page.output(0)).to_contain_text(f"ipykernel {VERSIONS[kernel]}")
    assert (SIX in page.kernel.environ()["PYTHONPATH"]) == (kernel == "six")
    asked = page.start(1)
    expect(page.output(1)).to_contain_text("who?")
    expect(page.indicator).to_have_attribute("data-status", "busy")
    page.cell(1).locator(".jp-Stdin-input").fill("me")
    page.dom.keyboard.press("Enter")
    page.finished(asked)
    page.ready("idle")
    assert "'me'" in page.text(1)
    saved = page.saved()
    assert saved.cells[0].outputs[0].text.startswith("ipykernel")


def test_nothing_beyond_this_machine_is_asked_for(lab: Lab, page: Page) -> None:
    far = "from IPython.display import Image\nImage(url='http://example.com/far.png')"
    page.open(lab.notebook("far.ipynb", ["1", far]))
    page.run(0)
    assert not page.elsewhere and not page.errors
    page.run(1)
    expect(page.output(1).locator("img")).to_have_count(1)
    page.until("document.querySelector('.jp-OutputArea img').complete")
    assert set(page.elsewhere) == {"http://example.com/far.png"}
    assert any("ERR_NAME_NOT_RESOLVED" in error for error in page.errors)


def test_a_page_is_reloaded_beside_a_running_cell(lab: Lab, page: Page) -> None:
    waiting = (
        "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.05)\n'went'"
    )
    page.open(lab.notebook("reload.ipynb", [waiting, "6 * 7"]))
    page.start(0)
    page.ready("busy")
    page.saved()
    page.reload()
    (lab.folder / "go").touch()
    page.ready("idle")
    page.run(1)
    assert page.text(1).strip().endswith("42")
    assert page.received > 0 and page.frames > 0


def test_kernels_are_restarted_and_killed(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("killed.ipynb", ["x = 1", "'x' in globals()"]))
    page.run(0)
    page.restart_kernel()
    page.run(1)
    assert "False" in page.text(1)
    killed = page.kernel
    killed.kill()
    page.until("!labTest.ready(...arg)", [page.notebook, ["idle"]])
    page.dom.locator(".jp-Dialog button.jp-mod-accept").click()
    page.ready("idle")
    assert page.kernel.pid != killed.pid


def test_themes_change(lab: Lab, page: Page) -> None:
    page.open(lab.notebook("themes.ipynb", ["1"]))
    colours = []
    for theme in ("dark", "light"):
        page.theme(theme)
        colours.append(page.cell(0).evaluate("node => getComputedStyle(node).color"))
    assert colours[0] != colours[1]


def test_notebooks_open_side_by_side(lab: Lab, page: Page) -> None:
    first = lab.notebook("first.ipynb", ["'first'"])
    page.open(first)
    page.run(0)
    ours = page.kernel_id
    page.open(lab.notebook("second.ipynb", ["'second'"]))
    page.run(0)
    assert "second" in page.text(0) and page.kernel_id != ours
    page.open(first)
    assert "first" in page.text(0) and page.kernel_id == ours


def test_a_missing_browser_fails_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(AssertionError, match="apt-get install chromium"):
        chromium()
