"""A server that takes no tool calls is asked for them as text, once said."""

from __future__ import annotations

import asyncio
import json

import pytest

from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Calling, Profile
from shiro_jupyter.core.transcript import Call
from tests.support.steps import Outcome, asked, outcome_of
from tests.support.strict_endpoint import Reply, StrictEndpoint

CALL = Reply(f"```json\n{json.dumps({'name': 'look', 'arguments': {'path': 'a'}})}\n```")


def steps(server: StrictEndpoint, calling: Calling, told: list[str], count: int) -> list[Outcome]:
    async def run() -> list[Outcome]:
        profile = Profile(model="tiny", calling=calling)
        client = client_for(Endpoint(server.base_url), profile, told.append)
        try:
            return [await outcome_of(client, asked(step=n)) for n in range(1, count + 1)]
        finally:
            await client.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("calling", "status", "words"),
    [
        ("native", 400, "registry.ollama.ai/library/tiny:latest does not support tools"),
        ("native", 500, "tools param requires --jinja flag"),
        ("native", 400, '"auto" tool choice requires --enable-auto-tool-choice to be set'),
        ("native", 404, "No endpoints found that support tool use."),
        ("schema", 400, "response_format type 'json_schema' is not supported"),
    ],
)
def test_it_falls_back_and_says_so_once(calling: Calling, status: int, words: str) -> None:
    told: list[str] = []
    with StrictEndpoint([Reply(status=status, message=words), CALL, CALL]) as server:
        outcomes = steps(server, calling, told, 2)
        server.check()
    assert [outcome.error for outcome in outcomes] == [None, None]
    for outcome in outcomes:
        (call,) = outcome.finished.items
        assert isinstance(call, Call)
        assert (call.name, call.arguments) == ("look", '{"path": "a"}')
    (sentence,) = told
    assert sentence.startswith("tiny takes no tool calls as this server serves it")
    refused, *rest = server.bodies
    assert "tools" in refused or "response_format" in refused
    assert all(not {"tools", "response_format"} & body.keys() for body in rest)


def test_any_other_refusal_stays_one() -> None:
    told: list[str] = []
    with StrictEndpoint([Reply(status=400, message="the prompt is odd")]) as server:
        (outcome,) = steps(server, "native", told, 1)
        server.check()
    assert "the prompt is odd" in outcome.sentence
    assert not told
