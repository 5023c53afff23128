"""What goes on the wire, judged by the strictest endpoint."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from shiro_jupyter.core.context.render import (
    NO_ANSWER,
    arguments_object,
    chat_messages,
    kept_arguments,
    response_items,
    result_text,
    said_arguments,
)
from shiro_jupyter.core.transcript import Assistant, Call, Item, Note, Reasoning, Result, User
from tests.support.strict_rules import refusal
from tests.support.transcripts import damaged, healthy

TURN: list[Item] = [
    User("what is here?", 1),
    Reasoning("look", 1, 1, "rs_1", "sealed", "here"),
    Assistant("I look.", 1, 1, "msg_1", "commentary"),
    Call("a", "look", '{"path": "."}', 1, 1, "fc_1"),
    Call("b", "look", "", 1, 1, "fc_2"),
    Result("a", "ok", "three files", 1, 1),
    Result("b", "refused", "not that", 1, 1),
]


def chat_refusal(messages: list[dict[str, Any]]) -> str | None:
    return refusal("chat", {"model": "tiny", "messages": messages})


def responses_refusal(items: list[dict[str, Any]]) -> str | None:
    return refusal("responses", {"model": "tiny", "input": items, "store": False})


def test_a_step_is_one_assistant_message_and_its_results() -> None:
    messages = chat_messages("be kind", TURN)
    first, second = messages[2]["tool_calls"]
    assert messages[:2] == [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "what is here?"},
    ]
    assert messages[2]["content"] == "I look."
    assert first["function"] == {"name": "look", "arguments": '{"path": "."}'}
    assert second["function"]["arguments"] == "{}"
    assert messages[3:] == [
        {"role": "tool", "tool_call_id": "a", "content": "three files"},
        {"role": "tool", "tool_call_id": "b", "content": "[refused] not that"},
    ]


@pytest.mark.parametrize(
    "name", ["functions.read_file", "read file", "bash\n", "x" * 65, "читать", ""]
)
def test_a_tool_that_the_model_made_up_goes_back_under_a_name_that_is_taken(name: str) -> None:
    call, result = Call("a", name, "{}", 1, 1), Result("a", "invalid_arguments", "no", 1, 1)
    items: list[Item] = [User("hi", 1), call, result]
    assert chat_refusal(chat_messages("", items)) is None
    assert responses_refusal(response_items(items)) is None


def test_content_is_empty_text_beside_calls() -> None:
    messages = chat_messages("", [User("hi"), Call("a", "look", "{}"), Result("a", "ok", "x")])
    assert messages[1]["content"] == ""


def test_reasoning_goes_back_only_where_a_field_is_named() -> None:
    plain = chat_messages("", TURN)[1]
    assert set(plain) == {"role", "content", "tool_calls"}
    assert chat_messages("", TURN, reasoning_field="reasoning")[1]["reasoning"] == "look"


def test_notes_and_prompts_in_a_row_are_one_message_of_the_user() -> None:
    items = [User("one", 1), Note("interrupted", 1), User("two", 2)]
    assert chat_messages("", items) == [{"role": "user", "content": "one\n\ninterrupted\n\ntwo"}]


def test_a_prompt_after_a_result_keeps_the_order_of_roles() -> None:
    messages = chat_messages("", [*TURN, Note("interrupted", 1), User("go on", 2)])
    assert messages[-2:] == [
        {"role": "assistant", "content": NO_ANSWER},
        {"role": "user", "content": "interrupted\n\ngo on"},
    ]
    assert chat_refusal(messages) is None


@pytest.mark.parametrize("length", range(len(TURN) + 1))
def test_the_tail_is_last_and_leaves_all_before_it_as_it_was(length: int) -> None:
    bare, tailed = (chat_messages("s", TURN[:length], tail) for tail in ("", "TODAY"))
    assert tailed[-1]["content"].endswith("TODAY")
    before = tailed[-1]["content"].removesuffix("TODAY").rstrip()
    assert [*tailed[:-1], {**tailed[-1], "content": before}] in (
        bare,
        [*bare, {"role": "user", "content": ""}],
    )
    assert chat_refusal(tailed) is None
    assert response_items(TURN[:length], "TODAY") == [
        *response_items(TURN[:length]),
        {"role": "user", "content": "TODAY"},
    ]


def test_steps_extend_the_prefix() -> None:
    one, two = chat_messages("s", TURN[:1]), chat_messages("s", TURN)
    assert two[: len(one)] == one
    assert response_items(TURN)[:1] == response_items(TURN[:1])


def test_responses_carry_reasoning_ids_and_phase_to_their_own_origin() -> None:
    sent = response_items(TURN, origin="here")
    assert sent[1] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "look"}],
        "encrypted_content": "sealed",
    }
    assert (sent[2]["id"], sent[2]["phase"]) == ("msg_1", "commentary")
    assert [sent[3]["id"], sent[4]["id"]] == ["fc_1", "fc_2"]
    assert sent[5] == {"type": "function_call_output", "call_id": "a", "output": "three files"}


def test_another_origin_gets_neither_reasoning_nor_ids_but_all_the_rest() -> None:
    sent = response_items(TURN, origin="elsewhere")
    assert [each.get("type", each.get("role")) for each in sent] == [
        "user",
        "assistant",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert not any("id" in each for each in sent)


@pytest.mark.parametrize(
    ("broken", "left"),
    [
        (Reasoning("more", 1, 1, "rs_2", "sealed", "elsewhere"), 0),
        (Reasoning("more", 1, 1, "", "sealed", "here"), 0),
        (Reasoning("more", 1, 1, "rs_2", "", ""), 0),
        (Reasoning("more", 1, 1, "rs_1", "sealed", "here"), 0),
        (Reasoning("more", 1, 1, "rs_\ufffd", "sealed", "here"), 0),
        (Reasoning("more", 1, 1, "rs_2", "sealed", "here"), 2),
    ],
)
def test_the_reasoning_of_a_response_goes_back_as_a_whole_or_not_at_all(
    broken: Reasoning, left: int
) -> None:
    sent = response_items([*TURN[:2], broken, *TURN[2:]], origin="here")
    assert sum(each.get("type") == "reasoning" for each in sent) == left
    assert responses_refusal(sent) is None
    assert left or not any("id" in each for each in sent)


def test_an_id_goes_out_once_however_often_a_damaged_file_holds_it() -> None:
    again = [replace(item, turn=2) for item in TURN]
    sent = response_items([*TURN, *again], origin="here")
    assert responses_refusal(sent) is None
    assert [each["id"] for each in sent if "id" in each] == ["rs_1", "msg_1", "fc_1", "fc_2"]


def test_ids_go_nowhere_without_the_reasoning_that_a_damaged_file_lost() -> None:
    lost = [item for item in TURN if not isinstance(item, Reasoning)]
    assert not any("id" in each for each in response_items(lost, origin="here"))


def test_what_a_result_says_without_words() -> None:
    assert result_text(Result("a", "ok", " ")) == "(no output)"
    assert result_text(Result("a", "timed_out", "half")) == "[timed out] half"


@pytest.mark.parametrize(
    "arguments", ["", "[1]", '{"a": 1', "null", '{"a": NaN}', "[" * 100_000, '{"a": 1} x']
)
def test_arguments_that_are_no_object_go_out_as_an_empty_one(arguments: str) -> None:
    assert arguments_object(arguments) == "{}"


@pytest.mark.parametrize(
    "said", ["", " ", "{}", '{"a": "ü"}', '{"a": "ü', "[1]", '"{}"', '{"a": NaN}', "[" * 100_000]
)
def test_arguments_are_kept_as_json_and_read_back_as_they_were_said(said: str) -> None:
    kept = kept_arguments(said)
    assert said_arguments(kept) == said
    assert isinstance(json.loads(kept.strip() or "{}"), dict | str)
    assert (kept == said) == (not said.strip() or arguments_object(said) == said)


@given(damaged)
def test_any_damage_gives_a_request_that_both_apis_accept(items: list[Item]) -> None:
    assert chat_refusal(chat_messages("s", items, "TODAY")) is None
    assert chat_refusal(chat_messages("", items, "TODAY")) is None
    assert responses_refusal(response_items(items, "TODAY", origin="here")) is None
    assert responses_refusal(response_items(items, "TODAY", origin="new")) is None


@given(healthy())
def test_every_result_of_a_healthy_transcript_reaches_the_wire(items: list[Item]) -> None:
    results = sum(isinstance(item, Result) for item in items)
    messages = chat_messages("s", items, "TODAY")
    assert sum(message["role"] == "tool" for message in messages) == results
    assert chat_refusal(messages) is None
    sent = response_items(items, "TODAY", origin="here")
    assert sum(each.get("type") == "function_call_output" for each in sent) == results
    assert responses_refusal(sent) is None
