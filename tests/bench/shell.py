"""Running commands: how soon each hard case returns (promised: two seconds, an interrupt one), and
what a flood of output costs in memory."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

import psutil

from shiro_jupyter.core.workspace.processes import Processes

DEAF = "trap '' TERM; sleep 300; sleep 300"
RETURNS = {
    "silent holder of the pipe": "sleep 300 & echo ok",
    "noisy holder of the pipe": "yes & echo ok",
    "holder in a session of its own": "setsid sleep 300 & echo ok",
    "5 MB of output": "yes | head -c 5000000; echo the end",
    "git asks for a name": "git -c credential.helper= ls-remote http://127.0.0.1:9/x",
}
ENDED = {
    "one child": "exec sleep 300",
    "grandchildren": "(sleep 300 & sleep 300 & wait) & wait",
    "TERM ignored": DEAF,
    "TERM ignored in a session of its own": f'setsid bash -c "{DEAF}" & wait',
}


def rss() -> float:
    return float(psutil.Process().memory_info().rss) / 1e6


async def timed(work: Awaitable[object]) -> float:
    started = time.monotonic()
    await work
    return time.monotonic() - started


async def measured(processes: Processes, folder: Path) -> None:
    def run(command: str, timeout: float | None = 60) -> Awaitable[object]:
        return processes.run(processes.shell(command), cwd=folder, timeout=timeout)

    async def interrupted(command: str) -> float:
        task = asyncio.ensure_future(run(command))
        await asyncio.sleep(0.3)
        task.cancel()
        return await timed(asyncio.wait({task}))

    async def stopped(command: str) -> float:
        job = await processes.start_job(command, cwd=folder)
        return await timed(processes.end_job(job))

    for name, command in RETURNS.items():
        print(f"{await timed(run(command)):6.2f} s  returns: {name}")
    for name, command in ENDED.items():
        late = await timed(run(command, 1.0)) - 1.0
        interrupt, stop = await interrupted(command), await stopped(command)
        print(f"{late:6.2f} s  behind its timeout, {interrupt:.2f} interrupted, ", end="")
        print(f"{stop:.2f} as a job: {name}")
    for size in (5, 500):
        before = rss()
        seconds = await timed(run(f"yes | head -c {size}000000"))
        print(f"{size} MB of output: {seconds:.2f} s, {rss() - before:+.1f} MB of memory")
    before = rss()
    job = await processes.start_job("yes", cwd=folder)
    await asyncio.sleep(3)
    print(
        f"a job that floods for 3 s: {rss() - before:+.1f} MB of memory, {job.told[:3]} in a file"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        processes = Processes(os.environ, Path(folder) / "outputs")
        try:
            asyncio.run(measured(processes, Path(folder)))
        finally:
            processes.end_all()


if __name__ == "__main__":
    main()
