from __future__ import annotations

from shiro_jupyter.core import events as e
from shiro_jupyter.core.events import QueueChanged, Steered, TurnStarted, Waiting
from shiro_jupyter.views.cell import live_blocks
from shiro_jupyter.views.document import plain
from shiro_jupyter.views.queue import EDITABLE, queue_lines, queue_model
from shiro_jupyter.views.state import TurnState
from shiro_jupyter.views.static import left_blocks
from tests.views.turns import ended, text_view, tool

WAITING = (
    Waiting(7, "use 2024\nonly", "page", now=True),
    Waiting(3, "then plot it"),
    Waiting(4, "x" * 300),
    Waiting(5, "one more"),
    Waiting(6, "and one"),
)
LINES = [
    "at the next step: use 2024 only",
    "next: then plot it",
    f"next: {'x' * 199}…",
    "… 2 more",
]


def test_the_short_form_is_a_line_an_entry_and_a_few_at_most() -> None:
    assert queue_lines(WAITING) == LINES
    assert queue_lines(WAITING[:3]) == LINES[:3]
    assert queue_lines(()) == []
    (hostile,) = queue_lines([Waiting(1, "a\x1b[2Jb\u202ec")])
    assert hostile == "next: a␛[2Jb⟨U+202E⟩c"


def test_a_page_gets_the_words_as_typed_unless_they_are_very_long() -> None:
    typed = "a\n\tb \ud800"
    told = queue_model([Waiting(1, typed, "page"), Waiting(2, "x" * (EDITABLE + 1), now=True)])
    assert told[0] == {
        "id": 1,
        "line": "a b ⟨U+D800⟩",
        "text": "a\n\tb ?",
        "source": "page",
        "now": False,
    }
    assert (told[1]["text"], told[1]["now"]) == (None, True)


def test_the_running_cell_shows_what_waits() -> None:
    state = TurnState()
    for event in (TurnStarted(1, "go"), QueueChanged(WAITING)):
        state.apply(event, 1.0)
    shown = plain(live_blocks(state, 1.0))
    assert all(line in shown for line in LINES)
    state.apply(QueueChanged(()), 1.0)
    assert "next" not in plain(live_blocks(state, 1.0))


def test_a_terminal_shows_what_waits_in_its_region_and_plain_text_each_as_it_comes() -> None:
    view, out, _ = text_view(terminal=True)
    view.apply(TurnStarted(1, "go"), 1.0)
    view.apply(QueueChanged(WAITING), 2.0)
    drawn = out.getvalue()
    assert "  next: then plot it\n" in drawn and "… 2 more" in drawn
    view, out, _ = text_view()
    view.apply(TurnStarted(1, "go"), 1.0)
    view.apply(QueueChanged(WAITING[:1]), 2.0)
    view.apply(QueueChanged(WAITING[:2]), 3.0)
    view.apply(QueueChanged(WAITING[1:2]), 4.0)
    assert out.getvalue() == "· at the next step: use 2024 only\n· next: then plot it\n"
    view, out, _ = text_view(quiet=True)
    view.apply(TurnStarted(1, "go"), 1.0)
    view.apply(QueueChanged(WAITING), 2.0)
    assert out.getvalue() == ""


BACK = QueueChanged((), (Waiting(3, "from a cell"), Waiting(4, "from a page", "page")))


def test_what_has_no_input_to_go_back_to_is_told_in_words() -> None:
    for quiet in (False, True):
        view, out, _ = text_view(quiet=quiet)
        view.apply(TurnStarted(1, "go"), 1.0)
        view.apply(BACK, 2.0)
        view.apply(ended("interrupted"), 3.0)
        assert "· Taken off the queue, not run: from a cell\n" in out.getvalue()
        assert "from a page" not in out.getvalue()
    left = plain(left_blocks(view.state))
    assert "Taken off the queue, not run: from a cell" in left and "from a page" not in left


def test_what_was_sent_into_a_turn_is_seen_where_it_went_in_and_stays() -> None:
    state = TurnState()
    view, out, _ = text_view()
    events = [
        TurnStarted(1, "go"),
        e.StepStarted(1),
        e.TextDelta("Looking."),
        *tool("a", "bash", "ls", output="x"),
        Steered("use *2024*"),
        e.StepStarted(2),
        e.TextDelta("Used it."),
        ended(),
    ]
    for at, event in enumerate(events):
        state.apply(event, at)
        view.apply(event, at)
    assert [type(each).__name__ for each in state.work] == ["Said", "ToolUse", "Asked", "Said"]
    assert "> use *2024*\nUsed it." in out.getvalue()
    assert plain(left_blocks(state)).startswith("> go\n> use *2024*\n")
    assert "> use *2024*" in plain(live_blocks(state, 9.0))
