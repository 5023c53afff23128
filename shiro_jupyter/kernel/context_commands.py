"""The slash commands of what goes out to the model; importing this registers them."""

from __future__ import annotations

from .commands import Work, command
from .services import Services


@command("[WORDS]")
def compact(services: Services, rest: str) -> Work:
    """go on from a summary of the conversation; words say what it has to keep"""

    async def work() -> str:
        loaded = services.settings()
        agent = services.conversation.at_rest(loaded)
        services.redactor.keys = loaded.secrets
        services.hold(loaded)
        done = await agent.compact(rest)
        return (
            f"The conversation goes on from a summary: {done.before:,} → {done.after:,} tokens go "
            "out. The session's file keeps all of it."
        )

    return work()
