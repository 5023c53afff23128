"""A prompt from the cell that holds it to the reply, in the awaited and the blocking form."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import sys
import time
from collections.abc import Coroutine, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core.errors import SettingsError, ShiroError, TurnFailed, UsageError
from ..core.events import TurnEnded
from ..views.visible import visible
from . import check_commands as check_commands  # registers its commands
from . import commands, compat
from . import context_commands as context_commands  # registers its commands
from . import cost_commands as cost_commands  # registers its commands
from . import keep_commands as keep_commands  # registers its commands
from . import memory_commands as memory_commands  # registers its commands
from . import progress_commands as progress_commands  # registers its commands
from . import queue_commands as queue_commands  # registers its commands
from . import session_commands as session_commands  # registers its commands
from . import undo_commands as undo_commands  # registers its commands
from .cell_interrupts import in_cell
from .channel import Channel
from .command_line import CommandLine, parse
from .main_thread import MainThread, Server
from .memory_magics import MemoryMagics
from .offers import ServicesOffers
from .owner import CURRENT, Errand, Owner, show_recorded, view_for
from .panel import Panel
from .reply import Reply
from .rerun import Answers, Cell, Recorded, Runs, cell_of, is_live
from .said import say
from .saved_answers import CHECKING, SavedAnswers
from .services import Services

WITHIN = "A turn is running this code: %shiro cannot be asked from within it."
WAITING = "A turn is running this code: a reply cannot be waited for within it."
NOBODY = (
    "A turn in the background has a question, and nobody can answer it here: run %shiro where "
    "a person can type."
)


class TurnInterrupted(Exception):
    """An interrupt, in a task, a callback or a thread, which may not raise KeyboardInterrupt."""


@dataclass(frozen=True)
class Wait:
    """Main has to serve jobs until `ended`."""

    ended: concurrent.futures.Future[Any]
    server: Server


# Yields what to wait for; returns what the magic returns.
Steps = Generator[Wait, None, Reply | None]


class Host:
    """What the magics call, all on the main thread."""

    def __init__(self, shell: Any, channel: Channel) -> None:
        self.shell = shell
        self.services = Services(shell, channel)
        self.services.pages.prompted = Panel(self.services).prompted
        self.offers = ServicesOffers(self.services)
        self.services.pages.completed = self.offers.at
        remembered = self.services.remembered
        self.memory_magics = MemoryMagics(
            self.services.memory,
            remembered.about,
            remembered.tables,
            self.services.emit_from_main,
            self._memory_is_on,
        )
        services = self.services
        answers = Answers(services.folders.data / "answers", services.project, services.redactor)
        checking = services.environ.get(CHECKING)
        self.runs = Runs(answers, time.time, SavedAnswers(Path(checking)) if checking else None)
        self.services.failure = compat.failure(getattr(shell, "last_execution_result", None))
        shell.events.register("pre_run_cell", self._cell_begins)
        shell.events.register("post_run_cell", self._cell_ended)
        self.services.pages.start()  # at last: not where an interrupt came between

    @property
    def main(self) -> MainThread:
        return self.services.main

    def _memory_is_on(self) -> bool:
        try:
            return self.services.settings().settings.memory
        except SettingsError:  # which the next prompt tells; recording needs no settings
            return True

    def close(self) -> None:
        self.shell.events.unregister("pre_run_cell", self._cell_begins)
        self.shell.events.unregister("post_run_cell", self._cell_ended)
        self.services.close()

    # -- magics ------------------------------------------------------------------------------

    def prompt(self, line: str, body: str | None = None) -> Reply | None:
        """`%shiro` where its cell cannot await: main blocks, and serves jobs meanwhile."""
        steps = self._steps(line, body)
        try:
            while True:
                wait = next(steps)
                self.main.serve_blocking(wait.ended, wait.server)
        except StopIteration as end:
            reply: Reply | None = end.value
            return reply
        finally:
            steps.close()

    async def prompt_async(self, line: str, body: str | None = None) -> Reply | None:
        """`%shiro` in a cell that awaits it: main's own event loop goes on."""
        before = contextvars.copy_context()
        steps = self._steps(line, body)
        try:
            while True:
                wait = next(steps)
                await self.main.serve(wait.ended, wait.server)
        except StopIteration as end:
            reply: Reply | None = end.value
            return reply
        finally:
            steps.close()
            self._carry(before)

    def show_todos(self) -> None:
        say(self.shell, commands.todo_text(self.services))

    # -- one prompt --------------------------------------------------------------------------

    def _steps(self, text: str, body: str | None) -> Steps:
        person = compat.allows_stdin(self.shell)
        try:
            return (yield from self._asked(text, body, person))
        except ShiroError as error:
            if not person:
                raise compat.terminate_quietly(error, str(error)) from None
            sys.stderr.write(f"{visible(str(error))}\n")
            return None

    def _asked(self, text: str, body: str | None, person: bool) -> Steps:
        if self.main.busy:
            raise UsageError(WITHIN)
        line = parse(text, body)
        if not person:  # nobody would see how it ends, and the kernel may be gone by then
            line = replace(line, background=False)
        self._set(line)
        if line.resume:
            conversation = self.services.conversation
            before = conversation.opened
            yield from self._work(conversation.resume(line.resume), person)
            if not line.prompt.strip():
                say(self.shell, conversation.going_on())
                return None
            if conversation.opened is not before:
                conversation.notices = tuple(conversation.going_on().split("\n"))
        prompt, now = line.prompt, False
        if line.command:
            name, rest = line.command
            outcome = commands.find(name).run(self.services, rest)
            if isinstance(outcome, Coroutine):
                outcome = yield from self._work(outcome, person)
            if not isinstance(outcome, commands.Prompt):
                say(self.shell, outcome)
                return None
            prompt, now = outcome.text, outcome.now
        elif not prompt.strip():
            made = yield from self._of_nothing(person)
            if made is None:
                return None
            prompt = made
        return (yield from self._ask(line, prompt, person, now))

    def _set(self, line: CommandLine) -> None:
        """What a flag sets for the kernel, from now on; checked before it is kept."""
        kept = {"model": line.model, "base_url": line.base_url}
        given = {name: value for name, value in kept.items() if value}
        if given:
            self.services.settings(**given)
            self.services.flags |= given

    def _of_nothing(self, person: bool) -> Generator[Wait, None, str | None]:
        """`%shiro` alone: answers a question that waits, or asks again the one at which an earlier
        kernel died, which takes no prompt; else mends the last error, else says what to type."""
        if self.main.questions:
            if not person:
                raise UsageError(NOBODY)
            yield Wait(self.services.until_answered(), Server(stdin=person))
            return None
        if person and (yield from self._work(self.services.conversation.waits(), person)):
            return ""
        result = getattr(self.shell, "last_execution_result", None)
        if compat.failure(result):
            return self.services.prompt_of_error()
        say(self.shell, "Ask something: %shiro PROMPT. %shiro /help lists what else there is.")
        return None

    def _ask(self, line: CommandLine, prompt: str, person: bool, now: bool = False) -> Steps:
        """The turn itself, or the recorded answer where that will do."""
        per_turn = {"mode": line.mode, "think": line.think, "memory": line.memory}
        flags = {name: value for name, value in per_turn.items() if value not in ("", True)}
        loaded = self.services.settings(**flags)
        cell = cell_of(compat.request_header(self.shell), compat.cell_id(self.shell), time.time())
        key = self.runs.key(repr((prompt, line.model, line.mode, line.think)), cell)
        live = is_live(self.services.environ, line.live)
        found = None if live or not prompt else self.runs.recorded(key, cell, person=person)
        if found and (not person or (yield from self._choice(found, cell)) == "show"):
            show_recorded(self.shell, line, loaded.settings.view, found.answer, found.note)
            return Reply(prompt, found.answer)
        view, ticks = view_for(self.shell, line, loaded.settings.view, self.services.pages)
        owner = Owner(
            line=line,
            reply=Reply(prompt, serve=lambda *until: self._wait_for(owner, *until)),
            person=person,
            loaded=loaded,
            view=view,
            ticks=ticks,
            cell=cell.cell,
            number=self.shell.execution_count - 1,  # it counts the next one from the start of this
            request=compat.request(self.shell),
            now=now,
        )
        if prompt:
            owner.record = lambda answer: self.runs.record(key, cell, prompt, answer)
        if not line.memory:
            yield from self._work(self.services.conversation.switch(None), person)
        if line.background:
            self._spawn(owner, prompt)
            return owner.reply
        server = Server(stdin=person, owner=owner)
        with self.main.serving(server):
            ended = self._spawn(owner, prompt)
            yield Wait(ended, server)
        _raise_unless_fine(ended.result(), person)
        _raise_if_missed(server)
        return owner.reply

    def _spawn(self, owner: Owner, prompt: str) -> concurrent.futures.Future[TurnEnded]:
        context = contextvars.copy_context()
        context.run(CURRENT.set, owner)
        return self.services.thread.spawn(lambda: self.services.turn(owner, prompt), context)

    def _wait_for(
        self, owner: Owner, ended: concurrent.futures.Future[None], timeout: float | None
    ) -> None:
        """The turn's code has to run on main while main waits for it."""
        if compat.on_main() and self.main.busy:
            raise compat.terminate_quietly(UsageError(WAITING), WAITING)
        server = Server(stdin=compat.allows_stdin(self.shell), waits_for=owner)
        self.main.serve_blocking(ended, server, float("inf") if timeout is None else timeout)
        if owner.reply.outcome == "interrupted":
            raise _stopped(owner.reply.reason or "The turn was interrupted.")
        _raise_if_missed(server)

    def _work(self, work: Coroutine[Any, Any, Any], person: bool) -> Generator[Wait, None, Any]:
        """Have work done on the agent's thread that is no turn; an interrupt cancels it."""
        errand = Errand()

        async def run() -> Any:
            errand.begin()
            return await work

        server = Server(stdin=person, owner=errand)
        with self.main.serving(server):
            ended = self.services.thread.spawn(run, contextvars.copy_context())
            yield Wait(ended, server)
        try:
            result = ended.result()
        except concurrent.futures.CancelledError:
            raise _stopped("Interrupted.") from None
        _raise_if_missed(server)
        return result

    def _choice(self, found: Recorded, cell: Cell) -> Generator[Wait, None, str]:
        choice = self.runs.choice(cell)
        if choice is None:
            said = yield from self._work(self._typed(found), True)
            choice = "run" if said.strip().lower() in ("r", "run") else "show"
            self.runs.choose(choice)
        return choice

    async def _typed(self, found: Recorded) -> str:
        question = (
            f"Answered before ({found.when}). [r]un again, or Enter to show the recorded answer, "
            "which runs none of its code: no new variables, no figures. Your choice holds for "
            "all cells of this run: "
        )
        return await self.main.run(lambda: input(question), stdin=True)

    # -- around it ---------------------------------------------------------------------------

    def _cell_begins(self, info: Any) -> None:
        if not self.main.busy:
            with suppress(SettingsError):  # which the next prompt tells
                private = self.services.settings().settings.kept_private
                self.services.withholding.cell_begins(private)

    def _cell_ended(self, result: Any) -> None:
        if self.main.busy:
            return  # code that a turn runs is no cell of the person's
        self.services.withholding.cell_ended(result)
        self.runs.cell_ended()
        self.services.failure = compat.failure(result) or self.services.failure

    def _carry(self, before: contextvars.Context) -> None:
        """Context variables set in a cell that awaits die with its task, which those of a plain
        cell do not: they are set once more where the kernel itself goes on."""
        changed = {
            variable: value
            for variable, value in contextvars.copy_context().items()
            if variable not in before or before[variable] is not value
        }
        if not changed:
            return

        def once() -> None:
            self.shell.events.unregister("post_execute", once)
            for variable, value in changed.items():
                variable.set(value)

        self.shell.events.register("post_execute", once)


def _raise_unless_fine(ended: TurnEnded, person: bool) -> None:
    """An interrupted turn stops Run All; a failed one does where nobody could see it."""
    if ended.outcome == "interrupted":
        raise _stopped(ended.reason or "The turn was interrupted.")
    if not person and ended.outcome in ("failed", "limited"):
        raise compat.terminate_quietly(TurnFailed(ended.reason), f"TurnFailed: {ended.reason}")


def _raise_if_missed(server: Server) -> None:
    """An interrupt that found nothing left to end, or something that ended well all the same, is
    for the code behind it."""
    if server.missed or (isinstance(server.owner, Errand) and server.owner.stopped):
        raise _stopped("It came as the turn ended.")


def _stopped(sentence: str) -> BaseException:
    """What ends the person's own code after an interrupt; a KeyboardInterrupt that left a task
    would end the kernel with it."""
    frame = sys._getframe()
    plain = compat.on_main() and asyncio._get_running_loop() is None
    error = KeyboardInterrupt if plain or in_cell(frame) else TurnInterrupted
    return compat.terminate_quietly(error(sentence), f"{error.__name__}: {sentence}")
