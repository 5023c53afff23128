from __future__ import annotations

import json
import re
from typing import Any

import nbformat
from nbconvert.exporters import HTMLExporter, MarkdownExporter

from shiro_jupyter.core import events as e
from shiro_jupyter.core.events import Event
from shiro_jupyter.core.transcript import Outcome
from shiro_jupyter.views.document import Bundle
from shiro_jupyter.views.state import TurnState
from shiro_jupyter.views.static import left_behind
from tests.views.reading import COMMONMARK, HOSTILE, Page, readings
from tests.views.turns import TURNS, ended, timed

OBEYED = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"


def bundle_of(events: list[Event]) -> Bundle:
    state = TurnState()
    for event, at in timed(events):
        state.apply(event, at)
    return left_behind(state)


def notebook(bundles: list[Bundle]) -> Any:
    """A saved notebook with each bundle as the output of a cell."""
    v4: Any = nbformat.v4
    cells = [
        v4.new_code_cell("%shiro …", outputs=[v4.new_output("display_data", data=dict(each))])
        for each in bundles
    ]
    made = v4.new_notebook(cells=cells)
    nbformat.validate(made)  # type: ignore[no-untyped-call]
    return nbformat.reads(json.dumps(made), as_version=4)  # type: ignore[no-untyped-call]


def test_a_saved_notebook_converts_with_the_answers_and_without_scripts() -> None:
    """Every canonical turn, and hostile answers, through both exporters."""
    bundles = [bundle_of(list(turn())) for turn in TURNS.values()]
    bundles += [
        bundle_of([e.TurnStarted(1, each), e.StepStarted(1), e.TextDelta(each), ended()])
        for each in HOSTILE
    ]
    made = notebook(bundles)
    html, _ = HTMLExporter(template_name="basic").from_notebook_node(made)
    empty, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook([]))
    markdown, _ = MarkdownExporter().from_notebook_node(made)
    # What is ours, without the page around it.
    assert html.count("<script") == empty.count("<script")
    for text in (html, markdown):
        for answer in ("9,812", "Dates and cities.", "The training was st", "I cannot deploy."):
            assert answer in text
        assert not re.search(r"<(?:img|svg|script|iframe|style)\b[^>]*(?:evil|alert)", text)
    # `--to markdown` takes the html; a browser reads it without harm.
    for each in bundles:
        Page(each["text/html"])


def test_hostile_text_in_every_field_is_harmless_in_both_forms() -> None:
    for bad in HOSTILE:
        told: list[Event] = [
            e.TurnStarted(1, bad),
            e.StepStarted(1),
            e.TextDelta(bad),
            e.ToolStarted("a", bad),
            e.ToolCalled("a", bad, bad),
            e.ToolFinished("a", bad, "failed", bad, 1.0),
            e.MemoryChanged(bad, bad),
            e.StepStarted(2),
            e.TextDelta(bad),
            ended("failed", bad),
        ]
        made = bundle_of(told)
        Page(made["text/html"])
        readings(made["text/markdown"])
        assert not re.search(OBEYED, made["text/plain"])


def test_the_html_stays_html_inside_a_markdown_file() -> None:
    for bad in HOSTILE:
        text = f"a\n\n{bad}\n \t\n\n    ![x](https://evil.test)\n\n[a](javascript:x)"
        told: list[Event] = [e.TurnStarted(1, text), e.StepStarted(1), e.TextDelta(text)]
        told += [e.ToolFinished("a", "bash", "ok", text), ended("failed", text)]
        tokens = COMMONMARK.parse(bundle_of(told)["text/html"] + "\n\nafter")
        assert [token.type for token in tokens][:2] == ["html_block", "paragraph_open"]


def test_the_prompt_stands_as_it_was_typed() -> None:
    prompt = "what  does `-c` do?\n  <b>{df}</b> $x & $y\n```\n*not* emphasis"
    made = bundle_of([e.TurnStarted(1, prompt), ended()])
    assert "".join(Page(made["text/html"]).words).startswith(prompt)
    assert made["text/markdown"].startswith(f"````\n{prompt}\n````")
    assert made["text/plain"].startswith("> what  does `-c` do?\n>   <b>{df}</b> $x & $y\n> ```\n")


def test_a_long_prompt_is_folded_and_whole() -> None:
    prompt = "words " * 20_000
    html = bundle_of([e.TurnStarted(1, prompt), ended()])["text/html"]
    assert prompt in html and "<summary" in html.partition("words")[0]
    assert "prompt, 120,000 characters" in html


def test_long_results_are_cut_in_the_middle_and_say_so() -> None:
    made = bundle_of(list(TURNS["long_output"]()))
    assert len(made["text/html"]) < 4_000
    for text in made.values():
        assert "line 0 of" in text and "line 1999 of" in text and "characters not shown" in text


def test_what_came_of_the_calls_is_said_where_they_are_folded() -> None:
    outcomes: list[Outcome] = ["ok", "refused", "failed", "refused", "skipped"]
    calls = [e.ToolFinished(each, "bash", each, "", 0.04) for each in outcomes]
    for text in bundle_of([e.TurnStarted(1, "x"), *calls, ended()]).values():
        assert "5 tool calls, 2 refused, 1 failed, 1 not run" in text and "0.0 s" not in text


def test_every_ending_says_how_it_went() -> None:
    for outcome, words in [
        ("answered", "answered ·"),
        ("interrupted", "interrupted ·"),
        ("limited", "stopped at a limit ·"),
        ("failed", "failed ·"),
    ]:
        made = bundle_of([e.TurnStarted(1, "x"), ended(outcome, "Set the key.")])
        for text in made.values():
            assert words in text and "Set the key." in text and "1,234 tokens in" in text


def test_no_colour_class_id_or_script_of_our_own() -> None:
    for turn in TURNS.values():
        html = bundle_of(list(turn()))["text/html"]
        assert not re.search(r"(?:class|id|src|on\w+)=|<script|color|#[0-9a-f]{3}", html)
