"""Prompts that were typed in a page, and so belong to no cell."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from dataclasses import dataclass

from ..core.errors import ShiroError
from ..core.events import Event
from . import commands
from .command_line import CommandLine
from .owner import CURRENT, Owner
from .reply import Reply
from .said import text_of
from .services import Services

log = logging.getLogger("shiro")


class Unseen:
    """The view of a turn that the pages alone show."""

    def apply(self, event: Event, at: float) -> None:
        pass


@dataclass(frozen=True)
class Panel:
    """Runs what is typed in a page's prompt box, as typed: a prompt, or a slash command. All on
    the agent's thread."""

    services: Services

    def prompted(self, page: str, text: str) -> None:
        self.services.thread.spawn(lambda: self._answered(page, text))

    async def _answered(self, page: str, text: str) -> None:
        """What is no turn is said to the page."""
        try:
            said = await self._run(page, text.strip())
        except ShiroError as error:
            said = str(error)
        except Exception as error:
            log.exception("a prompt of a page failed")
            said = f"Something in shiro broke ({type(error).__name__}: {error}); ask again."
        if said:
            self.services.pages.say(page, said)

    async def _run(self, page: str, text: str) -> str:
        line, now = CommandLine(prompt=text), False
        if line.command:
            name, rest = line.command
            outcome = commands.find(name).run(self.services, rest)
            if isinstance(outcome, Coroutine):
                outcome = await outcome
            if not isinstance(outcome, commands.Prompt):
                return text_of(outcome)
            text, now = outcome.text, outcome.now
        owner = Owner(
            line=line,
            reply=Reply(text),
            person=True,
            loaded=self.services.settings(),
            view=Unseen(),
            ticks=False,
            cell=None,
            page=page,
            now=now,
        )
        CURRENT.set(owner)  # of this task alone
        await self.services.turn(owner, text)
        return owner.said  # how it ended the page has seen
