"""What an agent does where its conversation gets too long."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core import events
from shiro_jupyter.core.context.prune import enough
from shiro_jupyter.core.context.tokens import estimate_item
from shiro_jupyter.core.errors import EndpointError, EndpointRefused, NotCompacted
from shiro_jupyter.core.events import Compacted, Notice, TurnEnded, Usage
from shiro_jupyter.core.models.base import Piece, Request, TextPiece
from shiro_jupyter.core.models.room import UNKNOWN, room_for_items
from shiro_jupyter.core.models.scripted import ScriptedCall, ScriptedModel, Step
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Call, Item, Result, Summary, User
from tests.support.agents import Stage, allows
from tests.support.summing import SummingModel, faithful

WINDOW = 16_000
TOO_LONG = EndpointRefused("The conversation is too long.", code=EndpointError.TOO_LONG)


def look(path: str, text: str = "") -> Step:
    return Step(text, calls=[ScriptedCall("read_file", {"path": path})])


def play(
    root: Path,
    *steps: Step,
    prompts: tuple[str, ...] = ("go",),
    summary: Callable[[str], str] = faithful,
    then: Callable[[Stage], Awaitable[None]] | None = None,
    window: int = WINDOW,
    calling: Any = "native",
) -> tuple[Stage, SummingModel, list[TurnEnded]]:
    async def run() -> tuple[Stage, SummingModel, list[TurnEnded]]:
        stage = Stage(root / "project", steps, window=window)
        profile = replace(stage.model.profile, calling=calling)
        stage.model = model = SummingModel(steps, profile, summary)
        ended = [await stage.agent.submit(prompt) for prompt in prompts]
        await stage.check_whole()
        if then:
            await then(stage)
        model.check()
        return stage, model, ended

    write_files(root / "project")
    return asyncio.run(run())


def write_files(project: Path) -> None:
    project.mkdir(parents=True)
    for number in range(20):
        (project / f"{number}.txt").write_text(f"{number}\n" + f"{'word ' * 10}\n" * 150)
    (project / "long.txt").write_text("word\n" * 5_500)


def size(items: tuple[Item, ...]) -> int:
    return sum(map(estimate_item, items))


def room(request: Request, model: SummingModel) -> int:
    return room_for_items(request, model.profile)


def test_old_results_go_first_and_no_model_is_asked_for_a_summary(tmp_path: Path) -> None:
    steps = [look(f"{number}.txt") for number in range(15)]
    stage, model, _ = play(tmp_path, *steps, Step("done"))
    assert not model.asked
    (told,) = stage.of(Compacted)
    assert told.after <= enough(room(model.requests[-1], model)) < told.before
    assert all(size(each.items) <= room(each, model) for each in model.requests)
    assert stage.session.cut[1] > 0  # recorded, for a resume


def test_where_that_does_not_help_it_is_compacted_in_mid_turn_and_goes_on(tmp_path: Path) -> None:
    steps = [look("long.txt", "DECIDED semicolons"), look("long.txt"), look("0.txt", "NEXT plot")]
    stage, model, (ended,) = play(tmp_path, *steps, Step("done"), prompts=("Only look.",))
    assert ended.outcome == "answered"
    assert 1 <= len(model.asked) <= 2
    last = model.requests[-1].items
    assert isinstance(last[0], Summary) and last[1] == User("Only look.", 1)
    assert "- DECIDED semicolons" in last[0].text and "at work on it" in last[0].text
    assert size(last) < room(model.requests[-1], model)
    assert len(stage.of(Compacted)) == 1
    assert (
        ended.usage
        == stage.session.usage
        == Usage(50, 0, 5, 0) + (Usage(50, 0, 5, 0) if len(model.asked) == 2 else Usage())
    )
    kept = [item for item in stage.session.items if isinstance(item, Result)]
    assert len(kept) == 3 and len(kept[0].text) > 20_000  # nothing of the session is lost


def test_a_compaction_that_does_not_help_is_not_tried_at_each_step(tmp_path: Path) -> None:
    small = [ScriptedCall("bash", {"command": f"true {number}"}) for number in range(12)]
    steps = [look("long.txt"), *(Step(calls=[call]) for call in small)]
    long = {"prompts": ("word " * 5_000,), "window": 24_000}  # and little left for a reply
    stage, model, (ended,) = play(
        tmp_path,
        *steps,
        Step("done"),
        summary=lambda prompt: "",
        **long,  # type: ignore[arg-type]
    )
    assert ended.outcome == "answered"
    assert 1 <= len(model.asked) <= 3
    said = [each.text for each in stage.of(Notice) if "was not compacted" in each.text]
    assert len(said) == len(model.asked)
    assert not any(isinstance(item, Summary) for item in stage.session.items)


def test_what_an_endpoint_finds_too_long_is_pruned_once_and_sent_again(tmp_path: Path) -> None:
    steps = [look(f"{number}.txt") for number in range(8)]
    stage, model, (ended,) = play(tmp_path, *steps, Step(error=TOO_LONG), Step("done"), window=0)
    assert ended.outcome == "answered" and not model.asked
    refused, again = model.requests[-2:]
    assert size(again.items) <= size(refused.items) // 2
    assert len(stage.of(Compacted)) == 1
    assert len(stage.of(events.StepStarted)) == 9  # it is the same step


def test_then_it_is_compacted_once_and_then_the_turn_fails_with_the_sentence(
    tmp_path: Path,
) -> None:
    steps = [look(f"{number}.txt") for number in range(8)]
    refused = [Step(error=TOO_LONG)] * 3
    _, model, (ended,) = play(tmp_path, *steps, *refused, window=0)
    assert (ended.outcome, ended.reason) == ("failed", "The conversation is too long.")
    assert len(model.asked) == 1
    sizes = [size(each.items) for each in model.requests[-3:]]
    assert sizes[0] > sizes[1] > sizes[2]
    assert isinstance(model.requests[-1].items[0], Summary)


def test_where_nothing_can_be_pruned_it_is_compacted_at_once(tmp_path: Path) -> None:
    prompts = ("word " * 900, "more")
    steps = [Step("answer"), Step(error=TOO_LONG), Step("done")]
    _, model, (_, ended) = play(tmp_path, *steps, prompts=prompts, window=0)
    assert ended.outcome == "answered"
    assert len(model.requests) == 3


def test_after_text_was_seen_nothing_is_sent_again(tmp_path: Path) -> None:
    steps = [look("0.txt"), Step("It says", error=TOO_LONG)]
    _, model, (ended,) = play(tmp_path, *steps, window=0)
    assert ended.outcome == "interrupted" and len(model.requests) == 2


def test_another_refusal_is_not_taken_for_it(tmp_path: Path) -> None:
    steps = [look("0.txt"), Step(error=EndpointRefused("No."))]
    _, model, (ended,) = play(tmp_path, *steps, window=0)
    assert (ended.outcome, ended.reason) == ("failed", "No.")
    assert not model.asked


def test_a_client_that_writes_its_own_prompt_is_left_alone(tmp_path: Path) -> None:
    steps = [look("long.txt"), look("long.txt"), Step(error=TOO_LONG)]
    stage, model, (ended,) = play(tmp_path, *steps, calling="schema", window=2_000)
    assert ended.outcome == "failed"
    assert model.requests[-1].items == tuple(stage.session.items) and not model.asked


def test_what_fits_no_window_is_refused_in_a_sentence_and_the_next_prompt_works(
    tmp_path: Path,
) -> None:
    prompts = ("hi", "word " * 20_000, "short")
    _, model, ended = play(tmp_path, Step("Hello."), Step("Yes."), prompts=prompts)
    assert [each.outcome for each in ended] == ["answered", "limited", "answered"]
    said = re.sub(r"about [\d,]+ tokens", "about N tokens", ended[1].reason)
    assert said == (
        "Not sent: with the least of the conversation the request has about N tokens, and the "
        "window of scripted is 16,000; ask with a shorter prompt, choose a model with a larger "
        "window with /model, or set `window` where it has more."
    )
    assert [each.turn for each in model.requests] == [1, 3]
    assert all(size(each.items) < 1_000 for each in model.requests)


def test_what_fits_but_leaves_little_for_the_reply_is_sent(tmp_path: Path) -> None:
    """As is what may fit, since nobody knows the window."""
    _, model, (ended,) = play(tmp_path, Step("Yes."), prompts=("word " * 11_500,))
    assert ended.outcome == "answered" and room(model.requests[0], model) < size(
        model.requests[0].items
    )
    _, model, (ended,) = play(
        tmp_path / "other", Step("Yes."), prompts=("word " * 150_000,), window=0
    )
    assert ended.outcome == "answered" and size(model.requests[0].items) > UNKNOWN


# -- asked for by the person -----------------------------------------------------------------------


def test_a_compaction_keeps_the_task_list_and_what_is_asked_meanwhile_waits(tmp_path: Path) -> None:
    async def then(stage: Stage) -> None:
        stage.session.set_todos((Todo("Plot it.", "pending"),))
        compacting = asyncio.create_task(stage.agent.compact("the numbers"))
        await asyncio.sleep(0)
        ended = await stage.agent.submit("and now?")
        assert compacting.done() and ended.outcome == "answered"

    steps = [look("0.txt", "DECIDED dots"), Step("one"), Step("two")]
    stage, model, _ = play(tmp_path, *steps, prompts=("Keep raw/.",), then=then)
    assert "the numbers" in model.asked[0]
    summary, prompt, asked = model.requests[-1].items
    assert isinstance(summary, Summary) and "DECIDED dots" in summary.text
    assert (prompt, asked) == (User("Keep raw/.", 1), User("and now?", 2))
    assert "Plot it." in model.requests[-1].tail
    (told,) = stage.of(Compacted)
    assert told.before > told.after


def test_a_compaction_that_is_cancelled_or_refused_changes_nothing_and_holds_nobody_up(
    tmp_path: Path,
) -> None:
    async def then(stage: Stage) -> None:
        before = list(stage.session.items)
        with pytest.raises(NotCompacted, match="empty"):
            await stage.agent.compact()
        compacting = asyncio.create_task(stage.agent.compact())
        await asyncio.sleep(0)
        compacting.cancel()
        await asyncio.gather(compacting, return_exceptions=True)
        assert compacting.cancelled() and stage.session.items == before
        assert (await stage.agent.submit("go on")).outcome == "answered"

    steps = [look("0.txt"), Step("one"), Step("two")]
    stage, model, _ = play(tmp_path, *steps, summary=lambda prompt: "", then=then)
    assert not stage.of(Compacted)
    assert len(model.requests[-1].items) == 5


@pytest.mark.parametrize("way", ["stop", "interrupt", "abort"])
def test_a_compaction_is_stopped_as_a_turn_is_and_changes_nothing(tmp_path: Path, way: str) -> None:
    async def then(stage: Stage) -> None:
        before, agent = list(stage.session.items), stage.agent
        assert not (agent.stop() or agent.interrupt() or agent.queue.runs)
        compacting = asyncio.create_task(agent.compact())
        await asyncio.wait_for(asked.wait(), 5)
        assert agent.queue.runs and getattr(agent, way)() is not False
        with pytest.raises(NotCompacted, match="it was stopped; go on as it is"):
            await compacting
        assert not (agent.queue.runs or agent.compaction or agent.stop())
        assert stage.session.items == before
        assert (await agent.submit("go on")).outcome == "answered"

    asked = asyncio.Event()
    stage, _ = slow(tmp_path, asked, then)
    assert not stage.of(Compacted)


def test_a_compaction_has_no_longer_than_a_turn(tmp_path: Path) -> None:
    async def then(stage: Stage) -> None:
        before = list(stage.session.items)
        stage.agent.limits = replace(stage.agent.limits, seconds=0.05)
        with pytest.raises(NotCompacted, match=r"it took longer than 0.05 s \(max_turn_seconds\);"):
            await stage.agent.compact()
        assert stage.session.items == before and not stage.agent.queue.runs

    slow(tmp_path, asyncio.Event(), then)


def slow(
    root: Path, asked: asyncio.Event, then: Callable[[Stage], Awaitable[None]]
) -> tuple[Stage, list[TurnEnded]]:
    """After a turn a model that never comes to the end of a summary, but of an answer."""

    class Slow(ScriptedModel):
        async def stream(self, request: Request) -> AsyncIterator[Piece]:
            if not request.tools:
                asked.set()
                while True:
                    await asyncio.sleep(0.01)
                    yield TextPiece("on and on ")
            async for piece in super().stream(request):
                yield piece

    async def run() -> tuple[Stage, list[TurnEnded]]:
        steps = [look("0.txt"), Step("one"), Step("two")]
        stage = Stage(root / "project", steps, window=WINDOW)
        stage.model = Slow(steps, stage.model.profile)
        ended = [await stage.agent.submit("go")]
        await then(stage)
        return stage, ended

    write_files(root / "project")
    return asyncio.run(run())


# -- a long session --------------------------------------------------------------------------------


def test_a_long_session_keeps_instructions_files_decisions_and_what_remains(
    tmp_path: Path,
) -> None:
    """40 turns in a small window, compacted again and again, by itself and when asked."""
    rules = {1: "Dates are day-first.", 7: "Never touch raw/.", 23: "Use semicolons."}
    prompts = [rules.get(turn, f"Look at {turn % 20}.txt") for turn in range(1, 41)]
    steps = []
    for turn in range(1, 41):
        write = {"path": f"made{turn}.txt", "content": "x\n"}
        steps += [look("long.txt" if turn % 5 == 0 else f"{turn % 20}.txt", f"DECIDED d{turn}")]
        if turn % 10 == 3:
            steps += [Step(calls=[ScriptedCall("write_file", write)])]
        steps += [Step(f"Seen.\nNEXT n{turn}")]

    async def run() -> tuple[Stage, SummingModel]:
        stage = Stage(tmp_path / "project", steps, window=WINDOW, person=allows)
        stage.model = model = SummingModel(steps, stage.model.profile)
        for number, prompt in enumerate(prompts, start=1):
            ended = await stage.agent.submit(prompt)
            assert ended.outcome == "answered", ended.reason
            if number in (9, 30):
                await stage.agent.compact()
        await stage.agent.compact()
        return stage, model

    write_files(tmp_path / "project")
    stage, model = asyncio.run(run())
    summaries = [item for item in stage.session.items if isinstance(item, Summary)]
    assert 3 < len(summaries) == len(model.asked) < 25
    last = summaries[-1].text
    for rule in rules.values():
        assert last.count(rule) == 1
    for path in ("made3.txt", "made13.txt", "made23.txt", "made33.txt", "long.txt", "7.txt"):
        assert path in last
    decided = [turn for turn in range(1, 41) if f"- DECIDED d{turn}\n" in last]
    assert decided == list(range(1, 41))
    assert "- NEXT n40\n" in last and last.count("NEXT") == 1
    assert all(size(each.items) <= room(each, model) for each in model.requests)
    between = [type(item) for item in stage.session.items]
    assert (Summary, Summary) not in pairwise(between)
    calls = [item for item in stage.session.items if isinstance(item, Call)]
    assert len(calls) == 44  # none of them twice
