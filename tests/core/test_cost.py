"""What model calls cost: counted for the turn, the session and the day; caps; a large request."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from shiro_jupyter.core import events
from shiro_jupyter.core.compaction import HEADINGS
from shiro_jupyter.core.cost import Ledger
from shiro_jupyter.core.errors import EndpointRefused, LimitReached
from shiro_jupyter.core.events import NO_COST, Answer, Cost, Notice, Question, TurnEnded, Usage
from shiro_jupyter.core.models import lone
from shiro_jupyter.core.models.base import Request
from shiro_jupyter.core.models.scripted import ScriptedCall, Step
from shiro_jupyter.core.notes.budget import Ask
from shiro_jupyter.core.transcript import User
from shiro_jupyter.core.turn import Limits
from tests.support.agents import MadeClock, Stage, allows

OPENAI, MINI = "https://api.openai.com/v1", "gpt-5-mini"
# At two dollars a million tokens out.
FORTY_CENTS = Usage(output=200_000)
LOOK = ScriptedCall("list_dir", {"path": "."})
FOUR = [Step(calls=[LOOK], usage=FORTY_CENTS)] * 3 + [Step("Done.", usage=FORTY_CENTS)]


def hosted(folder: Path, *steps: Step, **more: object) -> Stage:
    """A model of OpenAI's, by its name and address; the script plays it."""
    values = {"base_url": OPENAI, "name": MINI, **more}
    return Stage(folder / "project", steps, **values)  # type: ignore[arg-type]


def play(stage: Stage, *prompts: str) -> list[TurnEnded]:
    async def run() -> list[TurnEnded]:
        ended = [await stage.agent.submit(prompt) for prompt in prompts or ("go",)]
        await stage.check_whole()
        return ended

    return asyncio.run(run())


def warnings(stage: Stage) -> list[str]:
    return [notice.text for notice in stage.of(Notice) if notice.level == "warning"]


# -- what is counted -------------------------------------------------------------------------


def test_a_turn_costs_what_its_calls_do(tmp_path: Path) -> None:
    used = Usage(input=1_000_000, cached=600_000, output=100_000)
    stage = hosted(tmp_path, Step(calls=[LOOK], usage=used), Step("Hi.", usage=FORTY_CENTS))
    (ended,) = play(stage)
    # A million in at 0.25, of which 0.6 at 0.025; 0.3 million out at 2.
    assert ended.cost == pytest.approx(0.4 * 0.25 + 0.6 * 0.025 + 0.3 * 2)
    assert ended.usage == used + FORTY_CENTS and ended.session_cost == ended.cost
    (spent,) = stage.session.spent
    assert (spent.turn, spent.usage) == (1, ended.usage)
    assert spent.cost == Cost(pytest.approx(ended.cost), priced=2)


def test_a_session_adds_its_turns_up(tmp_path: Path) -> None:
    stage = hosted(tmp_path, *[Step("Hi.", usage=FORTY_CENTS)] * 3)
    ended = play(stage, "a", "b", "c")
    assert [each.cost for each in ended] == pytest.approx([0.4] * 3)
    assert [each.session_cost for each in ended] == pytest.approx([0.4, 0.8, 1.2])
    assert stage.session.cost == Cost(pytest.approx(1.2), priced=3)


@pytest.mark.parametrize(
    ("where", "used", "cost"),
    [
        ({"name": "gpt-nobody-knows"}, FORTY_CENTS, Cost(unknown=1)),
        ({"base_url": "https://models.example.org/v1"}, FORTY_CENTS, Cost(unknown=1)),
        ({}, Usage(), Cost(unknown=1)),  # the server tells no usage
        ({"base_url": "http://127.0.0.1:8080/v1"}, FORTY_CENTS, Cost(local=1)),
    ],
)
def test_what_is_not_known_is_not_shown_as_nothing(
    tmp_path: Path, where: dict[str, str], used: Usage, cost: Cost
) -> None:
    stage = hosted(tmp_path, Step("Hi.", usage=used), **where)
    (ended,) = play(stage)
    assert ended.cost is None and ended.session_cost is None
    assert replace(stage.session.cost, dollars=0.0) == cost and not warnings(stage)
    assert bool(stage.session.cost.dollars) == (used == Usage())  # by our estimate


