"""The end by a signal, of which `atexit` does not hear: what we started must not run on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

# What a server and a closed terminal send; SIGHUP is none of Windows'.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class EndSignals:
    """Calls `close` before a signal ends the process, where nobody else has a say in that.

    Made and removed on the main thread; elsewhere it does nothing.
    """

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        if _on_main():
            for each in SIGNALS:
                if signal.getsignal(each) is signal.SIG_DFL:
                    signal.signal(each, self._end)

    def remove(self) -> None:
        if _on_main():
            for each in SIGNALS:
                if signal.getsignal(each) == self._end:
                    signal.signal(each, signal.SIG_DFL)

    def _end(self, number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # a second one ends us at once
        try:
            self._close()
        finally:
            os.kill(os.getpid(), number)


def _on_main() -> bool:
    return threading.current_thread() is threading.main_thread()
