"""What is known of a model by its name and server."""

from __future__ import annotations

import pytest

from shiro_jupyter.core.models.profiles import (
    IDLE_SECONDS,
    LOOPBACK_IDLE_SECONDS,
    SMALL_TOOLS,
    Profile,
    billions,
    profile_for,
)

OPENAI = "https://api.openai.com/v1"
HERE = "http://127.0.0.1:11434/v1"


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("qwen2.5-coder-0.5b-instruct-q4_k_m", 0.5),
        ("qwen2.5-coder:1.5b", 1.5),
        ("SmolLM2-135M-Instruct", 0.135),
        ("qwen3:30b-a3b", 30),
        ("gpt-5.6", None),
        ("mistral", None),
        ("model-4bit", None),
        ("llama-3.1-8B", 8),
    ],
)
def test_a_name_tells_the_size(name: str, size: float | None) -> None:
    assert billions(name) == size


@pytest.mark.parametrize(
    "name", ["qwen2.5-coder:0.5b", "Qwen2.5-Coder-1.5B-Instruct", "smollm2:1.7b", "llama3.2:1b"]
)
def test_a_small_model_calls_by_schema_among_few_tools(name: str) -> None:
    profile = profile_for(name, HERE)
    assert (profile.calling, profile.tools) == ("schema", SMALL_TOOLS)


@pytest.mark.parametrize("name", ["qwen2.5-coder:32b", "gpt-oss:20b", "llama3.1:8b", "unheard-of"])
def test_any_other_model_calls_natively_with_all_tools(name: str) -> None:
    profile = profile_for(name, HERE)
    assert (profile.api, profile.calling, profile.tools) == ("chat", "native", ())


def test_openai_gets_its_own_api_and_words() -> None:
    profile = profile_for("gpt-5.6-mini", OPENAI)
    assert profile.api == "responses"
    assert (profile.role, profile.limit_field) == ("developer", "max_completion_tokens")
    assert profile.images
    assert profile.efforts == ("low", "medium", "high")
    elsewhere = profile_for("gpt-5.6-mini", "https://gateway.example/v1")
    assert (elsewhere.api, elsewhere.role) == ("chat", "system")


def test_a_server_on_this_machine_may_be_silent_for_longer() -> None:
    assert profile_for("m", "http://localhost:1/v1").idle_seconds == LOOPBACK_IDLE_SECONDS
    assert profile_for("m", "http://[::1]:1/v1").idle_seconds == LOOPBACK_IDLE_SECONDS
    assert profile_for("m", OPENAI).idle_seconds == IDLE_SECONDS < LOOPBACK_IDLE_SECONDS


def test_the_person_overrides_and_says_nothing_with_empty_values() -> None:
    said = {"api": "chat", "calling": "fenced", "window": 9000, "temperature": 0.0, "other": 1}
    profile = profile_for("qwen2.5-coder:0.5b", OPENAI, said, window=4096)
    assert (profile.api, profile.calling, profile.window) == ("chat", "fenced", 9000)
    assert profile.temperature == 0.0
    silent = {"api": None, "calling": None, "window": 0, "idle_seconds": 0.0, "temperature": None}
    assert profile_for("m", HERE, silent, window=4096) == Profile(
        "m", base_url=HERE, window=4096, idle_seconds=LOOPBACK_IDLE_SECONDS
    )
