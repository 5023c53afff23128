"""What a session on disk costs as it grows, and what is left of it when its process is killed.

`--kills N` sets how many processes are killed, `--seed N` where the random moments begin.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.sessions import catalogue
from shiro_jupyter.core.sessions.fork import fork
from shiro_jupyter.core.sessions.log import load_session, open_session
from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.core.todos import Todo
from shiro_jupyter.core.transcript import Assistant, Call, Result, User
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.project import Project
from tests.support.kills import killed

STEPS, WINDOW = 5_000, 101  # medians are of so many steps around the one named
OUTPUT = "a line of a program's output, as there are many\n" * 40


def step(session: Session, number: int) -> None:
    """A turn of one call, as the loop writes it."""
    turn, name = number + 1, f"call_{number}"
    session.append(User("and then?", turn), Call(name, "bash", '{"command": "ls"}', turn, 1))
    session.append(Result(name, "ok", OUTPUT, turn, 1), Assistant("So it is.", turn, 2))
    session.set_todos((Todo(f"step {number}", "in_progress"),))
    session.add_usage(Usage(100, 50, 20, 0))
    session.end_turn(turn, "answered")


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def growth(folder: Path) -> None:
    clock = SystemClock()
    opened = open_session(folder, project=Project(folder), clock=clock, tell=print)
    spent = []
    for number in range(STEPS + WINDOW):
        started = time.perf_counter()
        step(opened.session, number)
        opened.log.flush()
        spent.append(1000 * (time.perf_counter() - started))
    early, late = (
        statistics.median(spent[max(0, at - WINDOW // 2) :][:WINDOW]) for at in (50, STEPS)
    )
    path, items = opened.log.path, len(opened.session.items)
    opened.log.close()
    print(
        f"a step written and flushed: {early:.2f} ms around step 50, {late:.2f} ms around step "
        f"{STEPS:,}, {late / early:.2f} times (bound 1.5)"
    )
    assert late / early <= 1.5
    loaded = seconds(lambda: load_session(path, clock=clock, tell=print).log.close())
    size = path.stat().st_size / 1e6
    print(f"{items:,} items, {size:.0f} MB: loaded in {1000 * loaded:.0f} ms", end=", ")
    print(f"copied in {1000 * seconds(lambda: fork(path, clock.now())):.0f} ms")
    small = folder / "small"
    opened = open_session(small, project=Project(folder), clock=clock, tell=print)
    for number in range(5_000 // 4):
        step(opened.session, number)
    opened.log.close()
    path = opened.log.path
    loaded = seconds(lambda: load_session(path, clock=clock, tell=print).log.close())
    print(f"{len(opened.session.items):,} items: loaded in {1000 * loaded:.0f} ms")


def listing(folder: Path) -> None:
    """Of fifteen sessions, small and large."""
    clock = SystemClock()
    times = []
    for turns in (1, 400):
        place = folder / str(turns)
        for _ in range(catalogue.LISTED):
            opened = open_session(place, project=Project(folder), clock=clock, tell=print)
            for number in range(turns):
                step(opened.session, number)
            opened.log.close()
        listed = partial(catalogue.sessions, place)
        times.append(1000 * min(seconds(listed) for _ in range(5)))
    print(
        f"fifteen sessions listed: {times[0]:.1f} ms where each has one turn, {times[1]:.1f} ms "
        f"where each has 400 ({opened.log.path.stat().st_size / 1e6:.1f} MB)"
    )


def kills(folder: Path, number: int, seed: int) -> None:
    started = time.monotonic()
    *_, found = killed(folder, number, seed)
    print(
        f"{found.kills} processes killed in mid-session (seed {seed}), {found.torn} with a torn "
        f"line: each opened with all that was flushed ({found.items:,} items), its next write "
        f"read back, its next request accepted in both formats ({time.monotonic() - started:.0f} s)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench sessions")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    known, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as name:
        growth(Path(name) / "growth")
        listing(Path(name) / "listing")
        kills(Path(name), known.kills, known.seed)


if __name__ == "__main__":
    main()
