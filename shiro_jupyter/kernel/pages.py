"""The pages that show this kernel's turns: who is there, what they are told, what they ask for."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..core.errors import ToolFailed, UsageError
from ..core.events import Answer, Event, Question, QueueChanged, TurnEnded, TurnStarted, Waiting
from ..core.queue import Queue
from ..core.workspace.clock import Clock
from ..core.workspace.picker import picked, query
from ..views.cell import PATIENCE
from ..views.feed import Feed
from ..views.page import INTERVAL, About, PageView
from ..views.queue import queue_model, sendable
from ..views.state import TurnState
from ..views.static import left_behind
from ..views.visible import visible
from .channel import Channel, Message, Page
from .owner import CURRENT
from .pictures import Picture

TICK_SECONDS = INTERVAL
# How long a page that is on its way may take to say hello, and one that is there to do something.
EXPECTED_SECONDS = PATIENCE
ASK_SECONDS = 15.0
NO_PAGE = (
    "No page of JupyterLab has the notebook open: open it there, with the shiro_jupyter extension "
    "installed where JupyterLab runs."
)
NO_ANSWER = "The page that has the notebook open did not answer within {} seconds; try again."
GONE = "The page that had the notebook open was closed before it answered; open it again."
HISTORY_SHOWN = 400_000  # characters
NO_PICTURE = "The picture is no longer kept: ask for it again."
NO_PROMPT = "There is nothing to ask yet: type a prompt."


async def _no_history() -> Sequence[str]:
    return ()


async def _none_of(sought: str) -> Sequence[str]:
    return ()


class Pages:
    """`kernel`, `turn`, `present`, `handle` and `serve` are for any thread; all else is used on the
    agent's, which `call` hands a callback over to.

    `answer`, `interrupt` and `abort` are what a page's answer, its stop button and its Escape key
    do; `queue` holds what waits, `history` what was asked before; `picture` finds what a page shows
    of a call, on any thread; `prompted` is told the page and what was typed into its prompt box.
    """

    def __init__(
        self,
        channel: Channel,
        feed: Feed,
        clock: Clock,
        call: Callable[..., None],
        answer: Callable[[Answer, str], object],
        interrupt: Callable[[], object],
        abort: Callable[[], object] = lambda: None,
        queue: Callable[[], Queue] = lambda: Queue(lambda event: None),
        history: Callable[[], Awaitable[Sequence[str]]] = _no_history,
        picture: Callable[[str], Picture | None] = lambda key: None,
    ) -> None:
        self.turn = 0  # the newest, counted from the load
        self.prompted: Callable[[str, str], object] = lambda page, text: None
        self.completed: Callable[[str], Awaitable[Sequence[str]]] = _none_of
        self._channel, self._feed, self._clock, self._call = channel, feed, clock, call
        self._answer, self._interrupt, self._picture = answer, interrupt, picture
        self._abort, self._queue, self._history = abort, queue, history
        self._looking: set[asyncio.Task[None]] = set()
        self._waiting: tuple[Waiting, ...] = ()
        epoch = clock.now().timestamp() - clock.monotonic()
        self._view = PageView(self._tell, about, epoch)
        self._cells: list[str] = []  # of each turn
        # Those the channel knows, as this loop has heard of them: one that goes when it has been
        # shown a question goes after that question.
        self._there: set[str] = set()
        self._drawn: set[int] = set()  # turns that a page draws in their cells
        self._shown: set[str] = set()  # questions that a page shows
        self._sinks: list[tuple[Callable[[Message], object], int]] = []
        self._arrived = asyncio.Event()
        self._asked: dict[str, tuple[str, asyncio.Future[Any]]] = {}
        self._ids = itertools.count(1)
        self._ticking: asyncio.TimerHandle | None = None
        self._runs = False
        feed.subscribe(self)

    @property
    def kernel(self) -> str:
        """The token of this load of the extension."""
        return self._channel.token

    @property
    def present(self) -> bool:
        """Whether a page has said hello, and not good-bye."""
        return bool(self._there)

    def shows_notebook(self) -> bool:
        """Whether a page has said that it has this kernel's notebook open."""
        return self._page_with("") is not None

    def handle(self, request: Any) -> Message:
        """The reply to a request that came over a widget's comm."""
        return self._channel.handle(request, listens=False)

    # -- what they are told ----------------------------------------------------------------

    def apply(self, event: Event, at: float) -> None:
        if isinstance(event, TurnStarted):
            self.turn += 1
            self._cells.append(about().cell)
            self._runs = True
            self._drawn.clear()
            self._shown.clear()
        if isinstance(event, QueueChanged):
            self._waiting = event.waiting
            self._tell_queue()
            for page in dict.fromkeys(each.source for each in event.back):
                self._give_back(page, *(each.text for each in event.back if each.source == page))
        self._follow()
        self._view.apply(event, at)
        if isinstance(event, TurnEnded):
            self._runs = False

    def attach(self, sink: Callable[[Message], object], turn: int) -> Callable[[], None]:
        """Give the events of one turn to a widget, too; returns the call that ends it."""
        entry = (sink, turn)
        self._sinks.append(entry)
        self._come()

        def detach() -> None:
            self._sinks = [each for each in self._sinks if each is not entry]
            self._follow()

        return detach

    def addressed(self, changed: QueueChanged) -> QueueChanged:
        """With what is handed back for the pages that are there: for the one that it was typed in,
        else the one that was active last. What has no source has no input to go to."""
        there = [page for page in list(self._channel.pages.values()) if page.id in self._there]
        newest = max(there, key=lambda page: page.active, default=None)

        def of(waiting: Waiting) -> Waiting:
            if not waiting.source or waiting.source in self._there:
                return waiting
            return replace(waiting, source=newest.id if newest else "")

        return replace(changed, back=tuple(of(each) for each in changed.back))

    def _give_back(self, page: str, *texts: str) -> None:
        """Words go back into the input of the page."""
        if page:
            self._channel.send({"kind": "back", "to": page, "texts": [*map(sendable, texts)]})

    def _tell_queue(self, **to: str) -> None:
        if self.present:
            waiting = queue_model(self._waiting)
            self._channel.send({"kind": "queue", "waiting": waiting, **to})

    def narrow(self, turn: int, unkept: Sequence[str]) -> None:
        """Offer to keep the code of a turn for no other names than these."""
        self._view.narrow(turn, unkept, self._clock.monotonic())

    def say(self, page: str, text: str) -> None:
        self._channel.send({"kind": "said", "to": page, "text": visible(text)})

    def _tell(self, event: Message) -> None:
        """An event of a turn, to whom it may concern."""
        event = {"kind": "turn", "kernel": self.kernel, **event}
        if self.present:
            self._channel.send(event)
        for sink, turn in self._sinks:
            if turn == event["turn"]:
                sink(event)

    def _come(self, *pages: str) -> None:
        self._there.update(pages)
        self._arrived.set()
        self._follow()

    def _follow(self) -> None:
        """Nothing is worked out, and no timer runs, where nobody follows or no turn runs."""
        self._view.following = self.present or bool(self._sinks)
        if self._view.following and self._runs and self._ticking is None:
            self._ticking = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        self._ticking = None
        self._view.tick(self._clock.monotonic())
        self._follow()

    # -- whether one is there --------------------------------------------------------------

    def draws(self, turn: int) -> bool:
        """Whether a page has drawn the turn in its cell."""
        return turn in self._drawn

    async def reached(self, question: Question) -> bool:
        """Whether a page shows the question: it says so itself, since one that has said hello may
        have vanished, or may have no place to show it. Waits a moment for that."""
        if self._view.following or expected():
            with suppress(TimeoutError):
                async with asyncio.timeout(EXPECTED_SECONDS):
                    while question.id not in self._shown:
                        self._arrived.clear()
                        await self._arrived.wait()
        return question.id in self._shown

    # -- something for a page to do --------------------------------------------------------

    async def ask(
        self, op: str, args: Message, seconds: float = ASK_SECONDS, notebook: str = ""
    ) -> Any:
        """Have the page that has the notebook open, by default whichever is this kernel's, do
        something there; of several the one that was active last. Answers its value.

        Raises `ToolFailed` where there is none, it does not answer, or it could not do it.
        """
        page = self._page_with(notebook)
        if page is None:
            raise ToolFailed(NO_PAGE)
        key = str(next(self._ids))
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[key] = page.id, future
        event = {"kind": "ask", "to": page.id, "id": key, "op": op, "args": args}
        self._channel.send({**event, "notebook": page.notebook})
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            raise ToolFailed(NO_ANSWER.format(round(seconds))) from None
        finally:
            del self._asked[key]

    def _page_with(self, notebook: str) -> Page | None:
        """The server's path of a notebook may begin further down than the kernel's."""
        fitting = [
            page
            for page in list(self._channel.pages.values())
            if page.notebook and (not notebook or f"/{notebook}".endswith(f"/{page.notebook}"))
        ]
        return max(fitting, key=lambda page: page.active, default=None)

    # -- what they ask for -----------------------------------------------------------------

    def start(self) -> None:
        """From now on requests are served here, and those who came before are known."""
        self._channel.serve = self.serve
        self._call(lambda: self._come(*self._channel.pages))

    def serve(self, request: Message) -> Message:
        """Takes a request of the channel's, on any thread, and only hands it over."""
        if request["do"] == "prompt" and not request["text"].strip():
            return {"ok": False, "error": NO_PROMPT, "started": True}
        if request["do"] == "picture":
            found = self._picture(request["key"])
            return {"ok": True, **found._asdict()} if found else {"ok": False, "error": NO_PICTURE}
        self._call(self._take, request)
        return {"ok": True}

    def _take(self, request: Message) -> None:
        page, at = request["page"], self._clock.monotonic()
        match request["do"]:
            case "hello":
                self._come(page)
                for event in self._view.snapshots(at):
                    self._tell_one(page, event)
                self._tell_queue(to=page)
            case "snapshot":
                if found := self._view.snapshot(request["turn"], at):
                    self._tell_one(page, found)
            case "answer":
                answer = Answer(request["question"], request["choice"], request["words"])
                self._answer(answer, request["digest"])
            case "drawn":
                self._drawn.add(request["turn"])
            case "shown":
                self._shown.add(request["question"])
                self._arrived.set()
            case "stop":
                if request["turn"] == self.turn:  # it may have ended in that moment
                    self._interrupt()
            case "prompt":
                self.prompted(page, request["text"])
            case "edit" | "remove" | "now":
                self._change(request)
            case "abort":
                self._abort()
            case "history":
                self._look(self._tell_history(page))
            case "complete":
                self._look(self._tell_completed(page, request["text"]))
            case "done":
                self._done(request)
            case "left":
                self._left(page, request["turn"])
            case "bye":
                self._bye(page)

    def _look(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._looking.add(task)
        task.add_done_callback(self._looking.discard)

    async def _tell_completed(self, page: str, text: str) -> None:
        """What the `@` at the end of a text may mean, with the text as it then reads."""
        sought = query(text)
        names = [] if sought is None else await self.completed(sought)
        options = [{"name": each, "text": picked(text, each)} for each in names]
        self._channel.send({"kind": "completed", "to": page, "of": text, "options": options})

    async def _tell_history(self, page: str) -> None:
        """The newest prompts of the project, oldest first, as many as one message takes."""
        prompts: list[str] = []
        room = HISTORY_SHOWN
        for prompt in reversed(await self._history()):
            room -= len(prompt)
            if room < 0:
                break
            prompts.insert(0, sendable(prompt))
        self._channel.send({"kind": "history", "to": page, "prompts": prompts})

    def _change(self, request: Message) -> None:
        """What waits; it may have begun in that moment, and then edited words go back."""
        page, number = request["page"], request["id"]
        try:
            match request["do"]:
                case "edit":
                    self._queue().edit(number, request["text"])
                case "remove":
                    self._queue().remove(number)
                case "now":
                    self._queue().steer(number)
        except UsageError as error:
            self.say(page, str(error))
            if words := request.get("text", "").strip():
                self._give_back(page, words)

    def _tell_one(self, page: str, event: Message) -> None:
        event = {"kind": "turn", "kernel": self.kernel, **event, "to": page}
        if page in self._there:
            self._channel.send(event)
            return
        for sink, turn in self._sinks:
            if turn == event["turn"]:
                sink(event)

    def _done(self, request: Message) -> None:
        page, future = self._asked.get(request["id"], ("", None))
        if future is None or future.done() or page != request["page"]:
            return
        if "error" in request:
            future.set_exception(ToolFailed(visible(request["error"])))
        else:
            future.set_result(request.get("value"))

    def _bye(self, page: str) -> None:
        self._there.discard(page)
        self._follow()
        for asked, future in self._asked.values():
            if asked == page and not future.done():
                future.set_exception(ToolFailed(GONE))

    def _left(self, page: str, number: int) -> None:
        """What an ended turn has left in its cell, for a page that has not seen it put there."""
        state, turn = TurnState(), 0
        for event, at in self._feed.events:
            turn += isinstance(event, TurnStarted)
            if turn > number:
                break
            state.apply(event, at)
        if 0 < number <= turn and state.ended:
            left = {"cell": self._cells[number - 1], "bundle": left_behind(state)}
            self._channel.send({"kind": "left", "to": page, "turn": number, **left})


def expected() -> bool:
    """Whether a page that has not said hello yet may be about to show the turn at hand."""
    owner = CURRENT.get()
    return owner is not None and owner.expects_page


def about() -> About:
    """Where the running turn comes from, and the id of its cell, "" where it has none."""
    owner = CURRENT.get()
    return About(owner.origin, owner.cell or "") if owner else About("panel")
