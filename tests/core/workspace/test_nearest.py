from __future__ import annotations

import time

import pytest

from shiro_jupyter.core.workspace import nearest as module
from shiro_jupyter.core.workspace.nearest import LEGEND, LINE_SHOWN, SHOWN, nearest

CODE = ["import csv", "", "def load(path):", "\trows = csv.reader(path)", "\treturn rows", ""]


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        # Blanks, quotes and other marks that cannot be told apart are spelled.
        (
            ["def load(path):", "    rows = csv.reader(path)"],
            [" 3: def load(path):", r"-4: '\trows = csv.reader(path)'",
             "+   '    rows = csv.reader(path)'"],
        ),
        (["return rows  "], [r"-5: '\treturn rows'", "+   'return rows  '"]),
        (["return\u00a0rows"], [r"-5: '\treturn rows'", r"+   'return\xa0rows'"]),
        # A line that is there under another name, or is part of one.
        (
            ["\trows = csv.Reader(pth)"],
            ["-4: \trows = csv.reader(path)", "+   \trows = csv.Reader(pth)"],
        ),
        (["rows  = csv"], ["-4: \trows = csv.reader(path)", "+   rows  = csv"]),
        # One that was left out, and one too many.
        (
            ["def load(path):", "\treturn rows"],
            [" 3: def load(path):", "-4: \trows = csv.reader(path)", "+   \treturn rows"],
        ),
    ],
)  # fmt: skip
def test_the_likest_lines_are_shown_with_the_difference(
    wanted: list[str], shown: list[str]
) -> None:
    assert nearest(CODE, wanted).split("\n") == [LEGEND, *shown]


def test_the_place_that_fits_best_is_taken() -> None:
    lines = ["x = 1", "y = 2", "", "x = 1", "y = 3"]
    assert " 4: x = 1" in nearest(lines, ["x = 1", "y = 3 "])


@pytest.mark.parametrize("wanted", [["zebra quagga okapi"], [""], ["", "", ""]])
def test_where_nothing_is_like_them_nothing_is_shown(wanted: list[str]) -> None:
    assert nearest(["import os", "print(os.name)"], wanted) == ""


def test_it_stays_small_and_quick_in_any_text() -> None:
    lines = [f"{'value' * 30} = {n}" for n in range(60_000)]
    wanted = [f"{'value' * 30} == {n}" for n in range(500)]
    started = time.process_time()
    shown = nearest(lines, wanted)
    assert len(shown) < (2 * SHOWN + 1) * (LINE_SHOWN + 20)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("at", [0, 30_000, 299_999])
def test_a_line_is_found_wherever_it_stands(at: int) -> None:
    lines = [f"    result_{n} = compute_something(value, {n})" for n in range(300_000)]
    lines[at] = "    totals = summarize(frame, by=region)"
    started = time.process_time()
    shown = nearest(lines, ["    totals = sumarize(frame, by=regions)"])
    assert f"-{at + 1}:     totals = summarize(frame, by=region)" in shown
    assert time.process_time() - started < 6


def test_how_far_it_looked_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOKED", 4)
    far = "(Only the first 4 of 6 lines were searched for like ones.)"
    assert nearest(CODE, ["zebra"]) == far
    assert nearest(CODE, ["import cvs"]).endswith(f"cvs\n{far}")
    assert "searched" not in nearest(CODE[:4], ["import cvs"])
