"""How large a request is, and what of a window is left for its items."""

from __future__ import annotations

from dataclasses import replace

from shiro_jupyter.core.context.tokens import Measure, estimate
from shiro_jupyter.core.models.base import Request, system_of
from shiro_jupyter.core.models.profiles import SMALL_TOOLS, Profile
from shiro_jupyter.core.models.room import (
    UNKNOWN,
    calibration_of,
    room_for_items,
    size_of,
    sources_of,
    usable,
)
from shiro_jupyter.core.models.schema import SchemaCalling
from shiro_jupyter.core.tools.shelf import HOSTED, SHELF
from shiro_jupyter.core.transcript import User
from shiro_jupyter.kernel.tools import KERNEL_TOOLS
from tests.support.steps import LOOK, asked

LARGE = Profile("large", window=128_000)
REQUEST = asked(User("hi " * 100, 1), tail="Today is Monday.")


def test_a_reply_keeps_its_part_of_a_window() -> None:
    assert usable(Profile("m", window=8_000)) == 6_000
    assert usable(LARGE) == 112_000
    assert usable(Profile("m")) == UNKNOWN


def test_items_have_what_the_rest_leaves() -> None:
    alone = replace(REQUEST, items=())
    rest = size_of(alone, LARGE, Measure())
    assert rest > estimate(system_of(REQUEST, LARGE)) + estimate(REQUEST.tail)
    assert room_for_items(REQUEST, LARGE) == 112_000 - rest
    assert size_of(REQUEST, LARGE, Measure()) == rest + 4 + estimate("hi " * 100)


def test_room_is_in_estimates_whatever_the_provider_counts() -> None:
    measure = Measure()
    size = size_of(REQUEST, LARGE, measure)
    calibration_of(LARGE, measure).saw(size, size * 2)  # it counts twice as much
    rest = size_of(replace(REQUEST, items=()), LARGE, measure)
    assert room_for_items(REQUEST, LARGE, measure) == 56_000 - rest
    other = Profile("other", window=128_000)
    assert room_for_items(REQUEST, other, measure) == 112_000 - rest


def test_tools_that_a_model_is_not_told_of_are_not_counted() -> None:
    none = Profile("m", tools=("other",))
    found = sources_of(REQUEST, none, lambda name: "history", Measure())
    assert found["tools"] == 0
    assert sources_of(REQUEST, LARGE, lambda name: "history", Measure())["tools"] > 20


def test_a_small_model_is_sent_a_short_prompt_of_its_own() -> None:
    small = Profile("small", calling="schema", tools=SMALL_TOOLS)
    tools = (replace(LOOK, name="list_dir"),)
    long = Request("Long instructions. " * 2000, tools, (User("How many?", 1),), "df", turn=1)
    messages = SchemaCalling().payload(long, small)["messages"]
    whole = sum(estimate(message["content"]) for message in messages)
    assert size_of(long, small, Measure()) == whole < 1000


def test_every_tool_says_its_source() -> None:
    found = {tool.name: tool.source() for tool in (*SHELF, *HOSTED, *KERNEL_TOOLS)}
    expected = {
        "files": "read_file read_many_files list_dir glob grep write_file edit_file multi_edit "
        "git_status git_diff git_log git_show git_blame",
        "commands": "bash job_status job_stop",
        "memory": "todo_write ask remember recall forget session_notes",
        "kernel": "list_variables inspect_variable run_python "
        "notebook_read notebook_edit notebook_run notebook_check",
    }
    assert found == {name: source for source, names in expected.items() for name in names.split()}


def test_a_small_model_without_tools_is_sent_a_plain_question() -> None:
    request = Request("", (), (User("hi " * 100, 1),), turn=1)
    assert size_of(request, Profile("m", calling="schema"), Measure()) == estimate("hi " * 100)
