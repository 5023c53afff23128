"""Blocking work off the loop, and work that must end whatever cancels."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` on a daemon thread of its own.

    A cancelled caller returns at once and the thread ends by itself: a read that hangs on a
    dead file server can hold up neither an interrupt nor the kernel's exit, as the threads of
    asyncio's own pool would.
    """
    return await begun(work, *args, **kwargs)


def begun(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """The outcome of `work`, which has begun on such a thread, whoever is cancelled."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(set_outcome: Callable[[Any], None], outcome: Any) -> None:
        if not future.done():
            set_outcome(outcome)

    def body() -> None:
        try:
            outcome: Any = context.run(work, *args, **kwargs)
            set_outcome: Callable[[Any], None] = future.set_result
        except BaseException as error:
            outcome, set_outcome = error, future.set_exception
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, set_outcome, outcome)

    threading.Thread(target=body, name="shiro-work", daemon=True).start()
    return future


async def settled(task: asyncio.Future[Any], seconds: float | None = None) -> bool:
    """Wait for a task to end whatever cancels us meanwhile, `seconds` at most.

    Returns whether we were cancelled.
    """
    loop = asyncio.get_running_loop()
    deadline = None if seconds is None else loop.time() + seconds
    cancelled = False
    while not task.done() and (deadline is None or loop.time() < deadline):
        try:
            await asyncio.wait({task}, timeout=deadline and deadline - loop.time())
        except asyncio.CancelledError:
            cancelled = True
    return cancelled
