from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core import events as e
from shiro_jupyter.core.events import Event
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.views import page
from shiro_jupyter.views.markdown_safe import to_html
from shiro_jupyter.views.page import INTERVAL, About, Message, PageView
from shiro_jupyter.views.state import TurnState, footer
from tests.support.patches import Follower
from tests.views.turns import ANY_EVENT, TURNS, Timed, ended, timed

EPOCH = 1_000_000.0


class Stage:
    """A page view with one page that follows from the start."""

    def __init__(self, *, following: bool = True) -> None:
        self.sent: list[Message] = []
        self.follower = Follower()
        self.origin = About("cell", "c1")
        self.view = PageView(self._send, lambda: self.origin, EPOCH)
        self.view.following = following
        self.others: list[Follower] = []

    def _send(self, message: Message) -> None:
        self.sent.append(json.loads(json.dumps(message)))
        for each in (self.follower, *self.others):
            each.take(self.sent[-1])

    def play(self, events: list[Timed]) -> None:
        for event, at in events:
            self.view.apply(event, at)
            self.view.tick(at)

    def model(self, turn: int = 1) -> Any:
        return self.follower.models[turn]

    def size(self) -> int:
        return sum(len(json.dumps(message, ensure_ascii=False)) for message in self.sent)


def waits(*prompts: str) -> e.QueueChanged:
    return e.QueueChanged(tuple(e.Waiting(at, text) for at, text in enumerate(prompts)))


def played(*events: Event, every: float = 0.5) -> Stage:
    stage = Stage()
    stage.play(timed(events, every))
    return stage


# -- the model --------------------------------------------------------------------------------


def test_the_model_of_a_running_call() -> None:
    stage = Stage()
    for event, at in timed(TURNS["todos"]()):
        stage.view.apply(event, at)
        if isinstance(event, e.TodosChanged):
            break
    assert stage.model() == {
        "number": 1,
        "prompt": "do it all",
        "origin": "cell",
        "cell": "c1",
        "phase": "tool",
        "status": "running todo_write",
        "since": 101.5 + EPOCH,
        "until": None,
        "tokens": "",
        "reasoning": "",
        "work": [],
        "flight": {
            "id": "a",
            "name": "todo_write",
            "summary": "4 tasks",
            "output": "",
            "called": True,
        },
        "answer": [],
        "data": None,
        "notes": [],
        "questions": [],
        "tasks": {
            "bar": "tasks ##########.............................. 1/4  1 blocked",
            "lines": [
                "[x] load the data",
                "[~] clean the dates",
                "[!] deploy (no credentials)",
                "[ ] report",
            ],
        },
        "queue": [],
        "ended": None,
    }
    assert stage.sent[-1]["now"] == 102.0 + EPOCH


def test_the_model_of_a_turn_that_changed_data() -> None:
    assert played(*TURNS["two_tools"]()).model()["data"] == {
        "changes": "df 10,000 → 9,812 rows, +price_eur · new: mean",
        "unkept": "The code that bound df, mean ran in no cell: %shiro /keep puts it into cells.",
    }
    bare = played(e.TurnStarted(1, "hi"), e.DataChanged("new: \x1bx"), ended()).model()["data"]
    assert bare == {"changes": "new: ␛x", "unkept": ""}


def test_only_names_that_are_left_are_offered_to_keep() -> None:
    stage = played(*TURNS["two_tools"]())
    stage.view.narrow(1, ["mean", "other"], 200.0)
    assert stage.model()["data"]["unkept"].startswith("The code that bound mean ran in no cell")
    stage.view.narrow(1, [], 200.0)
    assert stage.model()["data"]["unkept"] == ""
    bare = played(e.TurnStarted(1, "hi"), e.DataChanged("", ("x",)), ended())
    bare.view.narrow(1, (), 200.0)
    assert bare.model()["data"] is None


