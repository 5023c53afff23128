from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import StorageError
from shiro_jupyter.core.sessions import lease
from shiro_jupyter.core.sessions.lease import Lease, Leases, Process, holder, this_process
from shiro_jupyter.core.sessions.session import new_id

ELSEWHERE = Process("another boot", os.getpid(), "1")

# Takes the session named, says so, and lives until its input ends.
HOLD = """
import sys
from pathlib import Path
from shiro_jupyter.core.sessions.lease import Lease
print(Lease(Path(sys.argv[1])).take(), flush=True)
sys.stdin.read()
"""
# Takes as many as it can of many sessions at once, from the same moment as all others.
RACE = """
import sys
from pathlib import Path
from shiro_jupyter.core.sessions.lease import Lease
logs = [Path(name) for name in sys.argv[1:]]
print("ready", flush=True)
sys.stdin.readline()
leases = [Lease(log) for log in logs]
won = [lease.take() for lease in leases]
print(*map(int, won), flush=True)
sys.stdin.readline()
print(*(int(lease.renew()) for lease in leases), flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / f"{new_id()}.jsonl"


def age(log: Path, seconds: float) -> None:
    """As if the lease was touched last so many seconds ago, by the file system's clock."""
    path = lease.lease_of(log)
    probe = path.with_name("probe")
    probe.touch()
    now = probe.stat().st_mtime
    os.utime(path, (now - seconds, now - seconds))


def test_one_has_it_until_it_is_released(log: Path) -> None:
    first, second = Lease(log), Lease(log)
    assert first.take() and first.take() and first.renew()
    assert not second.take() and not second.renew()
    second.release()
    assert first.renew(), "who has it not cannot release it"
    first.release()
    assert not first.renew() and second.take() and not first.take()


def test_it_is_private(log: Path) -> None:
    Lease(log).take()
    assert lease.lease_of(log).stat().st_mode & 0o777 == 0o600
    assert log.parent.stat().st_mode & 0o777 == 0o700


def test_a_dead_process_of_this_machine_frees_it_at_once(log: Path) -> None:
    pipe, mine = subprocess.PIPE, Lease(log)
    command = [sys.executable, "-c", HOLD, str(log)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout and process.stdout.readline() == b"True\n"
        age(log, 3600)
        assert not mine.take(), "one that lives has it, however long its machine slept"
        assert holder(log) == "elsewhere"
        process.kill()
        time.sleep(0.1)
        # Not yet waited for: a zombie.
        assert holder(log) == "" and mine.take() and holder(log) == "here"


def test_a_process_that_has_the_same_number_is_another_one(log: Path) -> None:
    Lease(log, replace(this_process(), started="1")).take()
    assert Lease(log).take()


def test_another_machine_is_judged_by_its_last_touch(log: Path) -> None:
    theirs, mine = Lease(log, ELSEWHERE), Lease(log)
    assert theirs.take()
    age(log, 50)
    assert not mine.take() and holder(log) == "elsewhere"
    age(log, 70)
    assert theirs.renew() and not mine.take(), "a touch renews it"
    age(log, 70)
    assert holder(log) == "" and mine.take()
    assert not theirs.renew() and not theirs.take(), "and it is told at its next renewal"


def test_our_own_clock_decides_nothing(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three machines: ours, hours behind or ahead, theirs, and a file server between them."""
    theirs, mine = Lease(log, ELSEWHERE), Lease(log)
    assert theirs.take()
    for off in (-5 * 3600, 5 * 3600):
        now = time.time() + off
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda now=now: now)
            age(log, 50)
            assert not mine.take()
    for off in (-5 * 3600, 5 * 3600):
        now = time.time() + off
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda now=now: now)
            age(log, 70)
            assert mine.take()
        mine.release()
        assert theirs.take()


def test_the_same_pid_in_another_space_is_another_process(log: Path) -> None:
    """Two pods of one machine share its boot, and number their processes from 1."""
    boot = this_process().machine.split()[0]
    theirs = replace(this_process(), machine=f"{boot} pid:[7]", started="gone")
    Lease(log, theirs).take()
    assert not Lease(log).take()
    age(log, 70)
    assert Lease(log).take()


def test_of_many_takers_of_a_stale_lease_one_wins(tmp_path: Path) -> None:
    logs = [tmp_path / f"{new_id()}.jsonl" for _ in range(12)]
    for at, log in enumerate(logs):
        if at % 3:  # a third is free, a third of a dead process, a third stale
            stale = ELSEWHERE if at % 3 == 1 else replace(this_process(), started="1")
            assert Lease(log, stale).take()
            age(log, 70)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", RACE, *map(str, logs)]
    with ExitStack() as stack:
        takers = [
            stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
            for _ in range(8)
        ]
        said = []
        for expected in ("ready", "won", "kept"):
            lines = [taker.stdout.readline().split() for taker in takers if taker.stdout]
            assert expected != "ready" or lines == [["ready"]] * 8
            said.append(lines)
            for taker in takers:
                assert taker.stdin
                taker.stdin.write("go\n")
                taker.stdin.flush()
    won = [[int(each[at]) for each in said[1]] for at in range(len(logs))]
    assert [sum(each) for each in won] == [1] * len(logs)
    assert said[2] == said[1]


@pytest.mark.parametrize(
    "mark",
    ["", "{", "[]", "null", '{"pid": "x"}', "\0" * 99],
)
def test_a_broken_mark_is_none(log: Path, mark: str) -> None:
    log.parent.mkdir()
    lease.lease_of(log).write_text(mark)
    assert holder(log) == ""
    assert Lease(log).take()


def test_a_mark_of_no_process_is_none(log: Path) -> None:
    log.parent.mkdir()
    for pid in (-1, 0, 2**40):
        mark = {**vars(this_process()), "pid": pid, "started": ""}
        lease.lease_of(log).write_text(json.dumps(mark))
        assert holder(log) == ""


def test_what_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    mine = Lease(tmp_path / "file" / "x.jsonl")
    with pytest.raises(StorageError, match="file"):
        mine.take()
    mine.release()


def test_one_removed_by_somebody_is_not_ours_any_more(log: Path) -> None:
    mine = Lease(log)
    assert mine.take()
    lease.lease_of(log).unlink()
    assert not mine.renew()
    assert mine.take()


def test_a_session_lives_from_its_lease_to_its_release(tmp_path: Path) -> None:
    leases, here = Leases(tmp_path), new_id()
    mine = Lease(tmp_path / f"{here}.jsonl")
    assert not leases.lives(here) and not leases.knows(here)
    mine.take()
    assert leases.lives(here) and leases.knows(here) and not leases.lives(new_id())
    mine.release()
    assert not leases.lives(here) and not leases.knows(here)
    (tmp_path / f"{here}.jsonl").touch()
    assert leases.knows(here) and not leases.lives(here)
    (tmp_path / "x.jsonl").touch()
    assert not leases.knows("../x") and not leases.knows("x") and not leases.lives("../x")


def test_a_pipe_in_its_place_holds_nobody_up(log: Path) -> None:
    log.parent.mkdir()
    os.mkfifo(lease.lease_of(log))
    assert holder(log) == "elsewhere", "what cannot be looked at"
    with pytest.raises(StorageError, match="is no plain file"):
        Lease(log).take()
