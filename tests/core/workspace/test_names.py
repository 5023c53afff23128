from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.workspace.names import named, printable


def test_a_name_is_one_line_that_any_wire_carries() -> None:
    hostile: Any = "a\nb\x1b[31m\udcff\u2800 é 日"
    assert printable(hostile) == "a\\nb\\x1b[31m\\xff\\u2800 é 日"
    assert printable("\xa0\x85\U000e0001") == r"\u00a0\u0085\U000e0001"


@given(st.binary(max_size=12).map(os.fsdecode) | st.text(max_size=12))
def test_a_name_as_it_was_shown_is_that_name(name: str) -> None:
    name = name.replace("\\", "").replace("\0", "")
    shown = printable(name)
    assert named(shown) == name and shown.isprintable()


@pytest.mark.parametrize("shown", [r"\x00", r"\ud800", r"\U00110000", r"a\b", r"\xzz", "\\"])
def test_what_is_no_name_as_it_was_shown_stays_as_it_is(shown: str) -> None:
    assert named(shown) == shown
