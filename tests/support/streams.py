"""Replies of a scripted endpoint, as the event streams of both APIs.

The two functions that make streams are pure, so that tests can also feed their bytes to an
assembly without a server.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, zip_longest
from typing import Any, Literal, TypeVar

from shiro_jupyter.core.models.scripted import ScriptedCall
from tests.support.strict_rules import SEAL, Kind

_T = TypeVar("_T")
IndexStyle = Literal["plain", "missing", "constant", "from_one", "late", "mixed"]


@dataclass(frozen=True)
class Reply:
    """What one request is answered with: a message, or a fault.

    Counted faults happen before the event of that number (from 0), or after that many bytes of
    the stream: `cut_after` with the connection dropped, or with a proper end (`clean_cut`).
    `silent_after` holds the stream until `release` is set, the client goes, or the test ends;
    `linger` holds its end.
    """

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    calls: Sequence[ScriptedCall] = ()
    finish: str = ""
    input_tokens: int = 100
    output_tokens: int = 10
    reasoning_tokens: int | None = None  # None: the endpoint tells no details of what it wrote
    chunk: int = 7
    index: IndexStyle = "plain"
    ids: bool = True
    repeat_ids: bool = False
    repeat_names: bool = False
    interleaved: bool = False  # the deltas of all calls by turns
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
    for part in _parts(reply.refusal, reply.chunk):
        yield event({"refusal": part})
    deltas = [list(_call_deltas(reply, at, call, number)) for at, call in enumerate(reply.calls)]
    for delta in _by_turns(deltas) if reply.interleaved else chain.from_iterable(deltas):
        yield event({"tool_calls": [delta]})
    yield event({}, reply.finish or ("tool_calls" if reply.calls else "stop"))
    thought = _thought(reply)
    usage = {
        "prompt_tokens": reply.input_tokens,
        "completion_tokens": reply.output_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.input_tokens // 2},
        **({"completion_tokens_details": thought} if thought else {}),
    }
    yield _data({**base, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _thought(reply: Reply) -> dict[str, int] | None:
    told = reply.reasoning_tokens
    return None if told is None else {"reasoning_tokens": told}


def _call_deltas(
    reply: Reply, at: int, call: ScriptedCall, number: int
) -> Iterator[dict[str, Any]]:
    index = {"from_one": at + 1, "constant": 0, "missing": None}.get(reply.index, at)
    call_id = {"id": call.call_id or f"call_{number}{at}abc"} if reply.ids else {}
    # Already the first delta carries arguments, as some servers send it.
    for place, part in enumerate(_parts(call.text, reply.chunk) or [""]):
        first = place == 0
        told = not ((reply.index == "late" and first) or (reply.index == "mixed" and place % 2))
        where = {"index": index} if told and index is not None else {}
        function = {"arguments": part}
        if first or reply.repeat_names:
            function["name"] = call.name
        known = call_id if first or reply.repeat_ids else {}
        yield {**where, **known, "type": "function", "function": function}


def _by_turns(lists: Sequence[Sequence[_T]]) -> Iterator[_T]:
    for row in zip_longest(*lists):
        yield from (each for each in row if each is not None)


def responses_stream(
    reply: Reply, model: str, number: int = 1, issued: dict[str, str] | None = None
) -> Iterator[bytes]:
    """The server-sent events of a Responses stream. Ids given out beside reasoning go into
    `issued` with the reasoning's."""
    numbers = count()

    def event(kind: str, **values: Any) -> bytes:
        return named_event(kind, sequence_number=next(numbers), **values)

    response: dict[str, Any] = {"id": f"resp_{number}", "object": "response", "model": model}
    yield event("response.created", response={**response, "status": "in_progress"})
    output: list[dict[str, Any]] = []
    told: list[_Events] = []
    for at, (item, deltas) in enumerate(_output_items(reply, model, number)):
        half = {key: value for key, value in item.items() if key not in _LATE}
        half |= {"content": []} if item["type"] == "message" else {}
        which = {"output_index": at, "item_id": item["id"]}
        added = ("response.output_item.added", {"output_index": at, "item": half})
        done = ("response.output_item.done", {"output_index": at, "item": item})
        told.append([added, *((kind, {**which, **values}) for kind, values in deltas), done])
        output.append(item)
        if issued is not None and reply.reasoning and item["type"] != "reasoning":
            issued[item["id"]] = f"rs_{number}"
    calls = len(reply.calls) if reply.interleaved else 0
    alone, by_turns = told[: len(told) - calls], told[len(told) - calls :]
    for kind, values in chain(chain.from_iterable(alone), _by_turns(by_turns)):
        yield event(kind, **values)
    usage = {
        "input_tokens": reply.input_tokens,
        "output_tokens": reply.output_tokens,
        "input_tokens_details": {"cached_tokens": reply.input_tokens // 2},
        "output_tokens_details": _thought(reply),
    }
    ended = {**response, "status": "completed", "output": output, "usage": usage}
    if reply.finish == "length":
        ended["incomplete_details"] = {"reason": "max_output_tokens"}
        yield event("response.incomplete", response=ended)
    else:
        yield event("response.completed", response=ended)


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
    if reply.refusal:
        content: list[dict[str, Any]] = [{"type": "refusal", "refusal": reply.refusal}]
        item = {"type": "message", "id": f"msg_{number}0", "role": "assistant", "content": content}
        yield item, _deltas("response.refusal", reply.refusal, reply.chunk)
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
    return named_event("response.failed", response={"status": "failed", "error": error})


def _parts(text: str, chunk: int) -> list[str]:
    return [text[at : at + chunk] for at in range(0, len(text), chunk)]


def named_event(kind: str, **values: Any) -> bytes:
    return f"event: {kind}\n".encode() + _data({"type": kind, **values})


def _data(value: object) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"
