"""Where a model is served and how to reach it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Endpoint:
    """`base_url` ends in `/v1` as the SDK wants it. The key is kept out of every repr."""

    base_url: str
    api_key: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    ca_file: str = ""
    proxy: str = ""
