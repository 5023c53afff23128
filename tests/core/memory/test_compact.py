from __future__ import annotations

import pytest

from shiro_jupyter.core.errors import MemoryRefused
from shiro_jupyter.core.memory.compact import Merge, candidates, merged, prompt_for, read
from shiro_jupyter.core.memory.index import Index
from tests.support.memories import MakeMemory

RECALLED = "- [2026-11-01 09:00:00] (gotcha) dates are day-first #orders\n"
ONE = (
    "- [2026-11-02 09:00:00] (decision) use parquet for Orders, since csv loses types #io"
    " <!-- files: load.py; modules: pandas; source: user -->\n"
)
TWO = (
    "- [2026-11-03 09:00:00] (decision) use parquet for Items, since csv loses types #io"
    " <!-- files: items.py; modules: pandas -->\n"
)
OTHER = "- [2026-11-04 09:00:00] run make test before a commit\n"
BY_HAND = "# Mine\n\n- plain bullet\n<<<<<<< HEAD\n"
INDEX = Index((BY_HAND + RECALLED + ONE + TWO + OTHER).encode())
COUNTS = {"dates are day-first": 3}
MERGED = "(decision) use parquet for Orders and Items, since csv loses types #io"
REPLY = f"- {MERGED}\n- (fact) run make test before a commit"


def merge(reply: str = REPLY, index: Index = INDEX) -> Merge:
    return merged(reply, index, candidates(index, COUNTS))


def test_what_was_never_recalled_may_be_merged() -> None:
    assert [each.line() + "\n" for each in candidates(INDEX, COUNTS)] == [ONE, TWO, OTHER]
    with pytest.raises(MemoryRefused, match="fewer than two"):
        candidates(Index((RECALLED + ONE).encode()), COUNTS)


def test_the_model_sees_what_is_said_and_not_what_was_recorded() -> None:
    prompt = prompt_for(candidates(INDEX, COUNTS))
    assert "\n- (fact) run make test before a commit" in prompt
    assert "\n- (decision) use parquet for Items, since csv loses types #io\n" in prompt
    assert "items.py" not in prompt and "day-first" not in prompt and "2026" not in prompt


def test_merged_memories_go_and_their_merge_comes_at_the_end() -> None:
    """All other bytes stay; the newest stamp and all that was recorded are taken over."""
    assert merge().after.raw.decode() == (
        BY_HAND + RECALLED + OTHER + f"- [2026-11-03 09:00:00] {MERGED}"
        " <!-- files: load.py, items.py; modules: pandas; source: user -->\n"
    )


def test_the_person_is_shown_what_changes() -> None:
    lines = merge().diff().splitlines()
    assert [line[0] for line in lines if not line.startswith(("@@", " ", "---", "+++"))] == [
        "-",
        "-",
        "+",
    ]
    assert " - plain bullet" in lines and f"-{ONE.rstrip()}" in lines


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("sorry", "“sorry” is no memory"),
        ("", "empty"),
        ("```\n```", "empty"),
        (f"{REPLY}\nI merged two lines.", "“I merged two lines.” is no memory"),
        (REPLY.replace("Items", "more"), "lost items"),
        (REPLY.replace(" #io", ""), "lost #io"),
        (f"- {MERGED}", "nothing in it stands for “run make test"),
        (f"{REPLY}\n- (fact) a new idea", "merges nothing"),
        ("- parquet for Orders and Items, since csv loses types #io\n- all tests", "nothing in it"),
        (REPLY + " " + "x" * 400, "may not be stored"),
        (REPLY.replace("types", "types sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"), "may not be stored"),
        ("\n".join(each.line() for each in INDEX.entries), "merges nothing"),
    ],
)
def test_a_reply_that_loses_or_says_something_else_is_refused(reply: str, why: str) -> None:
    with pytest.raises(MemoryRefused, match="Nothing was changed") as refused:
        merge(reply)
    assert why in str(refused.value)


def test_a_line_made_of_nothing_is_refused() -> None:
    three = Index(INDEX.raw + b"- [2026-11-05 09:00:00] use parquet, since csv loses types\n")
    with pytest.raises(MemoryRefused, match="“buy milk” stands for none of them"):
        merge(f"{REPLY}\n- buy milk", three)


@pytest.mark.parametrize(
    ("reply", "lines"),
    [
        ("- [2026-11-02 09:00:00] (gotcha) a (see b.md) #c", ["gotcha", "a (see b.md) #c"]),
        ("decision: chose x", ["decision", "chose x"]),
        ("* plain", ["fact", "plain"]),
        ("Here are the lines:\n\n```markdown\n- one\n```", ["fact", "one"]),
        ("- one\n-  ONE. ", ["fact", "one"]),
    ],
)
def test_replies_are_read_in_the_forms_that_models_give(reply: str, lines: list[str]) -> None:
    assert [part for each in read(reply) for part in (each.kind, each.said)] == lines


def test_a_confirmed_merge_survives_a_reload_with_the_old_index_beside_it(
    make_memory: MakeMemory,
) -> None:
    memory = make_memory()
    memory.remember("dates are day-first", "gotcha")
    memory.recall("dates day-first")
    memory.remember("use pnpm to install")
    path = memory.remember("use pnpm to run tests").path
    counts = {each.entry.folded: each.count for each in memory.entries()}
    before = memory.index()
    confirmed = merged("- use pnpm to install and run tests", before, candidates(before, counts))
    memory.remember("written meanwhile")
    old = path.read_bytes()
    backup = memory.rewrite(confirmed.on)
    assert [each.entry.text for each in reversed(make_memory().entries())] == [
        "dates are day-first",
        "use pnpm to install and run tests",
        "written meanwhile",
    ]
    assert backup.parent == path.parent and backup.read_bytes() == old
    assert memory.unaccepted() == []


def test_a_merge_of_what_was_changed_meanwhile_is_refused() -> None:
    with pytest.raises(MemoryRefused, match="meanwhile"):
        merge().on(Index(INDEX.raw.replace(b"Items", b"Others")))
