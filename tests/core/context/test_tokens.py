"""The token estimate, against counts that tokenizers gave for these texts."""

from __future__ import annotations

import pytest

from shiro_jupyter.core.context.tokens import Vocabulary, estimate, estimate_item, estimate_schema
from shiro_jupyter.core.transcript import Call, Reasoning, Result, User

TABLE = "\n".join(f"{n:4d}  {n * 1.2345:10.4f}  {n * 7919 % 10007:6d}" for n in range(200))
PROSE = "The shop sells tea from four regions, and most orders come in the autumn. " * 40


@pytest.mark.parametrize("vocabulary", ["o200k", "qwen3"])
def test_a_table_costs_far_more_a_byte_than_prose(vocabulary: Vocabulary) -> None:
    def rate(text: str) -> float:
        return len(text.encode()) / estimate(text, vocabulary)

    assert 4.0 < rate(PROSE) < 5.2
    assert 0.9 < rate(TABLE) < 2.2


def test_the_cautious_line_counts_digits_one_by_one() -> None:
    assert estimate("1234567890" * 10) > 1.4 * estimate("1234567890" * 10, "o200k")


def test_long_words_spaces_and_foreign_letters_count() -> None:
    assert estimate("") == 0
    assert estimate("internationalisation") > estimate("nation")
    assert estimate("a        b") == estimate("a  b") > estimate("a b")
    assert estimate("数据" * 50) == round(100 * 0.51)


def test_items_count_what_goes_on_the_wire() -> None:
    assert estimate_item(User("hello there")) == 4 + estimate("hello there")
    assert estimate_item(Call("c", "look", '{"path": "."}')) > estimate('{"path": "."}')
    assert estimate_item(Result("c", "ok", "")) > 4
    assert estimate_item(Reasoning("", encrypted="x" * 400)) == 104
    assert estimate_schema({"type": "object", "description": "x " * 50}) > 50
