"""What touches the inside of ipykernel, IPython and prompt_toolkit, each use guarded.

| what | since | where it is missing |
|---|---|---|
| `kernel._allow_stdin` | ipykernel 4 | taken as: nobody can answer |
| `kernel.get_parent` | ipykernel 6 | no cell id |
| `kernel._cancel_on_sigint` | ipykernel 6 | interrupts of awaited cells are ipykernel's |
| `shell.set_parent` | ipykernel 4 | code of a page's turn shows in the cell that runs |
| `shell.display_pub.parent_header` | ipykernel 4 to 6 | the context says whose a display is |
| `shell.history_manager.input_hist_raw` | IPython 0.11 | no cell is known by its number |
| `shell.pt_app.app.loop` | IPython 7 | background turns wait for the next `%shiro` |
| `shell._last_traceback_during_displayhook` | ipykernel 7.4 | nothing to put back |
| `shell._showtraceback` | IPython 1 | the model reads the traceback only where it is printed |
| `asyncio._set_running_loop` | Python 3.7 | top-level await needs an async cell |
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import importlib
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator, Sequence
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
    return str((_request(shell).get("metadata") or {}).get("cellId") or "")


def inputs(shell: Any) -> Sequence[str]:
    """The source of each cell that ran, by its number, of which there is none for 0."""
    return getattr(getattr(shell, "history_manager", None), "input_hist_raw", ())


def request_header(shell: Any) -> dict[str, Any]:
    """The header of the execute request that runs now, empty in a terminal."""
    return dict(_request(shell).get("header") or {})


def _request(shell: Any) -> dict[str, Any]:
    get_parent = getattr(getattr(shell, "kernel", None), "get_parent", None)
    with contextlib.suppress(LookupError):  # a thread of the person's belongs to no request
        return (get_parent() or {}) if get_parent else {}
    return {}


def request(shell: Any) -> dict[str, Any]:
    """The execute request that runs now, for `shown_in`; empty in a terminal."""
    return dict(_request(shell))


@contextlib.contextmanager
def shown_in(shell: Any, request: dict[str, Any]) -> Iterator[None]:
    """What is printed and displayed meanwhile belongs to that request; where it is empty to no
    cell: pages show it in none."""
    before, set_parent = _request(shell), getattr(shell, "set_parent", None)
    known = bool(request) and not _holds_one_request(shell)  # by the context
    if set_parent is None or known:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    set_parent(request)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        set_parent(before)


def publisher(shell: Any) -> Callable[..., None]:
    """The way to publish a display of the cell that runs now, though another may run then."""
    current = shell.display_pub
    if _holds_one_request(shell):
        current = copy.copy(current)  # else it would go with whatever main runs
    publish: Callable[..., None] = current.publish
    return publish


def _holds_one_request(shell: Any) -> bool:
    """Whether displays go to whichever request main was given last, as before ipykernel 7."""
    return bool(getattr(shell.display_pub, "has_trait", lambda name: False)("parent_header"))


def on_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def signal_main(signum: int) -> None:
    """A signal to the main thread, which also ends a sleep or a blocking read there."""
    if sys.platform == "win32":
        _thread.interrupt_main(signum)
    elif (ident := threading.main_thread().ident) is not None:
        signal.pthread_kill(ident, signum)


def failure(result: Any) -> tuple[BaseException, str] | None:
    """The error of a cell and the cell's source, None where it did not fail, or where the error
    came through our own code, as a turn's interrupt does: the person has nothing to mend there."""
    error = getattr(result, "error_before_exec", None) or getattr(result, "error_in_exec", None)
    if not isinstance(error, BaseException) or _is_ours(error):
        return None
    return error, str(getattr(getattr(result, "info", None), "raw_cell", "") or "")


def _is_ours(error: BaseException) -> bool:
    package = __name__.partition(".")[0]
    return any(
        str(frame.f_globals.get("__name__")).partition(".")[0] == package
        for frame, _ in traceback.walk_tb(error.__traceback__)
    )


class CellHandler:
    """The context manager that ipykernel puts around each cell it awaits, which is called with
    the cell's task and has an interrupt cancel it."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def replace(self, around: Callable[[Any], contextlib.AbstractContextManager[None]]) -> bool:
        """For the next cell; false where there is none to replace."""
        if not hasattr(self._kernel, "_cancel_on_sigint"):
            return False
        self._kernel._cancel_on_sigint = around
        return True

    def put_back(self) -> None:
        vars(self._kernel).pop("_cancel_on_sigint", None)


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


def run_inside(work: Coroutine[Any, Any, None]) -> None:
    """Run it to its end there; an interrupt cancels it."""
    with loop_inside() as loop:
        task = loop.create_task(work)
        try:
            loop.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(task)
            raise


def connection_file(shell: Any) -> str:
    """The file that says where this kernel listens."""
    return str(importlib.import_module("ipykernel.connect").get_connection_file())


def awaits(shell: Any) -> bool:
    """Whether a request of this kernel may await at its top level."""
    return bool(getattr(shell, "autoawait", False)) and (
        getattr(getattr(shell, "loop_runner", None), "__name__", "") == "_asyncio_runner"
        or type(getattr(shell, "loop_runner", None)).__name__ == "_AsyncIORunner"
    )


def has_prompt(shell: Any) -> bool:
    """Whether a terminal's prompt lets main do something else meanwhile."""
    return getattr(shell, "pt_app", None) is not None


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
