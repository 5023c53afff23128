"""The one fold of events into what every view shows of a turn, and the line of truth about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from ..core import events as e
from ..core.events import Event, Question, Usage
from ..core.todos import Todos
from ..core.transcript import Outcome
from .queue import back_lines
from .wording import ENDINGS, OUTCOME_WORDS, duration, memory_line, precise

Phase = Literal[
    "idle", "loading", "thinking", "answering", "preparing", "tool", "waiting", "retrying", "ended"
]
# Characters kept of a running call's output: what a view may show of it. Up to twice as many, so
# that what is kept mostly grows at its end, and a view need not send it anew.
OUTPUT_TAIL = 2_000


@dataclass(frozen=True)
class Said:
    """Text of the model that came before more work."""

    text: str


@dataclass(frozen=True)
class Asked:
    text: str  # sent into the turn by the person


@dataclass(frozen=True)
class ToolUse:
    """A call: in flight while `outcome` is None, and running once `called`."""

    call_id: str
    name: str
    since: float
    summary: str = ""
    called: bool = False
    output: str = ""
    outcome: Outcome | None = None
    text: str = ""
    seconds: float = 0.0
    pictures: tuple[str, ...] = ()  # keys


@dataclass
class TurnState:
    """What there is to see of the newest turn. Changed by `apply` alone, by events alone.

    `work` is what was said and done so far, in order; `in_flight` the calls that have no outcome
    yet. The task list and the queue belong to the session and outlive a turn.
    """

    turn: int = 0
    prompt: str = ""
    started: float = 0.0
    step: int = 0
    step_at: float = 0.0
    work: list[Said | Asked | ToolUse] = field(default_factory=list)
    in_flight: dict[str, ToolUse] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    retry: e.Retrying | None = None
    retry_at: float = 0.0
    notes: list[str] = field(default_factory=list)
    data: e.DataChanged | None = None
    usage: Usage = field(default_factory=Usage)
    ended: e.TurnEnded | None = None
    todos: Todos = ()
    todos_changed: bool = False
    queue: tuple[e.Waiting, ...] = ()
    _live: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)

    # -- what views read -----------------------------------------------------------------

    @property
    def live(self) -> str:
        """Text that is streaming now."""
        return "".join(self._live)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    @property
    def answer(self) -> str:
        """The newest text: what streams now, else what was said last."""
        said = [each.text for each in self.work if isinstance(each, Said)]
        return self.live or (said[-1] if said else "")

    @property
    def asked(self) -> list[str]:
        """What was sent into the turn, in order."""
        return [each.text for each in self.work if isinstance(each, Asked)]

    @property
    def tools(self) -> list[ToolUse]:
        """The calls that have an outcome, in order."""
        return [each for each in self.work if isinstance(each, ToolUse)]

    @property
    def current(self) -> ToolUse | None:
        """The call to show as in flight: the one that runs, else the newest."""
        flying = list(self.in_flight.values())
        running = [use for use in flying if use.called]
        return running[-1] if running else flying[-1] if flying else None

    @property
    def phase(self) -> Phase:
        use = self.current
        if self.ended:
            return "ended"
        if self.questions:
            return "waiting"
        if use and use.called:
            return "tool"
        if self.retry:
            return "retrying"
        if use:
            return "preparing"
        if self._live:
            return "answering"
        if self.step:
            return "thinking"
        return "loading" if self.turn else "idle"

    # -- the fold ------------------------------------------------------------------------

    def apply(self, event: Event, at: float) -> bool:
        """Take the event in; False where it changes nothing here: it came after the end."""
        match event:
            case e.TurnStarted():
                fresh = TurnState(event.turn, event.prompt, at, todos=self.todos, queue=self.queue)
                self.__dict__.update(fresh.__dict__)
                return True
            case e.QueueChanged(waiting, back):
                self.queue = waiting
                if self.turn and not self.ended:
                    self.notes += back_lines(back)
                return True
            case e.TodosChanged(todos):
                self.todos, self.todos_changed = todos, True
                return True
        if self.ended or not self.turn:
            return False
        match event:
            case e.TurnEnded():
                self._end(event)
            case e.StepStarted(step):
                self._settle_text()
                self._reasoning.clear()
                self.retry, self.step, self.step_at = None, step, at
            case e.TextDelta(text):
                self.retry = None
                self._live.append(text)
            case e.ReasoningDelta(text):
                self.retry = None
                self._reasoning.append(text)
            case e.Steered(prompt):
                self._settle_text()
                self.work.append(Asked(prompt))
            case e.Retrying():
                self.retry, self.retry_at = event, at
            case e.ApprovalRequested(question):
                self.questions.append(question)
            case e.ApprovalDecided(answer):
                self._decided(answer.question_id, at)
            case e.UsageReported(usage):
                self.usage += usage
            case e.DataChanged():
                self.data = event
            case e.ToolStarted() | e.ToolCalled() | e.ToolOutput() | e.ToolFinished():
                self._tool(event, at)
            case e.PicturesDrawn(call_id, keys):
                if use := self.in_flight.get(call_id):
                    self.in_flight[call_id] = replace(use, pictures=keys)
            case _:
                self._note(event)
        return True

    def _tool(
        self, event: e.ToolStarted | e.ToolCalled | e.ToolOutput | e.ToolFinished, at: float
    ) -> None:
        use = self.in_flight.get(event.call_id)
        match event:
            case e.ToolStarted(call_id, name):
                self.retry = None
                self._settle_text()
                self.in_flight[call_id] = ToolUse(call_id, name, at)
            case e.ToolCalled(call_id, name, summary):
                self._settle_text()
                self.in_flight[call_id] = ToolUse(call_id, name, at, summary, called=True)
            case e.ToolOutput(call_id, text):
                if use:
                    output = use.output + text
                    if len(output) > 2 * OUTPUT_TAIL:
                        output = output[-OUTPUT_TAIL:]
                    self.in_flight[call_id] = replace(use, output=output)
            case e.ToolFinished(call_id, name, outcome, text, seconds):
                self._settle_text()
                self.in_flight.pop(call_id, None)
                self.questions = [each for each in self.questions if each.call_id != call_id]
                done = use or ToolUse(call_id, name, at)
                done = replace(done, outcome=outcome, text=text, seconds=seconds, output="")
                self.work.append(done)

    def _decided(self, question_id: str, at: float) -> None:
        for question in self.questions:
            use = self.in_flight.get(question.call_id)
            if question.id == question_id and use:
                # The wait for the person is not the tool's time.
                self.in_flight[use.call_id] = replace(use, since=at)
        self.questions = [each for each in self.questions if each.id != question_id]

    def _note(self, event: Event) -> None:
        match event:
            case e.Notice(text):
                self.notes.append(text)
            case e.MemoryChanged():
                self.notes.append(memory_line(event))
            case e.NotesChanged():
                self.notes.append("Session notes updated.")
            case e.Compacted(before, after):
                self.notes.append(f"Conversation compacted: {before:,} → {after:,} tokens.")

    def _settle_text(self) -> None:
        if text := self.live.strip():
            self.work.append(Said(text))
        self._live.clear()

    def _end(self, event: e.TurnEnded) -> None:
        self._settle_text()
        self._reasoning.clear()
        self.in_flight.clear()
        self.questions.clear()
        self.retry = None
        self.usage = event.usage
        self.ended = event


# -- how it stands, the same in every view ---------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """What goes on, in words without a number that changes by itself: a view counts the seconds
    from `since` on, or down to `until`, both of the feed's clock."""

    words: str
    since: float | None = None
    until: float | None = None


