"""From items to messages: Chat Completions and the Responses API.

Pure. What goes in is repaired first, so that any items at all give a request that the strictest
endpoint accepts. The volatile tail goes last and never changes what is before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ..transcript import Assistant, Call, Item, Note, Reasoning, Result, Summary, User
from .repair import repaired, responses

Message = dict[str, Any]
NO_OUTPUT = "(no output)"
_OF_MODEL = Assistant | Reasoning | Call
_PROVIDER_ID = re.compile(r"[!-~]+")
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
# Stands where a turn ended after a result, or the person spoke before its next step: to picky
# templates a user may not follow a tool.
NO_ANSWER = "(No answer came before what follows.)"


def result_text(result: Result) -> str:
    """What the model reads of a result: its text, after its outcome where that is not ok."""
    text = result.text if result.text.strip() else NO_OUTPUT
    return text if result.outcome == "ok" else f"[{result.outcome.replace('_', ' ')}] {text}"


def arguments_object(arguments: str) -> str:
    """The arguments if they are a JSON object, else an empty one: a server's template parses
    them. What was wrong with them is said by the call's result."""
    try:
        parsed = json.loads(arguments, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return "{}"
    return arguments if isinstance(parsed, dict) else "{}"


def kept_arguments(said: str) -> str:
    """What is kept of a call's arguments: the JSON object as the model wrote it. What is none, as
    where it was cut, becomes a JSON string, which no tool takes."""
    whole = not said.strip() or arguments_object(said) == said
    return said if whole else json.dumps(said, ensure_ascii=False)


def said_arguments(kept: str) -> str:
    """The arguments as the model wrote them."""
    try:
        said = json.loads(kept) if kept.startswith('"') else kept
    except ValueError:
        return kept
    return str(said)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def wire_name(name: str) -> str:
    """The name of a called tool as every endpoint takes it: a model may call what it made up."""
    return _NOT_IN_A_NAME.sub("_", name)[:64] or "_"


def chat_messages(
    system: str, items: Sequence[Item], tail: str = "", *, reasoning_field: str = ""
) -> list[Message]:
    """Messages of Chat Completions. Roles alternate as the pickiest templates want them.

    `reasoning_field` names the field that carries reasoning back, where a server wants it. The
    tail is appended to the last message, since a message of its own would break the order
    after a tool's.
    """
    messages: list[Message] = [{"role": "system", "content": system}] if system.strip() else []
    for run in responses(repaired(items)):
        first = run[0]
        if isinstance(first, Result):
            content = result_text(first)
            messages.append({"role": "tool", "tool_call_id": first.call_id, "content": content})
        elif isinstance(first, User | Note | Summary):
            _say(messages, {"role": "user", "content": first.text})
        else:
            _say(messages, _assistant_message(run, reasoning_field))
    if tail.strip():
        if messages and messages[-1]["role"] in ("user", "tool"):
            messages[-1]["content"] += f"\n\n{tail}"
        else:
            messages.append({"role": "user", "content": tail})
    return messages


def _assistant_message(run: list[Item], reasoning_field: str) -> Message:
    message: Message = {
        "role": "assistant",
        "content": "\n\n".join(item.text for item in run if isinstance(item, Assistant)),
    }
    thought = "\n\n".join(item.text for item in run if isinstance(item, Reasoning) and item.text)
    if reasoning_field and thought:
        message[reasoning_field] = thought
    if calls := [_tool_call(item) for item in run if isinstance(item, Call)]:
        message["tool_calls"] = calls
    return message


def _tool_call(call: Call) -> dict[str, Any]:
    function = {"name": wire_name(call.name), "arguments": arguments_object(call.arguments)}
    return {"id": call.call_id, "type": "function", "function": function}


def _say(messages: list[Message], message: Message) -> None:
    """Append, or merge into the message before where the same one speaks on."""
    before = messages[-1] if messages else {}
    if before.get("role") == "tool" and message["role"] == "user":
        messages.append({"role": "assistant", "content": NO_ANSWER})
    if before.get("role") != message["role"] or "tool_calls" in before:
        messages.append(message)
        return
    content = "\n\n".join(filter(None, (before["content"], message["content"])))
    before.update(message, content=content)


def response_items(items: Sequence[Item], tail: str = "", *, origin: str = "") -> list[Message]:
    """Input items of the Responses API, for `store=False`.

    The reasoning of a response goes back as a whole, with the provider ids of all that came with
    it, and only to the `origin` that sealed it; else the rest goes without ids.
    """
    sent: list[Message] = []
    given: set[str] = set()
    for run in responses(repaired(items)):
        named = _goes_back(run, origin, given)
        rest = run if named else [item for item in run if not isinstance(item, Reasoning)]
        sent += [_input_item(item, named) for item in rest]
    if tail.strip():
        sent.append({"role": "user", "content": tail})
    return sent


def _goes_back(run: Sequence[Item], origin: str, given: set[str]) -> bool:
    """Whether a response has reasoning that its origin takes back. An id goes out but once; a
    damaged file may hold one twice, or a broken one."""
    thoughts = [item for item in run if isinstance(item, Reasoning)]
    if not all(item.encrypted and item.provider_id and item.origin == origin for item in thoughts):
        return False
    ids = [item.provider_id for item in run if isinstance(item, _OF_MODEL) and item.provider_id]
    fit = len({*ids, *given}) == len(ids) + len(given) and all(map(_PROVIDER_ID.fullmatch, ids))
    if thoughts and fit:
        given.update(ids)
    return bool(thoughts) and fit


def _input_item(item: Item, named: bool) -> Message:
    match item:
        case User(text) | Note(text) | Summary(text):
            return {"role": "user", "content": text}
        case Result():
            output = result_text(item)
            return {"type": "function_call_output", "call_id": item.call_id, "output": output}
        case Reasoning():
            summary = [{"type": "summary_text", "text": item.text}] if item.text else []
            sealed = {"summary": summary, "encrypted_content": item.encrypted}
            return {"type": "reasoning", **_id(item), **sealed}
        case Call(call_id, name, arguments):
            call = {"type": "function_call", "call_id": call_id, "name": wire_name(name)}
            known = _id(item) if named else {}
            return {**call, **known, "arguments": arguments_object(arguments)}
        case Assistant(text):
            phase = {"phase": item.phase} if item.phase else {}
            if not (named and item.provider_id):
                return {"role": "assistant", "content": text, **phase}
            content = [{"type": "output_text", "text": text, "annotations": []}]
            message = {"type": "message", "role": "assistant", "status": "completed"}
            return {**message, **_id(item), "content": content, **phase}


def _id(item: Assistant | Reasoning | Call) -> Message:
    return {"id": item.provider_id} if item.provider_id else {}
