"""Cells as text, and the outline of a notebook."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shiro_jupyter.core.notebook.document import Cell, NotebookText
from shiro_jupyter.core.notebook.shown import cells_as_text, cells_text, outline
from shiro_jupyter.core.workspace.output import OUTPUT_LIMIT
from tests.support.notebooks import FAILED, STREAM, cell, display, notebook, stored


def read(*cells: dict[str, Any], **more: Any) -> tuple[Cell, ...]:
    return NotebookText.parse(stored(notebook(*cells, **more))).cells


def test_cells_come_with_numbers_ids_counts_and_outputs() -> None:
    cells = read(
        cell("# Sales\nby month", "intro", "markdown"),
        cell("1 / 0", "c1", execution_count=7, outputs=[STREAM, FAILED]),
    )
    assert cells_text(cells) == (
        "# --- cell 1, markdown, id=intro ---\n# Sales\nby month\n\n"
        "# --- cell 2, code, id=c1, run as [7] ---\n1 / 0\n"
        "# --- output of cell 2 ---\na\nb\n"
        "# --- output of cell 2 ---\nKeyError: '2023'\nTraceback\n  line 1"
    )
    assert (
        cells_text(cells[1:], outputs=False) == "# --- cell 2, code, id=c1, run as [7] ---\n1 / 0"
    )


def test_binary_outputs_are_told_by_type_and_size_and_text_is_kept() -> None:
    image = display(
        text_plain=["<Figure>\n", "two"], image_png="A" * 40_000, application_json={"a": "b" * 991}
    )
    kept_back = display(image_png={"mime": "image/png", "bytes": 1_234_567}, text_html=["a", "b"])
    assert cells_text(read(cell("", "a", outputs=[image, kept_back]))).splitlines()[3:] == [
        "<Figure>",
        "two",
        "[application/json, 1.0 kB]",
        "[image/png, 40.0 kB]",
        "# --- output of cell 1 ---",
        "[image/png, 1.2 MB]",
        "[text/html, 2 B]",
    ]


def test_each_output_and_their_number_and_all_of_it_are_bounded() -> None:
    long = {"output_type": "stream", "name": "stdout", "text": "x" * 9_000}
    wide = {"output_type": "display_data", "data": {f"a/{n}" + "b" * 999: 1 for n in range(999)}}
    failed = FAILED | {"evalue": "e" * 9_000, "traceback": ["t" * 9_000]}
    assert 2_000 < len(cells_text(read(cell("", "a", outputs=[long])))) < 2_200
    assert len(cells_text(read(cell("", "a", outputs=[failed])))) < 4_300
    assert len(cells_text(read(cell("", "a", outputs=[wide])))) < 5_000
    many = cells_text(read(cell("", "a", outputs=[STREAM] * 60)))
    assert many.count("output of cell 1 ---") == 50
    assert many.endswith("# --- 10 more outputs of cell 1 ---")
    told = cells_text(read(cell("s" * 99_999, "a")))
    assert len(told) < OUTPUT_LIMIT + 100 and "left out: ask for fewer cells" in told
    assert len(cells_as_text(stored(notebook(cell("s" * 99_999, "a"))).decode()) or "") > 99_999


def test_names_in_a_file_of_others_stay_short_and_on_their_line() -> None:
    odd = notebook(cell("x", "a\n# --- cell 9" + "x" * 99), cell("y", "b", "co\u202ede"))
    text = cells_as_text(json.dumps(odd)) or ""
    assert text.splitlines()[0].startswith(r"# --- cell 1, code, id=a\n# --- cell 9xx")
    assert r"co\u202ede" in text and len(text) < 200


def test_an_outline_is_by_headings_with_one_line_a_cell() -> None:
    cells = read(
        cell("import pandas", "a", execution_count=1),
        cell("Intro\n# Load #\ntext\n## Orders", "b", "markdown"),
        cell("\n\ndf = 1\n", "c", execution_count=2, outputs=[STREAM, STREAM]),
        cell("text\n```\n# no heading\n~~~\n# nor this\n```\n#nor this", "d", "markdown"),
        cell("### Deep", "e", "markdown"),
        cell("1 / 0", "f", outputs=[FAILED]),
        cell("# End", "g", "markdown"),
        cell("", "h"),
        cell("# raw", "i", "raw"),
        cell("z" * 100, "j"),
    )
    assert outline(cells).splitlines() == [
        "1 a (code, 1 line, run as [1]) import pandas",
        "2 b (markdown, 4 lines) # Load / ## Orders",
        "    3 c (code, 4 lines, run as [2], 2 outputs) df = 1",
        "    4 d (markdown, 7 lines) text",
        "    5 e (markdown, 1 line) ### Deep",
        "      6 f (code, 1 line, 1 output, failed) 1 / 0",
        "7 g (markdown, 1 line) # End",
        "  8 h (code, 0 lines)",
        "  9 i (raw, 1 line) # raw",
        f"  10 j (code, 1 line) {'z' * 80}…",
    ]
    assert outline(read(cell("x"), minor=4)) == "1 (code, 1 line) x"
    assert outline(()) == ""


def test_an_outline_of_many_cells_is_bounded() -> None:
    told = outline(read(*(cell(f"n = {n}", f"c{n}") for n in range(2_000))))
    assert len(told) < OUTPUT_LIMIT + 100 and "left out: ask for cells by number" in told
    assert told.startswith("1 c0 (") and told.endswith("n = 1999")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"cells": 3}', "{", "[" * 50_000, "9" * 5_000])
def test_what_is_no_notebook_has_no_cells(text: str) -> None:
    assert cells_as_text(text) is None


def test_a_notebook_of_any_format_that_has_cells_is_shown() -> None:
    assert cells_as_text('{"cells": [3, {"source": null}]}') == "# --- cell 2, unknown ---\n"
