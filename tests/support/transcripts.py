"""Transcripts for property tests: healthy ones, and any damage."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, get_args

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


class Writer:
    """Turns as the loop writes them, drawn from one `Random`, so that a seed gives them again.

    `issued` maps the id of each item that came beside reasoning to the reasoning's, as an endpoint
    that gave them out would remember it.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._made = 0
        self.issued: dict[str, str] = {}

    def turn(self, number: int, sealed: str, origin: str) -> list[Item]:
        """A whole turn. `sealed` begins what its reasoning is encrypted to; empty for a model that
        seals nothing, as over Chat Completions."""
        items: list[Item] = [User(self._some(PROMPTS), number)]
        for step in range(1, self._random.randint(1, 4) + 1):
            items += self._response(number, step, sealed, origin)
            calls = [item for item in items if isinstance(item, Call) and item.step == step]
            for call in self._random.sample(calls, len(calls)):
                outcome = self._some(OUTCOMES) if self._may(0.2) else "ok"
                items.append(Result(call.call_id, outcome, self._some(TOLD), number, step))
            if self._may(0.1):  # the person steers
                items.append(User(self._some(PROMPTS), number))
        if self._may(0.7):
            items.append(Assistant(self._some(PROMPTS), number, step + 1, self._id("msg", sealed)))
        return items

    def broken(self, turn: list[Item]) -> list[Item]:
        """A turn that ended, or was killed, anywhere: its calls closed or left open."""
        begun = turn[: self._random.randint(1, len(turn))]
        number = begun[0].turn
        if self._may(0.5):  # killed
            return begun
        told = {item.call_id for item in begun if isinstance(item, Result)}
        begun += [
            Result(item.call_id, self._some(("skipped", "interrupted")), "", number, item.step)
            for item in begun
            if isinstance(item, Call) and item.call_id not in told
        ]
        return [*begun, Note("The person interrupted the turn.", number)]

    def anything(self) -> Item:
        """An item with any ids and numbers: what a damaged file can hold."""
        pick, number, step = (
            self._random.choice,
            self._random.randint(0, 4),
            self._random.randint(0, 3),
        )
        kind = pick(get_args(Item))
        known = [*self.issued, *self.issued.values(), ""]
        if kind is Call:
            return Call(pick(IDS), pick(NAMES), pick(ARGUMENTS), number, step, pick(known))
        if kind is Result:
            return Result(pick(IDS), pick(OUTCOMES), pick(TEXTS), number, step)
        if kind is Reasoning:
            sealed, origin = pick(("", "sealed")), pick(("", "elsewhere"))
            return Reasoning(pick(TEXTS), number, step, pick(known), sealed, origin)
        if kind is Assistant:
            return Assistant(pick(TEXTS), number, step, pick(known))
        return kind(pick(TEXTS), number)

    def _response(self, number: int, step: int, sealed: str, origin: str) -> list[Item]:
        items: list[Item] = []
        thought = ""
        for _ in range(self._some((0, 1, 1, 2)) if sealed else self._may(0.3)):
            thought = self._id("rs", sealed)
            seal = f"{sealed}{self._made}" if sealed else ""
            items.append(
                Reasoning(self._some(("hm", "")) or "hm", number, step, thought, seal, origin)
            )
        follow: list[Item] = []
        if self._may(0.4):
            phase = self._some(("", "commentary"))
            follow.append(Assistant("I look.", number, step, self._id("msg", sealed), phase))
        for at in range(self._some((1, 1, 2, 3))):
            self._made += 1
            call_id = f"call_{number}_{step}_{at}_{self._made}"
            name, arguments = self._some(NAMES), self._some(ARGUMENTS)
            follow.append(Call(call_id, name, arguments, number, step, self._id("fc", sealed)))
        for item in follow:
            if thought and isinstance(item, Assistant | Call):
                self.issued[item.provider_id] = thought
        return [*items, *follow]

    def _id(self, kind: str, sealed: str) -> str:
        self._made += 1
        return f"{kind}_{self._made:04}" if sealed else ""

    def _some(self, of: Sequence[Any]) -> Any:
        return self._random.choice(of)

    def _may(self, share: float) -> bool:
        return self._random.random() < share


TEXTS = ("", " \n", "hi", "Größe “x”", "a\n\nb", "half \ud800 pair", "x " * 300)
PROMPTS = ("hi", "Größe “x”", "a\n\nb", "half \ud800 pair", "x " * 40)
TOLD = ("", "seen", "seen", "a;b;c\n" * 40, "1,2.5,3\n" * 200)
NAMES = ("look", "read_file", "functions.look", "look\n", "читать")
IDS = ("a", "b", "call_1_1_0_2", "a\0\n", "z" * 40, "z" * 41)
ARGUMENTS = ("", "{}", '{"path": "x"}', '{"path": "x', "[1]", '{"a": NaN}')
