from __future__ import annotations

from pathlib import Path

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
