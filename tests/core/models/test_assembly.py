"""Chat Completions streams, as servers really send them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from shiro_jupyter.core.errors import EndpointError, EndpointRefused, StreamBroken
from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.models.assembly import ChatAssembly
from shiro_jupyter.core.models.base import (
    CallPiece,
    Finished,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
)
from shiro_jupyter.core.transcript import Assistant, Call, Item, Reasoning, User
from tests.support.streams import IndexStyle, Reply, ScriptedCall, chat_stream

LOOK = ScriptedCall("look", {"path": "a"}, "id_a")
READ = ScriptedCall("read", {"path": "b", "lines": [1, 2]}, "id_b")


def request(items: tuple[Item, ...] = (User("hi", 3),)) -> Request:
    return Request("", (), items, turn=3, step=2)


def chunks_of(stream: bytes) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in stream.decode().split("\n\n") if line]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def assemble(chunks: list[Any], asked: Request | None = None) -> tuple[list[Piece], Finished]:
    assembly = ChatAssembly(asked or request())
    pieces = [piece for chunk in chunks for piece in assembly.feed(chunk)]
    return pieces, assembly.finished()


def delta(*calls: dict[str, Any], finish: str | None = None, **fields: Any) -> dict[str, Any]:
    values = {**fields, **({"tool_calls": list(calls)} if calls else {})}
    return {"choices": [{"index": 0, "delta": values, "finish_reason": finish}]}


def part(name: str = "", arguments: Any = "", **values: Any) -> dict[str, Any]:
    return {**values, "function": {**({"name": name} if name else {}), "arguments": arguments}}


def calls_of(chunks: list[Any]) -> list[tuple[str, str, str]]:
    pieces, finished = assemble([*chunks, delta(finish="tool_calls")])
    calls = [item for item in finished.items if isinstance(item, Call)]
    announced = [(piece.call_id, piece.name) for piece in pieces if isinstance(piece, CallPiece)]
    assert announced == [(call.call_id, call.name) for call in calls]
    return [(call.call_id, call.name, call.arguments) for call in calls]


@pytest.mark.parametrize("odd", ["a\0b\n" + "z" * 5000, "\ud800", "a b"])
def test_an_id_that_no_endpoint_takes_back_is_made_anew(odd: str) -> None:
    chunks = [
        delta(part("look", "{}", id=odd, index=0)),
        delta(part("look", "{}", id="b", index=1)),
    ]
    assert [call_id for call_id, _, _ in calls_of(chunks)] == ["call_3_2_1", "b"]


def test_long_arguments_cost_no_more_a_piece_than_short_ones() -> None:
    """Where the name comes with each, every piece may begin a call of its own."""
    said = ['{"rows": [', *(f'"row {at} of \\"many\\" }}", ' for at in range(40_000)), "0]}"]
    begun = time.process_time()
    (call,) = calls_of([delta(part("look", each, index=0)) for each in said])
    assert call[2] == "".join(said)
    assert time.process_time() - begun < 4


@pytest.mark.parametrize("size", range(1, 9))
def test_brackets_and_quotes_within_arguments_end_no_call(size: int) -> None:
    said = json.dumps({"a": '}]\\"{', "b": [{"c": "\\"}]})
    parts = [said[at : at + size] for at in range(0, len(said), size)]
    calls = calls_of([delta(part("look", each, index=0)) for each in [*parts, *parts]])
    assert [arguments for _, _, arguments in calls] == [said, said]


def test_text_reasoning_calls_and_usage_in_the_order_given() -> None:
    reply = Reply("Größe “x”", reasoning="hm, so", calls=[LOOK, READ])
    pieces, finished = assemble(chunks_of(b"".join(chat_stream(reply, "tiny"))))
    assert "".join(each.text for each in pieces if isinstance(each, TextPiece)) == "Größe “x”"
    assert "".join(each.text for each in pieces if isinstance(each, ReasoningPiece)) == "hm, so"
    assert finished == Finished(
        (
            Reasoning("hm, so", 3, 2),
            Assistant("Größe “x”", 3, 2),
            Call("id_a", "look", LOOK.text, 3, 2),
            Call("id_b", "read", READ.text, 3, 2),
        ),
        Usage(100, 50, 10, 0),
        "calls",
    )


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_read_under_both_names_once(name: str) -> None:
    other = {"reasoning": "reasoning_content", "reasoning_content": "reasoning"}[name]
    pieces, _ = assemble([delta(**{name: "a"}), delta(**{name: "b", other: "b"}, finish="stop")])
    assert pieces == [ReasoningPiece("a"), ReasoningPiece("b")]


@pytest.mark.parametrize("index", ["plain", "missing", "constant", "from_one"])
@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("repeat_names", [True, False])
@pytest.mark.parametrize("chunk", [3, 1000])
def test_calls_are_kept_apart_in_every_style(
    index: IndexStyle, ids: bool, repeat_names: bool, chunk: int
) -> None:
    reply = Reply(
        calls=[LOOK, READ, ScriptedCall("read", {"path": "c"}, "id_c")],
        index=index,
        ids=ids,
        repeat_names=repeat_names,
        chunk=chunk,
    )
    found = calls_of(chunks_of(b"".join(chat_stream(reply, "tiny")))[:-2])
    assert [(name, arguments) for _, name, arguments in found] == [
        (call.name, call.text) for call in reply.calls
    ]
    wanted = ["id_a", "id_b", "id_c"] if ids else ["call_3_2_1", "call_3_2_2", "call_3_2_3"]
    assert [call_id for call_id, _, _ in found] == wanted


def test_the_first_delta_may_carry_all_arguments() -> None:
    assert calls_of([delta(part("look", '{"a": 1}', index=0, id="x"))]) == [
        ("x", "look", '{"a": 1}')
    ]


def test_interleaved_arguments_go_by_index() -> None:
    begun = delta(part("look", "", index=0, id="x"), part("read", "", index=1, id="y"))
    rest = [
        delta(part(arguments=text, index=at))
        for at, text in [(0, '{"a"'), (1, '{"b"'), (0, ": 1}"), (1, ": 2}")]
    ]
    assert calls_of([begun, *rest]) == [("x", "look", '{"a": 1}'), ("y", "read", '{"b": 2}')]


def test_an_index_may_come_late() -> None:
    begun = delta(part("look", "", id="x"), part("read", "", id="y"))
    rest = [delta(part(arguments='{"a": 1}', index=0)), delta(part(arguments="{}", index=1))]
    assert calls_of([begun, *rest]) == [("x", "look", '{"a": 1}'), ("y", "read", "{}")]


def test_an_id_may_come_late_and_every_delta_may_repeat_it() -> None:
    late = [delta(part("look", '{"a"', index=0)), delta(part(arguments=": 1}", index=0, id="x"))]
    assert calls_of(late) == [("call_3_2_1", "look", '{"a": 1}')]
    repeated = [delta(part("look", text, index=0, id="x")) for text in ['{"a"', ": 1}", ""]]
    assert calls_of(repeated) == [("x", "look", '{"a": 1}')]


def test_an_index_may_come_late_beside_a_name_that_comes_again() -> None:
    late = [delta(part("look", '{"a"')), delta(part("look", ": 1}", index=0))]
    assert calls_of([*late, delta(part("look", "{}", index=1))]) == [
        ("call_3_2_1", "look", '{"a": 1}'),
        ("call_3_2_2", "look", "{}"),
    ]


@pytest.mark.parametrize("where", [{"index": 0, "id": "x"}, {"index": 0}, {"id": "x"}, {}])
def test_a_call_whose_event_comes_twice_is_called_once(where: dict[str, Any]) -> None:
    whole = delta(part("look", '{"a": 1}', **where))
    assert [call[1:] for call in calls_of([whole, whole])] == [("look", '{"a": 1}')]


@pytest.mark.parametrize("name", ["", "look"])
def test_the_end_of_arguments_that_comes_twice_begins_no_call(name: str) -> None:
    end = delta(part(name, ": 1}", index=0))
    chunks = [delta(part("look", '{"a"', index=0)), end, end]
    assert calls_of(chunks) == [("call_3_2_1", "look", '{"a": 1}')]


def test_two_calls_of_one_tool_under_a_constant_index_stay_two() -> None:
    first, second = (
        delta(part("look", "", index=0), part(arguments=f'{{"a": {n}}}', index=0)) for n in (1, 2)
    )
    assert [call[2] for call in calls_of([first, second])] == ['{"a": 1}', '{"a": 2}']


def test_ids_that_the_transcript_has_already_are_made_anew() -> None:
    begun = delta(part("look", "{}", index=0, id="call_0"))
    asked = request((User("hi"), Call("call_0", "look", "{}")))
    _, finished = assemble([begun, delta(finish="tool_calls")], asked)
    assert finished.items == (Call("call_3_2_1", "look", "{}", 3, 2),)


def test_one_id_for_two_calls_is_told_apart_by_index() -> None:
    begun = delta(part("look", "{}", index=0, id="x"), part("look", "{}", index=1, id="x"))
    assert calls_of([begun]) == [("x", "look", "{}"), ("call_3_2_1", "look", "{}")]


def test_arguments_may_come_as_an_object_or_not_at_all() -> None:
    chunks = [delta(part("look", {"a": "ä"}, index=0)), delta(part("read", None, index=1))]
    assert calls_of(chunks) == [
        ("call_3_2_1", "look", '{"a": "ä"}'),
        ("call_3_2_2", "read", ""),
    ]


def test_cut_arguments_are_kept_as_a_string_that_no_tool_takes() -> None:
    cut = [delta(part("look", '{"a": "b', index=0, id="x")), delta(finish="length")]
    _, finished = assemble(cut)
    assert finished.items == (Call("x", "look", r'"{\"a\": \"b"', 3, 2),)
    assert finished.reason == "length"


@pytest.mark.parametrize(
    ("given", "reason"),
    [("stop", "stop"), ("length", "length"), ("content_filter", "filtered"), ("eos", "stop")],
)
def test_reasons_to_end(given: str, reason: str) -> None:
    assert assemble([delta(content="a"), delta(finish=given)])[1].reason == reason


def test_a_call_ends_a_step_whatever_the_reason_says() -> None:
    assert assemble([delta(part("look", index=0)), delta(finish="stop")])[1].reason == "calls"


def test_a_refusal_is_text() -> None:
    pieces, _ = assemble([delta(refusal="I will not."), delta(finish="stop")])
    assert pieces == [TextPiece("I will not.")]


def test_a_stream_without_a_finish_is_broken() -> None:
    with pytest.raises(StreamBroken, match="ended before"):
        assemble([delta(content="half")])


@pytest.mark.parametrize("chunk", [None, 5, "x", [], [{}]])
def test_a_chunk_that_is_no_object_is_corrupt(chunk: object) -> None:
    with pytest.raises(StreamBroken, match="not JSON of its API"):
        assemble([chunk])


@pytest.mark.parametrize(
    "chunk",
    [
        {},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"tool_calls": [None, {"function": None}, {}]}}]},
        {"choices": [], "usage": {"prompt_tokens": None, "completion_tokens": "many"}},
        {"choices": [], "usage": {"prompt_tokens_details": None, "completion_tokens": -3}},
    ],
)
def test_odd_chunks_are_passed_over(chunk: dict[str, Any]) -> None:
    pieces, finished = assemble([chunk, delta(content="a", finish="stop")])
    assert pieces == [TextPiece("a")]
    assert finished.usage == Usage()


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ({"message": "overloaded", "code": "server_error"}, StreamBroken, "server_error: overl"),
        ({"message": "bad prompt", "type": "invalid_prompt"}, EndpointRefused, "bad prompt"),
        ({"message": "x", "code": "context_length_exceeded"}, EndpointRefused, "too long"),
        ({"type": "exceed_context_size_error", "message": "y"}, EndpointRefused, "too long"),
        ("plain words", StreamBroken, "plain words"),
        ({"code": 502}, StreamBroken, "says not what"),
    ],
)
def test_an_error_inside_the_stream(error: Any, kind: type[EndpointError], words: str) -> None:
    with pytest.raises(kind, match=words):
        assemble([delta(content="a"), {"error": error}])
    with pytest.raises(kind, match=words):
        assemble([{"choices": [{"delta": {}, "finish_reason": "error", "error": error}]}])


def test_a_call_without_a_name_is_broken() -> None:
    with pytest.raises(StreamBroken, match="without a name"):
        assemble([delta(part(arguments="{}", index=0, id="x")), delta(finish="tool_calls")])
