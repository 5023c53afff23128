"""Notebook files for tests: 41 of our own, in the styles and with the oddities that files have,
and those that public packages ship as test data."""

from __future__ import annotations

import codecs
import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

PUBLIC_FOLDER = Path(__file__).parent.parent / "data" / "notebooks"
Json = dict[str, Any]


def cell(source: str, id: str = "", kind: str = "code", **more: Any) -> Json:  # noqa: A002
    """As nbformat stores it."""
    stored: Json = {"cell_type": kind, "metadata": {}, "source": source.splitlines(True)}
    if id:
        stored["id"] = id
    if kind == "code":
        stored |= {"execution_count": None, "outputs": []}
    return stored | more


def notebook(*cells: Json, minor: int = 5, **metadata: Any) -> Json:
    return {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": minor}


def stored(value: Json, **style: Any) -> bytes:
    """As nbformat writes it, but for what `style` says of `json.dumps`."""
    usual: Json = {"indent": 1, "sort_keys": True, "ensure_ascii": False, "separators": (",", ": ")}
    return json.dumps(value, **(usual | style)).encode() + b"\n"


@cache
def public() -> dict[str, bytes]:
    """The files in `tests/data/notebooks`, by package and name."""
    return {
        str(path.relative_to(PUBLIC_FOLDER)): path.read_bytes()
        for path in sorted(PUBLIC_FOLDER.rglob("*.ipynb"))
    }


@cache
def own() -> dict[str, bytes]:
    """All of them are valid."""
    return {**_styles(), **_contents(), **_spelled()}


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A small file with pieces left out, doubled, or put where they do not belong."""
    small = [data for data in (own() | public()).values() if len(data) < 6_000]
    data = draw(st.sampled_from(small))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.sampled_from([0, 1, 2, 9, 90])))
        new = draw(
            st.sampled_from([b"", b'"', b"{", b"}", b"[", b"]", b",", b"\\", b"\0", b"1", b"null"])
            | st.binary(max_size=3)
            | st.just(data[start:end] * 2)
        )
        data = data[:start] + new + data[end:]
    return data


STREAM = {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]}
FAILED = {
    "output_type": "error",
    "ename": "KeyError",
    "evalue": "'2023'",
    "traceback": ["\x1b[31mTraceback\x1b[0m", "  line 1"],
}


def display(**data: Any) -> Json:
    bundle = {name.replace("_", "/"): content for name, content in data.items()}
    return {"output_type": "display_data", "metadata": {}, "data": bundle}


BASE = notebook(
    cell("# Títle\n\nsome *text*", "title", "markdown"),
    cell("import pandas as pd\nprint('a\\nb')", "c1", execution_count=1, outputs=[STREAM]),
    cell("", "empty"),
    cell("1 / 0", "c2", execution_count=2, outputs=[FAILED]),
    cell("raw", "raw-1", "raw"),
    kernelspec={"name": "python3", "display_name": "Python 3", "language": "python"},
)


def _styles() -> dict[str, bytes]:
    usual = stored(BASE)
    as_text = json.loads(usual)
    for each in as_text["cells"]:
        each["source"] = "".join(each["source"])
    mixed = json.loads(usual)
    mixed["cells"][1]["source"] = "".join(mixed["cells"][1]["source"])
    backwards = {
        key: [dict(reversed(each.items())) for each in value] if key == "cells" else value
        for key, value in reversed(BASE.items())
    }
    return {
        "nbformat": usual,
        "two blanks": stored(BASE, indent=2),
        "four blanks": stored(BASE, indent=4),
        "tabs": stored(BASE, indent="\t"),
        "no indentation": stored(BASE, indent=0),
        "one line": stored(BASE, indent=None, separators=(", ", ": ")),
        "one line, no blanks": stored(BASE, indent=None, separators=(",", ":")),
        "blanks behind commas": stored(BASE, separators=(", ", ": ")),
        "blanks before colons": stored(BASE, separators=(",", " : ")),
        "crlf": usual.replace(b"\n", b"\r\n"),
        "cr": usual.replace(b"\n", b"\r"),
        "no last line end": usual.rstrip(),
        "more last line ends": usual + b"\n\r\n \n",
        "mark": codecs.BOM_UTF8 + usual,
        "ascii": stored(BASE, ensure_ascii=True),
        "sources as strings": stored(as_text),
        "sources as both": stored(mixed),
        "other order": stored(backwards, sort_keys=False),
        "cell a line": _cell_a_line(BASE),
        "commas first": _commas_first(BASE),
        "odd white space": usual.replace(b"  },\n", b"  }\t ,\n\n\n ").replace(b": [", b" :\n[ "),
    }


def _contents() -> dict[str, bytes]:
    image = "iVBORw0KGgo" + "A" * 200_000
    figure = display(image_png=image, text_plain=["<Figure>"])
    attached = {"a.png": {"image/png": "AAAA"}}
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    older = json.loads(stored(BASE))
    for each in older["cells"]:
        del each["id"]
    return {
        "no cells": stored(notebook()),
        "one cell": stored(notebook(cell("1", "only"))),
        "one cell on one line": stored(notebook(cell("1", "only")), indent=None),
        "format 4.4": stored(older | {"nbformat_minor": 4}),
        "format 4.0": stored(older | {"nbformat_minor": 0}),
        "ids like numbers": stored(notebook(cell("a", "2"), cell("b", "1"), cell("c", "03"))),
        "languages": stored(
            notebook(
                cell("# 日本語\n", "a", "markdown"),
                cell("x = 'Ω≈ç 😀 e\u0301'", "b"),
                cell("ء", "c"),
            )
        ),
        "line ends in sources": stored(
            notebook(cell("a\r\nb\x0bc\x0cd\u2028e\x85f\n\n", "a"), cell("\n", "b"), cell(" ", "c"))
        ),
        "images": stored(notebook(cell("plot()", "a", outputs=[figure, STREAM]), cell("2", "b"))),
        "attachments": stored(
            notebook(cell("![a](attachment:a.png)", "a", "markdown", attachments=attached))
        ),
        "deep": stored(notebook(cell("1", "a"), cell("2", "b"), deep=deep)),
        "many cells": stored(notebook(*(cell(f"n = {n}", f"c{n}") for n in range(100)))),
    }


def _spelled() -> dict[str, bytes]:
    """What `json.dumps` would write otherwise than it stands there."""

    def with_data(spelled: bytes) -> bytes:
        value = notebook(cell("1", "a", outputs=[display(application_json="HERE")]), cell("2", "b"))
        return stored(value).replace(b'"HERE"', spelled)

    return {
        "lone surrogate": with_data(rb'"\ud800 \uDFFF"'),
        "escapes": with_data(rb'"<\/script> \u002f\u00E9 \\u00e9"'),
        "no numbers": with_data(b"[NaN, Infinity, -Infinity]"),
        "odd numbers": with_data(b"[1e400, 1E+2, 1.000, -0, 10000000000000000000000, 0.1e-7]"),
        "keys twice": with_data(b'{"a": 1, "a": 2}'),
        "members twice": stored(notebook(cell("1", "a"), cell("2", "b"))).replace(
            b'"metadata": {},\n   "outputs"', b'"source": ["0"],\n   "metadata": {},\n   "outputs"'
        ),
        "cells twice": b'{"cells": [1, {"id": "x"}], ' + stored(notebook(cell("1", "a")))[1:],
        "blanks in lists": with_data(b"[ 1 ,2\n,\t3 ]"),
    }


def _cell_a_line(value: Json) -> bytes:
    rest = stored(value | {"cells": []})
    cells = b",\n".join(b"  " + _dumped(each) for each in value["cells"])
    return rest.replace(b'"cells": []', b'"cells": [\n' + cells + b"\n ]")


def _commas_first(value: Json) -> bytes:
    cells = b"\n, ".join(map(_dumped, value["cells"]))
    rest = b', "metadata" : {}\n, "nbformat" : 4\n, "nbformat_minor" : 5 }'
    return b'{ "cells" : [\n' + cells + b"\n]" + rest


def _dumped(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
