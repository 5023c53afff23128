from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.errors import EndpointUnreachable, NotConfigured, UsageError
from shiro_jupyter.core.events import Answer, Question
from shiro_jupyter.core.models.base import ModelClient
from shiro_jupyter.core.models.discovery import Found, Served
from shiro_jupyter.core.settings import Settings
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.kernel.choose_model import NONE, Models
from tests.support.model_files import stand_in
from tests.support.strict_endpoint import StrictEndpoint

FOUND = [
    Found("http://127.0.0.1:11434/v1", (Served("llama3"), Served("qwen3:8b", 4096))),
    Found("http://127.0.0.1:8000/v1", (Served("big"),)),
]


class Kernel:
    """What a kernel has to choose from; `answer` is what its person chooses, None for nobody."""

    def __init__(self, root: Path, found: list[Found], *notices: str) -> None:
        self.folders = Folders(root / "config", root / "data", root)
        self.site = root / "site.toml"
        self.answer: str | None = None
        self.asked: list[Question] = []
        self.told: list[str] = []
        self.looked = 0

        async def discover() -> tuple[list[Found], list[str]]:
            self.looked += 1
            return found, list(notices)

        self.models = Models(self.folders, os.environ, SystemClock(), discover)

    def client(self, **environ: str) -> ModelClient:
        async def ask(question: Question) -> Answer | None:
            self.asked.append(question)
            return None if self.answer is None else Answer(question.id, self.answer)

        loaded = Settings.load(
            environ=environ,
            folders=self.folders,
            site=self.site,
            stored_key=self.models.keys.stored,
        )

        async def run() -> ModelClient:
            client = await self.models.client(loaded, self.told.append, ask)
            await client.close()
            return client

        return asyncio.run(run())

    def refused(self, **environ: str) -> str:
        with pytest.raises(NotConfigured) as told:
            self.client(**environ)
        return str(told.value)


def test_without_anything_the_three_ways_are_told(tmp_path: Path) -> None:
    told = Kernel(tmp_path, []).refused()
    assert (
        "model server on this machine" in told and "/connect" in told and "SHIRO_MODEL_FILE" in told
    )


def test_a_server_of_another_user_is_named_with_them(tmp_path: Path) -> None:
    told = Kernel(tmp_path, [], "A model server answers at X.").refused()
    assert told.startswith("A model server answers at X. No model is connected.")


def test_a_server_found_is_offered_once_a_kernel_and_then_used(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, FOUND)
    kernel.answer = "qwen3:8b at http://127.0.0.1:11434/v1"
    first, second = kernel.client(), kernel.client()
    assert first.profile.model == second.profile.model == "qwen3:8b"
    [question] = kernel.asked
    assert question.kind == "ask" and question.choices == (
        "llama3 at http://127.0.0.1:11434/v1",
        "qwen3:8b at http://127.0.0.1:11434/v1",
        "big at http://127.0.0.1:8000/v1",
        NONE,
    )
    assert kernel.looked == 1
    assert len(kernel.told) == 1 and "Using qwen3:8b" in kernel.told[0]


@pytest.mark.parametrize("answer", [NONE, "", "what is that?"])
def test_whoever_does_not_agree_is_not_asked_again(tmp_path: Path, answer: str) -> None:
    kernel = Kernel(tmp_path, FOUND)
    kernel.answer = answer
    assert "/connect" in kernel.refused()
    assert "/connect" in kernel.refused()
    assert len(kernel.asked) == 1
    kernel.models.changed()
    kernel.answer = "big at http://127.0.0.1:8000/v1"
    assert kernel.client().profile.model == "big"


def test_where_nobody_can_agree_the_server_is_named_and_not_used(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, FOUND)
    told = kernel.refused()
    assert "nobody is here" in told and "llama3" in told and "http://127.0.0.1:11434/v1" in told
    kernel.answer = "llama3 at http://127.0.0.1:11434/v1"
    assert kernel.client().profile.model == "llama3"  # somebody is, later


