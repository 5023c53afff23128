"""Which session this kernel is in, and the agent of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from ..core.agent import Agent
from ..core.cost import Ledger, Meter
from ..core.errors import StorageError, UsageError
from ..core.events import Event, TurnEnded, TurnStarted, Waiting
from ..core.queue import Queue
from ..core.sessions import catalogue
from ..core.sessions.fork import fork
from ..core.sessions.lease import RENEW_SECONDS
from ..core.sessions.log import Opened, load_session, open_session
from ..core.sessions.session import Session
from ..core.settings import Loaded
from ..core.turn import Limits
from ..core.workspace.clock import Clock
from ..core.workspace.project import Project

LATEST, BEFORE = "latest", "before"  # sessions that are named without an id
NONE = "This session has not begun yet: ask something first."
NO_QUEUE = "No prompt waits: ask something first."
ELSEWHERE = "This notebook's session is open in another kernel: a new one begins here."
BUSY = "A turn is running, or a compaction: wait for it, or end it with %shiro /stop."


class Conversation:
    """All on the agent's thread. `made` makes the agent of a session, for settings and the prompt
    that opens it; `tell` says a sentence to the person, which is told in the next turn again where
    none is shown; `busy` is true while turns run or wait."""

    def __init__(
        self,
        folder: Path,
        project: Project,
        clock: Clock,
        redacted: Callable[[str], str],
        *,
        tell: Callable[[str], None],
        made: Callable[[Opened, Loaded, str], Agent],
        busy: Callable[[], bool],
    ) -> None:
        self.opened: Opened | None = None
        self.agent: Agent | None = None
        self.ledger = Ledger(folder.with_name("spending"), clock, self._said)
        self.notices: tuple[str, ...] = ()  # what the next turn begins by telling
        self._shown = False  # a turn is
        self._fresh = False  # the person wants a new session
        self._warned = ("", 0)  # of which session, at which turn, that leaving it loses something
        self._renewing: asyncio.Task[None] | None = None
        self._folder, self._project, self._clock, self._redacted = folder, project, clock, redacted
        self._tell, self._made, self._busy = tell, made, busy

    def agent_for(self, loaded: Loaded, prompt: str, *, person: bool = True) -> Agent:
        """The agent of the session at hand; its tools and system text stay as they are until the
        session's end. Without one, of the newest of the notebook that is open nowhere; without a
        person of a new one, so that a run by a program is the same each time."""
        if self.opened is None:
            self._hold((self._earlier() if person else None) or self._new())
        assert self.opened is not None
        if self.agent is None:
            self.agent = self._made(self.opened, loaded, prompt)
        return self.agent

    def meter(self, loaded: Loaded) -> Meter:
        """Of the session at hand, or of none where none has begun."""
        if self.agent:
            return self.agent.meter
        limits = Limits.of(loaded.settings)
        session = self.opened.session if self.opened else Session()
        return Meter(session, self._clock, lambda event: None, self.ledger, limits=lambda: limits)

    def at_rest(self, loaded: Loaded) -> Agent:
        """The agent of the session at hand, while no turn runs. Raises `UsageError`."""
        self.refuse_busy()
        if self.opened is None:
            raise UsageError(NONE)
        return self.agent_for(loaded, self.opened.session.title)

    def heard(self, event: Event) -> None:
        """Every event passes here, before it is shown: some must not be lost, and where they are
        a turn that ends still says so."""
        self._shown |= isinstance(event, TurnStarted)
        if self.opened:
            self.opened.log.heard(event)
        self._shown &= not isinstance(event, TurnEnded)

    async def waits(self) -> bool:
        """Whether the session at hand stopped at a question, which can be asked again."""
        if self._busy():
            return False
        if self.opened is None and (earlier := self._earlier()):
            self._hold(earlier)
        if self.opened is None:
            return False
        session = self.opened.session
        return any(call.call_id == session.asked for call in session.open_calls()[:1])

    def flush(self) -> None:
        """Write what is pending; on any thread."""
        if self.opened:
            self.opened.log.flush()

    def going_on(self) -> str:
        """Which session this is, and what there is to say of it, which is told no more then."""
        if self.opened is None:
            raise UsageError(NONE)
        short = catalogue.short_id(self.opened.log.path)
        notices, self.notices = self.notices, ()
        return "\n".join([f"Going on with {short}: {_named(self.opened.session)}.", *notices])

    @property
    def told(self) -> str:
        """The session at hand, else what the next prompt will do, in a few words."""
        if self.opened:
            return f"{self.opened.session.id}  {self.opened.session.title}"
        listing = self._next()
        if listing is None or listing.holder:
            return "none yet"
        return f"none yet; the next prompt goes on with: {listing.title}"

    def close(self) -> None:
        """Write what is pending, and leave the session to others; on any thread."""
        if self.opened:
            self.opened.log.close()

    def queue(self) -> Queue:
        """The prompts that wait. Raises `UsageError` where nothing was asked yet."""
        if self.agent is None:
            raise UsageError(NO_QUEUE)
        return self.agent.queue

    def abort(self) -> tuple[Waiting, ...]:
        """End the turn; what waited behind it, handed back."""
        return self.agent.abort() if self.agent else ()

    async def switch(self, opened: Opened | None) -> None:
        """Go on with another session, None with a new one. Raises `UsageError` in mid-turn, and
        once where what was said since would be lost."""
        self._refuse_leaving()
        self.close()
        self.opened, self.agent, self.notices, self._fresh = None, None, (), opened is None
        if opened:
            self._hold(opened)

    async def resume(self, which: str) -> Session:
        """Open the session with this beginning of an id; the newest of the notebook, else of the
        project, which is the one at hand where there is one (`LATEST`); or the newest before that
        (`BEFORE`)."""
        self.refuse_busy()
        path = self._path(which)
        if self.opened and self.opened.log.path == path:
            return self.opened.session
        self._refuse_leaving()
        return await self._open(path)

    async def fork(self, turn: int | None) -> Session:
        """Go on in a copy of the session at hand, of all of it or up to the end of a turn."""
        self.refuse_busy()
        if self.opened is None:
            raise UsageError(NONE)
        self._refuse_leaving()
        return await self._open(fork(self.opened.log.path, self._clock.now(), turn=turn))

    async def _open(self, path: Path) -> Session:
        opened = self._load(path)
        await self.switch(opened)
        self.notices = opened.notices
        return opened.session

    def _refuse_leaving(self) -> None:
        """While a turn runs; and where the session cannot be saved, until the person insists."""
        self.refuse_busy()
        self.flush()
        if self.opened is None or not self.opened.log.unsaved:
            return
        session = self.opened.session
        if self._warned != (session.id, session.turn):
            self._warned = session.id, session.turn
            raise UsageError(
                f"Nothing was done, since this session would lose what {self.opened.log.path} "
                "lacks: free that file, or keep the session with /export; the same command again "
                "loses it."
            )

    def _hold(self, opened: Opened) -> None:
        """Keep the session ours from now on."""
        self.opened = opened
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if self.opened:
                self.opened.log.renew()

    def _earlier(self) -> Opened | None:
        """The newest session of the notebook, where it is to be gone on with and is open nowhere:
        an older one would be a surprise."""
        listing = self._next()
        if listing is None:
            return None
        if listing.holder:
            self.notices = (ELSEWHERE,)
            return None
        try:
            opened = self._load(listing.path)
        except StorageError as error:
            self.notices = (f"{error} A new session begins.",)
            return None
        self.notices = (
            f"Going on with: {_named(opened.session)}; %shiro /clear begins a new session.",
            *opened.notices,
        )
        return opened

    def _next(self) -> catalogue.Listing | None:
        """The newest session of the notebook, unless the person wants a new one."""
        notebook = self._project.notebook
        if notebook is None or self._fresh:
            return None
        return catalogue.of_notebook(self._folder, notebook)

    def _load(self, path: Path) -> Opened:
        return load_session(path, clock=self._clock, tell=self._said, redacted=self._redacted)

    def _said(self, sentence: str) -> None:
        self._tell(sentence)
        if not self._shown:
            self.notices += (sentence,)

    def refuse_busy(self) -> None:
        if self._busy():
            raise UsageError(BUSY)

    def _path(self, which: str) -> Path:
        if which == LATEST and self.opened:
            return self.opened.log.path
        if which not in (LATEST, BEFORE):
            return catalogue.find(self._folder, which)
        mine = self.opened.session.id if self.opened else ""
        listing = catalogue.newest(self._folder, self._project, apart_from=mine)
        if listing is None:
            raise UsageError("There is no earlier session of this project.")
        return listing.path

    def _new(self) -> Opened:
        return open_session(
            self._folder,
            project=self._project,
            clock=self._clock,
            tell=self._said,
            cwd=Path.cwd(),
            redacted=self._redacted,
        )


def _named(session: Session) -> str:
    return f"{session.title} ({'1 turn' if session.turn == 1 else f'{session.turn} turns'})"
