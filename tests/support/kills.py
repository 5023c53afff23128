"""Processes that write to a session and are killed by SIGKILL in the midst of it, and what must
hold of the session then. Run as a module it is such a process: `python -m tests.support.kills
FOLDER`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from shiro_jupyter.core.context.render import chat_messages, response_items
from shiro_jupyter.core.sessions.lease import holder
from shiro_jupyter.core.sessions.log import load_session, open_session
from shiro_jupyter.core.transcript import Assistant, Call, Item, Reasoning, Result, User
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.project import Project
from tests.support.strict_rules import refusal

ROOT = Path(__file__).parents[2]
OF_A_TURN = 7
LIVES = 8  # kills of one session, which grows meanwhile


def item(number: int) -> Item:
    """The items of a conversation, one after the other, of all sizes."""
    turn, at = number // OF_A_TURN + 1, number % OF_A_TURN
    text = "x “é” \n" * Random(number).choice([1, 10, 2_000])
    return (
        User(f"prompt {turn}", turn),
        Reasoning("hm", turn, 1, f"rs_{turn}", "sealed", "here"),
        Call(f"a{turn}", "bash", '{"command": "ls"}', turn, 1),
        Call(f"b{turn}", "grep", '{"pattern": "x"}', turn, 1),
        Result(f"a{turn}", "ok", text, turn, 1),
        Result(f"b{turn}", "failed", text, turn, 1),
        Assistant(text, turn, 2),
    )[at]


def live(folder: Path) -> None:
    """Go on with the session of a folder until killed; tell how far it was written for certain."""
    clock, chance = SystemClock(), Random()
    path = next(folder.glob("*.jsonl"), None)
    if path:
        opened = load_session(path, clock=clock, tell=print)
        assert opened.log.path == path, "its last owner is dead"
    else:
        opened = open_session(folder, project=Project(folder), clock=clock, tell=print)
    os.write(1, b"ready\n")
    while True:
        number = len(opened.session.items)
        opened.session.append(item(number))
        if number % OF_A_TURN == OF_A_TURN - 1:
            opened.session.end_turn(number // OF_A_TURN + 1, "answered")
        if chance.random() < 0.4:
            opened.log.flush()
            os.write(1, f"{number + 1} {opened.log.path.stat().st_size}\n".encode())
            time.sleep(chance.random() / 500)


@dataclass
class Killed:
    """What was found after so many kills."""

    kills: int = 0
    torn: int = 0  # whose last line was damaged
    items: int = 0  # in all sessions


def killed(folder: Path, kills: int, seed: int) -> Iterator[Killed]:
    """Kill that often; raises `AssertionError` where something does not hold."""
    chance, found = Random(seed), Killed()
    for number in range(kills):
        home = folder / str(number // LIVES)
        home.mkdir(exist_ok=True)
        path = next(home.glob("*.jsonl"), None)
        sure = [(0, path.stat().st_size if path else 0), *_kill(home, chance)]
        if path := next(home.glob("*.jsonl"), None):
            if chance.random() < 0.5:
                sure = sure[:-1] if len(sure) > 1 else sure
                _cut_power(path, sure[-1][1], chance)
            found.torn += _check(path, sure[-1][0])
            found.items += sure[-1][0]
        assert len(list(home.glob("*.jsonl"))) <= 1, "nobody went on in a copy"
        found.kills += 1
        yield found


def _kill(home: Path, chance: Random) -> list[tuple[int, int]]:
    """How many items, and bytes of the file, were written for certain, batch by batch."""
    command = [sys.executable, "-m", "tests.support.kills", str(home)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        begun = chance.random() < 0.9
        if begun:
            assert process.stdout.readline() == b"ready\n"
        time.sleep(chance.random() * (0.06 if begun else 0.4))
        process.kill()
        lines = [line.split() for line in process.stdout.read().split(b"\n")[:-1]]
    return [(int(line[0]), int(line[1])) for line in lines if len(line) == 2]


def _cut_power(path: Path, size: int, chance: Random) -> None:
    """What a kill seldom does to a file, and a machine that stops does: of what came after these
    bytes, the last batch, the end is gone, or reads as NULs."""
    with path.open("rb+") as file:
        cut = chance.randint(0, file.seek(0, 2) - size)
        file.truncate(file.seek(-cut, 2))
        if chance.random() < 0.3:
            file.write(b"\0" * cut)


def _check(path: Path, sure: int) -> bool:
    """Whether anything was damaged; raises `AssertionError` where more than that is amiss."""
    told: list[str] = []
    assert holder(path) == "", "a dead process has it no more"
    opened = load_session(path, clock=SystemClock(), tell=told.append)
    items = list(opened.session.items)
    assert items == [item(number) for number in range(len(items))], "all in order, none changed"
    assert len(items) >= sure, "what was flushed is there"
    damaged = [notice for notice in opened.notices if "damaged" in notice]
    assert all(notice.startswith("1 damaged line") for notice in damaged)
    accept([*items, User("and now?", len(items) + 1)])
    # The next write is readable, and what was damaged is told no more.
    opened.session.append(item(len(items)))
    opened.log.close()
    again = load_session(path, clock=SystemClock(), tell=told.append)
    assert again.session.items == [*items, item(len(items))]
    assert not any("damaged" in notice for notice in again.notices)
    again.log.close()
    assert not told
    return bool(damaged)


def accept(items: list[Item]) -> None:
    """The strictest endpoint takes them in both formats."""
    messages = {"model": "tiny", "messages": chat_messages("You are shiro.", items)}
    sent = response_items(items, origin="here")
    inputs = {"model": "tiny", "input": sent, "store": False, "instructions": "You are shiro."}
    assert refusal("chat", messages) is None
    assert refusal("responses", inputs) is None


if __name__ == "__main__":
    live(Path(sys.argv[1]))
