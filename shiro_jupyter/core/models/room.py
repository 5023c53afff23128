"""How large a request is, and how much of a model's window is left for a conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..context.sources import SOURCES, Source, sources
from ..context.tokens import Calibration, Measure, estimate
from .base import Request, offered, system_of
from .profiles import Profile
from .schema import SchemaCalling

# Tokens of a request where no window is known, and what is kept free of a known one for the reply.
UNKNOWN = 120_000
RESERVE, RESERVED = 0.25, 16_000  # the lesser of this part and this number


def usable(profile: Profile) -> int:
    """Tokens that a request to this model may have."""
    window = profile.window
    return window - min(int(window * RESERVE), RESERVED) if window else UNKNOWN


def calibration_of(profile: Profile, measure: Measure) -> Calibration:
    return measure.of((profile.base_url, profile.model))


def sources_of(
    request: Request, profile: Profile, source_of: Callable[[str], Source], measure: Measure
) -> dict[Source, int]:
    """Tokens by source, by estimate, of what goes out to this model."""
    if profile.calling == "schema":  # which writes a short prompt of its own
        sent = SchemaCalling().payload(request, profile)
        found = dict.fromkeys(SOURCES, 0)
        *system, asked = (message["content"] for message in sent["messages"])
        found["instructions"] = sum(map(measure.text, system))
        found["turn"] = estimate(asked, measure.vocabulary)
        return found
    return sources(
        system_of(request, profile),
        [[tool.name, tool.description, tool.parameters] for tool in offered(request, profile)],
        request.items,
        request.tail,
        request.turn,
        source_of,
        measure,
    )


def size_of(request: Request, profile: Profile, measure: Measure) -> int:
    """Tokens of what goes out to this model, by estimate."""
    return sum(sources_of(request, profile, lambda name: "history", measure).values())


def room_for_items(request: Request, profile: Profile, measure: Measure | None = None) -> int:
    """Tokens, by estimate, that the request's items may take beside all that goes out with them;
    below 0 where that alone is too much. What `measure` knows of the model's counts is used."""
    measure = measure or Measure()
    whole = calibration_of(profile, measure).estimate_for(usable(profile))
    return whole - size_of(replace(request, items=()), profile, measure)
