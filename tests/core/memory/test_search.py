from __future__ import annotations

from collections import Counter

import pytest

from shiro_jupyter.core.memory.search import Field, stem, terms


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("drop", "dropped"),
        ("row", "rows"),
        ("price", "pricing"),
        ("company", "companies"),
        ("class", "classes"),
        ("miss", "missing"),
        ("box", "boxes"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["bus", "this", "ring", "bring", "red", "2023", "größen"])
def test_what_only_looks_like_a_form_stays(word: str) -> None:
    assert stem(word) == word


def test_words_are_parts_without_stop_words() -> None:
    assert terms("Why did we drop the 2023 rows? (snake_case, a-b.c)") == [
        "drop",
        "2023",
        "row",
        "snak",
        "cas",
        "b",
        "c",
    ]
    assert terms("Ändere die Größe; don't touch Anna’s table") == [
        "ander",
        "die",
        "gross",
        "touch",
        "anna",
        "tabl",
    ]


def test_names_give_their_parts_and_camel_case_itself_too() -> None:
    assert terms("order_date load.py orderTotals HTTPServer") == [
        *["order", "dat", "load", "py"],
        *["ordertotal", "order", "total", "httpserver", "http", "server"],
    ]


def test_a_script_without_spaces_gives_neighbours() -> None:
    assert terms("注文データ") == ["注文", "文デ", "デー", "ータ"]


def scores(query: str, *texts: str) -> list[float]:
    field = Field([Counter(terms(text)) for text in texts])
    return field.scores(dict.fromkeys(terms(query), 1.0))


def test_rare_words_short_texts_and_repeats_weigh_more() -> None:
    found = scores("red fox", "red fox", "red dog", "red fox in a long tale of its woods")
    assert found[0] > found[2] > found[1] > 0
    once, twice = scores("fox", "fox and a hare", "fox and a fox")
    assert twice > once
    assert scores("zebra", "red fox", "red dog") == [0.0, 0.0]


def test_an_empty_field_and_empty_documents_answer() -> None:
    assert scores("x") == []
    assert scores("x", "", "") == [0.0, 0.0]
    assert Field([]).share("x") == Field([]).rarity("x") == 0.0


def test_a_field_tells_how_common_a_word_is() -> None:
    field = Field([{"a": 1.0}, {"a": 1.0, "b": 2.0}])
    assert (field.share("a"), field.share("b")) == (1.0, 0.5)
    assert field.rarity("b") > field.rarity("a") > 0


def test_whole_words_only() -> None:
    assert scores("art", "chart of parts") == [0.0]
