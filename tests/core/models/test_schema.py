"""A step as one JSON object: what is asked, and what is made of the reply."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.models.base import CallPiece, Piece, Request, TextPiece, ToolSpec
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import SMALL_TOOLS, Profile
from shiro_jupyter.core.models.schema import (
    FACTS_LIMIT,
    GUIDES,
    MOST_CALLS,
    SchemaAssembly,
    SchemaCalling,
    StepReader,
)
from shiro_jupyter.core.transcript import Assistant, Call, Item, Outcome, Result, User
from tests.support.steps import outcome_of
from tests.support.strict_endpoint import Reply, StrictEndpoint

SYSTEM = "You are an agent.\n\nProject folder: /p\n\n<memory>\nMEMORIES\n</memory>"
SMALL = Profile("tiny", calling="schema", tools=SMALL_TOOLS)


def spec(tool: str, /, **properties: Any) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(tool, f"About {tool}. More.", schema)


STRING = {"type": "string"}
TOOLS = (
    spec("read_file", path=STRING),
    spec("list_dir"),
    spec("bash", command=STRING),
    spec("list_variables"),
    spec("inspect_variable", name=STRING),
    spec("run_python", code=STRING),
)


def asked(*items: Item, step: int = 1) -> Request:
    return Request(SYSTEM, TOOLS, items or (User("How many rows?", 1),), "TODAY", 1, step)


def looked(*looks: tuple[str, dict[str, str], Outcome]) -> Request:
    items: list[Item] = [User("How many rows?", 1)]
    for number, (name, arguments, outcome) in enumerate(looks, start=1):
        call_id = f"c{number}"
        items.append(Call(call_id, name, json.dumps(arguments), 1, number))
        items.append(Result(call_id, outcome, f"RESULT {number}", 1, number))
    return asked(*items, step=len(looks) + 1)


def offered(request: Request, profile: Profile = SMALL) -> list[str]:
    """The tools that the grammar of this step permits; empty where it permits the answer."""
    schema = SchemaCalling().payload(request, profile)["response_format"]["json_schema"]["schema"]
    if "anyOf" not in schema:
        assert schema["required"] == ["answer"]
        return []
    return [each["properties"]["tool"]["const"] for each in schema["anyOf"]]


def test_without_tools_a_question_is_plain_and_its_answer_bounded() -> None:
    request = Request("", (), (User("Merge these lines.", 1),), turn=1)
    payload = SchemaCalling().payload(request, SMALL)
    assert payload["messages"] == [{"role": "user", "content": "Merge these lines."}]
    assert payload["max_tokens"] and "response_format" not in payload


def test_a_turn_begins_with_a_look_among_the_profiles_tools() -> None:
    assert offered(asked()) == [tool.name for tool in TOOLS if tool.name != "bash"]
    system, user = SchemaCalling().payload(asked(), SMALL)["messages"]
    assert user["content"] == "Facts:\nTODAY\n\nQuestion: How many rows?"  # what there is by name
    assert "bash" not in system["content"]
    assert "MEMORIES" not in system["content"]


def test_after_a_listing_comes_a_closer_look_and_then_the_answer() -> None:
    listing = ("list_variables", {}, "ok")
    assert offered(looked(listing)) == ["inspect_variable", "run_python"]
    assert offered(looked(listing, ("inspect_variable", {"name": "df"}, "ok"))) == []


def test_a_failed_look_leads_to_another_one_but_not_without_end() -> None:
    failed = ("inspect_variable", {"name": "df"}, "failed")
    assert "inspect_variable" not in offered(looked(failed))
    assert offered(looked(("list_variables", {}, "ok"), failed)) == [
        "read_file",
        "list_dir",
        "run_python",
    ]
    assert offered(looked(*[failed] * MOST_CALLS)) == []


@pytest.mark.parametrize("outcome", ["refused", "interrupted", "skipped"])
def test_the_persons_no_ends_the_looking(outcome: Outcome) -> None:
    assert offered(looked(("run_python", {"code": "1"}, outcome))) == []


def test_the_answer_is_asked_from_facts_alone() -> None:
    request = looked(("inspect_variable", {"name": "df"}, "failed"), ("list_dir", {}, "ok"))
    earlier = (User("Before?", 0), Assistant("BEFORE", 0, 1))
    payload = SchemaCalling().payload(replace(request, items=(*earlier, *request.items)), SMALL)
    _, user = payload["messages"]
    facts, question = user["content"].split("Question: ")
    assert question == "How many rows?"
    for part in ("/p", "MEMORIES", "inspect_variable(df):\n[failed] RESULT 1", "RESULT 2"):
        assert part in facts
    # What was looked at is what counts: the surroundings say less and distract.
    assert "TODAY" not in user["content"]
    assert "BEFORE" not in user["content"]
    assert "You are an agent" not in user["content"]


def test_lines_that_share_a_word_with_the_question_stand_next_to_it() -> None:
    files = "\n".join(f"{name}  1 kB" for name in ("a.csv", "b.py", "c.csv", "d.py", "e.md", "f"))
    request = looked(("list_dir", {}, "ok"))
    listing = replace(request.items[-1], text=files)
    question = User("Which CSV files are there?", 1)
    request = replace(request, items=(question, request.items[1], listing))
    content = SchemaCalling().payload(request, SMALL)["messages"][1]["content"]
    assert content.endswith(
        "Of these, on the question:\na.csv  1 kB\nc.csv  1 kB\n\n"
        "Question: Which CSV files are there?"
    )
    assert content.count("e.md") == 1


def test_a_blank_prompt_out_of_a_damaged_file_is_no_question() -> None:
    request = replace(asked(), items=(User("How many?", 1), User("Rows!", 1), User(" ", 2)))
    content = SchemaCalling().payload(request, SMALL)["messages"][1]["content"]
    assert content.endswith("Question: How many?\n\nRows!")


def test_facts_are_bounded() -> None:
    request = looked(("read_file", {"path": "a"}, "ok"))
    long = replace(request.items[-1], text="line\n" * 10_000)
    payload = SchemaCalling().payload(replace(request, items=(*request.items[:-1], long)), SMALL)
    content = payload["messages"][1]["content"]
    assert len(content) < FACTS_LIMIT + 500
    assert "[… the rest is left out]" in content


def test_a_tool_offers_the_parameters_of_its_example_alone() -> None:
    tools = (spec("list_variables", match=STRING), spec("read_file", path=STRING, offset=STRING))
    request = replace(asked(), tools=tools)
    schema = SchemaCalling().payload(request, SMALL)["response_format"]["json_schema"]["schema"]
    arguments = [each["properties"]["arguments"]["properties"] for each in schema["anyOf"]]
    assert [list(each) for each in arguments] == [[], ["path"]]
    assert arguments[1]["path"]["maxLength"] > 0


def test_guides_are_for_the_tools_of_small_models() -> None:
    assert GUIDES.keys() == set(SMALL_TOOLS)
    assert all(set(guide.then) <= GUIDES.keys() for guide in GUIDES.values())


def feed(text: str, size: int = 1, finish: str = "stop") -> tuple[list[Piece], tuple[Item, ...]]:
    assembly = SchemaAssembly(asked())
    pieces: list[Piece] = []
    for at in range(0, len(text), size):
        delta = {"content": text[at : at + size]}
        pieces += assembly.feed({"choices": [{"delta": delta, "finish_reason": None}]})
    pieces += assembly.feed({"choices": [{"delta": {}, "finish_reason": finish}]})
    return pieces, assembly.finished().items


def shown(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))


@given(st.text(min_size=1, max_size=40), st.integers(1, 9), st.booleans())
def test_an_answer_streams_decoded_wherever_it_is_cut(text: str, size: int, plain: bool) -> None:
    pieces, items = feed(json.dumps({"answer": text}, ensure_ascii=plain), size)
    assert shown(pieces) == text
    assert items == ((Assistant(text, 1, 1),) if text.strip() else ())


def test_an_answer_is_shown_while_it_comes() -> None:
    reader = StepReader()
    assert [reader.feed(part) for part in ('{"answ', 'er": "two', " row", 's"', "}")] == [
        "",
        "two",
        " row",
        "s",
        "",
    ]


def test_a_lone_half_of_a_character_is_replaced() -> None:
    pieces, _ = feed('{"answer": "a\\ud83db"}')
    assert shown(pieces) == "a�b"


@pytest.mark.parametrize("size", [1, 1000])
def test_a_tool_is_a_call_named_before_its_arguments_are_whole(size: int) -> None:
    step = {"tool": "inspect_variable", "arguments": {"name": 'df["ä"]'}}
    pieces, (call,) = feed(json.dumps(step, indent=1), size)
    (piece,) = pieces
    assert isinstance(piece, CallPiece)
    assert isinstance(call, Call)
    assert (piece.call_id, piece.name) == (call.call_id, call.name) == (call.call_id, step["tool"])
    assert json.loads(call.arguments) == step["arguments"]


def test_a_call_that_was_cut_keeps_what_came() -> None:
    _, (call,) = feed('{"tool": "run_python", "arguments": {"code": "x = ', finish="length")
    assert isinstance(call, Call)
    assert json.loads(call.arguments) == '{"code": "x = '


@pytest.mark.parametrize("text", ["There are 3 rows.", '{"rows": 3}', '```json\n{"a": 1}\n```'])
def test_a_server_that_holds_no_schema_is_heard_all_the_same(text: str) -> None:
    pieces, items = feed(text)
    assert shown(pieces) == text
    assert items == (Assistant(text, 1, 1),)


def test_steps_go_through_the_client_to_the_endpoint() -> None:
    step = json.dumps({"tool": "inspect_variable", "arguments": {"name": "df"}})
    replies = [Reply(step), Reply(json.dumps({"answer": "3 rows."}))]

    async def run(server: StrictEndpoint) -> tuple[Item, ...]:
        client = client_for(Endpoint(server.base_url), SMALL)
        items: tuple[Item, ...] = (User("How many rows?", 1),)
        try:
            for number in (1, 2):
                outcome = await outcome_of(client, asked(*items, step=number))
                assert outcome.error is None, outcome.sentence
                items += outcome.finished.items
                if isinstance(call := items[-1], Call):
                    items += (Result(call.call_id, "ok", "df: 3 rows", 1, number),)
        finally:
            await client.close()
        return items

    with StrictEndpoint(replies) as server:
        items = asyncio.run(run(server))
        server.check()
    assert items[-1] == Assistant("3 rows.", 1, 2)
    first, second = server.bodies
    assert "tools" not in first
    assert first["temperature"] == 0
    assert "df: 3 rows" in second["messages"][1]["content"]
