"""What is told of a session that is opened again."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.core.sessions.found import notices_of
from shiro_jupyter.core.sessions.records import Stored
from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.core.transcript import Assistant, Call, Item, Note, Result, User

HERE = Path("x.jsonl")
UNHURT = Stored(HERE)
CALLS = [Call("a", "bash", "{}", 2, 1), Call("b", "grep", "{}", 2, 1)]
WHOLE: list[Item] = [User("q", 1), Assistant("so", 1, 1)]


def said(
    items: list[Item], *, ended: int = 0, asked: str = "", stored: Stored | None = None
) -> str:
    session = Session(items=items, ended=ended, asked=asked)
    return " ".join(notices_of(stored or Stored(HERE), session))


def test_a_session_that_ended_in_good_order_says_nothing() -> None:
    assert said([]) == ""
    assert said(WHOLE, ended=1) == ""
    assert said([Note("summary", 1), *WHOLE], ended=1) == ""


@pytest.mark.parametrize(
    ("asked", "open_calls", "expected"),
    [
        ("", [], "The last turn stopped before it ended; say “go on”, or ask something else."),
        (
            "a",
            CALLS,
            "The last turn stopped while bash waited for your answer: %shiro alone asks again, any "
            "other prompt goes on without it.",
        ),
        (
            "",
            CALLS,
            "The last turn stopped in bash, and what that did is not known; say “go on”, or ask "
            "something else.",
        ),
        # An answer to an earlier question of the same turn.
        (
            "gone",
            CALLS[1:],
            "The last turn stopped in grep, and what that did is not known; say “go on”, or ask "
            "something else.",
        ),
    ],
)
def test_where_the_last_turn_stopped(asked: str, open_calls: list[Item], expected: str) -> None:
    assert said([*WHOLE, User("and", 2), *open_calls], ended=1, asked=asked) == expected


def test_a_name_that_a_model_made_up_is_shown_as_it_is_and_short() -> None:
    call = Call("a", "x\x1b[2J" + "y" * 500, "{}", 2, 1)
    told = said([*WHOLE, User("and", 2), call], ended=1)
    assert "x⟨U+001B⟩[2Jyyy" in told and len(told) < 250


@pytest.mark.parametrize(
    ("items", "found"),
    [
        ([Assistant("so", 1, 1)], "its beginning is missing"),
        ([User("q", 1), Result("a", "ok", "x", 1, 1)], "results without their call: 1"),
        ([User("q", 1), Call("a", "ls", "{}", 1, 1)], "calls without a result: 1"),
        (
            [
                Call("a", "ls", "{}", 1, 1),
                Call("a", "ls", "{}", 1, 2),
                *[Result("a", "ok", "x", 1, 2)] * 3,
            ],
            "its beginning is missing; results without their call: 1",
        ),
    ],
)
def test_what_repair_has_to_mend(items: list[Item], found: str) -> None:
    assert said(items, ended=1) == (
        f"The session has gaps ({found}): what the model is sent is mended, the file stays as it "
        "is."
    )


def test_open_calls_are_no_gaps() -> None:
    assert "gaps" not in said([User("q", 1), *[Call("a", "ls", "{}", 1, 1)]])


def test_damage_is_told_until_it_is_known() -> None:
    one = said(WHOLE, ended=1, stored=Stored(HERE, damaged=1))
    assert one == "1 damaged line was left out of x.jsonl; all else of the session is restored."
    assert said(WHOLE, ended=1, stored=Stored(HERE, damaged=2, told=2)) == ""
    assert "1 damaged line was" in said(WHOLE, ended=1, stored=Stored(HERE, damaged=3, told=2))
    assert "2 damaged lines were" in said(WHOLE, ended=1, stored=Stored(HERE, damaged=2))
