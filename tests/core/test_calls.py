"""What a host withholds of results: from the model, and not from the person."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from shiro_jupyter.core import events
from shiro_jupyter.core.calls import UNTOLD, Withheld
from shiro_jupyter.core.models.scripted import ScriptedCall, Step
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.core.tools.base import ToolResult
from shiro_jupyter.core.transcript import Result
from tests.support.agents import Stage, allows

SECRET = "918273645"


def withheld(result: ToolResult) -> ToolResult:
    return replace(result, text="[withheld]", seen=result.text)


def broken(result: ToolResult) -> ToolResult:
    raise ValueError(result.text)


def stage_of(root: Path, command: str, told: Withheld, mode: str = "yolo") -> Stage:
    steps = [Step(calls=[ScriptedCall("bash", {"command": command})]), Step(text="Done.")]
    stage = Stage(root, steps, person=allows, gate=Gate(mode=mode))  # type: ignore[arg-type]
    stage.agent.withholding = lambda tool, parameters: told
    return stage


def read(stage: Stage) -> str:
    (result,) = [item.text for item in stage.session.items if isinstance(item, Result)]
    return result


@pytest.mark.parametrize("sure", [True, False])
def test_the_model_reads_what_is_left_and_the_person_sees_all(tmp_path: Path, sure: bool) -> None:
    async def turn() -> Stage:
        stage = stage_of(tmp_path / "p", f"echo {SECRET}", Withheld(withheld, sure), "ask")
        await stage.agent.submit("go")
        return stage

    stage = asyncio.run(turn())
    assert read(stage) == "[withheld]"
    assert [each.text for each in stage.of(events.ToolFinished)] == [SECRET]
    assert SECRET in "".join(each.text for each in stage.of(events.ToolOutput))
    assert stage.asked[0].title.endswith("The model will not see its output.") is sure


def test_what_an_interrupted_call_had_shown_is_withheld_too(tmp_path: Path) -> None:
    async def turn() -> Stage:
        stage = stage_of(tmp_path / "p", f"echo {SECRET}; sleep 60", Withheld(withheld))

        def stop(event: events.Event) -> None:
            if isinstance(event, events.ToolOutput):
                stage.agent.interrupt()

        stage.on_event = stop
        await stage.agent.submit("go")
        return stage

    stage = asyncio.run(turn())
    assert stage.outcomes() == ["interrupted"] and read(stage) == "[withheld]"


def test_a_fault_of_ours_lets_nothing_through(tmp_path: Path) -> None:
    async def turn() -> Stage:
        stage = stage_of(tmp_path / "p", f"echo {SECRET}", Withheld(broken))
        ended = await stage.agent.submit("go")
        assert ended.outcome == "answered"
        return stage

    assert read(asyncio.run(turn())) == UNTOLD


def test_a_tool_that_breaks_tells_no_words_of_its_error(tmp_path: Path) -> None:
    async def turn() -> Stage:
        stage = stage_of(tmp_path / "p", "true", Withheld(lambda result: result))
        stage.agent.private = lambda: Private(schema_only=True)

        def fails(*given: object) -> Withheld:
            raise ValueError(SECRET)

        stage.agent.withholding = fails
        await stage.agent.submit("go")
        return stage

    assert read(asyncio.run(turn())) == "bash broke: ValueError"