def test_the_model_of_an_ended_turn() -> None:
    model = played(*TURNS["one_tool"]()).model()
    assert model["work"] == [
        {"kind": "said", "html": "<p>Let me look.</p>\n"},
        {
            "kind": "tool",
            "id": "a",
            "name": "read_file",
            "summary": "data/sales.csv",
            "mark": "✓",
            "outcome": "ok",
            "details": "0.3 s",
            "output": "1: date,city\n2: 2024-01-01,Rome",
            "diff": "",
            "pictures": [],
        },
    ]
    assert model["answer"] == ["<p>Dates and cities.</p>\n"]
    assert (model["phase"], model["since"], model["flight"]) == ("ended", None, None)
    assert model["ended"] == {
        "outcome": "answered",
        "reason": "",
        "footer": "answered · 1,234 tokens in (1,000 cached), 56 out · 4.2 s",
    }


def test_a_call_has_the_keys_of_what_it_drew() -> None:
    model = played(
        e.TurnStarted(1, "draw"),
        e.ToolCalled("a", "run_python", "plot()"),
        e.PicturesDrawn("a", ("1", "2")),
        e.PicturesDrawn("b", ("3",)),  # of no call that runs
        e.ToolFinished("a", "run_python", "ok", "shown"),
    ).model()
    (card,) = model["work"]
    assert card["pictures"] == ["1", "2"]


def test_a_question_with_its_choices_and_what_binds_the_answer() -> None:
    question = e.Question("q", "a", "approval", "Run?", "rm \u202e", e.APPROVAL_CHOICES, "d1")
    stage = played(
        e.TurnStarted(1, "go"), e.ToolCalled("a", "bash", "rm"), e.ApprovalRequested(question)
    )
    assert stage.model()["questions"] == [
        {
            "id": "q",
            "kind": "approval",
            "title": "Run?",
            "preview": "rm ⟨U+202E⟩",
            "diff": "",
            "choices": [
                {"choice": "allow", "label": "Allow"},
                {"choice": "session", "label": "Allow for this session (exactly this)"},
                {"choice": "deny", "label": "Deny"},
            ],
            "digest": "d1",
            "free": True,
        }
    ]
    assert (stage.model()["status"], stage.model()["since"]) == ("waiting for you", None)


def test_a_choice_is_answered_as_it_stands_and_read_as_it_can_be_seen() -> None:
    question = e.Question("q", "a", "ask", "Which?", "", ("a\u202eb", "allow"))
    stage = played(e.TurnStarted(1, "go"), e.ApprovalRequested(question))
    assert stage.model()["questions"][0]["choices"] == [
        {"choice": "a\u202eb", "label": "a⟨U+202E⟩b"},
        {"choice": "allow", "label": "allow"},
    ]


def test_a_retry_counts_down_on_the_clock() -> None:
    stage = Stage()
    stage.play([(e.TurnStarted(1, "go"), 5.0), (e.Retrying("Busy.", 8.0), 10.0)])
    model = stage.model()
    assert (model["status"], model["until"]) == ("retrying (Busy)", EPOCH + 18.0)


def test_text_is_the_answer_until_a_call_follows_it() -> None:
    stage = played(e.TurnStarted(1, "go"), e.StepStarted(1), e.TextDelta("Let me *look*."))
    said = "<p>Let me <em>look</em>.</p>\n"
    assert (stage.model()["answer"], stage.model()["work"]) == ([said], [])
    stage.view.apply(e.ToolStarted("a", "bash"), 200)
    assert (stage.model()["answer"], stage.model()["work"]) == (
        [],
        [{"kind": "said", "html": said}],
    )
    stage.play(timed([e.ToolFinished("a", "bash", "ok", ""), ended("limited", "Stopped.")], 300))
    assert stage.model()["answer"] == [] and len(stage.model()["work"]) == 2


