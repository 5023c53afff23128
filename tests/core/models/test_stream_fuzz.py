"""Every fault of a stream ends in one terminal event, in time, with nothing doubled or half.

A sample, by a seed; `python -m tests.bench fuzz` goes through all, or runs one case again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from unittest.mock import ANY

import pytest

from shiro_jupyter.core.errors import EndpointError
from shiro_jupyter.core.models.base import Finished, Piece
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.patience import patient
from shiro_jupyter.core.models.profiles import Api, Calling, Profile
from shiro_jupyter.core.transcript import Assistant, Call, Item
from tests.support import stream_turns
from tests.support.steps import MadeClock, Outcome, asked
from tests.support.stream_faults import (
    AT_BYTES,
    FAULTS,
    IDLE,
    OF,
    Case,
    Fault,
    cases,
    done_at,
    events,
    play,
)
from tests.support.streams import Reply, chat_stream
from tests.support.wires import ENDPOINT, End, Line, MadeTimeLoop, Sent, wired

both = pytest.mark.parametrize("api", ["chat", "responses"])


def sample(all_of: Iterable[Case], at_bytes: int, at_events: int) -> Iterator[Case]:
    """So many of each kind, the same ones each time."""
    chosen: dict[bool, list[Case]] = {True: [], False: []}
    for case in all_of:
        chosen[case.fault in AT_BYTES].append(case)
    random = Random(6)
    yield from random.sample(chosen[True], at_bytes)
    yield from random.sample(chosen[False], at_events)


def every(api: Api) -> Iterator[Case]:
    return (case for reply in OF[api] for case in cases(api, reply))


def broken(told: Iterator[tuple[Case, str]]) -> list[tuple[Case, str]]:
    return [(case, why) for case, why in told if why]


@both
def test_a_fault_anywhere_ends_in_one_terminal_event_within_its_deadline(api: Api) -> None:
    assert broken(play(sample(every(api), 200, 250))) == []


@both
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_at_the_places_that_matter_most(api: Api, fault: Fault) -> None:
    """Around the end of the model's answer, and at both ends of the stream."""
    for reply in ("all", "text"):
        sizes = [len(each) for each in events(api, reply)]
        end = done_at(api, reply)
        places = {0, 1, end - 1, end, end + 1, len(sizes) - 1}
        if fault in AT_BYTES:
            at = sum(sizes[: end + 1])
            places = {0, 1, at - 1, at, at + 1, sum(sizes) - 1, sum(sizes)}
        existing = set(cases(api, reply))
        chosen = [
            case for at in sorted(places) if (case := Case(api, reply, fault, at)) in existing
        ]
        assert chosen
        assert broken(play(chosen)) == []


LOOKED = Call(ANY, "look", '{"path": "größer"}', 1, 1)
WRITTEN: dict[str, tuple[Calling, str, str, Item]] = {
    "fenced": (
        "native",
        '```json\n{"name": "look", "arguments": {"path": "größer"}}\n```',
        "",
        LOOKED,
    ),
    "chosen": ("schema", '{"tool": "look", "arguments": {"path": "größer"}}', "", LOOKED),
    "answer": ("schema", '{"answer": "Größe 日"}', "Größe 日", Assistant("Größe 日", 1, 1)),
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("end", ["clean", "broken", "silent"])
def test_what_is_written_as_text_and_cut_anywhere_is_whole_or_an_error(
    written: str, end: End
) -> None:
    calling, text, shown, item = WRITTEN[written]
    data = b"".join(chat_stream(Reply(text, chunk=4), "tiny"))
    line = Line()

    async def live() -> None:
        client = client_for(ENDPOINT, Profile("tiny", calling=calling, idle_seconds=IDLE))
        for at in range(0, len(data) + 1, 5):
            line.begin(Sent([data[:at]], end), lambda body: Sent([data]))
            pieces: list[Piece] = []
            try:
                async for piece in patient(client, asked(), MadeClock(), lambda event: None):
                    pieces.append(piece)
            except EndpointError as error:
                outcome = Outcome(pieces, error)
                assert not [piece for piece in pieces if isinstance(piece, Finished)]
                assert shown.startswith(outcome.text)
            else:
                outcome = Outcome(pieces)
                assert (outcome.finished.items, outcome.text) == ((item,), shown)
        await client.close()

    with wired(line), asyncio.Runner(loop_factory=MadeTimeLoop) as runner:
        runner.run(live())


@both
def test_no_fault_runs_a_call_twice_or_half_or_breaks_the_next_turn(
    api: Api, tmp_path: Path
) -> None:
    assert broken(stream_turns.play(sample(every(api), 30, 90), tmp_path / "project")) == []
