"""Ten canonical turns, as the loop tells them, and any; and views to play them to."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator

from hypothesis import strategies as st

from shiro_jupyter.core import events as e
from shiro_jupyter.core.events import Event, Usage
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import OUTCOMES
from shiro_jupyter.views.cell import Data
from shiro_jupyter.views.text import TextView

Timed = tuple[Event, float]


def timed(events: Iterable[Event], every: float = 0.5) -> list[Timed]:
    return [(event, 100 + every * number) for number, event in enumerate(events)]


def tool(
    call_id: str, name: str, summary: str, outcome: str = "ok", text: str = "", output: str = ""
) -> Iterator[Event]:
    yield e.ToolStarted(call_id, name)
    yield e.ToolCalled(call_id, name, summary)
    if output:
        yield e.ToolOutput(call_id, output)
    yield e.ToolFinished(call_id, name, outcome, text or output, 0.3)  # type: ignore[arg-type]


def ended(outcome: str = "answered", reason: str = "") -> e.TurnEnded:
    return e.TurnEnded(1, outcome, reason, Usage(1234, 1000, 56, 12), 4.2)  # type: ignore[arg-type]


def _answer() -> Iterator[Event]:
    yield e.TurnStarted(1, "how many rows has {df}, and why $1?")
    yield e.StepStarted(1)
    yield e.ReasoningDelta("The person asks about rows.")
    for piece in ("\n\nIt has ", "**9,812** rows", ":\n\n| city | n |\n|---|--:|\n| Rome | 3 |\n"):
        yield e.TextDelta(piece)
    yield e.UsageReported(Usage(1234, 1000, 56, 12))
    yield ended()


def _one_tool() -> Iterator[Event]:
    yield e.TurnStarted(1, "what does sales.csv hold?")
    yield e.StepStarted(1)
    yield e.TextDelta("Let me look.")
    yield from tool("a", "read_file", "data/sales.csv", text="1: date,city\n2: 2024-01-01,Rome\n")
    yield e.StepStarted(2)
    yield e.TextDelta("Dates and cities.")
    yield ended()


def _refused() -> Iterator[Event]:
    question = e.Question(
        "q", "a", "approval", "Run this command?", "rm -rf build\necho done", e.APPROVAL_CHOICES
    )
    yield e.TurnStarted(1, "clean up")
    yield e.StepStarted(1)
    yield e.ToolStarted("a", "bash")
    yield e.ToolCalled("a", "bash", "rm -rf build; echo done")
    yield e.ApprovalRequested(question)
    yield e.ApprovalDecided(e.Answer("q", "deny", "keep it"))
    yield e.ToolFinished("a", "bash", "refused", "The person refused this call: keep it", 9.0)
    yield e.StepStarted(2)
    yield e.TextDelta("I left the build folder alone.")
    yield ended()


def _interrupted() -> Iterator[Event]:
    yield e.TurnStarted(1, "train it")
    yield e.StepStarted(1)
    yield e.TextDelta("Training now")
    yield from tool("a", "run_python", "model.fit(X, y)", "interrupted", output="epoch 1\repoch 2")
    yield e.StepStarted(2)
    yield e.ReasoningDelta("hm")
    yield e.TextDelta("The training was st")
    yield ended("interrupted")


def _retried() -> Iterator[Event]:
    yield e.TurnStarted(1, "hello")
    yield e.StepStarted(1)
    yield e.Retrying("The endpoint is busy (429).", 4.0)
    yield e.TextDelta("Hello.")
    yield ended()


def _failed() -> Iterator[Event]:
    yield e.TurnStarted(1, "hello")
    yield e.StepStarted(1)
    yield ended("failed", "The endpoint refused the key (401): set SHIRO_API_KEY, or run /connect.")


def _todos() -> Iterator[Event]:
    tasks = (
        Todo("load the data", "done"),
        Todo("clean the dates", "in_progress"),
        Todo("deploy", "blocked", "no credentials"),
        Todo("report"),
    )
    yield e.TurnStarted(1, "do it all")
    yield e.StepStarted(1)
    yield e.ToolStarted("a", "todo_write")
    yield e.ToolCalled("a", "todo_write", "4 tasks")
    yield e.TodosChanged(tasks)
    yield e.ToolFinished("a", "todo_write", "ok", "1/4 done", 0.0)
    yield e.StepStarted(2)
    yield e.TextDelta("I cannot deploy.")
    yield e.MemoryChanged("project", "deploys need the team's key")
    yield e.Notice("The answer was cut at the model's length limit.", "warning")
    yield ended("limited", "Stopped after 2 steps; say “go on” to give it as many again.")


def _question() -> Iterator[Event]:
    question = e.Question("q", "a", "ask", "Which year do you mean?", "", ("2023", "2024"))
    yield e.TurnStarted(1, "drop the bad year")
    yield e.StepStarted(1)
    yield e.ToolStarted("a", "ask")
    yield e.ToolCalled("a", "ask", "Which year do you mean?")
    yield e.ApprovalRequested(question)
    yield e.ApprovalDecided(e.Answer("q", "2023"))
    yield e.ToolFinished("a", "ask", "ok", "2023", 12.0)
    yield e.StepStarted(2)
    yield e.TextDelta("Dropped 2023.")
    yield ended()


def _long_output() -> Iterator[Event]:
    lines = "".join(f"line {number} of a long listing\n" for number in range(2_000))
    yield e.TurnStarted(1, "list everything")
    yield e.StepStarted(1)
    yield from tool("a", "bash", "find . -type f | " + "sort | " * 60 + "cat", output=lines)
    yield e.StepStarted(2)
    yield e.TextDelta("Two thousand files.")
    yield ended()


def _two_tools() -> Iterator[Event]:
    """As a schema profile does it: one call a step, the answer in one piece; it changed data."""
    yield e.TurnStarted(1, "mean price by city?")
    yield e.StepStarted(1)
    yield from tool("a", "list_variables", "", text="df: DataFrame 3x2")
    yield e.StepStarted(2)
    yield from tool("b", "run_python", "df.groupby('town')", "failed", text="KeyError: 'town'")
    yield e.StepStarted(3)
    yield from tool("c", "run_python", "mean = df.groupby('city')", text="Rome 4.5\nOslo 7.0")
    yield e.StepStarted(4)
    yield e.TextDelta("Rome 4.5, Oslo 7.0.")
    yield e.DataChanged("df 10,000 → 9,812 rows, +price_eur · new: mean", ("df", "mean"))
    yield ended()


TURNS: dict[str, Callable[[], Iterator[Event]]] = {
    "answer": _answer,
    "one_tool": _one_tool,
    "refused": _refused,
    "interrupted": _interrupted,
    "retried": _retried,
    "failed": _failed,
    "todos": _todos,
    "question": _question,
    "long_output": _long_output,
    "two_tools": _two_tools,
}


def text_view(
    *, terminal: bool = False, width: int = 80, **options: bool
) -> tuple[TextView, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return TextView(out, err, terminal=terminal, width=lambda: width, **options), out, err


class Display:
    """The output of one cell: every bundle that was sent, and its metadata."""

    def __init__(self) -> None:
        self.sent: list[Data] = []
        self.metadata: list[Data] = []
        self.shown = 0

    def show(self, data: Data, metadata: Data) -> str:
        self.shown += 1
        self._take(data, metadata)
        return f"display {self.shown}"

    def update(self, display_id: str, data: Data, metadata: Data) -> None:
        assert display_id == f"display {self.shown}", "not the one that is there"
        self._take(data, metadata)

    def _take(self, data: Data, metadata: Data) -> None:
        self.sent.append(data)
        self.metadata.append(metadata)


# -- any turn ---------------------------------------------------------------------------------

IDS = st.sampled_from("abc")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WAITING = st.builds(e.Waiting, st.integers(1, 9), TEXTS, IDS, st.booleans())
ANY_EVENT: st.SearchStrategy[Event] = st.one_of(
    st.builds(e.StepStarted, st.integers(1, 9)),
    st.builds(e.TextDelta, TEXTS),
    st.builds(e.ReasoningDelta, TEXTS),
    st.builds(e.ToolStarted, IDS, TEXTS),
    st.builds(e.ToolCalled, IDS, TEXTS, TEXTS),
    st.builds(e.ToolOutput, IDS, TEXTS),
    st.builds(e.ToolFinished, IDS, TEXTS, st.sampled_from(OUTCOMES), TEXTS),
    st.builds(e.PicturesDrawn, IDS, st.tuples(TEXTS)),
    st.builds(e.ApprovalRequested, st.builds(e.Question, IDS, IDS, st.just("ask"), TEXTS)),
    st.builds(e.ApprovalDecided, st.builds(e.Answer, IDS, TEXTS)),
    st.builds(e.Retrying, TEXTS, st.floats(0, 100)),
    st.builds(e.QueueChanged, st.tuples(WAITING), st.tuples(WAITING)),
    st.builds(e.Steered, TEXTS),
    st.builds(e.TodosChanged, st.tuples(st.builds(Todo, TEXTS))),
    st.builds(e.Notice, TEXTS),
    st.builds(e.DataChanged, TEXTS, st.tuples(TEXTS)),
    st.builds(e.UsageReported, st.builds(e.Usage, st.integers(0, 9))),
    st.builds(e.TurnStarted, st.integers(1, 3), TEXTS),
)
