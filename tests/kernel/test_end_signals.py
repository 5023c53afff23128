from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from shiro_jupyter.kernel.end_signals import SIGNALS, EndSignals
from tests.support.kernels import ROOT, running_kernel
from tests.support.scripts import says, script, shells

WAITS = """
import os, signal, sys
from shiro_jupyter.kernel.end_signals import EndSignals
def close():
    print("closed", flush=True)
    sys.exit("and broke")
signals = EndSignals(close)
if sys.argv[2:]:
    signals.remove()
os.kill(os.getpid(), int(sys.argv[1]))
signal.pause()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_what_is_to_be_closed_is_closed_and_the_signal_ends_us(number: int) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", WAITS, str(int(number)), *arguments],
            capture_output=True,
            text=True,
            timeout=30,
            cwd=ROOT,
        )
        return done.returncode, done.stdout

    assert run() == (-number, "closed\n")
    assert run("removed") == (-number, "")


def test_a_handler_of_somebody_elses_stays() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        EndSignals(lambda: None).remove()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.kernel
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("command", ["sleep 600 & echo $! > pid", "echo $$ > pid; exec sleep 600"])
def test_a_kernel_that_a_signal_ends_leaves_no_child(
    tmp_path: Path, number: int, command: str, background: bool
) -> None:
    calls = shells("go", command, background=background)
    model = script(tmp_path, calls, says("go", "Gone."))
    home = {"SHIRO_HOME": str(tmp_path / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    with running_kernel(folder=tmp_path, SHIRO_VIEW="text", **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        kernel.send("%shiro --yolo go")
        written = tmp_path / "pid"
        _until(lambda: written.exists() and bool(written.read_text()))
        child = psutil.Process(int(written.read_text()))
        kernel.manager.signal_kernel(number)
        _until(lambda: not kernel.manager.is_alive())
        _until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
