from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments
from shiro_jupyter.core.events import Answer
from shiro_jupyter.core.tools.ask import NOBODY, Ask
from tests.support.tools import Bench


def test_a_choice_and_own_words_reach_the_model(tmp_path: Path) -> None:
    for choice, words, said in (
        ("2023", "", "2023"),
        ("", "the fiscal year", "the fiscal year"),
        ("2023", "but only Q1", "2023: but only Q1"),
        ("", "", "The person gave an empty answer."),
    ):
        bench = Bench(tmp_path, lambda question, c=choice, w=words: Answer(question.id, c, w))
        result = bench.run(Ask(), question="Which year?", choices=["2022", "2023"])
        assert (result.outcome, result.text) == ("ok", said)
        (question,) = bench.questions
        assert (question.kind, question.title) == ("ask", "Which year?")
        assert question.choices == ("2022", "2023")
        assert question.call_id == "call_1"


def test_where_nobody_is_there_the_model_is_told_and_goes_on(tmp_path: Path) -> None:
    result = Bench(tmp_path).run(Ask(), question="Which year?")
    assert (result.outcome, result.text) == ("ok", NOBODY)


@pytest.mark.parametrize("choices", [[""], [" \n"], ["x" * 201], ["x"] * 11])
def test_a_choice_is_a_few_words_and_there_are_a_few(tmp_path: Path, choices: list[str]) -> None:
    with pytest.raises(InvalidArguments, match="choices"):
        Bench(tmp_path).run(Ask(), question="Which?", choices=choices)


def test_choices_are_taken_up_to_their_bounds(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(Ask(), question="Which?", choices=[" x ", *["y" * 200] * 9])
    assert bench.questions[0].choices == ("x", *["y" * 200] * 9)
