"""Flags before the prompt, and nothing else, are flags."""

from __future__ import annotations

import pytest

from shiro_jupyter.core.errors import UsageError
from shiro_jupyter.kernel.command_line import FLAGS, CommandLine, parse
from tests.support.prompts import PROMPTS


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_prompt_is_taken_verbatim(prompt: str) -> None:
    assert parse(prompt.strip()) == CommandLine(prompt.strip())
    assert parse(f"-q -- {prompt}").prompt == prompt.lstrip(" \t")
    assert parse("", prompt).prompt == prompt


def test_flags_count_before_the_first_word() -> None:
    line = parse("-m gpt-x --base-url=http://h/v1 --plan -q what does -c do --yolo")
    assert line == CommandLine(
        "what does -c do --yolo", model="gpt-x", base_url="http://h/v1", mode="plan", quiet=True
    )
    assert parse("-c").resume == "latest"
    assert parse("-r 0192 go on") == CommandLine("go on", resume="0192")
    assert parse("--think high why").think == "high"
    assert not parse("--no-memory x").memory


@pytest.mark.parametrize(
    ("text", "prompt", "background"),
    [
        ("make a plot &", "make a plot", True),
        ("make a plot  & ", "make a plot", True),
        ("R&D&", "R&D&", False),
        ("what is & for", "what is & for", False),
        ("&", "", True),
    ],
)
def test_a_final_ampersand_alone_means_the_background(
    text: str, prompt: str, background: bool
) -> None:
    line = parse(text)
    assert (line.prompt.strip(), line.background) == (prompt, background)


def test_flags_in_the_body_of_a_cell_are_text() -> None:
    line = parse("-q", "-m is a flag\n  --plan too\n")
    assert line == CommandLine("-m is a flag\n  --plan too", quiet=True)
    assert parse("the head", "a\nb").prompt == "the head\na\nb"
    assert parse("&", "aside").background
    assert parse("", "aside &") == CommandLine("aside", background=True)


@pytest.mark.parametrize("text", ["-5 is negative", "- a list", "-.5 too"])
def test_some_prompts_begin_with_a_dash(text: str) -> None:
    assert parse(text).prompt == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("--modle x y", "did you mean --model?"),
        ("-m", "-m needs a value: -m NAME."),
        ("--plan=yes x", "--plan takes no value."),
        ("--plan --yolo x", "--plan and --yolo contradict each other; give one of them."),
        ("--yolo -q --plan x", "--plan and --yolo contradict each other; give one of them."),
        ("--think much x", "off, low, medium, high"),
        ("-x why", "goes after --"),
    ],
)
def test_what_is_wrong_is_said_with_the_next_step(text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("/help", ("help", "")),
        ("/model  gpt-x ", ("model", "gpt-x")),
        ("/data/x.csv what is it", None),
        ("/ what", None),
        ("a /help", None),
        ("Show session notes.", ("session-notes", "")),
        ("wrap up!", ("session-notes", "done")),
        ("wrap up the plot", None),
    ],
)
def test_a_slash_command_is_a_word_of_its_own(prompt: str, command: tuple[str, str] | None) -> None:
    assert parse(prompt).command == command


@pytest.mark.parametrize("text", ["--help", "-h", "-q --help", "--help me"])
def test_help_is_asked_for_as_everywhere(text: str) -> None:
    assert parse(text).command == ("help", "")


def test_every_flag_is_told_apart() -> None:
    names = [name for flag in FLAGS for name in flag.names]
    assert len(names) == len(set(names))
    assert all(flag.text for flag in FLAGS)
