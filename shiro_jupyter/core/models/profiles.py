"""Model profiles: what a model at an endpoint can do, by name and server, overridable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from .endpoint import Endpoint

Api = Literal["chat", "responses"]
Calling = Literal["native", "fenced", "schema"]
Effort = Literal["low", "medium", "high"]
Think = Literal["", "off", "low", "medium", "high"]

# Seconds of silence before a step is given up: a model on this machine reads a long prompt first.
IDLE_SECONDS, LOOPBACK_IDLE_SECONDS = 120.0, 600.0
OPENAI_HOST = "api.openai.com"


@dataclass(frozen=True)
class Profile:
    """`window` is in tokens, 0 where unknown; `idle_seconds` bounds silence between events.

    `base_url` is where it is served, without what is secret in it; empty for a script.
    `tools` narrows the tools that the model is offered, empty for all. `efforts` are the
    reasoning levels that may be asked for. `role` and `limit_field` are what the server calls
    the system's messages and the bound on output tokens. `temperature` and `think` are what the
    person asks for; None and empty leave it to the model.
    """

    model: str
    base_url: str = ""
    api: Api = "chat"
    calling: Calling = "native"
    window: int = 0
    idle_seconds: float = IDLE_SECONDS
    images: bool = False
    tools: tuple[str, ...] = ()
    efforts: tuple[Effort, ...] = ()
    role: Literal["system", "developer"] = "system"
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: float | None = None
    think: Think = ""


# Few tools: a model of this size chooses well among these and among no more.
SMALL_TOOLS = ("list_variables", "inspect_variable", "read_file", "list_dir", "run_python")
# Parameters below which a model of a general family fails at native calls.
SMALL_BILLIONS = 2.0
# Families that write calls as text: measured for Qwen2.5-Coder, whose template has no native form.
_SCHEMA_FAMILIES = re.compile(r"qwen-?2\.?5-?coder|smollm|tinyllama|gemma-?3|phi-?[23]")
_BILLIONS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(b|m)(?![a-z0-9])")
_SEES = re.compile(
    r"(?:^|/)(?:gpt-(?:[5-9]|4o|4\.)|o[1-9]\b|claude|gemini|pixtral)|vision|[-_:]vl\b|llava"
)
_THINKS = re.compile(r"(?:^|/)(?:gpt-[5-9]|o[1-9]\b|gpt-oss)")


def profile_for(
    model: str,
    base_url: str,
    overrides: Mapping[str, Any] | None = None,
    *,
    window: int = 0,
) -> Profile:
    """The profile of a model at an endpoint.

    `window` is what the server says of the model. `overrides` are the person's settings by
    field name; None, empty, and a window or a deadline of 0 say nothing.
    """
    endpoint, name = Endpoint(base_url), model.lower()
    openai = endpoint.host == OPENAI_HOST
    profile = Profile(
        model,
        base_url=endpoint.shown,
        api="responses" if openai else "chat",
        window=window,
        idle_seconds=LOOPBACK_IDLE_SECONDS if endpoint.is_loopback else IDLE_SECONDS,
        images=bool(_SEES.search(name)),
        efforts=("low", "medium", "high") if _THINKS.search(name) else (),
        role="developer" if openai else "system",
        limit_field="max_completion_tokens" if openai else "max_tokens",
    )
    if not openai and is_small(name):
        profile = replace(profile, calling="schema", tools=SMALL_TOOLS)
    known = {each.name for each in fields(Profile)}
    said = {
        key: value
        for key, value in (overrides or {}).items()
        if key in known and (value or (key == "temperature" and value is not None))
    }
    return replace(profile, **said)


def is_small(name: str) -> bool:
    """Whether a model of this name manages only with calls by schema and few tools."""
    size = billions(name)
    if _SCHEMA_FAMILIES.search(name.lower()):
        return size is None or size < 5
    return size is not None and size < SMALL_BILLIONS


def billions(name: str) -> float | None:
    """The parameters that a model's name tells, in billions: `qwen2.5-coder:1.5b`, `135M`."""
    found = _BILLIONS.search(re.sub(r"[-_:/]", " ", name.lower()))
    if found is None:
        return None
    return float(found[1]) / (1000 if found[2] == "m" else 1)
