"""Calls that come as text."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.models.base import (
    CallPiece,
    Finished,
    Piece,
    Request,
    TextPiece,
    ToolSpec,
)
from shiro_jupyter.core.models.fenced import FencedCalling, Held, RescuingAssembly, lone_call
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.transcript import Assistant, Call, Item, Result, User

SPEC = ToolSpec("look", "Look at a file.\n\nLong.", {"type": "object", "properties": {}})
CALL = {"name": "look", "arguments": {"path": "a b.csv"}}


def asked(*items: Item) -> Request:
    return Request("SYSTEM", (SPEC,), items or (User("what?", 1),), turn=1, step=1)


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def heard(*parts: str, deltas: tuple[dict[str, Any], ...] = ()) -> tuple[list[Piece], Finished]:
    assembly = RescuingAssembly(asked())
    pieces: list[Piece] = []
    for part in parts:
        pieces += assembly.feed(chunk({"content": part}))
    for delta in deltas:
        pieces += assembly.feed(chunk(delta))
    pieces += assembly.feed(chunk({}, "stop"))
    return pieces, assembly.finished()


def shown(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{json.dumps(CALL)}\n```",
        f"\n```json\n{json.dumps(CALL, indent=2)}\n```\n",
        f"```\n{json.dumps(CALL)}\n```",
        f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>",
        json.dumps(CALL),
        json.dumps({"name": "look", "parameters": {"path": "a b.csv"}}),
        json.dumps({"type": "function", "name": "look", "arguments": '{"path": "a b.csv"}'}),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_lone_fenced_call_is_a_call_and_never_shown(text: str, size: int) -> None:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    pieces, finished = heard(*parts)
    (piece,) = pieces
    assert isinstance(piece, CallPiece)
    (call,) = finished.items
    assert call == Call(piece.call_id, "look", '{"path": "a b.csv"}', 1, 1)
    assert finished.reason == "calls"


@pytest.mark.parametrize(
    "text",
    [
        'Use this:\n```json\n{"name": "look", "arguments": {}}\n```',
        '```json\n{"name": "look", "arguments": {}}\n```\nThat is how.',
        '```json\n{"name": "unknown", "arguments": {}}\n```',
        '```json\n{"name": "look", "arguments": [1]}\n```',
        '```json\n{"name": "look", "age": 3}\n```',
        '```json\n{"name": "look", "arguments": {}',
        "```python\nprint(1)\n```",
        "```json\n[1, 2]\n```",
        "{1, 2} is a set",
        "",
        "``",
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_any_other_text_is_shown_whole(text: str, size: int) -> None:
    pieces, finished = heard(*[text[at : at + size] for at in range(0, len(text), size)])
    assert shown(pieces) == text
    assert not any(isinstance(piece, CallPiece) for piece in pieces)
    assert finished.items == ((Assistant(text, 1, 1),) if text else ())


def test_text_is_not_held_back_once_it_cannot_be_a_call() -> None:
    assembly = RescuingAssembly(asked())
    assert assembly.feed(chunk({"content": "```"})) == []
    assert shown(assembly.feed(chunk({"content": "python\n"}))) == "```python\n"
    assert shown(assembly.feed(chunk({"content": "x"}))) == "x"


def test_a_native_call_beside_held_text_stays_the_call() -> None:
    native = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": "{}"}}
    pieces, finished = heard(json.dumps(CALL), deltas=({"tool_calls": [native]},))
    assert shown(pieces) == json.dumps(CALL)
    assert [type(item) for item in finished.items] == [Assistant, Call]


@given(st.text(max_size=60), st.integers(1, 7))
def test_no_character_is_lost_or_doubled(text: str, size: int) -> None:
    pieces, _ = heard(*[text[at : at + size] for at in range(0, len(text), size)])
    assert shown(pieces) == text


_TOKENS = st.sampled_from(
    ["`", "```", "json", "tool_call", "<tool_call>", "\n", " ", "{", "}", "x"]
)


@given(st.lists(_TOKENS, max_size=16), st.integers(1, 7))
def test_text_is_held_alike_however_it_is_cut(tokens: list[str], size: int) -> None:
    text, held = "".join(tokens), Held()
    for at in range(0, len(text), size):
        may_be_call = held.add(text[at : at + size])
        assert may_be_call is Held().add(text[: at + size])
        if not may_be_call:
            break


def test_a_long_answer_in_json_costs_no_more_a_piece_than_a_short_one() -> None:
    pieces = ['{"rows": [', *(f'{{"row": {at}, "value": "abcdefghij"}},\n' for at in range(60_000))]
    begun = time.process_time()
    assert shown(heard(*pieces)[0]) == "".join(pieces)
    assert time.process_time() - begun < 4


def test_arguments_stay_as_they_were_written() -> None:
    said = '{"name": "look", "arguments": "{\\"n\\": 1.0}"}'
    assert lone_call(said, {"look"}) == ("look", '{"n": 1.0}')
    assert lone_call(said, {"other"}) is None


def test_the_fenced_form_tells_tools_in_words_and_history_as_text() -> None:
    items = (
        User("what?", 1),
        Call("c1", "look", '{"path": "a"}', 1, 1),
        Result("c1", "failed", "no such file", 1, 1),
    )
    payload = FencedCalling().payload(asked(*items), Profile("m"))
    assert payload.keys() == {"messages"}
    system, question, call, result = payload["messages"]
    assert system["content"].startswith("SYSTEM\n\n")
    assert "- look: Look at a file. Long. {" in system["content"]
    assert (question["role"], call["role"], result["role"]) == ("user", "assistant", "user")
    assert lone_call(call["content"], {"look"}) == ("look", '{"path": "a"}')
    assert result["content"] == "Result:\n[failed] no such file"


def test_a_narrow_profile_offers_its_own_tools_alone() -> None:
    payload = FencedCalling().payload(asked(), Profile("m", tools=("other",)))
    assert payload["messages"][0] == {"role": "system", "content": "SYSTEM"}
