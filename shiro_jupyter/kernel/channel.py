"""What pages and the kernel say to one another, though main may be busy: no comms.

A page asks by a `shiro_request` on the control channel and is answered at once; what happens is
told to all pages by `shiro_event` messages on iopub. Both hold one JSON object.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..version import VERSION
from .busy import Busy

PROTOCOL = 1
REQUEST, REPLY, EVENT = "shiro_request", "shiro_reply", "shiro_event"
Message = dict[str, Any]

# What each request must hold beside `page`.
FIELDS: dict[str, dict[str, type]] = {
    "hello": {"protocol": int, "version": str, "notebook": str},
    "snapshot": {"turn": int},
    "answer": {"question": str, "digest": str, "choice": str, "words": str},
    "drawn": {"turn": int},
    "shown": {"question": str},
    "stop": {"turn": int},
    "prompt": {"text": str},
    "edit": {"id": int, "text": str},
    "remove": {"id": int},
    "now": {"id": int},
    "abort": {},
    "history": {},
    "complete": {"text": str},
    "done": {"id": str},
    "left": {"turn": int},
    "picture": {"key": str},
    "bye": {},
}
_UNSENDABLE = re.compile("[\ud800-\udfff]")
LONGEST = 200_000  # characters of a text
TOO_LONG = f"That is longer than {LONGEST:,} characters: put it into a file, and name that."
# Of pages that vanished without a good-bye, too.
PAGES_KEPT = 100
NOT_STARTED = "The agent has not been started in this kernel: run %shiro in a cell."
KERNEL_IS_OLDER = (
    "The page speaks a newer protocol than the kernel: upgrade shiro_jupyter where the kernel "
    "runs, and restart it."
)
PAGE_IS_OLDER = (
    "The page speaks an older protocol than the kernel: upgrade shiro_jupyter where JupyterLab "
    "runs, and reload the page."
)


@dataclass(frozen=True)
class Page:
    """One page that said hello. `notebook` is its path as the server has it, "" where it has
    none; of two pages the one with the greater `active` asked for something later."""

    id: str
    notebook: str
    active: int


class Channel:
    """Both directions, from the load of the extension to its unload; in a terminal, nothing.

    `serve` takes over all requests once there is a host; it may be called on any thread, and
    only hands over.
    """

    def __init__(self, shell: Any) -> None:
        self.token = os.urandom(8).hex()  # names this load of the extension
        self.serve: Callable[[Message], Message] | None = None
        # Those that have not said good-bye; changed on the control thread alone.
        self.pages: dict[str, Page] = {}
        self._count = itertools.count()
        self._kernel = getattr(shell, "kernel", None)
        if self._kernel is not None:
            self._kernel.control_handlers[REQUEST] = self._on_request
            self._busy = Busy(shell)
            self.send({"kind": "here", "protocol": PROTOCOL, "version": VERSION})

    def close(self) -> None:
        self.serve = None
        self.pages.clear()
        if self._kernel is not None:
            self.send({"kind": "gone"})
            self._busy.close()
            if self._kernel.control_handlers.get(REQUEST) == self._on_request:
                del self._kernel.control_handlers[REQUEST]

    def send(self, event: Message) -> None:
        """To all pages, or to the one that `to` names; from any thread."""
        if self._kernel is not None:
            self._kernel.session.send(
                self._kernel.iopub_socket,
                EVENT,
                {"kernel": self.token, **event},
                parent={},
                ident=EVENT.encode(),
            )

    def handle(self, request: Any, *, listens: bool = True) -> Message:
        """The reply to a request. `listens`: it comes from a page that hears the events, and so
        on the control thread; else from a widget, on any thread."""
        if error := wrong(request):
            return {"ok": False, "error": error}
        if listens:
            self._mark(request)
        serve = self.serve  # after the mark: a host that comes now finds the page
        if request["do"] == "hello":
            told = {"protocol": PROTOCOL, "version": VERSION, "kernel": self.token}
            return {**(serve(request) if serve else {"ok": True}), **told, "started": bool(serve)}
        if serve:
            return serve(request)
        if request["do"] == "bye":
            return {"ok": True}
        return {"ok": False, "error": NOT_STARTED, "started": False}

    def _mark(self, request: Message) -> None:
        page, known = request["page"], self.pages.get(request["page"])
        if request["do"] == "bye":
            self.pages.pop(page, None)
        elif request["do"] == "hello":
            self.pages[page] = Page(page, request["notebook"], next(self._count))
            if len(self.pages) > PAGES_KEPT:
                del self.pages[min(self.pages, key=lambda each: self.pages[each].active)]
        elif known:
            self.pages[page] = replace(known, active=next(self._count))

    def _on_request(self, stream: Any, ident: Any, parent: Message) -> None:
        """On the control thread, which serves interrupts and shutdown too: it never waits."""
        assert self._kernel is not None
        reply = self.handle(parent.get("content"))
        self._kernel.session.send(stream, REPLY, reply, parent, ident=ident)


def wrong(request: Any) -> str:
    """What is wrong with a request, as a sentence; empty where it is as it should be."""
    what = request.get("do") if isinstance(request, dict) else None
    if not isinstance(what, str) or what not in FIELDS:
        return f"There is no such request: {what!r:.40}."
    for name, kind in {"page": str, **FIELDS[what]}.items():
        value = request.get(name)
        # What is sent back has to be what can be sent.
        sent = name not in ("page", "notebook") or not _UNSENDABLE.search(str(value))
        if type(value) is not kind or not sent:
            return f"{what} needs {name!r}, {'a whole number' if kind is int else 'a text'}."
    if any(len(request[name]) > LONGEST for name in ("text", "words") if name in FIELDS[what]):
        return TOO_LONG
    if what == "done" and type(request.get("error", "")) is not str:
        return "done takes 'error' as a text."
    protocol = request.get("protocol", PROTOCOL)
    if what == "hello" and protocol != PROTOCOL:
        return KERNEL_IS_OLDER if protocol > PROTOCOL else PAGE_IS_OLDER
    return ""
