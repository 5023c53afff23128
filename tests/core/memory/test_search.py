from __future__ import annotations

import pytest

from shiro_jupyter.core.memory.search import scores, stem, terms


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
        "ändere",
        "die",
        "grösse",
        "touch",
        "anna",
        "tabl",
    ]


def test_rare_words_short_texts_and_repeats_weigh_more() -> None:
    documents = [
        terms(text) for text in ("red fox", "red dog", "red fox in a long tale of its woods")
    ]
    rare = scores(terms("red fox"), documents)
    assert rare[0] > rare[2] > rare[1] > 0
    assert scores(terms("zebra"), documents) == [0.0, 0.0, 0.0]
    assert scores(["x"], []) == []
    assert scores(["x"], [[], []]) == [0.0, 0.0]


def test_whole_words_only() -> None:
    assert scores(terms("art"), [terms("chart of parts")]) == [0.0]
