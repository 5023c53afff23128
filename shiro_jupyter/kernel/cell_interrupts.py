"""Interrupts of a cell that we made awaited, from its first statement to its last.

ipykernel takes an interrupt of such a cell by cancelling it, which code that does not await
never hears of. So while the person's own code runs it gets its KeyboardInterrupt, as in any
other cell, and the cancelling is left for when the cell awaits.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any


def in_cell(frame: FrameType | None) -> bool:
    """Whether this frame runs within the code of a cell, where a KeyboardInterrupt is caught
    and shown; in a task or a callback beside it, it would end the kernel's event loop."""
    while frame is not None:
        below = frame.f_back
        if (
            below is not None
            and below.f_code.co_name == "run_code"
            and below.f_globals.get("__name__") == "IPython.core.interactiveshell"
            and frame.f_code.co_name.startswith("<")
        ):
            return True
        frame = below
    return False


class CellInterrupts:
    """Our SIGINT handler around one awaited cell after the other."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._before: Any = None
        self._loop: asyncio.AbstractEventLoop
        self._expected = False

    def expect(self) -> None:
        """The cell that is about to run is one that we made awaited."""
        if not self._expected:
            self._expected = True
            # ipykernel sets its own handler between the transformation and this event.
            self.shell.events.register("pre_execute", self._begin)

    def close(self) -> None:
        if self._expected:
            self._expected = False
            self.shell.events.unregister("pre_execute", self._begin)

    def _begin(self) -> None:
        self.close()
        task = None
        with suppress(RuntimeError):
            task = asyncio.current_task()
        name = getattr(task.get_coro(), "__name__", "") if task else ""
        on_main = threading.current_thread() is threading.main_thread()
        if task is None or name != "run_cell_async" or not on_main:
            return  # it runs as any other cell, and so do its interrupts
        show = self.shell.showtraceback

        def shown(*args: Any, **kwargs: Any) -> Any:
            _trim(sys.exception())
            return show(*args, **kwargs)

        def end(_: object) -> None:  # ipykernel has put its handler back by now
            if vars(self.shell).get("showtraceback") is shown:
                self.shell.showtraceback = show

        self.shell.showtraceback = shown
        task.add_done_callback(end)
        self._loop = task.get_loop()
        self._before = signal.signal(signal.SIGINT, self._on_sigint)

    def _on_sigint(self, signum: int, frame: FrameType | None) -> None:
        if in_cell(frame):
            raise KeyboardInterrupt
        if callable(self._before):
            self._before(signum, frame)
            # ipykernel leaves the loop asleep until something else wakes it.
            self._loop.call_soon_threadsafe(lambda: None)


def _trim(error: BaseException | None) -> None:
    """Take our handler off the traceback, which is about the person's code."""
    frame = error.__traceback__ if error else None
    while frame and frame.tb_next:
        if frame.tb_next.tb_frame.f_code is CellInterrupts._on_sigint.__code__:
            frame.tb_next = None
            return
        frame = frame.tb_next
