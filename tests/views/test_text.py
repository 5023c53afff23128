from __future__ import annotations

import io

import pytest

from shiro_jupyter.core import events as e
from shiro_jupyter.core.events import Event
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Outcome
from shiro_jupyter.views.text import TextView
from tests.views.screen import screen
from tests.views.turns import TURNS, ended, text_view, timed

HOSTILE = "\x1b[2J\x1b]0;title\x07a\x9b31m\u202eb\u2066\r\x00\x08c\ud800"


def play(view: TextView, events: list[Event], start: float = 0) -> None:
    for number, event in enumerate(events):
        view.apply(event, start + number)


def test_the_screen_at_each_moment() -> None:
    view, out, _ = text_view(terminal=True)
    play(view, [e.TurnStarted(1, "go")])
    view.tick(3.2)
    assert screen(out.getvalue()) == "⋯ loading the model for 3 s"
    play(view, [e.StepStarted(1), e.ReasoningDelta("Let me think.")], 4)
    assert screen(out.getvalue()) == "⋯ thinking for 1 s\nreasoning, 13 characters"
    play(view, [e.TextDelta("I look."), e.ToolStarted("a", "bash")], 6)
    assert screen(out.getvalue()).startswith("I look.\n⋯ preparing bash\nreasoning, ")
    play(view, [e.ToolCalled("a", "bash", "make\nall"), e.ToolOutput("a", "one\n\x1b[31mtwo\n")], 8)
    play(view, [e.TodosChanged((Todo("x", "done"), Todo("y", "in_progress")))], 10)
    view.tick(12)
    assert screen(out.getvalue()) == (
        "I look.\n"
        "⋯ running bash for 4 s  make ⏎ all\n"
        "  two\n"
        "reasoning, 13 characters\n"
        "tasks ####################.................... 1/2"
    )
    play(view, [e.ToolFinished("a", "bash", "ok", "", 4.0), ended()], 13)
    assert screen(out.getvalue()) == (
        "I look.\n"
        "✓ bash  make ⏎ all  4.0 s\n"
        "tasks ####################.................... 1/2\n"
        "[x] x\n"
        "[~] y\n"
        "answered · 1,234 tokens in (1,000 cached), 56 out · 4.2 s\n"
    )


def test_text_streams_as_it_comes() -> None:
    for terminal in (False, True):
        view, out, _ = text_view(terminal=terminal)
        play(view, [e.TurnStarted(1, "go"), e.StepStarted(1)])
        for piece in ("\n\n", "Hel", "lo\r", "\n  wor", "ld"):
            view.apply(e.TextDelta(piece), 3)
            view.tick(5)
        assert screen(out.getvalue()) == "Hello\n  world"


def test_while_the_person_answers_nothing_is_drawn() -> None:
    view, out, _ = text_view(terminal=True)
    question = e.Question("q", "a", "approval", "Run it?", "ls\n\x1b[2K", e.APPROVAL_CHOICES)
    play(view, [e.TurnStarted(1, "go"), e.ToolCalled("a", "bash", "ls")])
    play(view, [e.ApprovalRequested(question)], 5)
    before = out.getvalue()
    assert screen(before) == "? Run it?\n    ls\n    ␛[2K\n"
    for at in range(6, 60):
        view.tick(at)
    assert out.getvalue() == before


def test_hidden_means_that_nothing_is_drawn_until_shown() -> None:
    view, out, _ = text_view(terminal=True)
    play(view, [e.TurnStarted(1, "go"), e.ToolCalled("a", "run_python", "print(1)")])
    view.hide()
    assert screen(out.getvalue()) == ""
    hidden = out.getvalue()
    view.tick(9)
    view.apply(e.ToolOutput("a", "1\n"), 10)
    assert out.getvalue() == hidden
    out.write("1\n")  # the code's own print
    view.show()
    view.tick(11)
    assert screen(out.getvalue()).startswith("1\n⋯ running run_python for 10 s")


def test_what_others_print_while_the_status_stands_is_kept() -> None:
    view, out, _ = text_view(terminal=True)
    play(view, [e.TurnStarted(1, "go"), e.ToolCalled("a", "run_python", "f()")])
    out.write("a line much longer than the status was, by the code itself\n")
    play(view, [e.ToolFinished("a", "run_python", "ok", "", 1.0), ended()], 3)
    lines = screen(out.getvalue()).split("\n")
    assert lines[:2] == [
        "a line much longer than the status was, by the code itself",
        "✓ run_python  f()  1.0 s",
    ]


@pytest.mark.parametrize("name", TURNS)
def test_plain_output_holds_no_control_character(name: str) -> None:
    view, out, err = text_view()
    for event, at in timed(TURNS[name](), every=30):
        view.apply(event, at)
        before = out.getvalue()
        view.tick(at + 20)
        assert out.getvalue() == before
    written = out.getvalue() + err.getvalue()
    assert all(each.isprintable() or each == "\n" for each in written)


