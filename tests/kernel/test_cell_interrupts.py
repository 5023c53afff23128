"""Interrupts of a person's own code in a cell that also holds a prompt."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.scripts import says, script

pytestmark = pytest.mark.kernel

SOON = 5.0


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("own_code")
    model = script(folder, says("fine", "All is well."), says("silent", "never", delay=60))
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    with running_kernel(request.param, folder=folder, **home, SHIRO_VIEW="text") as kernel:
        kernel.run("%load_ext shiro_jupyter\nimport asyncio, time\nfrom pathlib import Path")
        kernel.run("%shiro fine")
        yield kernel


def interrupted(kernel: Kernel, code: str) -> tuple[Outputs, float]:
    """Run a cell that touches `begun`, interrupt it there; also the seconds to its end."""
    begun = kernel.folder / "begun"
    begun.unlink(missing_ok=True)
    sent: list[float] = []

    def meanwhile() -> None:
        if not sent and begun.exists():
            sent.append(time.monotonic())
            kernel.interrupt()

    outputs = kernel.run(code, idle=meanwhile)
    return outputs, time.monotonic() - sent[0]


HANGS = {
    "sleeps": "time.sleep(60)",
    "computes": "while True: pass",
    "in a function": "def f():\n    while True:\n        time.sleep(1)\nf()",
}


@pytest.mark.parametrize("hang", HANGS.values(), ids=HANGS)
@pytest.mark.parametrize("place", ["before", "behind"])
def test_code_beside_a_prompt_gets_its_interrupt(kernel: Kernel, hang: str, place: str) -> None:
    own = f"Path('begun').touch()\n{hang}"
    cell = f"%shiro fine\n{own}" if place == "behind" else f"{own}\n%shiro fine"
    outputs, took = interrupted(kernel, cell)
    assert outputs.status == "error"
    assert outputs.reply["ename"] == "KeyboardInterrupt"
    assert took < SOON
    shown = "".join(outputs.reply["traceback"])
    assert "cell_interrupts" not in shown and "_on_sigint" not in shown
    assert "All is well." in kernel.run("%shiro fine").stdout


def test_the_code_may_catch_it(kernel: Kernel) -> None:
    own = "try:\n    Path('begun').touch()\n    time.sleep(60)\nexcept KeyboardInterrupt:\n"
    outputs, took = interrupted(kernel, f"{own}    print('caught')\n%shiro fine")
    assert outputs.status == "ok" and took < SOON
    assert "caught" in outputs.stdout and "All is well." in outputs.stdout


def test_code_that_awaits_is_cancelled(kernel: Kernel) -> None:
    # Begun once the loop turns: an interrupt just before it would find code that does not await.
    begin = "asyncio.get_running_loop().call_soon(Path('begun').touch)"
    outputs, took = interrupted(kernel, f"%shiro fine\n_ = {begin}\nawait asyncio.sleep(60)")
    assert outputs.status == "error" and took < SOON
    assert outputs.reply["ename"] == "CancelledError"
    assert "All is well." in kernel.run("%shiro fine").stdout


def test_nothing_stays_behind(kernel: Kernel) -> None:
    kernel.run("%shiro fine")
    outputs, took = interrupted(kernel, "Path('begun').touch()\ntime.sleep(60)")
    assert outputs.reply["ename"] == "KeyboardInterrupt" and took < SOON
    handler = kernel.value("__import__('signal').getsignal(2).__qualname__")
    assert "CellInterrupts" not in handler
    assert "CellInterrupts" not in kernel.value("get_ipython().showtraceback.__qualname__")


def test_lines_of_a_traceback_are_those_of_the_cell(kernel: Kernel) -> None:
    outputs = kernel.run("%shiro fine\nx = 1\n1/0")
    shown = "".join(outputs.reply["traceback"])
    assert "----> 3" in shown.replace("\x1b[39m", "") or "line 3" in shown or "3 1/0" in shown
    assert "cell_interrupts" not in shown


@pytest.mark.parametrize("form", ["get_ipython().run_line_magic('shiro', 'silent')", "callback"])
def test_an_interrupted_prompt_beside_a_cell_leaves_the_kernel_alive(
    kernel: Kernel, form: str
) -> None:
    begin = (
        "ask = lambda: get_ipython().run_line_magic('shiro', 'silent')\n"
        "asyncio.get_running_loop().call_later(0.2, ask)"
        if form == "callback"
        else "async def f():\n    await asyncio.sleep(0.2)\n"
        f"    {form}\nt = asyncio.create_task(f())"
    )
    kernel.run(f"import threading\nmain = get_ipython()._shiro_extension.host.main\n{begin}")
    # Main blocks in the prompt from now on, so another thread interrupts it.
    kernel.run(
        "import os, signal\ndef stop():\n    while not main._servers: time.sleep(0.05)\n"
        "    time.sleep(0.5); os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=stop).start()"
    )
    assert "All is well." in kernel.run("%shiro fine", stdin=str).stdout
    if form != "callback":
        kernel.run("await asyncio.wait({t})")
        assert "interrupted" in kernel.value("repr(t.exception())")