def test_a_check_gets_no_client_whatever_is_set(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, FOUND)
    kernel.models.environ = {"SHIRO_LIVE": "never"}
    for environ in ({}, {"SHIRO_MODEL": "scripted:hello"}, {"SHIRO_BASE_URL": FOUND[0].base_url}):
        with pytest.raises(UsageError, match="A check calls no model"):
            kernel.client(**environ)
    assert kernel.looked == 0


def test_an_endpoint_that_is_set_is_not_looked_for(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, FOUND)
    client = kernel.client(SHIRO_BASE_URL="https://api.example.org/v1", SHIRO_MODEL="m")
    assert client.profile.model == "m"
    assert kernel.looked == 0 and kernel.asked == []


def test_a_model_that_is_not_set_is_the_first_of_the_list(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, [])
    with StrictEndpoint([], models=("first", "second")) as server:
        environ = {"SHIRO_BASE_URL": server.base_url}
        profiles = [kernel.client(**environ).profile for _ in range(2)]
        assert [each.model for each in profiles] == ["first", "first"]
        assert profiles[0].window == server.window
        assert len(server.requests) == 1
        server.models = ()
        kernel.models.changed()
        assert "lists no model; name one with %shiro /model" in kernel.refused(**environ)


def test_the_window_of_a_near_server_is_asked_for_and_may_be_missing(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, [])
    with StrictEndpoint([], models=("m",)) as server:
        environ = {"SHIRO_BASE_URL": server.base_url, "SHIRO_MODEL": "m"}
        assert kernel.client(**environ).profile.window == server.window
        assert kernel.client(**environ, SHIRO_WINDOW="1000").profile.window == 1000
    with pytest.raises(EndpointUnreachable):
        Kernel(tmp_path, []).client(SHIRO_BASE_URL=server.base_url)
    # The turn itself will say that it is gone.
    assert Kernel(tmp_path, []).client(**environ).profile.window == 0


def test_settings_go_into_the_profile(tmp_path: Path) -> None:
    profile = (
        Kernel(tmp_path, [])
        .client(
            SHIRO_BASE_URL="https://api.example.org/v1",
            SHIRO_MODEL="m",
            SHIRO_CALLING="fenced",
            SHIRO_TEMPERATURE="0",
            SHIRO_THINK="low",
            SHIRO_TIMEOUT="7",
            SHIRO_API="responses",
        )
        .profile
    )
    assert (profile.calling, profile.temperature, profile.think) == ("fenced", 0.0, "low")
    assert (profile.idle_seconds, profile.api) == (7.0, "responses")


def test_a_model_file_is_served_where_no_endpoint_is_set(tmp_path: Path) -> None:
    program = stand_in(tmp_path)
    file = tmp_path / "Tiny-0.5B.gguf"
    file.write_bytes(b"GGUF")
    environ: dict[str, Any] = {
        "SHIRO_MODEL_FILE": str(file),
        "SHIRO_LLAMA_SERVER": str(program),
        "SHIRO_TIMEOUT": "9",
    }
    kernel = Kernel(tmp_path, FOUND)
    profile = kernel.client(**environ).profile
    assert (profile.model, profile.calling, profile.idle_seconds) == ("tiny-0.5b", "schema", 9.0)
    assert kernel.looked == 0
    beside = {**environ, "SHIRO_BASE_URL": "https://api.example.org/v1", "SHIRO_MODEL": "m"}
    assert kernel.client(**beside).profile.model == "m"
    assert "no program nowhere" in kernel.refused(**{**environ, "SHIRO_LLAMA_SERVER": "nowhere"})
    assert not (tmp_path / "llama-server.started").exists()  # it starts with the first step
    kernel.models.close()


def test_a_script_plays_on_from_turn_to_turn(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "one"}, {"text": "two"}]')
    kernel = Kernel(tmp_path, FOUND)
    environ = {"SHIRO_MODEL": f"scripted:{script}", "SHIRO_BASE_URL": "https://api.example.org/v1"}
    assert kernel.client(**environ) is kernel.client(**environ)
