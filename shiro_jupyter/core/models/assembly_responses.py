"""From the events of a Responses API stream to pieces and one `Finished`.

Dispatch is on an event's string type: the API grows, and what is not known is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..context.render import kept_arguments
from ..errors import StreamBroken
from ..events import Usage
from ..transcript import Assistant, Call, Item, Reasoning
from . import failures
from .assembly import CallIds, corrupt, count_of, cut, record, text_of
from .base import CallPiece, Finished, FinishReason, Piece, ReasoningPiece, Request, TextPiece


@dataclass
class _Output:
    """One output item: what its deltas gave so far, and the item itself once it is done."""

    item: dict[str, Any] = field(default_factory=dict)
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    finished: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def add(self, text: str) -> bool:
        """Whether there was any."""
        if text:
            self.pieces.append(text)
        return bool(text)

    @property
    def kind(self) -> str:
        return text_of(self.item.get("type"))


class ResponsesAssembly:
    """One response. `origin` is the mark that its encrypted reasoning is kept under."""

    def __init__(self, request: Request, origin: str = "") -> None:
        self._request = request
        self._origin = origin
        self._ids = CallIds(request)
        self._outputs: dict[int, _Output] = {}
        self._reason: FinishReason | None = None
        self._usage = Usage()
        self._last: dict[str, Any] = {}
        self._handlers: dict[str, Callable[[dict[str, Any]], list[Piece]]] = {
            "response.output_item.added": self._item,
            "response.output_item.done": self._item,
            "response.output_text.delta": self._text_delta,
            "response.refusal.delta": self._text_delta,
            "response.reasoning_summary_text.delta": self._reasoning_delta,
            "response.reasoning_text.delta": self._reasoning_delta,
            "response.reasoning_summary_part.added": self._reasoning_part,
            "response.function_call_arguments.delta": self._arguments_delta,
            "response.function_call_arguments.done": self._arguments_done,
            "response.completed": self._ended,
            "response.incomplete": self._ended,
            "response.failed": self._failed,
            "error": self._failed,
        }

    @property
    def done(self) -> bool:
        return self._reason is not None

    def feed(self, chunk: object) -> list[Piece]:
        if not isinstance(chunk, dict):
            raise corrupt()
        if chunk.get("error") and "type" not in chunk:
            raise failures.of_stream(chunk)
        if chunk.get("sequence_number") and chunk == self._last:
            return []  # the same event came twice
        self._last = chunk
        handler = self._handlers.get(text_of(chunk.get("type")))
        return handler(chunk) if handler else []

    def finished(self) -> Finished:
        if self._reason is None:
            raise cut()
        ordered = (self._outputs[index] for index in sorted(self._outputs))
        items = tuple(item for output in ordered for item in self._as_items(output))
        return Finished(items, self._usage, self._reason)

    def _output(self, event: dict[str, Any]) -> _Output:
        """The output that an event is about: by its index, else by its item's id."""
        index = event.get("output_index")
        if isinstance(index, int):
            return self._outputs.setdefault(index, _Output())
        wanted = text_of(event.get("item_id")) or text_of(record(event.get("item")).get("id"))
        for output in self._outputs.values():
            if wanted and output.item.get("id") == wanted:
                return output
        new = _Output({"id": wanted})
        self._outputs[max(self._outputs, default=-1) + 1] = new
        return new

    def _item(self, event: dict[str, Any]) -> list[Piece]:
        """An item was added, perhaps half empty, or is done: the done one holds all."""
        output = self._output(event)
        item = record(event.get("item"))
        output.finished = event["type"] == "response.output_item.done"
        output.item = {**output.item, **item}
        if output.kind == "function_call":
            if arguments := text_of(item.get("arguments")):
                output.pieces = [arguments]
            return self._name(output)
        content, told = _content(output), output.text
        if not output.finished or not content.startswith(told) or content == told:
            return []
        output.pieces = [content]  # a server that sends no deltas, or lost the last
        kind = TextPiece if output.kind == "message" else ReasoningPiece
        return [kind(content[len(told) :])]

    def _name(self, output: _Output) -> list[Piece]:
        name = text_of(output.item.get("name"))
        if output.call_id or not name:
            return []
        output.call_id = self._ids.claim(text_of(output.item.get("call_id")))
        return [CallPiece(output.call_id, name)]

    def _text_delta(self, event: dict[str, Any]) -> list[Piece]:
        text = text_of(event.get("delta"))
        output = self._output(event)
        output.item.setdefault("type", "message")
        return [TextPiece(text)] if output.add(text) else []

    def _reasoning_delta(self, event: dict[str, Any]) -> list[Piece]:
        text = text_of(event.get("delta"))
        output = self._output(event)
        output.item.setdefault("type", "reasoning")
        return [ReasoningPiece(text)] if output.add(text) else []

    def _reasoning_part(self, event: dict[str, Any]) -> list[Piece]:
        """Parts of a summary are paragraphs."""
        output = self._output(event)
        if not output.pieces:
            return []
        output.add("\n\n")
        return [ReasoningPiece("\n\n")]

    def _arguments_delta(self, event: dict[str, Any]) -> list[Piece]:
        self._output(event).add(text_of(event.get("delta")))
        return []

    def _arguments_done(self, event: dict[str, Any]) -> list[Piece]:
        output = self._output(event)
        if arguments := text_of(event.get("arguments")):
            output.pieces = [arguments]
        return []

    def _ended(self, event: dict[str, Any]) -> list[Piece]:
        response = record(event.get("response"))
        self._usage = responses_usage(record(response.get("usage")))
        pieces: list[Piece] = []
        listed = response.get("output")
        for index, item in enumerate(listed if isinstance(listed, list) else []):
            if not self._outputs.setdefault(index, _Output()).finished:
                done = {"type": "response.output_item.done", "output_index": index, "item": item}
                pieces += self._item(done)
        why = text_of(record(response.get("incomplete_details")).get("reason"))
        if event["type"] == "response.incomplete":
            self._reason = "filtered" if why == "content_filter" else "length"
        else:
            called = any(output.kind == "function_call" for output in self._outputs.values())
            self._reason = "calls" if called else "stop"
        return pieces

    def _failed(self, event: dict[str, Any]) -> list[Piece]:
        told = record(event.get("response")).get("error") or event.get("error") or event
        # The event's own type says only that it is an error.
        raise failures.of_stream({**record(told), "type": record(told).get("code")})

    def _as_items(self, output: _Output) -> list[Item]:
        turn, step = self._request.turn, self._request.step
        item = output.item
        provider_id = text_of(item.get("id"))
        if output.kind == "function_call":
            name = text_of(item.get("name"))
            if not name:
                raise StreamBroken("The model server sent a tool call without a name; ask again.")
            arguments = kept_arguments(output.text)
            return [Call(output.call_id, name, arguments, turn, step, provider_id)]
        if output.kind == "reasoning":
            text = (_content(output) or output.text).strip()
            encrypted = text_of(item.get("encrypted_content"))
            if not (text or encrypted):
                return []
            origin = self._origin if encrypted else ""
            return [Reasoning(text, turn, step, provider_id, encrypted, origin)]
        if output.kind == "message":
            text = _content(output) or output.text
            phase = text_of(item.get("phase"))
            return [Assistant(text, turn, step, provider_id, phase)] if text.strip() else []
        return []


def _content(output: _Output) -> str:
    """What a message says, or what a reasoning item tells of itself."""
    if output.kind == "message":
        return _joined(output.item, "content", "")
    return _joined(output.item, "summary") or _joined(output.item, "content")


def _joined(item: dict[str, Any], name: str, between: str = "\n\n") -> str:
    """The texts of an item's parts."""
    parts = item.get(name)
    found = [record(part) for part in parts] if isinstance(parts, list) else []
    return between.join(text_of(part.get("text")) or text_of(part.get("refusal")) for part in found)


def responses_usage(usage: dict[str, Any]) -> Usage:
    """Counts of a Responses usage block; what a server leaves out is 0."""
    cached = record(usage.get("input_tokens_details")).get("cached_tokens")
    reasoning = record(usage.get("output_tokens_details")).get("reasoning_tokens")
    return Usage(
        count_of(usage.get("input_tokens")),
        count_of(cached),
        count_of(usage.get("output_tokens")),
        count_of(reasoning),
    )
