from __future__ import annotations

from typing import Any, ClassVar

import pytest

from shiro_jupyter.core.errors import SettingsError
from shiro_jupyter.core.settings import TOOL_SETS
from shiro_jupyter.core.settings.fields import ToolSet
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult
from shiro_jupyter.core.tools.bash import KEPT, Bash
from shiro_jupyter.core.tools.shelf import ALWAYS, HOSTED, SHELF, sets_table, tools_for, tools_table
from tests.support.snapshots import check_json


class Nothing(Parameters):
    pass


class Peek(Tool[Nothing]):
    """Look at the kernel.

    A second paragraph.
    """

    name: ClassVar[str] = "peek"
    toolset: ClassVar[str] = "kernel"
    access: ClassVar[Any] = "read"
    parameters = Nothing

    def summary(self, parameters: Nothing) -> str:
        return ""

    async def run(self, parameters: Nothing, context: ToolContext) -> ToolResult:
        return ToolResult("ok", "")


def names(tools: tuple[Tool[Any], ...]) -> list[str]:
    return [tool.name for tool in tools]


@pytest.mark.parametrize("tool", SHELF, ids=lambda tool: tool.name)
def test_every_schema_is_as_it_was(tool: type[Tool[Any]]) -> None:
    spec = tool.spec()
    check_json(
        f"tools/{spec.name}",
        {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
    )


@pytest.mark.parametrize("tool", SHELF, ids=lambda tool: tool.name)
def test_every_schema_is_one_that_all_servers_take(tool: type[Tool[Any]]) -> None:
    spec = tool.spec()
    assert spec.parameters["type"] == "object"
    assert spec.parameters["additionalProperties"] is False
    assert "$" not in str(spec.parameters)
    assert all(prop["description"] for prop in spec.parameters["properties"].values())
    assert 0 < len(spec.description) < 500


def test_names_are_unique_and_every_tool_is_in_a_set_that_exists() -> None:
    assert len({tool.name for tool in SHELF}) == len(SHELF)
    assert {tool.toolset for tool in SHELF} <= {*ALWAYS, *TOOL_SETS}


@pytest.mark.parametrize("sets", [[], ["git"], ["edit-plus"], ["git", "edit-plus"]])
def test_sets_add_their_tools_in_a_fixed_order_before_the_host_s(sets: list[ToolSet]) -> None:
    wanted = {*ALWAYS, *sets}
    offered = tools_for(sets, [Peek()])
    assert names(offered) == [*(t.name for t in SHELF if t.toolset in wanted), "peek"]
    assert {tool.toolset for tool in offered} >= {*ALWAYS, "kernel"}
    assert names(tools_for(sets[::-1], [Peek()])) == names(offered)


def test_an_unknown_set_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(SettingsError, match="no tool set 'gti'; did you mean git"):
        tools_for(["gti"])
    with pytest.raises(SettingsError, match="no tool set 'xyz'; there are edit-plus, git, core"):
        tools_for(["xyz"])


def test_the_table_has_a_row_for_every_tool_with_its_first_paragraph() -> None:
    rows = tools_table([Peek])
    assert [row[0].strip("`") for row in rows] == [
        *(tool.name for tool in (*SHELF, *HOSTED)),
        "peek",
    ]
    assert rows[-1] == ("`peek`", "kernel", "read", "Look at the kernel.")


def test_every_tool_stands_in_its_set_which_says_when_it_is_there() -> None:
    rows = {name.strip("`"): (when, tools) for name, when, tools in sets_table([Peek])}
    assert list(rows) == ["core", "session", "edit-plus", "git", "kernel"]
    assert [when for when, _ in rows.values()] == [
        *["always"] * 2,
        *["unless switched off"] * 2,
        "where the host has it",
    ]
    assert rows["kernel"][1] == "`peek`" and "`read_file`" in rows["core"][1]
    listed = [name for _, tools in rows.values() for name in tools.split(", ") if name]
    assert sorted(listed) == sorted(f"`{tool.name}`" for tool in (*SHELF, *HOSTED, Peek))


def test_what_bash_says_of_its_limits_is_true() -> None:
    assert f"{KEPT:,} characters" in Bash.spec().description
    assert KEPT < OUTPUT_LIMIT
