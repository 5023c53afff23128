"""Run All does not ask the model twice."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from time import tzset
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from shiro_jupyter.core.errors import UsageError
from shiro_jupyter.core.policy.redactor import Redactor
from shiro_jupyter.core.workspace.project import Project
from shiro_jupyter.kernel.rerun import KEPT, Answers, Cell, Recorded, Runs, cell_of, is_live
from tests.support.kernels import ROOT, Kernel, running_kernel
from tests.support.scripts import script


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def runs(tmp_path: Path, time: Time) -> Runs:
    answers = Answers(tmp_path / "answers", Project(tmp_path, tmp_path / "a.ipynb"))
    return Runs(answers, time)


def cell(name: str, sent: float, started: float, request: str = "") -> Cell:
    return Cell(name, request or f"{name}-{sent}", sent, started)


# -- what is recorded ---------------------------------------------------------------------------


def test_what_is_recorded_holds_no_secret(tmp_path: Path) -> None:
    answers = Answers(tmp_path, Project(tmp_path), Redactor(["plain-old-word"]))
    answers.add(Recorded("k", "", "", "try plain-old-word", "it is plain-old-word", "now"))
    assert b"plain-old-word" not in answers.path.read_bytes()
    found = answers.find("k")
    assert found and (found.prompt, found.answer) == (
        "try [redacted: key]",
        "it is [redacted: key]",
    )


def test_an_answer_belongs_to_its_cell(runs: Runs) -> None:
    one, two = cell("one", 1, 1), cell("two", 1, 1)
    key = runs.key("count the rows", one)
    runs.record(key, one, "count the rows", "12 rows")
    found = runs.recorded(key, one, person=True)
    assert found is not None
    assert found.answer == "12 rows"
    assert runs.answers.path.stat().st_mode & 0o077 == 0
    assert runs.recorded(key, two, person=True) is None
    assert runs.recorded(runs.key("count them", one), one, person=True) is None
    assert runs.recorded(key, cell("", 1, 1), person=True) is None  # a terminal names no cells


def test_without_a_person_the_notebooks_own_answer_comes_first(tmp_path: Path, time: Time) -> None:
    folder = tmp_path / "answers"
    runs = {
        name: Runs(Answers(folder, Project(tmp_path, notebook)), time)
        for name, notebook in (
            ("a", tmp_path / "a.ipynb"),
            ("b", tmp_path / "b.ipynb"),
            ("unknown", None),
        )
    }
    asked = cell("one", 1, 1)
    key = runs["a"].key("why", asked)
    for name in "ab":
        runs[name].record(key, asked, "why", f"said in {name}")
    nameless = cell("", 2, 2)
    for name, told in (("a", "said in a"), ("b", "said in b"), ("unknown", "said in b")):
        found = runs[name].recorded(key, nameless, person=False)
        assert found is not None
        assert found.answer == told


def test_without_a_person_nothing_recorded_is_said(runs: Runs) -> None:
    with pytest.raises(UsageError, match="SHIRO_LIVE=1"):
        runs.recorded("key", cell("one", 1, 1), person=False)


@pytest.mark.parametrize(
    ("said", "asked", "live"),
    [
        ("", False, False),
        ("", True, True),
        ("0", False, False),
        ("1", False, True),
        ("never", False, False),
        ("never", True, False),
    ],
)
def test_what_calls_the_model_though_an_answer_is_recorded(
    said: str, asked: bool, live: bool
) -> None:
    assert is_live({"SHIRO_LIVE": said}, asked) is live
    assert is_live({}, asked) is asked


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_the_time_is_told_by_the_clock_of_the_machine(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    tzset()
    try:
        recorded = Recorded("k", "", "one", "", "answer", "2026-11-30T05:46:10+00:00")
        assert recorded.when == {"UTC": "2026-11-30 05:46", "Asia/Tokyo": "2026-11-30 14:46"}[zone]
        assert Recorded("k", "", "one", "", "answer", "whenever").when == "whenever"
    finally:
        monkeypatch.undo()
        tzset()


def test_equal_prompts_of_one_cell_are_told_apart(runs: Runs) -> None:
    first = cell("one", 1, 1, request="r1")
    keys = [runs.key("why", first) for _ in range(3)]
    assert len(set(keys)) == 3
    again = cell("one", 2, 2, request="r2")
    assert [runs.key("why", again) for _ in range(3)] == keys


def test_old_answers_make_room_and_damage_is_no_end(runs: Runs) -> None:
    asked = cell("one", 1, 1)
    full = [asdict(Recorded(f"k{n}", "", "one", "", "answer", "")) for n in range(KEPT)]
    runs.answers.path.parent.mkdir()
    runs.answers.path.write_text(json.dumps(full))
    for number in range(KEPT, KEPT + 5):
        runs.answers.add(Recorded(f"k{number}", "", "one", "", "answer", ""))
    assert runs.answers.find("k4") is None
    assert runs.answers.find(f"k{KEPT + 4}") is not None
    runs.answers.path.write_text('[{"key": 1}, 5, {"odd"')
    assert runs.recorded("k9", asked, person=True) is None
    runs.record("k9", asked, "", "back")
    assert runs.recorded("k9", asked, person=True) is not None


# -- once a run ---------------------------------------------------------------------------------


def test_one_choice_holds_for_what_was_sent_before_it(runs: Runs, time: Time) -> None:
    sent = time.now
    assert runs.choice(cell("one", sent, sent)) is None
    time.now += 20  # the person thinks it over
    runs.choose("show")
    time.now += 100
    assert runs.choice(cell("two", sent + 0.1, time.now)) == "show"
    assert runs.choice(cell("three", time.now, time.now)) is None


def test_and_for_a_front_end_that_sends_cell_by_cell(runs: Runs, time: Time) -> None:
    runs.choose("run")
    time.now += 60
    runs.cell_ended()
    time.now += 0.1
    assert runs.choice(cell("two", time.now, time.now)) == "run"
    time.now += 5
    assert runs.choice(cell("three", time.now, time.now)) is None


def test_the_cell_is_read_from_its_request() -> None:
    found = cell_of({"msg_id": "m", "date": "2026-11-30T05:00:00.000Z"}, "id", 5.0)
    assert (found.cell, found.request, found.started) == ("id", "m", 5.0)
    assert found.sent == 1796014800.0
    assert cell_of({"date": "yesterday"}, "", 5.0).sent == 5.0


# -- in a kernel --------------------------------------------------------------------------------


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with running_kernel(folder=tmp_path, **settings(tmp_path)) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def settings(folder: Path) -> dict[str, str]:
    home, model = str(folder / "home"), script(folder, *STEPS)
    return {"SHIRO_HOME": home, "SHIRO_MODEL": model, "SHIRO_VIEW": "text"}


# Played in order: a second request for the same prompt gets another answer.
STEPS = [{"text": f"answer {number}"} for number in range(1, 9)]


def ask(kernel: Kernel, line: str, cell_id: str, asked: list[str], answer: str = "") -> str:
    def stdin(prompt: str) -> str:
        asked.append(prompt)
        return answer

    outputs = kernel.run(line, cell_id=cell_id, stdin=stdin)
    assert outputs.status == "ok", outputs.reply
    return outputs.stdout


@pytest.mark.kernel
def test_a_cell_run_again_asks_once_a_run(kernel: Kernel) -> None:
    asked: list[str] = []
    assert "answer 1" in ask(kernel, "%shiro one", "a", asked)
    assert "answer 2" in ask(kernel, "%shiro two", "b", asked)
    assert asked == []
    # Run All: both are sent before the person answers for the first.
    requests = [kernel.send(f"r = %shiro {word}", cell_id=name) for word, name in RUN_ALL]
    outputs = [kernel.finish(each, stdin=lambda p: (asked.append(p), "")[1]) for each in requests]
    assert len(asked) == 1
    assert "show the recorded answer" in asked[0]
    assert "no new variables, no figures" in asked[0]
    assert re.search(r"\(\d{4}-\d\d-\d\d \d\d:\d\d\)", asked[0])
    assert [each.stdout.splitlines()[0] for each in outputs] == ["answer 1", "answer 2"]
    assert kernel.value("r.answer, r.outcome, r.recorded") == "('answer 2', 'answered', True)"


RUN_ALL = [("one", "a"), ("two", "b")]


@pytest.mark.kernel
def test_the_person_may_have_it_run_again(kernel: Kernel) -> None:
    asked: list[str] = []
    ask(kernel, "%shiro one", "a", asked)
    assert "answer 2" in ask(kernel, "%shiro one", "a", asked, "r")
    assert len(asked) == 1
    assert "answer 3" in ask(kernel, "%shiro --live one", "a", asked)
    assert "answer 4" in ask(kernel, "%shiro one, changed", "a", asked)
    assert "answer 5" in ask(kernel, "%shiro one", "another cell", asked)
    assert len(asked) == 1


@pytest.mark.kernel
def test_a_console_never_asks(kernel: Kernel) -> None:
    asked: list[str] = []
    assert "answer 1" in ask(kernel, "%shiro one", "", asked)
    assert "answer 2" in ask(kernel, "%shiro one", "", asked)
    assert asked == []


@pytest.mark.kernel
def test_a_run_without_a_person_shows_what_is_recorded(kernel: Kernel, tmp_path: Path) -> None:
    ask(kernel, "%shiro one", "a", [])
    cells = ["%load_ext shiro_jupyter", "r = %shiro one", "print(r.answer)"]
    notebook = executed(tmp_path, cells)
    assert notebook.cells[2].outputs[0].text == "answer 1\n"
    assert "recorded" in notebook.cells[1].outputs[0].text
    with pytest.raises(CellExecutionError, match="No answer is recorded"):
        executed(tmp_path, ["%load_ext shiro_jupyter", "%shiro never asked"])
    live = executed(tmp_path, cells, SHIRO_LIVE="1")
    assert live.cells[2].outputs[0].text == "answer 1\n"  # the first step of a new kernel
    assert "recorded" not in str(live.cells[1].outputs)


def executed(folder: Path, cells: list[str], **environment: str) -> Any:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(each) for each in cells]
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(folder)}})
    told = {**os.environ, "PYTHONPATH": str(ROOT), **settings(folder), **environment}
    client.execute(env=told)
    return notebook
