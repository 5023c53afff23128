"""What the tools cost, each beside what it saves: twenty files in one call and one by one."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from shiro_jupyter.core.models.scripted import ScriptedCall, ScriptedModel, Step
from tests.bench.turn import agent_of

FILES, LINES, ROUNDS = 20, 100, 15
NAMES = [f"part_{n}.py" for n in range(FILES)]
ONE_BY_ONE = [ScriptedCall("read_file", {"path": name}) for name in NAMES]
AT_ONCE = ScriptedCall("read_many_files", {"files": NAMES})


async def seconds(steps: Sequence[Step], folder: Path) -> float:
    """Wall time of a turn of these steps, through the loop with its log and events."""
    model = ScriptedModel([*steps, Step("Read.")])
    agent = agent_of(lambda: model, folder)
    started = time.perf_counter()
    ended = await agent.submit("read")
    spent = time.perf_counter() - started
    assert ended.outcome == "answered", ended.reason
    return spent


async def reading() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in NAMES:
            (folder / file).write_text(f"# {file}\n" * LINES)
        spent = []
        for _ in range(ROUNDS):
            many = await seconds([Step(calls=[AT_ONCE])], folder)
            batch = await seconds([Step(calls=ONE_BY_ONE)], folder)
            steps = await seconds([Step(calls=[call]) for call in ONE_BY_ONE], folder)
            spent.append((batch / many, steps / many, many))
        batch, steps, many = map(statistics.median, zip(*spent, strict=True))
        print(
            f"{FILES} files by read_many_files: {1000 * many:.1f} ms; by {FILES} calls of "
            f"read_file in one step {batch:.1f} times that, in {FILES} steps {steps:.1f} times "
            f"(median of {ROUNDS}, no model's time in it)"
        )


def main() -> None:
    asyncio.run(reading())


if __name__ == "__main__":
    main()
