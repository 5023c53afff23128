"""What goes out by source: every part is somewhere, and all of them are the whole."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.context.prompt import INTRODUCTION
from shiro_jupyter.core.context.sources import SOURCES, Source, memory_of, sources
from shiro_jupyter.core.context.tokens import Measure, estimate, estimate_item
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

MEMORY = "<memory>\nRecorded in earlier sessions.\n- (decision) Prices are gross.\n</memory>"
SYSTEM = (
    f"{INTRODUCTION}\n\n{MEMORY}\n\n<project-instructions>\nUse polars.\n</project-instructions>"
)
TOOLS: dict[str, Source] = {"read_file": "files", "run_python": "kernel", "bash": "commands"}


def of(*items: Item, system: str = "", tail: str = "", turn: int = 2) -> dict[str, int]:
    """The sources that have any tokens."""
    tools = [] if items else [["look", "Look at a file.", {"type": "object"}]]
    found = sources(
        system, tools, items, tail, turn, lambda name: TOOLS.get(name, "history"), Measure()
    )
    assert tuple(found) == SOURCES
    return {source: tokens for source, tokens in found.items() if tokens}


def test_the_system_text_is_instructions_but_for_what_is_remembered() -> None:
    found = of(system=SYSTEM, tail="Today is Monday.")
    assert found["memory"] == estimate(MEMORY)
    assert found["instructions"] == estimate(SYSTEM) - estimate(MEMORY)
    assert found["kernel"] == estimate("Today is Monday.")
    assert set(found) == {"instructions", "memory", "tools", "kernel"}


def test_a_block_that_does_not_end_is_no_memory() -> None:
    assert memory_of("no memory") == "" == memory_of("<memory> and nothing after")
    assert memory_of(f"a\n\n{MEMORY}\n\nb") == MEMORY


def test_a_call_and_its_result_are_of_the_source_of_the_tool() -> None:
    items = (
        Call("c1", "read_file", '{"path": "a"}', 2, 1),
        Call("c2", "bash", '{"command": "ls"}', 2, 1),
        Result("c2", "ok", "a b c", 2, 1),
        Result("c1", "ok", "text " * 50, 2, 1),
        Call("c1", "run_python", "{}", 2, 2),  # an id that the server gave before
        Result("c1", "failed", "KeyError", 2, 2),
    )
    found = of(*items)
    assert found == {
        "files": estimate_item(items[0]) + estimate_item(items[3]),
        "commands": estimate_item(items[1]) + estimate_item(items[2]),
        "kernel": estimate_item(items[4]) + estimate_item(items[5]),
    }


def test_what_was_said_is_of_this_turn_or_of_those_before() -> None:
    before = (User("one", 1), Assistant("answer one", 1, 1), Note("stopped", 1), Summary("s", 1))
    now = (User("two", 2), Reasoning("t", 2, 1, "rs", "sealed" * 40, "o"), Assistant("two", 2, 1))
    found = of(*before, *now)
    assert found["history"] == sum(map(estimate_item, before))
    assert found["turn"] == sum(map(estimate_item, now))


_TEXT = st.text("abc 123\n|.é", max_size=40)
_ITEMS = st.lists(
    st.one_of(
        st.builds(User, _TEXT, st.integers(1, 3)),
        st.builds(Assistant, _TEXT, st.integers(1, 3)),
        st.builds(Reasoning, _TEXT, st.integers(1, 3), encrypted=_TEXT),
        st.builds(Call, st.sampled_from("xyz"), st.sampled_from(["bash", "gone"]), _TEXT),
        st.builds(Result, st.sampled_from("xyz"), st.just("ok"), _TEXT),
    ),
    max_size=12,
)


@given(items=_ITEMS, system=_TEXT, tail=_TEXT)
def test_the_sources_are_the_whole(items: list[Item], system: str, tail: str) -> None:
    found = sources(system, [], items, tail, 2, lambda name: TOOLS.get(name, "history"), Measure())
    whole = estimate(system) + estimate(tail) + sum(map(estimate_item, items))
    assert sum(found.values()) == whole and min(found.values()) >= 0
