"""What the loop tells its views: one closed union, the only list of events.

Every turn ends with exactly one `TurnEnded`, whatever happened; a view clears its reasoning,
live text and tool in flight on it. A view that opens late replays the list.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .todos import Todos
from .transcript import Outcome

TurnOutcome = Literal["answered", "interrupted", "limited", "failed"]
NoticeLevel = Literal["info", "warning"]


@dataclass(frozen=True)
class Usage:
    """Tokens of one step or one turn, as the provider reported them."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True)
class Cost:
    """What model calls cost: US dollars of those with a price, and how many of each kind there
    were. `unknown` are those whose price or use nobody told; `local` ran on this machine."""

    dollars: float = 0.0
    priced: int = 0
    unknown: int = 0
    local: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.dollars + other.dollars,
            self.priced + other.priced,
            self.unknown + other.unknown,
            self.local + other.local,
        )

    @property
    def known(self) -> float | None:
        """All of it, None where a part is not known or nothing has a price."""
        return self.dollars if self.priced and not self.unknown else None


NO_COST = Cost()


def dollars(amount: float) -> str:
    """`$1.25`, `$0.0031`: what is small keeps its digits, what is not nothing is not shown so."""
    if 0 < amount < 0.00005:
        return "under $0.0001"
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


@dataclass(frozen=True)
class Question:
    """Something only the person can settle: an approval, or a question of the model's.

    `preview` shows what will happen (the command, the code, the diff); `digest` binds an answer
    to exactly that. `choices` are the answers offered; an `ask` question also takes free text.
    `grant` says what an approval for the session covers, where that is more than what is shown.
    """

    id: str
    call_id: str
    kind: Literal["approval", "ask"]
    title: str
    preview: str = ""
    choices: tuple[str, ...] = ()
    digest: str = ""
    grant: str = ""


@dataclass(frozen=True)
class Answer:
    """`choice` is one of the question's choices; `words` go to the model."""

    question_id: str
    choice: str
    words: str = ""


# The choices of every approval, in the order a view shows them.
ALLOW, ALLOW_SESSION, DENY = "allow", "session", "deny"
APPROVAL_CHOICES = (ALLOW, ALLOW_SESSION, DENY)


@dataclass(frozen=True)
class TurnStarted:
    turn: int
    prompt: str


@dataclass(frozen=True)
class StepStarted:
    step: int


@dataclass(frozen=True)
class TextDelta:
    text: str


@dataclass(frozen=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True)
class ToolStarted:
    """The name of a call is known; its arguments may still be streaming."""

    call_id: str
    name: str


@dataclass(frozen=True)
class ToolCalled:
    """The call is complete; `summary` is its command, path, pattern or query."""

    call_id: str
    name: str
    summary: str


@dataclass(frozen=True)
class ToolOutput:
    """Output of a running call, as it comes."""

    call_id: str
    text: str


@dataclass(frozen=True)
class ToolFinished:
    call_id: str
    name: str
    outcome: Outcome
    text: str
    seconds: float = 0.0


@dataclass(frozen=True)
class PicturesDrawn:
    """What a running call drew that no cell shows; a page fetches it by these keys."""

    call_id: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class ApprovalRequested:
    question: Question


@dataclass(frozen=True)
class ApprovalDecided:
    answer: Answer
    reason: str = ""


@dataclass(frozen=True)
class TodosChanged:
    todos: Todos


@dataclass(frozen=True)
class NotesChanged:
    note_id: str


@dataclass(frozen=True)
class MemoryChanged:
    """`text` is what stands there now, empty where a memory was forgotten; `old` is what it took
    the place of, or what was forgotten."""

    scope: str
    text: str
    old: str = ""


@dataclass(frozen=True)
class DataChanged:
    """What the turn's code did to the person's data, all in all, in a line: for them alone, never
    for the model. `unkept` are names that it bound by code which ran in no cell."""

    changes: str
    unkept: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waiting:
    """A prompt in the queue. `source` names the input that it was typed into, empty where there is
    none (a cell, a terminal); `now`: it goes into the turn that runs, before its next step.
    `work` is no prompt: it waits like one, and stays as it is."""

    id: int
    text: str
    source: str = ""
    now: bool = False
    work: bool = False


@dataclass(frozen=True)
class QueueChanged:
    """What waits, and what was handed back to where it came from."""

    waiting: tuple[Waiting, ...]
    back: tuple[Waiting, ...] = ()


@dataclass(frozen=True)
class Steered:
    """A prompt has gone into the turn that runs."""

    prompt: str


@dataclass(frozen=True)
class Retrying:
    reason: str
    seconds: float


@dataclass(frozen=True)
class Compacted:
    before: int
    after: int


@dataclass(frozen=True)
class UsageReported:
    usage: Usage


@dataclass(frozen=True)
class Notice:
    text: str
    level: NoticeLevel = "info"


@dataclass(frozen=True)
class TurnEnded:
    """The one terminal event. `reason` is a whole sentence with the next step, or empty.

    `cost` and `session_cost` are in US dollars, None where not all prices are known.
    """

    turn: int
    outcome: TurnOutcome
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    cost: float | None = None
    session_cost: float | None = None


Event = (
    TurnStarted
    | StepStarted
    | TextDelta
    | ReasoningDelta
    | ToolStarted
    | ToolCalled
    | ToolOutput
    | ToolFinished
    | PicturesDrawn
    | ApprovalRequested
    | ApprovalDecided
    | TodosChanged
    | NotesChanged
    | MemoryChanged
    | DataChanged
    | QueueChanged
    | Steered
    | Retrying
    | Compacted
    | UsageReported
    | Notice
    | TurnEnded
)
EVENTS: tuple[type[Event], ...] = get_args(Event)


def name_of(event: Event | type[Event]) -> str:
    """`TurnStarted` is `turn_started` on the wire to a page, in snapshots and in the docs."""
    cls = event if isinstance(event, type) else type(event)
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


def to_json(event: Event) -> dict[str, Any]:
    return {"event": name_of(event), **dataclasses.asdict(event)}
