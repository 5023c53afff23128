"""A question about the conversation, asked beside it while a turn goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .compaction import ABOUT, told
from .context.tokens import estimate
from .errors import NotCompacted, UsageError
from .models import lone
from .models.base import ModelClient
from .models.room import usable as tokens_for
from .transcript import Item
from .workspace.clock import Clock

TOO_LONG = (
    "The conversation is too long for the model to be asked about it beside its turn; ask when the "
    "turn has ended."
)
NO_WORDS = "The model gave no answer in words; ask again in other words."
INSTRUCTION = """\
While the agent is at work, the person asks about that work. What it is doing now, as data:

{doing}

Answer the question from what stands here, in a few sentences; where it cannot be told from it, \
say so.

{question}"""


async def answer(
    question: str,
    doing: str,
    items: Sequence[Item],
    client: ModelClient,
    clock: Clock,
    redacted: Callable[[str], str],
    allow: lone.Allow,
) -> str:
    """The model's answer, which no turn has in it; the client stays open.

    Raises `EndpointError`, `LimitReached`, and `UsageError` where it is not to be asked or says
    nothing.
    """
    instruction = INSTRUCTION.format(doing=doing, question=question)
    room = tokens_for(client.profile) - estimate(ABOUT + instruction)
    try:
        conversation = told(items, room)
    except NotCompacted:
        raise UsageError(TOO_LONG) from None
    prompt = ABOUT.format(conversation=conversation, instruction=instruction)
    reply = await lone.reply(client, redacted(prompt), clock, lambda event: None, allow)
    if not (said := reply.text.strip()):  # it called a tool, or only thought
        raise UsageError(NO_WORDS)
    return said
