"""No tool that reads tells what files hold where values are kept from the model."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.models.scripted import ScriptedCall, Step
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.core.transcript import Result
from tests.support.agents import Stage

VALUE = "918273645"
NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "source": "total(orders)",
            "outputs": [{"output_type": "stream", "name": "stdout", "text": VALUE}],
        }
    ],
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
}
FILES = {
    "a.csv": f"amount\n{VALUE}\n",
    "b.txt": VALUE,
    "c.ipynb": json.dumps(NOTEBOOK),
    "d.ipynb": f'{{"cells": "{VALUE}"}}',
    "load.py": "read('a.csv')\n",
}
CALLS: list[tuple[str, dict[str, Any]]] = [
    *(("read_file", {"path": name}) for name in FILES),
    ("read_many_files", {"files": list(FILES)}),
    ("grep", {"pattern": "9182|read"}),
    *(("grep", {"pattern": "9182|read", "path": name}) for name in FILES),
    ("edit_file", {"path": "a.csv", "old_text": "9182", "new_text": "1"}),
    ("edit_file", {"path": "a.csv", "old_text": "918273640", "new_text": "1"}),
    ("git_diff", {}),
    *((name, {"path": path}) for name in ("git_diff", "git_blame") for path in FILES),
    ("git_show", {}),
    *(("git_show", {"path": name}) for name in FILES),
    ("git_log", {"path": "a.csv"}),
    ("git_status", {"path": "a.csv"}),
    ("list_dir", {}),
    ("glob", {"pattern": "*"}),
]


def results(root: Path, private: Private) -> list[str]:
    """What the model reads of each call."""

    async def turn() -> list[str]:
        calls = [ScriptedCall(name, arguments) for name, arguments in CALLS]
        stage = Stage(root, [Step(calls=calls), Step(text="Done.")], gate=Gate(mode="yolo"))
        stage.agent.private = lambda: private
        await stage.agent.submit("look")
        return [item.text for item in stage.session.items if isinstance(item, Result)]

    return asyncio.run(turn())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *arguments], cwd=root, check=True)
    for name, text in FILES.items():
        (root / name).write_text(f"{text} ")
    return root


def test_schema_only_tells_names_and_code_and_no_value(project: Path) -> None:
    told = results(project, Private(schema_only=True))
    assert len(told) == len(CALLS)
    assert not [text for text in told if VALUE in text]
    by_call = dict(zip(map(str, CALLS), told, strict=True))
    assert by_call[str(CALLS[0])].startswith("a.csv may hold data that the person keeps from you")
    assert "total(orders)" in by_call[str(("read_file", {"path": "c.ipynb"}))]
    assert (
        "a.csv" in by_call[str(("list_dir", {}))]
        and "a.csv" in by_call[str(("git_status", {"path": "a.csv"}))]
    )
    assert "load.py:1: read('a.csv')" in by_call[str(("grep", {"pattern": "9182|read"}))]
    assert "+++ b/load.py" in by_call[str(("git_diff", {}))]


def test_a_private_variable_keeps_data_files_back_where_there_is_one(project: Path) -> None:
    assert not [text for text in results(project, Private(("salaries",))) if VALUE in text]


def test_private_names_keep_outputs_of_notebooks_alone_where_there_is_none(project: Path) -> None:
    told = results(project, Private(("salaries",), there=False))
    by_call = dict(zip(map(str, CALLS), told, strict=True))
    assert VALUE in by_call[str(("read_file", {"path": "a.csv"}))]
    for call in CALLS:
        if str(call[1].get("path", "")).endswith(".ipynb"):
            assert VALUE not in by_call[str(call)], call


def test_without_either_everything_is_told(project: Path) -> None:
    told = results(project, Private())
    assert sum(VALUE in text for text in told) > 10
