"""The strict endpoint refuses what the real one refuses, in its words."""

from __future__ import annotations

import http.client
import json
import threading
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.support.strict_endpoint import Reply, StrictEndpoint, refusal

USER = {"role": "user", "content": "hi"}
CALL = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
TOLD = {"role": "tool", "tool_call_id": "a", "content": "x"}


def chat(*messages: Any, **more: Any) -> str | None:
    return refusal("chat", {"model": "tiny", "messages": list(messages), **more})


def responses(*items: Any, issued: dict[str, str] | None = None, **more: Any) -> str | None:
    body = {"model": "tiny", "input": list(items), "store": False, **more}
    return refusal("responses", body, issued)


def with_arguments(text: str) -> dict[str, Any]:
    return {**ASKED, "tool_calls": [{**CALL, "function": {"name": "look", "arguments": text}}]}


def with_id(call_id: str) -> dict[str, Any]:
    return {**ASKED, "tool_calls": [{**CALL, "id": call_id}]}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([USER, TOLD], "must be a response to a preceeding message"),
        ([USER, ASKED], "did not have response messages: a"),
        ([USER, ASKED, USER], "did not have response messages: a"),
        ([USER, ASKED, TOLD, TOLD], "must be a response"),
        ([USER, ASKED, TOLD, ASKED, TOLD], "Duplicate value"),
        ([USER, with_arguments("[1]"), TOLD], "not a JSON object"),
        ([USER, with_arguments('{"a'), TOLD], "not a JSON object"),
        ([USER, {**ASKED, "content": None}, TOLD], "expected a string"),
        ([USER, {**ASKED, "content": "x", "tool_calls": []}], "empty array"),
        ([USER, USER], "must alternate"),
        ([USER, ASKED, TOLD, USER], "must alternate"),
        ([ASKED, TOLD], "must alternate"),
        ([USER, {"role": "system", "content": "x"}], "must alternate"),
        ([{"role": "robot", "content": "x"}], "Invalid value: 'robot'"),
        ([{"role": "user", "content": " "}], "must not be empty"),
        ([USER, ASKED, {**TOLD, "content": ""}], "must not be empty"),
        ([{**USER, "mood": "x"}], "Unknown parameter: 'messages[0].mood'"),
        ([{**USER, "name": "a b"}], "does not match pattern"),
        ([USER, with_arguments('{"a": NaN}'), TOLD], "not a JSON object"),
        ([USER, with_id("z" * 41)], "maximum length 40, but got a string with length 41"),
        ([{"role": "system", "content": "x"}], "at least one message"),
        ([], "empty array"),
    ],
)
def test_chat_histories_that_are_refused(messages: list[Any], words: str) -> None:
    assert words in str(chat(*messages))


def test_a_whole_chat_history_is_accepted() -> None:
    answer = {"role": "assistant", "content": "done"}
    assert chat({"role": "system", "content": "s"}, USER, ASKED, TOLD, answer, USER) is None


def tool(**parameters: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "look", "parameters": parameters}}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mood": 1}, "Unknown parameter: 'mood'"),
        ({"model": ""}, "Missing required parameter: 'model'"),
        ({"tools": []}, "too short"),
        ({"tools": [tool(type="array")]}, "got 'type: \"array\"'"),
        ({"tools": [tool(type="object", properties={"a": {"type": "text"}})]}, "'text' is not"),
        ({"tools": [tool(type="object", properties={"a": {"type": "array"}})]}, "missing items"),
        ({"tools": [tool(type="object", properties={}, required=["a"])]}, "'required' names"),
        ({"tools": [tool(type="object", properties={"a": {"$ref": "#/$defs/B"}})]}, "nowhere"),
        ({"tools": [tool(type="object"), tool(type="object")]}, "Duplicate function"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "match pattern"),
        ({"tool_choice": "auto"}, "only allowed when 'tools' are"),
        ({"response_format": {"type": "json"}}, "Invalid value: 'json'"),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, "json_schema.name"),
    ],
)
def test_parameters_and_tools_that_are_refused(more: dict[str, Any], words: str) -> None:
    assert words in str(chat(USER, **more))


