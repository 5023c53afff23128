"""A kernel that runs a cell looks busy, whatever a page asks of it meanwhile."""

from __future__ import annotations

import pytest

from tests.support.kernels import Kernel
from tests.support.pages import FakePage

pytestmark = pytest.mark.kernel

SLEEPS = "import time; time.sleep(2.5)"  # a slow machine answers the page late


@pytest.mark.parametrize(
    "code",
    [
        f"%load_ext shiro_jupyter\n{SLEEPS}",
        SLEEPS,
        f"{SLEEPS}; 1 / 0",
        "import asyncio; await asyncio.sleep(2.5)",
        f"get_ipython().run_cell('1');{SLEEPS}",
    ],
)
def test_busy_is_the_last_word_while_a_cell_runs_and_idle_after_it(
    kernel: Kernel, page: FakePage, code: str
) -> None:
    cell = kernel.send(code)
    page.until(lambda: (cell, "busy") in page.statuses)
    if "load_ext" in code:
        page.until(lambda: page.of("here"))
    for _ in range(3):
        page.request("bye")
    page.until(lambda: (cell, "idle") in page.statuses)
    page.take_for(0.3)
    during = page.statuses[: page.statuses.index((cell, "idle"))]
    assert during[-1] == (cell, "busy")
    assert during.count((cell, "busy")) == 4
    assert page.statuses[-1] == (cell, "idle")
    kernel.finish(cell)


@pytest.mark.parametrize(
    "other", ["kernel_info_request", "create_subshell_request", "debug_request"]
)
def test_what_jupyterlab_asks_on_its_own_account_leaves_it_busy(
    kernel: Kernel, page: FakePage, other: str
) -> None:
    cell = kernel.send(SLEEPS)
    page.until(lambda: (cell, "busy") in page.statuses)
    request = page.client.session.msg(other, {"type": "request", "command": "debugInfo"})
    page.client.control_channel.send(request)
    page.until(lambda: (request["header"]["msg_id"], "idle") in page.statuses)
    page.until(lambda: page.statuses[-1] == (cell, "busy"), timeout=1)
    kernel.finish(cell)


def test_a_silent_request_counts_as_running(kernel: Kernel, page: FakePage) -> None:
    request = kernel.client.execute(SLEEPS, silent=True, allow_stdin=False)
    page.until(lambda: (request, "busy") in page.statuses)
    page.request("bye")
    page.until(lambda: (request, "idle") in page.statuses)
    during = page.statuses[: page.statuses.index((request, "idle"))]
    assert during[-1] == (request, "busy")
    kernel.finish(request)


def test_an_idle_kernel_is_said_to_be_nothing_else(kernel: Kernel, page: FakePage) -> None:
    kernel.run("1")
    page.take_for(0.2)
    seen = len(page.statuses)
    page.request("bye")
    page.take_for(0.3)
    assert [state for _, state in page.statuses[seen:]] == ["busy", "idle"]


def test_busy_never_comes_after_a_cells_own_idle(kernel: Kernel, page: FakePage) -> None:
    """Cells that end at every moment after a reply."""
    cells = []
    for n in range(60):
        cell = kernel.send(f"time.sleep({0.0005 * n})")
        page.request("bye")
        cells.append(cell)
        kernel.finish(cell)
    page.until(lambda: (cells[-1], "idle") in page.statuses)
    page.take_for(0.3)
    for cell in cells:
        states = [state for parent, state in page.statuses if parent == cell]
        assert states[-1] == "idle" and states.count("idle") == 1
    assert page.statuses[-1][1] == "idle"
