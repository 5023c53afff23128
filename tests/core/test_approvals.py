"""What a person is asked in a turn, and what their answer covers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core import approvals
from shiro_jupyter.core.events import ALLOW, ALLOW_SESSION, DENY, Answer, Question
from shiro_jupyter.core.models.scripted import ScriptedCall, Step
from shiro_jupyter.core.policy.gate import Gate, Mode
from shiro_jupyter.core.policy.reach import ELSEWHERE, NETWORK
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.tools.shelf import tools_for
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
    for name in (".env", "a.pem", "a.csv"):
        (tmp_path / "project" / name).write_text("A=1")
    many = {"files": [{"path": name} for name in (".env", "a.csv", "a.pem")]}
    stage = play(
        tmp_path,
        ScriptedCall("read_file", {"path": ".env"}),
        ScriptedCall("read_many_files", many),
        answers="nn",
    )
    one, three = stage.asked
    assert (one.title, one.preview) == ("Read .env, which may hold keys?", ".env")
    assert three.title == "Read .env and 1 more, which may hold keys?"
    assert three.preview == ".env\na.csv\na.pem"
    ask = Gate(rules=Rules.parse(ask=["read"]))
    stage = play(tmp_path, ScriptedCall("read_file", {"path": "a.csv"}), answers="n", gate=ask)
    assert stage.asked[0].title == "Let the model read this?"


SECRET = "KEY = abc\nOTHER = 1\n"


def secrets_in(root: Path) -> Path:
    (root / "project/secrets").mkdir(parents=True)
    for name in (".env", "secrets/k", "h"):
        (root / "project" / name).write_text(SECRET)
    return root / "project"


@pytest.mark.parametrize("old", ["KEY = abc", "KEY = x", "="])
@pytest.mark.parametrize("several", [False, True])
def test_whether_an_edit_fits_what_may_not_be_read_is_told_to_nobody_unasked(
    tmp_path: Path, old: str, several: bool
) -> None:
    project = secrets_in(tmp_path)
    change = {"old_text": old, "new_text": "new"}
    name, given = ("multi_edit", {"edits": [change]}) if several else ("edit_file", change)
    tools = tools_for({"core", "edit-plus"})

    def told(path: str, answers: str, gate: Gate) -> tuple[str, str]:
        call = ScriptedCall(name, {"path": path, **given})
        stage = play(tmp_path, call, gate=gate, answers=answers, tools=tools)
        (result,) = (each for each in stage.session.items if isinstance(each, Result))
        return result.outcome, result.text

    assert told(".env", "n", Gate("ask")) == ("refused", "The person refused this call.")
    if old == "KEY = abc":
        assert told(".env", "y", Gate("ask"))[0] == "ok"
    else:
        outcome, text = told(".env", "y", Gate("ask"))
        assert outcome == "failed" and f"found {'0' if 'x' in old else '2'} times" in text
        assert (project / ".env").read_text() == SECRET
    for mode in ("ask", "accept-edits", "yolo"):
        gate = Gate(mode, Rules.parse(deny=["read(secrets/**)"]))  # type: ignore[arg-type]
        outcome, text = told("secrets/k", "", gate)
        assert outcome == "failed" and text == (
            "The settings deny to read secrets/k, so it is not changed; do without."
        )
    assert (project / "secrets/k").read_text() == SECRET


def test_a_yes_to_telling_is_none_to_the_change(tmp_path: Path) -> None:
    """Not for a session either, should the file be another one by then."""
    project = secrets_in(tmp_path)
    wrong = ScriptedCall("edit_file", {"path": ".env", "old_text": "KEY=", "new_text": "x"})
    right = ScriptedCall("edit_file", {"path": ".env", "old_text": "KEY", "new_text": "x"})
    stage = play(tmp_path, wrong, wrong, right, answers="sn")
    assert stage.outcomes() == ["failed", "failed", "refused"]
    assert "telling why a change of .env" in stage.asked[0].grant
    assert stage.asked[0].title.startswith("Let the model know why it cannot change .env so?")
    assert "found 0 times" in stage.asked[0].preview and "KEY=" in stage.asked[0].preview
    assert (project / ".env").read_text() == SECRET


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "h"}),
        ("read_many_files", {"files": ["h"]}),
        ("edit_file", {"path": "h", "old_text": "KEY", "new_text": "x"}),
        ("write_file", {"path": "h", "content": "x"}),
    ],
)
def test_what_is_opened_is_what_was_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    project = secrets_in(tmp_path)
    real = approvals.taint_of

    def swapped(subject: Subject, allowed: Any) -> str:
        if subject.texts == ("h",) and not (project / "h").is_symlink():
            (project / "h").unlink()
            (project / "h").symlink_to(".env")
        return real(subject, allowed)

    if tool == "write_file":
        (project / "h").write_text("")
    monkeypatch.setattr(approvals, "taint_of", swapped)
    tools = tools_for({"core", "edit-plus"})
    call = ScriptedCall(tool, arguments)
    stage = play(tmp_path, call, gate=Gate("accept-edits"), tools=tools)
    (result,) = (each for each in stage.session.items if isinstance(each, Result))
    assert (project / "h").is_symlink() and (project / ".env").read_text() == SECRET
    assert "h leads elsewhere than when this call was judged" in result.text
    assert "abc" not in result.text
