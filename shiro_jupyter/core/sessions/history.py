"""The prompts that a person typed, for the arrow keys: of each project the newest."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..errors import StorageError
from ..policy.secrets import redact
from ..workspace.files import append, locked, make_folder, write_atomic
from ..workspace.plain import opened_plain, told
from .records import line_of

KEPT = 200
LONGEST = 20_000  # characters; a longer prompt is no line to be typed again


class History:
    """One project's prompts, in a private file of JSON Lines, shared by its kernels.

    It only helps: what cannot be read or written is left out, and nothing is said.
    """

    def __init__(self, path: Path, redacted: Callable[[str], str] = redact) -> None:
        self._path, self._redacted = path, redacted

    def add(self, prompt: str) -> None:
        """Keep a prompt, without its secrets, unless it is the one before once more. It blocks."""
        prompt = self._redacted(prompt).strip()
        if not 0 < len(prompt) <= LONGEST:
            return
        try:
            make_folder(self._path.parent, private=True)
            with locked(self._path):
                data = self._read()
                known = _prompts(data)
                if known[-1:] == [prompt]:
                    return
                if len(known) >= 2 * KEPT:  # now and then, since it writes all of them
                    kept = [*known[-KEPT + 1 :], prompt]
                    lines = [line_of({"prompt": each}) for each in kept]
                    write_atomic(self._path, b"".join(lines), private=True)
                else:
                    torn = bool(data) and not data.endswith(b"\n")
                    line = line_of({"prompt": prompt})
                    append(self._path, b"\n" * torn + line, private=True)
        except StorageError:
            pass

    def prompts(self) -> list[str]:
        """The newest `KEPT`, oldest first."""
        try:
            return _prompts(self._read())[-KEPT:]
        except StorageError:
            return []

    def _read(self) -> bytes:
        with told("read", self._path), suppress(FileNotFoundError), opened_plain(self._path) as f:
            return f.read()
        return b""


def _prompts(data: bytes) -> list[str]:
    found: list[str] = []
    for line in data.split(b"\n"):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        prompt = entry.get("prompt") if isinstance(entry, dict) else None
        # Two kernels may have typed the same one after the other.
        if isinstance(prompt, str) and prompt and found[-1:] != [prompt]:
            found.append(prompt)
    return found
