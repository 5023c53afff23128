"""What pages are shown of a kernel's turns: a model of each as plain JSON, told by its changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from ..core import events as e
from ..core import todos as tasks
from ..core.events import Event, Question
from ..core.todos import Todos
from .cell import PREVIEW_SHOWN
from .diff_marks import diff_marks
from .document import clipped
from .markdown_safe import html_blocks, to_html
from .patch import Patch, diff
from .prose import Blocks
from .queue import queue_lines
from .state import Asked, Said, ToolUse, TurnState, footer, standing, tool_details
from .visible import one_line, output_text, summary_line, visible
from .wording import MARKS, choice_label, tokens, unkept_line

INTERVAL = 0.1  # seconds between two messages, at least
TURNS_KEPT = 50
# Bounds of a model, in characters where they are not of something else.
PROMPT_SHOWN = 20_000
REASONING_SHOWN = 20_000
RESULT_SHOWN = 2_000
RESULTS_SHOWN = 30  # calls
STATUS_SHOWN = 400
TITLE_SHOWN = 2_000
NOTE_SHOWN = 2_000
NOTES_SHOWN = 50
TASKS_SHOWN = 100

NOT_SHOWN = "(the output is no longer shown here)"

Message = dict[str, Any]
Model = dict[str, Any]
A = TypeVar("A")
T = TypeVar("T")


class About(NamedTuple):
    """Where a turn comes from; `cell` is the id of the notebook cell, empty where there is none."""

    origin: Literal["cell", "background", "panel"]
    cell: str = ""


class PageView:
    """Follows a kernel's turns, counted from 1, and sends what changed in the newest.

    Nothing is worked out while nobody is `following`; a message is sent at most every `INTERVAL`,
    but at once for a question, its answer, the start and the end of a turn. A host calls `tick`
    about as often while a turn runs, for what had to wait. `about` is asked at the start of each
    turn; `epoch` is what makes epoch seconds of the feed's.
    """

    def __init__(
        self, send: Callable[[Message], object], about: Callable[[], About], epoch: float
    ) -> None:
        self.following = False
        self._send, self._about, self._epoch = send, about, epoch
        self._state = TurnState()
        self._turns: dict[int, _Turn] = {}
        self._newest = 0
        self._changed = False
        self._next = 0.0

    def apply(self, event: Event, at: float) -> None:
        if isinstance(event, e.TurnStarted):
            self._offer(at, now=True)
            self._begin()
        if self._state.apply(event, at):
            self._changed = True
            now = isinstance(event, e.TurnStarted | e.ApprovalRequested | e.ApprovalDecided)
            self._offer(at, now=now or self._state.phase == "ended")

    def tick(self, at: float) -> None:
        self._offer(at)

    def snapshot(self, turn: int, at: float) -> Message | None:
        """A message with the whole model of a turn; None for one that is not kept.

        What those who follow have not been told yet, they are told first: so the snapshot is the
        state after the patch of its `seq` for everyone, and the next patch fits all.
        """
        found = self._turns.get(turn)
        if found is None:
            return None
        if found.seq:
            self._tell(found, at)
        else:
            found.update()  # nobody followed it from its start
        return self._message(found, {"=": found.model}, at)

    def snapshots(self, at: float) -> list[Message]:
        """Of every turn that is kept, the oldest first."""
        return [message for turn in self._turns if (message := self.snapshot(turn, at))]

    def narrow(self, turn: int, unkept: Collection[str], at: float) -> None:
        """Of the names whose code that turn offers to keep, only these are left."""
        found = self._turns.get(turn)
        if found and found.state.data:
            left = tuple(name for name in found.state.data.unkept if name in unkept)
            found.state.data = replace(found.state.data, unkept=left)
            self._tell(found, at)

    def _begin(self) -> None:
        self._newest += 1
        self._state = TurnState(todos=self._state.todos, queue=self._state.queue)
        self._turns[self._newest] = _Turn(self._newest, self._state, self._about(), self._epoch)
        if len(self._turns) > TURNS_KEPT:
            del self._turns[next(iter(self._turns))]

    def _offer(self, at: float, now: bool = False) -> None:
        if self._changed and self.following and (now or at >= self._next):
            self._changed, self._next = False, at + INTERVAL
            if turn := self._turns.get(self._newest):
                self._tell(turn, at)

    def _tell(self, turn: _Turn, at: float) -> None:
        if (patch := turn.update()) and self.following:
            self._send(self._message(turn, patch, at))

    def _message(self, turn: _Turn, patch: Patch, at: float) -> Message:
        now = round(at + self._epoch, 3)
        return {"kind": "turn", "turn": turn.key, "seq": turn.seq, "now": now, "patch": patch}


class _Once(Generic[A, T]):
    """A function that gives the same object again while its argument is equal: what is the same
    object costs a patch nothing."""

    def __init__(self, make: Callable[[A], T]) -> None:
        self._make = make
        self._kept: tuple[A, T] | None = None

    def __call__(self, argument: A) -> T:
        if self._kept is None or self._kept[0] != argument:
            self._kept = argument, self._make(argument)
        return self._kept[1]


class _Turn:
    """The model of one turn, as it was when last updated: the state after `seq` patches."""

    def __init__(self, key: int, state: TurnState, about: About, epoch: float) -> None:
        self.key = key
        self.seq = 0
        self.model: Model | None = None
        self.state, self._about, self._epoch = state, about, epoch
        self._cards: list[Model] = []  # of the work, in order
        self._full: deque[int] = deque()  # those with their output
        self._live = Blocks()
        self._prompt = _Once[str, str](lambda text: visible(clipped(text, PROMPT_SHOWN)))
        self._reasoning = _Once(_end)
        self._whole = _Once[str, list[str]](lambda text: [html for _, html in html_blocks(text)])
        self._flight = _Once(_flight)
        self._notes = _Once(_notes)
        self._data = _Once(_data)
        self._questions = _Once[tuple[Question, ...], list[Model]](
            lambda questions: [_question(each) for each in questions]
        )
        self._tasks = _Once(_tasks)

    def update(self) -> Patch | None:
        """Bring the model up to date; answers what changed, which counts as one patch."""
        model = self._made()
        patch = diff(self.model, model)
        if patch:
            self.model = model
            self.seq += 1
        return patch

    def _made(self) -> Model:
        state, stands = self.state, standing(self.state)
        ended = state.ended
        return {
            "number": state.turn,
            "prompt": self._prompt(state.prompt),
            "origin": self._about.origin,
            "cell": self._about.cell,
            "phase": state.phase,
            "status": one_line(stands.words, STATUS_SHOWN),
            "since": self._on_the_clock(stands.since),
            "until": self._on_the_clock(stands.until),
            "tokens": tokens(state.usage),
            "reasoning": self._reasoning(state.reasoning),
            "work": self._work(),
            "flight": self._flight(state.current),
            "answer": self._answer(),
            "data": self._data(state.data),
            "notes": self._notes(tuple(state.notes)),
            "questions": self._questions(tuple(state.questions)),
            "tasks": self._tasks(state.todos if _shows_tasks(state) else ()),
            # It is the session's: the turn that runs shows it.
            "queue": [] if ended else queue_lines(state.queue),
            "ended": ended
            and {
                "outcome": ended.outcome,
                "reason": visible(ended.reason),
                "footer": footer(state),
            },
        }

    def _on_the_clock(self, at: float | None) -> float | None:
        return None if at is None else round(at + self._epoch, 3)

    def _work(self) -> list[Model]:
        size = len(self.state.work) - (self._settled() is not None)
        for each in self.state.work[len(self._cards) : size]:
            self._cards.append(_step(each))
            if isinstance(each, ToolUse) and each.text:
                self._full.append(len(self._cards) - 1)
        while len(self._full) > RESULTS_SHOWN:
            at = self._full.popleft()
            self._cards[at] = self._cards[at] | {"output": NOT_SHOWN, "diff": ""}
        return self._cards[:size]

    def _answer(self) -> list[str]:
        if live := self.state.live.lstrip():
            return self._live.update(live)
        settled = self._settled()
        return self._whole(settled.text) if settled else []

    def _settled(self) -> Said | None:
        """The text that no call has followed; a part of the work once one has."""
        state = self.state
        last = state.work[-1] if state.work else None
        waits = not state.in_flight and not state.live.strip()
        return last if isinstance(last, Said) and waits else None


def _step(step: Said | Asked | ToolUse) -> Model:
    match step:
        case Said(text):
            return {"kind": "said", "html": to_html(text)}
        case Asked(text):
            return {"kind": "asked", "text": visible(clipped(text, PROMPT_SHOWN))}
        case use:
            return _card(use)


def _card(use: ToolUse) -> Model:
    outcome = use.outcome or "ok"
    output = clipped(output_text(use.text).strip("\n"), RESULT_SHOWN)
    return {
        "kind": "tool",
        "id": visible(use.call_id),
        "name": one_line(use.name),
        "summary": summary_line(use.summary),
        "mark": MARKS[outcome],
        "outcome": outcome,
        "details": tool_details(use),
        "output": output,
        "diff": diff_marks(output),
        "pictures": list(use.pictures),
    }


def _flight(use: ToolUse | None) -> Model | None:
    if use is None:
        return None
    return {
        "id": visible(use.call_id),
        "name": one_line(use.name),
        "summary": summary_line(use.summary),
        "output": output_text(use.output),
        "called": use.called,
    }


def _question(question: Question) -> Model:
    """What the person answers by goes as it stands; what they read is made visible."""
    preview = visible(clipped(question.preview, PREVIEW_SHOWN))
    return {
        "id": question.id,
        "kind": question.kind,
        "title": visible(clipped(question.title, TITLE_SHOWN)),
        "preview": preview,
        "diff": diff_marks(preview),
        "choices": [
            {"choice": choice, "label": one_line(choice_label(question, choice))}
            for choice in question.choices
        ],
        "digest": question.digest,
        "free": True,
    }


def _data(data: e.DataChanged | None) -> Model | None:
    if data is None or not (data.changes or data.unkept):
        return None
    return {"changes": visible(data.changes), "unkept": visible(unkept_line(data))}


def _notes(notes: tuple[str, ...]) -> list[str]:
    return [visible(clipped(note, NOTE_SHOWN)) for note in notes[-NOTES_SHOWN:]]


def _shows_tasks(state: TurnState) -> bool:
    unfinished = tasks.count(state.todos, "done") < len(state.todos)
    return state.todos_changed or (unfinished and not state.ended)


def _tasks(todos: Todos) -> Model | None:
    if not todos:
        return None
    lines = [one_line(todo.line()) for todo in todos[:TASKS_SHOWN]]
    more = len(todos) - TASKS_SHOWN
    return {"bar": tasks.bar(todos), "lines": lines + ([f"… {more} more"] if more > 0 else [])}


def _end(text: str) -> str:
    """The end of a long text; it is cut in big steps, so that mostly it grows at its end."""
    step = REASONING_SHOWN // 2
    cut = max(0, -(-(len(text) - REASONING_SHOWN) // step)) * step
    return visible(f"…{text[cut:]}" if cut else text)
