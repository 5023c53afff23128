"""What OpenAI answers 400 to, in its own words, and what the pickiest chat templates refuse.

Pure. A lenient server never reveals a broken history; this one always does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Kind = Literal["chat", "responses"]

# Prefix of the encrypted reasoning that the strict endpoint hands out; the model's name follows.
SEAL = "sealed-for-"


def _words(text: str) -> set[str]:
    return set(text.split())


_CHAT = _words(
    "model messages stream stream_options tools tool_choice parallel_tool_calls response_format "
    "temperature top_p max_tokens max_completion_tokens reasoning_effort seed stop user store n "
    "prompt_cache_key frequency_penalty presence_penalty logprobs top_logprobs verbosity "
    "service_tier safety_identifier"
)
_RESPONSES = _words(
    "model input instructions stream stream_options tools tool_choice parallel_tool_calls text "
    "temperature top_p max_output_tokens reasoning store include user prompt_cache_key metadata "
    "truncation service_tier previous_response_id safety_identifier context_management"
)
_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id"},
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
_MODEL_ITEMS = ("message", "function_call", "reasoning")


class Refused(Exception):
    """Ends a check with the words of the refusal."""


def refusal(kind: Kind, body: object, issued: Mapping[str, str] | None = None) -> str | None:
    """Why a request body is refused, or None where it is accepted.

    `issued` maps ids of items that the endpoint gave out to the reasoning they came with.
    """
    try:
        if not isinstance(body, dict):
            return "We could not parse the JSON body of your request."
        _parameters(body, _CHAT if kind == "chat" else _RESPONSES)
        if "tools" in body:
            _tools(kind, body["tools"])
        if kind == "chat":
            _messages(body.get("messages"))
        else:
            _input(body, issued or {})
    except Refused as refused:
        return str(refused)
    return None


def code_of(words: str) -> str | None:
    """OpenAI's code beside a refusal, where it gives one."""
    if words.startswith("Unknown parameter"):
        return "unknown_parameter"
    return "invalid_encrypted_content" if "could not be verified" in words else None


def _parameters(body: dict[str, Any], known: set[str]) -> None:
    for name in body:
        if name not in known:
            raise Refused(f"Unknown parameter: '{name}'.")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refused("Missing required parameter: 'model'.")


def _tools(kind: Kind, tools: object) -> None:
    if not isinstance(tools, list):
        raise Refused("Invalid type for 'tools': expected an array of objects.")
    if tools == [] and kind == "chat":
        raise Refused("[] is too short - 'tools'")
    seen: set[str] = set()
    for at, tool in enumerate(tools):
        if not isinstance(tool, dict) or tool.get("type") != "function":
            raise Refused(f"Invalid value for 'tools[{at}].type'. Supported values: 'function'.")
        function = tool.get("function") if kind == "chat" else tool
        if not isinstance(function, dict):
            raise Refused(f"Missing required parameter: 'tools[{at}].function'.")
        name = function.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise Refused(
                f"Invalid 'tools[{at}].name': string does not match pattern. Expected a string "
                "that matches the pattern '^[a-zA-Z0-9_-]+$'."
            )
        if name in seen:
            raise Refused(f"Duplicate function name: '{name}'.")
        seen.add(name)
        schema = function.get("parameters", {"type": "object", "properties": {}})
        if not isinstance(schema, dict) or schema.get("type") != "object":
            got = schema.get("type") if isinstance(schema, dict) else schema
            raise Refused(
                f"Invalid schema for function '{name}': schema must be a JSON Schema of "
                f"'type: \"object\"', got 'type: \"{got}\"'."
            )
        _schema(name, schema, schema.get("$defs", {}))


