"""The scripted model plays its script, and fails loudly beside it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import EndpointRefused, SettingsError, StreamBroken
from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.models.base import (
    CallPiece,
    Finished,
    ReasoningPiece,
    Request,
    TextPiece,
)
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.models.scripted import ScriptedCall, ScriptedModel, Step
from shiro_jupyter.core.transcript import Assistant, Call, Reasoning, User
from tests.support.steps import Outcome, asked, outcome_of


def play(model: ScriptedModel, *requests: Request) -> list[Outcome]:
    async def run() -> list[Outcome]:
        return [await outcome_of(model, request) for request in requests]

    return asyncio.run(run())


def test_a_step_is_played_in_chunks_and_whole_at_its_end() -> None:
    call = ScriptedCall("look", {"path": "ä"})
    step = Step("hello", "hm", [call], chunk=3, usage=Usage(5, 0, 2, 0))
    model = ScriptedModel([step])
    (outcome,) = play(model, asked())
    assert outcome.pieces == [
        ReasoningPiece("hm"),
        TextPiece("hel"),
        TextPiece("lo"),
        CallPiece("call_1_1_1", "look"),
        Finished(
            (
                Reasoning("hm", 1, 1),
                Assistant("hello", 1, 1),
                Call("call_1_1_1", "look", '{"path": "ä"}', 1, 1),
            ),
            Usage(5, 0, 2, 0),
            "calls",
        ),
    ]
    assert model.requests == [asked()]
    model.check()


def test_chunks_come_at_the_pace_of_the_step() -> None:
    started = time.monotonic()
    (outcome,) = play(ScriptedModel([Step("hello", chunk=1, pace=0.01)]), asked())
    assert time.monotonic() - started >= 0.04
    assert [each.text for each in outcome.pieces[:-1]] == list("hello")


def test_a_step_too_many_and_a_step_too_few_are_both_loud() -> None:
    model = ScriptedModel([Step("one")])
    with pytest.raises(AssertionError, match="left over"):
        model.check()
    _, extra = play(model, asked(), asked(step=2))
    assert isinstance(extra.error, EndpointRefused)
    assert "no step left for step 2 of “hi”" in extra.sentence
    assert model.leftover == []
    with pytest.raises(AssertionError, match="without a step"):
        model.check()


def test_an_error_comes_after_what_was_said() -> None:
    model = ScriptedModel([Step("half", error=StreamBroken("It broke; ask again."))])
    (outcome,) = play(model, asked())
    assert outcome.pieces == [TextPiece("half")]
    assert outcome.sentence == "It broke; ask again."


def test_gates_hold_a_step_before_and_after_it_speaks() -> None:
    async def run() -> None:
        before, after = asyncio.Event(), asyncio.Event()
        model = ScriptedModel([Step("said", gate=before, then_gate=after)])
        stream = model.stream(asked())
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        assert not first.done()
        before.set()
        assert await first == TextPiece("said")
        last = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        assert not last.done()
        after.set()
        assert isinstance(await last, Finished)
        await stream.aclose()

    asyncio.run(run())


SCRIPT = [
    {
        "when": "columns",
        "reasoning": "A table.",
        "calls": [{"name": "look", "arguments": {"path": "a.csv"}}],
    },
    {"when": "columns", "text": "Three columns.", "usage": {"input": 7, "output": 3}},
    {"when": "broken", "text": "Half", "error": "The script says no."},
    {"text": "Anything else.", "chunk": 4},
]


def test_a_script_as_json_answers_by_the_words_of_the_prompt() -> None:
    model = ScriptedModel.from_json(json.dumps(SCRIPT))
    columns, broken = User("which columns?", 1), User("a broken one", 1)
    for _ in range(2):  # the steps of a turn are played anew in every such turn
        call, answer = play(model, asked(columns), asked(columns, step=2))
        assert [type(item) for item in call.finished.items] == [Reasoning, Call]
        assert answer.text == "Three columns."
        assert answer.finished.usage == Usage(7, 0, 3, 0)
    assert len(model.leftover) == 2
    (refused,) = play(model, asked(broken))
    assert (refused.text, refused.sentence) == ("Half", "The script says no.")
    (other,) = play(model, asked(User("hello", 2)))
    assert other.text == "Anything else."
    model.check()


@pytest.mark.parametrize(
    "script",
    ["", "[", "[1]", '[{"txt": "x"}]', '[{"calls": [{"arguments": {}}]}]', '[{"usage": 3}]'],
)
def test_a_broken_script_is_told_as_one(script: str) -> None:
    with pytest.raises(SettingsError, match="script of the scripted model is broken"):
        ScriptedModel.from_json(script)


def test_a_script_is_chosen_by_the_models_name(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(SCRIPT), encoding="utf-8")
    profile = Profile(model=f"scripted:{path}", window=99)
    client = client_for(Endpoint(""), profile)
    assert isinstance(client, ScriptedModel)
    assert client.profile == profile
    with pytest.raises(SettingsError, match="cannot be read"):
        client_for(Endpoint(""), Profile(model=f"scripted:{tmp_path}/none.json"))
