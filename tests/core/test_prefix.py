"""What a provider has cached stays cached: long sessions over a real server, in both formats."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shiro_jupyter.core.models.profiles import Api
from tests.bench.prefix import STEPS, TURNS, played


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_between_two_cuts_a_request_repeats_the_one_before(tmp_path: Path, api: Api) -> None:
    sent = asyncio.run(played(tmp_path, api))
    assert len(sent.bodies) == TURNS * STEPS + 1
    pruned, compacted = sent.cuts
    assert pruned < sent.resumed < compacted == sent.compacted
    assert sent.shares() >= 0.95
    assert sent.share(sent.resumed) >= 0.95
    assert sent.share(pruned) < 0.9  # which a cut costs, so that there are few of them
    assert all("part " in tail and "Your task list" in tail for tail in sent.tails[1:])
    assert all("Today is" in tail for tail in sent.tails)
    assert "about what remains" in sent.bodies[-1].decode()
    assert "about what remains" not in sent.bodies[-2].decode()
