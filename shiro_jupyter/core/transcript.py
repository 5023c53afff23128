"""The transcript: typed items, the truth that requests are rendered from.

A leaf room. Items are immutable; a session appends them and writes them to its log.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

Outcome = Literal[
    "ok",
    "failed",
    "refused",
    "interrupted",
    "timed_out",
    "invalid_arguments",
    "skipped",
]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class User:
    """What the person typed, verbatim, opening a turn."""

    text: str
    turn: int = 0


@dataclass(frozen=True)
class Assistant:
    """Text of the model. `phase` is the Responses API's commentary or final_answer."""

    text: str
    turn: int = 0
    step: int = 0
    provider_id: str = ""
    phase: str = ""


@dataclass(frozen=True)
class Reasoning:
    """What the model thought. `encrypted` is opaque and valid for one endpoint and model;
    `origin` says which, so that it is never sent to another."""

    text: str
    turn: int = 0
    step: int = 0
    provider_id: str = ""
    encrypted: str = ""
    origin: str = ""


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` is a JSON object as text, exactly as the model wrote it; what it
    wrote that is none is kept as a JSON string. Empty for none."""

    call_id: str
    name: str
    arguments: str
    turn: int = 0
    step: int = 0
    provider_id: str = ""


@dataclass(frozen=True)
class Result:
    """What came of a call; `text` is what the model reads, already bounded."""

    call_id: str
    outcome: Outcome
    text: str
    turn: int = 0
    step: int = 0


@dataclass(frozen=True)
class Note:
    """What code tells the model in the conversation: an interruption, what a prompt points at."""

    text: str
    turn: int = 0


@dataclass(frozen=True)
class Summary:
    """What stands for all that came before it, but the person's last prompt; `text` is what the
    model reads, and says what it is."""

    text: str
    turn: int = 0


Item = User | Assistant | Reasoning | Call | Result | Note | Summary
_KINDS: dict[str, type[Item]] = {cls.__name__.lower(): cls for cls in get_args(Item)}
_FIELDS = {kind: dataclasses.fields(kind) for kind in get_args(Item)}


@dataclass(frozen=True, order=True)
class Cut:
    """What of the items goes out no more. Positions among them, each only ever moved on: turns
    before `turns` are gone, results before `results` are stubs, reasoning before `reasoning` is
    left out."""

    turns: int = 0
    results: int = 0
    reasoning: int = 0


def to_json(item: Item) -> dict[str, Any]:
    """A plain dict with the item's kind; empty fields are left out."""
    values = {name: value for name, value in vars(item).items() if value != ""}
    return {"kind": type(item).__name__.lower(), **values}


def from_json(stored: object) -> Item | None:
    """The item, or None where the record is of no kind known or lacks what its kind needs.

    Unknown fields are ignored: a later version may have written them.
    """
    if not isinstance(stored, dict):
        return None
    kind = _KINDS.get(str(stored.get("kind")))
    if kind is None:
        return None
    values: dict[str, Any] = {}
    for field in _FIELDS[kind]:
        if field.name not in stored:
            if field.default is not dataclasses.MISSING:
                continue
            if field.name in ("text", "arguments"):  # left out because it was empty
                values[field.name] = ""
                continue
            return None
        value = stored[field.name]
        wanted = int if field.name in ("turn", "step") else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            return None
        values[field.name] = value
    if values.get("outcome", "ok") not in OUTCOMES:
        return None
    return kind(**values)
