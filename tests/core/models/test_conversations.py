"""Whole conversations over both APIs with an endpoint that refuses a broken history."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from shiro_jupyter.core.models.chat import ChatClient
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Api, Profile
from shiro_jupyter.core.models.responses import ResponsesClient
from shiro_jupyter.core.transcript import Call, Item, Note, Reasoning, Result, User
from tests.support.steps import Outcome, asked, outcome_of, step
from tests.support.strict_endpoint import Reply, ScriptedCall, StrictEndpoint

both = pytest.mark.parametrize("api", ["chat", "responses"])
LOOKS = (ScriptedCall("look", {"path": "a"}), ScriptedCall("look", {"path": "b"}))


def converse(endpoint: Endpoint, api: Api, prompts: int, model: str = "tiny") -> list[Item]:
    """Ask, answer every call, until the model calls nothing more; so many prompts long."""

    async def run() -> list[Item]:
        client = client_for(endpoint, Profile(model=model, api=api))
        items: list[Item] = []
        try:
            for turn in range(1, prompts + 1):
                items.append(User(f"question {turn}", turn))
                for number in range(1, 9):
                    request = replace(asked(*items, tail="TODAY", step=number), turn=turn)
                    outcome = await outcome_of(client, request)
                    assert outcome.error is None, outcome.sentence
                    items += outcome.finished.items
                    calls = [item for item in outcome.finished.items if isinstance(item, Call)]
                    if not calls:
                        break
                    items += [Result(c.call_id, "ok", "seen", turn, number) for c in calls]
        finally:
            await client.close()
        return items

    return asyncio.run(run())


REPLIES = [
    Reply("I look.", reasoning="two files", calls=LOOKS, phase="commentary"),
    Reply(reasoning="one more", calls=LOOKS[:1]),
    Reply("Done.", reasoning="enough", phase="final_answer"),
    Reply("Yes.", reasoning="sure"),
]


@both
def test_a_conversation_is_accepted_step_by_step_and_only_grows(api: Api) -> None:
    with StrictEndpoint(REPLIES) as server:
        items = converse(Endpoint(server.base_url), api, prompts=2)
        server.check()
    assert sum(isinstance(item, Call) for item in items) == 3
    name = "messages" if api == "chat" else "input"
    sent = [without_tail(body[name]) for body in server.bodies]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before
    stable = {"model", "tools", "instructions", "store", "include", "stream", "stream_options"}
    assert len({str({k: v for k, v in each.items() if k in stable}) for each in server.bodies}) == 1


def without_tail(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    *before, last = messages
    key = "content" if "content" in last else "output"
    bare = last[key].removesuffix("TODAY").rstrip()
    return [*before, {**last, key: bare}] if bare else before


def test_reasoning_and_ids_go_back_where_they_came_from() -> None:
    with StrictEndpoint(REPLIES) as server:
        converse(Endpoint(server.base_url), "responses", prompts=2)
    last = server.bodies[-1]["input"]
    assert [item["id"] for item in last if "id" in item] == [
        "rs_1", "msg_1", "fc_10", "fc_11", "rs_2", "fc_20", "rs_3", "msg_3",
    ]  # fmt: skip
    assert [item.get("phase") for item in last if item.get("type") == "message"] == [
        "commentary",
        "final_answer",
    ]
    assert server.bodies[0]["store"] is False
    assert server.bodies[0]["include"] == ["reasoning.encrypted_content"]


def test_another_model_is_not_sent_what_was_sealed_for_the_first() -> None:
    with StrictEndpoint(REPLIES, models=("tiny", "other")) as server:
        items = converse(Endpoint(server.base_url), "responses", prompts=1)
        request = asked(*items, User("and you?", 2))
        assert step(Endpoint(server.base_url), "responses", request, "other").text == "Yes."
        server.check()
    sent = server.bodies[-1]["input"]
    assert not [item for item in sent if item.get("type") == "reasoning" or "id" in item]
    assert sum(item.get("type") == "function_call" for item in sent) == 3


@pytest.mark.parametrize(
    ("sealed_for", "issued", "call", "words"),
    [
        ("another", {}, "fc_9", "could not be verified"),
        ("tiny", {"fc_9": "rs_8"}, "fc_9", "without its required following item"),
        ("tiny", {"rs_9": "rs_8"}, "fc_9", "without its required 'reasoning' item"),
        ("tiny", {}, "msg_9", "Expected an ID that begins with 'fc'"),
    ],
)
def test_reasoning_that_is_refused_is_dropped_once(
    sealed_for: str, issued: dict[str, str], call: str, words: str
) -> None:
    endpoint_items: list[Item] = [
        User("hi", 1),
        Reasoning("hm", 1, 1, "rs_9", f"sealed-for-{sealed_for}-1", "?"),
        Call("c", "look", "{}", 1, 1, call),
        Result("c", "ok", "seen", 1, 1),
    ]
    with StrictEndpoint([Reply("Fine.")]) as server:
        endpoint = Endpoint(server.base_url)
        own = replace(endpoint_items[1], origin=endpoint.origin("tiny"))  # type: ignore[call-arg]
        server.issued.update(issued)
        request = asked(endpoint_items[0], own, *endpoint_items[2:], step=2)
        assert step(endpoint, "responses", request).text == "Fine."
    refused, accepted = server.requests
    assert refused.refused is not None
    assert words in refused.refused
    assert "sealed" not in str(accepted.body)
    assert "id" not in accepted.body["input"][1]


def test_a_model_without_sealed_reasoning_is_asked_without_it_from_then_on() -> None:
    words = "Encrypted content is not supported with this model."
    replies = [Reply(status=400, message=words), Reply("One."), Reply("Two.")]

    async def run() -> list[str]:
        client = client_for(Endpoint(server.base_url), Profile(model="tiny", api="responses"))
        try:
            return [(await outcome_of(client, asked())).text for _ in range(2)]
        finally:
            await client.close()

    with StrictEndpoint(replies) as server:
        assert asyncio.run(run()) == ["One.", "Two."]
    assert ["include" in body for body in server.bodies] == [True, False, False]


def test_an_account_without_summaries_is_asked_without_them_from_then_on() -> None:
    words = "Your organization must be verified to generate reasoning summaries."
    profile = Profile(model="tiny", api="responses", efforts=("low", "high"), think="high")
    with StrictEndpoint([Reply(status=400, message=words), Reply("One.")]) as server:
        assert step_as(profile, Endpoint(server.base_url)).text == "One."
    assert [body["reasoning"] for body in server.bodies] == [
        {"effort": "high", "summary": "auto"},
        {"effort": "high"},
    ]


def step_as(profile: Profile, endpoint: Endpoint) -> Outcome:
    async def run() -> Outcome:
        client = client_for(endpoint, profile)
        try:
            return await outcome_of(client, asked())
        finally:
            await client.close()

    return asyncio.run(run())


@both
def test_what_the_profile_says_goes_out(api: Api) -> None:
    asks = Profile(
        model="tiny",
        api=api,
        temperature=0.0,
        think="low",
        efforts=("low",),
        role="developer",
        tools=("other",),
    )
    silent = replace(asks, temperature=None, think="", efforts=(), tools=(), role="system")
    off = replace(asks, think="off")
    with StrictEndpoint([Reply("a"), Reply("b"), Reply("c")]) as server:
        for profile in (asks, silent, off):
            assert step_as(profile, Endpoint(server.base_url)).text
        server.check()
    full, bare, none = server.bodies
    assert full["temperature"] == 0.0
    assert "tools" not in full
    assert len(bare["tools"]) == 1
    assert not {"temperature", "reasoning", "reasoning_effort"} & set(bare)
    if api == "chat":
        assert (full["reasoning_effort"], none["reasoning_effort"]) == ("low", "none")
        assert [body["messages"][0]["role"] for body in (full, bare)] == ["developer", "system"]
    else:
        assert full["reasoning"] == {"effort": "low", "summary": "auto"}
        assert none["reasoning"]["effort"] == "none"


@both
def test_a_refusal_for_another_reason_is_not_asked_twice(api: Api) -> None:
    with StrictEndpoint([Reply(status=400, message="No."), Reply("Yes.")]) as server:
        assert "(400: No)" in step(Endpoint(server.base_url), api).sentence
        assert len(server.leftover) == 1


@both
def test_every_ending_leaves_a_transcript_that_can_be_sent(api: Api) -> None:
    """An interrupt at each point of a turn with two calls, then the next prompt."""
    whole: list[Item] = [
        User("hi", 1),
        Reasoning("hm", 1, 1),
        Call("a", "look", '{"path": "x', 1, 1),
        Call("b", "look", "{}", 1, 1),
        Result("a", "invalid_arguments", "cut", 1, 1),
        Result("b", "interrupted", "", 1, 1),
    ]
    with StrictEndpoint(lambda body: Reply("go on")) as server:
        for length in range(1, len(whole) + 1):
            items = [*whole[:length], Note("The person interrupted the turn.", 1), User("so?", 2)]
            outcome: Outcome = step(Endpoint(server.base_url), api, asked(*items, tail="TODAY"))
            assert outcome.text == "go on", outcome.sentence
        server.check()


def test_clients_are_chosen_by_api() -> None:
    endpoint = Endpoint("http://127.0.0.1:1/v1")
    assert isinstance(client_for(endpoint, Profile(model="m")), ChatClient)
    assert isinstance(client_for(endpoint, Profile(model="m", api="responses")), ResponsesClient)
