from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core import events as e
from shiro_jupyter.core.events import Event
from shiro_jupyter.views.cell import CellView, live_blocks
from shiro_jupyter.views.state import (
    OUTPUT_TAIL,
    Said,
    Standing,
    TurnState,
    footer,
    standing,
    status,
)
from shiro_jupyter.views.wording import duration
from tests.views.screen import screen
from tests.views.turns import ANY_EVENT, TURNS, Display, ended, text_view, timed


@given(
    st.lists(ANY_EVENT, max_size=40),
    st.sampled_from(["answered", "interrupted", "limited", "failed"]),
    st.lists(ANY_EVENT.filter(lambda event: not isinstance(event, e.TurnStarted)), max_size=8),
)
def test_every_ending_clears_what_lives(
    before: list[Event], outcome: str, after: list[Event]
) -> None:
    """Whatever came before the end, and whatever straggles in after it."""
    display = Display()
    cell = CellView(display)
    view, out, err = text_view(terminal=True)
    told = timed([e.TurnStarted(1, "go"), *before, ended(outcome, "Because."), *after])
    for event, at in told:
        cell.apply(event, at)
        view.apply(event, at)
        cell.tick(at)
        view.tick(at)
    state = cell.state
    assert (state.live, state.reasoning, state.in_flight, state.questions) == ("", "", {}, [])
    assert state.retry is None and state.phase == "ended"
    lines = screen(out.getvalue()).rstrip("\n").split("\n")
    assert lines[-1] == status(state, 0)
    assert (err.getvalue() == "Because.\n") is (outcome == "failed")
    assert "⋯" not in display.sent[-1]["text/plain"] or "⋯" in "".join(map(str, before))
    assert "Because." in display.sent[-1]["text/html"]


@given(st.lists(ANY_EVENT, max_size=40))
def test_a_replay_gives_the_same_state(told: list[Event]) -> None:
    states = [TurnState(), TurnState()]
    for state in states:
        for event, at in timed([e.TurnStarted(1, "go"), *told]):
            state.apply(event, at)
    assert states[0] == states[1]
    assert live_blocks(states[0], 200) == live_blocks(states[1], 200)


def test_phases_of_a_call_that_is_approved() -> None:
    state = TurnState()
    seen = []
    for event, at in timed(TURNS["refused"](), every=1):
        state.apply(event, at)
        seen.append((type(event).__name__, status(state, at + 2)))
    assert seen == [
        ("TurnStarted", "loading the model for 2 s"),
        ("StepStarted", "thinking for 2 s"),
        ("ToolStarted", "preparing bash"),
        ("ToolCalled", "running bash for 2 s"),
        ("ApprovalRequested", "waiting for you"),
        # Counted from the answer: the wait is not the tool's.
        ("ApprovalDecided", "running bash for 2 s"),
        ("ToolFinished", "thinking for 7 s"),
        ("StepStarted", "thinking for 2 s"),
        ("TextDelta", "answering"),
        ("TurnEnded", "answered · 1,234 tokens in (1,000 cached), 56 out · 4.2 s"),
    ]


def test_a_retry_counts_down_and_then_tries() -> None:
    state = TurnState()
    for event, at in [(e.TurnStarted(1, "go"), 0.0), (e.Retrying("Busy (429).", 8.0), 10.0)]:
        state.apply(event, at)
    assert status(state, 11.0) == "retrying (Busy (429)) in 7 s"
    assert status(state, 19.0) == "retrying (Busy (429))"
    state.apply(e.TextDelta("Hi"), 20.0)
    assert status(state, 21.0) == "answering"


def test_the_line_can_be_had_without_its_seconds() -> None:
    state = TurnState()
    seen = []
    for event, at in timed(TURNS["refused"](), every=1):
        state.apply(event, at)
        seen.append(standing(state))
    assert seen[:6] == [
        Standing("loading the model", since=100),
        Standing("thinking", since=101),
        Standing("preparing bash"),
        Standing("running bash", since=103),
        Standing("waiting for you"),
        Standing("running bash", since=105),
    ]
    state.apply(e.TurnStarted(2, "go"), 200)
    state.apply(e.Retrying("Busy.", 8.0), 210)
    assert standing(state) == Standing("retrying (Busy)", until=218)


