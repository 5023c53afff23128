"""What one turn keeps while it runs, and the limits that end it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .events import Usage
from .transcript import Outcome


@dataclass(frozen=True)
class Limits:
    """Bounds of one turn. `seconds` leaves out waiting for the person and running code."""

    steps: int = 50
    seconds: float = 1800.0
    malformed: int = 3


class LimitReached(Exception):
    """A typed outcome, not an error: the turn stops here, with its reason."""


def out_of_time(spent: float) -> LimitReached:
    return LimitReached(
        f"Stopped after {spent:.0f} s of model time; say “go on” to give it as long again."
    )


@dataclass
class Turn:
    """`started` and `now` are of one monotonic clock, in seconds."""

    number: int
    started: float
    usage: Usage = field(default_factory=Usage)
    malformed: int = 0
    heard: bool = False  # text of the step at hand has been shown
    uncounted: float = 0.0  # seconds spent in tools and waiting for the person

    def time_left(self, limits: Limits, now: float) -> float:
        """Seconds of model time, more than none. Raises `LimitReached`."""
        spent = now - self.started - self.uncounted
        if spent >= limits.seconds:
            raise out_of_time(spent)
        return limits.seconds - spent

    def check_malformed(self, limits: Limits, outcomes: Sequence[Outcome]) -> None:
        """A reply is malformed where none of its calls could be understood."""
        malformed = all(outcome == "invalid_arguments" for outcome in outcomes)
        self.malformed = self.malformed + 1 if malformed else 0
        if self.malformed >= limits.malformed:
            raise LimitReached(
                f"Stopped: the model made {self.malformed} malformed replies in a row; "
                "ask in other words or choose another model with /model."
            )
