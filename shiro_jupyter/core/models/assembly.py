"""From the chunks of a stream to pieces and one `Finished`: Chat Completions.

Pure: chunks are the JSON objects of the wire. An assembly raises the `EndpointError` that the
stream stands for; whoever reads the stream feeds it and asks for `finished()` at its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..context.render import kept_arguments
from ..context.repair import is_fit_id
from ..errors import StreamBroken
from ..events import Usage
from ..transcript import Assistant, Call, Item, Reasoning
from . import failures
from .base import (
    CallPiece,
    Finished,
    FinishReason,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
)


class Assembly(Protocol):
    """Eats the chunks of one step."""

    @property
    def done(self) -> bool:
        """The model has finished; what may still come is only its usage."""
        ...

    def feed(self, chunk: object) -> Sequence[Piece]:
        """What the chunk shows, without `Finished`. Raises `EndpointError`."""
        ...

    def finished(self) -> Finished:
        """The step. Raises `StreamBroken` where the stream ended before the model did."""
        ...


_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
}


def record(value: object) -> dict[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def corrupt() -> StreamBroken:
    return StreamBroken("The model server sent a chunk that is not JSON of its API; ask again.")


def cut() -> StreamBroken:
    return StreamBroken("The answer broke off: the stream ended before the model had; ask again.")


class CallIds:
    """Ids that are unique in the whole transcript, whatever the endpoint sends."""

    def __init__(self, request: Request) -> None:
        self._made = f"call_{request.turn}_{request.step}"
        self._taken = {item.call_id for item in request.items if isinstance(item, Call)}

    def claim(self, wished: str) -> str:
        """The endpoint's own id where it is new and fit to send back, else one that we make."""
        call_id, number = wished, 0
        while not is_fit_id(call_id) or call_id in self._taken:
            number += 1
            call_id = f"{self._made}_{number}"
        self._taken.add(call_id)
        return call_id


class _Brackets:
    """Whether the brackets of a JSON text are closed, told piece by piece."""

    _MARKS = re.compile(r'\\.|\\|["{}\[\]]', re.DOTALL)

    def __init__(self) -> None:
        self.closed = False
        self._depth = 0
        self._quoted = False
        self._half = ""  # a backslash whose character is still to come

    def feed(self, piece: str) -> None:
        piece, self._half = self._half + piece, ""
        for mark in self._MARKS.findall(piece):
            if mark == "\\":
                self._half = mark
            elif mark == '"':
                self._quoted = not self._quoted
            elif mark[0] != "\\" and not self._quoted:
                self._depth += 1 if mark in "{[" else -1
                self.closed = self.closed or self._depth <= 0


@dataclass
class _Slot:
    """A call as it streams: the wire's id and index, and ours once the name is known."""

    wire_id: str = ""
    index: object = None
    name: str = ""
    call_id: str = ""
    pieces: list[str] = field(default_factory=list)
    _brackets: _Brackets = field(default_factory=_Brackets)
    _seen: int = 0  # pieces whose brackets are counted
    _whole: bool | None = None

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def is_whole(self) -> bool:
        """Whether the arguments are a JSON object. May be asked at each piece: only new ones are
        looked at, and all are parsed but once, where the first object is closed."""
        for piece in self.pieces[self._seen :]:
            self._brackets.feed(piece)
        self._seen = len(self.pieces)
        if self._brackets.closed and self._whole is None:
            try:
                self._whole = isinstance(json.loads(self.arguments), dict)
            except (ValueError, RecursionError):
                self._whole = False
        return bool(self._whole)

    def goes_on(self, wire_id: str, name: str, arguments: str) -> bool:
        """Whether a delta that repeats the name is of this call: more of its arguments, or an
        event that came twice. Else it begins another call of the same tool."""
        if name != self.name or not self.is_whole():
            return name == self.name
        same_id = bool(wire_id) and wire_id == self.wire_id
        if not arguments.strip():
            return same_id
        begins = arguments.lstrip().startswith("{")
        return not begins or ((same_id or not wire_id) and arguments == self.arguments)


