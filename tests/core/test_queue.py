"""The queue with the real loop: a prompt is in exactly one place, whatever happens when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.errors import EndpointRefused, UsageError
from shiro_jupyter.core.events import QueueChanged, Steered, TurnEnded, TurnStarted, Usage
from shiro_jupyter.core.models.base import CallPiece, Finished, Piece, Request
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.queue import BLANK, GONE, TAKEN_OFF, Queue
from shiro_jupyter.core.tools.base import Parameters, Tool, ToolContext, ToolResult
from shiro_jupyter.core.transcript import Assistant, Call, Note, Result, User
from tests.support.agents import Stage


class Nothing(Parameters):
    pass


class Held(Tool[Nothing]):
    """Runs until the test lets it end."""

    name: ClassVar[str] = "held"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Any] = "session"
    parameters = Nothing

    def __init__(self) -> None:
        self.gate: asyncio.Future[None] | None = None

    def summary(self, parameters: Nothing) -> str:
        return ""

    async def run(self, parameters: Nothing, context: ToolContext) -> ToolResult:
        self.gate = asyncio.get_running_loop().create_future()
        await self.gate
        return ToolResult("ok", f"done {context.call_id}")


class HeldModel:
    """Each step ends as the test says: `answer`, `call` or `fail`."""

    profile = Profile("held")

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.gate: asyncio.Future[str] | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        self.gate = asyncio.get_running_loop().create_future()
        match await self.gate:
            case "fail":
                raise EndpointRefused("It refused: ask again.")
            case "call":
                call = Call(f"c{len(self.requests)}", "held", "{}", request.turn, request.step)
                yield CallPiece(call.call_id, call.name)
                yield Finished((call,), Usage(), "calls")
            case _:
                yield Finished((Assistant("So.", request.turn, request.step),), Usage(), "stop")

    async def close(self) -> None:
        pass


@dataclass
class Desk:
    """A person at the prompt box: where each prompt is, by the number that its words begin with."""

    root: Path
    asked: list[asyncio.Task[TurnEnded]] = field(default_factory=list)
    removed: set[int] = field(default_factory=set)
    given_up: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tool, self.model = Held(), HeldModel()
        self.stage = Stage(self.root / "project", [], tools=(self.tool,))

        async def client() -> Any:
            return self.model

        self.agent = self.stage.agent
        self.agent.model = client

    async def type(self, words: str = "", *, now: bool = False) -> int:
        number = len(self.asked)
        prompt = self.agent.submit(f"{number} {words}", "page", now=now)
        self.asked.append(asyncio.create_task(prompt))
        await asyncio.sleep(0)
        return number

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def step(self, how: str) -> None:
        """End the model's step, or the call."""
        gate = self.tool.gate if how == "result" else self.model.gate
        if gate and not gate.done():
            gate.set_result(None if how == "result" else how)  # type: ignore[arg-type]

    @property
    def queued(self) -> list[int]:
        return [number_of(each.text) for each in self.agent.queue.waiting]

    @property
    def said(self) -> dict[int, int]:
        """Prompts in the transcript, and the turn of each."""
        items = self.stage.session.items
        users = [item for item in items if isinstance(item, User)]
        assert len({number_of(item.text) for item in users}) == len(users)
        return {number_of(item.text): item.turn for item in users}

    @property
    def back(self) -> list[int]:
        events = self.stage.of(QueueChanged)
        return [number_of(each.text) for event in events for each in event.back]

    def check(self) -> None:
        places = [*self.queued, *self.said, *self.back]
        for number in range(len(self.asked)):
            found = places.count(number)
            if number in self.removed:
                assert found == 0, number
            elif number in self.given_up:
                assert found <= 1, number
            else:
                assert found == 1, (number, self.queued, self.said, self.back)
        last = self.stage.of(QueueChanged)
        assert not last or last[-1].waiting == self.agent.queue.waiting

    async def check_ends(self) -> None:
        """What those who asked were told in the end."""
        ended = await asyncio.gather(*self.asked, return_exceptions=True)
        for number, how in enumerate(ended):
            if number in self.said:
                assert isinstance(how, TurnEnded | asyncio.CancelledError)
                if isinstance(how, TurnEnded):
                    assert how.turn == self.said[number]
                else:
                    assert number in self.given_up
            elif number in self.given_up:
                assert isinstance(how, asyncio.CancelledError) or how == TAKEN_OFF
            else:
                assert how == TAKEN_OFF
        started = [event.turn for event in self.stage.of(TurnStarted)]
        assert [event.turn for event in self.stage.of(TurnEnded)] == started


