"""A key that stops something has to be pressed twice in time: `twice.ts`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.node import bundled

pytestmark = pytest.mark.node

FIRST, SECOND, NOTHING, STILL = [False, "again"], [True, ""], [None, ""], [None, "again"]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    source = Path(__file__).with_name("twice.mjs")
    return bundled(source, tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (["press", "press", "press"], [FIRST, SECOND, FIRST]),
        (["press", 2999, "press"], [FIRST, STILL, SECOND]),
        (["press", 3000, "press"], [FIRST, NOTHING, FIRST]),
        (["press", "forget", "press"], [FIRST, NOTHING, FIRST]),
        # The time of a press that was taken back does not end that of the next one.
        (
            ["press", 2000, "forget", "press", 2000, "press"],
            [FIRST, STILL, NOTHING, FIRST, STILL, SECOND],
        ),
    ],
)
def test_the_second_press_counts_in_time(
    command: list[str | Path], steps: list[str | int], told: list[object]
) -> None:
    done = subprocess.run([*command, json.dumps(steps)], check=True, capture_output=True)
    assert json.loads(done.stdout) == told
