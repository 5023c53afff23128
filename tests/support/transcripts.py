"""Transcripts for property tests: healthy ones, and any damage."""

from __future__ import annotations

from hypothesis import strategies as st

from shiro_jupyter.core.transcript import (
    OUTCOMES,
    Assistant,
    Call,
    Item,
    Note,
    Reasoning,
    Result,
    User,
)

_texts = st.sampled_from(["", " \n", "hi", "Größe “x”", "a\n\nb", "half \ud800 pair"])
_ids = st.sampled_from(["", "a", "b", "c", "call_1_1", "a\0\n", "z" * 40, "z" * 41])
_turns = st.integers(0, 2)
_arguments = st.sampled_from(["", "{}", '{"path": "x"}', '{"path": "x', "[1]", '{"a": NaN}'])
_provider = st.sampled_from(["", "1", "2"])

# Items in any order, with any ids: what crashes, forks and torn files can leave.
damaged: st.SearchStrategy[list[Item]] = st.lists(
    st.one_of(
        st.builds(User, _texts, _turns),
        st.builds(Note, _texts, _turns),
        st.builds(Assistant, _texts, _turns, _turns, _provider.map(lambda p: p and f"msg_{p}")),
        st.builds(
            Reasoning,
            _texts,
            _turns,
            _turns,
            _provider.map(lambda p: p and f"rs_{p}"),
            st.sampled_from(["", "sealed"]),
            st.sampled_from(["", "here", "elsewhere"]),
        ),
        st.builds(
            Call,
            _ids,
            st.sampled_from(["look", "functions.look", "look\n"]),
            _arguments,
            _turns,
            _turns,
            _provider.map(lambda p: p and f"fc_{p}"),
        ),
        st.builds(Result, _ids, st.sampled_from(OUTCOMES), _texts, _turns, _turns),
    ),
    max_size=14,
)


@st.composite
def healthy(draw: st.DrawFn) -> list[Item]:
    """What the loop writes when nothing goes wrong, or only the person interrupts."""
    items: list[Item] = []
    for turn in range(1, draw(st.integers(1, 4)) + 1):
        items.append(User(f"question {turn}", turn))
        for step in range(1, draw(st.integers(1, 3)) + 1):
            if draw(st.booleans()):
                items.append(
                    Reasoning("hm", turn, step, f"rs_{turn}{step}", draw(_sealed), draw(_origins))
                )
            if draw(st.booleans()):
                items.append(Assistant("so", turn, step, f"msg_{turn}{step}"))
            calls = [f"c{turn}{step}{at}" for at in range(draw(st.integers(1, 3)))]
            items += [Call(each, "look", "{}", turn, step, f"fc_{each}") for each in calls]
            answered = draw(st.permutations(calls))
            items += [Result(each, "ok", "seen", turn, step) for each in answered]
        if draw(st.booleans()):
            items.append(Assistant(f"answer {turn}", turn, step + 1))
        else:
            items.append(Note("The person interrupted the turn.", turn))
    return items


_sealed = st.sampled_from(["", "sealed"])
_origins = st.sampled_from(["here", "elsewhere"])