def number_of(text: str) -> int:
    return int(text.split()[0])


HAND = ("type", "type", "now", "edit", "remove", "steer", "give up", "interrupt", "stop", "abort")
OPS = st.tuples(
    st.sampled_from((*HAND, "tick", "tick", "answer", "call", "call", "result", "fail")),
    st.integers(0, 5),
)


async def act(desk: Desk, op: str, at: int) -> None:
    queue = desk.agent.queue
    waiting = queue.waiting[at % len(queue.waiting)] if queue.waiting else None
    match op:
        case "type" | "now":
            await desk.type(now=op == "now")
        case "edit" if waiting:
            queue.edit(waiting.id, f"{waiting.text} and more")
        case "remove" if waiting:
            desk.removed.add(number_of(queue.remove(waiting.id).text))
        case "steer" if waiting:
            queue.steer(waiting.id)
        case "give up" if desk.asked:
            number = at % len(desk.asked)
            if not desk.asked[number].done():
                desk.given_up.add(number)
                desk.asked[number].cancel()
                await asyncio.sleep(0)
        case "tick":
            await asyncio.sleep(0)
        case "answer" | "call" | "result" | "fail":
            await desk.step(op)
        case "interrupt":
            desk.agent.interrupt()
        case "stop":
            desk.agent.stop()
        case "abort":
            desk.agent.abort()


@given(st.lists(OPS, max_size=40), st.sampled_from(("answers", "abort", "closing")))
@settings(max_examples=400, deadline=None)
def test_a_prompt_is_in_exactly_one_place(ops: list[tuple[str, int]], end: str) -> None:
    async def run(root: Path) -> None:
        desk = Desk(root)
        for op, at in ops:
            await act(desk, op, at)
            desk.check()
        if end == "abort":
            desk.agent.abort()
        if end == "closing":  # as the agent's thread does
            for number, task in enumerate(desk.asked):
                if not task.done():
                    desk.given_up.add(number)
                    task.cancel()
        for _ in range(2 * len(ops) + 2):
            await desk.settle()
            await desk.step("result")
            await desk.step("answer")
            desk.check()
        assert all(task.done() for task in desk.asked)
        assert desk.agent.queue.waiting == ()
        await desk.check_ends()
        await desk.type("afterwards")  # nothing holds the queue
        await desk.settle()
        assert len(desk.asked) - 1 in desk.said
        desk.agent.stop()
        await desk.settle()

    with TemporaryDirectory() as name:
        asyncio.run(run(Path(name)))


# -- one by one ------------------------------------------------------------------------------


def played(root: Path, play: Callable[[Desk], Any]) -> Desk:
    async def run() -> Desk:
        desk = Desk(root)
        await play(desk)
        await desk.settle()
        desk.check()
        return desk

    return asyncio.run(run())


def test_a_steered_prompt_goes_in_after_the_result_and_before_the_next_step(tmp_path: Path) -> None:
    ended: list[TurnEnded] = []

    async def play(desk: Desk) -> None:
        await desk.type("first")
        await desk.settle()
        await desk.type("second")
        third = await desk.type("third")
        await desk.step("call")
        await desk.settle()
        desk.agent.queue.steer(desk.agent.queue.waiting[1].id)
        await desk.settle()
        assert third in desk.queued  # the call goes on
        await desk.step("result")
        await desk.settle()
        assert desk.queued == [1]
        await desk.step("answer")
        await desk.settle()
        await desk.step("answer")
        ended.extend(await asyncio.gather(*desk.asked))

    desk = played(tmp_path, play)
    items = [item for item in desk.stage.session.items if not isinstance(item, Note)]
    assert [type(item).__name__ for item in items[:5]] == [
        *("User", "Call", "Result", "User", "Assistant"),
    ]
    assert items[3] == User("2 third", 1)
    assert [each.turn for each in ended] == [1, 2, 1]
    assert desk.stage.of(Steered) == [Steered("2 third")]


