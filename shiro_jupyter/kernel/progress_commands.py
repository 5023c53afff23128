"""The slash commands that ask about a running turn, from beside it; importing this registers
them. A page can ask while main runs code; a cell would wait behind it."""

from __future__ import annotations

from ..core.errors import UsageError
from ..views.state import TurnState, status
from ..views.visible import one_line
from .commands import Outcome, Work, at_once, command
from .said import Said
from .services import Services

NOTHING = "Nothing runs."
NO_CONVERSATION = "There is no conversation to ask about yet: ask something first."


@command()
def progress(services: Services, rest: str) -> Outcome:
    """what runs now, for how long, and the end of what it printed; no model is asked"""

    async def work() -> Said:
        return _doing(services, output=True) or NOTHING

    return at_once(services, work)


@command("QUESTION")
def btw(services: Services, rest: str) -> Work:
    """ask about the work while it goes on; neither question nor answer enters the conversation"""
    if not rest:
        raise UsageError("Say what you want to know: /btw QUESTION.")

    async def work() -> str:
        agent = services.conversation.agent
        if agent is None:
            raise UsageError(NO_CONVERSATION)
        if not agent.queue.runs:
            services.hold(services.settings())
        # What code prints is not for the model where it may hold what is kept from it.
        kept_back = services.settings().settings.kept_private.any
        doing = _doing(services, output=not kept_back)
        return await agent.aside(rest, doing or NOTHING)

    return work()


def _doing(services: Services, *, output: bool) -> str:
    """The running turn in a few lines, empty where none runs."""
    feed = services.feed
    state = TurnState()
    for event, at in feed.events[feed.turn_start :]:
        state.apply(event, at)
    if not state.turn or state.ended:
        return ""
    lines = [f"“{one_line(state.prompt)}”: {status(state, services.clock.monotonic())}"]
    if use := state.current:
        lines.append(f"{use.name}: {one_line(use.summary)}")
        if output and (text := use.output.strip()):
            lines += ["The end of its output:", text]
    return "\n".join(lines)