def _schema(name: str, node: object, definitions: Mapping[str, Any]) -> None:
    if isinstance(node, bool):
        return
    if not isinstance(node, dict):
        raise Refused(f"Invalid schema for function '{name}': {node!r} is not a schema.")
    types = node.get("type", [])
    for each in types if isinstance(types, list) else [types]:
        if each not in _TYPES:
            raise Refused(f"Invalid schema for function '{name}': {each!r} is not valid.")
    if node.get("type") == "array" and "items" not in node:
        raise Refused(f"Invalid schema for function '{name}': array schema missing items.")
    reference = node.get("$ref")
    if reference is not None and str(reference).removeprefix("#/$defs/") not in definitions:
        raise Refused(f"Invalid schema for function '{name}': {reference!r} leads nowhere.")
    properties = node.get("properties", {})
    for wanted in node.get("required", []):
        if wanted not in properties:
            raise Refused(f"Invalid schema for function '{name}': 'required' names {wanted!r}.")
    children: list[object] = [*properties.values(), *node.get("$defs", {}).values()]
    children += [node[key] for key in ("items", "additionalProperties") if key in node]
    for key in ("anyOf", "oneOf", "allOf"):
        children += node.get(key, [])
    for child in children:
        _schema(name, child, definitions)


def _messages(messages: object) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refused("Invalid 'messages': empty array. Expected an array with minimum length 1.")
    open_calls: list[str] = []
    answered: set[str] = set()
    seen: set[str] = set()
    before = ""
    for at, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _FIELDS:
            raise Refused(
                f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', "
                "'function', 'tool', and 'developer'."
            )
        for name in message:
            if name not in _FIELDS[role]:
                raise Refused(f"Unknown parameter: 'messages[{at}].{name}'.")
        if role == "tool":
            _tool_message(message, at, open_calls, answered)
        else:
            _all_answered(open_calls, answered)
            open_calls, answered = [], set()
            _order(role, before)
            _content(message, at)
            if role == "assistant":
                open_calls = _tool_calls(message, at, seen)
        before = role
    _all_answered(open_calls, answered)
    if before in ("system", "developer"):
        raise Refused("Invalid 'messages': at least one message of the user is needed.")


def _order(role: str, before: str) -> None:
    if role in ("system", "developer"):
        fits = before == ""
    elif role == "user":
        fits = before in ("", "system", "developer", "assistant")
    else:
        fits = before in ("user", "tool")
    if not fits:
        raise Refused(
            "After the optional system message, conversation roles must alternate "
            f"user/assistant/user/assistant/... (a message of '{role}' follows '{before}')"
        )


def _content(message: dict[str, Any], at: int) -> None:
    content = message.get("content")
    if message["role"] == "assistant" and message.get("tool_calls"):
        if not isinstance(content, str):
            raise Refused(f"Invalid type for 'messages[{at}].content': expected a string.")
        return
    if not isinstance(content, str | list) or not (
        content.strip() if isinstance(content, str) else content
    ):
        raise Refused(f"Invalid 'messages[{at}].content': the message must not be empty.")


def _tool_calls(message: dict[str, Any], at: int, seen: set[str]) -> list[str]:
    ids = []
    if message.get("tool_calls") == []:
        raise Refused(
            f"Invalid 'messages[{at}].tool_calls': empty array. Expected an array with minimum "
            "length 1, but got an empty array instead."
        )
    for call in message.get("tool_calls", []):
        function = call.get("function", {})
        if call.get("type") != "function" or not _NAME.fullmatch(str(function.get("name", ""))):
            raise Refused(f"Invalid 'messages[{at}].tool_calls': no function is named.")
        _arguments(function.get("arguments"), f"messages[{at}].tool_calls")
        _new_id(call.get("id"), seen)
        ids.append(call["id"])
    return ids


def _tool_message(
    message: dict[str, Any], at: int, open_calls: list[str], answered: set[str]
) -> None:
    call_id = message.get("tool_call_id")
    if call_id not in open_calls or call_id in answered:
        raise Refused(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            f"message with 'tool_calls'. (messages.[{at}].role)"
        )
    if not isinstance(message.get("content"), str) or not message["content"].strip():
        raise Refused(f"Invalid 'messages[{at}].content': the message must not be empty.")
    answered.add(call_id)


def _all_answered(open_calls: Iterable[str], answered: set[str]) -> None:
    missing = [call_id for call_id in open_calls if call_id not in answered]
    if missing:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(missing)
        )


def _arguments(arguments: object, where: str) -> None:
    try:
        parsed = json.loads(arguments) if isinstance(arguments, str) else None
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise Refused(f"Invalid '{where}': 'arguments' is not a JSON object.")


def _new_id(call_id: object, seen: set[str]) -> None:
    if not isinstance(call_id, str) or not 0 < len(call_id) <= 64:
        raise Refused(f"Invalid call id {call_id!r}: expected a string of 1 to 64 characters.")
    if call_id in seen:
        raise Refused(f"Duplicate value for 'tool_call_id' of '{call_id}'.")
    seen.add(call_id)