def test_one_whose_turn_ends_before_a_next_step_is_the_next_turn(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        await desk.type("first")
        await desk.settle()
        await desk.type("second")
        await desk.type("third", now=True)
        assert desk.queued == [2, 1]
        for _ in range(3):
            await desk.settle()
            await desk.step("answer")
        await desk.settle()

    desk = played(tmp_path, play)
    assert desk.said == {0: 1, 2: 2, 1: 3}
    assert desk.stage.of(Steered) == []


def test_several_are_sent_in_the_order_in_which_they_were_sent(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        for _ in range(4):
            await desk.type()
        first, _, third = desk.agent.queue.waiting
        desk.agent.queue.steer(third.id)
        desk.agent.queue.steer(first.id)
        assert desk.queued == [3, 1, 2]
        desk.agent.abort()

    desk = played(tmp_path, play)
    assert desk.back == [3, 1, 2]


def test_with_no_turn_running_it_is_a_plain_prompt(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        await desk.type(now=True)
        await desk.settle()
        await desk.step("answer")

    desk = played(tmp_path, play)
    assert desk.said == {0: 1}
    assert desk.stage.of(QueueChanged) == desk.stage.of(Steered) == []


def test_an_edit_is_what_runs_and_is_refused_where_it_comes_too_late(tmp_path: Path) -> None:
    async def play(desk: Desk) -> None:
        await desk.type()
        await desk.type()
        (waiting,) = desk.agent.queue.waiting
        for blank in ("", " \n"):
            with pytest.raises(UsageError, match=BLANK):
                desk.agent.queue.edit(waiting.id, blank)
        desk.agent.queue.edit(waiting.id, "1 better")
        await desk.settle()
        await desk.step("answer")
        await desk.settle()
        for late in (
            lambda: desk.agent.queue.edit(waiting.id, "1 late"),
            lambda: desk.agent.queue.remove(waiting.id),
            lambda: desk.agent.queue.steer(waiting.id),
        ):
            with pytest.raises(UsageError, match=GONE):
                late()

    desk = played(tmp_path, play)
    users = [item.text for item in desk.stage.session.items if isinstance(item, User)]
    assert users == ["0 ", "1 better"]


def test_the_second_interrupt_of_a_call_hands_back_and_a_single_one_does_not(
    tmp_path: Path,
) -> None:
    async def play(desk: Desk) -> None:
        await desk.type()
        await desk.type()
        await desk.settle()
        desk.agent.interrupt()  # no call runs: the turn ends, and the next one begins
        await desk.settle()
        assert desk.said == {0: 1, 1: 2}
        await desk.type()
        await desk.step("call")
        await desk.settle()
        desk.agent.interrupt()
        assert desk.queued == [2]
        desk.agent.interrupt()
        assert desk.queued == []

    desk = played(tmp_path, play)
    assert desk.back == [2]
    assert desk.stage.of(TurnEnded)[-1].outcome == "interrupted"
    assert [each.outcome for each in desk.stage.session.items if isinstance(each, Result)] == [
        "interrupted"
    ]


def test_what_is_no_prompt_waits_but_neither_changes_nor_goes_into_a_turn() -> None:
    async def run() -> None:
        queue = Queue(lambda event: None)
        await queue.turn("the turn that runs")
        waits = asyncio.create_task(queue.turn("/compact", work=True))
        await asyncio.sleep(0)
        (waiting,) = queue.waiting
        with pytest.raises(UsageError, match="no prompt"):
            queue.edit(waiting.id, "other words")
        queue.steer(waiting.id)
        assert queue.steered() == () and len(queue.waiting) == 1
        queue.done(None)
        assert await waits == "/compact"

    asyncio.run(run())
