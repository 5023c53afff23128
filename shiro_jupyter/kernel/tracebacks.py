"""An error of the person's in words. Its class may word it, and that code may do anything: it may
raise what ends an event loop, where nothing of theirs is running any more."""

from __future__ import annotations

import traceback
import types
from pathlib import Path

from .describe import class_name


def words(error: object) -> str:
    """`str(error)`, or why there is none; raises nothing but KeyboardInterrupt."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:
        return f"<its __str__ raised {class_name(type(raised))}>"


def traceback_text(error: BaseException) -> str:
    """The traceback without IPython's own frames at its head; raises nothing but
    KeyboardInterrupt."""
    try:
        return "".join(traceback.format_exception(type(error), error, _first(error))).strip()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return places(error)


def places(error: BaseException) -> str:
    """The lines that it rose through and its class, without its words and its causes."""
    return "".join([*traceback.format_tb(_first(error)), class_name(type(error))])


def _first(error: BaseException) -> types.TracebackType | None:
    frame = error.__traceback__
    while frame and "IPython" in Path(frame.tb_frame.f_code.co_filename).parts:
        frame = frame.tb_next
    return frame
