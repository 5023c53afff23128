from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from shiro_jupyter.core.workspace.threads import in_thread

HERE = contextvars.ContextVar("HERE", default="nowhere")


def test_results_errors_and_context_pass() -> None:
    def fail() -> None:
        raise KeyError("x")

    async def run() -> tuple[int, str]:
        HERE.set("in the task")
        with pytest.raises(KeyError):
            await in_thread(fail)
        return await in_thread(lambda a, b=0: a + b, 1, b=2), await in_thread(HERE.get)

    assert asyncio.run(run()) == (3, "in the task")


def test_a_cancelled_caller_does_not_wait_and_the_loop_may_be_gone_when_it_ends() -> None:
    begun, release = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        release.wait(10)

    async def run() -> None:
        task = asyncio.create_task(in_thread(slow))
        while not begun.is_set():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert not release.is_set()
    release.set()
