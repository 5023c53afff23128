"""Whose turn it is: the cell or console line that a turn was started from."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from io import TextIOBase
from typing import Any, Literal, TextIO, cast

from ..core.events import Event, TurnEnded, to_json
from ..core.settings import Loaded
from ..views.cell import CellView, Data
from ..views.choose import Kind, choose
from ..views.document import Line, Prose, bundle
from ..views.feed import View
from ..views.text import TextView
from ..views.visible import visible
from . import compat
from .cell_widget import Pages, place
from .command_line import CommandLine
from .reply import Reply


@dataclass(eq=False)
class Errand:
    """Work on the agent's thread that a cell waits for and an interrupt may cancel; once
    `started`, an interrupt is the agent's to handle."""

    task: asyncio.Task[object] | None = None
    started: bool = False
    stopped: bool = False  # before there was a task

    def begin(self) -> None:
        """In its task, as the first of all."""
        self.task = asyncio.current_task()
        if self.stopped:
            self.stop()

    def stop(self) -> bool:
        """Cancel it; whether it had not ended."""
        self.stopped = True
        return self.task is None or self.task.cancel()


@dataclass(eq=False, kw_only=True)
class Owner(Errand):
    """A prompt on its way: what was asked, by whom, and where its output goes.

    `person` says whether somebody could answer when it was asked. `context` is that of the
    cell, so that whatever is shown lands there, whichever thread shows it.
    """

    line: CommandLine
    reply: Reply
    person: bool
    loaded: Loaded
    view: View
    ticks: bool
    cell: str | None = ""  # its id, where the front end names it; None: asked in a page
    number: int | None = None  # of that cell, as its input shows it
    page: str = ""  # the one that it was typed in
    request: dict[str, Any] = field(default_factory=dict)  # of that cell
    now: bool = False  # into the turn that runs, where one does
    said: str = ""  # after its end, for the page
    record: Callable[[str], None] | None = None  # keeps the answer for a re-run
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    unsubscribe: Callable[[], None] = lambda: None

    @property
    def origin(self) -> Literal["cell", "background", "panel"]:
        if self.cell is None:
            return "panel"
        return "background" if self.line.background else "cell"

    def apply(self, event: Event, at: float) -> None:
        if isinstance(event, TurnEnded) and event.outcome == "failed" and not self.person:
            event = replace(event, reason="")  # the cell raises it: told once
        self.context.run(self.view.apply, event, at)

    def tick(self, at: float) -> None:
        if self.ticks:
            self.context.run(cast(Any, self.view).tick, at)

    @property
    def expects_page(self) -> bool:
        """Whether a page may be about to draw the turn in its cell."""
        return isinstance(self.view, CellView) and self.view.expects_page

    def behind(self, turns: int) -> None:
        """A cell that waits says what for; text has nothing to say yet where it has returned."""
        if isinstance(self.view, CellView) or (
            isinstance(self.view, TextView) and not self.line.background
        ):
            self.context.run(self.view.behind, turns)

    def dropped(self, reason: str) -> None:
        """It waited, and will not start."""
        if isinstance(self.view, CellView):
            self.context.run(self.view.dropped, reason)

    def say(self, text: str) -> None:
        """Words about a turn that has ended."""
        if self.cell is None:
            self.said = text
        elif not self.line.json:
            self.context.run(print, text)

    def hide(self) -> None:
        """Someone else is about to write to the screen."""
        if isinstance(self.view, TextView):
            self.context.run(self.view.hide)

    def cleared(self) -> None:
        """The output of the cell is gone, and the view's display with it."""
        if isinstance(self.view, CellView):
            self.view.forget()

    def show(self) -> None:
        if isinstance(self.view, TextView):
            self.context.run(self.view.show)


# The turn that the running task belongs to; set in the context that the task is given.
CURRENT: contextvars.ContextVar[Owner | None] = contextvars.ContextVar("shiro_turn", default=None)


def view_for(
    shell: Any, line: CommandLine, setting: str, pages: Pages | None = None
) -> tuple[View, bool]:
    """The view of a prompt, and whether it wants to be ticked."""
    out, err = _streams(line.background)
    if line.json:
        return JsonView(out), False
    watched = _watched(shell, pages)
    kind = _kind(shell, line, setting, watched)
    if kind in ("widget", "cell"):
        if pages is None or not watched:
            return CellView(Publisher(shell)), True
        return CellView(Publisher(shell), lambda: place(pages, widget=kind == "widget")), True
    terminal = kind == "terminal"
    colour = terminal and not os.environ.get("NO_COLOR")
    return TextView(out, err, terminal=terminal, colour=colour, quiet=line.quiet), terminal


def show_recorded(shell: Any, line: CommandLine, setting: str, answer: str, note: str) -> None:
    """An answer of an earlier run, where and as the view of a turn would leave it."""
    if line.json:
        sys.stdout.write(json.dumps({"recorded": answer}) + "\n")
    elif _kind(shell, line, setting, watched=False) == "cell":
        Publisher(shell).show(bundle([Prose(answer), Line(note)]), {})
    else:
        sys.stdout.write(visible(answer) + "\n" + (f"{note}\n" if not line.quiet else ""))


def _kind(shell: Any, line: CommandLine, setting: str, watched: bool) -> Kind:
    # A kernel that is asked without a person writes a notebook too, though it may name no cell.
    kernel = compat.in_kernel(shell)
    notebook = kernel and (bool(compat.cell_id(shell)) or not compat.allows_stdin(shell))
    terminal = not kernel and sys.stdout.isatty() and not line.background
    setting = "text" if line.quiet else setting
    return choose(notebook=notebook, watched=watched, terminal=terminal, setting=setting)


def _watched(shell: Any, pages: Pages | None) -> bool:
    """Whether a page may show a widget: what nobody watches is a file in the making."""
    return pages is not None and (pages.present or compat.allows_stdin(shell))


class JsonView:
    """Each event as one line of JSON."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def apply(self, event: Event, at: float) -> None:
        self._out.write(json.dumps(to_json(event)) + "\n")
        self._out.flush()


class Publisher:
    """A display of the cell it was made in. The way to publish is kept from then: while the
    model's code runs, the shell's own is listened to."""

    def __init__(self, shell: Any) -> None:
        self._publish = compat.publisher(shell)

    def show(self, data: Data, metadata: Data) -> str:
        display_id = secrets.token_hex(8)
        self._publish(data, metadata, transient={"display_id": display_id})
        return display_id

    def update(self, display_id: str, data: Data, metadata: Data) -> None:
        self._publish(data, metadata, transient={"display_id": display_id}, update=True)


class CurrentStream(TextIOBase):
    """Whatever stream stands in place at each write: a terminal's prompt that is shown puts one
    there which prints above it."""

    def __init__(self, name: Literal["stdout", "stderr"]) -> None:
        self._name = name

    def write(self, text: str) -> int:
        return cast(int, getattr(sys, self._name).write(text))

    def flush(self) -> None:
        getattr(sys, self._name).flush()

    def isatty(self) -> bool:
        return cast(bool, getattr(sys, self._name).isatty())


def _streams(background: bool) -> tuple[TextIO, TextIO]:
    if background:
        return cast(TextIO, CurrentStream("stdout")), cast(TextIO, CurrentStream("stderr"))
    return sys.stdout, sys.stderr
