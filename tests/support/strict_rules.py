"""What OpenAI answers 400 to, in its own words, and what the pickiest chat templates refuse.

Pure. A lenient server never reveals a broken history; this one always does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.strict_input import SEAL, check_input
from tests.support.strict_tools import (
    NAME,
    Kind,
    Refused,
    check_arguments,
    check_call_id,
    check_format,
    check_tools,
)

__all__ = ["SEAL", "Kind", "code_of", "refusal"]

LONGEST_CALL_ID = 40  # of Chat Completions; the Responses API takes longer ones


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


def refusal(
    kind: Kind, body: object, issued: Mapping[str, str] | None = None, account: str = ""
) -> str | None:
    """Why a request body is refused, or None where it is accepted.

    `issued` maps ids of items that the endpoint gave out to the reasoning they came with;
    `account` is who asks.
    """
    try:
        if not isinstance(body, dict):
            return "We could not parse the JSON body of your request."
        _parameters(body, _CHAT if kind == "chat" else _RESPONSES)
        if "tools" in body:
            check_tools(kind, body["tools"])
        check_format(body)
        if kind == "chat":
            _messages(body.get("messages"))
        else:
            check_input(body, issued or {}, account)
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
    content, name = message.get("content"), message.get("name", "_")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Refused(f"Invalid 'messages[{at}].name': string does not match pattern.")
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
        if call.get("type") != "function" or not NAME.fullmatch(str(function.get("name", ""))):
            raise Refused(f"Invalid 'messages[{at}].tool_calls': no function is named.")
        check_arguments(function.get("arguments"), f"messages[{at}].tool_calls")
        ids.append(check_call_id(call.get("id"), seen, LONGEST_CALL_ID))
        seen.add(ids[-1])
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
