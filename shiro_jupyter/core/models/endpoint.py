"""Where a model is served and how to reach it."""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit


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
        """The text without our key, the values of our headers, or the proxy's password."""
        secrets = [self.api_key, *(value for _, value in self.headers)]
        for url in (self.base_url, self.proxy):
            secrets.append(url.rpartition("@")[0].rpartition("/")[2].partition(":")[2])
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            text = text.replace(secret, "…")
        return text

    def origin(self, model: str) -> str:
        """A mark of endpoint, account and model; what is encrypted for one holds for no other."""
        told = "\n".join((self.base_url, model, self.api_key))
        return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()
