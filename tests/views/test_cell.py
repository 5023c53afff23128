from __future__ import annotations

from shiro_jupyter.core import events as e
from shiro_jupyter.core.events import Event
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.views.cell import INTERVAL, PATIENCE, CellView, Place, tail
from shiro_jupyter.views.static import left_behind
from tests.views.turns import TURNS, Display, ended, timed


def cell() -> tuple[CellView, Display]:
    display = Display()
    return CellView(display), display


def play(view: CellView, events: list[Event], start: float) -> None:
    for number, event in enumerate(events):
        view.apply(event, start + number)


def size(display: Display) -> int:
    return sum(len(text) for bundle in display.sent for text in bundle.values())


def test_a_turn_is_shown_updated_and_replaced_by_what_stays() -> None:
    view, display = cell()
    for event, at in timed(TURNS["one_tool"]()):
        view.apply(event, at)
    plain = [bundle["text/plain"] for bundle in display.sent]
    assert plain[0] == "loading the model"
    assert any("running read_file data/sales.csv" in each for each in plain)
    assert display.sent[-1] == left_behind(view.state)
    assert all({"text/html", "text/markdown", "text/plain"} == set(each) for each in display.sent)
    count = len(display.sent)
    view.tick(500)
    view.apply(e.TextDelta("late"), 501)
    assert len(display.sent) == count


def test_at_most_four_updates_a_second_and_none_is_lost() -> None:
    view, display = cell()
    play(view, [e.TurnStarted(1, "go"), e.StepStarted(1)], 0)
    before = len(display.sent)
    for number in range(1_000):  # 200 a second for five seconds
        at = 10 + number / 200
        view.apply(e.TextDelta(f"w{number} "), at)
        if number % 50 == 0:
            view.tick(at)
    assert len(display.sent) - before <= 5 / INTERVAL + 1
    view.tick(15.3)
    assert "w999" in display.sent[-1]["text/plain"]


def test_bytes_grow_with_the_length_of_the_answer_and_no_faster() -> None:
    def sent(seconds: int) -> int:
        view, display = cell()
        play(view, [e.TurnStarted(1, "go"), e.StepStarted(1)], 0)
        for number in range(20 * seconds):
            view.apply(
                e.TextDelta("sixty characters of an answer that goes on and on and on.\n"),
                5 + number / 20,
            )
        return size(display)

    short, long = sent(20), sent(80)
    assert long < 5 * short


def test_many_tools_much_output_and_long_lists_stay_bounded() -> None:
    view, display = cell()
    play(view, [e.TurnStarted(1, "go"), e.StepStarted(1)], 0)
    for number in range(200):
        play(
            view,
            [e.ToolCalled("a", "bash", "x" * 5_000), e.ToolOutput("a", "y" * 50_000)],
            10 * number,
        )
        play(view, [e.ToolFinished("a", "bash", "ok", "z" * 30_000)], 10 * number + 5)
    play(view, [e.TodosChanged(tuple(Todo(f"task {n}") for n in range(500)))], 9_000)
    assert max(len(text) for bundle in display.sent for text in bundle.values()) < 12_000
    assert "… 192 earlier tool calls" in display.sent[-1]["text/plain"]
    assert "… 480 more" in display.sent[-1]["text/plain"]


def test_seconds_tick_and_nothing_unchanged_is_sent_again() -> None:
    view, display = cell()
    play(view, [e.TurnStarted(1, "go"), e.ToolCalled("a", "bash", "sleep 9")], 0)
    before = len(display.sent)
    for quarter in range(4 * 5):
        view.tick(2 + quarter / 4)
    assert [each["text/plain"] for each in display.sent[before:]] == [
        f"running bash for {seconds} s sleep 9" for seconds in (1, 2, 3, 4, 5)
    ]
    # An hour of one call: seconds are told in ever coarser steps.
    for quarter in range(4 * 3_600):
        view.tick(10 + quarter / 4)
    assert len(display.sent) - before < 200


def test_a_question_is_shown_at_once_and_then_nothing_is_sent() -> None:
    view, display = cell()
    question = e.Question("q", "a", "approval", "Run it?", "rm -rf *\n" * 900, e.APPROVAL_CHOICES)
    play(view, [e.TurnStarted(1, "go"), e.ToolCalled("a", "bash", "rm")], 0)
    view.apply(e.ApprovalRequested(question), 1.01)
    count = len(display.sent)
    html = display.sent[-1]["text/html"]
    assert "Run it?" in html and html.count("rm -rf *") == 900
    for quarter in range(4 * 7_200):
        view.tick(2 + quarter / 4)
    assert len(display.sent) == count
    view.apply(e.ApprovalDecided(e.Answer("q", "allow")), 7_300)
    assert "Run it?" not in display.sent[-1]["text/html"]


def test_reasoning_is_one_line_with_its_size_and_gone_at_the_end() -> None:
    view, display = cell()
    play(view, [e.TurnStarted(1, "go"), e.StepStarted(1), e.ReasoningDelta("secret thought")], 0)
    assert "reasoning, 14 characters" in display.sent[-1]["text/plain"]
    play(view, [e.TextDelta("Hi."), ended()], 5)
    assert "reasoning" not in "".join(display.sent[-1].values())
    assert "secret thought" not in "".join("".join(each.values()) for each in display.sent)


