from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from shiro_jupyter.core.context.render import kept_arguments
from shiro_jupyter.core.errors import InvalidArguments, PathRefused
from shiro_jupyter.core.tools.base import Tool, bounded, schema_of, sized
from shiro_jupyter.core.tools.glob import Glob
from shiro_jupyter.core.tools.grep import Grep
from shiro_jupyter.core.tools.list_dir import ListDir
from shiro_jupyter.core.tools.read_file import ReadFile
from shiro_jupyter.core.tools.todo_write import TodoWrite
from tests.support.tools import Bench


@pytest.mark.parametrize("arguments", ["[]", '"a"', "{", '{"path": 1}', '{"pth": "a"}', "{}", ""])
def test_arguments_that_do_not_fit_are_told_with_the_schema(arguments: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        ReadFile().parse(arguments)
    sentence = str(caught.value)
    assert sentence.startswith("The arguments of read_file do not fit (")
    assert json.loads(sentence.partition("The schema is ")[2].rstrip("."))["type"] == "object"


def test_of_arguments_that_were_cut_it_is_told_where() -> None:
    with pytest.raises(InvalidArguments, match="EOF while parsing a string"):
        ReadFile().parse(kept_arguments('{"path": "a'))  # as they are kept where they were cut
    with pytest.raises(InvalidArguments, match="should be an object"):
        ReadFile().parse(kept_arguments(json.dumps('{"path": "a"}')))


def test_empty_arguments_mean_none() -> None:
    assert TodoWrite().parse('{"todos": []}').todos == []
    with pytest.raises(InvalidArguments, match="todos: Field required"):
        TodoWrite().parse("  ")


def test_a_schema_has_no_titles_but_a_property_may_be_called_title() -> None:
    class Inner(BaseModel):
        title: str

    class Outer(BaseModel):
        title: str
        inner: Inner
        more: list[Inner]

    inner = {"properties": {"title": {"type": "string"}}, "required": ["title"], "type": "object"}
    assert schema_of(Outer) == {
        "properties": {
            "title": {"type": "string"},
            "inner": inner,
            "more": {"type": "array", "items": inner},
        },
        "required": ["title", "inner", "more"],
        "type": "object",
    }


@given(st.text(max_size=200), st.integers(2, 100))
def test_bounded_keeps_both_ends_and_counts_the_rest(text: str, limit: int) -> None:
    kept = bounded(text, limit, "see elsewhere")
    if len(text) <= limit:
        assert kept == text
        return
    note = f"\n[… {len(text) - limit:,} characters left out: see elsewhere …]\n"
    head, tail = text[: limit - limit // 2], text[len(text) - limit // 2 :]
    assert kept == head + note + tail


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (12_345_678, "12.3 MB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes_are_readable(size: int, said: str) -> None:
    assert sized(size) == said


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (Grep(), {"pattern": "KEY", "path": "sub"}),
        (Grep(), {"pattern": "KEY", "path": "sub/a"}),
        (Glob(), {"pattern": "*", "path": "sub"}),
        (Glob(), {"pattern": "sub/*"}),
        (ListDir(), {"path": "sub"}),
    ],
)
def test_a_folder_swapped_for_a_link_after_it_was_judged_is_refused(
    tmp_path: Path, tool: Tool[Any], arguments: dict[str, Any]
) -> None:
    root = tmp_path / "project"
    for folder in ("sub", ".ssh"):
        (root / folder).mkdir(parents=True)
        (root / folder / "a").write_text("KEY=abc\n")
    bench = Bench(root)
    parameters = tool.parse(json.dumps(arguments))
    judged = tool.subject(parameters, bench.context).texts
    context = replace(bench.context, judged=judged)
    assert "sub/a" in asyncio.run(tool.run(parameters, context)).text
    (root / "sub").rename(root / "old")
    (root / "sub").symlink_to(".ssh")
    with pytest.raises(PathRefused, match="leads elsewhere than when this call was judged; call"):
        asyncio.run(tool.run(parameters, context))
