from __future__ import annotations

from pathlib import Path

from shiro_jupyter.core.workspace.project import Project
from shiro_jupyter.kernel.rerun import Answers, Cell, Runs
from shiro_jupyter.kernel.saved_answers import SavedAnswers


def test_a_turn_takes_what_it_showed_and_that_it_did_is_seen(tmp_path: Path) -> None:
    given = SavedAnswers(tmp_path / "answers")
    given.hand(["one", "two ü\udcff"])
    assert not given.passed_over()
    assert [given.take(turn) for turn in (1, 0, 2)] == ["two ü\udcff", "one", ""]
    assert given.passed_over()
    given.hand([])
    assert not given.passed_over()
    assert given.take(0) == ""


def test_without_the_file_there_is_no_answer(tmp_path: Path) -> None:
    gone = SavedAnswers(tmp_path / "gone" / "answers")
    gone.hand(["lost"])
    assert gone.take(0) == ""
    assert not gone.passed_over()


def test_turns_are_counted_by_cell_whether_or_not_an_answer_is_recorded(tmp_path: Path) -> None:
    saved = SavedAnswers(tmp_path / "saved")
    runs = Runs(Answers(tmp_path / "answers", Project(tmp_path)), lambda: 0.0, saved)
    one, two = (Cell("", request, 0.0, 0.0) for request in ("r1", "r2"))
    runs.record(runs.key("known", two), two, "known", "recorded")
    saved.hand(["a", "b", "c"])
    found = [
        runs.recorded(runs.key(asked, one), one, person=False) for asked in ("x", "known", "x")
    ]
    assert [each and each.answer for each in found] == ["a", "recorded", "c"]
    assert [bool(each and each.at) for each in found] == [False, True, False]
    again = runs.recorded(runs.key("x", two), two, person=False)
    assert again
    assert again.answer == "a"