def standing(state: TurnState) -> Standing:
    use = state.current
    match state.phase:
        case "idle":
            return Standing("")
        case "loading":
            return Standing("loading the model", since=state.started)
        case "thinking":
            return Standing("thinking", since=state.step_at)
        case "tool" if use:
            return Standing(f"running {use.name}", since=use.since)
        case "preparing" if use:
            return Standing(f"preparing {use.name}")
        case "waiting":
            return Standing("waiting for you")
        case "retrying" if retry := state.retry:
            reason = f" ({retry.reason.rstrip('.')})" if retry.reason else ""
            return Standing(f"retrying{reason}", until=state.retry_at + retry.seconds)
        case "ended":
            return Standing(footer(state))
        case phase:
            return Standing(phase)


def status(state: TurnState, now: float) -> str:
    """The one line of truth; empty before a turn."""
    stands = standing(state)
    line = stands.words
    if stands.since is not None and now - stands.since >= 1:
        line += f" for {duration(now - stands.since)}"
    if stands.until is not None and stands.until - now >= 1:
        line += f" in {duration(stands.until - now)}"
    queued = len(state.queue) if state.phase != "ended" else 0
    return line + (f" · {queued} queued" if queued else "")


def footer(state: TurnState) -> str:
    """`answered · 1,234 tokens in, 56 out · 4.2 s`, once the turn has ended."""
    ended = state.ended
    if ended is None:
        return ""
    parts = [ENDINGS[ended.outcome]]
    if (usage := ended.usage).input or usage.output:
        cached = f" ({usage.cached:,} cached)" if usage.cached else ""
        parts.append(f"{usage.input:,} tokens in{cached}, {usage.output:,} out")
    if seconds := precise(ended.seconds):
        parts.append(seconds)
    if ended.cost is not None:
        whole = ended.session_cost or 0.0
        session = f" ({e.dollars(whole)} in this session)" if whole > ended.cost else ""
        parts.append(f"{e.dollars(ended.cost)}{session}")
    return " · ".join(parts)


def tool_details(use: ToolUse) -> str:
    """What stands behind the name and summary of a finished call: `failed · 0.3 s`."""
    words = OUTCOME_WORDS[use.outcome or "ok"]
    return " · ".join(part for part in (words, precise(use.seconds)) if part)


def reasoning_line(state: TurnState) -> str:
    """`reasoning, 1,240 characters`; empty where there is none."""
    size = sum(map(len, state._reasoning))
    return f"reasoning, {size:,} characters" if size else ""
