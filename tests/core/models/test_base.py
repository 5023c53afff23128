"""What a model is told of its tools, for every combination of sets and each way of calling."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.context.prompt import system_text, tail_text
from shiro_jupyter.core.models.base import Request, ToolSpec, system_of
from shiro_jupyter.core.models.chat import ChatClient, NativeCalling
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.fenced import FencedCalling
from shiro_jupyter.core.models.profiles import SMALL_TOOLS, Profile
from shiro_jupyter.core.models.responses import ResponsesClient
from shiro_jupyter.core.models.schema import SchemaCalling
from shiro_jupyter.core.settings.fields import TOOL_SETS, ToolSet
from shiro_jupyter.core.tools.base import Tool
from shiro_jupyter.core.tools.shelf import HOSTED, SHELF, tools_for
from shiro_jupyter.core.transcript import User
from shiro_jupyter.core.workspace.project import Project
from shiro_jupyter.kernel.tools import KERNEL_TOOLS
from tests.support.agents import MadeClock
from tests.support.snapshots import check_text

NAMES = {tool.name for tool in (*SHELF, *HOSTED, *KERNEL_TOOLS)}
MEMORY = {"remember", "recall", "forget"}
SETS = list(chain.from_iterable(combinations(TOOL_SETS, n) for n in range(len(TOOL_SETS) + 1)))
ENDPOINT = Endpoint("http://127.0.0.1:9/v1")


def request_of(sets: Sequence[ToolSet], *, memory: bool, kernel: bool) -> Request:
    """As a session of these sets begins. The host's tools are told of by their classes alone."""
    classes = [each for each in HOSTED if memory or each.name not in MEMORY]
    hosted: list[Tool[Any]] = [
        object.__new__(each) for each in [*classes, *(KERNEL_TOOLS if kernel else ())]
    ]
    return Request(
        system=system_text(Project(Path("/home/ann/shop"), Path("/home/ann/shop/eda.ipynb"))),
        tools=tuple(tool.spec() for tool in tools_for(sets, hosted)),
        items=(User("How many orders are there?", 1),),
        tail=tail_text((), MadeClock().now()),
        turn=1,
        step=1,
    )


def payloads(request: Request) -> dict[str, tuple[set[str], dict[str, Any]]]:
    """By the way of calling: the names that may be told, and what goes over the wire."""
    every = {tool.name for tool in request.tools}
    few = every & set(SMALL_TOOLS)
    large, small = Profile("large"), Profile("small", tools=SMALL_TOOLS)
    return {
        "native": (every, ChatClient(ENDPOINT, large, NativeCalling()).body(request)),
        "fenced": (every, FencedCalling().payload(request, large)),
        "responses": (every, ResponsesClient(ENDPOINT, large).body(request)),
        "native, few": (few, NativeCalling().payload(request, small)),
        "fenced, few": (few, FencedCalling().payload(request, small)),
        "responses, few": (few, ResponsesClient(ENDPOINT, small).body(request)),
        "schema": (few, SchemaCalling().payload(request, small)),
        "schema, many": (every, SchemaCalling().payload(request, large)),
    }


def named(text: str) -> set[str]:
    """In the prompt and in schemas every word that is a tool's name is one, but for what a person
    is quoted to say."""
    said = text.replace("before you forget", "")
    return {name for name in NAMES if re.search(rf"\b{name}\b", said)}


@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "no kernel"])
@pytest.mark.parametrize("memory", [True, False], ids=["memory", "no memory"])
@pytest.mark.parametrize("sets", SETS, ids="+".join)
def test_nothing_that_a_model_is_sent_names_an_absent_tool(
    sets: Sequence[ToolSet], memory: bool, kernel: bool
) -> None:
    request = request_of(sets, memory=memory, kernel=kernel)
    off = {tool.name for tool in SHELF if tool.toolset in set(TOOL_SETS) - set(sets)}
    assert not off & {tool.name for tool in request.tools}
    for way, (there, payload) in payloads(request).items():
        assert named(json.dumps(payload)) == there, way


@pytest.mark.parametrize("sets", SETS, ids="+".join)
def test_the_system_text_of_each_combination_is_as_it_was(sets: Sequence[ToolSet]) -> None:
    request = request_of(sets, memory=True, kernel=True)
    name = "+".join(sets) or "none"
    check_text(f"prompts/{name}.txt", system_of(request, Profile("large")) + "\n")


def test_guidance_is_one_sentence_that_names_no_other_tool() -> None:
    for tool in (*SHELF, *HOSTED, *KERNEL_TOOLS):
        assert named(tool.guidance) <= {tool.name}
        assert "\n" not in tool.guidance and len(tool.guidance) < 160
        assert not tool.guidance or tool.guidance.endswith(".")


def test_guidance_follows_the_order_of_the_tools_each_sentence_once() -> None:
    tools = tuple(
        ToolSpec(name, "", {}, guidance)
        for name, guidance in (("b", "Take b."), ("a", "Take a."), ("c", ""), ("d", "Take b."))
    )
    request = Request("SYSTEM", tools, ())
    assert system_of(request, Profile("m")) == "SYSTEM\n\nOf your tools:\n- Take b.\n- Take a."
    assert system_of(request, Profile("m", tools=("a",))) == "SYSTEM\n\nOf your tools:\n- Take a."
    assert system_of(request, Profile("m", tools=("c",))) == "SYSTEM"


def test_more_tools_do_not_lengthen_what_a_small_model_reads() -> None:
    """It is told of the few that it manages, whatever else there is."""
    full = request_of(TOOL_SETS, memory=True, kernel=True)
    few = [tool for tool in full.tools if tool.name in SMALL_TOOLS]
    narrow = Request(full.system, tuple(few), full.items, full.tail, 1, 1)
    small = Profile("small", calling="schema", tools=SMALL_TOOLS)
    calling = SchemaCalling()
    assert calling.payload(full, small) == calling.payload(narrow, small)
    assert len(json.dumps(calling.payload(full, small))) < 4_000


def test_of_an_own_tool_names_and_types_of_arguments_can_be_told_alone() -> None:
    said = {
        "type": "integer",
        "maximum": 918273,
        "description": "at most 918273",
        "default": 918273,
    }
    listed = {"anyOf": [{"type": "array", "items": {"enum": ["Anna"], "type": "string"}}]}
    schema = {"type": "object", "properties": {"a": said, "b": listed}, "required": ["a"]}
    kept = {"anyOf": [{"type": "array", "items": {"type": "string"}}]}
    assert ToolSpec("f", "Words.", schema).without_values().parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": kept},
        "required": ["a"],
    }
