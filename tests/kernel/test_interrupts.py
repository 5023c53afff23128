"""Interrupts of a real kernel, in both forms, at every event of a turn."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.scripts import runs, says, script, shells

pytestmark = pytest.mark.kernel

FORMS = {"awaited": "", "blocking": "%%time\n"}
# What was running, by its prompt.
WHERE = {"calm": "time.sleep", "awaits": "asyncio.sleep", "native": "re.match"}
# A stop is promised within a second; a busy machine of tests gets more.
SOON = 5.0
# Seconds that no other test sleeps for.
ASIDE, LONG = f"300.{os.getpid()}", f"301.{os.getpid()}"
# The marker comes from a thread, so that the interrupt does not find main still making it.
SOON_BEGUN = "import threading, time\nthreading.Timer(0.3, Path('begun').touch).start()\n"
CALM = f"{SOON_BEGUN}for _ in range(600): time.sleep(0.1)"
AWAITS = f"{SOON_BEGUN}import asyncio\nawait asyncio.sleep(60)"
# A pattern that backtracks for ever: C code that looks for signals and lets no thread run.
NATIVE = """
import re, subprocess
subprocess.Popen("sleep 0.3; touch begun", shell=True, start_new_session=True)
re.match('(a+)+$', 'a' * 60 + 'b')
"""
DEAF = """
import threading, time
for n in range(2):
    try:
        threading.Timer(0.3, Path(f'begun{n}').touch).start()
        time.sleep(60)
    except KeyboardInterrupt:
        print('not yet')
