"""Secrets out of all that is stored and sent: whole texts, and output that comes bit by bit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .secrets import could_begin, redact, secret_spans

# Characters of one line, or of a key on several lines, that are held back at most.
LINE = 64_000
# Of a longer line: a secret that has begun in these is seen when the rest of it has come.
HELD = 4_096
_WORD = re.compile(r"(?:[0-9]{8,12}:)?[A-Za-z0-9_-]{0,200}\Z")


@dataclass
class Redactor:
    """The one that a host hands to everything that stores or sends. `keys` are those in use: a
    host sets them anew with each turn."""

    keys: Sequence[str] = field(default=(), repr=False)

    def __call__(self, text: str) -> str:
        return redact(text, self.keys)

    def stream(self, batch: int = 0) -> RedactedStream:
        """`batch`: characters that may wait, where many small pieces come and nobody looks."""
        return RedactedStream(self, batch)


class RedactedStream:
    """A text that comes in pieces, without its secrets, also those that two pieces share.

    It is told line by line, since a secret stands on one line; a key that has begun on several is
    held back to its end.
    """

    def __init__(self, redactor: Redactor, batch: int = 0) -> None:
        self._redactor, self._batch = redactor, batch
        self._held = ""

    def feed(self, text: str) -> str:
        """What can be told by now of all that came."""
        if self._batch:
            self._held += text
            if len(self._held) < self._batch:
                return ""
            text, self._held = self._held, ""
        cut = max(text.rfind("\n"), text.rfind("\r")) + 1
        cut += len(self._held) if cut else 0
        self._held += text
        within = len(self._held) - cut > LINE
        if within:
            cut = len(self._held) - HELD
        return self._told(self._before_secrets(cut, within))

    def settle(self) -> str:
        """Of a line begun what no secret can begin in, for who will not wait for its end."""
        if could_begin(self._held, self._redactor.keys):
            return ""
        word = _WORD.search(self._held)
        return self._told(word.start() if word else 0)

    def end(self) -> str:
        """All the rest."""
        return self._told(len(self._held))

    def _before_secrets(self, cut: int, within: bool) -> int:
        """Where to cut so that no secret is cut in two; `within` a line, or at the end of one. One
        that ends right there may be longer, or need what follows."""
        if cut:
            for start, end in secret_spans(self._held, self._redactor.keys, lines=not within):
                if start < cut <= end and len(self._held) - start <= LINE + HELD:
                    cut = start
        return cut

    def _told(self, cut: int) -> str:
        told, self._held = self._held[:cut], self._held[cut:]
        return self._redactor(told) if told else ""
