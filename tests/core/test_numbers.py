"""A number that is typed is read in one way everywhere, and no length of it is too much."""

from __future__ import annotations

import pytest

from shiro_jupyter.core.numbers import whole_number


@pytest.mark.parametrize(
    ("typed", "number"), [("0", 0), (" 12 ", 12), ("007", 7), ("٣", 3), ("999999999", 999_999_999)]
)
def test_a_number_is_read(typed: str, number: int) -> None:
    assert whole_number(typed) == number


@pytest.mark.parametrize("typed", ["", " ", "-1", "+1", "1.0", "1_000", "²", "one", "9" * 5_000])
def test_what_is_none_is_none(typed: str) -> None:
    assert whole_number(typed) is None
