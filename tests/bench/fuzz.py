"""Conversations and streams through anything that can happen to them, in numbers.

python -m tests.bench fuzz                      # all of it
FUZZ_EXAMPLES=500 python -m tests.bench fuzz    # fewer conversations; and one stream in so many
FUZZ_SEED=4711 python -m tests.bench fuzz       # the conversation of one seed, step by step
FUZZ_CASE='chat|text|cut|17' python -m tests.bench fuzz  # one fault of one stream
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from tests.support import stream_faults, stream_turns
from tests.support.conversations import Conversation
from tests.support.normal import random_life
from tests.support.stream_faults import AT_BYTES, OF, Case

EXAMPLES, NORMAL = 20_000, 500
SHOWN = 10  # of the failures, as many are printed
MOST = 8  # operations of one conversation
# Of the faults at a byte, whole turns meet one in so many.
TURNS_AT_BYTES = 40


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if seed := os.environ.get("FUZZ_SEED"):
            _again(int(seed), folder)
        elif case := os.environ.get("FUZZ_CASE"):
            api, reply, fault, at = case.split("|")
            only: Any = Case(api, reply, fault, int(at))  # type: ignore[arg-type]
            print([why for _, why in stream_faults.play([only])], "through the client")
            print([why for _, why in stream_turns.play([only], folder / "p")], "as a turn")
        else:
            _all(int(os.environ.get("FUZZ_EXAMPLES", EXAMPLES)), folder)


def _all(examples: int, folder: Path) -> None:
    share = max(1, EXAMPLES // examples)
    only = os.environ.get("FUZZ_ONLY", "")
    for name, run in {
        "conversations": lambda: _conversations(examples, folder),
        "normal operation": lambda: _normal(NORMAL // share, folder),
        "streams": lambda: _streams(share),
        "turns over faulty streams": lambda: _turns(share, folder),
    }.items():
        if name.startswith(only):
            _told(name, run)


def _told(what: str, run: Callable[[], tuple[Counter[str], list[str]]]) -> None:
    begun, used = time.perf_counter(), time.process_time()
    counts, failures = run()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    print(f"{what}: {counts.pop('examples'):,} examples, {len(failures)} failures,", end=" ")
    print(f"{seconds:.0f} s ({cpu:.0f} s of processor time)", flush=True)
    print("  " + ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())))
    for failure in failures[:SHOWN]:
        print(f"  FAILED {failure}")
    if len(failures) > SHOWN:
        print(f"  and {len(failures) - SHOWN} more")


def _life(seed: int, folder: Path) -> Conversation:
    return Conversation(Random(seed), folder / f"seed-{seed}")


def _conversations(examples: int, folder: Path) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter(examples=examples)
    failures = []
    for seed in range(examples):
        life = _life(seed, folder)
        try:
            life.live(life.random.randint(1, MOST))
        except Exception as error:
            failures.append(f"seed {seed}, after {life.done}: {type(error).__name__}: {error}")
        counts += life.counts
        shutil.rmtree(life.folder, ignore_errors=True)
    return counts, failures


def _again(seed: int, folder: Path) -> None:
    life = _life(seed, folder)
    try:
        life.live(life.random.randint(1, MOST))
        print(f"seed {seed}: all {life.counts['requests']} requests are accepted; {life.done}")
    except Exception as error:
        print(f"seed {seed}: {life.done}: {type(error).__name__}: {error}")
        print("\n".join(map(repr, life.session.items)), f"cut: {life.pruner.cut}", sep="\n")


def _normal(sessions: int, folder: Path) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter(examples=sessions, repairs=0)
    failures = []
    for seed in range(sessions):
        life = random_life(seed, folder / "project")
        asyncio.run(life.live(4))
        counts.update(life.counts)
        if life.refused or life.counts["repairs"]:
            failures.append(f"seed {seed}: {life.refused[:1]}, {life.counts['repairs']} repairs")
    return counts, failures


def _every() -> Iterator[Case]:
    for api, replies in OF.items():
        for reply in replies:
            yield from stream_faults.cases(api, reply)


def _streams(share: int) -> tuple[Counter[str], list[str]]:
    return _played(stream_faults.play(islice(_every(), 0, None, share)))


def _turns(share: int, folder: Path) -> tuple[Counter[str], list[str]]:
    at_bytes = (case for case in _every() if case.fault in AT_BYTES)
    at_events = (case for case in _every() if case.fault not in AT_BYTES)
    chosen = [*islice(at_bytes, 0, None, TURNS_AT_BYTES * share)]
    chosen += islice(at_events, 0, None, share)
    return _played(stream_turns.play(chosen, folder / "turns"))


def _played(told: Iterable[tuple[Case, str]]) -> tuple[Counter[str], list[str]]:
    counts: Counter[str] = Counter()
    failures = []
    for case, why in told:
        counts.update(("examples", case.fault, case.api))
        if why:
            failures.append(f"{case.api}|{case.reply}|{case.fault}|{case.at}: {why}")
    return counts, failures
