"""The turn loop: prompt -> [model step -> calls -> results]* -> answer.

Everything here runs on one asyncio loop. The outside (model, tools' world, person, clock) is
passed in; views learn of everything through `emit`, and every turn ends in one `TurnEnded`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from . import aside, events
from .calls import Calls, World
from .compaction import Compactor, UpdateNotes
from .context.prompt import tail_text
from .context.sources import Source
from .cost import Ledger, Meter
from .errors import (
    EndpointError,
    EndpointRefused,
    LimitReached,
    ModelMendable,
    NotCompacted,
    OurFault,
    ShiroError,
    UserMendable,
)
from .events import TurnEnded, TurnOutcome, Waiting
from .fitting import TRIES, Fitting
from .models.base import CallPiece, Finished, ModelClient, ReasoningPiece, Request, TextPiece
from .models.patience import patient
from .queue import Queue
from .tools.base import Tool
from .transcript import Assistant, Call, Item, Note, User
from .turn import Limits, Turn, out_of_time
from .workspace.threads import settled

log = logging.getLogger("shiro")

NEXT_PROMPT = "(your next prompt)"
# What the person is told of a reply that is no whole answer.
SILENT = "The model gave no answer; ask again in other words."
ENDED_EARLY = {
    "length": "The answer was cut at the model's length limit; say “go on” for the rest.",
    "filtered": "The endpoint's content filter cut the answer; ask in other words.",
}


async def _nothing(prompt: str) -> str:
    return ""


@dataclass(kw_only=True)
class Agent(World):
    """One conversation. `model` makes the client of each turn, so that both may change; `system` is
    stable for a session, `surroundings` is said anew at each step."""

    model: Callable[[], Awaitable[ModelClient]]
    system: Callable[[], str]
    surroundings: Callable[[], str] = lambda: ""
    limits: Limits = field(default_factory=Limits)
    ledger: Ledger | None = None  # of the day
    # What a prompt points at, as the model is to see it; empty where that is nothing.
    refer: Callable[[str], Awaitable[str]] = _nothing
    # Brings the session's note up to date, before a compaction.
    update_notes: UpdateNotes | None = None

    def __post_init__(self) -> None:
        self._calls = Calls(self)
        self._lasting, self._specs = tuple(self.tools), tuple(tool.spec() for tool in self.tools)
        self.queue = Queue(self.emit)
        self._turn: asyncio.Task[tuple[TurnOutcome, str]] | None = None
        self.compaction: asyncio.Task[events.Compacted] | None = None  # that was asked for
        writes = {tool.name for tool in self.tools if tool.access == "write"}
        self.meter = Meter(
            self.session,
            self.clock,
            self.emit,
            self.ledger,
            source_of=self._source_of,
            limits=lambda: self.limits,
        )
        self._at = Turn(0, 0.0)  # what runs, or ran last; a compaction too
        allow = self.meter.aside(self._ask)
        self._compactor = Compactor(
            self.clock, self.emit, self.redacted, allow, self.update_notes, writes
        )
        self._fitting = Fitting(self.session, self._compactor, self.meter.measure)

    # -- what a host calls ---------------------------------------------------------------

    def offer(self, tools: Sequence[Tool[Any]]) -> None:
        """These, too, behind those that it was made with; while none of them runs. Their schemas
        may hold values of the person's."""
        self.tools = (*self._lasting, *tools)
        specs = self._specs[: len(self._lasting)]
        own = [tool.spec() for tool in tools]
        if self.private().any:
            own = [each.without_values() for each in own]
        self._specs = (*specs, *own)

    async def submit(self, prompt: str, source: str = "", *, now: bool = False) -> TurnEnded:
        """Run a turn, after those submitted before it; or `now`, in the one that runs. How that
        ended, or that the prompt was taken off the queue. Never raises for what went wrong.

        No prompt: go on with the turn that stopped when its process died, at the call that waited.
        """
        came = await self.queue.turn(prompt, source, now=now)
        if isinstance(came, TurnEnded):
            return came
        ended: TurnEnded | None = None
        try:
            ended = await self._run(came)
            return ended
        finally:
            self.queue.done(ended)

    async def compact(self, keep: str = "") -> events.Compacted:
        """Have the model sum the conversation up, with these words of the person on what to keep;
        from then on the summary goes out. What is asked meanwhile waits. It is stopped as a turn
        is, and has as long. Raises `NotCompacted`, `EndpointError`, `LimitReached`."""
        if isinstance(await self.queue.turn("/compact", work=True), TurnEnded):
            raise NotCompacted("it was taken off the queue")
        try:
            self.compaction = asyncio.create_task(self._compacted(self.redacted(keep)))
            done = await self.compaction  # which is cancelled with us
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller and caller.cancelling():
                raise
            raise NotCompacted("it was stopped") from None
        finally:
            self.compaction = None
            self.queue.done(None)
        self.emit(done)
        self.flush()
        return done

    async def aside(self, question: str, doing: str) -> str:
        """Ask the model about the conversation, also while a turn runs, which goes on and has
        nothing of it; `doing` says at what it is. Raises `EndpointError`, `LimitReached`,
        `UsageError`."""
        client = self.meter.metered(await self.model())
        allow = self.meter.aside(self.ask)
        items, redacted = tuple(self.session.items), self.redacted
        try:
            return await aside.answer(question, doing, items, client, self.clock, redacted, allow)
        finally:
            await client.close()

    def next_request(self, client: ModelClient) -> Request:
        """What goes out next, to this client: while no turn runs, with a prompt still to come."""
        turn, items = self.session.turn, list(self.session.items)
        if self._turn is None:
            turn += 1
            items.append(User(NEXT_PROMPT, turn))
        return self._fitting.as_it_is(self._request(turn, 1, *items), client)

    def interrupt(self) -> bool:
        """First: end the call in flight, keep the turn. Nothing in flight: end the turn. Again,
        while the call is still stopping: abort. False where nothing runs any more."""
        if self._calls.stopping:
            self.abort()
            return True
        return self._calls.interrupt() or self.stop()

    def abort(self) -> tuple[Waiting, ...]:
        """End what runs, and hand back what waits behind it."""
        back = self.queue.clear()
        self.stop()
        return back

    def stop(self) -> bool:
        """End the turn, of which what was streamed is kept, or the compaction, which changes
        nothing then. False where neither runs any more."""
        runs = self._turn or self.compaction
        return runs is not None and runs.cancel()

    # -- a compaction that was asked for ---------------------------------------------------

    async def _compacted(self, keep: str) -> events.Compacted:
        client = self.meter.metered(await self.model())  # which may ask the person
        self._at = Turn(self.session.turn, self.clock.monotonic())
        try:
            async with asyncio.timeout(self.limits.seconds) as deadline:
                self._at.deadline = deadline
                return await self._compactor.compact(
                    self.session, client, lambda usage: None, keep=keep
                )
        except TimeoutError as error:
            if deadline.expired():
                seconds = f"{self.limits.seconds:g} s (max_turn_seconds)"
                raise NotCompacted(f"it took longer than {seconds}") from error
            raise
        finally:
            self.meter.settle()
            await client.close()

    def _source_of(self, name: str) -> Source:
        return next((tool.source() for tool in self.tools if tool.name == name), "history")

    # -- one turn ------------------------------------------------------------------------

    async def _run(self, prompt: str) -> TurnEnded:
        if prompt:
            self._calls.close_stopped()
        self._at = turn = Turn(self.session.turn + bool(prompt), self.clock.monotonic())
        prompt = self.redacted(prompt)
        if self.meter.cost != events.NO_COST:  # calls outside any turn
            self.meter.settle()
        self._calls.waited = 0.0
        self.emit(events.TurnStarted(turn.number, prompt or self.session.prompt))
        if prompt:
            self.session.append(User(prompt, turn.number))
        self._turn = asyncio.create_task(self._guarded(turn, prompt))
        try:
            outcome, reason = await asyncio.shield(self._turn)
        except asyncio.CancelledError:
            # Stopped before its first step, or our own caller was cancelled (the host is
            # closing): end the turn in good order.
            self._turn.cancel()
            await settled(self._turn)
            outcome, reason = "interrupted", ""
            if not self._turn.cancelled():
                outcome, reason = self._turn.result()
        finally:
            self._turn = None
        if outcome == "interrupted":
            who = (
                f"The answer broke off: {reason}" if reason else "The person interrupted the turn."
            )
            self.session.append(Note(who, turn.number))
        spent = self.meter.settle()
        self.session.end_turn(turn.number, outcome)
        seconds = self.clock.monotonic() - turn.started - self._calls.waited
        costs = spent.cost.known, self.session.cost.known
        ended = TurnEnded(turn.number, outcome, reason, spent.usage, seconds, *costs)
        self.emit(ended)
        self.flush()
        return ended

    async def _guarded(self, turn: Turn, prompt: str) -> tuple[TurnOutcome, str]:
        """The turn boundary: whatever happens becomes an outcome and one sentence."""
        try:
            await self._refer(turn, prompt)
            await self._steps(turn)
            return "answered", ""
        except asyncio.CancelledError:
            self._calls.close_open(turn)
            return "interrupted", ""
        except LimitReached as limit:
            outcome: TurnOutcome = "limited"
            reason = str(limit)
        except (UserMendable, ModelMendable) as error:
            # What the person has read of an answer stands: it broke off, it did not fail.
            outcome = "interrupted" if turn.heard else "failed"
            reason = str(error)
        except Exception as error:
            log.exception("a turn failed")
            kind = "" if isinstance(error, ShiroError) else f"{type(error).__name__}: "
            outcome = "failed"
            reason = f"Something in shiro broke ({kind}{error}); the session is kept, ask again."
        self._calls.close_open(turn)
        return outcome, reason

    async def _steps(self, turn: Turn) -> None:
        client = self.meter.metered(await self.model())  # which may ask the person
        turn.uncounted = self.clock.monotonic() - turn.started
        try:
            await self._answered(self.session.open_calls(), turn)  # of a turn that stopped
            begun = self.session.step
            for step in range(begun + 1, begun + 1 + self.limits.steps):
                left = turn.time_left(self.limits, self.clock.monotonic())
                await self._take_steered(turn)
                self.emit(events.StepStarted(step))
                try:
                    async with asyncio.timeout(left) as deadline:  # a reply may never end
                        turn.deadline = deadline
                        calls = await self._step(client, turn, step)
                except TimeoutError as error:
                    if deadline.expired():
                        raise out_of_time(self.limits.seconds) from error
                    raise
                if not calls:
                    return
                await self._answered(calls, turn)
            raise LimitReached(
                f"Stopped after {self.limits.steps} steps; say “go on” to give it as many again."
            )
        finally:
            await client.close()

    async def _answered(self, calls: Sequence[Call], turn: Turn) -> None:
        outcomes = [await self._calls.answer(call, turn) for call in calls]
        turn.check_malformed(self.limits, outcomes)

    async def _refer(self, turn: Turn, prompt: str) -> None:
        """What the prompt points at is said once, behind it, so that later requests and a resume
        send the same."""
        if said := self.redacted(await self.refer(prompt)):
            for by in self.words_of_others(said):
                self.session.taint(by)
            self.session.append(Note(said, turn.number))

    async def _take_steered(self, turn: Turn) -> None:
        """What the person has sent into the turn meanwhile."""
        prompts = [self.redacted(waiting.text) for waiting in self.queue.steered()]
        for prompt in prompts:
            self.session.append(User(prompt, turn.number))
            self.emit(events.Steered(prompt))
        for prompt in prompts:
            await self._refer(turn, prompt)

    async def _step(self, client: ModelClient, turn: Turn, step: int) -> list[Call]:
        """One model call: its items are appended; its calls are returned."""
        self.session.set_system(self.redacted(self.system()))
        request = self._request(turn.number, step, *self.session.items)
        finished = await self._asked(client, request, turn)
        silent = not turn.heard
        turn.heard = False
        self.emit(events.UsageReported(finished.usage))
        self.session.append(*finished.items)
        calls = [item for item in finished.items if isinstance(item, Call)]
        no_answer = SILENT if silent and not calls else ""
        if notice := ENDED_EARLY.get(finished.reason, no_answer):
            self.emit(events.Notice(notice, "warning"))
        return calls

    def _request(self, turn: int, step: int, *items: Item) -> Request:
        tail = tail_text(self.session.todos, self.clock.now(), self.surroundings())
        system = self.session.system or self.redacted(self.system())
        return Request(system, self._specs, items, self.redacted(tail), turn, step)

    async def _asked(self, client: ModelClient, request: Request, turn: Turn) -> Finished:
        """The reply to as much of the conversation as the model takes."""
        for attempt in range(TRIES):
            fitted = await self._fitting.fitted(request, client, turn)
            await self.meter.allow(fitted, client.profile, self._ask)
            try:
                finished = await self._reply(client, fitted, turn)
            except EndpointRefused as error:
                too_long = error.code == EndpointError.TOO_LONG and not turn.heard
                if not (too_long and await self._fitting.less(attempt, client, turn)):
                    raise
            else:
                self._fitting.counted(request, client, finished.usage)
                return finished
        raise OurFault("a request got smaller for ever")

    async def _ask(self, question: events.Question) -> events.Answer | None:
        """In mid-step, or of a compaction."""
        return await self._at.undisturbed(self._calls.ask(question), self.clock)

    async def _reply(self, client: ModelClient, request: Request, turn: Turn) -> Finished:
        """The reply as it streams. Text that was heard is kept, however it ends."""
        heard: list[str] = []
        turn.heard = False
        finished: Finished | None = None
        try:
            async with aclosing(patient(client, request, self.clock, self.emit)) as pieces:
                async for piece in pieces:
                    match piece:
                        case TextPiece(text):
                            heard.append(text)
                            turn.heard = True
                            self.emit(events.TextDelta(text))
                        case ReasoningPiece(text):
                            self.emit(events.ReasoningDelta(text))
                        case CallPiece(call_id, name):
                            self.emit(events.ToolStarted(call_id, name))
                        case Finished():
                            finished = piece
        except BaseException:
            # Text that the person has seen stays in the conversation; half calls do not.
            if text := "".join(heard).strip():
                self.session.append(Assistant(text, turn.number, request.step))
            raise
        if finished is None:
            raise OurFault("the model client ended without a finish")
        return finished
