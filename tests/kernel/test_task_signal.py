from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pandas
import pytest
from matplotlib import pyplot

from shiro_jupyter.core.memory.signal import TaskSignal
from shiro_jupyter.core.workspace.project import Project
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.task_signal import about, task_signal


def of(names: dict[str, object]) -> Namespace:
    return Namespace(SimpleNamespace(user_ns=names, user_ns_hidden={}))


ENVIRONMENT = MappingProxyType({"PATH": "/usr/bin:/bin", "USER": "ann"})


def notebook(folder: Path, cells: Any) -> Project:
    path = folder / "eda.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    return Project(folder, path)


def test_kernel_notebook_and_git_tell_it(tmp_path: Path) -> None:
    head = tmp_path / ".git" / "HEAD"
    head.parent.mkdir()
    head.write_text("ref: refs/heads/fix/dates\n")
    cells = [
        {"cell_type": "markdown", "source": ["# Day-first dates #\n", "text\n", "## Why"]},
        {"cell_type": "code", "source": "# no heading"},
    ]
    orders = pandas.DataFrame({"order_date": [1], "price": [2]})
    namespace = {"pd": pandas, "plt": pyplot, "_hidden": sys, "orders": orders, "n": 5}
    found = task_signal(notebook(tmp_path, cells), of(namespace), ENVIRONMENT, "why?")
    assert found == TaskSignal(
        branch="fix/dates",
        prompt="why?",
        notebook="eda.ipynb",
        headings=("Day-first dates", "Why"),
        modules=("pandas", "matplotlib"),
        frames=("orders",),
        columns=("order_date", "price"),
        user="ann",
    )


def test_changed_files_are_gits(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", tmp_path], check=True)
    (tmp_path / "load.py").touch()
    found = task_signal(Project(tmp_path), of({}), ENVIRONMENT)
    assert (found.branch, found.files) == ("main", ("load.py",))


@pytest.mark.parametrize(
    "cells", [None, 5, [None], [{}], [{"cell_type": "markdown", "source": None}]]
)
def test_a_broken_notebook_has_no_headings(tmp_path: Path, cells: Any) -> None:
    assert task_signal(notebook(tmp_path, cells), of({}), ENVIRONMENT).headings == ()


def test_of_tables_and_columns_those_named_in_the_text_are_kept_first() -> None:
    signal = TaskSignal(
        branch="fix/dates", files=("load.py",), notebook="eda.ipynb", modules=("pandas",)
    )
    tables = {"days": ["when"], "orders": ["id", "price", "order_date"], "other": ["x"]}
    assert about(signal, tables, "order_date of orders is day-first", "user") == {
        "files": ["load.py"],
        "notebook": ["eda.ipynb"],
        "modules": ("pandas",),
        "frames": ["orders", "days", "other"],
        "columns": ["order_date", "id", "price", "when", "x"],
        "branch": ["fix/dates"],
        "source": ["user"],
    }


def test_of_files_those_named_in_the_text_are_kept_first_and_none_that_is_gone() -> None:
    signal = TaskSignal(files=("docs/a.md", "gone.py", "src/load.py"))
    text = "clean.py feeds load.py; gone.py was deleted, out.pkl is to come"
    there = {"docs/a.md", "src/load.py", "clean.py", "load.py"}
    kept = about(signal, {}, text, "user", there.__contains__)
    assert kept["files"] == ["clean.py", "src/load.py", "docs/a.md"]


def test_a_file_that_may_hold_keys_is_not_named_in_what_is_shared() -> None:
    signal = TaskSignal(files=(".env", "load.py", "config/secrets.yml"))
    assert about(signal, {}, "the port stands in .env", "user")["files"] == ["load.py"]
