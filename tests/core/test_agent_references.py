"""What a prompt points at is looked at once, and is part of the conversation from then on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from shiro_jupyter.core.context.render import chat_messages, response_items
from shiro_jupyter.core.models.scripted import ScriptedCall, Step
from shiro_jupyter.core.policy.redactor import Redactor
from shiro_jupyter.core.sessions.records import parsed, restored
from shiro_jupyter.core.transcript import Note, User
from tests.support.agents import Stage

LIST = Step(calls=(ScriptedCall("list_dir", {}),))


def staged(root: Path, *steps: Step, refer: Callable[[str], Awaitable[str]]) -> Stage:
    stage = Stage(root / "project", steps)
    stage.agent.refer = refer
    return stage


def test_it_stands_behind_the_prompt_in_every_request_and_in_a_resume(tmp_path: Path) -> None:
    looks: list[str] = []

    async def refer(prompt: str) -> str:
        looks.append(prompt)
        return f"@df: look {len(looks)}" if "@df" in prompt else ""

    async def run() -> Stage:
        stage = staged(tmp_path, LIST, Step("So."), Step("Well."), refer=refer)
        lines = [b'{"shiro_session": 1}']
        stage.session.record = lambda record: lines.append(json.dumps(record).encode())
        await stage.agent.submit("what of @df")
        await stage.agent.submit("go on")
        await stage.check_whole()
        stored = parsed(tmp_path / "a.jsonl", b"\n".join([*lines, b""]))
        assert restored(stored).items == stage.session.items
        return stage

    stage = asyncio.run(run())
    assert looks == ["what of @df", "go on"]
    sent = [request.items for request in stage.model.requests]
    assert all(each[:2] == (User("what of @df", 1), Note("@df: look 1", 1)) for each in sent)
    assert [item.text for item in sent[-1] if isinstance(item, Note)] == ["@df: look 1"]
    chat, items = chat_messages("", sent[0]), response_items(sent[0])
    assert chat == [{"role": "user", "content": "what of @df\n\n@df: look 1"}]
    assert [each["content"] for each in items] == ["what of @df", "@df: look 1"]


def test_it_taints_by_the_words_of_others_and_holds_no_key(tmp_path: Path) -> None:
    async def refer(prompt: str) -> str:
        return "- .shiro/memory/MEMORY.md, a file\n  with plain-old-key"

    async def run() -> Stage:
        stage = staged(tmp_path, Step("So."), refer=refer)
        stage.agent.words_of_others = lambda text: ["memory"] if "MEMORY.md" in text else []
        stage.agent.redacted = Redactor(["plain-old-key"])
        await stage.agent.submit("what of @MEMORY.md")
        return stage

    stage = asyncio.run(run())
    assert stage.session.tainted == {"memory"}
    (note,) = (item.text for item in stage.session.items if isinstance(item, Note))
    assert "MEMORY.md" in note and "plain-old-key" not in note


def test_an_interrupt_while_it_is_looked_at_ends_the_turn(tmp_path: Path) -> None:
    async def run() -> Stage:
        begun = asyncio.Event()

        async def refer(prompt: str) -> str:
            begun.set()
            await asyncio.Future()
            return ""

        stage = staged(tmp_path, refer=refer)
        turn = asyncio.create_task(stage.agent.submit("what of @df"))
        await begun.wait()
        assert stage.agent.interrupt()
        assert (await turn).outcome == "interrupted"
        assert stage.model.requests == []
        return stage

    stage = asyncio.run(run())
    assert [type(item) for item in stage.session.items] == [User, Note]


def test_prompts_sent_into_a_turn_are_kept_though_looking_at_one_is_interrupted(
    tmp_path: Path,
) -> None:
    async def run() -> Stage:
        begun = asyncio.Event()

        async def refer(prompt: str) -> str:
            if prompt == "first":
                stage.agent.queue.steer(stage.agent.queue.waiting[0].id)
                stage.agent.queue.steer(stage.agent.queue.waiting[1].id)
            if prompt == "of @df":
                begun.set()
                await asyncio.Future()
            return ""

        stage = staged(tmp_path, refer=refer)
        turns = [
            asyncio.create_task(stage.agent.submit(words)) for words in ("first", "of @df", "third")
        ]
        await begun.wait()
        stage.agent.interrupt()
        assert [each.outcome for each in await asyncio.gather(*turns)] == ["interrupted"] * 3
        return stage

    said = [item.text for item in asyncio.run(run()).session.items if isinstance(item, User)]
    assert said == ["first", "of @df", "third"]
