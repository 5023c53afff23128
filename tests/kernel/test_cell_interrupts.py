"""Interrupts of a person's own code in a cell that also holds a prompt."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.scripts import says, script

pytestmark = pytest.mark.kernel

SOON = 5.0


class Shared:
    """One kernel for the tests of an interpreter, and another one behind a test that hung it."""

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder, self.open = python, folder, ExitStack()
        self.kernel: Kernel | None = None
        self.model = script(folder, says("fine", "All is well."), says("silent", "never", delay=60))

    def usable(self) -> Kernel:
        if self.kernel is None:
            home = {"SHIRO_HOME": str(self.folder / "home"), "SHIRO_LIVE": "1"}
            home |= {"SHIRO_MODEL": self.model, "SHIRO_VIEW": "text"}
            started = running_kernel(self.python, folder=self.folder, **home)
            self.kernel = self.open.enter_context(started)
            self.kernel.run("%load_ext shiro_jupyter\nimport asyncio, signal, time")
            self.kernel.run("from pathlib import Path\nshell = get_ipython()")
            self.kernel.run("%shiro fine")
        return self.kernel

    def end_if_hung(self) -> None:
        try:
            assert self.kernel and self.kernel.run("1 + 1", timeout=10).result == "2"
        except (AssertionError, queue.Empty):
            self.open.close()
            self.kernel = None


@pytest.fixture(scope="module", params=interpreters())
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shared]:
    shared = Shared(request.param, tmp_path_factory.mktemp("own_code"))
    with shared.open:
        yield shared


@pytest.fixture
def kernel(shared: Shared) -> Iterator[Kernel]:
    yield shared.usable()
    shared.end_if_hung()


@pytest.fixture(autouse=True)
def nothing_left(kernel: Kernel, nothing_left: None) -> None:
    """What is left is counted from when there is a kernel."""


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


# Each has one interrupt come in the next cell, at a moment when none of its code runs.
PRESS = """
def once(*ignored, **too):
    if not pressed:
        pressed.append(True)
        signal.raise_signal(signal.SIGINT)
pressed = []
"""
MOMENTS = {
    "transformed": (
        "def moment(lines):\n    once()\n    shell.input_transformers_post.remove(moment)\n"
        "    return lines\nshell.input_transformers_post.append(moment)"
    ),
    "about to run": (
        "def moment():\n    once()\n    shell.events.unregister('pre_execute', moment)\n"
        "shell.events.register('pre_execute', moment)"
    ),
    "between two statements": (
        "run_code, statements = shell.run_code, []\n"
        "def moment(*args, **more):\n    statements.append(1)\n"
        "    if len(statements) == 3:\n        once()\n        del shell.run_code\n"
        "    return run_code(*args, **more)\nasync def later():\n"
        "    shell.run_code = moment\n_ = asyncio.create_task(later())"
    ),
    "turn about to start": (
        "host = shell._shiro_extension.host\n"
        "def moment(*args):\n    once()\n    del host._spawn\n    return host._spawn(*args)\n"
        "host._spawn = moment"
    ),
    "turn just started": (
        "host = shell._shiro_extension.host\n"
        "def moment(*args):\n    del host._spawn\n    turn = host._spawn(*args)\n    once()\n"
        "    return turn\nhost._spawn = moment"
    ),
    "turn just ended": (
        "host = shell._shiro_extension.host\n"
        "def moment(*args):\n    del host._spawn\n    turn = host._spawn(*args)\n"
        "    turn.exception()\n    once()\n    return turn\nhost._spawn = moment"
    ),
    "in the garbage collector": "import gc",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_none_is_lost_where_no_code_of_the_cell_runs(kernel: Kernel, moment: str) -> None:
    kernel.run(PRESS + MOMENTS[moment])
    collect = "gc.callbacks.append(once); gc.collect(); gc.callbacks.remove(once)"
    own = f"{collect if 'garbage' in moment else 'x = 1'}\ny = 2\nwhile True: time.sleep(0.1)"
    outputs = kernel.run(f"%shiro fine\n{own}", timeout=20)
    assert outputs.reply["ename"] == "KeyboardInterrupt"
    assert kernel.value("pressed") == "[True]"
    assert "All is well." in kernel.run("%shiro fine").stdout


def test_it_cancels_an_await_that_is_over_already(kernel: Kernel) -> None:
    """The loop has yet to tell the cell so, whose code behind it never awaits."""
    kernel.run(f"{PRESS}over = asyncio.get_running_loop().create_future()")
    both = "(over.set_result(1), once())"
    cell = f"%shiro fine\n_ = asyncio.get_running_loop().call_soon(lambda: {both})\nawait over"
    outputs = kernel.run(f"{cell}\nwhile True: time.sleep(0.1)", timeout=20)
    assert outputs.reply["ename"] == "CancelledError"


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
    hook = "__import__('sys').unraisablehook.__qualname__"
    assert "CellInterrupts" not in kernel.value(hook)
    assert kernel.value("'_cancel_on_sigint' in vars(shell.kernel)") == "False"
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