def test_a_call_that_broke_off_makes_the_cost_of_its_turn_unknown(tmp_path: Path) -> None:
    error = EndpointRefused("The line broke.")
    broken = Step("Half an ans", error=error)
    stage = hosted(tmp_path, Step(calls=[LOOK], usage=FORTY_CENTS), broken)
    (ended,) = play(stage)
    assert (ended.outcome, ended.cost) == ("interrupted", None)
    assert stage.session.cost == Cost(pytest.approx(0.4, rel=0.01), priced=1, unknown=1)
    assert stage.session.cost.dollars > 0.4  # what was read of it, by our estimate


def test_a_call_that_was_refused_costs_nothing(tmp_path: Path) -> None:
    refused = Step(error=EndpointRefused("No such model."))
    stage = hosted(tmp_path, Step(calls=[LOOK], usage=FORTY_CENTS), refused)
    (ended,) = play(stage)
    assert ended.outcome == "failed" and ended.cost == pytest.approx(0.4)


# -- caps ------------------------------------------------------------------------------------


def test_a_cap_warns_once_and_stops_before_the_call_beyond_it(tmp_path: Path) -> None:
    stage = hosted(tmp_path, *FOUR, limits=Limits(cost=1.0))
    first, second = play(stage, "go", "go on")
    assert first.outcome == second.outcome == "limited"
    assert first.reason == (
        "Stopped: this session's calls have cost $1.20, and max_cost is $1.00; set it higher "
        "(SHIRO_MAX_COST), or begin another with /clear."
    )
    assert len(stage.model.requests) == 3
    assert (first.cost, second.cost) == (pytest.approx(1.2), None)
    assert warnings(stage) == [
        "This session's calls have cost $0.8000; at max_cost ($1.00) no further one is made."
    ]


def test_a_cap_that_is_raised_lets_the_next_turn_run(tmp_path: Path) -> None:
    stage = hosted(tmp_path, *FOUR, limits=Limits(cost=1.0))
    play(stage)
    stage.agent.limits = replace(stage.agent.limits, cost=2.0)
    (ended,) = play(stage, "go on")
    assert ended.outcome == "answered" and len(warnings(stage)) == 2  # at 80 % of two dollars


def test_a_cap_holds_for_what_a_session_had_cost_before(tmp_path: Path) -> None:
    stage = hosted(tmp_path, Step("Hi."), limits=Limits(cost=1.0))
    stage.session.add_usage(FORTY_CENTS, Cost(1.5, priced=4))
    assert play(stage)[0].outcome == "limited" and not stage.model.requests


def test_a_cap_of_the_day_counts_all_kernels(tmp_path: Path) -> None:
    other, here = (Ledger(tmp_path / "spending", MadeClock(), print) for _ in range(2))
    other.add(Cost(0.9, priced=1))
    stage = hosted(tmp_path, *FOUR, limits=Limits(cost_day=1.0), ledger=here)
    (ended,) = play(stage)
    assert ended.reason == (
        "Stopped: today's calls have cost $1.30, and max_cost_day is $1.00; set it higher "
        "(SHIRO_MAX_COST_DAY), or go on tomorrow."
    )
    assert len(stage.model.requests) == 1 and other.today().dollars == pytest.approx(1.3)


def test_a_cap_that_cannot_stop_calls_of_unknown_price_says_so_once(tmp_path: Path) -> None:
    limits = Limits(cost=1.0, cost_day=5.0)
    stage = hosted(tmp_path, *FOUR, name="gpt-nobody-knows", limits=limits)
    (ended,) = play(stage)
    assert ended.outcome == "answered"
    assert warnings(stage) == [
        f"The price of gpt-nobody-knows at {OPENAI} is not known: what its calls cost is not "
        "counted, and max_cost and max_cost_day cannot stop them."
    ]


@pytest.mark.parametrize("broken", [None, EndpointRefused("The line broke.")])
def test_a_cap_holds_by_estimate_where_the_endpoint_counts_nothing(
    tmp_path: Path, broken: EndpointRefused | None
) -> None:
    kept, other = (Ledger(tmp_path / "spending", MadeClock(), print) for _ in range(2))
    steps = [Step("word " * 50_000, error=broken)] * 4
    limits = Limits(cost=0.15, cost_day=0.15)
    stage = hosted(tmp_path, *steps, limits=limits, ledger=kept)
    ended = play(stage, "a", "b", "c")
    # About 50,000 tokens out at two dollars a million, and some in.
    each = stage.session.spent[0].cost
    assert 0.09 < each.dollars < 0.11 and (each.priced, each.unknown) == (0, 1)
    assert ended[0].cost is None and ended[2].outcome == "limited"
    assert len(stage.model.requests) == 2
    assert other.today() == stage.session.cost and other.today().unknown == 2
    told, *caps = warnings(stage)
    assert told == (
        "What a call of gpt-5-mini used was not counted by the endpoint: what it cost is "
        "estimated, which counts towards max_cost and max_cost_day."
    )
    assert "session's calls have cost about $0.2" in caps[0] and len(caps) == 2
    assert ended[2].reason.startswith("Stopped: this session's calls have cost about $0.2")


