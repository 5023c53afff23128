from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.workspace import jobs, output
from shiro_jupyter.core.workspace.jobs import NEWS, Job
from shiro_jupyter.core.workspace.processes import KEYS, Processes
from tests.core.workspace.test_processes import IGNORES_TERM, TREES, gone, until


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(os.environ, tmp_path / "outputs")
    yield processes
    processes.end_all()


def start(processes: Processes, command: str, tmp_path: Path) -> Job:
    """On a loop of its own, which is closed when it has returned: a job outlives that too."""
    return asyncio.run(processes.start_job(command, cwd=tmp_path))


def wait(condition: Callable[[], bool]) -> None:
    asyncio.run(until(condition))


def told(job: Job, wanted: str) -> str:
    """All that it tells from now on, until the wanted words are in it."""
    heard: list[str] = []
    wait(lambda: (heard.append(job.look()), wanted in "".join(heard))[1])
    return "".join(heard)


def file_of(job: Job) -> Path:
    return Path(job.told.partition(" is in ")[2])


def test_it_goes_on_behind_the_call_and_each_look_tells_what_is_new(
    processes: Processes, tmp_path: Path
) -> None:
    command = "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two >&2; exit 3"
    job = start(processes, command, tmp_path)
    assert job.look() == "one\n"
    assert job.look() == ""
    assert re.fullmatch("running for [0-9] s", job.state)
    assert processes.goes_on(job)
    (tmp_path / "go").touch()
    assert told(job, "two\n") == "two\n"
    wait(job.over.is_set)
    assert re.fullmatch("exit code 3 after [0-9] s", job.state)
    assert not processes.goes_on(job)
    assert job.told == f"all of it is in {file_of(job)}"
    assert file_of(job).read_text() == "one\ntwo\n"
    if os.name == "posix":
        assert file_of(job).stat().st_mode & 0o077 == 0
    file = file_of(job)
    file.unlink()
    assert job.told == f"all of it was in {file}, which somebody has removed"


def test_one_that_ends_at_once_has_ended_when_it_is_told(
    processes: Processes, tmp_path: Path
) -> None:
    started = time.monotonic()
    job = start(processes, "seq 3; exit 1", tmp_path)
    assert time.monotonic() - started < jobs.FIRST
    assert (job.look(), job.state) == ("1\n2\n3\n", "exit code 1 after 0 s")


def test_a_silent_one_has_its_file_from_the_start(processes: Processes, tmp_path: Path) -> None:
    job = start(processes, "sleep 300", tmp_path)
    assert file_of(job).read_text() == ""


@pytest.mark.parametrize("tree", TREES)
def test_the_whole_tree_ends_within_a_second(tmp_path: Path, tree: str) -> None:
    code = f"import os; open('pid', 'w').write(str(os.getpid())); {IGNORES_TERM}"
    processes = Processes({**os.environ, "CODE": code}, tmp_path / "outputs")
    pid = tmp_path / "pid"
    job = start(processes, TREES[tree], tmp_path)
    wait(lambda: pid.exists() and pid.read_text().strip() != "")
    told(job, "ready\n")
    started = time.monotonic()
    asyncio.run(processes.end_job(job))
    assert time.monotonic() - started < 1.5
    assert gone(pid)
    assert re.fullmatch("(stopped|exit code 143) after [0-9] s", job.state)
    assert not processes.goes_on(job)
    processes.end_all()


@pytest.mark.parametrize("holder", ["", "setsid ", "setsid nohup "])
def test_what_it_started_goes_on_is_heard_and_ends_with_it(
    processes: Processes, tmp_path: Path, holder: str
) -> None:
    beats = "while :; do echo beat; sleep 0.01; done"
    command = f'{holder}bash -c "echo \\$\\$ > pid; {beats}" & sleep 0.1; echo ok'
    job = start(processes, command, tmp_path)
    assert "ok\n" in told(job, "ok\n")
    wait(job.over.is_set)
    assert job.state.startswith("exit code 0")
    assert processes.goes_on(job)
    told(job, "beat\nbeat\n")
    asyncio.run(processes.end_job(job))
    assert gone(tmp_path / "pid")
    assert not processes.goes_on(job)


def test_what_it_left_ends_with_all_others_though_it_writes_elsewhere(
    processes: Processes, tmp_path: Path
) -> None:
    job = start(processes, "setsid sleep 300 > /dev/null 2>&1 & echo $! > pid", tmp_path)
    assert job.state == "exit code 0 after 0 s"
    assert processes.goes_on(job)
    processes.end_all()
    assert gone(tmp_path / "pid")
    assert not processes.goes_on(job)


