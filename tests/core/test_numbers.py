"""A number that is typed is read in one way everywhere, and no length of it is too much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.numbers import common_limit, whole_number


@pytest.mark.parametrize(
    ("typed", "number"), [("0", 0), (" 12 ", 12), ("007", 7), ("٣", 3), ("999999999", 999_999_999)]
)
def test_a_number_is_read(typed: str, number: int) -> None:
    assert whole_number(typed) == number


@pytest.mark.parametrize("typed", ["", " ", "-1", "+1", "1.0", "1_000", "²", "one", "9" * 5_000])
def test_what_is_none_is_none(typed: str) -> None:
    assert whole_number(typed) is None


def test_a_budget_is_shared_out_so_that_small_ones_stay_whole() -> None:
    assert common_limit([], 10) == 0
    assert common_limit([1, 2, 3], 10) == 3
    assert common_limit([1, 50, 60], 21) == 10
    assert common_limit([50, 60, 70], 30) == 10


@given(st.lists(st.integers(0, 1000)), st.integers(0, 5000))
def test_what_is_cut_to_the_limit_fits_and_leaves_little_over(
    sizes: list[int], budget: int
) -> None:
    limit = common_limit(sizes, budget)
    used = sum(min(size, limit) for size in sizes)
    assert used <= max(budget, 0)
    assert limit == max(sizes, default=0) or budget - used < len(sizes)
