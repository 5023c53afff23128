from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.rules import Rules, parse_rule
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.tools.base import INPUT_LIMIT, OUTPUT_LIMIT
from shiro_jupyter.core.tools.bash import Bash
from shiro_jupyter.core.tools.read_file import ReadFile
from shiro_jupyter.views.cell import PREVIEW_SHOWN
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.processes.end_all()


@pytest.mark.parametrize(
    ("command", "outcome", "text"),
    [
        ("echo hi", "ok", "hi"),
        ("true", "ok", "[no output, exit code 0]"),
        ("echo out; echo err >&2; exit 3", "failed", "out\nerr\n[exit code 3]"),
        ("false", "failed", "[exit code 1]"),
        ("kill -9 $$", "failed", "[ended by signal 9]"),
        ("printf '  two\\n\\n'", "ok", "  two"),
    ],
)
def test_the_output_comes_back_and_how_it_ended(
    bench: Bench, command: str, outcome: str, text: str
) -> None:
    result = bench.run(Bash(), command=command)
    assert (result.outcome, result.text) == (outcome, text)


def test_it_runs_in_the_project_folder_and_streams(bench: Bench) -> None:
    assert bench.run(Bash(), command="pwd").text == str(bench.root)
    assert bench.printed == [f"{bench.root}\n"]


def test_a_timeout_tells_what_came_and_how_to_go_on(bench: Bench) -> None:
    result = bench.run(Bash(), command="echo before; sleep 300", timeout=1)
    assert result.outcome == "timed_out"
    assert result.text.startswith("before\n[not done after 1 s: ")
    with pytest.raises(InvalidArguments, match="less than or equal to 600"):
        bench.run(Bash(), command="true", timeout=601)


def test_of_long_output_both_ends_come_back_and_the_rest_can_be_read(bench: Bench) -> None:
    result = bench.run(Bash(), command="echo first; seq 20000; echo last >&2; exit 1")
    assert len(result.text) < OUTPUT_LIMIT
    assert result.text.startswith("first\n1\n2\n")
    assert result.text.endswith("20000\nlast\n[exit code 1]")
    file = result.text.partition("all of it is in ")[2].partition(" …]")[0]
    page = bench.run(ReadFile(), path=file, offset=10_001, limit=1)
    assert page.text.startswith("10001: 10000\n")


def test_the_command_sees_no_key(tmp_path: Path) -> None:
    environment = {**os.environ, "SHIRO_API_KEY": "sk-1", "OPENAI_API_KEY": "sk-2", "AWS_X": "kept"}
    text = Bench(tmp_path, environment=environment).run(Bash(), command="env").text
    assert "sk-" not in text
    assert "AWS_X=kept" in text


def test_the_question_is_about_the_whole_command(bench: Bench) -> None:
    command = "echo hi\nrm -r data"
    subject = Bash().subject(Bash().parse('{"command": "echo hi\\nrm -r data"}'), bench.context)
    assert (subject.tool, subject.access, subject.texts) == ("bash", "shell", (command,))
    assert subject.title == "Run this command?"
    assert subject.shown == command


def test_a_deny_rule_holds_in_every_mode_and_what_it_leaves_is_asked_once(bench: Bench) -> None:
    rules = Rules(deny=(parse_rule("bash(rm -rf /)"),))

    def verdict(command: str, mode: str, grants: frozenset[str] = frozenset()) -> str:
        subject = Bash().subject(Bash.parameters(command=command), bench.context)
        return Gate(mode=mode, rules=rules).decide(subject, grants).verdict  # type: ignore[arg-type]

    assert verdict("rm -rf /", "yolo") == "deny"
    assert verdict("rm -rf /", "ask") == "deny"
    assert verdict("echo hi", "yolo") == "allow"
    assert verdict("echo hi", "plan") == "deny"
    assert verdict("echo hi", "ask") == "ask"
    granted = Bash().subject(Bash.parameters(command="echo hi"), bench.context).grant_key
    assert verdict("echo hi", "ask", frozenset({granted})) == "allow"
    assert verdict("echo ho", "ask", frozenset({granted})) == "ask"


def test_a_command_is_no_longer_than_what_can_be_shown(bench: Bench) -> None:
    assert INPUT_LIMIT <= PREVIEW_SHOWN
    fits = "true" + " " * (INPUT_LIMIT - 4)
    assert bench.run(Bash(), command=fits).outcome == "ok"
    with pytest.raises(InvalidArguments, match="at most 30000 characters"):
        bench.run(Bash(), command=fits + " ")


# -- in the background ---------------------------------------------------------------------


def test_in_the_background_the_call_returns_with_number_file_and_first_output(
    bench: Bench,
) -> None:
    result = bench.run(Bash(), command="echo ready; sleep 300", background=True)
    first, output, where = result.text.splitlines()
    assert result.outcome == "ok"
    assert re.fullmatch("job 1, running for [01] s: echo ready; sleep 300", first)
    assert output == "ready"
    file = where.removeprefix("[all of it is in ").removesuffix("]")
    assert bench.run(ReadFile(), path=file).text == "1: ready"


@pytest.mark.parametrize(
    ("command", "outcome", "text"),
    [
        ("echo done", "ok", "job 1, exit code 0 after 0 s: echo done\ndone\n[all of it is in "),
        ("exit 3", "failed", "job 1, exit code 3 after 0 s: exit 3\n[no new output]\n[all of it"),
        ("kill -9 $$", "failed", "job 1, ended by signal 9 after 0 s: kill -9 $$\n[no new "),
    ],
)
def test_what_ends_at_once_is_told_with_its_end(
    bench: Bench, command: str, outcome: str, text: str
) -> None:
    result = bench.run(Bash(), command=command, background=True)
    assert (result.outcome, result.text[: len(text)]) == (outcome, text)


def test_a_background_command_is_asked_as_one_that_stays_and_a_grant_is_for_one_of_both(
    bench: Bench,
) -> None:
    def subject(background: bool) -> Subject:
        parameters = Bash.parameters(command="npm start", background=background)
        return Bash().subject(parameters, bench.context)

    stays, returns = subject(True), subject(False)
    assert "It stays running" in stays.title
    assert (stays.access, stays.texts, stays.shown) == ("shell", ("npm start",), "npm start")
    for granted, asked in ((stays, returns), (returns, stays)):
        assert Gate().decide(granted, {granted.grant_key}).verdict == "allow"
        assert Gate().decide(asked, {granted.grant_key}).verdict == "ask"
    assert Gate(mode="plan").decide(stays, {stays.grant_key}).verdict == "deny"
    denied = Rules(deny=(parse_rule("bash(npm *)"),))
    assert Gate(mode="yolo", rules=denied).decide(stays, ()).verdict == "deny"
