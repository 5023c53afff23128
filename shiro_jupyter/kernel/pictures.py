"""What code has drawn where no cell shows it: kept for the pages, which fetch it by its key."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

# Best first, where a display has several; a page draws them as images, which run no script.
KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml")
# Characters of base64.
ONE_KEPT = 8_000_000
ALL_KEPT = 32_000_000


class Picture(NamedTuple):
    mime: str
    data: str  # base64


class Pictures:
    """The newest pictures; for any thread, though one alone keeps them."""

    def __init__(self) -> None:
        self._kept: dict[str, Picture] = {}
        self._keys = itertools.count(1)

    def keep(self, bundle: Mapping[str, Any]) -> str:
        """Keep the picture of a display; its key, "" where there is none. Of one that is too
        large there is only the key."""
        mime = next((each for each in KINDS if each in bundle), "")
        if not mime:
            return ""
        key, data = str(next(self._keys)), _encoded(mime, bundle[mime])
        if len(data) <= ONE_KEPT:
            self._kept[key] = Picture(mime, data)
        while sum(len(each.data) for each in self._kept.values()) > ALL_KEPT:
            del self._kept[next(iter(self._kept))]
        return key

    def find(self, key: str) -> Picture | None:
        return self._kept.get(key)


def _encoded(mime: str, data: str | bytes) -> str:
    """A bundle holds text for svg, and base64 for all others, or what is yet to be encoded."""
    if isinstance(data, str) and mime != "image/svg+xml":
        return "".join(data.split())
    raw = data.encode() if isinstance(data, str) else data
    return base64.b64encode(raw).decode("ascii")
