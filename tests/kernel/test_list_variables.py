from __future__ import annotations

import types
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.tools import KERNEL_TOOLS, ListVariables
from tests.support.tools import Bench


def tool(**names: object) -> ListVariables:
    return ListVariables(Namespace(types.SimpleNamespace(user_ns=names, user_ns_hidden={})))


def test_it_lists_and_narrows(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.run(tool(n=1, m=2)).text == "2 variables:\nn: int = 1\nm: int = 2"
    assert bench.run(tool(n=1, m=2), match="m").text == "1 variable:\nm: int = 2"


def test_it_only_reads(tmp_path: Path) -> None:
    subject = tool().subject(tool().parse(""), Bench(tmp_path).context)
    assert (subject.access, subject.texts) == ("read", ("all variables",))


def test_a_made_up_argument_is_told() -> None:
    with pytest.raises(InvalidArguments, match="pattern"):
        tool().parse('{"pattern": "x"}')


def test_every_kernel_tool_says_what_it_does() -> None:
    specs = [each.spec() for each in KERNEL_TOOLS]
    names = [spec.name for spec in specs]
    assert names[:3] == ["list_variables", "inspect_variable", "run_python"]
    for spec in specs:
        assert 50 < len(spec.description) < 400
        assert spec.parameters["additionalProperties"] is False
        assert all("description" in each for each in spec.parameters["properties"].values())
