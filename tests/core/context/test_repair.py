"""The invariants of every request, on small cases and on any damage."""

from __future__ import annotations

import pytest
from hypothesis import given

from shiro_jupyter.core.context.repair import (
    LOST_START,
    NOT_EXECUTED,
    repaired,
    responses,
    without_reasoning,
)
from shiro_jupyter.core.transcript import Assistant, Call, Item, Note, Reasoning, Result, User
from tests.support.transcripts import damaged, healthy

USER = User("hi", 1)


def call(call_id: str, step: int = 1, **values: str) -> Call:
    return Call(call_id, "look", "{}", 1, step, **values)


def result(call_id: str, step: int = 1) -> Result:
    return Result(call_id, "ok", "seen", 1, step)


def test_a_result_without_its_call_is_left_out() -> None:
    assert repaired([USER, result("a")]) == (USER,)
    live = [USER, call("live"), result("live"), result("gone")]
    assert repaired(live) == tuple(live[:3])


def test_an_open_call_gets_one_result_that_says_so() -> None:
    mended = repaired([USER, call("a"), call("b"), result("b"), User("and?", 2)])
    skipped = Result("a", "skipped", NOT_EXECUTED, 1, 1)
    assert mended == (USER, call("a"), call("b"), result("b"), skipped, User("and?", 2))


def test_a_second_result_of_a_call_is_left_out() -> None:
    items = [USER, call("a"), result("a"), result("a")]
    assert repaired(items) == tuple(items[:3])


def test_a_result_that_came_late_moves_to_its_call() -> None:
    items: list[Item] = [USER, call("a"), User("wait", 2), result("a")]
    assert repaired(items) == (USER, call("a"), result("a"), User("wait", 2))


def test_calls_under_one_id_are_kept_apart_with_their_results() -> None:
    items = [USER, call("a", 1), result("a", 1), call("a", 2), result("a", 2)]
    ids = [item.call_id for item in repaired(items) if isinstance(item, Call | Result)]
    assert ids == ["a", "a", "a_2", "a_2"]
    parallel = [USER, call("a"), call("a"), result("a"), result("a")]
    ids = [item.call_id for item in repaired(parallel) if isinstance(item, Call | Result)]
    assert ids == ["a", "a_2", "a", "a_2"]


@pytest.mark.parametrize("odd", ["a\0b", "a\n", "a b", "z" * 41, "é"])
def test_an_id_that_no_endpoint_takes_back_is_replaced_on_both_sides(odd: str) -> None:
    mended = repaired([USER, call(odd), result(odd)])
    assert mended == (USER, call("call_1_1_2"), result("call_1_1_2"))


def test_a_long_id_that_came_twice_stays_short_enough() -> None:
    twice = "z" * 40
    mended = repaired([USER, call(twice), result(twice), call(twice, 2), result(twice, 2)])
    ids = [item.call_id for item in mended if isinstance(item, Call | Result)]
    assert ids == [twice, twice, f"{'z' * 30}_2", f"{'z' * 30}_2"]


def test_a_call_without_an_id_gets_one() -> None:
    mended = repaired([USER, call(""), result("")])
    ids = {item.call_id for item in mended if isinstance(item, Call | Result)}
    assert len(ids) == 1
    assert "" not in ids


def test_empty_messages_go_and_the_user_comes_first() -> None:
    assert repaired([User(" "), Assistant("yes", 3)]) == (Note(LOST_START, 3), Assistant("yes", 3))
    assert repaired([USER, Assistant(""), Assistant("\n"), Note("")]) == (USER,)
    assert repaired([User("")]) == ()


def test_reasoning_that_led_to_nothing_goes_and_its_siblings_lose_their_ids() -> None:
    said = Assistant("so", 1, 1, provider_id="msg_1")
    items = [USER, Reasoning("a", 1, 1, "rs_1"), said, Reasoning("b", 1, 1, "rs_2")]
    kept = Reasoning("a", 1, 1, ""), Assistant("so", 1, 1)
    assert repaired([*items, User("more", 2)]) == (USER, *kept, User("more", 2))


def test_dropping_reasoning_strips_the_ids_of_its_own_response_alone() -> None:
    first: list[Item] = [
        Reasoning("x", 1, 1, "rs_1", "sealed", "old"),
        Assistant("so", 1, 1, "msg_1", phase="commentary"),
        call("a", provider_id="fc_1"),
    ]
    second: list[Item] = [Reasoning("y", 1, 2, "rs_2", "sealed", "new"), call("b", 2)]
    items = [USER, *first, result("a"), *second, result("b", 2)]
    kept = without_reasoning(items, lambda reasoning: reasoning.origin == "old")
    assert kept == (
        USER,
        Assistant("so", 1, 1, phase="commentary"),
        call("a"),
        result("a"),
        *second,
        result("b", 2),
    )
    assert without_reasoning(items, lambda reasoning: False) == tuple(items)


@given(damaged)
def test_repair_is_idempotent_and_holds_its_invariants(items: list[Item]) -> None:
    mended = repaired(items)
    assert repaired(mended) == mended
    assert not mended or isinstance(mended[0], User | Note)
    calls = [item.call_id for item in mended if isinstance(item, Call)]
    results = [item.call_id for item in mended if isinstance(item, Result)]
    assert len(set(calls)) == len(calls)
    assert sorted(calls) == sorted(results)
    for item in items:  # what was said stays
        if isinstance(item, User | Assistant | Note) and item.text.strip():
            assert item.text in [each.text for each in mended if type(each) is type(item)]
    for run in responses(mended):
        assert not isinstance(run[-1], Reasoning)


@given(healthy())
def test_repair_leaves_a_healthy_transcript_alone(items: list[Item]) -> None:
    assert repaired(items) == tuple(items)
