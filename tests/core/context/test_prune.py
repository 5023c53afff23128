from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.context.prune import KEPT_STEPS, Pruner, shown
from shiro_jupyter.core.context.render import chat_messages, response_items
from shiro_jupyter.core.context.tokens import Measure, estimate_item
from shiro_jupyter.core.transcript import Assistant, Call, Cut, Item, Note, Reasoning, Result, User
from tests.support.transcripts import healthy


def turn(number: int, steps: int = 3, result: str = "x " * 400, thought: str = "") -> list[Item]:
    items: list[Item] = [User(f"question {number}", number)]
    for step in range(1, steps + 1):
        if thought:
            items.append(Reasoning(thought, number, step, f"rs_{number}_{step}", "sealed"))
        call = f"call_{number}_{step}"
        items += [Call(call, "read_file", '{"path": "a"}', number, step, f"fc_{number}_{step}")]
        items += [Result(call, "ok", result, number, step)]
    return [*items, Assistant(f"answer {number}", number, steps + 1)]


def size(items: tuple[Item, ...]) -> int:
    return sum(map(estimate_item, items))


def test_what_fits_is_shown_as_it_is() -> None:
    items = turn(1)
    pruner = Pruner()
    assert not pruner.prune(items, 100_000)
    assert shown(items, pruner.cut) == tuple(items)


def test_old_results_go_first_and_their_calls_stay() -> None:
    items = [*turn(1), *turn(2), *turn(3)]
    pruner = Pruner()
    room = int(pruner.size(items) * 0.9)
    assert pruner.prune(items, room)
    cut = shown(items, pruner.cut)
    assert pruner.size(items) == size(cut) <= room * 0.8
    assert [type(item) for item in cut] == [type(item) for item in items]
    stubs = [at for at, item in enumerate(cut) if item != items[at]]
    results = [at for at, item in enumerate(items) if isinstance(item, Result)]
    assert stubs == results[: len(stubs)] and 0 < len(stubs) <= len(results) - KEPT_STEPS + 1
    stub = "[800 characters, no longer shown; call read_file again if you need them]"
    assert cut[stubs[0]] == Result("call_1_1", "ok", stub, 1, 1)


def test_then_the_reasoning_of_earlier_turns_and_the_ids_beside_it() -> None:
    items = [*turn(1, result="x", thought="long " * 300), *turn(2, result="x", thought="short")]
    pruner = Pruner()
    assert pruner.prune(items, 600)
    assert pruner.cut.turns == 0
    cut = shown(items, pruner.cut)
    assert [item.text for item in cut if isinstance(item, Reasoning)] == ["short"] * 3
    assert [item.provider_id for item in cut if isinstance(item, Call)] == ["", "", ""] + [
        f"fc_2_{step}" for step in (1, 2, 3)
    ]


def test_then_earlier_turns_whole_with_a_line_that_says_so() -> None:
    items = [item for number in range(1, 9) for item in turn(number, 1, result="x")]
    pruner = Pruner()
    room = pruner.size(items) // 2
    assert pruner.prune(items, room)
    first, second, *_ = cut = shown(items, pruner.cut)
    assert isinstance(first, Note) and isinstance(second, User)
    assert first.text == f"[Turns 1 to {second.turn - 1} are no longer shown.]"
    assert cut[-5:] == tuple(items[-5:])
    assert size(cut) <= room


def test_the_newest_step_stays_however_small_the_room_is() -> None:
    items = [*turn(1), *turn(2)]
    pruner = Pruner()
    pruner.prune(items, 1)
    assert pruner.size(items) > 1
    cut = shown(items, pruner.cut)
    assert cut[1] == User("question 2", 2) and isinstance(cut[0], Note)
    assert not pruner.prune(items, 1)  # nothing more is to be had


@pytest.mark.parametrize("steps", [200])
def test_many_small_results_that_fit_all_stay(steps: int) -> None:
    items = turn(1, steps, result="ok")
    pruner = Pruner()
    assert not pruner.prune(items, pruner.size(items))
    assert sum(isinstance(item, Call) for item in shown(items, pruner.cut)) == steps
    bulky = turn(1, steps, result="x " * 4_000)
    pruner = Pruner()
    assert pruner.prune(bulky, 60_000)
    assert pruner.size(bulky) <= 60_000
    assert sum(isinstance(item, Call) for item in shown(bulky, pruner.cut)) == steps


def test_each_item_is_measured_once_and_what_brought_nothing_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured: list[Item] = []

    def counted(measure: Measure, item: Item) -> int:
        measured.append(item)
        return estimate_item(item)

    monkeypatch.setattr(Measure, "item", counted)
    items = turn(1, 300, result="ok")  # no stub is shorter
    pruner = Pruner()
    sizes = pruner._size
    tried = list[Cut]()
    monkeypatch.setattr(
        pruner, "_size", lambda items, cut: (tried.append(cut), sizes(items, cut))[1]
    )
    assert not pruner.prune(items, 100)
    assert 300 <= len(tried) <= 310
    items += turn(1, 301, result="ok")[-3:]
    tried.clear()
    assert not pruner.prune(items, 100)
    assert len(tried) <= 4  # the size, and what is new
    assert len(measured) == len(items)


def test_what_goes_out_no_more_is_not_measured_when_a_session_is_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    items = [item for number in range(1, 9) for item in turn(number)]
    pruner = Pruner()
    pruner.prune(items, pruner.size(items) // 3)
    measured: list[Item] = []

    def counted(measure: Measure, item: Item) -> int:
        measured.append(item)
        return estimate_item(item)

    monkeypatch.setattr(Measure, "item", counted)
    again = Pruner(pruner.cut)
    assert again.size(items) == pruner.size(items)
    assert {item for item in measured if item in items} == {
        item for item in shown(items, pruner.cut) if item in items
    }


def test_the_name_in_a_stub_is_that_of_the_call_before_it() -> None:
    again = [Call("call_1_1", "bash", "{}", 2, 1), Result("call_1_1", "ok", "x " * 400, 2, 1)]
    items = [*turn(1, 1), User("more", 2), *again]
    first, second = (i for i in shown(items, Cut(results=len(items))) if isinstance(i, Result))
    assert "call read_file again" in first.text and "call bash again" in second.text
    assert shown(turn(1, 1), Cut(results=3))[2] == first


def test_a_cut_of_more_items_than_there_are_leaves_the_line_that_says_so() -> None:
    items = turn(1)
    beyond = Cut(turns=50, results=60, reasoning=70)
    out = shown(items, beyond)
    assert out == (Note("[Turn 1 is no longer shown.]", 1),)
    pruner = Pruner(beyond)
    assert pruner.size(items) == size(out)
    more = [*items, *turn(2)]
    assert pruner.size(more) == size(shown(more, beyond)) and not pruner.prune(more, 1)


@given(healthy(), healthy(), st.integers(1, 400))
def test_a_cut_only_moves_on_and_what_comes_later_extends_what_was_sent(
    before: list[Item], after: list[Item], room: int
) -> None:
    pruner = Pruner()
    whole = pruner.size(before)
    less = pruner.prune(before, room)
    cut = pruner.cut
    assert less == (cut != Cut()) == (pruner.size(before) < whole)
    sent = shown(before, cut)
    assert size(sent) == pruner.size(before)
    assert shown([*before, *after], cut)[: len(sent)] == sent
    pruner.prune([*before, *after], room)
    now = pruner.cut
    assert now.turns >= cut.turns and now.results >= cut.results
    assert now.reasoning >= cut.reasoning
    if before:
        assert chat_messages("system", sent, "tail")
        assert response_items(sent, "tail")
