"""Holding a KeyboardInterrupt back while the main thread is where none may be raised.

Raised between taking a lock and the `try` that gives it back, as inside `threading.Event`, it
leaves the lock taken for ever; raised while streams are put back, it leaves ours in place.
"""

from __future__ import annotations

import threading


class _State(threading.local):
    """Of each thread, so that only what main itself holds counts: the handler runs there."""

    held = False
    late = False


_state = _State()


class held:  # noqa: N801  (a context manager; as a generator it would have gaps of its own)
    """What arrives meanwhile is raised at the end."""

    __slots__ = ("_before",)
    _hold = True

    def __enter__(self) -> None:
        self._before, _state.held = _state.held, self._hold
        if _state.late and not _state.held:
            _state.held = self._before  # no exit follows
            _state.late = False
            raise KeyboardInterrupt

    def __exit__(self, *exc_info: object) -> None:
        # Back to what it was, and no counting: an inner one may have been torn out of.
        _state.held = self._before
        if _state.late and not _state.held:
            _state.late = False
            raise KeyboardInterrupt


class released(held):  # noqa: N801
    """Inside `held`, the person's code: an interrupt is raised at once."""

    __slots__ = ()
    _hold = False


def postponed() -> bool:
    """For the signal's handler: whether the interrupt is to be raised later, and will be."""
    _state.late = _state.held
    return _state.held


def without_handler(error: BaseException | None) -> None:
    """Take our handlers of SIGINT off the tracebacks of an error and of those before it: they are
    about the person's code. (IPython always shows the last frame, hidden or not.)"""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frame = error.__traceback__
        while frame and frame.tb_next:
            last = frame.tb_next.tb_frame
            if last.f_code.co_name == "_on_sigint" and last.f_globals["__package__"] == __package__:
                frame.tb_next = None
            frame = frame.tb_next
        error = error.__cause__ or error.__context__
