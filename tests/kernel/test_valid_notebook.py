"""Whether a notebook is valid; and that what was valid is so after any edit."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest
from hypothesis import given, settings

from shiro_jupyter.core.notebook.document import NotebookText
from shiro_jupyter.kernel.valid_notebook import problem
from tests.support import notebooks
from tests.support.notebooks import FAILED, STREAM, cell, damaged, display, notebook, stored

FILES = notebooks.own() | notebooks.public()


def _written(data: bytes) -> bool:
    """Whether nbformat would write it so."""
    text = data.decode("utf-8-sig")
    if json.loads(text).get("nbformat") != 4:
        return False
    written: str = nbformat.v4.nbjson.writes(nbformat.v4.nbjson.reads(text))
    return written.encode(errors="replace") + b"\n" == data


@pytest.mark.parametrize("name", sorted(FILES))
def test_what_is_valid_by_nbformat_is_valid_here_and_after_any_edit(name: str) -> None:
    data = FILES[name]
    valid = _valid_by_nbformat(data)
    assert valid == (not problem(data))
    assert valid or "/" in name  # our own are
    if not valid:
        return
    read = NotebookText.parse(data)
    for kind in ("code", "markdown", "raw"):
        more, added = read.insert("é = 1\n\n", type=kind, metadata={"shiro": {"turn": 1}})
        edits = [more, more.move(added, after=None), more.replace(added, "x")]
        if kind == "code":
            outputs = [STREAM, FAILED, display(text_plain="a\nb", image_png="AA")]
            edits.append(more.with_outputs(added, outputs, 3))
        for old in read.cells[:1]:
            ref = old.id or "1"
            edits += [read.insert("x", type=kind, before=ref)[0], read.replace(ref, "")]
            edits += [read.delete(ref)]
        for edit in edits:
            assert problem(edit.data) == ""
            assert _valid_by_nbformat(edit.data)


@pytest.mark.parametrize("name", sorted(name for name in FILES if _written(FILES[name])))
def test_what_nbformat_wrote_is_after_any_edit_as_nbformat_would_have_written_it(name: str) -> None:
    read = NotebookText.parse(FILES[name])
    mark = {"shiro": {"turn": 1}}
    more, added = read.insert("é\nx\x0by\u2028z", metadata=mark)
    svg = display(text_plain="a\nb", image_png="AA\nB", **{"image_svg+xml": "<a>\n</a>"})
    ran = more.with_outputs(added, [STREAM | {"text": "a\nb"}, FAILED, svg], 4)
    edits = [more, ran, more.move(added, after=None), more.replace(added, ""), more.delete(added)]
    for first in read.cells[:1]:
        edits.append(read.replace(first.id or "1", "new", metadata=mark))
    assert all(_written(edit.data) for edit in edits)


def _valid_by_nbformat(data: bytes) -> bool:
    value = json.loads(data.decode("utf-8-sig"))
    # Of an older format its own schema may hold; it cannot be edited here.
    return value.get("nbformat") == 4 and nbformat.validator.isvalid(value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": "ä b"}, "cell 2: id: 'ä b' does not match"),
        ({"id": None}, "cell 2: id: None is not of type 'string'"),
        ({"id": "a"}, "cells 1, 2: all have the id a"),
        ({"source": 3}, "cell 2: source: 3 is not valid"),
        ({"metadata": {"name": 3}}, "cell 2: metadata: name: 3 is not of type 'string'"),
        ({"outputs": [{"output_type": "stream"}]}, "cell 2: outputs: 0: 'name' is a required"),
        ({"foo": 1}, "cell 2: Additional properties are not allowed ('foo' was unexpected)"),
        ({"cell_type": []}, "cell 2: cell_type is no text"),
        ({"cell_type": "odd"}, "cell 2: {'cell_type': 'odd', "),
    ],
)
def test_the_first_reason_is_told_with_its_cell(change: dict[str, Any], reason: str) -> None:
    bad = cell("x" * 9_000, "b") | change
    told = problem(stored(notebook(cell("1", "a"), bad)))
    assert told.startswith(reason) and len(told) < 700


def test_a_missing_id_and_what_is_no_notebook_are_told_too() -> None:
    assert problem(stored(notebook(cell("1")))) == "cell 1: 'id' is a required property"
    assert problem(stored(notebook(cell("1"), minor=4))) == ""
    assert problem(stored(notebook(minor=99))) == ""  # a later minor only adds
    assert problem(stored(notebook(minor=-1))).startswith("No schema for validating v4.-1")
    assert problem(b"{").startswith("The notebook is no JSON (line 1, column 2: ")
    assert problem(stored(notebook()).replace(b"{}", b"3")) == "metadata: 3 is not of type 'object'"


@given(damaged())
@settings(max_examples=200, deadline=None)
def test_a_damaged_file_has_a_problem_or_none_and_nothing_else(data: bytes) -> None:
    if not problem(data):
        assert NotebookText.parse(data).data == data
