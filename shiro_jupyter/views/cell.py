"""A turn in the output of a notebook cell: one display, updated, then replaced by what stays."""

from __future__ import annotations

import re
from typing import Protocol

from ..core import todos as tasks
from ..core.events import ApprovalDecided, ApprovalRequested, Event, Question, TurnEnded
from .document import Block, Bundle, Line, Prose, Verbatim, bundle, clipped
from .state import TurnState, choices_line, reasoning_line, status
from .static import left_behind, tool_line
from .visible import one_line, output_text

INTERVAL = 0.25  # seconds between two updates, at least
# Bounds of one update, so that a long turn sends bytes in proportion to its length.
ANSWER_SHOWN = 2_000
OUTPUT_SHOWN = 600
TOOLS_SHOWN = 8
TASKS_SHOWN = 20
# What is to be approved is shown whole, up to what the policy lets a call hold.
PREVIEW_SHOWN = 30_000

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


class Publisher(Protocol):
    """The display of one cell."""

    def show(self, bundle: Bundle) -> str:
        """Show it as a new output; answers its display id."""
        ...

    def update(self, display_id: str, bundle: Bundle) -> None: ...


class CellView:
    """Follows one turn; the host calls `tick` a few times a second while the turn runs.

    Nothing is sent that is the same as before, and nothing while a question waits: every message
    counts as activity of the kernel and keeps a hub's machine up.
    """

    def __init__(self, publisher: Publisher) -> None:
        self.state = TurnState()
        self._publisher = publisher
        self._display_id = ""
        self._sent: Bundle = {}
        self._status = ""
        self._changed = False
        self._next = 0.0

    def apply(self, event: Event, at: float) -> None:
        if not self.state.apply(event, at):
            return
        if isinstance(event, TurnEnded):
            self._publish(left_behind(self.state))
            return
        self._changed = True
        # A question and its answer are seen at once.
        self._offer(at, now=isinstance(event, ApprovalRequested | ApprovalDecided))

    def forget(self) -> None:
        """The display was cleared away: what comes is shown anew. May be called on any thread."""
        self._display_id, self._sent, self._changed = "", {}, True

    def tick(self, at: float) -> None:
        if self.state.phase not in ("idle", "ended"):
            self._offer(at)

    def _offer(self, at: float, now: bool = False) -> None:
        line = status(self.state, at)
        if self.state.phase in ("idle", "ended") or not (self._changed or line != self._status):
            return
        if now or at >= self._next:
            self._next = at + INTERVAL
            self._changed, self._status = False, line
            self._publish(bundle(live_blocks(self.state, at)))

    def _publish(self, content: Bundle) -> None:
        if content == self._sent:
            return
        self._sent = content
        if self._display_id:
            self._publisher.update(self._display_id, content)
        else:
            self._display_id = self._publisher.show(content)


def live_blocks(state: TurnState, at: float) -> list[Block]:
    """The live state: newest tools, the tool in flight, the end of the answer, tasks, question."""
    blocks: list[Block] = []
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
    use = state.current
    # A question that waits has said what it is about.
    about = one_line(use.summary) if use and not state.questions else ""
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
    fence = ""
    for found in _FENCE.finditer(text, 0, cut):
        if not fence:
            fence = found[1]
        elif found[1].startswith(fence):
            fence = ""
    return f"…\n\n{fence}\n{text[cut:]}" if fence else f"…\n\n{text[cut:]}"


def _question(question: Question) -> list[Block]:
    blocks: list[Block] = [Line(question.title, strong=True)]
    if question.preview:
        blocks.append(Verbatim(clipped(question.preview, PREVIEW_SHOWN)))
    if choices := choices_line(question):
        blocks.append(Line(choices))
    return blocks
