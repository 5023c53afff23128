"""Model profiles: what a model at an endpoint can do, by name and server, overridable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Api = Literal["chat", "responses"]
Calling = Literal["native", "fenced", "schema"]


@dataclass(frozen=True)
class Profile:
    """`window` is in tokens, 0 where unknown; `idle_seconds` bounds silence between events."""

    model: str
    api: Api = "chat"
    calling: Calling = "native"
    window: int = 0
    idle_seconds: float = 120.0
    images: bool = False
