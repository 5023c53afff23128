from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.context.prune import Pruner, shown
from shiro_jupyter.core.context.render import chat_messages, response_items
from shiro_jupyter.core.context.repair import repaired
from shiro_jupyter.core.context.tokens import estimate_item
from shiro_jupyter.core.models.profiles import Api
from shiro_jupyter.core.transcript import (
    Assistant,
    Call,
    Cut,
    Item,
    Note,
    Result,
    Summary,
    User,
    from_json,
    to_json,
)
from tests.support.strict_endpoint import refusal
from tests.support.transcripts import damaged, healthy

SUMMED = Summary("What was before.", 2)


def looked(turn: int, step: int = 1) -> list[Item]:
    call = f"c{turn}{step}"
    return [Call(call, "look", "{}", turn, step), Result(call, "ok", "seen", turn, step)]


def test_a_summary_stands_for_all_before_it_but_the_last_prompt() -> None:
    before = [User("first", 1), Assistant("one", 1, 1), User("second", 2), Assistant("two", 2, 1)]
    after = [User("third", 3), Assistant("three", 3, 1)]
    assert shown([*before, SUMMED, *after], Cut()) == (SUMMED, User("second", 2), *after)


def test_in_mid_turn_the_prompts_of_that_turn_stand_with_what_was_sent_into_it() -> None:
    steered = [User("go", 1), *looked(1, 1), User("but not b", 1), *looked(1, 2)]
    items = [User("old", 0), *steered, Summary("So far.", 1), *looked(1, 3)]
    out = shown(items, Cut())
    assert out == (Summary("So far.", 1), User("go", 1), User("but not b", 1), *looked(1, 3))
    assert repaired(out) == out


def test_of_several_summaries_the_newest_counts_and_a_blank_one_never() -> None:
    items = [User("a", 1), Summary("one", 1), User("b", 2), Summary("two", 2), Summary(" ", 2)]
    assert shown(items, Cut())[:2] == (Summary("two", 2), User("b", 2))


def test_turns_pruned_after_a_summary_leave_it_in_place_and_say_what_went() -> None:
    later = [item for turn in (3, 4, 5) for item in (User(f"q{turn}", turn), *looked(turn))]
    items = [User("first", 2), SUMMED, *later]
    at = items.index(User("q5", 5))
    gone = Note("[Turns 3 to 4 are no longer shown.]", 4)
    assert shown(items, Cut(turns=at)) == (SUMMED, User("first", 2), gone, *items[at:])
    # A cut from before the summary says nothing any more.
    assert shown(items, Cut(turns=1)) == (SUMMED, User("first", 2), *later)


def test_a_summary_is_kept_in_the_session_s_file_and_skipped_by_who_does_not_know_it() -> None:
    assert from_json(json.loads(json.dumps(to_json(SUMMED)))) == SUMMED
    assert from_json({"kind": "summary", "turn": 3}) == Summary("", 3)
    assert from_json({"kind": "of a later version", "text": "x"}) is None


@pytest.mark.parametrize("api", ["chat", "responses"])
@given(damaged, damaged, st.sampled_from(["Short.", "", "a\n\nb"]), st.integers(0, 2))
def test_whatever_stands_around_it_the_request_is_accepted(
    api: Api, before: list[Item], after: list[Item], text: str, turn: int
) -> None:
    items = [*before, Summary(text, turn), *after]
    pruner = Pruner()
    for room in (100_000, 40, 1):
        pruner.prune(items, room)
        out = shown(items, pruner.cut)
        assert repaired(repaired(out)) == repaired(out)
        if api == "chat":
            body = {"model": "tiny", "messages": chat_messages("Be kind.", out, "tail")}
        else:
            body = {"model": "tiny", "store": False, "input": response_items(out, "tail")}
        assert refusal(api, body) is None


@given(healthy(), healthy(), st.integers(1, 400))
def test_what_comes_after_a_summary_extends_what_was_sent(
    before: list[Item], after: list[Item], room: int
) -> None:
    items = [*before, Summary("Short.", before[-1].turn)]
    later = [*items, *after]
    assert shown(later, Cut())[: len(shown(items, Cut()))] == shown(items, Cut())
    pruner = Pruner()
    for grown in (before, items, later):
        pruner.prune(grown, room)
        out = shown(grown, pruner.cut)
        assert pruner.size(grown) == sum(map(estimate_item, out))
