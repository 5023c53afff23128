"""Keeps a kernel that runs a cell looking busy.

For each control request, and each message of a comm, ipykernel publishes `busy` and then `idle`,
and a server or a page takes the newest status for the kernel's: an idle culler may end a job that
runs. So after each reply the running cell's `busy` is published once more.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any

# Seconds after a reply, by when the `idle` of the request itself has gone out.
AFTER = 0.02
EXECUTE = "execute_request"


class Busy:
    """Knows the request that main runs, silent ones too; needs a kernel.

    Never says `busy` after that request's own `idle`: main forgets the request before it hands
    the `idle` to ipykernel's iopub thread, and it is on that thread, which sends in the order it
    is asked to, that we look whether main still runs it.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._kernel = shell.kernel
        self._handlers = shell.kernel.shell_handlers
        self._before, self._handlers[EXECUTE] = self._handlers[EXECUTE], self._execute
        # The cell that loads us is no request of ours; it is over when it has been executed.
        self._running: dict[str, Any] | None = self._kernel.get_parent("shell") or None
        shell.events.register("post_execute", self._loaded)

    def close(self) -> None:
        self._forget_loading()
        if self._handlers.get(EXECUTE) == self._execute:
            self._handlers[EXECUTE] = self._before

    def again(self) -> None:
        """On a thread with a loop, while a request is handled."""
        running, iopub = self._running, getattr(self._kernel, "iopub_thread", None)
        if running is None or iopub is None:
            return
        import asyncio  # at the top it would be loaded in a terminal as well

        loop = asyncio.get_running_loop()
        loop.call_later(AFTER, iopub.schedule, lambda: self._publish(iopub.socket, running))

    def _publish(self, socket: Any, running: dict[str, Any]) -> None:
        if self._running is running:
            content = {"execution_state": "busy"}
            self._kernel.session.send(socket, "status", content, parent=running, ident=b"status")

    async def _execute(self, stream: Any, ident: Any, parent: dict[str, Any]) -> None:
        on_main = threading.current_thread() is threading.main_thread()  # else on a subshell
        if on_main:
            self._running = parent
        try:
            done = self._before(stream, ident, parent)
            if inspect.isawaitable(done):
                await done
        finally:
            if on_main:
                self._running = None

    def _loaded(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._forget_loading()
            self._running = None

    def _forget_loading(self) -> None:
        if self._loaded in self._shell.events.callbacks["post_execute"]:
            self._shell.events.unregister("post_execute", self._loaded)
