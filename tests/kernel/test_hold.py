"""Interrupts that wait until main may be torn out of what it does."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from shiro_jupyter.kernel.hold import held, postponed, released
from shiro_jupyter.kernel.tee import Tee


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    def on_sigint(signum: int, frame: FrameType | None) -> None:
        if not postponed():
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, on_sigint)
    yield
    signal.signal(signal.SIGINT, before)
    assert not postponed()


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_what_comes_meanwhile_is_raised_at_the_end_and_once() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), held():
        with held():
            interrupt()
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    with held():
        done.append("later")
    assert done[-1] == "later"


def test_it_is_raised_at_once_where_the_hold_is_released() -> None:
    done: list[str] = []
    with held():
        with pytest.raises(KeyboardInterrupt), released():
            interrupt()
            done.append("never")
        interrupt()
        with pytest.raises(KeyboardInterrupt), released():
            done.append("never")
        assert postponed() and done == []
        with pytest.raises(KeyboardInterrupt), released():
            pass


def test_another_thread_that_holds_does_not_hold_main() -> None:
    inside, end = threading.Event(), threading.Event()

    def other() -> None:
        with held():
            inside.set()
            end.wait(5)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(5)
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    end.set()
    thread.join()


def test_an_interrupt_inside_a_lock_leaves_the_streams_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it comes between taking a lock of Python code and the `with` that gives it back."""
    enter = threading.Condition.__enter__
    fired: list[str] = []

    def interrupted_enter(self: threading.Condition) -> bool:
        taken = enter(self)
        frame: FrameType | None = sys._getframe(1)
        while frame and not frame.f_code.co_filename.endswith("kernel/tee.py"):
            frame = frame.f_back
        on_main = threading.get_ident() == threading.main_thread().ident
        if frame and on_main and frame.f_code.co_name not in fired:
            fired.append(frame.f_code.co_name)
            interrupt()
        return taken

    before = sys.stdout, sys.stderr
    monkeypatch.setattr(threading.Condition, "__enter__", interrupted_enter)
    raised = 0
    with pytest.raises(KeyboardInterrupt), Tee(lambda text: None).installed():
        for _ in range(3):
            try:
                sys.stdout.write("line")
            except KeyboardInterrupt:
                raised += 1
        tee_at_work = sys.stdout
    assert raised == 1
    assert {"_start_flusher", "_close"} <= set(fired)
    assert (sys.stdout, sys.stderr) == before
    assert tee_at_work is not sys.stdout
    alive = [each for each in threading.enumerate() if each.name == "shiro-tee"]
    for each in alive:
        each.join(5)
        assert not each.is_alive()