MADE = {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"}
PUT = {"type": "function_call_output", "call_id": "a", "output": "x"}
SAID = {"role": "assistant", "content": "so"}
HM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed-for-tiny-1"}


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([USER, MADE], "No tool output found for function call a."),
        ([USER, PUT], "No tool call found for function call output with call_id a."),
        ([USER, MADE, PUT, PUT], "No tool call found"),
        ([USER, MADE, PUT, MADE, PUT], "Duplicate value"),
        ([USER, HM], "without its required following item"),
        ([USER, HM, USER], "without its required following item"),
        ([USER, {**HM, "encrypted_content": ""}, MADE, PUT], "Items are not persisted"),
        ([USER, {**HM, "encrypted_content": "sealed-for-b-1"}, MADE, PUT], "not be verified"),
        ([USER, {**MADE, "id": "call_1"}, PUT], "begins with 'fc'"),
        ([USER, {"role": "assistant", "content": ""}], "must not be empty"),
        ([USER, {"type": "item_reference", "id": "x"}], "Invalid value: 'item_reference'"),
        ([{"role": "assistant", "content": "x"}], "begins with the user"),
        ([{"role": "tool", "content": "x"}], "Invalid value: 'tool'"),
        ([USER, HM, {**MADE, "id": "fc_1"}, PUT, HM, SAID], "Duplicate item found with id rs_1"),
        ([USER, {**HM, "id": "rs 1"}, MADE, PUT], "letters, numbers, underscores, or dashes"),
        ([USER, {**HM, "id": ""}, MADE, PUT], "letters, numbers, underscores, or dashes"),
        ([USER, {"type": "reasoning", "summary": [], "encrypted_content": "x"}, SAID], "[1].id"),
        ([USER, {**HM, "summary": [{"text": "x"}]}, MADE, PUT], "Supported: 'summary_text'"),
        ([USER, {**MADE, "call_id": "z" * 65}], "maximum length 64"),
        ([USER, {**MADE, "strict": True}, PUT], "Unknown parameter: 'input[1].strict'"),
        ([{**USER, "phase": "commentary"}], "Unknown parameter: 'input[0].phase'"),
        ([{**USER, "content": [{"type": "output_text", "text": "x"}]}], "'input_text'"),
        ([MADE, PUT], "begins with the user"),
        ([], "Missing required parameter: 'input'"),
    ],
)
def test_responses_inputs_that_are_refused(items: list[Any], words: str) -> None:
    assert words in str(responses(*items))


def test_an_item_is_refused_without_the_reasoning_it_came_with() -> None:
    named = {**MADE, "id": "fc_1"}
    issued = {"fc_1": "rs_1"}
    assert responses(USER, HM, named, PUT, issued=issued) is None
    assert "its required 'reasoning' item: 'rs_1'" in str(
        responses(USER, named, PUT, issued=issued)
    )
    assert responses(USER, MADE, PUT, issued=issued) is None
    other = {**HM, "id": "rs_2"}
    assert "without its required following item" in str(
        responses(USER, HM, other, named, PUT, issued=issued)
    )
    assert "keeps nothing" in str(responses(USER, store=True))


def test_what_is_sealed_for_one_account_cannot_be_opened_by_another() -> None:
    sealed = {**HM, "encrypted_content": "sealed-for-tiny-ann-1"}
    body = {"model": "tiny", "input": [USER, sealed, MADE, PUT], "store": False}
    assert refusal("responses", body, account="ann") is None
    assert "could not be verified" in str(refusal("responses", body, account="bob"))


def post(url: str, body: object) -> tuple[int, Any]:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_it_answers_over_http_and_says_what_it_refused() -> None:
    with StrictEndpoint([Reply("hello")], models=("tiny", "small"), window=512) as server:
        with urllib.request.urlopen(f"{server.base_url}/models", timeout=5) as response:
            models = json.load(response)["data"]
        url = f"{server.base_url}/chat/completions"
        status, refused = post(url, {"model": "tiny", "messages": [USER, TOLD], "stream": True})
        unknown, _ = post(url, {"model": "huge", "messages": [USER], "stream": True})
        nowhere, _ = post(f"{server.base_url}/elsewhere", {})
        with pytest.raises(AssertionError, match="refused"):
            server.check()
        _, stream = post(url, {"model": "tiny", "messages": [USER], "stream": True})
        over, _ = post(url, {"model": "tiny", "messages": [USER], "stream": True})
    assert [(each["id"], each["meta"]["n_ctx"]) for each in models] == [
        ("tiny", 512),
        ("small", 512),
    ]
    assert (status, unknown, nowhere, over) == (400, 404, 404, 500)
    assert "preceeding" in refused["error"]["message"]
    assert b'"hello"' in stream
    assert stream.endswith(b"data: [DONE]\n\n")


def test_it_ends_with_a_client_still_waiting() -> None:
    told: list[object] = []

    def wait(url: str) -> None:
        try:
            told.append(post(url, {"model": "tiny", "messages": [USER], "stream": True}))
        except (OSError, http.client.HTTPException) as error:
            told.append(error)

    with StrictEndpoint([Reply("hello", silent_after=1)]) as server:
        waiting = threading.Thread(target=wait, args=(f"{server.base_url}/chat/completions",))
        waiting.start()
        assert server.held.wait(5)
    waiting.join(5)
    assert len(told) == 1


def test_a_leftover_reply_is_told() -> None:
    with StrictEndpoint([Reply("x")]) as server, pytest.raises(AssertionError, match="left over"):
        server.check()
