"""Texts of several lines, as nbformat stores and joins them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.notebook.stored import joined, stored_lines, stored_outputs
from tests.support.notebooks import FAILED, display


@given(st.text())
def test_lines_are_joined_to_what_they_were(text: str) -> None:
    lines = stored_lines(text, as_list=True)
    assert isinstance(lines, list) and joined(lines) == text
    assert stored_lines(text, as_list=False) == joined(text) == text


@pytest.mark.parametrize("odd", [None, [], ""])
def test_nothing_is_empty(odd: Any) -> None:
    assert joined(odd) == ""


def test_outputs_are_stored_as_nbformat_stores_them() -> None:
    nbformat = pytest.importorskip("nbformat", reason="it comes with nbclient")
    rwbase = pytest.importorskip("nbformat.v4.rwbase", reason="it comes with nbformat")
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": "a\nb"},
        display(
            text_plain="a\nb",
            text_html=["<b>\n", "</b>"],
            image_png="AA\nBB\n",
            **{"image_svg+xml": "<svg>\n</svg>", "application_javascript": "1\n2"},
            application_json="a\nb",
        ),
        FAILED,
    ]
    cell = {"cell_type": "code", "metadata": {}, "source": "", "outputs": outputs}
    theirs = rwbase.split_lines(nbformat.from_dict({"cells": [cell]}))
    assert stored_outputs(outputs) == theirs["cells"][0]["outputs"]
    assert stored_outputs([{"output_type": "odd", "text": "a\nb"}, {}]) == [
        {"output_type": "odd", "text": "a\nb"},
        {},
    ]
