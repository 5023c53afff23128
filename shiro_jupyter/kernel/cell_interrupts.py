"""Interrupts of a cell that we made awaited, from its first statement to its last.

ipykernel takes an interrupt of such a cell by cancelling it, which code that does not await
never hears of. So while the person's own code runs it gets its KeyboardInterrupt, as in any
other cell, and the cancelling is left for when the cell awaits.
"""

from __future__ import annotations

import _thread
import asyncio
import inspect
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, cast

from . import compat, hold

# Seconds until an interrupt that met no code of the person's comes once more.
PAUSE = 0.01


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
    """Our SIGINT handler around one awaited cell after the other, in the place of ipykernel's."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._around = compat.CellHandler(shell.kernel)
        self._due: object = None  # the cell that is expected or runs
        self._cell: asyncio.Task[Any] | None = None  # its task, once there is one
        self._lock = threading.Lock()  # no signal of ours is under way when the cell has ended
        self._before: Any = None
        self._raised: KeyboardInterrupt | None = None

    def expect(self) -> None:
        """The cell that is about to run is one that we made awaited."""
        if not compat.on_main() or not self._around.replace(self._during):
            return
        self._due = object()
        # At once: between here and there an error would leave the cell running with nobody to
        # wait for it, and no interrupt heard any more.
        before = signal.signal(signal.SIGINT, self._on_sigint)
        if before != self._on_sigint:
            self._before = before

    def close(self) -> None:
        self._around.put_back()

    @contextmanager
    def _during(self, cell: asyncio.Task[Any]) -> Iterator[None]:
        self.close()
        self._cell = cell
        show, swallowed = self.shell.showtraceback, sys.unraisablehook

        def shown(*args: Any, **kwargs: Any) -> Any:
            hold.without_handler(sys.exception())
            return show(*args, **kwargs)

        def unraisable(what: sys.UnraisableHookArgs, /) -> None:
            if what.exc_value is None or what.exc_value is not self._raised:
                swallowed(what)
            else:  # it met a finalizer or a callback of the garbage collector
                self._try_again()

        self.shell.showtraceback, sys.unraisablehook = shown, unraisable
        try:
            yield
        finally:
            with self._lock:
                self._due = self._cell = self._raised = None
            signal.signal(signal.SIGINT, self._before)
            if vars(self.shell).get("showtraceback") is shown:
                self.shell.showtraceback = show
            if sys.unraisablehook is unraisable:
                sys.unraisablehook = swallowed

    def _on_sigint(self, signum: int, frame: FrameType | None) -> None:
        if in_cell(frame):
            if not hold.postponed():
                self._raised = KeyboardInterrupt()
                raise self._raised
            return
        cell = self._cell
        if cell is None or _state(cell) in (inspect.CORO_CREATED, inspect.CORO_RUNNING):
            # Not begun, or between two statements: IPython itself may not be torn out of what it
            # does, and a cancelling would wait for an await that may never come.
            self._try_again()
        elif _state(cell) == inspect.CORO_SUSPENDED:
            cell.cancel()
            # A loop that sleeps does not see it until something wakes it.
            cell.get_loop().call_soon_threadsafe(lambda: None)

    def _try_again(self) -> None:
        """The interrupt comes once more, until it meets code or an await, or the cell ends."""
        due = self._due

        def signalled() -> None:
            time.sleep(PAUSE)
            with self._lock:
                if due is not None and self._due is due:
                    compat.signal_main(signal.SIGINT)

        _thread.start_new_thread(signalled, ())  # `threading` takes locks, which main may hold


def _state(cell: asyncio.Task[Any]) -> str:
    return inspect.getcoroutinestate(cast(Any, cell.get_coro()))
