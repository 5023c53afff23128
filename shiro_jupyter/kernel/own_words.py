"""`_repr_shiro_`: what a class of the person's says of its objects.

The one method of theirs that looking runs, since it was written for it. It runs on a thread of its
own, so that one that hangs holds up nothing but itself: its class is not asked again while it
does. Python cannot end a thread; a hanging one stays until the kernel ends.
"""

from __future__ import annotations

import threading
import types

from .describe import class_name, kind, mro_of

NAME = "_repr_shiro_"
# Flags of a code object whose call runs nothing yet: a generator, a coroutine, both.
_NOT_PLAIN = 0x20 | 0x80 | 0x200


# Of each class whose method runs: the class, which keeps its id, and the thread.
_running: dict[int, tuple[type, threading.Thread]] = {}


def own_words(value: object, seconds: float) -> str:
    """What it says of itself, or one sentence on why that is not known; empty where its class has
    no `_repr_shiro_`, or there is no time left. For one thread at a time to ask."""
    method = _method(value)
    if method is None or seconds <= 0:
        return ""
    cls = type(value)
    if id(cls) in _running and _running[id(cls)][1].is_alive():
        return f"its {NAME}, asked before, has not come back yet"
    said: list[str] = []
    thread = threading.Thread(
        target=lambda: said.append(_said(method, value)), name=f"shiro {NAME}", daemon=True
    )
    _running[id(cls)] = cls, thread
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        return f"its {NAME} takes too long"
    del _running[id(cls)]
    return said[0]


def _method(value: object) -> types.FunctionType | None:
    """The function on its type, past the metaclass; a plain one, which runs as it is called."""
    for cls in mro_of(type(value)):
        found = type.__dict__["__dict__"].__get__(cls).get(NAME)
        if found is not None:
            plain = type(found) is types.FunctionType and not found.__code__.co_flags & _NOT_PLAIN
            return found if plain else None
    return None


def _said(method: types.FunctionType, value: object) -> str:
    try:
        text = method(value)
    except BaseException as error:  # theirs, of any kind, and it must not end what looks
        return f"its {NAME} failed ({class_name(type(error))})"
    return text if type(text) is str else f"its {NAME} gave {kind(text)}, not str"