def test_the_answer_at_the_end_is_that_of_the_whole_text() -> None:
    """While it streams, a link whose target comes last is not known to be one."""
    text = "See [the docs][1].\n\nMore.\n\nAnd more.\n\n[1]: https://example.org\n"
    stage = played(e.TurnStarted(1, "go"), *map(e.TextDelta, text))
    assert "href" not in "".join(stage.model()["answer"])
    stage.view.apply(ended(), 500)
    assert "".join(stage.model()["answer"]) == to_html(text)
    assert "href" in stage.model()["answer"][0]


def test_the_queue_and_the_tasks_outlive_a_turn_and_its_model_does_not_change() -> None:
    stage = played(
        waits("early"), *TURNS["todos"](), waits("next", "after"),
    )  # fmt: skip
    before = stage.model()
    stage.origin = About("panel")
    stage.play(timed([e.TurnStarted(2, "next"), waits("after")], 200))
    assert stage.model(1) is before and before["queue"] == []
    assert (stage.model(2)["queue"], stage.model(2)["origin"]) == (["next: after"], "panel")
    assert stage.model(2)["tasks"]["lines"][0] == "[x] load the data"


HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m\ud83d"


def test_nothing_of_a_model_or_a_tool_gets_out_as_it_stands() -> None:
    question = e.Question("q", "c", "approval", HOSTILE, HOSTILE, (HOSTILE,))
    stage = played(
        e.TurnStarted(1, HOSTILE),
        e.QueueChanged((e.Waiting(1, HOSTILE),), (e.Waiting(2, HOSTILE),)),
        e.Steered(HOSTILE),
        e.TodosChanged((Todo(HOSTILE, "blocked", HOSTILE),)),
        e.Notice(HOSTILE),
        e.StepStarted(1),
        e.ReasoningDelta(HOSTILE),
        e.TextDelta(HOSTILE),
        e.ToolCalled("a", HOSTILE, HOSTILE),
        e.ToolFinished("a", HOSTILE, "failed", HOSTILE),
        e.TextDelta(HOSTILE),
        e.ToolCalled("b", HOSTILE, HOSTILE),
        e.ToolOutput("b", HOSTILE),
    )
    models = [stage.model()]
    stage.play([(e.ApprovalRequested(question), 300)])
    models.append(json.loads(json.dumps(stage.model())))
    models[-1]["questions"][0]["choices"][0]["choice"] = ""  # what an answer is compared with
    stage.play([(e.Retrying(HOSTILE, 3), 301), (ended("failed", HOSTILE), 302)])
    models.append(stage.model())
    shown = json.dumps(models, ensure_ascii=False)
    assert all(hidden not in shown for hidden in ("\u202e", "\x1b", "\\u001b", "\ud83d"))
    html = [part["html"] for model in models for part in model["work"] if part["kind"] == "said"]
    html += [part for model in models for part in model["answer"]]
    assert len(html) >= 4 and not any("<img" in each for each in html)


# -- what is sent -----------------------------------------------------------------------------


@given(
    st.lists(st.tuples(ANY_EVENT, st.floats(0, 0.3), st.booleans()), max_size=40),
    st.sampled_from(["answered", "interrupted", "limited", "failed"]),
)
def test_who_follows_has_the_model_of_a_snapshot_at_any_time(
    told: list[tuple[Event, float, bool]], outcome: str
) -> None:
    stage, at = Stage(), 10.0
    stage.view.apply(e.TurnStarted(1, "go"), at)
    for event, wait, looked in told:
        at += wait
        stage.view.apply(event, at)
        if looked:
            for message in stage.view.snapshots(at):
                turn = message["turn"]
                assert message["patch"]["="] == stage.model(turn)
                assert message["seq"] == stage.follower.seqs[turn]
    stage.view.apply(ended(outcome), at + 1)
    model = stage.model(max(stage.follower.models))
    assert (model["reasoning"], model["flight"], model["questions"]) == ("", None, [])
    assert (model["phase"], model["ended"]["outcome"]) == ("ended", outcome)
    assert stage.follower.gaps == 0
    # The same events, looked at by nobody until now, give the same model.
    late = Stage(following=False)
    late.view.apply(e.TurnStarted(1, "go"), at := 10.0)
    for event, wait, _ in told:
        late.view.apply(event, at := at + wait)
    late.view.apply(ended(outcome), at + 1)
    assert late.sent == []
    whole = {each["turn"]: each["patch"]["="] for each in late.view.snapshots(at)}
    assert whole == stage.follower.models


