"""The bench of questions: how it judges, and a few of them asked of the real small model."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest

from tests.bench.questions import ALSO, Asked, Bench, questions, run
from tests.support.model_files import needs_model


@pytest.mark.parametrize(
    ("answer", "expect", "right"),
    [
        ("orders has 318 rows.", [318], True),
        ("orders has 1,318 rows.", [318], False),
        ("orders has 318.5 rows.", [318], False),
        ("The mean is 24.6087.", [24.61], True),
        ("The mean is 24.6.", [24.61], False),
        ("It costs 12,50 EUR.", [r"12[.,]50?\b"], True),
        ("C056 and C034", [56], False),
        ("9 rows and 3 columns", [9, 3], True),
        ("9 rows", [9, 3], False),
    ],
)
def test_an_answer_is_right_where_it_holds_all_that_is_expected(
    answer: str, expect: list[int | float | str], right: bool
) -> None:
    assert Asked("?", expect).is_right(answer) is right


def test_there_are_ten_questions_and_ten_more() -> None:
    assert len(questions()) == len(ALSO) == 10
    assert not any(each.is_right("I do not know.") for each in (*questions(), *ALSO))


class TestSmallModel:
    pytestmark: ClassVar = [*needs_model, pytest.mark.slow, pytest.mark.timeout(600)]

    def test_it_answers_from_a_variable_a_folder_and_the_memory(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """One of three may fail it: a model of this size is right nine times in ten."""
        asked = [questions()[at] for at in (2, 4, 7)]
        bench = Bench("0.5b", tmp_path)
        try:
            right = asyncio.run(run(bench, asked))
        finally:
            bench.close()
        printed = capsys.readouterr().out
        assert right >= 2, printed
        assert printed.count("inspect_variable(") and printed.count("list_dir(.)")