def test_a_model_on_this_machine_goes_on_beyond_any_cap(tmp_path: Path) -> None:
    stage = hosted(tmp_path, Step("Hi."), base_url="", limits=Limits(cost=1.0))
    stage.session.add_usage(FORTY_CENTS, Cost(1.5, priced=4))
    assert play(stage)[0].outcome == "answered" and not warnings(stage)


def test_a_compaction_is_a_call_like_others(tmp_path: Path) -> None:
    stage = hosted(tmp_path, Step("Hi.", usage=FORTY_CENTS), limits=Limits(cost=0.3))
    play(stage, "word " * 2000)
    with pytest.raises(LimitReached, match="this session's calls have cost"):
        asyncio.run(stage.agent.compact())
    assert len(stage.model.requests) == 1


# -- a large request -------------------------------------------------------------------------

ASKS = Limits(ask_above=10_000)
LARGE, HALF = "word " * 12_000, "word " * 6_000  # tokens, about; the tools are some 3,000 more


def refuses(question: Question) -> Answer:
    return Answer(question.id, events.DENY)


def test_a_large_request_is_asked_about_once_for_each_growth_by_as_much(tmp_path: Path) -> None:
    steps = [Step(calls=[LOOK]), Step("1"), Step("2"), Step("3"), Step("4"), Step("5")]
    stage = hosted(tmp_path, *steps, limits=ASKS, person=allows)
    ended = play(stage, "short", LARGE, "again", HALF, HALF)
    assert {each.outcome for each in ended} == {"answered"}
    sizes = [stage.agent.meter.tokens(each, stage.model.profile) for each in stage.model.requests]
    titles = [question.title for question in stage.asked]
    assert len(titles) == 2, sizes
    assert titles[0].startswith(f"Send about {sizes[2]:,} tokens to gpt-5-mini, at most $0.00")
    assert sizes[2] > 10_000 and f"about {sizes[5]:,} tokens" in titles[1]
    assert sizes[5] - sizes[2] > 10_000 > sizes[4] - sizes[2]


def test_a_large_request_says_what_it_is_made_of(tmp_path: Path) -> None:
    stage = hosted(tmp_path, Step("1"), limits=ASKS, person=allows)
    play(stage, LARGE)
    (question,) = stage.asked
    lines = question.preview.splitlines()
    assert lines[1].endswith("this turn") and "tools" in lines[2]
    assert (question.kind, question.choices) == ("approval", (events.ALLOW, events.DENY))


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        (
            None,
            "and nobody is here to agree to more than 10,000; make it smaller with /compact, or "
            "set ask_above higher.",
        ),
        (refuses, "Not sent, as you said, a request of about "),
    ],
)
def test_a_large_request_that_nobody_agrees_to_is_not_sent(
    tmp_path: Path, person: Callable[[Question], Answer] | None, reason: str
) -> None:
    stage = hosted(tmp_path, Step("1"), limits=ASKS, person=person)
    (ended,) = play(stage, LARGE)
    assert ended.outcome == "limited" and reason in ended.reason
    assert not stage.model.requests


@pytest.mark.parametrize(
    ("person", "reason"),
    [(None, "agree to more than 2,000; set ask_above higher."), (refuses, "/clear begins a new")],
)
def test_a_compaction_is_asked_about_too_and_not_sent_without_a_yes(
    tmp_path: Path, person: Callable[[Question], Answer] | None, reason: str
) -> None:
    async def noted(ask: Ask) -> tuple[str, tuple[str, ...]]:
        raise AssertionError(await ask("Update the note."))

    stage = hosted(tmp_path, Step("Hi."), person=person, update_notes=noted)
    play(stage, "word " * 6_000)
    stage.agent.limits = Limits(ask_above=2_000)
    with pytest.raises(LimitReached, match="Not sent") as refused:
        asyncio.run(stage.agent.compact())
    assert reason in str(refused.value) and "/compact" not in str(refused.value)
    assert len(stage.model.requests) == 1 and len(stage.asked) == bool(person)
    assert not stage.agent.queue.runs


