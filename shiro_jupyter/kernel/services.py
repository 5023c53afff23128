"""What the kernel's agent is made of, put together once: the composition root."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..core.agent import Agent
from ..core.context.prompt import system_text
from ..core.errors import StorageError
from ..core.events import Event, Notice, QueueChanged, TurnEnded, TurnStarted, Waiting
from ..core.memory.store import Memory
from ..core.models import lone
from ..core.models.base import ModelClient
from ..core.policy.gate import Gate
from ..core.policy.private import Private
from ..core.policy.redactor import Redactor
from ..core.policy.secrets import known
from ..core.questions import Questions
from ..core.queue import TAKEN_OFF
from ..core.sessions.history import History
from ..core.sessions.lease import Leases
from ..core.sessions.log import Opened
from ..core.settings import Loaded, Settings
from ..core.tools.base import Tool
from ..core.tools.shelf import tools_for
from ..core.turn import Limits
from ..core.workspace.clock import SystemClock
from ..core.workspace.folders import user_folders
from ..core.workspace.processes import Processes
from ..core.workspace.project import find_project, notebook_path
from ..core.workspace.threads import begun, in_thread
from ..views.feed import Feed
from . import compat
from .after_turn import AfterTurn
from .agent_thread import AgentThread
from .channel import Channel
from .check.hidden import Live
from .check.own import live_kernel
from .choose_model import Models
from .conversation import Conversation
from .document import LiveDocument
from .end_signals import EndSignals
from .fix import prompt_of_error
from .live import LiveKernel
from .loopback import Unserved
from .main_thread import MainThread
from .namespace import Namespace
from .next_cell import NextCell
from .notebook_changes import editor
from .own_tools import OwnTools
from .owner import CURRENT, Errand, Owner
from .pages import Pages
from .person import WAITS, Person
from .pictures import Pictures
from .privacy import Privacy
from .references import References
from .session_memory import SessionMemory
from .tools import kernel_tools, notebook_tools, with_unknown_rules
from .undo import Undo
from .withheld import Withholding

TICK_SECONDS = 0.1
SENT = "The prompt went into the turn before it, which answers it."
STOP_SECONDS = 5.0  # for stopped turns to end in good order


class Services:
    """One kernel's agent with all it needs. Methods say where they run; state of the turn, and
    the views, belong to the agent's thread."""

    def __init__(self, shell: Any, channel: Channel) -> None:
        self.shell, self.environ, self.clock = shell, os.environ, SystemClock()
        self.folders = user_folders(os.environ)
        notebook = notebook_path(os.environ, shell.user_ns.get("__vsc_ipynb_file__"))
        found = find_project(Path.cwd(), home=self.folders.home, notebook=notebook)
        outputs = self.folders.outputs_dir(found.root).resolve()
        self.project = replace(found, allowed=(outputs,))
        self.memory = Memory(self.project, self.folders, self.clock)
        self.gate, self.redactor, self.privacy = Gate(), Redactor(), Privacy(shell)
        self.processes = Processes(os.environ, outputs, passes=self.redactor.stream)
        leases = Leases(self.folders.sessions_dir)
        self.remembered = SessionMemory(
            self.memory, self.processes, self.clock, leases, self.seen, self.answer
        )
        self.models = Models(self.folders, os.environ, self.clock)
        self.feed = Feed(self.clock.monotonic)
        self.main = MainThread(self.interrupt, lambda: self._unserved.seek())
        self.pictures = Pictures()
        self.undo = Undo(
            shell.user_ns, self.folders, lambda: self.conversation.opened, self.emit_from_main
        )
        watched = self.undo.names.watched
        self.live = LiveKernel(shell, self.main, self.pictures, self.redactor, watched)
        self.withholding = Withholding(shell, self.privacy, self.live)
        self.own = OwnTools(shell.user_ns, self.live)
        self.flags: dict[str, object] = {}  # what was set for this kernel: model, mode, …
        self.failure: tuple[BaseException, str] | None = None  # the last cell's, with its source
        self._turns: list[Owner] = []  # the running one and those behind it
        self._in_force: Loaded | None = None
        self._told: set[str] = set()
        self._history = History(self.folders.history_file(self.project.root), self.redactor)
        self.conversation = Conversation(
            self.folders.sessions_dir,
            self.project,
            self.clock,
            self.redactor,
            tell=self._notice,
            made=self._made,
            busy=self._busy,
        )
        self.thread = AgentThread()
        self.pages = self._pages(channel)
        self.document = LiveDocument(
            self.pages.ask, lambda: self.main.held, self.pages.shows_notebook
        )
        next_cell = NextCell(shell, self.main)
        self.editor = editor(self.document, self.project.notebook, self.undo.cells, next_cell)
        self.after = AfterTurn(self.live, self.undo.names, self.document, next_cell, self.pages)
        self.questions = Questions(self.emit, [self._person()])
        self._unserved = Unserved(shell, self.main, self.thread)
        self._process = os.getpid()
        atexit.register(self.close)
        self._signals = EndSignals(self.close)

    def _pages(self, channel: Channel) -> Pages:
        return Pages(
            channel,
            self.feed,
            self.clock,
            call=self.thread.call,
            answer=lambda answer, digest: self.questions.answer(answer, digest),
            interrupt=lambda: self._interrupt(None),
            abort=self.conversation.abort,
            queue=self.conversation.queue,
            history=lambda: in_thread(self._history.prompts),
            picture=self.pictures.find,
        )

    def _person(self) -> Person:
        return Person(
            self.shell,
            self.main,
            elsewhere=self.pages.reached,
            there=lambda: bool((owner := CURRENT.get()) and owner.person),
            owner=CURRENT.get,
            prompt=lambda: owner.reply.prompt if (owner := CURRENT.get()) else "",
            waits=lambda: self.emit(Notice(WAITS)),
            interrupted=lambda: self._interrupt(CURRENT.get()),
        )

    # -- on main, or any thread ------------------------------------------------------------

    def settings(self, **flags: object) -> Loaded:
        """The settings as they are now; these flags hold for one turn. Raises `SettingsError`."""
        loaded = Settings.load(
            environ=self.environ,
            folders=self.folders,
            project=self.project,
            flags={**self.flags, **flags},
            stored_key=self.models.keys.stored,
        )
        return with_unknown_rules(loaded, [tool.name for tool in self.own.tools()])

    def tools(self, loaded: Loaded) -> tuple[Tool[Any], ...]:
        namespace = self.namespace(loaded)
        kernel = kernel_tools(namespace, self.live)
        kernel += notebook_tools(self.editor, self.live, namespace, lambda: self.held(namespace))
        memory = self.remembered.tools(loaded.settings.memory)
        return tools_for(loaded.settings.tool_sets, (*memory, *kernel))

    async def held(self, namespace: Namespace) -> Live:
        """What this kernel holds, as far as the namespace tells, for a check of its notebook."""
        return await live_kernel(self.shell, list(namespace.variables()), self.after.kept)

    def namespace(self, loaded: Loaded) -> Namespace:
        self.privacy.private = loaded.settings.kept_private
        return Namespace(self.shell, self.privacy)

    def seen(self) -> Namespace:
        """What the model may know of now. Raises `SettingsError`."""
        return self.namespace(self.settings())

    def prompt_of_error(self, words: str = "") -> str:
        """The prompt for the last error of a cell, empty where none has failed."""
        result = compat.failure(getattr(self.shell, "last_execution_result", None))
        failure = result or self.failure
        if failure is None:
            return ""
        return prompt_of_error(*failure, self.seen(), words)

    def until_answered(self) -> concurrent.futures.Future[None]:
        """Done when no question waits for a cell any more."""

        async def wait() -> None:
            while self.main.questions:
                await asyncio.sleep(TICK_SECONDS)

        return self.thread.spawn(wait)

    def interrupt(self, owner: object = None) -> concurrent.futures.Future[bool]:
        """What Interrupt and ctrl-c do; from a signal handler or any thread. Whether there was
        something to end, once the agent has seen it."""
        found: concurrent.futures.Future[bool] = concurrent.futures.Future()
        self.thread.call(lambda: found.set_result(self._interrupt(owner)))
        return found

    def emit_from_main(self, event: Event) -> None:
        self.thread.call(self.feed.emit, event)

    def close(self) -> None:
        """End the turn, the thread and every child, and write what is pending."""
        atexit.unregister(self.close)
        self._signals.remove()
        if os.getpid() != self._process:
            return
        self.thread.close()
        self.models.close()
        self.processes.end_all()
        self.conversation.close()

    # -- on the agent's thread ---------------------------------------------------------------

    async def turn(self, owner: Owner, prompt: str) -> TurnEnded:
        """Run a prompt to its end, behind those before it; the reply is complete then."""
        owner.begin()
        self.redactor.keys = owner.loaded.secrets
        agent = self.conversation.agent_for(owner.loaded, prompt, person=owner.person)
        if owner.person:
            begun(self._history.add, owner.line.prompt)
        if self._turns:
            owner.behind(len(self._turns))
        self._turns.append(owner)
        ticking = asyncio.create_task(self._tick(owner))
        try:
            await asyncio.sleep(0)  # an interrupt that came before this task ends it here
            ended = await agent.submit(prompt, owner.page, now=owner.now)
        except asyncio.CancelledError:
            ended = TAKEN_OFF
        finally:
            self._turns.remove(owner)
            ticking.cancel()
        if not owner.started:
            owner.dropped(SENT if ended.turn else ended.reason)
        else:
            await self.after.keep((agent.session.id, ended.turn), owner, ended)
        owner.reply.finish(ended, agent.session.answer(ended.turn))
        return ended

    def emit(self, event: Event) -> None:
        owner = CURRENT.get()
        if isinstance(event, QueueChanged):
            event = self.pages.addressed(event)
        if owner and isinstance(event, TurnStarted):
            owner.started = True
            self.hold(owner.loaded)
            if agent := self.conversation.agent:
                agent.offer(self.own.offered(agent.session))
            owner.unsubscribe = self.feed.subscribe(owner)
        if owner and isinstance(event, TurnEnded):
            self._record(owner, event)
            self._tell_data(owner, event)
        self.conversation.heard(event)
        self.feed.emit(event)
        if owner and isinstance(event, TurnStarted):
            notices = (*self.conversation.notices, *self.remembered.notices)
            self._tell((*owner.loaded.notices, *notices))
        if owner and isinstance(event, TurnEnded):
            owner.unsubscribe()

    def _record(self, owner: Owner, ended: TurnEnded) -> None:
        """Keep the answer for a re-run; before its view ends, which tells where it cannot be."""
        opened = self.conversation.opened
        if ended.outcome != "answered" or owner.record is None or opened is None:
            return
        try:
            owner.record(opened.session.answer(ended.turn))
        except StorageError as error:
            self.emit(Notice(f"The answer was not kept for a re-run: {error}", "warning"))

    def _tell_data(self, owner: Owner, ended: TurnEnded) -> None:
        if opened := self.conversation.opened:
            changed = self.after.changed((opened.session.id, ended.turn), owner, ended)
            if changed:
                self.feed.emit(changed)

    async def stop(self) -> tuple[int, tuple[Waiting, ...]]:
        """End what runs and hand back what waits: how many there were, and what to which page."""
        agent = self.conversation.agent
        compaction = agent.compaction if agent else None
        tasks = [compaction, *(owner.task for owner in self._turns)]
        count = len(self._turns) + bool(compaction)
        back = self.pages.addressed(QueueChanged((), self.conversation.abort())).back
        if stopping := list(filter(None, tasks)):
            await asyncio.wait(stopping, timeout=STOP_SECONDS)
        return count, back

    def _busy(self) -> bool:
        agent = self.conversation.agent
        return bool(self._turns) or (agent is not None and agent.queue.runs)

    def _made(self, opened: Opened, loaded: Loaded, prompt: str) -> Agent:
        session, remembered, namespace = opened.session, self.remembered, self.namespace(loaded)
        memory = remembered.begin(session, prompt, on=loaded.settings.memory)
        tools = self.tools(loaded)
        instructions = remembered.instructions.begin(session)
        system = session.system or system_text(self.project, memory, instructions)

        def private() -> Private:
            return self.privacy.now(namespace.every())

        refer = References(
            lambda: self.conversation.agent.project if self.conversation.agent else self.project,
            lambda name: self.gate.lets_read(session.grants, name),
            namespace,
            private,
            self.document,
            lambda: compat.inputs(self.shell),
            self._notice,
        )
        return Agent(
            session=session,
            model=self._client,
            tools=tools,
            system=lambda: system,
            gate=self.gate,
            project=self.project,
            processes=self.processes,
            clock=self.clock,
            emit=self.emit,
            ask=self.questions.ask,
            flush=opened.log.flush,
            redacted=self.redactor,
            private=private,
            withholding=self.withholding.of,
            ledger=self.conversation.ledger,
            words_of_others=remembered.words_of_others,
            around=lambda *change: self.undo.files(session.id).around(*change),
            surroundings=lambda: f"{namespace.brief()}\n{remembered.later()}".strip(),
            update_notes=remembered.refreshed,
            refer=refer.described,
        )

    async def answer(self, prompt: str) -> str:
        """The model's answer outside any turn, without tools. Raises what a turn would fail of."""
        loaded = self.settings()
        client = await self.models.client(loaded, self._notice, self.questions.ask)
        meter = self.conversation.meter(loaded)
        client, allow = meter.metered(client), meter.aside(self.questions.ask)
        return await lone.answer(client, self.redactor(prompt), self.clock, self.emit, allow)

    async def _client(self) -> ModelClient:
        opened = self.conversation.opened
        assert self._in_force is not None and opened is not None
        client = await self.models.client(self._in_force, self._notice, self.questions.ask)
        opened.session.set_model(client.profile.model)
        return client

    def hold(self, loaded: Loaded) -> None:
        """These settings are in force from this turn on."""
        self._in_force, settings = loaded, loaded.settings
        self.gate.mode, self.gate.yolo = settings.mode, settings.yolo
        self.gate.rules, self.privacy.private = settings.rules, settings.kept_private
        for processes in (self.processes, self.models.local.processes):
            processes.hidden, processes.secrets = settings.hide, known(loaded.secrets)
        if agent := self.conversation.agent:
            agent.limits = Limits.of(settings)
            agent.project = replace(self.project, ignore=settings.ignore)

    def _interrupt(self, owner: object) -> bool:
        """End what runs for the owner; false where that has ended already."""
        if isinstance(owner, Errand):
            if not owner.started:
                return owner.stop()  # no turn, or one that waits behind another, which goes on
            if owner.task and owner.task.done():
                return False  # what runs now is of another one
        agent = self.conversation.agent
        return agent is not None and agent.interrupt()

    async def _tick(self, owner: Owner) -> None:
        while owner.ticks:
            await asyncio.sleep(TICK_SECONDS)
            if owner.started:
                self.feed.tick(owner)

    def _notice(self, text: str) -> None:
        self.emit(Notice(text))

    def _tell(self, notices: tuple[str, ...]) -> None:
        """Each sentence once a kernel."""
        for notice in (*notices, *self.memory.problems()):
            if notice not in self._told:
                self._told.add(notice)
                self.emit(Notice(notice))
