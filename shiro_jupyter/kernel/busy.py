"""Keeps a kernel that runs a cell looking busy.

For each message beside the cell, on the control channel or a subshell, ipykernel publishes `busy`
and then `idle`, and a server or a page takes the newest status for the kernel's: an idle culler
may end a job that runs. JupyterLab sends such messages on its own account, too. So after each of
them the running cell's `busy` is published once more.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

EXECUTE = "execute_request"
Handler = Callable[[Any, Any, dict[str, Any]], Any]


class Busy:
    """Knows the request that main runs, silent ones too; needs a kernel, and is made when all
    handlers are in place.

    Never says `busy` after that request's own `idle`: main forgets the request before it hands
    the `idle` to ipykernel's iopub thread, and it is on that thread, which sends in the order it
    is asked to, that we look whether main still runs it.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._kernel = shell.kernel
        # The cell that loads us is no request of ours; it is over when it has been executed.
        self._running: dict[str, Any] | None = self._kernel.get_parent("shell") or None
        self._around = [
            (handlers, name, handler, self._watched(name, handler))
            for handlers in (self._kernel.shell_handlers, self._kernel.control_handlers)
            for name, handler in handlers.items()
        ]
        for handlers, name, _, watched in self._around:
            handlers[name] = watched
        shell.events.register("post_execute", self._loaded)

    def close(self) -> None:
        self._forget_loading()
        for handlers, name, handler, watched in self._around:
            if handlers.get(name) is watched:
                handlers[name] = handler

    def _watched(self, name: str, handler: Handler) -> Handler:
        async def watched(stream: Any, ident: Any, parent: dict[str, Any]) -> None:
            cell = name == EXECUTE and _on_main()
            if cell:
                self._running = parent
            try:
                done = handler(stream, ident, parent)
                if inspect.isawaitable(done):
                    await done
            finally:
                if cell:
                    self._running = None
                else:
                    self._again()

        return watched

    def _again(self) -> None:
        running, iopub = self._running, getattr(self._kernel, "iopub_thread", None)
        if running is None or iopub is None:
            return
        import asyncio  # at the top it would be loaded in a terminal as well

        # Behind the `idle` of this message: ipykernel awaits nothing between handler and `idle`.
        loop = asyncio.get_running_loop()
        loop.call_soon(iopub.schedule, lambda: self._publish(iopub.socket, running))

    def _publish(self, socket: Any, running: dict[str, Any]) -> None:
        if self._running is running:
            content = {"execution_state": "busy"}
            self._kernel.session.send(socket, "status", content, parent=running, ident=b"status")

    def _loaded(self) -> None:
        if _on_main():  # else a subshell or the control channel ran something
            self._forget_loading()
            self._running = None

    def _forget_loading(self) -> None:
        if self._loaded in self._shell.events.callbacks["post_execute"]:
            self._shell.events.unregister("post_execute", self._loaded)


def _on_main() -> bool:
    """As in `compat`, which would load asyncio in a terminal."""
    return threading.current_thread() is threading.main_thread()
