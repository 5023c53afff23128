"""The token estimate, against counts that tokenizers gave for the samples beside this test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.context.tokens import (
    Calibration,
    Measure,
    Vocabulary,
    estimate,
    estimate_item,
)
from shiro_jupyter.core.transcript import Call, Reasoning, Result, User

SAMPLES = Path(__file__).with_name("samples")
COUNTS: dict[str, dict[Vocabulary, int]] = json.loads((SAMPLES / "counts.json").read_text())[
    "counts"
]
# Code, prose, tables, logs and notebooks in English; of other languages less is known.
OTHER = {"german.txt": 0.15}


def text_of(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def test_every_sample_is_counted() -> None:
    assert sorted(COUNTS) == sorted(p.name for p in SAMPLES.iterdir() if p.name != "counts.json")


@pytest.mark.parametrize("vocabulary", get_args(Vocabulary))
@pytest.mark.parametrize("name", COUNTS)
def test_an_estimate_is_near_what_a_tokenizer_counts(name: str, vocabulary: Vocabulary) -> None:
    counted = COUNTS[name][vocabulary]
    assert estimate(text_of(name), vocabulary) == pytest.approx(counted, rel=OTHER.get(name, 0.1))


@pytest.mark.parametrize("vocabulary", get_args(Vocabulary))
def test_samples_together_are_nearer_still(vocabulary: Vocabulary) -> None:
    counted = sum(counts[vocabulary] for counts in COUNTS.values())
    told = sum(estimate(text_of(name), vocabulary) for name in COUNTS)
    assert told == pytest.approx(counted, rel=0.03)


def test_the_cautious_line_counts_digits_one_by_one() -> None:
    assert estimate("1234567890" * 10) == 100
    assert estimate("1234567890" * 10, "o200k") == 34


def test_a_space_goes_with_the_word_behind_it_and_with_no_digit() -> None:
    assert estimate("") == 0
    assert estimate("a        b") == estimate("a  b") > estimate("a b") == 2
    assert estimate("a 1 2 3 4") - estimate("a1234") == round(4 * 1.42)
    assert estimate("internationalisation") > estimate("nation")


def test_an_estimate_takes_no_longer_a_character_for_any_text() -> None:
    for text in ("\n" + " " * 300_000, "(" * 300_000, ("\n" + " " * 3_000) * 100, "─" * 300_000):
        assert estimate(text) < len(text)


def test_items_count_what_goes_on_the_wire() -> None:
    assert estimate_item(User("hello there")) == 4 + estimate("hello there")
    assert estimate_item(Call("c", "look", '{"path": "."}')) > estimate('{"path": "."}')
    assert estimate_item(Result("c", "ok", "")) > 4
    assert estimate_item(Reasoning("", encrypted="x" * 400)) == 104
    assert estimate_item(Reasoning("Long thoughts that no endpoint is sent back.")) == 0


def test_before_a_count_an_estimate_stands() -> None:
    fresh = Calibration()
    assert fresh.tokens(1000) == 1000 and fresh.estimate_for(1000) == 1000
    fresh.saw(1000, 0)  # a provider that counts nothing says nothing
    assert fresh.tokens(1000) == 1000 and fresh.ratio == 1.0


def test_what_was_counted_counts_and_what_was_added_is_estimated_by_the_ratio_seen() -> None:
    calibration = Calibration()
    calibration.saw(1000, 1300)
    assert calibration.tokens(1000) == 1300
    assert calibration.tokens(1200) == 1300 + 260
    assert calibration.tokens(500) == 650  # compacted meanwhile


@pytest.mark.parametrize(("counted", "ratio"), [(10_000, 2.0), (100, 0.5), (1_500, 1.5)])
def test_a_ratio_has_bounds(counted: int, ratio: float) -> None:
    calibration = Calibration()
    calibration.saw(1000, counted)
    assert calibration.ratio == ratio
    assert calibration.tokens(1000) == counted
    assert calibration.tokens(1100) == counted + 100 * ratio


@given(
    estimated=st.integers(1, 10**6),
    counted=st.integers(1, 10**6),
    asked=st.integers(0, 10**6),
    more=st.integers(0, 1000),
)
def test_calibration_runs_both_ways(estimated: int, counted: int, asked: int, more: int) -> None:
    calibration = Calibration()
    calibration.saw(estimated, counted)
    assert calibration.tokens(asked) <= calibration.tokens(asked + more)
    room = calibration.estimate_for(asked)
    assert calibration.tokens(room) <= asked + 1
    assert calibration.tokens(room + 2) >= asked - 1


def test_a_text_that_comes_again_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []

    def counted(text: str, vocabulary: Vocabulary) -> int:
        measured.append(text)
        return estimate(text, vocabulary)

    monkeypatch.setattr("shiro_jupyter.core.context.tokens.estimate", counted)
    measure, items = Measure(), [User(f"prompt {n}") for n in range(5)]
    for end in range(6):
        told = [measure.item(item) for item in items[:end]]
        assert told == [4 + estimate(item.text) for item in items[:end]]
        assert measure.text("system") == estimate("system")
        assert measure.schema({"type": "object"}) == 4 + estimate('{"type": "object"}')
    assert len(measured) == 5 + 2


def test_each_model_has_its_own_calibration() -> None:
    measure = Measure()
    measure.of("a").saw(100, 150)
    assert measure.of("a").tokens(100) == 150 and measure.of("b").tokens(100) == 100
