"""The turn loop: prompt -> [model step -> calls -> results]* -> answer.

Everything here runs on one asyncio loop. The outside (model, tools' world, person, clock) is
passed in; views learn of everything through `emit`, and every turn ends in one `TurnEnded`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any

from . import events
from .approvals import refusal_of
from .context.prompt import tail_text
from .context.prune import Pruner, shown
from .errors import ModelMendable, OurFault, ShiroError, UserMendable
from .events import Answer, Event, Question, TurnEnded, TurnOutcome
from .models.base import CallPiece, Finished, ModelClient, ReasoningPiece, Request, TextPiece
from .models.patience import patient
from .models.profiles import Profile
from .models.room import room_for_items
from .policy.gate import Gate
from .policy.secrets import redact
from .sessions.session import Session
from .tools.base import OUTPUT_LIMIT, Tool, ToolContext, ToolResult, bounded
from .transcript import Assistant, Call, Item, Note, Outcome, Result, User
from .turn import LimitReached, Limits, Turn, out_of_time
from .workspace.clock import Clock
from .workspace.output import HeadAndTail
from .workspace.processes import Processes
from .workspace.project import Project
from .workspace.seen import Seen
from .workspace.threads import settled

log = logging.getLogger("shiro")

# What the model reads where a call has no result of its own.
INTERRUPTED = "Interrupted by the person; its effect is unknown. Output so far:\n"
NOT_BEGUN = "Interrupted by the person before this call ran: nothing was done."
SKIPPED = "Not executed: the turn ended before this call ran."

# Seconds that an ending turn waits for a call which will not end; then it is left behind.
PATIENCE = 2.0

# What the person is told of a reply that is no whole answer.
SILENT = "The model gave no answer; ask again in other words."
ENDED_EARLY = {
    "length": "The answer was cut at the model's length limit; say “go on” for the rest.",
    "filtered": "The endpoint's content filter cut the answer; ask in other words.",
}


@dataclass
class Running:
    """The call in flight; a new one resets the count of interrupts."""

    task: asyncio.Task[ToolResult]
    stopping: bool = False


@dataclass
class Agent:
    """One conversation. `model` makes the client of each turn, so that both may change; `system` is
    stable for a session, `surroundings` is said anew at each step."""

    session: Session
    model: Callable[[], Awaitable[ModelClient]]
    tools: Sequence[Tool[Any]]
    system: Callable[[], str]
    gate: Gate
    project: Project
    processes: Processes
    clock: Clock
    emit: Callable[[Event], None]
    # The person: resolves to None where nobody can answer.
    ask: Callable[[Question], Awaitable[Answer | None]]
    flush: Callable[[], None] = lambda: None
    surroundings: Callable[[], str] = lambda: ""
    # What of others stands in the files that a call's arguments or its result name.
    words_of_others: Callable[[str], Sequence[str]] = lambda text: ()
    limits: Limits = field(default_factory=Limits)
    redacted: Callable[[str], str] = redact  # takes secrets out of what is stored and sent

    def __post_init__(self) -> None:
        self._by_name: Mapping[str, Tool[Any]] = {tool.name: tool for tool in self.tools}
        self._specs = tuple(tool.spec() for tool in self.tools)
        self._one_at_a_time = asyncio.Lock()
        self._queue: list[str] = []
        self._turn: asyncio.Task[tuple[TurnOutcome, str]] | None = None
        self._running: Running | None = None
        self._waited = 0.0  # seconds of the turn that the person took to answer
        self._seen = Seen()
        self._pruner = Pruner()

    # -- what a host calls ---------------------------------------------------------------

    async def submit(self, prompt: str) -> TurnEnded:
        """Run a turn, after those submitted before it. Never raises for what went wrong."""
        waits = self._one_at_a_time.locked() or bool(self._queue)
        if waits:
            self._queue.append(prompt)
            self.emit(events.QueueChanged(tuple(self._queue)))
        try:
            async with self._one_at_a_time:
                if waits:
                    waits = False
                    self._unqueue(prompt)
                return await self._run(prompt)
        finally:
            if waits:  # cancelled while it waited
                self._unqueue(prompt)

    def interrupt(self) -> None:
        """First: end the call in flight, keep the turn. Nothing in flight, or again: end it."""
        running = self._running
        if running and not running.stopping:
            running.stopping = True
            running.task.cancel()
        else:
            self.stop()

    def stop(self) -> None:
        """End the turn; what was streamed is kept."""
        if self._turn:
            self._turn.cancel()

    # -- one turn ------------------------------------------------------------------------

    async def _run(self, prompt: str) -> TurnEnded:
        turn = Turn(self.session.turn + 1, self.clock.monotonic())
        prompt = self.redacted(prompt)
        self._waited = 0.0
        self.emit(events.TurnStarted(turn.number, prompt))
        self.session.append(User(prompt, turn.number))
        self._turn = asyncio.create_task(self._guarded(turn))
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
        self.session.add_usage(turn.usage)
        seconds = self.clock.monotonic() - turn.started - self._waited
        ended = TurnEnded(turn.number, outcome, reason, turn.usage, seconds)
        self.emit(ended)
        self.flush()
        return ended

    async def _guarded(self, turn: Turn) -> tuple[TurnOutcome, str]:
        """The turn boundary: whatever happens becomes an outcome and one sentence."""
        try:
            await self._steps(turn)
            return "answered", ""
        except asyncio.CancelledError:
            self._close_open_calls(turn)
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
        self._close_open_calls(turn)
        return outcome, reason

    async def _steps(self, turn: Turn) -> None:
        client = await self.model()  # which may ask the person
        turn.uncounted = self.clock.monotonic() - turn.started
        try:
            for step in range(1, self.limits.steps + 1):
                left = turn.time_left(self.limits, self.clock.monotonic())
                self.emit(events.StepStarted(step))
                try:
                    async with asyncio.timeout(left) as deadline:  # a reply may never end
                        calls = await self._step(client, turn, step)
                except TimeoutError as error:
                    if deadline.expired():
                        raise out_of_time(self.limits.seconds) from error
                    raise
                if not calls:
                    return
                outcomes = [await self._answer_call(call, turn) for call in calls]
                turn.check_malformed(self.limits, outcomes)
            raise LimitReached(
                f"Stopped after {self.limits.steps} steps; say “go on” to give it as many again."
            )
        finally:
            await client.close()

    async def _step(self, client: ModelClient, turn: Turn, step: int) -> list[Call]:
        """One model call: its items are appended; its calls are returned."""
        tail = tail_text(self.session.todos, self.clock.now(), self.surroundings())
        request = Request(
            system=self.redacted(self.system()),
            tools=self._specs,
            items=tuple(self.session.items),
            tail=self.redacted(tail),
            turn=turn.number,
            step=step,
        )
        request = self._fitted(request, client.profile, turn)
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
                self.session.append(Assistant(text, turn.number, step))
            raise
        if finished is None:
            raise OurFault("the model client ended without a finish")
        turn.heard = False
        turn.usage += finished.usage
        self.emit(events.UsageReported(finished.usage))
        self.session.append(*finished.items)
        calls = [item for item in finished.items if isinstance(item, Call)]
        silent = "" if calls or heard else SILENT
        if notice := ENDED_EARLY.get(finished.reason, silent):
            self.emit(events.Notice(notice, "warning"))
        return calls

    def _fitted(self, request: Request, profile: Profile, turn: Turn) -> Request:
        """The request with as much of the conversation as the model's window takes; a client that
        writes its own prompt chooses by itself."""
        items = self.session.items
        if profile.calling == "schema":
            return request
        before = self._pruner.size(items)
        if self._pruner.prune(items, room_for_items(request, profile)) and not turn.pruned:
            turn.pruned = True
            self.emit(events.Compacted(before, self._pruner.size(items)))
        return replace(request, items=shown(items, self._pruner.cut))

    # -- one call ------------------------------------------------------------------------

    async def _answer_call(self, call: Call, turn: Turn) -> Outcome:
        started, waited = self.clock.monotonic(), self._waited
        await asyncio.sleep(0)  # a turn that was ended meanwhile begins no further call
        try:
            result = await self._result_of(call)
        finally:
            turn.uncounted += self.clock.monotonic() - started
        seconds = self.clock.monotonic() - started - (self._waited - waited)
        try:
            result = turn.repeats.told(call, result, self._by_name.get(call.name))
        finally:  # also the one that ends the turn has its result
            self._close(call, result, seconds)
        return result.outcome

    async def _result_of(self, call: Call) -> ToolResult:
        """The one result of a call, whatever happens to it."""
        tool = self._by_name.get(call.name)
        if tool is None:
            self.emit(events.ToolCalled(call.call_id, call.name, ""))
            names = ", ".join(self._by_name)
            return ToolResult("invalid_arguments", f"No tool {call.name!r}; there are {names}.")
        said = HeadAndTail(OUTPUT_LIMIT)
        running = Running(asyncio.create_task(self._use(tool, call, said)))
        self._running = running
        try:
            return await asyncio.shield(running.task)
        except asyncio.CancelledError:
            ours = asyncio.current_task()
            if ours is None or not ours.cancelling():
                return ToolResult("interrupted", bounded(INTERRUPTED + said.text()))
            # The turn is ending: the call first. What came of it after all stands.
            running.task.cancel()
            await settled(running.task, PATIENCE)
            if running.task.done() and not running.task.cancelled():
                self._close(call, running.task.result())
            else:
                self._close(call, ToolResult("interrupted", bounded(INTERRUPTED + said.text())))
            raise
        finally:
            self._running = None

    async def _use(self, tool: Tool[Any], call: Call, said: HeadAndTail) -> ToolResult:
        """The tool boundary: parse, ask, run; what the model can mend becomes its result."""

        def output(text: str) -> None:
            said.add(text)
            self.emit(events.ToolOutput(call.call_id, text))

        world = self.project, self.session, self.processes, self._seen, self.emit
        may_read = partial(self.gate.lets_read, self.session.grants)
        denies = self.gate.denies_reading
        context = ToolContext(call.call_id, *world, output, self._ask, may_read, denies)
        try:
            parameters = tool.parse(call.arguments)
        except ModelMendable as error:
            begun = self.redacted(call.arguments)[:200]
            self.emit(events.ToolCalled(call.call_id, call.name, begun))
            return ToolResult("invalid_arguments", str(error))
        try:
            summary = self.redacted(tool.summary(parameters))
            self.emit(events.ToolCalled(call.call_id, call.name, summary))
            try:
                refusal, context = await refusal_of(tool, parameters, context, self.gate)
            except asyncio.CancelledError:
                return ToolResult("interrupted", NOT_BEGUN)
            if refusal:
                return ToolResult("refused", refusal)
            result = await tool.run(parameters, context)
            return ToolResult(result.outcome, bounded(result.text))
        except (ModelMendable, UserMendable) as error:
            return ToolResult("failed", bounded(str(error)))
        except Exception as error:
            log.exception("tool %s failed", tool.name)
            broke = f"{tool.name} broke: {type(error).__name__}: {error}"
            return ToolResult("failed", bounded(broke))

    async def _ask(self, question: Question) -> Answer | None:
        asked = self.clock.monotonic()
        try:
            return await self.ask(question)
        finally:
            self._waited += self.clock.monotonic() - asked

    # -- endings -------------------------------------------------------------------------

    def _close(self, call: Call, result: ToolResult, seconds: float = 0.0) -> None:
        text = self.redacted(result.text)
        self._taint(call, result)
        self.session.append(Result(call.call_id, result.outcome, text, call.turn, call.step))
        self.emit(events.ToolFinished(call.call_id, call.name, result.outcome, text, seconds))

    def _taint(self, call: Call, result: ToolResult) -> None:
        """By what the call may have shown of the words of others, whatever tool it was. Our own
        state has rules of its own, and what was written are the model's words."""
        tool = self._by_name.get(call.name)
        if tool is None or tool.access in ("session", "memory"):
            return
        if tool.access != "write" or result.outcome != "ok":
            for by in self.words_of_others(f"{call.arguments}\n{result.text}"):
                self.session.taint(by)

    def _close_open_calls(self, turn: Turn) -> None:
        """Every call of the turn gets its one result, so that the next request is whole."""
        open_calls: dict[str, Call] = {}
        for item in _of_turn(self.session.items, turn.number):
            if isinstance(item, Call):
                open_calls[item.call_id] = item
            elif isinstance(item, Result):
                open_calls.pop(item.call_id, None)
        for call in open_calls.values():
            self._close(call, ToolResult("skipped", SKIPPED))

    def _unqueue(self, prompt: str) -> None:
        self._queue.remove(prompt)
        self.emit(events.QueueChanged(tuple(self._queue)))


def _of_turn(items: Sequence[Item], turn: int) -> list[Item]:
    return list(takewhile(lambda item: item.turn == turn, reversed(items)))[::-1]
