"""Where a model is served and how to reach it."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

# Shorter than this a value is a stand-in (`ollama`, `none`) or a plain word, and no secret.
_SHORTEST_SECRET = 8


@dataclass(frozen=True)
class Endpoint:
    """`base_url` ends in `/v1` as the SDK wants it. The key is kept out of every repr."""

    base_url: str
    api_key: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    ca_file: str = ""
    proxy: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """Host name in lower case; empty where the base URL is none."""
        try:
            return urlsplit(self.base_url).hostname or ""
        except ValueError:
            return ""

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def shown(self) -> str:
        """The base URL for a sentence: without a user, password or query."""
        rest = self.base_url.rpartition("@")[2] if "@" in self.base_url else self.base_url
        scheme = self.base_url.partition("://")[0] if rest != self.base_url else ""
        return (f"{scheme}://" if scheme else "") + rest.partition("?")[0]

    def scrubbed(self, text: str) -> str:
        """The text without our key, the values of our headers, or a password of our addresses,
        in any case of their letters. What is too short to be a secret stays."""
        passwords = [
            url.rpartition("@")[0].rpartition("/")[2].partition(":")[2]
            for url in (self.base_url, self.proxy)
        ]
        known = [self.api_key, *(value for _, value in self.headers), *passwords]
        secrets = [each for each in known if len(each) >= _SHORTEST_SECRET]
        secrets += [f":{each}@" for each in passwords if each]
        for secret in sorted(secrets, key=len, reverse=True):
            text = re.sub(re.escape(secret), "…", text, flags=re.IGNORECASE)
        return text

    def scrubbed_json(self, value: object, depth: int = 20) -> object:
        """The JSON value with all its texts scrubbed, less what is nested deeper."""
        if isinstance(value, str):
            return self.scrubbed(value)
        if isinstance(value, list | dict) and not depth:
            return None
        if isinstance(value, list):
            return [self.scrubbed_json(each, depth - 1) for each in value]
        if isinstance(value, dict):
            return {key: self.scrubbed_json(each, depth - 1) for key, each in value.items()}
        return value

    def origin(self, model: str) -> str:
        """A mark of endpoint, account and model; what is encrypted for one holds for no other."""
        told = "\n".join((self.base_url, model, self.api_key))
        return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()