def test_a_page_that_comes_between_two_patches_makes_no_gap_and_applies_none_twice() -> None:
    stage, newcomer = Stage(), Follower()
    stage.view.apply(e.TurnStarted(1, "go"), 10.0)
    stage.view.apply(e.TextDelta("One"), 10.01)
    assert stage.model()["answer"] == []  # it waits for its time
    stage.others.append(newcomer)
    for message in stage.view.snapshots(10.02):
        newcomer.take(message)
    assert newcomer.models[1]["answer"] == stage.model()["answer"] == ["<p>One</p>\n"]
    newcomer.gaps = 0  # what it was told before its snapshot
    for number in range(20):
        stage.view.apply(e.TextDelta(f", {number}"), 10.03 + number / 50)
    stage.view.apply(ended(), 12)
    assert newcomer.models == stage.follower.models and newcomer.seqs == stage.follower.seqs
    assert (newcomer.gaps, stage.follower.gaps) == (0, 0)


def test_who_was_not_told_meanwhile_sees_a_gap_only_where_somebody_looked() -> None:
    stage = played(e.TurnStarted(1, "go"), e.TextDelta("One"))
    stage.view.following = False
    stage.view.apply(e.TextDelta(", two"), 300)
    stage.view.following = True
    stage.view.apply(e.TextDelta(", three"), 301)
    assert stage.follower.gaps == 0 and stage.model()["answer"] == ["<p>One, two, three</p>\n"]
    stage.view.following = False
    stage.view.apply(e.TextDelta(", four"), 302)
    assert stage.view.snapshot(1, 303) is not None
    stage.view.following = True
    stage.view.apply(e.TextDelta(", five"), 304)
    assert stage.follower.gaps == 1
    stage.follower.take(stage.view.snapshot(1, 305) or {})
    assert stage.model()["answer"] == ["<p>One, two, three, four, five</p>\n"]


def test_nothing_is_worked_out_while_nobody_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(following=False)
    with monkeypatch.context() as patched:
        patched.setattr(page, "standing", None)
        stage.play(timed(TURNS["one_tool"]()))
    assert stage.sent == []
    stage.view.following = True
    snapshot = stage.view.snapshot(1, 200)
    assert stage.sent == []  # whoever comes is given it, and nobody else knows of it
    assert snapshot and snapshot["patch"]["="]["answer"] == ["<p>Dates and cities.</p>\n"]


def test_a_burst_is_one_message_and_what_waits_comes_with_the_tick() -> None:
    stage = Stage()
    stage.play([(e.TurnStarted(1, "go"), 10.0), (e.StepStarted(1), 10.05)])
    assert len(stage.sent) == 1
    for number in range(200):  # in one second
        stage.view.apply(e.TextDelta(f"w{number} "), 10.2 + number / 200)
    assert len(stage.sent) <= 2 + 1 / INTERVAL
    stage.view.tick(11.5)
    assert "w199" in stage.model()["answer"][-1]
    count = len(stage.sent)
    for number in range(100):
        stage.view.tick(12 + number)
    assert len(stage.sent) == count


def test_a_question_its_answer_and_the_end_are_sent_at_once() -> None:
    stage = Stage()
    question = e.Question("q", "a", "ask", "Which?", "", ("x", "y"))
    stage.play([(e.TurnStarted(1, "go"), 10.0)])
    for event in (
        e.ApprovalRequested(question),
        e.ApprovalDecided(e.Answer("q", "x")),
        ended("interrupted"),
    ):
        count = len(stage.sent)
        stage.view.apply(event, 10.01)
        assert len(stage.sent) == count + 1


