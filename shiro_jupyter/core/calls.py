"""One call of the model: parsed, asked about, run, and closed with its one result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import Any

from . import events
from .approvals import refusal_of
from .context.render import said_arguments
from .errors import ModelMendable, UserMendable
from .events import Answer, Event, Question
from .policy.gate import Gate
from .policy.private import NOTHING_PRIVATE, Private
from .policy.secrets import redact
from .policy.subjects import Access
from .sessions.session import Session
from .sessions.undo import Write, Writing
from .tools.base import OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult, bounded
from .transcript import Call, Item, Note, Outcome, Result
from .turn import Turn
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
DIED = "The process ended while this call ran; its effect is unknown."

# Kinds of tools whose changes are kept under the session's id: one that another kernel has taken
# goes on under a new id from the next write of its log, so that comes first.
CHANGING: tuple[Access, ...] = ("write", "kernel")

UNTOLD = "What it showed went to the person alone."
OWN = "own"  # the set of the tools that are functions of the person's

# Seconds that an ending turn waits for a call which will not end; then it is left behind.
PATIENCE = 2.0


@dataclass(frozen=True)
class Withheld:
    """`told` makes of a result what the model may read of it; `sure`: never all of it."""

    told: Callable[[ToolResult], ToolResult]
    sure: bool = True


@dataclass(kw_only=True)
class World:
    """What the calls of a conversation touch; all of it is passed in."""

    session: Session
    tools: Sequence[Tool[Any]]
    gate: Gate
    project: Project
    processes: Processes
    clock: Clock
    emit: Callable[[Event], None]
    # The person: resolves to None where nobody can answer.
    ask: Callable[[Question], Awaitable[Answer | None]]
    # What of others stands in the files that a call's arguments or its result name.
    words_of_others: Callable[[str], Sequence[str]] = lambda text: ()
    redacted: Callable[[str], str] = redact  # takes secrets out of what is stored and sent
    private: Callable[[], Private] = lambda: NOTHING_PRIVATE  # what is kept from the model
    # Asked before a call runs, and None where its result is for the model as it comes.
    withholding: Callable[[Tool[Any], Parameters], Withheld | None] = lambda tool, parameters: None
    # What the change of a file in a turn goes through, so that it can be undone.
    around: Callable[[int, Writing, Write], bool] = lambda turn, writing, write: write()
    flush: Callable[[], None] = lambda: None  # write what the session's log holds back


@dataclass
class Running:
    """The call in flight; a new one resets the count of interrupts."""

    said: HeadAndTail
    stopping: bool = False
    withheld: Withheld | None = None
    task: asyncio.Task[ToolResult] = field(init=False)

    def told(self) -> ToolResult:
        """The result, once the call has ended or is left behind."""
        ended = self.task.done() and not self.task.cancelled()
        text = bounded(INTERRUPTED + self.said.text())
        result = self.task.result() if ended else ToolResult("interrupted", text)
        try:
            return self.withheld.told(result) if self.withheld else result
        except Exception:  # a fault of ours lets nothing through
            log.exception("a result could not be withheld in good order")
            return replace(result, text=UNTOLD, seen=result.text)


class Calls:
    """Runs calls, one at a time. `waited` are the seconds that the person took to answer."""

    def __init__(self, world: World) -> None:
        self.waited = 0.0
        self._world = world
        self._running: Running | None = None
        self._seen = Seen()

    @property
    def _by_name(self) -> Mapping[str, Tool[Any]]:
        return {tool.name: tool for tool in self._world.tools}

    @property
    def stopping(self) -> bool:
        """Whether the call in flight is ending already."""
        return self._running is not None and self._running.stopping

    def interrupt(self) -> bool:
        """End the call in flight; whether there was one that was not ending already."""
        running = self._running
        if running is None or running.stopping:
            return False
        running.stopping = True
        running.task.cancel()
        return True

    async def answer(self, call: Call, turn: Turn) -> Outcome:
        """Run a call of the turn and close it; what came of it."""
        started, waited = self._world.clock.monotonic(), self.waited
        await asyncio.sleep(0)  # a turn that was ended meanwhile begins no further call
        try:
            result = await self._result_of(call)
        finally:
            turn.uncounted += self._world.clock.monotonic() - started
        seconds = self._world.clock.monotonic() - started - (self.waited - waited)
        try:
            result = turn.repeats.told(call, result, self._by_name.get(call.name))
        finally:  # also the one that ends the turn has its result
            self._close(call, result, seconds)
        return result.outcome

    async def _result_of(self, call: Call) -> ToolResult:
        """The one result of a call, whatever happens to it."""
        tool = self._by_name.get(call.name)
        if tool is None:
            self._world.emit(events.ToolCalled(call.call_id, call.name, ""))
            names = ", ".join(self._by_name)
            return ToolResult("invalid_arguments", f"No tool {call.name!r}; there are {names}.")
        self._running = running = Running(HeadAndTail(OUTPUT_LIMIT))
        running.task = asyncio.create_task(self._use(tool, call, running))
        try:
            await asyncio.shield(running.task)
            return running.told()
        except asyncio.CancelledError:
            ours = asyncio.current_task()
            if ours is None or not ours.cancelling():
                return running.told()
            # The turn is ending: the call first. What came of it after all stands.
            running.task.cancel()
            await settled(running.task, PATIENCE)
            self._close(call, running.told())
            raise
        finally:
            self._running = None

    def _context(self, call: Call, running: Running) -> ToolContext:
        world, private = self._world, self._world.private()

        def output(text: str) -> None:
            running.said.add(text)
            world.emit(events.ToolOutput(call.call_id, text))

        def may_read(name: str) -> bool:
            gate, grants = world.gate, world.session.grants
            return not private.withholds_lines(name) and gate.lets_read(grants, name)

        def denies(name: str) -> bool:
            return private.withholds(name) or world.gate.denies_reading(name)

        around = world.project, world.session, world.processes, self._seen, world.emit
        keeping = partial(world.around, call.turn)
        reading = output, self.ask, may_read, denies
        return ToolContext(call.call_id, *around, *reading, around=keeping, private=private)

    async def _use(self, tool: Tool[Any], call: Call, running: Running) -> ToolResult:
        """The tool boundary: parse, ask, run; what the model can mend becomes its result."""
        world, context = self._world, self._context(call, running)
        try:
            parameters = tool.parse(call.arguments)
        except ModelMendable as error:
            begun = world.redacted(said_arguments(call.arguments))[:200]
            world.emit(events.ToolCalled(call.call_id, call.name, begun))
            told = str(error)
            if context.private.any and tool.toolset == OWN:  # it quotes defaults
                told = f"The arguments of {tool.name} do not fit its schema."
            return ToolResult("invalid_arguments", told)
        try:
            summary = world.redacted(tool.summary(parameters))
            world.emit(events.ToolCalled(call.call_id, call.name, summary))
            withheld = world.withholding(tool, parameters)
            context = replace(context, unseen=withheld is not None and withheld.sure)
            try:
                refusal, context = await refusal_of(tool, parameters, context, world.gate)
            except asyncio.CancelledError:
                return ToolResult("interrupted", NOT_BEGUN)
            if refusal:
                return ToolResult("refused", refusal)
            if tool.access in CHANGING:
                world.flush()
            running.withheld = world.withholding(tool, parameters)
            result = await tool.run(parameters, context)
            return replace(result, text=bounded(result.text))
        except (ModelMendable, UserMendable) as error:
            return ToolResult("failed", bounded(str(error)))
        except Exception as error:
            log.exception("tool %s failed", tool.name)
            why = "" if context.private.any else f": {error}"
            broke = f"{tool.name} broke: {type(error).__name__}{why}"
            return ToolResult("failed", bounded(broke))

    async def ask(self, question: Question) -> Answer | None:
        """The person's answer; how long they take is kept."""
        asked = self._world.clock.monotonic()
        try:
            return await self._world.ask(question)
        finally:
            self.waited += self._world.clock.monotonic() - asked

    def _close(self, call: Call, result: ToolResult, seconds: float = 0.0) -> None:
        text = self._world.redacted(result.text)
        seen = self._world.redacted(result.seen) if result.seen else text
        self._taint(call, result)
        self._world.session.append(Result(call.call_id, result.outcome, text, call.turn, call.step))
        self._world.emit(
            events.ToolFinished(call.call_id, call.name, result.outcome, seen, seconds)
        )

    def _taint(self, call: Call, result: ToolResult) -> None:
        """By what the call may have shown of the words of others, whatever tool it was. Our own
        state has rules of its own, and what was written are the model's words."""
        tool = self._by_name.get(call.name)
        if tool is None or tool.access in ("session", "memory"):
            return
        if tool.access != "write" or result.outcome != "ok":
            for by in self._world.words_of_others(f"{call.arguments}\n{result.text}"):
                self._world.session.taint(by)

    def close_open(self, turn: Turn) -> None:
        """Every call of the turn gets its one result, so that the next request is whole."""
        open_calls: dict[str, Call] = {}
        for item in _of_turn(self._world.session.items, turn.number):
            if isinstance(item, Call):
                open_calls[item.call_id] = item
            elif isinstance(item, Result):
                open_calls.pop(item.call_id, None)
        for call in open_calls.values():
            self._close(call, ToolResult("skipped", SKIPPED))

    def close_stopped(self) -> None:
        """End the turn whose process died, where there is one. A call that waited for the person
        did not run; of one that ran nobody knows."""
        session = self._world.session
        if session.ended >= session.turn:
            return
        for at, call in enumerate(session.open_calls()):
            ran = at == 0 and call.call_id != session.asked
            outcome: Outcome = "interrupted" if ran else "skipped"
            text = DIED if ran else SKIPPED
            session.append(Result(call.call_id, outcome, text, call.turn, call.step))
        session.append(Note("The process ended in the middle of this turn.", session.turn))
        session.end_turn(session.turn, "interrupted")


def _of_turn(items: Sequence[Item], turn: int) -> list[Item]:
    return list(takewhile(lambda item: item.turn == turn, reversed(items)))[::-1]
