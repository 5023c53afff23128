from __future__ import annotations

import asyncio

import pytest

from shiro_jupyter.core.context.tokens import estimate
from shiro_jupyter.core.errors import EndpointUnreachable
from shiro_jupyter.core.notes.budget import Ask, Fitted, collapsed, fit
from shiro_jupyter.core.notes.note import Note

RELATED = "- parquet for Orders: keeps types\n- parquet for Items: keeps types\n"
MERGED = "- parquet for Orders and Items: keeps types"
CORRECTIONS = "- dates are day-first, said the person"
STEPS = "\n".join(f"✓ step {n}" for n in range(2000))
MIXED = f"{STEPS}\n✗ plot\n→ fit\n✓ a\n↺ fit\n✓ b\n✓ c"


def note(decisions: str = "", worklog: str = "", state: int = 0) -> Note:
    return (
        Note("ab12cd34")
        .with_text("Current State", "word " * state)
        .with_text("Errors & Corrections", CORRECTIONS)
        .with_text("Key Decisions", decisions)
        .with_text("Worklog", worklog)
    )


def says(answer: str, asked: list[str] | None = None) -> Ask:
    async def ask(prompt: str) -> str:
        if asked is not None:
            asked.append(prompt)
        return answer

    return ask


def fitted(before: Note, ask: Ask | None = None, *, tried: bool = False) -> Fitted:
    return asyncio.run(fit(before, ask, tried=tried))


def test_under_the_budget_nothing_is_asked_or_changed() -> None:
    asked: list[str] = []
    before = note(RELATED, MIXED.replace(STEPS, "✓ x\n✓ y"), state=11_000)
    assert 10_000 < estimate(before.body) <= 12_000
    assert fitted(before, says(MERGED, asked)) == Fitted(before) and asked == []


def test_over_12k_related_decisions_are_merged_and_the_worklog_stays() -> None:
    asked: list[str] = []
    before = note(RELATED + "- more words " * 3000, "✓ x\n✓ y", state=5_000)
    assert 12_000 < estimate(before.body) <= 20_000
    after = fitted(before, says(MERGED, asked))
    assert after == Fitted(before.with_text("Key Decisions", MERGED))
    assert len(asked) == 1 and RELATED in asked[0]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        ("- parquet for Orders: keeps types", "lost items"),
        (MERGED + " and much more" * 100, "no shorter"),
    ],
)
def test_a_merge_that_loses_something_leaves_the_old_text(answer: str, why: str) -> None:
    before = note(RELATED, state=14_000)
    after = fitted(before, says(answer))
    assert after.note == before
    assert why in after.said[0] and "over its 12,000" in after.said[1]


def test_without_a_model_or_where_it_fails_all_is_kept_and_said() -> None:
    async def fails(prompt: str) -> str:
        raise EndpointUnreachable("Nothing answers at http://x.")

    before = note(RELATED, state=14_000)
    assert "no model" in fitted(before).said[0]
    assert "(Nothing answers at http://x)." in fitted(before, fails).said[0]
    assert fitted(before, fails).note == before


def test_what_was_tried_before_is_neither_tried_nor_said_again() -> None:
    asked: list[str] = []
    before = note(RELATED, state=14_000)
    assert fitted(before, says(MERGED, asked), tried=True) == Fitted(before) and asked == []


def test_over_20k_runs_of_done_steps_become_one_line() -> None:
    before = note(RELATED, MIXED, state=14_000)
    assert estimate(before.body) > 20_000
    after = fitted(before, says(MERGED)).note
    assert after.text("Worklog") == (
        "✓ 2000 steps, from “step 0” to “step 1999”\n✗ plot\n→ fit\n✓ a\n↺ fit\n"
        "✓ 2 steps, from “b” to “c”"
    )
    assert after.text("Key Decisions") == MERGED
    assert after.text("Errors & Corrections") == CORRECTIONS
    assert fitted(before).note.text("Key Decisions") == RELATED.strip()


def test_a_summary_is_counted_on() -> None:
    once = collapsed("✓ a\n✓ b")
    assert once == "✓ 2 steps, from “a” to “b”"
    assert collapsed(once) == once and collapsed("") == ""
    assert collapsed(f"{once}\n✓ c") == "✓ 3 steps, from “a” to “c”"
    assert len(collapsed("✓ " + "x" * 500 + "\n✓ y")) < 120
