"""How much of a conversation goes out, and what is done where it is too much: it is pruned, rarely
and deep, and where that does not help, it is compacted."""

from __future__ import annotations

from dataclasses import astuple, replace

from .compaction import Compactor
from .context.prune import Pruner, enough, shown
from .context.tokens import Measure
from .errors import EndpointError, LimitReached, NotCompacted
from .events import Compacted, Notice, Usage, UsageReported
from .models.base import ModelClient, Request
from .models.profiles import Profile
from .models.room import calibration_of, room_for_items, size_of
from .sessions.session import Session
from .transcript import Cut, Result, User
from .turn import Turn

TRIES = 3  # to send what an endpoint finds too long: as it fits by estimate, pruned, compacted


class Fitting:
    """Of one session: what goes out is settled by its items and its cut alone."""

    def __init__(self, session: Session, compactor: Compactor, measure: Measure) -> None:
        self._session, self._compactor = session, compactor
        self._emit = compactor.emit
        self._measure = measure
        self._pruner = Pruner(Cut(*session.cut), self._measure)
        self._most: dict[str, int] = {}  # tokens, by model, since the endpoint took no more
        # When a compaction was tried last: how much the person had said and tools had given, and
        # how many tokens went out after it.
        self._tried, self._left = -1, 0

    async def fitted(self, request: Request, client: ModelClient, turn: Turn) -> Request:
        """The request with as much of the conversation as the model's window takes; a client that
        writes its own prompt chooses by itself. Raises `LimitReached` where a known window has no
        place even for what cannot be left out: some endpoints would silently cut that."""
        if client.profile.calling == "schema":
            return request
        room, before = self._room(request, client), self._size()
        if before > room:
            self._prune(room)
            grown = self._size() - self._left
            if self._size() > enough(room) and (self._tried < 0 or grown > room - enough(room)):
                await self._compact(client, turn)
            self._tell(before, turn)
        fitted = replace(request, items=shown(self._session.items, self._pruner.cut))
        if self._size() > room:
            self._refuse_beyond(fitted, client.profile)
        return fitted

    def _refuse_beyond(self, request: Request, profile: Profile) -> None:
        size = size_of(request, profile, self._measure)
        tokens = calibration_of(profile, self._measure).tokens(size)
        if profile.window and tokens > profile.window:
            raise LimitReached(
                f"Not sent: with the least of the conversation the request has about {tokens:,} "
                f"tokens, and the window of {profile.model} is {profile.window:,}; ask with a "
                "shorter prompt, choose a model with a larger window with /model, or set `window` "
                "where it has more."
            )

    def as_it_is(self, request: Request, client: ModelClient) -> Request:
        """What goes out of the request as things stand, with nothing done about its size."""
        if client.profile.calling == "schema":
            return request
        return replace(request, items=shown(request.items, self._pruner.cut))

    def counted(self, request: Request, client: ModelClient, usage: Usage) -> None:
        """What the provider counted of the request as it was fitted last: later estimates go by
        that."""
        if client.profile.calling != "schema":
            bare = size_of(replace(request, items=()), client.profile, self._measure)
            calibration = calibration_of(client.profile, self._measure)
            calibration.saw(bare + self._size(), usage.input)

    async def less(self, attempt: int, client: ModelClient, turn: Turn) -> bool:
        """Whether less goes out from now on, after the endpoint found a step too long, as often as
        `attempt` says before: at first it is pruned to half, then compacted."""
        if client.profile.calling == "schema" or attempt + 1 == TRIES:
            return False
        before = self._size()
        self._most[client.profile.model] = before * 3 // 4
        if attempt == 0:
            self._prune(before // 2)
        if self._size() == before:
            await self._compact(client, turn)
        return self._tell(before, turn)

    def _room(self, request: Request, client: ModelClient) -> int:
        room = room_for_items(request, client.profile, self._measure)
        return min(room, self._most.get(client.profile.model, room))

    def _size(self) -> int:
        return self._pruner.size(self._session.items)

    def _prune(self, room: int) -> None:
        if self._pruner.prune(self._session.items, room):
            self._session.set_cut(astuple(self._pruner.cut))

    async def _compact(self, client: ModelClient, turn: Turn) -> None:
        """At most once between two events of the person or a tool."""
        happened = sum(isinstance(item, User | Result) for item in self._session.items)
        if happened == self._tried:
            return
        self._tried = happened

        def count(usage: Usage) -> None:
            self._emit(UsageReported(usage))

        room = self._most.get(client.profile.model, 0)
        try:
            await self._compactor.compact(self._session, client, count, room=room)
        except (NotCompacted, EndpointError) as error:
            self._emit(Notice(str(error), "warning"))
        self._left = self._size()

    def _tell(self, before: int, turn: Turn) -> bool:
        """Once a turn; whether there was anything to tell."""
        after = self._size()
        if after < before and not turn.pruned:
            turn.pruned = True
            self._emit(Compacted(before, after))
        return after < before
