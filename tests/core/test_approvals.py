"""What a person is asked in a turn, and what their answer covers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.events import ALLOW, ALLOW_SESSION, DENY, Answer, Question
from shiro_jupyter.core.models.scripted import ScriptedCall, Step
from shiro_jupyter.core.policy.gate import Gate, Mode
from shiro_jupyter.core.policy.reach import ELSEWHERE, NETWORK
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.transcript import Result
from tests.support.agents import Stage

# Named like what fetches, so that no test speaks to the network.
FETCHES = "curl() { echo words of others; }; curl x"


def bash(command: str) -> ScriptedCall:
    return ScriptedCall("bash", {"command": command})


def play(root: Path, *calls: ScriptedCall, answers: str = "", **options: Any) -> Stage:
    """One turn of these calls; the person's answers are `y`, `s` and `n`, and no other question is
    asked."""
    said = iter(answers)

    def person(question: Question) -> Answer:
        choice = {"y": ALLOW, "s": ALLOW_SESSION, "n": DENY}[next(said)]
        assert choice in question.choices
        return Answer(question.id, choice)

    async def run() -> Stage:
        steps = [*(Step(calls=[call]) for call in calls), Step("Done.")]
        stage = Stage(root / "project", steps, person=person, **options)
        await stage.agent.submit("go")
        await stage.check_whole()
        return stage

    stage = asyncio.run(run())
    assert not list(said), "not all was asked"
    return stage


def test_what_the_network_says_taints_the_session(tmp_path: Path) -> None:
    gate = Gate("yolo", Rules.parse(allow=["*"]))
    again = bash(FETCHES)
    stage = play(tmp_path, again, again, bash("touch a"), bash("touch /x"), gate=gate, answers="yn")
    assert stage.session.tainted == {NETWORK}
    assert stage.outcomes() == ["ok", "ok", "ok", "refused"]
    assert [question.choices for question in stage.asked] == [(ALLOW, DENY)] * 2
    assert f"words of others ({NETWORK})" in stage.asked[0].title


def test_what_was_granted_before_does_not_hold_in_a_tainted_session(tmp_path: Path) -> None:
    calls = [bash("pip list"), bash("pip install"), bash(FETCHES), bash("pip install")]
    stage = play(tmp_path, *calls, answers="ssyn")
    assert [len(question.choices) for question in stage.asked] == [3, 3, 3, 2]
    assert stage.outcomes()[2:] == ["ok", "refused"]


def test_files_elsewhere_taint_it_and_those_of_the_project_do_not(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/a").write_text("ours")
    (tmp_path / "b").write_text("theirs")
    inside = [bash("cat a"), ScriptedCall("read_file", {"path": "a"})]
    assert not play(tmp_path, *inside, gate=Gate("yolo")).session.tainted
    stage = play(tmp_path, bash("cat ../b"), gate=Gate("yolo"))
    assert stage.session.tainted == {ELSEWHERE}


def test_what_is_refused_taints_nothing(tmp_path: Path) -> None:
    assert not play(tmp_path, bash(FETCHES), answers="n").session.tainted
    denying = Gate("yolo", Rules.parse(deny=["bash(curl *)"]))
    assert not play(tmp_path, bash(FETCHES), gate=denying).session.tainted


def test_arguments_that_changed_ask_again(tmp_path: Path) -> None:
    calls = [
        bash(command) for command in ("echo a", "echo b", "echo a", "echo a; echo b", "echo b")
    ]
    stage = play(tmp_path, *calls, answers="nysnn")
    assert stage.outcomes() == ["refused", "ok", "ok", "refused", "refused"]


def test_a_grant_covers_neither_the_parts_of_a_compound_nor_a_longer_one(tmp_path: Path) -> None:
    commands = ("echo a; echo b", "echo a", "echo a; echo b; echo c", "echo a; echo b", "echo b")
    stage = play(tmp_path, *map(bash, commands), answers="snnn")
    assert stage.outcomes() == ["ok", "refused", "refused", "ok", "refused"]


def test_a_grant_to_write_a_file_is_for_that_file(tmp_path: Path) -> None:
    def write(path: str, content: str) -> ScriptedCall:
        return ScriptedCall("write_file", {"path": path, "content": content})

    stage = play(
        tmp_path, write("a", "1\n"), write("a", "2\n"), write("./a", "3\n"), write("b", "1\n"),
        answers="sn",
    )  # fmt: skip
    assert stage.outcomes() == ["ok", "ok", "ok", "refused"]
    assert (tmp_path / "project/a").read_text() == "3\n"
    assert not (tmp_path / "project/b").exists()


# -- plan mode -------------------------------------------------------------------------------

TRIES = [
    *map(
        bash,
        [
            "touch x",
            "echo x > x",
            "cat > x <<'EOF'\nx\nEOF",
            "git init; git commit --allow-empty -m x",
            'python -c \'open("x", "w")\'',
            "sed -i s/a/b/ kept",
            "rm kept",
            "ls",
            "ls | xargs rm",
            "find . -delete",
            "(sleep 0; touch x) &",
            "$(echo touch) x",
        ],
    ),
    ScriptedCall("bash", {"command": "touch x", "background": True}),
    ScriptedCall("write_file", {"path": "x", "content": "x"}),
    ScriptedCall("write_file", {"path": "kept", "content": "x"}),
    ScriptedCall("edit_file", {"path": "kept", "old_text": "a", "new_text": "b"}),
    ScriptedCall("multi_edit", {"path": "kept", "edits": [{"old_text": "a", "new_text": "b"}]}),
    ScriptedCall("write_file", {"path": ".shiro/config.toml", "content": "mode = 'yolo'"}),
]


def files(root: Path) -> dict[str, bytes]:
    return {str(each): each.read_bytes() for each in sorted(root.rglob("*")) if each.is_file()}


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/kept").write_text("a")
    before = files(tmp_path)
    yield tmp_path
    assert files(tmp_path) == before


def test_plan_mode_changes_nothing_whatever_the_model_tries(kept: Path) -> None:
    rules = Rules.parse(allow=["*", "bash(*)", "write(*)"])
    stage = play(kept, *TRIES, gate=Gate("plan", rules))
    results = [item for item in stage.session.items if isinstance(item, Result)]
    assert [each.outcome for each in results] == ["refused"] * len(TRIES)
    assert all("Plan mode" in each.text for each in results)


@pytest.mark.parametrize("mode", ["ask", "accept-edits"])
def test_plan_mode_that_comes_while_a_question_waits_holds_against_the_yes(
    kept: Path, mode: Mode
) -> None:
    gate = Gate(mode)

    def person(question: Question) -> Answer:
        gate.mode = "plan"
        return Answer(question.id, ALLOW_SESSION)

    async def run() -> Stage:
        steps = [Step(calls=[bash("touch x"), bash("touch y")]), Step("Done.")]
        stage = Stage(kept / "project", steps, person=person, gate=gate)
        await stage.agent.submit("go")
        return stage

    stage = asyncio.run(run())
    assert stage.outcomes() == ["refused", "refused"] and len(stage.asked) == 1
    assert not stage.session.grants


def test_what_is_to_be_read_is_asked_as_that(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/.env").write_text("A=1")
    stage = play(tmp_path, ScriptedCall("read_file", {"path": ".env"}), answers="n")
    (question,) = stage.asked
    assert (question.title, question.preview) == ("Let the model read this?", ".env")
