"""Every fault of a stream ends in one terminal event, in time, with nothing doubled or half.

A sample, by a seed; `python -m tests.bench fuzz` goes through all, or runs one case again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pytest

from shiro_jupyter.core.models.profiles import Api
from tests.support import stream_turns
from tests.support.stream_faults import (
    AT_BYTES,
    FAULTS,
    OF,
    Case,
    Fault,
    cases,
    done_at,
    events,
    play,
)

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
    assert broken(play(sample(every(api), 250, 350))) == []


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


@both
def test_no_fault_runs_a_call_twice_or_half_or_breaks_the_next_turn(
    api: Api, tmp_path: Path
) -> None:
    assert broken(stream_turns.play(sample(every(api), 60, 140), tmp_path / "project")) == []
