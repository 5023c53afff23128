"""What reading and editing a notebook file costs as it grows, beside `json.loads` of the same.

Each shape is made ten times as large; what takes much more than ten times as long, where
`json.loads` does not, is not linear. The time is that of this process, whatever else runs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

from shiro_jupyter.core.errors import BrokenNotebook
from shiro_jupyter.core.notebook.document import NotebookText
from shiro_jupyter.core.notebook.shown import cells_as_text, outline
from tests.support.notebooks import FAILED, STREAM, cell, display, notebook, stored

SIZE, TIMES, ROUNDS = 400_000, 10, 3  # bytes of the smaller file


def shapes(size: int) -> dict[str, bytes]:
    image = display(image_png="A" * (size - 500), text_plain=["<Figure>"])
    blanks = b" \n" * (size // 2)
    plain = stored(notebook(cell("1", "a"), cell("2", "b")))
    return {
        "one image": stored(notebook(cell("plot()", "a", outputs=[image]), cell("2", "b"))),
        "cells": stored(notebook(*(cell(f"n = {n}", f"c{n}") for n in range(size // 160)))),
        "outputs": stored(notebook(cell("x", "a", outputs=[STREAM, FAILED] * (size // 260)))),
        "one source": stored(notebook(cell("x = 1\n" * (size // 14), "a"))),
        "backslashes": stored(notebook(cell("\\" * (size // 2), "a"))),
        "blanks": plain.replace(b"\n  {", blanks + b"{"),
        "members": stored(notebook(cell("x", "a"), **{f"k{n}": n for n in range(size // 15)})),
        "broken at its end": plain[:-3] + blanks + b"x",
        "brackets": b'{"cells": [' + b"[" * size,
    }


def milliseconds(work: Callable[[bytes], object], data: bytes) -> float:
    spent = []
    for _ in range(ROUNDS):
        started = time.process_time()
        # What is no notebook is refused: that takes its time, too.
        with suppress(BrokenNotebook, ValueError, RecursionError):
            work(data)
        spent.append(1000 * (time.process_time() - started))
    return min(spent)


def main() -> None:
    works: dict[str, Callable[[bytes], object]] = {
        "json.loads": json.loads,
        "read": NotebookText.parse,
        "insert": lambda data: NotebookText.parse(data).insert("x = 1", after="1"),
        "outline": lambda data: outline(NotebookText.parse(data).cells),
        "as text": lambda data: cells_as_text(data.decode()),
    }
    print(f"milliseconds of {SIZE * TIMES / 1e6:.0f} MB, and how often that of a tenth of it")
    print(f"{'':18}" + "".join(f"{name:>18}" for name in works))
    large = shapes(SIZE * TIMES)
    for name, small in shapes(SIZE).items():
        row = ""
        for work in works.values():
            few, many = milliseconds(work, small), milliseconds(work, large[name])
            row += f"{many:>11.1f} ×{many / few:<5.1f}"
        print(f"{name:18}{row}", flush=True)


if __name__ == "__main__":
    main()