def test_a_compaction_that_the_person_agrees_to_is_sent_and_their_time_is_not_its(
    tmp_path: Path,
) -> None:
    summary = "\n".join(f"## {each}\n- about {each}" for each in HEADINGS)
    stage = hosted(tmp_path, Step("Hi."), Step("Hi."), Step(summary), person=allows)
    play(stage, "word " * 6_000, "again")
    stage.agent.limits = Limits(ask_above=2_000, seconds=0.4)
    asking = stage.agent.ask

    async def slowly(question: Question) -> Answer | None:
        await asyncio.sleep(0.8)
        return await asking(question)

    stage.agent.ask = slowly
    assert asyncio.run(stage.agent.compact()).after < 2_000
    assert [each.title.partition(",")[0] for each in stage.asked] == ["Send about 6"]


def test_what_a_model_is_asked_aside_is_asked_about_too(tmp_path: Path) -> None:
    stage, asked = hosted(tmp_path, Step("Hi."), limits=ASKS), list[str]()

    async def agrees(question: Question) -> Answer:
        asked.append(question.title)
        return allows(question)

    allow = stage.agent.meter.aside(agrees)
    answer = lone.answer(stage.model, LARGE, stage.clock, stage.emit, allow)
    assert asyncio.run(answer) == "Hi." and len(asked) == 1


def test_what_grows_again_after_it_shrank_is_asked_about_again(tmp_path: Path) -> None:
    stage, asked = hosted(tmp_path, limits=ASKS), list[str]()
    meter, profile = stage.agent.meter, stage.model.profile

    async def agrees(question: Question) -> Answer:
        asked.append(question.title)
        return allows(question)

    async def run() -> list[int]:
        told = []
        for words in (12_000, 1_000, 9_000, 12_000):
            request = Request("", (), (User("word " * words, 1),), turn=1)
            await meter.allow(request, profile, agrees)
            told.append(len(asked))
        return told

    assert asyncio.run(run()) == [1, 1, 1, 2]


def test_no_bound_asks_nothing(tmp_path: Path) -> None:
    stage = hosted(tmp_path, Step("1"), person=refuses)
    assert play(stage, LARGE)[0].outcome == "answered" and not stage.asked


def test_the_time_that_a_person_takes_is_not_the_model_s(tmp_path: Path) -> None:
    stage = hosted(tmp_path, Step("1"), limits=replace(ASKS, seconds=0.4), person=allows)
    asking: Callable[[Question], Awaitable[Answer | None]] = stage.agent.ask

    async def slowly(question: Question) -> Answer | None:
        await asyncio.sleep(0.8)
        stage.clock.advance(100)
        return await asking(question)

    stage.agent.ask = slowly
    (ended,) = play(stage, LARGE)
    assert (ended.outcome, ended.seconds) == ("answered", 0.0)


def test_what_a_provider_counts_settles_whether_a_request_is_large(tmp_path: Path) -> None:
    """By estimate it is not; the provider counts half as much again."""
    limits = Limits(ask_above=12_000)
    stage = hosted(tmp_path, Step("1"), Step("2"), limits=limits, person=allows)
    size = 0

    def count(event: object) -> None:
        nonlocal size
        if isinstance(event, events.StepStarted) and not size:
            request = stage.agent.next_request(stage.model)
            size = stage.agent.meter.tokens(request, stage.model.profile)
            step = replace(stage.model._in_order[0], usage=Usage(input=size * 3 // 2, output=1))
            stage.model._in_order[0] = step

    stage.on_event = count
    play(stage, "word " * 8_000, "more")
    assert 10_000 < size < 12_000
    assert [question.title.split()[2] for question in stage.asked] == [
        f"{stage.agent.meter.tokens(stage.model.requests[1], stage.model.profile):,}"
    ]


# -- the ledger ------------------------------------------------------------------------------


def ledger(folder: Path, clock: MadeClock | None = None) -> tuple[Ledger, list[str]]:
    told: list[str] = []
    return Ledger(folder, clock or MadeClock(), told.append), told


def test_a_ledger_holds_amounts_and_nothing_else(tmp_path: Path) -> None:
    kept, told = ledger(tmp_path / "spending")
    for cost in (Cost(0.25, priced=1), Cost(unknown=1), Cost(local=1), Cost(1e-7, priced=1)):
        kept.add(cost)
    path = tmp_path / "spending" / "2026-01-05.jsonl"
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each.pop("usd") for each in entries] == [0.25, None, 1e-7]
    assert {frozenset(each) for each in entries} == {frozenset({"at"})}
    assert kept.today() == Cost(0.25 + 1e-7, priced=2, unknown=1) and not told
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_new_day_begins_with_nothing(tmp_path: Path) -> None:
    clock = MadeClock()
    kept, _ = ledger(tmp_path, clock)
    kept.add(Cost(1.0, priced=1))
    clock.advance(24 * 3600)
    assert kept.today() == NO_COST
    kept.add(Cost(2.0, priced=1))
    assert kept.today() == Cost(2.0, priced=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2026-01-05.jsonl", "2026-01-06.jsonl"]


def test_kernels_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from shiro_jupyter.core.cost import Ledger; from shiro_jupyter.core.events import Cost;"
        "from tests.support.agents import MadeClock;"
        "kept = Ledger(Path(sys.argv[1]), MadeClock(), print);"
        "print(flush=True); input();"
        "[kept.add(Cost(0.01, priced=1)) for _ in range(300)]"
    )
    kernels = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(2)
    ]
    for kernel in kernels:
        assert kernel.stdout and kernel.stdout.readline()
    watching, _ = ledger(tmp_path)
    for kernel in kernels:
        assert kernel.stdin
        kernel.stdin.write(b"\n")
        kernel.stdin.close()
    while any(kernel.poll() is None for kernel in kernels):
        watching.today()
        time.sleep(0.001)
    for kernel in kernels:
        assert kernel.stdout
        kernel.stdout.close()
        assert kernel.returncode == 0
    assert watching.today() == Cost(pytest.approx(6.0), priced=600)