def test_the_tail_of_an_answer_opens_its_code_block_again() -> None:
    text = "Intro.\n\n```python\n" + "x = '*not emphasis*'\n" * 200
    cut = tail(text, 500)
    assert cut.startswith("…\n\n```\nx = ") and len(cut) < 520
    closed = tail(text + "```\nand *more* text\n" * 1 + "word " * 120, 500)
    assert closed.startswith("…\n\n") and "```" not in closed
    assert tail("short", 500) == "short"
    assert tail("y" * 600, 500) == "…\n\n" + "y" * 500


def test_a_display_that_was_cleared_away_is_shown_anew() -> None:
    view, display = cell()
    play(view, [e.TurnStarted(1, "go"), e.StepStarted(1)], 0)
    assert display.shown == 1
    view.forget()
    view.tick(10)
    view.apply(e.TextDelta("more"), 20)
    assert display.shown == 2
    assert "more" in display.sent[-1]["text/plain"]


# -- with a view in the page ------------------------------------------------------------------

MARK = {"kernel": "k", "turn": 3}


class Widget:
    mime = {"widget": {"model_id": "m"}}  # noqa: RUF012
    ready = False
    closed = 0

    def close(self) -> None:
        self.closed += 1


def live(*, ready: bool = False) -> tuple[CellView, Display, Widget]:
    display, widget = Display(), Widget()
    widget.ready = ready
    return CellView(display, lambda: Place(MARK, widget)), display, widget


def test_a_page_draws_the_turn_and_only_the_end_is_sent() -> None:
    view, display, widget = live()
    play(view, [e.TurnStarted(1, "go"), e.StepStarted(1)], 0)
    (first,) = display.sent
    assert set(first) == {"widget", "text/html", "text/markdown", "text/plain"}
    assert "go" in first["text/plain"] and "In progress" in first["text/html"]
    assert display.metadata == [{"shiro": MARK | {"ended": False}}]
    widget.ready = True
    view.tick(2)
    widget.ready = False  # it has gone again: nobody knows for how long
    question = e.Question("q", "a", "approval", "Run it?", "rm", e.APPROVAL_CHOICES)
    play(view, [e.TextDelta("text"), e.ToolCalled("a", "bash", "rm")], 10)
    view.apply(e.ApprovalRequested(question), 20)
    for second in range(100):
        view.tick(20 + second)
    assert len(display.sent) == 1 and not widget.closed
    view.apply(ended(), 200)
    assert display.sent[1:] == [left_behind(view.state)]
    assert display.metadata[-1] == {"shiro": MARK | {"ended": True}}
    assert widget.closed == 1


def test_where_no_page_draws_it_the_display_is_updated() -> None:
    view, display, widget = live()
    play(view, [e.TurnStarted(1, "go"), e.StepStarted(1)], 0)
    view.apply(e.TextDelta("early"), PATIENCE - 0.1)
    assert len(display.sent) == 1
    view.tick(PATIENCE)
    assert "widget" not in display.sent[-1] and "early" in display.sent[-1]["text/plain"]
    assert widget.closed == 1
    widget.ready = True  # too late
    view.apply(e.StepStarted(2), PATIENCE + 10)
    assert "thinking" in display.sent[-1]["text/plain"]
    view.apply(ended(), 60)
    assert display.sent[-1] == left_behind(view.state) and widget.closed == 1
    assert [each["shiro"]["ended"] for each in display.metadata[-2:]] == [False, True]


def test_a_question_that_no_page_showed_is_shown_when_patience_ends() -> None:
    view, display, _ = live()
    question = e.Question("q", "a", "approval", "Run it?", "rm", e.APPROVAL_CHOICES)
    play(view, [e.TurnStarted(1, "go")], 0)
    view.apply(e.ApprovalRequested(question), 0.5)
    assert "Run it?" not in display.sent[-1]["text/plain"]
    view.tick(PATIENCE)
    assert "Run it?" in display.sent[-1]["text/plain"]


def test_a_widget_that_was_cleared_away_is_shown_anew_but_not_all_the_time() -> None:
    view, display, widget = live(ready=True)
    play(view, [e.TurnStarted(1, "go"), e.StepStarted(1)], 0)
    for tenth in range(100):
        view.forget()
        view.tick(2 + tenth / 10)
    assert 10 < display.shown <= 2 + 10 / INTERVAL
    assert all("widget" in each for each in display.sent) and not widget.closed
    view.forget()
    view.apply(ended(), 60)
    assert display.sent[-1] == left_behind(view.state)


def test_a_turn_that_waits_says_so_in_its_cell_until_it_starts() -> None:
    view, display, _ = live(ready=True)
    view.behind(1)
    assert display.sent[-1]["text/plain"] == "waits behind 1 turn"
    assert display.metadata[-1] == {}
    play(view, [e.TurnStarted(1, "go")], 0)
    assert display.shown == 1 and "widget" in display.sent[-1]
    dropped, display, _ = live()
    dropped.behind(2)
    dropped.dropped("The prompt was taken off the queue.")
    assert "taken off" in display.sent[-1]["text/html"] and display.shown == 1
