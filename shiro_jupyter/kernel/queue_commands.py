"""The slash commands of the queue; importing this registers them."""

from __future__ import annotations

from ..core.errors import UsageError
from ..core.numbers import whole_number
from ..core.queue import Queue
from ..views.document import Table
from ..views.visible import one_line
from .commands import Outcome, Prompt, at_once, command
from .conversation import NO_QUEUE
from .said import Said
from .services import Services

USES = "Say /queue, /queue edit N TEXT, /queue remove N or /queue now N, with N as /queue lists it."


@command("[edit N TEXT|remove N|now N]")
def queue(services: Services, rest: str) -> Outcome:
    """the prompts that wait, or change one, take it off, or send it into the running turn"""
    verb, _, more = rest.partition(" ")
    typed, _, text = more.strip().partition(" ")
    number = whole_number(typed)
    if rest and (verb not in ("edit", "remove", "now") or number is None):
        raise UsageError(USES)
    if bool(text.strip()) != (verb == "edit"):
        raise UsageError(USES)

    async def work() -> Said:
        waiting = services.conversation.queue()
        if number is None:
            return _listed(waiting)
        return _changed(waiting, verb, number, text.strip())

    return at_once(services, work)


@command("TEXT")
def steer(services: Services, rest: str) -> Prompt:
    """send words into the running turn, before its next step; with none running, a plain prompt"""
    if not rest:
        raise UsageError("Say what to send: /steer TEXT.")
    return Prompt(rest, now=True)


def _listed(queue: Queue) -> Said:
    if not queue.waiting:
        return NO_QUEUE
    rows = (
        (str(each.id), "at the next step" if each.now else "", one_line(each.text))
        for each in queue.waiting
    )
    return [Table(("N", "sent", "prompt"), tuple(rows))]


def _changed(queue: Queue, verb: str, number: int, text: str) -> str:
    match verb:
        case "edit":
            queue.edit(number, text)
            return f"{number} now says: {one_line(text)}"
        case "remove":
            return f"Taken off the queue: {queue.remove(number).text}"
        case _:
            return f"Goes into the turn before its next step: {one_line(queue.steer(number).text)}"
