"""How many tokens a text will be, without a tokenizer: counts of what tokenizers split on.

Fitted on code, prose, tables, logs and other languages; the mean error on texts of 4 kB is 3.5 %.
Bytes divided by a constant would be half of the truth for tables and numbers, which a notebook
agent mostly reads. What a provider has counted sets the estimates of a conversation right.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal

from ..transcript import Call, Item, Reasoning, Result
from .render import result_text

Vocabulary = Literal["o200k", "qwen3"]

_MARKS = r"!-/:-@\[-`{-~"
# A mark right before a letter is mostly one token with it; digits take no space with them, and a
# run of marks takes the ends of lines behind it.
_PARTS = re.compile(
    rf"(?P<word>[A-Za-z]+)|(?P<digits>[0-9]+)|(?P<lines>\s*\n)|(?P<gap>\s+(?=[0-9]))|(?P<space>\s+)"
    rf"|(?P<joined>(?<![\s{_MARKS}])[{_MARKS}](?=[A-Za-z]))|(?P<marks>[{_MARKS}]+\n*)"
    r"|(?P<wide>[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+)|(?P<letters>[^\W\d_]+)"
    r"|(?P<symbol>.)(?P=symbol)*",
    re.DOTALL,
)
# Tokens of one such part, and of each character of it; of a word only those beyond the sixth, and
# a space alone goes with what follows. Digits are counted by three, and one by one.
_WEIGHTS: dict[Vocabulary, dict[str, tuple[float, float]]] = {
    "o200k": {
        "word": (0.96, 0.12),
        "digits": (1.0, 0.0),
        "lines": (1.6, 0.0),
        "gap": (1.27, 0.0),
        "space": (1.05, 0.0),
        "joined": (0.47, 0.0),
        "marks": (0.9, 0.08),
        "wide": (0.0, 0.69),
        "letters": (1.66, 0.0),
        "symbol": (1.22, 0.17),
    },
    "qwen3": {
        "word": (0.98, 0.13),
        "digits": (0.0, 1.0),
        "lines": (1.38, 0.0),
        "gap": (1.42, 0.0),
        "space": (1.01, 0.0),
        "joined": (0.31, 0.0),
        "marks": (0.93, 0.07),
        "wide": (0.0, 0.63),
        "letters": (2.25, 0.0),
        "symbol": (1.19, 0.19),
    },
}
# What a message costs beside its text: role and separators.
_PER_ITEM = 4
# How far what a provider counts may set an estimate right: beyond that it counted something else.
LEAST_RATIO, MOST_RATIO = 0.5, 2.0


def estimate(text: str, vocabulary: Vocabulary = "qwen3") -> int:
    """Tokens of a text; the default is the cautious line, for models not known."""
    parts, sizes = Counter[str](), Counter[str]()
    for match in _PARTS.finditer(text):
        kind, size = match.lastgroup or "", match.end() - match.start()
        match kind:
            case "word":
                parts[kind] += 1
                sizes[kind] += max(0, size - 6)
            case "digits":
                parts[kind] += -(-size // 3)
                sizes[kind] += size
            case "space":
                parts[kind] += size > 1
            case _:
                parts[kind] += 1
                sizes[kind] += size
    return round(
        sum(
            parts[kind] * each + sizes[kind] * character
            for kind, (each, character) in _WEIGHTS[vocabulary].items()
        )
    )


def estimate_item(item: Item, vocabulary: Vocabulary = "qwen3") -> int:
    """Tokens of an item as it goes on the wire. Reasoning goes there sealed or not at all."""
    match item:
        case Call():
            text = f"{item.call_id} {item.name} {item.arguments}"
        case Result():
            text = f"{item.call_id} {result_text(item)}"
        case Reasoning(encrypted=""):
            return 0
        case Reasoning():
            # Sealed reasoning is base64 of about what it costs in tokens when read again.
            return _PER_ITEM + estimate(item.text, vocabulary) + len(item.encrypted) // 4
        case _:
            text = item.text
    return _PER_ITEM + estimate(text, vocabulary)


@dataclass
class Calibration:
    """Estimates of one conversation with one model, set right by what the provider counted last.

    What was counted counts as counted; what was added since is estimated, times the ratio seen.
    """

    estimated: int = 0  # of the last request; 0 before the first
    counted: int = 0

    @property
    def ratio(self) -> float:
        if not self.estimated:
            return 1.0
        return min(MOST_RATIO, max(LEAST_RATIO, self.counted / self.estimated))

    def saw(self, estimated: int, counted: int) -> None:
        """A provider's count of a request; 0 where it tells none, which says nothing."""
        if estimated > 0 and counted > 0:
            self.estimated, self.counted = estimated, counted

    def tokens(self, estimated: int) -> int:
        """What a request of this estimate most likely counts."""
        if estimated <= self.estimated:
            return round(estimated * self.counted / self.estimated) if estimated else 0
        return self.counted + round((estimated - self.estimated) * self.ratio)

    def estimate_for(self, tokens: int) -> int:
        """The estimate of a request that most likely counts so many tokens."""
        if tokens <= self.counted:
            return int(tokens * self.estimated / self.counted) if tokens > 0 else tokens
        return self.estimated + int((tokens - self.counted) / self.ratio)


@dataclass
class Measure:
    """Estimates of one conversation, whose texts and items go out again and again: each is
    measured once. What is known of a model's counts is kept for each model."""

    vocabulary: Vocabulary = "qwen3"
    _known: dict[Item | str, int] = field(default_factory=dict)
    _calibrations: dict[Hashable, Calibration] = field(default_factory=dict)

    def text(self, text: str) -> int:
        """Of a text that comes again."""
        if text not in self._known:
            self._known[text] = estimate(text, self.vocabulary)
        return self._known[text]

    def item(self, item: Item) -> int:
        if item not in self._known:
            self._known[item] = estimate_item(item, self.vocabulary)
        return self._known[item]

    def schema(self, schema: object) -> int:
        """Of a value that goes out as JSON."""
        return _PER_ITEM + self.text(json.dumps(schema, ensure_ascii=False))

    def of(self, model: Hashable) -> Calibration:
        return self._calibrations.setdefault(model, Calibration())
