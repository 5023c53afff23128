"""Every tool, in many orders, against what no model may know: python -m tests.bench private

PRIVATE_SEEDS=100 python -m tests.bench private   # so many orders for each setting
PRIVATE_SEED=17 python -m tests.bench private     # that one
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tests.support.private_fuzz import MODES, VALUES, play, told

SEEDS = 20


def main() -> None:
    seed = os.environ.get("PRIVATE_SEED")
    seeds = [int(seed)] if seed else range(int(os.environ.get("PRIVATE_SEEDS", SEEDS)))
    for name, mode in MODES.items():
        leaks: list[str] = []
        requests = parts = 0
        for each in seeds:
            with tempfile.TemporaryDirectory() as folder:
                bodies, log = play(Path(folder), mode, each)
            went_out = told(bodies)
            requests, parts = requests + len(bodies), parts + len(went_out.parts)
            leaks += [f"seed {each}: {leak}" for leak in went_out.leaks(mode.canaries)]
            leaks += [f"seed {each}: the log" for _ in filter(None, [VALUES.search(log)])]
        print(
            f"{name}: {len(seeds)} orders, {requests} requests, {parts} texts, {len(leaks)} leaks"
        )
        print(*leaks[:20], sep="\n", end="\n" if leaks else "")
