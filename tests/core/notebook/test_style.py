"""What is read off a notebook's text, so that what is new is written alike."""

from __future__ import annotations

import pytest

from shiro_jupyter.core.notebook.scan import scan
from shiro_jupyter.core.notebook.style import Style, cell_style, style_of

USUAL = Style(None, "", "", "", ", ", ": ", False)


@pytest.mark.parametrize(
    ("text", "style"),
    [
        ('{"a": 1}', USUAL),
        ('{"a": 1, "b": 2}', USUAL),
        ('{"a":1,"b":2}', Style(None, "", "", "", ",", ":", False)),
        ('{\n "a": 1\n}', Style(" ", "\n", "", " ", ",", ": ", False)),
        ('{\r\n\t"a": 1, \r\n\t"b": 2\r\n}', Style("\t", "\r\n", "", "\t", ", ", ": ", False)),
        ('{\n"a" : 1,\n"b" : 2\n}', Style("", "\n", "", "", ",", " : ", False)),
        ('{\n    "a": 1,\n    "b": 2\n  }', Style("  ", "\n", "  ", "    ", ",", ": ", False)),
        # What no writer makes falls back to what most do.
        ('{\n "a"\n:\n1\n, "b": 2\n    }', Style(" ", "\n", "    ", " ", ",", ": ", False)),
        # Of a key that stands there twice the last counts; the layout is that of what is there.
        ('{\n "a": 1,\n "a": 2\n}', Style(" ", "\n", "", " ", ",", ": ", False)),
        ('{"a":1,"b":2,"a":3}', Style(None, "", "", "", ",", ":", False)),
    ],
)
def test_layout(text: str, style: Style) -> None:
    assert style_of(text, scan(text)) == style


def test_the_first_cell_of_a_notebook_is_two_levels_in() -> None:
    text = '{\n  "cells": []\n}'
    assert cell_style(text, scan(text)) == Style("  ", "\n", "    ", "      ", ",", ": ", False)
    assert cell_style('{"cells": []}', scan('{"cells": []}')) == USUAL


@pytest.mark.parametrize(
    ("content", "escapes"),
    [
        ("", False),
        ("é", False),
        (r"\u00e9", True),
        (r"\u00E9", True),
        (r"\\\u65e5", True),
        (r"\ud83d\ude00", True),
        (r"\u0080", True),
        (r"\u001b\u007f", False),  # they are escaped everywhere
        (r"\\u00e9", False),
        (r"\\\\u00e9 \n\\", False),
        (r"\u00e9 é", False),
    ],
)
def test_whether_characters_are_written_as_escapes(content: str, escapes: bool) -> None:
    text = f'{{"a": "{content}"}}'
    style = style_of(text, scan(text))
    assert style.ascii is escapes
    assert style.written("é", "") == (r'"\u00e9"' if escapes else '"é"')
