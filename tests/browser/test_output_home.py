"""Whatever the code of a turn puts out is in the cell that started the turn, and in the file."""

from __future__ import annotations

from itertools import product

import pytest
from playwright.sync_api import expect

from tests.support.browser import Page
from tests.support.lab import Lab
from tests.support.scripts import runs, says

LAB = {"SHIRO_LIVE": "1", "SHIRO_MODE": "yolo"}
LOAD = "%load_ext shiro_jupyter"
# One of each: prints of main, a thread and a task, stderr, displays, a figure, a value.
ALL = """
import asyncio, sys, threading
import pandas as pd
import matplotlib.pyplot as plt
from IPython.display import Markdown, display
print("printed here")
print("warned here", file=sys.stderr)
thread = threading.Thread(target=lambda: print("printed by a thread"))
thread.start(); thread.join()
async def later():
    await asyncio.sleep(0.01)
    print("printed by a task")
await asyncio.gather(asyncio.create_task(later()))
display(Markdown("*displayed here*"))
plt.plot([1, 2, 4]); plt.show()
pd.DataFrame({"valued": [40, 41, 42]})
"""


@pytest.fixture(autouse=True)
def script(lab: Lab) -> None:
    lab.play(
        runs("everything", ALL),
        runs("everything", "for n in range(100_000): print('line', n)"),
        runs("everything", "print('before it broke')\n1 / 0"),
        says("everything", "All of it."),
    )


def kinds(page: Page, cell: int) -> list[str]:
    """What stands in the file below a cell, in order, but for what the turn itself shows."""
    return [
        output.get("name", output.output_type)
        for output in page.saved().cells[cell].outputs
        if "shiro" not in output.get("metadata", {})
    ]


@pytest.mark.parametrize(
    ("kernel", "how"),
    [*product(["newest", "oldest", "six"], ["awaited", "background"]), ("newest", "blocking")],
)
def test_everything_is_in_the_cell_of_the_turn(lab: Lab, page: Page, kernel: str, how: str) -> None:
    ask = {"awaited": "%shiro everything", "blocking": "%%time\n%shiro everything"}
    cells = [
        LOAD,
        ask.get(how, "turn = %shiro everything &"),
        "import time; time.sleep(0.5); print('theirs')",
        "_ = 'turn' in globals() and turn.wait()",
    ]
    page.open(lab.notebook(f"home-{kernel}-{how}.ipynb", cells, kernel=kernel))
    page.run(0, 1, 2, 3)
    expect(page.output(1)).to_contain_text("All of it.")
    told = page.text(1)
    for each in ("here", "warned here", "by a thread", "by a task", "displayed here", "valued"):
        assert each in told, told
    assert "line 0\n" in told and len(told) < 300_000  # a flood is bounded, and hides nothing
    assert "before it broke" in told and "ZeroDivisionError" in told
    expect(page.output(1).locator("img")).to_have_count(1)
    found = kinds(page, 1)
    assert {"stdout", "stderr", "display_data", "error"} <= set(found)
    (theirs,) = page.saved().cells[2].outputs  # which may be below what the page draws
    assert theirs.text == "theirs\n" and kinds(page, 3) == []
    assert not page.errors