@pytest.mark.parametrize("terminal", [False, True])
def test_hostile_text_cannot_command_the_terminal(terminal: bool) -> None:
    """Wherever the text comes from: answer, names, summaries, output, questions, tasks, errors."""
    view, out, err = text_view(terminal=terminal)
    bad = HOSTILE
    question = e.Question("q", "a", "ask", bad, bad, (bad,))
    play(
        view,
        [
            e.TurnStarted(1, bad),
            e.StepStarted(1),
            e.ReasoningDelta(bad),
            e.TextDelta(bad),
            e.ToolStarted("a", bad),
            e.ToolCalled("a", bad, bad),
            e.ToolOutput("a", bad),
            e.ApprovalRequested(question),
            e.ApprovalDecided(e.Answer("q", bad, bad)),
            e.ToolFinished("a", bad, "ok", bad, 1.0),
            e.TodosChanged((Todo(bad, "blocked", bad),)),
            e.Retrying(bad, 4.0),
            e.Notice(bad),
            e.MemoryChanged(bad, bad),
            ended("failed", bad),
        ],
    )
    # `screen` fails on any sequence or character that is not the view's own.
    shown = screen(out.getvalue() + err.getvalue())
    shown.encode()
    assert "␛[2J␛]0;title␇a⟨U+009B⟩31m⟨U+202E⟩b⟨U+2066⟩␍␀␈c⟨U+D800⟩" in shown
    assert "title" in err.getvalue()


def test_colours_only_where_asked_for() -> None:
    for options, coloured in [
        ({"terminal": True, "colour": True}, True),
        ({"terminal": True, "colour": False}, False),
        ({"terminal": False, "colour": True}, False),
    ]:
        view, out, _ = text_view(**options)
        for event, at in timed(TURNS["two_tools"]()):
            view.apply(event, at)
        assert ("\x1b[32m✓\x1b[0m list_variables" in out.getvalue()) is coloured
        assert ("\x1b[" in out.getvalue()) is options["terminal"]


def test_quiet_prints_answer_question_and_error_only() -> None:
    view, out, err = text_view(quiet=True)
    for event, at in timed(TURNS["question"]()):
        view.apply(event, at)
    assert out.getvalue() == "? Which year do you mean?\n  1. 2023   2. 2024\nDropped 2023.\n"
    view, out, err = text_view(quiet=True)
    for event, at in timed(TURNS["failed"]()):
        view.apply(event, at)
    assert (out.getvalue(), err.getvalue().count("401")) == ("", 1)


def test_no_line_of_the_status_wraps() -> None:
    view, out, _ = text_view(terminal=True, width=20)
    play(view, [e.TurnStarted(1, "go"), e.ToolCalled("a", "bash", "数据" * 30)])
    play(view, [e.ToolOutput("a", "x" * 500), e.TodosChanged((Todo("a"),))], 5)
    lines = screen(out.getvalue()).split("\n")
    assert len(lines) == 3
    assert all(sum(2 if each > "\u2e80" else 1 for each in line) < 20 for line in lines)


def test_a_stream_of_another_encoding_gets_codes_instead_of_an_error() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    view = TextView(out, out, terminal=False)
    for event, at in timed(TURNS["one_tool"]()):
        view.apply(event, at)
    out.flush()
    assert b"\\u2713 read_file  data/sales.csv" in raw.getvalue()


def test_fast_output_is_not_drawn_at_every_piece() -> None:
    view, out, _ = text_view(terminal=True)
    play(view, [e.TurnStarted(1, "go"), e.ToolCalled("a", "bash", "yes")])
    before = len(out.getvalue())
    for number in range(1_000):
        view.apply(e.ToolOutput("a", f"{number}\n"), 2 + number / 1_000)
    assert out.getvalue()[before:].count("\x1b[J") <= 11


def test_a_diff_is_coloured_in_a_terminal_that_has_colours() -> None:
    preview = "1 line added, 1 line removed\n@@ -1,2 +1,2 @@\n-old\n+new\n same"
    asked = e.ApprovalRequested(e.Question("q", "a", "approval", "Change a.py?", preview))
    shown = {}
    for colour in (True, False):
        view, out, _ = text_view(terminal=True, colour=colour)
        play(view, [e.TurnStarted(1, "go"), asked])
        shown[colour] = out.getvalue()
    assert "    \x1b[31m-old\x1b[0m\n    \x1b[32m+new\x1b[0m\n     same\n" in shown[True]
    assert "    -old\n    +new\n     same\n" in shown[False]
    assert screen(shown[True]) == screen(shown[False])


@pytest.mark.parametrize(("outcome", "mark"), [("refused", "⊘"), ("failed", "✗")])
def test_why_a_call_came_to_nothing_stands_below_it(outcome: Outcome, mark: str) -> None:
    for terminal in (True, False):
        view, out, _ = text_view(terminal=terminal)
        done = e.ToolFinished("a", "bash", outcome, "Plan mode: nothing\nmay be changed.")
        play(view, [e.TurnStarted(1, "go"), e.ToolCalled("a", "bash", "make"), done])
        assert screen(out.getvalue()).startswith(
            f"{mark} bash  make  {outcome}\n    Plan mode: nothing may be changed.\n"
        )
