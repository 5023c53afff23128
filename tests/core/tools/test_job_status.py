from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, ToolFailed
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.tools.bash import Bash
from shiro_jupyter.core.tools.job_status import COMMAND_SHOWN, JobStatus
from shiro_jupyter.core.workspace import output
from shiro_jupyter.core.workspace.jobs import NEWS
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.processes.end_all()


def status(bench: Bench, number: int) -> list[str]:
    result = bench.run(JobStatus(), id=number)
    assert result.outcome == "ok"
    return result.text.splitlines()


def ended(bench: Bench, number: int) -> None:
    assert bench.processes.jobs.find(number).over.wait(10)


def test_each_look_tells_the_state_what_is_new_and_the_file(bench: Bench) -> None:
    command = "echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 3"
    bench.run(Bash(), command=command, background=True)
    first, nothing, where = status(bench, 1)
    assert re.fullmatch(f"job 1, running for [0-9] s: {re.escape(command)}", first)
    assert nothing == "[no new output]"
    (bench.root / "go").touch()
    ended(bench, 1)
    first, output, again = status(bench, 1)
    assert re.match("job 1, exit code 3 after [0-9] s: ", first)
    assert (output, again) == ("two", where)
    file = Path(where.removeprefix("[all of it is in ").removesuffix("]"))
    assert file.read_text() == "one\ntwo\n"


def test_what_a_job_has_left_running_is_said(bench: Bench) -> None:
    bench.run(Bash(), command="sleep 300 & echo $!", background=True)
    assert "; what it started goes on: " in status(bench, 1)[0]
    bench.processes.end_all()
    assert "goes on" not in status(bench, 1)[0]


def test_without_a_number_all_are_listed_on_a_line_each(bench: Bench) -> None:
    assert bench.run(JobStatus()).text == "No job was started."
    waits = "until [ -e go ]; do\n  sleep 0.01; done; echo late"
    for command in ("exit 1", waits, "true " + "x" * 1_000):
        bench.run(Bash(), command=command, background=True)
    first, second, third = bench.run(JobStatus()).text.splitlines()
    assert first == "job 1, exit code 1 after 0 s: exit 1"
    assert re.fullmatch(
        "job 2, running for [0-9] s: until .* do sleep 0.01; done; echo late", second
    )
    assert third.endswith("xx…")
    assert len(third) < COMMAND_SHOWN + 50
    (bench.root / "go").touch()
    ended(bench, 2)
    bench.run(JobStatus())  # which is no look: what is new is still to be told
    assert status(bench, 2)[1] == "late"


def test_an_unknown_number_names_those_there_are(bench: Bench) -> None:
    with pytest.raises(ToolFailed, match=r"^There is no job 1; none was started\.$"):
        bench.run(JobStatus(), id=1)
    bench.run(Bash(), command="true", background=True)
    with pytest.raises(ToolFailed, match=r"^There is no job 2; there are 1\.$"):
        bench.run(JobStatus(), id=2)
    with pytest.raises(InvalidArguments):
        bench.run(JobStatus(), id="server")


def test_of_a_flood_a_look_tells_both_ends(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "FILE_LIMIT", 1_000_000)
    text = bench.run(Bash(), command="echo first; yes", background=True).text
    assert "\nfirst\ny\n" in text
    assert "characters left out …]\n" in text
    assert "[its beginning is in " in text
    assert text.count("y\n") > 1_000
    assert len(text) < NEWS + 1_000


def test_a_look_is_never_asked_for(bench: Bench) -> None:
    subject = JobStatus().subject(JobStatus.parameters(id=1), bench.context)
    for mode in ("ask", "accept-edits", "plan", "yolo"):
        assert Gate(mode=mode).decide(subject, (), tainted=True).verdict == "allow"  # type: ignore[arg-type]
