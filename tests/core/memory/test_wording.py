from __future__ import annotations

import pytest

from shiro_jupyter.core.memory.wording import read


def test_a_reason_and_brackets_are_no_part_of_what_is_said() -> None:
    plain = read("we drop rows from 2020")[0]
    for more in (", covid", " because covid distorted demand", " - bad export", " (covid)"):
        said, whole = read(f"we drop rows from 2020{more}")
        assert (said.words, said.negative) == (plain.words, True)
        assert not said.whole and whole.terms > said.terms


@pytest.mark.parametrize("text", ["In workflows, use dbt", "if R is old, update", "Yeah, go on"])
def test_what_only_leads_in_is_not_read_alone(text: str) -> None:
    said, whole = read(text)
    assert said is whole and len(said.terms) > 1


@pytest.mark.parametrize(
    ("text", "negative"),
    [
        ("keep the outliers", False),
        ("drop the outliers", True),
        ("never drop the outliers", False),
        ("don’t keep the outliers", True),
        ("behalten, nicht löschen", False),
    ],
)
def test_two_denials_are_none(text: str, negative: bool) -> None:
    assert read(text)[1].negative is negative


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pytest -n4", ("pytest", "-n", "4")),
        ("needs 16GB", ("need", "16", "gb")),
        ("5-fold CV", ("5", "fold", "cv")),
        ("sep=';'", ("sep", "=", ";")),
        ("alpha=.05", ("alpha", "=", ".05")),
        ("owner: Anna", ("owner", ":", "anna")),
        ("Anna is the owner of the list", ("anna", "is", "the", "owner", "of", "list")),
        ("data/raw.csv ist in UTC.", ("data/raw.csv", "is", "in", "utc")),
        ("? - ...", (",",)),
    ],
)
def test_numbers_flags_and_names_are_words_of_their_own(text: str, words: tuple[str, ...]) -> None:
    assert read(text)[1].words == words


@pytest.mark.parametrize(("text", "order"), [("run it", "run"), ("the run", ""), ("runs", "")])
def test_an_article_or_a_plural_is_no_order(text: str, order: str) -> None:
    assert read(text)[0].order == order