def test_text_before_a_call_is_told_from_the_answer() -> None:
    state = TurnState()
    for event, at in timed(TURNS["one_tool"]()):
        state.apply(event, at)
    assert state.work[0] == Said("Let me look.")
    assert [use.name for use in state.tools] == ["read_file"]
    assert state.answer == "Dates and cities."


def test_a_question_that_nobody_answered_goes_with_its_call() -> None:
    state = TurnState()
    state.apply(e.TurnStarted(1, "go"), 0)
    state.apply(e.ToolCalled("a", "bash", "ls"), 1)
    state.apply(e.ApprovalRequested(e.Question("q", "a", "approval", "Run?")), 2)
    assert state.phase == "waiting"
    state.apply(e.ToolFinished("a", "bash", "refused", "nobody"), 3)
    assert state.questions == [] and state.phase == "loading"


def test_the_task_list_outlives_a_turn_and_the_rest_does_not() -> None:
    state = TurnState()
    for event, at in timed([*TURNS["todos"](), e.TurnStarted(2, "more")]):
        state.apply(event, at)
    assert len(state.todos) == 4 and not state.todos_changed
    assert (state.work, state.notes, state.answer, state.ended) == ([], [], "", None)


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("prices are net", "", "Remembered (project): prices are net"),
        ("", "prices are net", "Forgot (project): prices are net"),
        (
            "prices are gross",
            "prices are net",
            "Remembered (project): prices are gross, in place of: prices are net",
        ),
    ],
)
def test_a_change_of_the_memory_is_told_as_what_it_is(text: str, old: str, said: str) -> None:
    state = TurnState()
    for event in (e.TurnStarted(1, "go"), e.MemoryChanged("project", text, old)):
        state.apply(event, 0.0)
    assert state.notes == [said]


def test_output_of_a_running_call_is_bounded() -> None:
    state = TurnState()
    state.apply(e.TurnStarted(1, "go"), 0)
    state.apply(e.ToolCalled("a", "bash", "yes"), 1)
    cuts = 0
    for _ in range(100):
        before = state.current
        state.apply(e.ToolOutput("a", "y" * 100), 2)
        assert before and state.current and len(state.current.output) <= 2 * OUTPUT_TAIL
        cuts += not state.current.output.startswith(before.output)
    assert len(state.current.output) >= OUTPUT_TAIL
    assert cuts == 3  # it grows at its end, but for these


def test_a_long_wait_is_told_in_coarser_steps() -> None:
    assert [duration(each) for each in (-1, 59.9, 61, 75, 599, 3599, 4000)] == [
        "0 s", "59 s", "1 min 0 s", "1 min 10 s", "9 min 50 s", "59 min", "1 h 6 min",
    ]  # fmt: skip
    assert len({duration(each) for each in range(3600)}) < 170


@pytest.mark.parametrize(
    ("cost", "session", "told"),
    [
        (None, None, ""),
        (None, 0.5, ""),  # of this turn it is not known
        (0.0125, 0.0125, " · $0.0125"),
        (0.0125, 1.5, " · $0.0125 ($1.50 in this session)"),
        (0.0125, None, " · $0.0125"),
        (0.0, 0.0, " · $0.00"),
    ],
)
def test_the_end_of_a_turn_tells_its_cost_where_that_is_known(
    cost: float | None, session: float | None, told: str
) -> None:
    used = e.Usage(1234, 1000, 56, 12)
    ending = e.TurnEnded(1, "answered", "", used, 4.2, cost, session)
    state = TurnState()
    state.apply(e.TurnStarted(1, "go"), 0.0)
    state.apply(ending, 4.2)
    line = "answered · 1,234 tokens in (1,000 cached), 56 out · 4.2 s"
    assert footer(state) == f"{line}{told}"