def test_the_last_words_of_a_stopped_one_are_told(processes: Processes, tmp_path: Path) -> None:
    job = start(processes, "trap 'echo bye; exit 7' TERM; echo hi; sleep 300 & wait", tmp_path)
    assert job.look() == "hi\n"
    asyncio.run(processes.end_job(job))
    assert (job.look(), job.state[:11]) == ("bye\n", "exit code 7")


def test_a_caller_who_is_cancelled_leaves_no_job(processes: Processes, tmp_path: Path) -> None:
    async def run() -> None:
        command = "echo $$ > pid; exec sleep 300"
        starting = asyncio.create_task(processes.start_job(command, cwd=tmp_path))
        await until(lambda: (tmp_path / "pid").exists())
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert gone(tmp_path / "pid")

    asyncio.run(run())


def test_one_that_cannot_start_is_one_sentence_and_no_job(
    processes: Processes, tmp_path: Path
) -> None:
    handles = psutil.Process().num_fds()
    for command, cwd in (("true", tmp_path / "missing"), ("a\0b", tmp_path)):
        with pytest.raises(ToolFailed, match="could not be started"):
            start(processes, command, cwd)
    assert list(processes.jobs) == []
    assert not (tmp_path / "outputs").exists()
    assert psutil.Process().num_fds() == handles


def test_of_much_output_both_ends_are_told_and_memory_stays_flat(
    processes: Processes, tmp_path: Path
) -> None:
    command = "echo the start; yes | head -c 5000000; echo the end"
    job = start(processes, command, tmp_path)
    wait(job.over.is_set)
    text = job.look()
    assert text.startswith("the start\ny\n")
    assert text.endswith("y\nthe end\n")
    assert f"{5_000_000 + 18 - NEWS:,} characters left out" in text
    assert len(text) < NEWS + 100
    assert file_of(job).stat().st_size == 5_000_018


def test_a_flood_ends_at_the_files_limit_and_its_newest_output_is_still_told(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "FILE_LIMIT", 100_000)
    job = start(processes, "yes & echo $! > pid; sleep 300", tmp_path)
    wait(lambda: job.told.startswith("its beginning is in "))
    job.look()
    told(job, "y\n")
    assert file_of(job).stat().st_size == 100_000


def test_characters_cut_between_looks_are_whole(processes: Processes, tmp_path: Path) -> None:
    command = (
        r"printf 'd\xc3'; touch half; while [ ! -e go ]; do sleep 0.01; done; printf '\xa9 \xe6'"
    )
    job = start(processes, command, tmp_path)
    wait((tmp_path / "half").exists)
    assert told(job, "d") == "d"
    (tmp_path / "go").touch()
    wait(job.over.is_set)
    assert told(job, "�") == "é �"


def test_where_no_file_can_be_written_it_runs_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    processes = Processes(os.environ, tmp_path / "taken")
    job = start(processes, "echo here", tmp_path)
    assert (job.look(), job.told) == ("here\n", "")


def test_it_sees_no_key_of_ours_and_nobody_to_ask(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "LISTED": "sk-listed", "AWS_X": "kept"}
    environment |= dict.fromkeys(KEYS, "sk-secret")
    processes = Processes(environment, tmp_path, hidden=["LISTED"])
    printed = start(processes, "env; read name || test -t 0 || echo nobody", tmp_path).look()
    assert "sk-" not in printed
    assert "AWS_X=kept\n" in printed
    assert printed.endswith("nobody\n")


def test_all_are_listed_by_number_and_an_unknown_one_names_them(
    processes: Processes, tmp_path: Path
) -> None:
    with pytest.raises(ToolFailed, match=r"^There is no job 1; none was started\.$"):
        processes.jobs.find(1)
    first, second = (start(processes, "true", tmp_path) for _ in range(2))
    assert [(job.id, job.command) for job in processes.jobs] == [(1, "true"), (2, "true")]
    assert processes.jobs.find(1) is first
    assert processes.jobs.find(2) is second
    with pytest.raises(ToolFailed, match=r"^There is no job 3; there are 1, 2\.$"):
        processes.jobs.find(3)


def test_a_loop_that_is_closed_and_a_thread_that_ends_leave_it_running(
    processes: Processes, tmp_path: Path
) -> None:
    """The system may end a child with the thread that started it."""
    started: list[Job] = []
    thread = threading.Thread(
        target=lambda: started.append(
            start(processes, "while [ ! -e go ]; do sleep 0.01; done; echo still here", tmp_path)
        )
    )
    thread.start()
    thread.join(10)
    (tmp_path / "go").touch()
    assert told(started[0], "here\n") == "still here\n"