"""


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("interrupts")
    model = script(
        folder,
        runs("calm", CALM),
        says("calm", "It went on."),
        runs("awaits", AWAITS),
        says("awaits", "It went on."),
        runs("native", NATIVE),
        says("native", "It went on."),
        shells("shell", f"touch begun; sleep {ASIDE} & sleep {LONG}"),
        says("shell", "It went on."),
        runs("twice", CALM),
        says("twice", "never", delay=60),
        runs("deaf", DEAF),
        says("deaf", "It went on."),
        says("silent", "never", delay=60),
        runs("asks", "1"),
        says("asks", "It went on."),
        says("fine", "All is well."),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    home["SHIRO_VIEW"] = "text"
    with running_kernel(request.param, folder=folder, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter\nfrom pathlib import Path")
        yield kernel


@pytest.fixture(autouse=True)
def usable_afterwards(kernel: Kernel) -> Iterator[None]:
    """Whatever a test did: the session is usable, and what is sent of it is whole."""
    for marker in kernel.folder.glob("begun*"):
        marker.unlink()
    yield
    assert "All is well." in kernel.run("%shiro fine").stdout
    calls = kernel.value(
        "[sorted(i.call_id for i in get_ipython()._shiro_extension.host.services.conversation"
        ".opened.session.items if type(i).__name__ == kind) for kind in ('Call', 'Result')]"
    )
    asked, answered = eval(calls)
    assert asked == answered


def interrupted(kernel: Kernel, code: str, *when: str | float) -> tuple[Outputs, float]:
    """Run a cell and interrupt it at each marker file that it makes, or so many seconds after
    the one before; also the seconds from the first interrupt to the cell's end."""
    waiting = list(when)
    at: list[float] = [time.monotonic()]
    sent: list[float] = []

    def meanwhile() -> None:
        if not waiting:
            return
        what = waiting[0]
        due = (
            time.monotonic() - at[-1] > what
            if isinstance(what, float)
            else (kernel.folder / what).exists()
        )
        if due:
            waiting.pop(0)
            kernel.interrupt()
            at.append(time.monotonic())
            sent.append(at[-1])

    outputs = kernel.run(code, idle=meanwhile)
    assert not waiting, f"the cell ended before {waiting}: {outputs.stdout}"
    return outputs, time.monotonic() - sent[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", WHERE)
def test_the_first_ends_the_code_and_the_turn_goes_on(kernel: Kernel, what: str, form: str) -> None:
    outputs, seconds = interrupted(kernel, f"{FORMS[form]}%shiro --yolo {what}", "begun")
    assert outputs.status == "ok"
    assert "interrupted" in outputs.stdout
    assert "It went on." in outputs.stdout
    assert seconds < SOON
    (raised,) = outputs.of("error")
    assert "_on_sigint" not in str(raised)
    assert WHERE[what] in str(raised)


@pytest.mark.parametrize("form", FORMS)
def test_the_first_ends_a_command_with_its_tree(kernel: Kernel, form: str) -> None:
    outputs, seconds = interrupted(kernel, f"{FORMS[form]}%shiro --yolo shell", "begun")
    assert "It went on." in outputs.stdout
    assert seconds < SOON
    sleeping = [
        process
        for process in psutil.process_iter(["cmdline"])
        if process.info["cmdline"] in (["sleep", ASIDE], ["sleep", LONG])
        and process.status() != psutil.STATUS_ZOMBIE
    ]
    assert sleeping == []


@pytest.mark.parametrize("form", FORMS)
def test_where_nothing_runs_it_ends_the_turn_and_the_run(kernel: Kernel, form: str) -> None:
    outputs, seconds = interrupted(kernel, f"{FORMS[form]}%shiro silent", 0.5)
    assert outputs.stdout.startswith("interrupted") or "interrupted" in outputs.stdout
    assert seconds < SOON
    raised = outputs.of("error")
    assert [each["ename"] for each in raised] == ["KeyboardInterrupt"]
    assert raised[0]["traceback"] == ["KeyboardInterrupt: The turn was interrupted."]
    if form == "awaited":
        assert outputs.status == "error"  # `%%time` shows what a cell raises, and ends well


@pytest.mark.parametrize("form", FORMS)
def test_a_new_call_resets_the_count(kernel: Kernel, form: str) -> None:
    outputs, _ = interrupted(kernel, f"{FORMS[form]}%shiro --yolo twice", "begun", 1.0)
    assert "interrupted" in outputs.stdout
    assert [each["ename"] for each in outputs.of("error")][-1] == "KeyboardInterrupt"


@pytest.mark.parametrize("form", FORMS)
def test_the_second_ends_the_turn_where_the_call_does_not_stop(kernel: Kernel, form: str) -> None:
    outputs, _ = interrupted(kernel, f"{FORMS[form]}%shiro --yolo deaf", "begun0", "begun1")
    assert outputs.stdout.count("not yet") == 2
    assert "It went on." not in outputs.stdout
    assert outputs.of("error")[-1]["traceback"] == ["KeyboardInterrupt: The turn was interrupted."]


@pytest.mark.parametrize("form", FORMS)
def test_instead_of_an_answer_it_ends_the_call(kernel: Kernel, form: str) -> None:
    def instead(prompt: str) -> str:
        kernel.interrupt()
        # The kernel throws away what is typed after the interrupt; it never comes to this call.
        return "y"

    outputs = kernel.run(f"{FORMS[form]}%shiro asks", stdin=instead)
    assert outputs.status == "ok"
    assert "It went on." in outputs.stdout


def test_another_thread_can_stop_the_code_and_the_turn(kernel: Kernel) -> None:
    stopper = """
import threading
def stop(marker):
    while not Path(marker).exists():
        pass
    services = get_ipython()._shiro_extension.host.services
    services.interrupt()
threading.Thread(target=stop, args=('begun',)).start()
"""
    begun = time.monotonic()
    outputs = kernel.run(f"{stopper}%shiro --yolo calm")
    assert outputs.status == "ok"
    assert "It went on." in outputs.stdout
    assert time.monotonic() - begun < 2 * SOON


def test_handlers_of_signals_are_put_back(kernel: Kernel) -> None:
    asked = "import signal\nhandler = signal.getsignal(signal.SIGINT)"
    kernel.run(asked)
    before = kernel.value("handler.__qualname__")
    kernel.run(f"%shiro fine\n{asked}")
    awaited = kernel.value("handler.__qualname__")
    kernel.run(asked)
    assert kernel.value("handler.__qualname__") == before
    assert "MainThread" not in awaited


def test_a_restart_in_mid_turn_leaves_no_child(kernel: Kernel, tmp_path: Path) -> None:
    model = script(tmp_path, shells("shell", "echo $$ > begun; exec sleep 302"))
    with running_kernel(folder=tmp_path, SHIRO_MODEL=model, SHIRO_LIVE="1") as own:
        own.run("%load_ext shiro_jupyter")
        own.client.execute("%shiro --yolo shell")
        begun = tmp_path / "begun"
        _until(lambda: begun.exists() and begun.read_text().strip() != "")
        child = psutil.Process(int(begun.read_text()))
        own.manager.shutdown_kernel(now=False)
        _until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def _until(true: Callable[[], bool], timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
