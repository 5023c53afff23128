"""Tokens as the provider counts them, through both APIs, from the wire to the session."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from shiro_jupyter.core.events import TurnEnded, Usage, UsageReported
from shiro_jupyter.core.models.base import ModelClient
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Api, Profile
from shiro_jupyter.core.models.scripted import ScriptedCall
from tests.support.agents import Stage
from tests.support.steps import step
from tests.support.strict_endpoint import Reply, StrictEndpoint

APIS = get_args(Api)
LOOK = ScriptedCall("list_dir", {"path": "."})


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("told", "reasoning"), [(None, 0), (0, 0), (7, 7)])
def test_counts_are_those_of_the_endpoint(api: Api, told: int | None, reasoning: int) -> None:
    reply = Reply("Hi.", input_tokens=1234, output_tokens=56, reasoning_tokens=told)
    with StrictEndpoint([reply]) as server:
        finished = step(Endpoint(server.base_url), api).finished
    assert finished.usage == Usage(input=1234, cached=617, output=56, reasoning=reasoning)


@pytest.mark.parametrize("api", APIS)
def test_a_turn_is_the_sum_of_its_steps(tmp_path: Path, api: Api) -> None:
    replies = [
        Reply(calls=[LOOK], input_tokens=1000, output_tokens=20, reasoning_tokens=5),
        Reply("Done.", input_tokens=1500, output_tokens=8, reasoning_tokens=0),
    ]
    whole = Usage(input=2500, cached=1250, output=28, reasoning=5)
    stage = Stage(tmp_path / "project", [])
    with StrictEndpoint(replies) as server:

        async def client() -> ModelClient:
            return client_for(Endpoint(server.base_url), Profile("tiny", server.base_url, api))

        stage.agent.model = client
        ended: TurnEnded = asyncio.run(stage.agent.submit("go"))
    server.check()
    assert (ended.outcome, ended.usage, stage.session.usage) == ("answered", whole, whole)
    reported = [event.usage for event in stage.of(UsageReported)]
    assert reported == [replace(whole, input=1000, cached=500, output=20), Usage(1500, 750, 8, 0)]
    assert stage.session.spent[0].usage == whole
