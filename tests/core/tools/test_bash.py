from __future__ import annotations

import os
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.rules import Rules, parse_rule
from shiro_jupyter.core.tools.base import INPUT_LIMIT, OUTPUT_LIMIT
from shiro_jupyter.core.tools.bash import Bash
from shiro_jupyter.core.tools.read_file import ReadFile
from shiro_jupyter.views.cell import PREVIEW_SHOWN
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


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
