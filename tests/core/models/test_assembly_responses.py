"""Responses streams: items joined by index and id, every ending told apart."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from shiro_jupyter.core.errors import EndpointRefused, StreamBroken
from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.models.assembly_responses import ResponsesAssembly
from shiro_jupyter.core.models.base import CallPiece, Finished, Piece, ReasoningPiece, TextPiece
from shiro_jupyter.core.models.base import Request as Asked
from shiro_jupyter.core.transcript import Assistant, Call, Reasoning, User
from tests.support.streams import Reply, ScriptedCall, responses_stream

COMPLETED = {"type": "response.completed", "response": {"output": [], "usage": None}}


def events_of(reply: Reply) -> list[Any]:
    stream = b"".join(responses_stream(reply, "tiny", 7)).decode()
    return [json.loads(line[6:]) for line in stream.split("\n") if line.startswith("data: ")]


def assemble(events: list[Any]) -> tuple[list[Piece], Finished]:
    assembly = ResponsesAssembly(Asked("", (), (User("hi", 1),), turn=1, step=4), "here")
    pieces = [piece for event in events for piece in assembly.feed(event)]
    return pieces, assembly.finished()


WHOLE = Reply(
    "Done “so”.",
    reasoning="I think",
    calls=[ScriptedCall("look", {"a": "ü"}, "id_a"), ScriptedCall("look", {}, "id_b")],
    phase="commentary",
)
ITEMS = (
    Reasoning("I think", 1, 4, "rs_7", "sealed-for-tiny-7", "here"),
    Assistant("Done “so”.", 1, 4, "msg_7", "commentary"),
    Call("id_a", "look", '{"a": "ü"}', 1, 4, "fc_70"),
    Call("id_b", "look", "{}", 1, 4, "fc_71"),
)


def test_a_whole_response() -> None:
    pieces, finished = assemble(events_of(WHOLE))
    assert "".join(each.text for each in pieces if isinstance(each, TextPiece)) == "Done “so”."
    assert "".join(each.text for each in pieces if isinstance(each, ReasoningPiece)) == "I think"
    assert [each for each in pieces if isinstance(each, CallPiece)] == [
        CallPiece("id_a", "look"),
        CallPiece("id_b", "look"),
    ]
    assert finished == Finished(ITEMS, Usage(100, 50, 10, 0), "calls")


@pytest.mark.parametrize("without", ["output_index", "item_id"])
def test_one_of_index_and_id_is_enough(without: str) -> None:
    events = [{k: v for k, v in event.items() if k != without} for event in events_of(WHOLE)]
    assert assemble(events)[1].items == ITEMS


def test_a_long_answer_costs_no_more_a_piece_than_a_short_one() -> None:
    said = "abcdefghij" * 10
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": said}
    begun = time.process_time()
    _, finished = assemble([delta] * 60_000 + [COMPLETED])
    assert finished.items == (Assistant(said * 60_000, 1, 4),)
    assert time.process_time() - begun < 4


@pytest.mark.parametrize("kind", ["done", "delta", "added"])
def test_what_one_kind_of_event_leaves_out_the_others_hold(kind: str) -> None:
    events = [each for each in events_of(WHOLE) if not each["type"].endswith(f".{kind}")]
    pieces, finished = assemble(events)
    assert finished.items == ITEMS
    assert "".join(each.text for each in pieces if isinstance(each, TextPiece)) == "Done “so”."
    assert sum(isinstance(each, CallPiece) for each in pieces) == 2


def test_an_event_that_comes_twice_is_shown_once() -> None:
    twice = [each for event in events_of(WHOLE) for each in (event, event)]
    pieces, finished = assemble(twice)
    assert finished == assemble(events_of(WHOLE))[1]
    assert pieces == assemble(events_of(WHOLE))[0]


@pytest.mark.parametrize("number", [{}, {"sequence_number": 0}])
def test_what_a_model_says_twice_stays_where_events_have_no_numbers(number: dict[str, int]) -> None:
    ha = {"type": "response.output_text.delta", "output_index": 0, "delta": "ha", **number}
    pieces, _ = assemble([ha, ha, COMPLETED])
    assert pieces == [TextPiece("ha"), TextPiece("ha")]


def test_the_end_of_a_text_whose_event_is_lost_is_shown_all_the_same() -> None:
    events = events_of(WHOLE)
    last = max(at for at, each in enumerate(events) if each["type"].endswith("text.delta"))
    pieces, finished = assemble(events[:last] + events[last + 1 :])
    assert "".join(each.text for each in pieces if isinstance(each, TextPiece)) == "Done “so”."
    assert finished.items == ITEMS


def test_only_the_end_is_enough() -> None:
    pieces, finished = assemble(events_of(WHOLE)[-1:])
    assert finished.items == ITEMS
    assert TextPiece("Done “so”.") in pieces


def test_interleaved_arguments_are_joined_by_index() -> None:
    def call(at: int) -> dict[str, Any]:
        item = {"type": "function_call", "id": f"fc_{at}", "call_id": f"c{at}", "name": "look"}
        return {"type": "response.output_item.added", "output_index": at, "item": item}

    def arguments(at: int, text: str) -> dict[str, Any]:
        kind = "response.function_call_arguments.delta"
        return {"type": kind, "output_index": at, "item_id": f"fc_{at}", "delta": text}

    parts = [arguments(0, '{"a"'), arguments(1, "{"), arguments(0, ": 1}"), arguments(1, "}")]
    _, finished = assemble([call(0), call(1), *parts, COMPLETED])
    assert [item.arguments for item in finished.items if isinstance(item, Call)] == [
        '{"a": 1}',
        "{}",
    ]


def test_encrypted_reasoning_is_taken_from_the_done_item() -> None:
    events = events_of(WHOLE)
    added = next(e for e in events if e["type"] == "response.output_item.added")
    added["item"]["encrypted_content"] = "half"
    first = assemble(events)[1].items[0]
    assert isinstance(first, Reasoning)
    assert first.encrypted == "sealed-for-tiny-7"


def test_reasoning_text_of_open_models_and_parts_of_a_summary() -> None:
    events = [
        {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "one"},
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        {"type": "response.reasoning_text.delta", "output_index": 0, "delta": "two"},
        COMPLETED,
    ]
    pieces, finished = assemble(events)
    assert pieces == [ReasoningPiece("one"), ReasoningPiece("\n\n"), ReasoningPiece("two")]
    assert finished.items == (Reasoning("one\n\ntwo", 1, 4),)


def test_unknown_events_and_items_are_passed_over() -> None:
    strange = {"type": "response.output_item.done", "output_index": 5, "item": {"type": "audio"}}
    events = [{"type": "response.audio.delta", "delta": "x"}, strange, *events_of(WHOLE)]
    assert assemble(events)[1].items == ITEMS


def test_incomplete_says_why() -> None:
    _, finished = assemble(events_of(Reply("half an ans", finish="length")))
    assert finished.reason == "length"
    filtered = {"incomplete_details": {"reason": "content_filter"}}
    _, finished = assemble([{"type": "response.incomplete", "response": filtered}])
    assert finished.reason == "filtered"


def test_a_stream_without_its_end_is_broken() -> None:
    with pytest.raises(StreamBroken, match="ended before"):
        assemble(events_of(WHOLE)[:-1])


@pytest.mark.parametrize(
    ("event", "kind", "words"),
    [
        (
            {"type": "response.failed", "response": {"error": {"code": "server_error"}}},
            StreamBroken,
            "server_error",
        ),
        (
            {"type": "response.failed", "response": {"error": {"code": "invalid_prompt"}}},
            EndpointRefused,
            "invalid_prompt",
        ),
        (
            {"type": "error", "code": "rate_limit_exceeded", "message": "slow down"},
            StreamBroken,
            "rate_limit_exceeded: slow down",
        ),
        (
            {"type": "error", "error": {"type": "x", "message": "nested"}},
            StreamBroken,
            "nested",
        ),
        ({"type": "response.failed", "response": None}, StreamBroken, "says not what"),
        ({"error": {"message": "bare"}}, StreamBroken, "bare"),
        (17, StreamBroken, "not JSON of its API"),
    ],
)
def test_failures_that_come_as_events(event: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        assemble([*events_of(WHOLE)[:5], event])
