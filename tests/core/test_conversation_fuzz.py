"""Whatever happens to a conversation, its next request is accepted: a sample, by seeds.

`python -m tests.bench fuzz` lives through many more, and through the one of a seed again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from shiro_jupyter.core.models.scripted import Step
from tests.support.conversations import OPERATIONS, Conversation
from tests.support.normal import CALLS, Life, random_life

LIVES, OPERATIONS_MOST = 90, 8


def test_every_request_is_accepted_whatever_happened_before(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(LIVES):
        life = Conversation(Random(seed), tmp_path / str(seed))
        life.live(life.random.randint(1, OPERATIONS_MOST))
        counts += life.counts
    assert {each.__name__ for each in OPERATIONS} <= counts.keys()
    assert counts["cuts"] and counts["summaries"] and counts["requests"] > 4 * LIVES


def test_in_normal_operation_the_repair_changes_nothing(tmp_path: Path) -> None:
    """Interrupts, denials, failures, broken streams and made-up calls are normal."""
    counts: Counter[str] = Counter()
    refused: list[str] = []
    for seed in range(25):
        life = random_life(seed, tmp_path / "project")
        asyncio.run(life.live(4))
        counts += life.counts
        refused += life.refused
    assert counts["requests"] > 150 and counts["looks"] > 2_000
    assert (counts["repairs"], refused) == (0, [])


STEPS = [Step("I look.", "hm", CALLS[:3], chunk=3), Step("", "so", CALLS[3:6])]


@pytest.mark.parametrize("how", ["interrupts", "stops"])
def test_an_interrupt_at_every_event_leaves_what_is_accepted(how: str, tmp_path: Path) -> None:
    async def live(at: frozenset[int]) -> Life:
        steps = [*STEPS, *[Step("Done.")] * 6]
        life = Life(tmp_path / "project", steps, Random(1), **{how: at})
        await life.live(2)
        return life

    events = asyncio.run(live(frozenset())).counts["events"]
    assert events >= 40
    for at in range(events):
        life = asyncio.run(live(frozenset({at})))
        assert (at, life.counts["repairs"], life.refused) == (at, 0, [])
