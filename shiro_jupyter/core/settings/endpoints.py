"""Which endpoint, and which key goes to it: a key goes only to the origin it was set with."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from ..models.endpoint import Endpoint

OPENAI_URL = "https://api.openai.com/v1"
_PORTS = {"http": 80, "https": 443}
# A host as people type it; a lone word is more likely something else.
_BARE = re.compile(r"(?i:localhost|\[[0-9A-Fa-f:.]+\]|[\w-]+(?=[.:])[\w.-]*)(?::\d+)?(?:/\S*)?")


def origin_of(url: str) -> str:
    """`https://host:443`: scheme, host and port, whatever the spelling. Raises `ValueError`."""
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").rstrip(".")
    return f"{scheme}://{host}:{parts.port or _PORTS.get(scheme, 0)}"


def normal_url(url: str) -> str:
    """A base URL as the SDK wants it. Raises `ValueError` with what is wrong.

    A bare host gets `/v1`, and `http` where it is this machine, else `https`; the path of one
    call, pasted by mistake, is cut off.
    """
    url = url.strip()
    if "://" not in url and _BARE.fullmatch(url):
        url = f"http{'' if Endpoint(f'http://{url}').is_loopback else 's'}://{url}"
    parts = urlsplit(url)
    if parts.scheme.lower() not in _PORTS or not parts.hostname:
        raise ValueError("write it as http://host:port/v1 or https://host/v1")
    if "@" in parts.netloc:
        raise ValueError("keep user and password out of the address; set api_key or headers")
    if parts.query or parts.fragment:
        raise ValueError("an address has no ? and no # part")
    _ = parts.port  # raises ValueError for what is no port
    path = parts.path.rstrip("/")
    for call in ("/chat/completions", "/completions", "/responses", "/models"):
        path = path.removesuffix(call)
    return f"{parts.scheme.lower()}://{parts.netloc}{path or '/v1'}"


@dataclass(frozen=True)
class Key:
    """A secret, what to call it, and the base URL it was set with (empty: with none)."""

    secret: str
    name: str
    base_url: str

    def fits(self, base_url: str) -> bool:
        return bool(self.base_url) and origin_of(self.base_url) == origin_of(base_url)

    @property
    def unused(self) -> str:
        """Why it is not sent."""
        if self.base_url:
            return f"{self.name} is not used: it was set for {self.base_url}."
        return f"{self.name} is not used: no base URL is set beside it."