def _input(body: dict[str, Any], issued: Mapping[str, str]) -> None:
    items = body.get("input")
    if isinstance(items, str) and items.strip():
        return
    if not isinstance(items, list) or not items:
        raise Refused("Missing required parameter: 'input'.")
    if body.get("store") is not False:
        raise Refused("This endpoint keeps nothing: send 'store': false.")
    calls: dict[str, bool] = {}
    reasoned: set[str] = set()
    for at, item in enumerate(items):
        follower = items[at + 1] if at + 1 < len(items) else None
        _input_item(body["model"], item, at, follower, calls, reasoned)
        needed = issued.get(str(item.get("id")))
        if needed and needed not in reasoned:
            raise Refused(
                f"Item '{item['id']}' of type '{item['type']}' was provided without its required "
                f"'reasoning' item: '{needed}'."
            )
    for call_id, answered in calls.items():
        if not answered:
            raise Refused(f"No tool output found for function call {call_id}.")


def _input_item(
    model: str, item: Any, at: int, follower: Any, calls: dict[str, bool], reasoned: set[str]
) -> None:
    kind = item.get("type", "message") if isinstance(item, dict) else None
    match kind:
        case "message":
            _input_message(item, at)
        case "function_call":
            _id(item, "fc", at)
            seen = set(calls)
            _new_id(item.get("call_id"), seen)
            if not _NAME.fullmatch(str(item.get("name", ""))):
                raise Refused(f"Missing required parameter: 'input[{at}].name'.")
            _arguments(item.get("arguments"), f"input[{at}].arguments")
            calls[item["call_id"]] = False
        case "function_call_output":
            call_id = item.get("call_id")
            if calls.get(call_id) is not False:
                raise Refused(
                    f"No tool call found for function call output with call_id {call_id}."
                )
            if not isinstance(item.get("output"), str | list):
                raise Refused(f"Missing required parameter: 'input[{at}].output'.")
            calls[call_id] = True
        case "reasoning":
            _reasoning(model, item, at, follower)
            reasoned.add(str(item.get("id")))
        case _:
            raise Refused(f"Invalid value: '{kind}'. Supported values are: 'message', ….")


def _input_message(item: dict[str, Any], at: int) -> None:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        raise Refused(
            f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', "
            "and 'user'."
        )
    if at == 0 and role == "assistant":
        raise Refused("Invalid 'input[0]': a conversation begins with the user.")
    texts = [content] if isinstance(content, str) else [part.get("text") for part in content or []]
    if not any(isinstance(text, str) and text.strip() for text in texts):
        raise Refused(f"Invalid 'input[{at}].content': the message must not be empty.")
    if role == "assistant":
        _id(item, "msg", at)
        if "id" in item and isinstance(content, str):
            raise Refused(f"Invalid type for 'input[{at}].content': expected an array of objects.")


def _reasoning(model: str, item: dict[str, Any], at: int, follower: Any) -> None:
    _id(item, "rs", at)
    item_id, sealed = item.get("id"), item.get("encrypted_content")
    if not isinstance(item.get("summary"), list):
        raise Refused(f"Missing required parameter: 'input[{at}].summary'.")
    if not sealed:
        raise Refused(
            f"Item with id '{item_id}' not found. Items are not persisted when `store` is set to "
            "false. Try again with `store` set to true, or remove this item from your input."
        )
    if sealed.startswith(SEAL) and not sealed.startswith(f"{SEAL}{model}-"):
        raise Refused(f"The encrypted content {sealed[:8]}... could not be verified.")
    kind = follower.get("type", "message") if isinstance(follower, dict) else None
    if kind not in _MODEL_ITEMS or (kind == "message" and follower.get("role") != "assistant"):
        raise Refused(
            f"Item '{item_id}' of type 'reasoning' was provided without its required following "
            "item."
        )


def _id(item: dict[str, Any], prefix: str, at: int) -> None:
    if "id" in item and not str(item["id"]).startswith(prefix):
        raise Refused(
            f"Invalid 'input[{at}].id': '{item['id']}'. Expected an ID that begins with '{prefix}'."
        )
