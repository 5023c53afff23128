from __future__ import annotations

import re

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from shiro_jupyter.core.policy.secrets import redact
from shiro_jupyter.core.transcript import (
    Assistant,
    Call,
    Item,
    Note,
    Reasoning,
    Result,
    Summary,
    User,
)
from shiro_jupyter.views.exported import exported
from tests.support.transcripts import damaged

SECRET = "sk-" + "abcDEF123456ghiJKL789012"
ITEMS: list[Item] = [
    User("# why?\n```\nx", 1),
    Reasoning("private thought", 1, 1),
    Call("c", "bash", '{"command": "ls"}', 1, 1),
    Call("d", "grep", '{"pattern": "x"}', 1, 1),
    Result("d", "failed", "no such thing", 1, 1),
    Result("c", "ok", "a.csv\n```\n# b\n````\n", 1, 1),
    Assistant("Because of **twins**.", 1, 2),
    User("and now?", 2),
    Call("c", "bash", '{"command": "pwd"}', 2, 1),
    Note("The person interrupted the turn.", 2),
    Summary("Goal: prices.", 2),
]


def test_a_session_reads_as_a_document() -> None:
    assert exported("Prices", "01a22d of today", ITEMS, redact) == (
        "# Prices\n\n01a22d of today\n\n"
        "## Turn 1\n\n````\n# why?\n```\nx\n````\n\n"
        "<details><summary>✓ bash {&quot;command&quot;: &quot;ls&quot;}</summary>\n\n"
        '```json\n{"command": "ls"}\n```\n\n'
        "`````\na.csv\n```\n# b\n````\n`````\n\n</details>\n\n"
        "<details><summary>✗ grep {&quot;pattern&quot;: &quot;x&quot;} failed</summary>\n\n"
        '```json\n{"pattern": "x"}\n```\n\n```\nno such thing\n```\n\n</details>\n\n'
        "Because of **twins**.\n\n"
        "## Turn 2\n\n```\nand now?\n```\n\n"
        "<details><summary>⋯ bash {&quot;command&quot;: &quot;pwd&quot;} no result</summary>\n\n"
        '```json\n{"command": "pwd"}\n```\n\n</details>\n\n'
        "The person interrupted the turn.\n\n"
        "<details><summary>summary of what came before</summary>\n\nGoal: prices.\n\n</details>\n"
    )


def test_no_secret_goes_out() -> None:
    call = Call("c", "bash", f'{{"command": "export K={SECRET}"}}', 1, 1)
    items: list[Item] = [
        User(f"key {SECRET}", 1),
        call,
        Result("c", "ok", SECRET, 1, 1),
        Assistant(f"It is `{SECRET}`.", 1, 2),
        Note(SECRET, 1),
        Summary(SECRET, 1),
    ]
    text = exported(SECRET, "", items, redact)
    assert SECRET not in text and text.count("[redacted: API key") + text.count("API key\\]") >= 6


@pytest.mark.parametrize("text", ["![x](https://evil.example/p.png)", "<img src=//evil.example>"])
def test_opening_it_fetches_nothing(text: str) -> None:
    items: list[Item] = [User(text, 1), Assistant(text, 1, 1), Note(text, 1), Summary(text, 1)]
    items += [Call("c", text, text, 1, 1), Result("c", "ok", text, 1, 1)]
    page = MarkdownIt("commonmark").render(exported(text, text, items, redact))
    assert "<img" not in page


@given(damaged)
def test_whatever_is_in_a_session_every_turn_keeps_its_heading(items: list[Item]) -> None:
    text = exported("t", "a", items, redact)
    page = MarkdownIt("commonmark").render(text)
    wanted = []
    for item in items:
        if item.turn > max(wanted, default=0):
            wanted.append(item.turn)
    assert [int(each) for each in re.findall(r"<h2>Turn (\d+)</h2>", page)] == wanted
    assert page.count("<details>") == page.count("</details>") == text.count("<details>")
