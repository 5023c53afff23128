"""Which items of a Responses request OpenAI refuses, in its own words. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.support.strict_tools import NAME, Refused, check_arguments, check_call_id

# Prefix of the encrypted reasoning that the strict endpoint hands out; model and account follow.
SEAL = "sealed-for-"
LONGEST_CALL_ID = 64
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MODEL_ITEMS = ("message", "function_call", "reasoning")
_FIELDS = {
    "message": {"type", "role", "content", "id", "status", "phase"},
    "function_call": {"type", "call_id", "name", "arguments", "id", "status"},
    "function_call_output": {"type", "call_id", "output", "id", "status"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
}
_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


class _Input:
    """The items looked at so far. `issued` maps ids that were given out to their reasoning's."""

    def __init__(self, seal: str, issued: Mapping[str, str]) -> None:
        self._seal = seal
        self._issued = issued
        self._calls: dict[str, bool] = {}  # call id -> answered
        self._ids: set[str] = set()

    def check(self, items: list[Any]) -> None:
        for at, item in enumerate(items):
            kind = item.get("type", "message") if isinstance(item, dict) else None
            if kind not in _FIELDS:
                raise Refused(f"Invalid value: '{kind}'. Supported values are: 'message', ….")
            for name in item:
                if name not in _FIELDS[kind]:
                    raise Refused(f"Unknown parameter: 'input[{at}].{name}'.")
            self._id(item, kind, at)
            match kind:
                case "message":
                    _message(item, at)
                case "reasoning":
                    self._reasoning(item, at, items[at + 1] if at + 1 < len(items) else None)
                case "function_call":
                    self._call(item, at)
                case _:
                    self._output(item, at)
        for call_id, answered in self._calls.items():
            if not answered:
                raise Refused(f"No tool output found for function call {call_id}.")

    def _id(self, item: dict[str, Any], kind: str, at: int) -> None:
        if "id" not in item:
            return
        item_id = item["id"]
        if not isinstance(item_id, str) or not _ID.fullmatch(item_id):
            raise Refused(
                f"Invalid 'input[{at}].id': {item_id!r}. Expected an ID that contains letters, "
                "numbers, underscores, or dashes, but this value contained additional characters."
            )
        if not item_id.startswith(_PREFIXES.get(kind, "")):
            raise Refused(
                f"Invalid 'input[{at}].id': '{item_id}'. Expected an ID that begins with "
                f"'{_PREFIXES[kind]}'."
            )
        if item_id in self._ids:
            raise Refused(
                f"Duplicate item found with id {item_id}. Remove duplicate items from your input "
                "and try again."
            )
        self._ids.add(item_id)
        needed = self._issued.get(item_id)
        if needed and needed not in self._ids:
            raise Refused(
                f"Item '{item_id}' of type '{kind}' was provided without its required "
                f"'reasoning' item: '{needed}'."
            )

    def _reasoning(self, item: dict[str, Any], at: int, follower: Any) -> None:
        item_id, sealed = item.get("id"), item.get("encrypted_content")
        summary = item.get("summary")
        if not item_id:
            raise Refused(f"Missing required parameter: 'input[{at}].id'.")
        if not isinstance(summary, list):
            raise Refused(f"Missing required parameter: 'input[{at}].summary'.")
        for part in summary:
            if not isinstance(part, dict) or part.get("type") != "summary_text":
                raise Refused(f"Invalid value: 'input[{at}].summary'. Supported: 'summary_text'.")
        if not sealed:
            raise Refused(
                f"Item with id '{item_id}' not found. Items are not persisted when `store` is set "
                "to false. Try again with `store` set to true, or remove this item from your input."
            )
        if sealed.startswith(SEAL) and not sealed.startswith(self._seal):
            raise Refused(f"The encrypted content {sealed[:8]}... could not be verified.")
        kind = follower.get("type", "message") if isinstance(follower, dict) else None
        of_model = kind in _MODEL_ITEMS and (kind != "message" or follower["role"] == "assistant")
        led_to = self._issued.get(follower.get("id", ""), item_id) if of_model else ""
        if not of_model or (kind != "reasoning" and led_to != item_id):
            raise Refused(
                f"Item '{item_id}' of type 'reasoning' was provided without its required following "
                "item."
            )

    def _call(self, item: dict[str, Any], at: int) -> None:
        call_id = check_call_id(item.get("call_id"), self._calls, LONGEST_CALL_ID)
        if not NAME.fullmatch(str(item.get("name", ""))):
            raise Refused(f"Missing required parameter: 'input[{at}].name'.")
        check_arguments(item.get("arguments"), f"input[{at}].arguments")
        self._calls[call_id] = False

    def _output(self, item: dict[str, Any], at: int) -> None:
        call_id = item.get("call_id")
        if not isinstance(call_id, str) or self._calls.get(call_id) is not False:
            raise Refused(f"No tool call found for function call output with call_id {call_id}.")
        if not isinstance(item.get("output"), str | list):
            raise Refused(f"Missing required parameter: 'input[{at}].output'.")
        self._calls[call_id] = True


def check_input(body: dict[str, Any], issued: Mapping[str, str], account: str) -> None:
    """Raises `Refused`. `account` is who asks: what is sealed for another cannot be opened."""
    items = body.get("input")
    if isinstance(items, str) and items.strip():
        return
    if not isinstance(items, list) or not items:
        raise Refused("Missing required parameter: 'input'.")
    if body.get("store") is not False:
        raise Refused("This endpoint keeps nothing: send 'store': false.")
    _Input(f"{SEAL}{body['model']}-{account}", issued).check(items)
    first = items[0]
    if first.get("type", "message") != "message" or first.get("role") == "assistant":
        raise Refused("Invalid 'input[0]': a conversation begins with the user.")


def _message(item: dict[str, Any], at: int) -> None:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        raise Refused(
            f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', "
            "and 'user'."
        )
    wanted = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image")
    parts = [] if isinstance(content, str) else content or []
    for part in parts:
        if not isinstance(part, dict) or part.get("type") not in wanted:
            raise Refused(f"Invalid value: 'input[{at}].content'. Supported values: {wanted}.")
    texts = [content] if isinstance(content, str) else [part.get("text") for part in parts]
    if not any(isinstance(text, str) and text.strip() for text in texts):
        raise Refused(f"Invalid 'input[{at}].content': the message must not be empty.")
    if role == "assistant" and "id" in item and isinstance(content, str):
        raise Refused(f"Invalid type for 'input[{at}].content': expected an array of objects.")
    if role != "assistant" and "phase" in item:
        raise Refused(f"Unknown parameter: 'input[{at}].phase'.")
