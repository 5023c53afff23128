"""Takes the pictures of the documentation: a real JupyterLab, a real kernel, a scripted model.

`make pictures` runs it; a picture that has to change is taken anew, never drawn.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import expect  # noqa: E402

from tests.support.browser import TIMEOUT, Page, opened_page, running_browser  # noqa: E402
from tests.support.lab import Lab, running_lab  # noqa: E402
from tests.support.scripts import runs, says  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
CELL = "labTest.panel(path).content.model.cells.get(1)"
SIZE = {"width": 1000, "height": 640}

LOAD = """%load_ext shiro_jupyter
import pandas as pd
orders = pd.DataFrame({
    "city": ["Oslo", "Rome", "Rome", "Lima"],
    "amount": [120.0, 80.0, -1.0, 95.5],
    "paid": [True, True, False, True],
})"""
CLEAN = """orders["amount_eur"] = orders["amount"] * 0.92
orders = orders[orders.amount > 0]
by_city = orders.groupby("city")["amount_eur"].sum()
by_city"""
STALE = ["prices = {'tea': 4, 'rye': 3}", "print('total', sum(prices.values()))"]


def call(when: str, name: str, **arguments: object) -> dict[str, object]:
    return {"when": when, "calls": [{"name": name, "arguments": arguments}]}


def turn(lab: Lab, page: Page) -> None:
    """What a turn leaves behind: its answer, what it did to the data, and its code to keep."""
    answer = "**Oslo** leads with 110.40 EUR; one row fell out."
    lab.play(runs("sum up", CLEAN), says("sum up", answer))
    cells = [LOAD, "%shiro --yolo sum up the amounts in EUR by city"]
    page.open(lab.notebook("orders.ipynb", cells))
    page.run(0, 1)
    expect(page.output(1).get_by_role("button", name="Keep as cells")).to_be_visible()
    taken(page, "turn")


def question(lab: Lab, page: Page) -> None:
    """A question before code runs, with what it will change."""
    lab.play(runs("sum up", CLEAN), says("sum up", "Done."))
    page.open(lab.notebook("ask.ipynb", [LOAD, "%shiro sum up the amounts in EUR by city"]))
    page.run(0)
    running = page.start(1)
    asked = page.output(1).locator(".shiro-question")
    expect(asked).to_be_visible()
    taken(page, "question")
    asked.locator(".shiro-allow").click()
    page.finished(running)


def edit(lab: Lab, page: Page) -> None:
    """A question before a cell of the open notebook is changed."""
    cells = [LOAD, "orders['amount'].mean()", "%shiro leave out what was not paid"]
    page.open(lab.notebook("edit.ipynb", cells))
    cell = page.dom.evaluate(f"path => {CELL}.id", page.notebook)
    lab.play(
        call("leave out", "notebook_read", cells=cell),
        call(
            "leave out", "notebook_edit", action="replace", cell=cell,
            source="orders[orders.paid]['amount'].mean()",
        ),
        says("leave out", "The mean is of paid orders now."),
    )  # fmt: skip
    page.run(0)
    running = page.start(2)
    asked = page.output(2).locator(".shiro-question")
    expect(asked).to_be_visible()
    taken(page, "edit")
    asked.locator(".shiro-allow").click()
    page.finished(running)


def check(lab: Lab, page: Page) -> None:
    """A notebook that works in its kernel and would not in a fresh one."""
    lab.play(says("nothing is asked", "of the model"))
    page.open(lab.notebook("stale.ipynb", ["%load_ext shiro_jupyter", *STALE, "%shiro /check"]))
    page.run(0, 1, 2)
    page.dom.evaluate(f"path => {CELL}.sharedModel.setSource('price = {{}}')", page.notebook)
    page.dom.set_viewport_size({**SIZE, "height": 960})
    page.run(3)
    taken(page, "check")


def taken(page: Page, name: str) -> None:
    page.dom.mouse.move(0, 0)
    picture = page.front.locator(".jp-WindowedPanel-outer").screenshot(animations="disabled")
    (PICTURES / f"{name}.png").write_bytes(picture)
    print(f"docs/pictures/{name}.png")


def main() -> None:
    expect.set_options(timeout=TIMEOUT)
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pictures-") as home:
        os.environ |= {"HOME": home, "SHIRO_HOME": f"{home}/shiro", "SHIRO_LIVE": "1"}
        with running_lab(SHIRO_LIVE="1") as lab, running_browser() as browser:
            for take in (turn, question, edit, check):
                with opened_page(browser, lab) as page:
                    page.dom.set_viewport_size(SIZE)
                    take(lab, page)


if __name__ == "__main__":
    main()