class ChatAssembly:
    """One choice of a Chat Completions stream."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._ids = CallIds(request)
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._slots: list[_Slot] = []
        self._reason = ""
        self._usage = Usage()

    @property
    def done(self) -> bool:
        return bool(self._reason)

    def feed(self, chunk: object) -> list[Piece]:
        if not isinstance(chunk, dict):
            raise corrupt()
        if chunk.get("error"):
            raise failures.of_stream(chunk)
        if usage := record(chunk.get("usage")):
            self._usage = chat_usage(usage)
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices:
            return []
        choice = record(choices[0])
        pieces = self._delta(record(choice.get("delta")))
        reason = text_of(choice.get("finish_reason"))
        if reason == "error":
            raise failures.of_stream(choice)
        self._reason = reason or self._reason
        return pieces

    def finished(self) -> Finished:
        if not self._reason:
            raise cut()
        turn, step = self._request.turn, self._request.step
        items: list[Item] = []
        if reasoning := "".join(self._reasoning).strip():
            items.append(Reasoning(reasoning, turn, step))
        if (text := "".join(self._text)).strip():
            items.append(Assistant(text, turn, step))
        for slot in self._slots:
            if not slot.name:
                raise StreamBroken("The model server sent a tool call without a name; ask again.")
            arguments = kept_arguments(slot.arguments)
            items.append(Call(slot.call_id, slot.name, arguments, turn, step))
        whole: FinishReason = "calls" if self._slots else "stop"
        return Finished(tuple(items), self._usage, _REASONS.get(self._reason, whole))

    def _delta(self, delta: dict[str, Any]) -> list[Piece]:
        pieces: list[Piece] = []
        # The same text under both names, where a server sends both.
        thought = text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning"))
        if thought:
            self._reasoning.append(thought)
            pieces.append(ReasoningPiece(thought))
        if text := text_of(delta.get("content")) or text_of(delta.get("refusal")):
            self._text.append(text)
            pieces.append(TextPiece(text))
        calls = delta.get("tool_calls")
        for part in calls if isinstance(calls, list) else []:
            pieces += self._call_part(record(part))
        return pieces

    def _call_part(self, part: dict[str, Any]) -> list[Piece]:
        function = record(part.get("function"))
        wire_id, index = text_of(part.get("id")), part.get("index")
        name, arguments = text_of(function.get("name")), function.get("arguments")
        if isinstance(arguments, dict):  # some servers send the object itself
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments = text_of(arguments)
        if not (wire_id or name or arguments):
            return []
        slot = self._slot(wire_id, index, name, arguments)
        slot.wire_id = slot.wire_id or wire_id
        slot.index = index if slot.index is None else slot.index
        if not slot.is_whole():  # what follows that came twice
            slot.pieces.append(arguments)
        if not name or slot.name:  # a server may repeat the name with every delta
            return []
        slot.name, slot.call_id = name, self._ids.claim(slot.wire_id)
        return [CallPiece(slot.call_id, name)]

    def _slot(self, wire_id: str, index: object, name: str, arguments: str) -> _Slot:
        """The call that a delta belongs to: by id, then by index, then the newest.

        An index may be missing, constant or late, and an id may come twice, so a delta that
        begins anew (a name where the call found has another, or is whole) opens a call.
        """
        newest = list(reversed(self._slots))
        found: list[_Slot]
        if wire_id:
            found = [slot for slot in newest if slot.wire_id == wire_id]
            if found and name and index is not None and found[0].index not in (None, index):
                found = []  # two calls under one id
            else:
                late = (slot for slot in newest if not slot.wire_id)
                found = found or [slot for slot in late if slot.index in (None, index)]
        elif index is not None:
            found = [slot for slot in newest if slot.index == index]
            found = found or [slot for slot in self._slots if slot.index is None]
            found = found or ([] if name else newest)
        else:
            found = newest
        if found and not (name and found[0].name):
            return found[0]
        if found and found[0].goes_on(wire_id, name, arguments):
            return found[0]
        self._slots.append(_Slot())
        return self._slots[-1]


def chat_usage(usage: dict[str, Any]) -> Usage:
    """Counts of a Chat Completions usage block; what a server leaves out is 0."""
    cached = record(usage.get("prompt_tokens_details")).get("cached_tokens")
    reasoning = record(usage.get("completion_tokens_details")).get("reasoning_tokens")
    return Usage(
        count_of(usage.get("prompt_tokens")),
        count_of(cached),
        count_of(usage.get("completion_tokens")),
        count_of(reasoning),
    )
