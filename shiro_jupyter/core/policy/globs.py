"""The patterns of rules, matched in a time that grows with the text and not with its powers.

A project may bring its own rules, so none may make the match hang.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

Fits = Callable[[str], bool]


@lru_cache(256)
def text_glob(pattern: str) -> Fits:
    """`*` is any text; a last ` *` also stands for nothing, so `git status *` fits the bare one."""
    pattern = " ".join(pattern.split()) if "\n" not in pattern else pattern
    forms = [pattern, *([pattern.removesuffix(" *")] if pattern.endswith(" *") else [])]
    compiled = re.compile("|".join(map(_starred, forms)), re.DOTALL)
    return lambda text: compiled.fullmatch(text) is not None


def _starred(pattern: str) -> str:
    """Between two stars the first place that fits is as good as any later one: never go back."""
    first, *rest = map(re.escape, pattern.split("*"))
    if not rest:
        return first
    return first + "".join(f"(?>.*?{each})" for each in rest[:-1]) + ".*" + rest[-1]


@lru_cache(256)
def path_glob(pattern: str, *, wide: bool) -> Fits:
    """`wide`: letter case does not count, since on some file systems it does not either."""
    anchored = "/" in pattern.rstrip("/")
    pattern = pattern.strip("/") if not pattern.startswith("/") else "/" + pattern.strip("/")
    pieces = re.findall(r"\*\*/|/\*\*$|\*\*|\*|\?|[^*?]", pattern.lower() if wide else pattern)
    if not anchored and not pattern.startswith("**"):
        pieces.insert(0, "**/")
    machine = _Machine([*pieces, "/**"])
    return lambda text: machine.fits(text.lower() if wide else text)


class _Machine:
    """All the places in the pattern where a text may stand, moved on letter by letter."""

    def __init__(self, pieces: list[str]) -> None:
        self.steps: list[str] = []
        ahead: dict[int, int] = {}
        for piece in pieces:
            if piece in ("**/", "/**"):  # folders, or none
                steps = ["", "**", "/"] if piece == "**/" else ["", "/", "**"]
                ahead[len(self.steps)] = len(self.steps) + len(steps)
                self.steps += steps
            else:
                self.steps.append(piece)
        # What is reached from each place without a letter, the last place first.
        self.reached = [frozenset({len(self.steps)})]
        for place in range(len(self.steps) - 1, -1, -1):
            found = {place}
            if self.steps[place] in ("", "*", "**"):
                found |= self._from(place + 1)
            if place in ahead:
                found |= self._from(ahead[place])
            self.reached.append(frozenset(found))

    def _from(self, place: int) -> frozenset[int]:
        return self.reached[len(self.steps) - place]

    def fits(self, text: str) -> bool:
        places = self._from(0)
        for letter in text:
            following: set[int] = set()
            for place in places - {len(self.steps)}:
                step = self.steps[place]
                if step == "**" or (step == "*" and letter != "/"):
                    following |= self._from(place)
                elif step == letter or (step == "?" and letter != "/"):
                    following |= self._from(place + 1)
            if not following:
                return False
            places = frozenset(following)
        return len(self.steps) in places
