from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.tools.bash import Bash
from shiro_jupyter.core.tools.job_stop import JobStop
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.processes.end_all()


def test_it_ends_the_tree_and_tells_the_last_words(bench: Bench) -> None:
    command = "setsid sleep 300 & echo $!; trap 'echo bye; exit 7' TERM; wait"
    text = bench.run(Bash(), command=command, background=True).text
    child = psutil.Process(int(text.splitlines()[1]))
    started = time.monotonic()
    result = bench.run(JobStop(), id=1)
    assert time.monotonic() - started < 1.5
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    first, last, where = result.text.splitlines()
    assert result.outcome == "ok"
    assert re.match("job 1, exit code 7 after [0-9] s: setsid sleep", first)
    assert last == "bye"
    assert where.startswith("[all of it is in ")


def test_one_that_has_ended_is_told_as_such_and_others_run_on(bench: Bench) -> None:
    for command in ("exit 3", "sleep 300", "sleep 300"):
        bench.run(Bash(), command=command, background=True)
    assert bench.run(JobStop(), id=1).text.startswith("job 1, exit code 3 after 0 s: exit 3\n")
    assert bench.run(JobStop(), id=2).text.startswith("job 2, stopped after ")
    assert bench.run(JobStop(), id=2).text.startswith("job 2, stopped after ")
    assert [job.over.is_set() for job in bench.processes.jobs] == [True, True, False]


def test_an_unknown_number_names_those_there_are(bench: Bench) -> None:
    bench.run(Bash(), command="true", background=True)
    with pytest.raises(ToolFailed, match=r"^There is no job 2; there are 1\.$"):
        bench.run(JobStop(), id=2)


def test_it_asks_nobody_is_refused_in_plan_mode_and_obeys_rules(bench: Bench) -> None:
    subject = JobStop().subject(JobStop.parameters(id=12), bench.context)
    verdicts = {
        mode: Gate(mode=mode).decide(subject, ()).verdict  # type: ignore[arg-type]
        for mode in ("ask", "accept-edits", "plan", "yolo")
    }
    assert verdicts == {"ask": "allow", "accept-edits": "allow", "plan": "deny", "yolo": "allow"}
    for rule in ("job_stop", "job(job 12)", "job"):
        assert Gate(rules=Rules.parse(deny=[rule])).decide(subject, ()).verdict == "deny"
        assert Gate(rules=Rules.parse(ask=[rule])).decide(subject, ()).verdict == "ask"
    assert Gate(rules=Rules.parse(deny=["job(job 1)"])).decide(subject, ()).verdict == "allow"