def test_nothing_is_sent_while_a_question_waits() -> None:
    question = e.Question("q", "a", "ask", "Which?")
    stage = played(
        e.TurnStarted(1, "go"), e.ToolCalled("a", "ask", "Which?"), e.ApprovalRequested(question)
    )
    count = len(stage.sent)
    for second in range(7_200):
        stage.view.tick(200 + second)
    assert len(stage.sent) == count


def answer(size: int) -> Stage:
    """A text of `size` characters, in 200 deltas a second of six characters, ticked."""
    words = "It **has** `9,812` rows, of which [some](https://example.org) are\nnot worth it. "
    paragraph = (words * 6)[:400] + "\n\n```python\nprint(df.head())\n```\n\n- one\n- two\n\n"
    text = (paragraph * (size // len(paragraph) + 1))[:size]
    stage = Stage()
    stage.play([(e.TurnStarted(1, "go"), 0.0), (e.StepStarted(1), 0.1)])
    ticks = 0
    for number, start in enumerate(range(0, size, 6)):
        at = 1 + number / 200
        while ticks * 0.1 < at:
            stage.view.tick(ticks * 0.1)
            ticks += 1
        stage.view.apply(e.TextDelta(text[start : start + 6]), at)
    stage.view.apply(ended(), 100)
    assert "".join(stage.model()["answer"]) == to_html(text)
    return stage


def test_bytes_grow_with_the_answer_and_no_faster() -> None:
    half, whole = answer(12_000), answer(24_000)
    assert whole.size() < 120_000
    assert 1.8 * half.size() < whole.size() < 2.2 * half.size()
    assert len(whole.sent) < 20 / INTERVAL + 5


def test_bytes_of_reasoning_and_of_output_grow_with_them_and_no_faster() -> None:
    def sent(event: Any, size: int) -> int:
        stage = Stage()
        stage.play([(e.TurnStarted(1, "go"), 0.0), (e.ToolCalled("a", "bash", "x"), 0.1)])
        for number in range(size // 60):
            stage.view.apply(event(f"{number:>58}.\n"), 1 + number / 20)
        return stage.size()

    for event in (e.ReasoningDelta, lambda text: e.ToolOutput("a", text)):
        short, long = sent(event, 60_000), sent(event, 120_000)
        assert short < 60_000 * 6 and long < 2.3 * short


# -- bounds -----------------------------------------------------------------------------------


def test_reasoning_is_shown_by_its_end() -> None:
    stage = Stage()
    stage.play([(e.TurnStarted(1, "go"), 0.0), (e.StepStarted(1), 0.1)])
    cuts, before = 0, ""
    for number in range(1_000):
        stage.view.apply(e.ReasoningDelta(f"{number:>99} "), 1 + number)
        shown = stage.model()["reasoning"]
        assert len(shown) <= page.REASONING_SHOWN + 1 and shown.endswith(f"{number} ")
        cuts, before = cuts + (not shown.startswith(before)), shown
    assert cuts == 8 and before.startswith("…")
    stage.view.apply(e.StepStarted(2), 2_000)
    assert stage.model()["reasoning"] == ""


def test_a_long_turn_stays_bounded_and_each_message_too() -> None:
    stage = Stage()
    stage.play([(e.TurnStarted(1, "p" * 50_000), 0.0), (e.StepStarted(1), 0.5)])
    for number in range(200):
        at = float(10 * number)
        stage.play(
            [
                (e.ToolCalled("a", "bash", "x" * 5_000), at + 1),
                (e.ToolOutput("a", "y" * 50_000), at + 2),
                (e.ToolFinished("a", "bash", "ok", f"{number}:" + "z" * 30_000), at + 3),
                (e.Notice("n" * 5_000), at + 4),
            ]
        )
    stage.play([(e.TodosChanged(tuple(Todo(f"task {n}") for n in range(500))), 9_000)])
    model = stage.model()
    outputs = [card["output"] for card in model["work"]]
    assert len(outputs) == 200
    assert outputs[:170] == [page.NOT_SHOWN] * 170
    assert outputs[170].startswith("170:z") and "characters not shown" in outputs[170]
    assert model["tasks"]["lines"][-1] == "… 400 more"
    assert len(model["prompt"]) < 21_000 and len(model["notes"]) == page.NOTES_SHOWN
    assert len(json.dumps(model)) < 400_000
    assert all(len(json.dumps(each)) < 150_000 for each in stage.sent)


def test_a_preview_is_shown_whole_up_to_its_bound() -> None:
    question = e.Question("q", "a", "approval", "Run it?", "rm -rf *\n" * 3_000)
    stage = played(e.TurnStarted(1, "go"), e.ApprovalRequested(question))
    assert stage.model()["questions"][0]["preview"].count("rm -rf *") == 3_000


def test_a_diff_says_which_lines_are_which_as_it_is_shown() -> None:
    preview = "1 line added, 1 line removed\n@@ -1 +1 @@\n-a\u202eb\r\n+c"
    question = e.Question("q", "a", "approval", "Change it?", preview)
    told = "--- a/x\n+++ b/x\n@@ -1,900 +1,900 @@\n" + "-old\n" * 900 + "+new\n" * 900
    done = e.ToolFinished("b", "git_diff", "ok", told)
    stage = played(e.TurnStarted(1, "go"), done, e.ApprovalRequested(question))
    asked, (card,) = stage.model()["questions"][0], stage.model()["work"]
    assert (asked["preview"].split("\n")[2:], asked["diff"]) == (["-a⟨U+202E⟩b", "+c"], " @-+")
    lines = card["output"].split("\n")
    cut = next(at for at, line in enumerate(lines) if "characters not shown" in line)
    assert card["diff"] == "@@@" + "-" * (cut - 3) + " " + "+" * (len(lines) - cut - 1)
    assert set(lines) - {lines[cut]} == {*lines[:3], "-old", "+new"}


def test_the_newest_turns_are_kept_and_counted_from_the_load() -> None:
    stage = Stage(following=False)
    for number in range(1, page.TURNS_KEPT + 4):
        stage.play([(e.TurnStarted(number + 7, "go"), number), (ended(), number + 0.5)])
    kept = stage.view.snapshots(100)
    assert [each["turn"] for each in kept] == list(range(4, page.TURNS_KEPT + 4))
    assert kept[0]["patch"]["="]["number"] == 11
    assert stage.view.snapshot(3, 100) is None and stage.view.snapshot(99, 100) is None


@pytest.mark.parametrize("name", TURNS)
def test_every_canonical_turn_is_told_to_its_end(name: str) -> None:
    stage, state = Stage(), TurnState()
    stage.play(timed(TURNS[name]()))
    for event, at in timed(TURNS[name]()):
        state.apply(event, at)
    model = stage.model()
    assert model["status"] == model["ended"]["footer"] == footer(state)
    assert (model["reasoning"], model["flight"], model["questions"]) == ("", None, [])
    assert len(model["work"]) + bool(model["answer"]) == len(state.work)
    assert "".join(model["answer"]) in ("", to_html(state.answer))
    assert stage.follower.gaps == 0


def test_what_was_sent_into_a_turn_is_a_part_of_its_work() -> None:
    stage = played(
        e.TurnStarted(1, "go"),
        e.StepStarted(1),
        e.ToolCalled("a", "bash", "ls"),
        e.ToolFinished("a", "bash", "ok", "x"),
        e.Steered("use *2024*\u202e"),
        e.StepStarted(2),
        e.TextDelta("Used."),
    )
    assert [each["kind"] for each in stage.model()["work"]] == ["tool", "asked"]
    assert stage.model()["work"][1] == {"kind": "asked", "text": "use *2024*⟨U+202E⟩"}
    assert stage.model()["answer"] == ["<p>Used.</p>\n"]
