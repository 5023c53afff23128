"""The thread the agent lives on: one a kernel, with its own asyncio loop.

It never runs the person's code. Main hands it coroutines and callbacks, and nothing else.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
log = logging.getLogger("shiro")
# Seconds that closing waits for turns to end in good order.
PATIENCE = 3.0


class AgentThread:
    """Starts on construction; a daemon, so that it never keeps a kernel alive."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="shiro-agent", daemon=True)
        self._thread.start()

    def call(self, callback: Callable[..., object], *args: object) -> None:
        """Run a callback on the loop, from any thread or a signal handler."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(callback, *args)

    def spawn(
        self,
        make: Callable[[], Coroutine[Any, Any, T]],
        context: contextvars.Context | None = None,
    ) -> concurrent.futures.Future[T]:
        """Run a coroutine on the loop in the given context; the future is for other threads."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def start() -> None:
            task = self.loop.create_task(make(), context=context)
            task.add_done_callback(lambda done: _settle(future, done))

        self.call(start)
        return future

    @property
    def here(self) -> bool:
        """Whether the caller is on it."""
        return threading.current_thread() is self._thread

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """Cancel what runs, wait a moment for it, end the thread."""
        self.call(self.loop.stop)
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._end_tasks())
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.close()

    async def _end_tasks(self) -> None:
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE / 2)


def _settle(future: concurrent.futures.Future[T], task: asyncio.Task[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    if task.cancelled():
        future.set_exception(concurrent.futures.CancelledError())
    elif error := task.exception():
        future.set_exception(error)
    else:
        future.set_result(task.result())
