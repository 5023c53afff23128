"""How much of a model's window is left for a conversation."""

from __future__ import annotations

from ..context.tokens import estimate, estimate_schema
from .base import Request, offered, system_of
from .profiles import Profile

# Tokens of a request where no window is known, and what is kept free of a known one for the reply.
UNKNOWN = 120_000
RESERVE, RESERVED = 0.25, 16_000  # the lesser of this part and this number


def room_for_items(request: Request, profile: Profile) -> int:
    """Tokens, by estimate, that the request's items may take beside all that goes out with them;
    below 0 where that alone is too much."""
    window = profile.window
    whole = window - min(int(window * RESERVE), RESERVED) if window else UNKNOWN
    tools = sum(
        estimate_schema([tool.name, tool.description, tool.parameters])
        for tool in offered(request, profile)
    )
    return whole - tools - estimate(system_of(request, profile)) - estimate(request.tail)
