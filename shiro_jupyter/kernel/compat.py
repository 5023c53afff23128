"""What touches the inside of ipykernel, IPython and prompt_toolkit, each use guarded.

| what | since | where it is missing |
|---|---|---|
| `kernel._allow_stdin` | ipykernel 4 | taken as: nobody can answer |
| `kernel.get_parent` | ipykernel 6 | no cell id |
| `shell.pt_app.app.loop` | IPython 7, prompt_toolkit 3 | background turns wait for the next `%shiro` |
| `shell._last_traceback` | IPython 1 | the error is told without its lines |
| `shell._last_traceback_during_displayhook` | ipykernel 7.4 | nothing to put back |
| `shell._showtraceback` | IPython 1 | the model reads the traceback only where it is printed |
| `asyncio._set_running_loop` | Python 3.7 | top-level await needs an async cell |
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

if sys.platform == "win32":
    import _thread


def in_kernel(shell: Any) -> bool:
    """Whether this is a Jupyter kernel, and not a terminal or a script."""
    return getattr(shell, "kernel", None) is not None


def allows_stdin(shell: Any) -> bool:
    """Whether `input()` would reach a person now."""
    if in_kernel(shell):
        return bool(getattr(shell.kernel, "_allow_stdin", False))
    with contextlib.suppress(AttributeError, ValueError):
        return bool(sys.stdin.isatty())
    return False


def cell_id(shell: Any) -> str:
    """The front end's id of the running cell, empty where it sends none."""
    parent = getattr(getattr(shell, "kernel", None), "get_parent", dict)() or {}
    return str((parent.get("metadata") or {}).get("cellId") or "")


def request_id(shell: Any) -> str:
    """The id of the execute request that runs now, empty in a terminal."""
    parent = getattr(getattr(shell, "kernel", None), "get_parent", dict)() or {}
    return str((parent.get("header") or {}).get("msg_id") or "")


def interrupt_main() -> None:
    """SIGINT to the main thread, which also ends a sleep or a blocking read there."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    elif (ident := threading.main_thread().ident) is not None:
        signal.pthread_kill(ident, signal.SIGINT)


def last_error(shell: Any) -> tuple[BaseException | None, str]:
    """The newest error that a cell raised and its traceback as text."""
    lines = getattr(shell, "_last_traceback", None) or []
    error = getattr(sys, "last_value", None)
    return error, "\n".join(map(str, lines))


# The method that every traceback of a cell goes through, with the lines it shows.
TRACEBACK_HOOK = "_showtraceback"
_ERROR_STATE = ("_last_traceback", "_last_traceback_during_displayhook")


@contextlib.contextmanager
def kept_error_state(shell: Any) -> Iterator[None]:
    """An error in code that a cell runs must not make ipykernel report the cell as failed."""
    before = {name: getattr(shell, name) for name in _ERROR_STATE if hasattr(shell, name)}
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(shell, name, value)


@contextlib.contextmanager
def loop_inside() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop to run on main until something is done, though one may run already.

    The running one stands still meanwhile: what is bound to it cannot be awaited.
    """
    outer = asyncio._get_running_loop()
    loop = asyncio.new_event_loop()
    asyncio._set_running_loop(None)
    try:
        yield loop
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        asyncio._set_running_loop(outer)


def call_at_prompt(shell: Any, callback: Callable[[], object]) -> bool:
    """Run a callback on main while the terminal waits at its prompt, above the prompt.

    False where that cannot be: no prompt_toolkit, or the prompt is not shown now.
    """
    app = getattr(getattr(shell, "pt_app", None), "app", None)
    loop = getattr(app, "loop", None)
    if app is None or loop is None or not getattr(app, "is_running", False):
        return False
    # In IPython's terminal prompt_toolkit is there, and nowhere else is it needed.
    from prompt_toolkit.application import run_in_terminal

    loop.call_soon_threadsafe(lambda: run_in_terminal(callback), context=app.context)
    return True


def terminate_quietly(error: BaseException, sentence: str) -> BaseException:
    """The error, shown by IPython as one sentence instead of a traceback through our files."""
    error._render_traceback_ = lambda: [sentence]  # type: ignore[attr-defined]
    return error


def process_id() -> int:
    return os.getpid()
