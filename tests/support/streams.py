"""Replies of a scripted endpoint, as the event streams of both APIs.

The two functions that make streams are pure, so that tests can also feed their bytes to an
assembly without a server.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from shiro_jupyter.core.models.scripted import ScriptedCall
from tests.support.strict_rules import SEAL, Kind

IndexStyle = Literal["plain", "missing", "constant", "from_one"]


@dataclass(frozen=True)
class Reply:
    """What one request is answered with: a message, or a fault.

    Counted faults happen before the event of that number (from 0), or after that many bytes of
    the stream: `cut_after` with the connection dropped, or with a proper end (`clean_cut`).
    `silent_after` holds the stream until `release` is set, the client goes, or the test ends;
    `linger` holds its end.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[ScriptedCall] = ()
    finish: str = ""
    input_tokens: int = 100
    output_tokens: int = 10
    chunk: int = 7
    index: IndexStyle = "plain"
    ids: bool = True
    repeat_names: bool = False
    reasoning_field: str = "reasoning_content"
    phase: str = ""
    # The bytes of the stream, in place of all above.
    raw: bytes = b""
    # Faults.
    status: int = 200
    message: str = ""
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    page: bool = False
    drop: bool = False
    silent_after: int | None = None
    release: threading.Event | None = None
    linger: bool = False
    cut_after: int | None = None
    clean_cut: bool = False
    corrupt_after: int | None = None
    error_after: int | None = None


def chat_stream(
    reply: Reply, model: str, number: int = 1, issued: dict[str, str] | None = None
) -> Iterator[bytes]:
    """The server-sent events of a Chat Completions stream."""
    base = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": model}

    def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data({**base, "choices": [choice]})

    yield event({"role": "assistant", "content": ""})
    for part in _parts(reply.reasoning, reply.chunk):
        yield event({reply.reasoning_field: part})
    for part in _parts(reply.text, reply.chunk):
        yield event({"content": part})
    for at, call in enumerate(reply.calls):
        for delta in _call_deltas(reply, at, call, number):
            yield event({"tool_calls": [delta]})
    yield event({}, reply.finish or ("tool_calls" if reply.calls else "stop"))
    usage = {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.input_tokens // 2},
    }
    yield _data({**base, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _call_deltas(
    reply: Reply, at: int, call: ScriptedCall, number: int
) -> Iterator[dict[str, Any]]:
    index = {"plain": at, "from_one": at + 1, "constant": 0}.get(reply.index)
    where = {} if index is None else {"index": index}
    call_id = {"id": call.call_id or f"call_{number}{at}abc"} if reply.ids else {}
    first = True
    # Already the first delta carries arguments, as some servers send it.
    for part in _parts(call.text, reply.chunk) or [""]:
        function = {"arguments": part}
        if first or reply.repeat_names:
            function["name"] = call.name
        yield {**where, **(call_id if first else {}), "type": "function", "function": function}
        first = False


def responses_stream(
    reply: Reply, model: str, number: int = 1, issued: dict[str, str] | None = None
) -> Iterator[bytes]:
    """The server-sent events of a Responses stream. Ids given out beside reasoning go into
    `issued` with the reasoning's."""
    response: dict[str, Any] = {"id": f"resp_{number}", "object": "response", "model": model}
    yield _event("response.created", response={**response, "status": "in_progress"})
    output: list[dict[str, Any]] = []
    reasoning_id = f"rs_{number}" if reply.reasoning else ""
    for item, events in _output_items(reply, model, number):
        at = len(output)
        if issued is not None and reasoning_id and item["type"] != "reasoning":
            issued[item["id"]] = reasoning_id
        half = {key: value for key, value in item.items() if key not in _LATE}
        half |= {"content": []} if item["type"] == "message" else {}
        yield _event("response.output_item.added", output_index=at, item=half)
        for kind, values in events:
            yield _event(kind, output_index=at, item_id=item["id"], **values)
        yield _event("response.output_item.done", output_index=at, item=item)
        output.append(item)
    usage = {
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "input_tokens_details": {"cached_tokens": reply.input_tokens // 2},
        "output_tokens_details": None,
    }
    ended = {**response, "status": "completed", "output": output, "usage": usage}
    if reply.finish == "length":
        ended["incomplete_details"] = {"reason": "max_output_tokens"}
        yield _event("response.incomplete", response=ended)
    else:
        yield _event("response.completed", response=ended)


_LATE = ("content", "arguments", "encrypted_content", "summary")
_Events = list[tuple[str, dict[str, Any]]]


def _output_items(
    reply: Reply, model: str, number: int
) -> Iterator[tuple[dict[str, Any], _Events]]:
    """Each whole item, and the deltas that lead to it."""
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        sealed = f"{SEAL}{model}-{number}"
        item = {"type": "reasoning", "id": f"rs_{number}", "summary": summary}
        yield (
            {**item, "encrypted_content": sealed},
            _deltas("response.reasoning_summary_text", reply.reasoning, reply.chunk),
        )
    if reply.text:
        content = [{"type": "output_text", "text": reply.text, "annotations": []}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
        phase = {"phase": reply.phase} if reply.phase else {}
        yield {**item, **phase}, _deltas("response.output_text", reply.text, reply.chunk)
    for at, call in enumerate(reply.calls):
        call_id = call.call_id or f"call_{number}{at}abc"
        item = {"type": "function_call", "id": f"fc_{number}{at}", "call_id": call_id}
        yield (
            {**item, "name": call.name, "arguments": call.text},
            _deltas("response.function_call_arguments", call.text, reply.chunk),
        )


def _deltas(kind: str, text: str, chunk: int) -> _Events:
    return [(f"{kind}.delta", {"delta": part}) for part in _parts(text, chunk)]


def broken_event(kind: Kind, reply: Reply) -> bytes:
    """An error inside a 200."""
    words = reply.message or "The server is overloaded."
    if kind == "chat":
        return _data({"error": {"message": words, "code": reply.code or "server_error"}})
    error = {"code": reply.code or "server_error", "message": words}
    return _event("response.failed", response={"status": "failed", "error": error})


def _parts(text: str, chunk: int) -> list[str]:
    return [text[at : at + chunk] for at in range(0, len(text), chunk)]


def _event(kind: str, **values: Any) -> bytes:
    return f"event: {kind}\n".encode() + _data({"type": kind, **values})


def _data(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