def test_an_entry_that_was_cut_costs_no_other(tmp_path: Path) -> None:
    kept, _ = ledger(tmp_path)
    kept.add(Cost(1.0, priced=1))
    path = tmp_path / "2026-01-05.jsonl"
    with path.open("ab") as file:
        file.write(b'{"at": "2026-01-05T09:00", "usd": 0.')  # killed in the midst of it
    assert kept.today().dollars == 1.0
    kept.add(Cost(2.0, priced=1))
    with path.open("ab") as file:
        file.write(b'{"at": "x", "usd": 1e999}\n{"at": "x", "usd": -3}\n\0\0{"usd": 5}\n')
    kept.add(Cost(4.0, priced=1))
    assert kept.today() == Cost(7.0, priced=3) == ledger(tmp_path)[0].today()


def test_an_entry_that_is_half_written_counts_once_it_is_whole(tmp_path: Path) -> None:
    kept, _ = ledger(tmp_path)
    kept.add(Cost(1.0, priced=1))
    entry = b'{"at": "2026-01-05T09:00", "usd": 0.5}\n'
    with (tmp_path / "2026-01-05.jsonl").open("ab", buffering=0) as file:
        file.write(entry[:30])
        assert kept.today().dollars == 1.0
        file.write(entry[30:])
    assert kept.today() == Cost(1.5, priced=2)


def test_a_ledger_that_was_deleted_begins_anew(tmp_path: Path) -> None:
    kept, _ = ledger(tmp_path)
    kept.add(Cost(1.0, priced=1))
    kept.add(Cost(1.0, priced=1))
    assert kept.today().dollars == 2.0
    (tmp_path / "2026-01-05.jsonl").unlink()
    kept.add(Cost(0.5, priced=1))
    assert kept.today() == Cost(0.5, priced=1)


def test_what_cannot_be_written_down_is_told_once_and_counts_all_the_same(tmp_path: Path) -> None:
    blocked = tmp_path / "spending"
    blocked.write_text("a file where the folder should be")
    kept, told = ledger(blocked)
    for _ in range(3):
        kept.add(Cost(1.0, priced=1))
    assert kept.today() == Cost(3.0, priced=3)
    assert len(told) == 1 and told[0].startswith("What calls cost today is not written down: ")


@pytest.mark.skipif(os.name != "posix", reason="there are no pipes and devices among files")
@pytest.mark.parametrize("heard", [False, True])
def test_what_is_no_plain_file_holds_nobody_up(tmp_path: Path, heard: bool) -> None:
    path = tmp_path / "2026-01-05.jsonl"
    os.mkfifo(path)
    other = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if heard else -1
    kept, told = ledger(tmp_path)
    assert kept.today() == NO_COST
    kept.add(Cost(1.0, priced=1))
    assert kept.today() == Cost(1.0, priced=1) and len(told) == 1
    if heard:
        assert told[0].endswith(f"{path} is no plain file; put one in its place, and no link.")
        os.close(other)
    path.unlink()
    path.symlink_to("/dev/zero")
    assert kept.today() == Cost(1.0, priced=1)
