"""A turn in the output of a notebook cell: one display, replaced at the end by what stays.

Meanwhile a page draws the turn in it (`Live`), where there is such a page; else the display itself
is updated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..core import todos as tasks
from ..core.events import (
    ApprovalDecided,
    ApprovalRequested,
    Event,
    Question,
    TurnEnded,
    TurnStarted,
)
from .document import Block, Line, Prose, Verbatim, bundle, clipped
from .prose import open_fence
from .queue import queue_lines
from .state import TurnState, reasoning_line, status
from .static import asked_blocks, left_behind, prompt_block, tool_line
from .visible import output_text, summary_line
from .wording import choices_line

INTERVAL = 0.25  # seconds between two updates, at least
PATIENCE = 5.0  # seconds that a page has to draw the turn before the display is updated instead
# Bounds of one update, so that a long turn sends bytes in proportion to its length.
ANSWER_SHOWN = 2_000
OUTPUT_SHOWN = 600
TOOLS_SHOWN = 8
TASKS_SHOWN = 20
# What is to be approved is shown whole, up to what the policy lets a call hold.
PREVIEW_SHOWN = 30_000

Data = dict[str, Any]  # by mime type, or the metadata of an output


class Publisher(Protocol):
    """The display of one cell."""

    def show(self, data: Data, metadata: Data) -> str:
        """Show it as a new output; answers its display id."""
        ...

    def update(self, display_id: str, data: Data, metadata: Data) -> None: ...


class Live(Protocol):
    """A view of the turn in the page, fed by others."""

    @property
    def mime(self) -> Data:
        """What a bundle holds for it."""
        ...

    @property
    def ready(self) -> bool:
        """Whether a page has been seen to draw it."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Place:
    """Where a turn is shown: what tells the page whose output it is, and the view there."""

    mark: Data = field(default_factory=dict)
    live: Live | None = None


class CellView:
    """Follows one turn; the host calls `tick` a few times a second while the turn runs, and
    `place` when it starts.

    Nothing is sent that is the same as before, nothing while a question waits, and nothing at all
    while a page draws the turn: every message counts as activity of the kernel and keeps a hub's
    machine up.
    """

    def __init__(self, publisher: Publisher, place: Callable[[], Place] = Place) -> None:
        self.state = TurnState()
        self._publisher = publisher
        self._find_place = place
        self._place = Place()
        self._ready = False  # a page draws the turn
        self._mounted = False  # and its view is in the display
        self._patience = 0.0
        self._display_id = ""
        self._sent: Data = {}
        self._status = ""
        self._changed = False
        self._next = 0.0

    @property
    def expects_page(self) -> bool:
        """Whether a page may be about to draw the turn."""
        return self._place.live is not None and not self._ready

    def apply(self, event: Event, at: float) -> None:
        if not self.state.apply(event, at):
            return
        if isinstance(event, TurnStarted):
            self._place, self._patience = self._find_place(), at + PATIENCE
        if isinstance(event, TurnEnded):
            self._publish(left_behind(self.state), ended=True)
            self._leave_page()
            return
        self._changed = True
        # A question and its answer are seen at once.
        self._offer(at, now=isinstance(event, ApprovalRequested | ApprovalDecided))

    def behind(self, turns: int) -> None:
        """The turn has been asked for, and waits until so many others have ended."""
        self._publish(bundle([Line(f"waits behind {turns} turn{'s' if turns > 1 else ''}")]))

    def dropped(self, reason: str) -> None:
        """The turn that waited will not start."""
        if self.state.phase == "idle":
            self._publish(bundle([Line(reason)]))

    def forget(self) -> None:
        """The display was cleared away: what comes is shown anew. May be called on any thread."""
        self._display_id, self._sent, self._changed, self._mounted = "", {}, True, False

    def tick(self, at: float) -> None:
        self._offer(at)

    def _offer(self, at: float, now: bool = False) -> None:
        if self.state.phase in ("idle", "ended"):
            return
        if live := self._drawing(at):
            if not self._mounted and at >= self._next:
                self._next, self._mounted = at + INTERVAL, True
                self._publish({**live.mime, **bundle(checkpoint(self.state))})
            return
        line = status(self.state, at)
        if (self._changed or line != self._status) and (now or at >= self._next):
            self._next = at + INTERVAL
            self._changed, self._status = False, line
            self._publish(bundle(live_blocks(self.state, at)))

    def _drawing(self, at: float) -> Live | None:
        """The view in the page, while the turn is left to it."""
        live = self._place.live
        self._ready = self._ready or (live is not None and live.ready)
        if live and not self._ready and at >= self._patience:
            self._leave_page()
        return self._place.live

    def _leave_page(self) -> None:
        if live := self._place.live:
            self._place = Place(self._place.mark)
            live.close()

    def _publish(self, data: Data, ended: bool = False) -> None:
        if data == self._sent:
            return
        self._sent = data
        mark = self._place.mark
        metadata = {"shiro": {**mark, "ended": ended}} if mark else {}
        if self._display_id:
            self._publisher.update(self._display_id, data, metadata)
        else:
            self._display_id = self._publisher.show(data, metadata)


def checkpoint(state: TurnState) -> list[Block]:
    """What stands beside the live view: a file saved meanwhile is read without it."""
    return [*prompt_block(state), Line("In progress: the answer will take this place.")]


def live_blocks(state: TurnState, at: float) -> list[Block]:
    """The live state: newest tools, the tool in flight, the end of the answer, tasks, question."""
    blocks = asked_blocks(state)
    tools = state.tools
    if len(tools) > TOOLS_SHOWN:
        blocks.append(Line(f"… {len(tools) - TOOLS_SHOWN} earlier tool calls"))
    blocks += [tool_line(use) for use in tools[-TOOLS_SHOWN:]]
    if state.answer:
        blocks.append(Prose(tail(state.answer, ANSWER_SHOWN)))
    blocks += [Line(note) for note in state.notes[-TOOLS_SHOWN:]]
    for question in state.questions:
        blocks += _question(question)
    if reasoning := reasoning_line(state):
        blocks.append(Line(reasoning))
    blocks += [Line(line) for line in queue_lines(state.queue)]
    use = state.current
    # A question that waits has said what it is about.
    about = summary_line(use.summary) if use and not state.questions else ""
    blocks.append(Line(status(state, at), about))
    if use and (output := output_text(use.output).strip("\n")):
        blocks.append(Verbatim(output[-OUTPUT_SHOWN:]))
    if state.todos and (state.todos_changed or tasks.count(state.todos, "done") < len(state.todos)):
        shown = tasks.lines(state.todos[:TASKS_SHOWN])
        more = len(state.todos) - TASKS_SHOWN
        rest = f"\n… {more} more" if more > 0 else ""
        blocks.append(Verbatim(f"{tasks.bar(state.todos)}\n{shown}{rest}"))
    return blocks


def tail(text: str, limit: int) -> str:
    """The newest part of a Markdown text, cut at a line where there is one; a code block that
    the cut falls into is opened again."""
    if len(text) <= limit:
        return text
    cut = len(text) - limit
    line = text.find("\n", cut)
    cut = line + 1 if 0 <= line < len(text) - limit // 2 else cut
    fence = open_fence(text[:cut])
    return f"…\n\n{fence}\n{text[cut:]}" if fence else f"…\n\n{text[cut:]}"


def _question(question: Question) -> list[Block]:
    blocks: list[Block] = [Line(question.title, strong=True)]
    if question.preview:
        blocks.append(Verbatim(clipped(question.preview, PREVIEW_SHOWN)))
    if choices := choices_line(question):
        blocks.append(Line(choices))
    return blocks
