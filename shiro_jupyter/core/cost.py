"""What the model calls of a conversation cost, and the caps on that.

Every call of a model passes a `Meter`: before it, the caps are looked at; after it, what it took
is counted, for the conversation and for the day.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from .context.sources import SAID, Source
from .context.tokens import Measure, estimate
from .errors import LimitReached, StorageError
from .events import (
    ALLOW,
    DENY,
    NO_COST,
    Answer,
    Cost,
    Event,
    Notice,
    Question,
    Usage,
    dollars,
)
from .models.base import Finished, ModelClient, Piece, ReasoningPiece, Request, TextPiece
from .models.lone import Allow
from .models.prices import cost_of, is_local, is_priced
from .models.profiles import Profile
from .models.room import calibration_of, sources_of
from .sessions.session import Session, Spent
from .transcript import Call
from .turn import Limits
from .workspace.clock import Clock
from .workspace.files import append
from .workspace.paths import OPEN_PLAIN

Ask = Callable[[Question], Awaitable[Answer | None]]

WARNED = 0.8  # of a cap: the person is told
_ENTRY = re.compile(rb'\{"at": "[^"{}]*", "usd": (null|[0-9.eE+-]+)(?:, "about": ([0-9.eE+-]+))?\}')


class Ledger:
    """What each call cost, by local day, of all kernels of this user: a file a day, only added to,
    amounts without words. Where it cannot be written that is told once, and counted here alone."""

    def __init__(self, folder: Path, clock: Clock, tell: Callable[[str], None]) -> None:
        self._folder, self._clock, self._tell = folder, clock, tell
        self._path = folder
        self._read, self._known, self._unsaved = 0, NO_COST, NO_COST
        self._failing = False

    def add(self, cost: Cost) -> None:
        """One call. Those of a model on this machine are not written down."""
        if not (cost.priced or cost.unknown):
            return
        now = self._clock.now()
        entry: dict[str, str | float | None] = {
            "at": now.isoformat(timespec="milliseconds"),
            "usd": cost.dollars,
        }
        if not cost.priced:
            entry |= {"usd": None} | ({"about": cost.dollars} if cost.dollars else {})
        line = json.dumps(entry)
        self._turn_to(now)
        try:
            append(self._path, f"{line}\n".encode(), private=True)
            self._failing = False
        except StorageError as error:
            self._unsaved += cost
            if not self._failing:
                self._tell(f"What calls cost today is not written down: {error}")
            self._failing = True

    def today(self) -> Cost:
        """Of all kernels; each entry is read once."""
        self._turn_to(self._clock.now())
        try:
            with os.fdopen(os.open(self._path, OPEN_PLAIN), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return self._known + self._unsaved
                if file.seek(0, 2) < self._read:  # it was deleted or cut
                    self._read, self._known = 0, NO_COST
                file.seek(self._read)
                data = file.read()
        except OSError:
            return self._known + self._unsaved
        end = 0
        for entry in _ENTRY.finditer(data):
            self._known += _cost_in(entry[1], entry[2] or b"0")
            end = entry.end()
        self._read += end
        return self._known + self._unsaved

    def _turn_to(self, now: datetime) -> None:
        path = self._folder / f"{now.date().isoformat()}.jsonl"
        if path != self._path:
            self._path = path
            self._read, self._known, self._unsaved = 0, NO_COST, NO_COST


def _cost_in(amount: bytes, about: bytes) -> Cost:
    unknown = amount == b"null"
    try:
        usd = float(about if unknown else amount)
    except ValueError:
        return NO_COST
    if not (math.isfinite(usd) and usd >= 0):
        return NO_COST
    return Cost(usd, unknown=1) if unknown else Cost(usd, priced=1)


@dataclass(frozen=True)
class _Cap:
    """A setting, the calls that it bounds, what they have cost and may, in US dollars, and what
    there is to do beside setting it higher."""

    name: str
    what: str
    cost: Cost
    most: float
    instead: str

    @property
    def spent(self) -> float:
        return self.cost.dollars

    @property
    def said(self) -> str:
        return "about " * bool(self.cost.unknown) + dollars(self.spent)


@dataclass
class Meter:
    """Of one conversation. `limits` are those in force, `source_of` tells the source of a tool by
    its name; `usage` and `cost` are what the session does not have yet."""

    session: Session
    clock: Clock
    emit: Callable[[Event], None]
    ledger: Ledger | None = None
    source_of: Callable[[str], Source] = lambda name: "history"
    limits: Callable[[], Limits] = Limits
    measure: Measure = field(default_factory=Measure)
    usage: Usage = field(default_factory=Usage, init=False)
    cost: Cost = field(default=NO_COST, init=False)
    _agreed: int = field(default=0, init=False)  # tokens of the last large request, or now less
    _told: set[str] = field(default_factory=set, init=False)

    def metered(self, client: ModelClient) -> ModelClient:
        """The same client, each call of which is looked at and counted."""
        return _Metered(client, self)

    def spent(self) -> tuple[Cost, Cost]:
        """In this session, and today."""
        session = self.session.cost + self.cost
        return session, self.ledger.today() if self.ledger else session

    def settle(self) -> Spent:
        """What was counted since the last time becomes the session's."""
        usage, cost = self.usage, self.cost
        self.usage, self.cost = Usage(), NO_COST
        return self.session.add_usage(usage, cost)

    def sources(self, request: Request, profile: Profile) -> dict[Source, int]:
        """Tokens by source, by estimate."""
        return sources_of(request, profile, self.source_of, self.measure)

    def tokens(self, request: Request, profile: Profile) -> int:
        """What a request most likely counts, by estimate and by what was counted before."""
        size = sum(self.sources(request, profile).values())
        return calibration_of(profile, self.measure).tokens(size)

    async def allow(
        self, request: Request, profile: Profile, ask: Ask, *, aside: bool = False
    ) -> None:
        """Ask the person before a request larger than the limit is sent, and again with each
        further growth by as much; `aside` is one that no conversation sends. Raises `LimitReached`
        where they do not agree."""
        if not (limit := self.limits().ask_above):
            return
        size = self.tokens(request, profile)
        self._agreed = min(self._agreed, size)
        if size <= self._agreed + limit:
            return
        answer = await ask(self._question(request, profile, size))
        if answer is None:
            raise LimitReached(
                f"Not sent: the request has about {size:,} tokens, and nobody is here to agree to "
                f"more than {limit:,}; {'' if aside else 'make it smaller with /compact, or '}set "
                "ask_above higher."
            )
        if answer.choice != ALLOW:
            raise LimitReached(
                f"Not sent, as you said, a request of about {size:,} tokens; "
                f"{'' if aside else '/compact makes the conversation smaller, '}/clear begins a "
                "new one."
            )
        self._agreed = size

    def aside(self, ask: Ask) -> Allow:
        """The same for what no conversation sends."""
        return partial(self.allow, ask=ask, aside=True)

    def check(self, profile: Profile) -> None:
        """Before each call. Raises `LimitReached` where a cap is used up."""
        if is_local(profile):
            return
        caps = self._caps()
        for cap in caps:
            if cap.spent >= cap.most:
                raise LimitReached(
                    f"Stopped: {cap.what} have cost {cap.said}, and {cap.name} is "
                    f"{dollars(cap.most)}; set it higher (SHIRO_{cap.name.upper()}), or "
                    f"{cap.instead}."
                )
        if caps and not is_priced(profile, self.clock.now()):
            self._tell_once(
                f"price of {profile.model}",
                f"The price of {profile.model} at {profile.base_url} is not known: what its calls "
                f"cost is not counted, and {' and '.join(cap.name for cap in caps)} cannot stop "
                "them.",
            )

    def count(self, usage: Usage, request: Request, profile: Profile, said: str) -> None:
        """A call has ended; one that broke off has no usage. What was not counted of a model with
        a price costs about what our estimate of it does: its cost stays unknown, but caps hold."""
        cost = cost_of(profile, usage, self.clock.now())
        if cost.unknown and not (usage.input or usage.output):
            about = Usage(input=self.tokens(request, profile), output=estimate(said))
            cost = replace(cost, dollars=cost_of(profile, about, self.clock.now()).dollars)
        self.usage += usage
        self.cost += cost
        if self.ledger:
            self.ledger.add(cost)
        caps = self._caps() if cost.dollars else []
        if caps and cost.unknown:
            names = " and ".join(cap.name for cap in caps)
            self._tell_once(
                f"use of {profile.model}",
                f"What a call of {profile.model} used was not counted by the endpoint: what it "
                f"cost is estimated, which counts towards {names}.",
            )
        for cap in caps:
            if cap.spent >= cap.most * WARNED:
                self._tell_once(
                    f"{cap.name} of {cap.most} on {self.clock.now():%x}",
                    f"{cap.what.capitalize()} have cost {cap.said}; at {cap.name} "
                    f"({dollars(cap.most)}) no further one is made.",
                )

    def _caps(self) -> list[_Cap]:
        """Those that are set."""
        limits = self.limits()
        if not (limits.cost or limits.cost_day):
            return []
        session, day = self.spent()
        another, tomorrow = "begin another with /clear", "go on tomorrow"
        caps = (
            _Cap("max_cost", "this session's calls", session, limits.cost, another),
            _Cap("max_cost_day", "today's calls", day, limits.cost_day, tomorrow),
        )
        return [cap for cap in caps if cap.most]

    def _question(self, request: Request, profile: Profile, size: int) -> Question:
        price = cost_of(profile, Usage(input=size), self.clock.now()).known
        about = f", at most {dollars(price)} before the answer" if price is not None else ""
        found = sorted(self.sources(request, profile).items(), key=lambda each: -each[1])
        lines = [f"{tokens:>9,}  {SAID[source]}" for source, tokens in found if tokens]
        return Question(
            id=f"send:{request.turn}:{request.step}",
            call_id="",
            kind="approval",
            title=f"Send about {size:,} tokens to {profile.model}{about}?",
            preview="\n".join(["Estimated tokens by source:", *lines]),
            choices=(ALLOW, DENY),
        )

    def _tell_once(self, what: str, sentence: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self.emit(Notice(sentence, "warning"))


class _Metered:
    """A `ModelClient` whose calls pass a meter."""

    def __init__(self, client: ModelClient, meter: Meter) -> None:
        self._client, self._meter = client, meter

    @property
    def profile(self) -> Profile:
        return self._client.profile

    def body(self, request: Request) -> dict[str, Any]:
        return self._client.body(request)

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        meter = self._meter
        meter.check(self.profile)
        began = ended = False
        said: list[str] = []
        pieces = self._client.stream(request)
        assert isinstance(pieces, AsyncGenerator)
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    began = True
                    if isinstance(piece, TextPiece | ReasoningPiece):
                        said.append(piece.text)
                    if isinstance(piece, Finished):
                        ended = True
                        said += [each.arguments for each in piece.items if isinstance(each, Call)]
                        meter.count(piece.usage, request, self.profile, "".join(said))
                    yield piece
        finally:
            if began and not ended:  # what was read of it has its price, which nobody tells
                meter.count(Usage(), request, self.profile, "".join(said))

    async def close(self) -> None:
        await self._client.close()
