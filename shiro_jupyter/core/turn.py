"""What one turn keeps while it runs, and the limits that end it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from .errors import LimitReached
from .settings.fields import Fields
from .tools.base import Tool, ToolResult
from .transcript import Call, Outcome
from .workspace.clock import Clock

T = TypeVar("T")

# The same call with the same result: how often until the model is told, and until the turn ends.
NUDGED, STOPPED = 3, 5


@dataclass(frozen=True)
class Limits:
    """Bounds of one turn. `seconds` leaves out waiting for the person and running code. `cost` and
    `cost_day` are US dollars of the session and of the day; a request of more tokens than
    `ask_above` is asked about first. Of these three 0 is no bound."""

    steps: int = 50
    seconds: float = 1800.0
    malformed: int = 3
    cost: float = 0.0
    cost_day: float = 0.0
    ask_above: int = 0

    @classmethod
    def of(cls, settings: Fields) -> Limits:
        return cls(
            settings.max_steps,
            settings.max_turn_seconds,
            cost=settings.max_cost,
            cost_day=settings.max_cost_day,
            ask_above=settings.ask_above,
        )


def out_of_time(spent: float) -> LimitReached:
    return LimitReached(
        f"Stopped after {spent:.0f} s of model time; say “go on” to give it as long again."
    )


@dataclass
class Repeats:
    """Catches a model that goes round in circles, however many calls the circle has.

    What was changed meanwhile makes a look at it a new one, unless that change is repeated too.
    """

    _counts: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def told(self, call: Call, result: ToolResult, tool: Tool[Any] | None) -> ToolResult:
        """The result, which says so where it came too often. Raises `LimitReached` for the last
        time that is borne."""
        if tool is None or tool.polls or result.outcome == "invalid_arguments":
            return result
        key = (call.name, _canonical(call.arguments), result.outcome, result.text)
        if tool.access == "write" and result.outcome == "ok" and not self._counts[key]:
            self._counts.clear()
        self._counts[key] += 1
        if self._counts[key] >= STOPPED:
            raise LimitReached(
                f"Stopped: the model called {call.name} {STOPPED} times with the same result; ask "
                "in other words, or say what it should do instead."
            )
        if self._counts[key] < NUDGED:
            return result
        nudge = (
            f"[this call gave the same result {self._counts[key]} times: do something else, or say "
            "what is missing]"
        )
        return replace(result, text=f"{result.text}\n{nudge}")


def _canonical(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return arguments


@dataclass
class Turn:
    """`started` and `now` are of one monotonic clock, in seconds."""

    number: int
    started: float
    malformed: int = 0
    repeats: Repeats = field(default_factory=Repeats)
    heard: bool = False  # text of the step at hand has been shown
    pruned: bool = False  # the person has been told
    uncounted: float = 0.0  # seconds spent in tools and waiting for the person
    deadline: asyncio.Timeout | None = None  # of the step at hand

    def time_left(self, limits: Limits, now: float) -> float:
        """Seconds of model time, more than none. Raises `LimitReached`."""
        spent = now - self.started - self.uncounted
        if spent >= limits.seconds:
            raise out_of_time(spent)
        return limits.seconds - spent

    async def undisturbed(self, ask: Awaitable[T], clock: Clock) -> T:
        """What the person answers in mid-step: the time that they take is not the model's."""
        loop, asked = asyncio.get_running_loop(), clock.monotonic()
        until = self.deadline.when() if self.deadline else None
        left = until - loop.time() if until is not None else 0.0
        if self.deadline:
            self.deadline.reschedule(None)
        try:
            return await ask
        finally:
            self.uncounted += clock.monotonic() - asked
            if self.deadline and until is not None:
                self.deadline.reschedule(loop.time() + left)

    def check_malformed(self, limits: Limits, outcomes: Sequence[Outcome]) -> None:
        """A reply is malformed where none of its calls could be understood."""
        malformed = bool(outcomes) and all(outcome == "invalid_arguments" for outcome in outcomes)
        self.malformed = self.malformed + 1 if malformed else 0
        if self.malformed >= limits.malformed:
            raise LimitReached(
                f"Stopped: the model made {self.malformed} malformed replies in a row; "
                "ask in other words or choose another model with /model."
            )
