from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import nbformat
import pytest

from shiro_jupyter.core.errors import PathRefused, ToolFailed
from shiro_jupyter.core.tools.base import ToolContext
from shiro_jupyter.kernel.notebook import Notebooks, located, server_root
from tests.support.live_pages import LivePage, code
from tests.support.tools import Bench

T = TypeVar("T")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A project in `work`, of a server that began above it, with its own notebook and another."""
    root = tmp_path / "work"
    root.mkdir()
    for name in ("own", "other"):
        written(root / f"{name}.ipynb", f"x = '{name} saved'")
    return Bench(root)


def written(path: Path, *sources: str) -> None:
    cells = [nbformat.v4.new_code_cell(each, id=f"c{at}") for at, each in enumerate(sources)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def a_page(**more: Any) -> LivePage:
    error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
    return LivePage([code("c0", "x = 'unsaved'", outputs=[error], count=2)], **more)


def asked(
    bench: Bench,
    page: LivePage,
    do: Callable[[Notebooks, ToolContext], Awaitable[T]],
    own: str = "own.ipynb",
) -> T:
    notebooks = Notebooks(page.document, bench.root / own if own else None)
    return asyncio.run(do(notebooks, bench.context))  # type: ignore[arg-type]


def read(bench: Bench, page: LivePage, given: str = "", own: str = "own.ipynb") -> Any:
    async def do(notebooks: Notebooks, context: ToolContext) -> Any:
        return await notebooks.read(await notebooks.find(given, context), context)

    return asked(bench, page, do, own)


@pytest.mark.parametrize("given", ["", "own.ipynb", "./own.ipynb"])
def test_its_own_notebook_is_read_in_the_page_unsaved(bench: Bench, given: str) -> None:
    reading = read(bench, a_page(), given)
    assert [cell.source for cell in reading.cells] == ["x = 'unsaved'"]
    assert (reading.where.name, reading.where.own, reading.note) == ("own.ipynb", True, "")
    (cell,) = reading.cells
    assert cell.execution_count == 2 and cell.outputs == ({"output_type": "error"},)


def test_without_a_page_it_is_read_as_last_saved(bench: Bench) -> None:
    os.utime(bench.root / "own.ipynb", (1_700_000_000, 1_700_000_000))
    reading = read(bench, a_page(there=False))
    assert [cell.source for cell in reading.cells] == ["x = 'own saved'"]
    assert reading.note.startswith("as last saved (2023-11-1")
    assert "no page of JupyterLab" in reading.note


def test_where_the_page_does_not_answer_it_is_read_as_last_saved(bench: Bench) -> None:
    reading = read(bench, a_page(fails={"outline": "The page did not answer; try again."}))
    assert [cell.source for cell in reading.cells] == ["x = 'own saved'"]
    assert reading.note.endswith("; The page did not answer; try again")


def test_another_notebook_is_read_on_disk_and_said_to_be_open_where_it_is(bench: Bench) -> None:
    reading = read(bench, a_page(), "other.ipynb")
    assert [cell.source for cell in reading.cells] == ["x = 'other saved'"]
    assert not reading.where.own and "open" not in reading.note
    reading = read(bench, a_page(others=("work/other.ipynb",)), "other.ipynb")
    assert reading.note.endswith("open in the page, where it may have changed since")
    older = a_page(fails={"open": "This page cannot."})
    assert read(bench, older, "other.ipynb").note.endswith("cannot be told")


def test_a_renamed_notebook_is_known_by_its_new_name(bench: Bench) -> None:
    (bench.root / "own.ipynb").rename(bench.root / "new.ipynb")
    page = a_page(path="work/new.ipynb")
    assert read(bench, page).where.name == "new.ipynb"
    assert read(bench, page, "new.ipynb").where.own


def test_a_notebook_that_only_the_page_knows_has_the_name_it_has_there(bench: Bench) -> None:
    reading = read(bench, a_page(path="elsewhere/x.ipynb"), own="")
    assert (reading.where.name, reading.where.path) == ("elsewhere/x.ipynb", None)
    assert reading.cells[0].source == "x = 'unsaved'"
    again = read(bench, a_page(path="elsewhere/x.ipynb"), "elsewhere/x.ipynb", own="")
    assert again.where == reading.where


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "no notebook of its own"),
        ("gone.ipynb", "no file gone.ipynb"),
        ("../x.ipynb", "outside"),
    ],
)
def test_what_cannot_be_meant_is_told(bench: Bench, given: str, told: str) -> None:
    with pytest.raises((ToolFailed, PathRefused), match=told):
        read(bench, a_page(there=False), given, own="")


def test_what_is_no_notebook_is_told_with_its_name(bench: Bench) -> None:
    (bench.root / "broken.ipynb").write_text('{"cells": [', encoding="utf-8")
    with pytest.raises(ToolFailed, match=r"broken\.ipynb: .*no JSON"):
        read(bench, a_page(), "broken.ipynb")


def test_what_the_settings_deny_to_read_is_not_found(bench: Bench) -> None:
    async def do(notebooks: Notebooks, context: ToolContext) -> Any:
        denying = replace(context, denies_reading=lambda name: name == "own.ipynb")
        return await notebooks.find("", denying)

    with pytest.raises(ToolFailed, match=r"deny to read own\.ipynb"):
        asked(bench, a_page(), do)


@pytest.mark.parametrize(
    ("others", "path", "is_open"),
    [
        (("work/other.ipynb",), "work/own.ipynb", True),
        (("other.ipynb",), "work/own.ipynb", False),  # another one, above
        (("other.ipynb",), "elsewhere/own.ipynb", True),  # perhaps: the server's folder is unknown
        (("deep/other.ipynb",), "elsewhere/own.ipynb", False),
    ],
)
def test_which_notebooks_are_open_beside_it(
    bench: Bench, others: tuple[str, ...], path: str, is_open: bool
) -> None:
    async def do(notebooks: Notebooks, context: ToolContext) -> bool:
        return await notebooks.is_open(await notebooks.find("other.ipynb", context))

    assert asked(bench, a_page(others=others, path=path), do) is is_open


def test_the_servers_paths_are_found_from_the_kernels_own(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "own.ipynb"
    written(path.parent.mkdir(parents=True) or path, "x")
    assert located("a/b/own.ipynb", path) == path == located("own.ipynb", path)
    assert located("c/own.ipynb", path) is None
    assert server_root("a/b/own.ipynb", path) == tmp_path
    assert server_root("own.ipynb", path) == path.parent
    assert server_root("c/own.ipynb", path) is None is server_root("x", None)
