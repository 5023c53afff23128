"""The process cases through the turn loop, with real shells: what the model is told, that the turn
goes on, and that nothing runs any more once the result is there."""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core import events
from shiro_jupyter.core.events import Event, TurnEnded
from shiro_jupyter.core.models.scripted import ScriptedCall, Step
from shiro_jupyter.core.policy.gate import Gate
from tests.core.workspace.test_processes import DAEMON, IGNORES_TERM, TREES, gone, needs_proc
from tests.support.agents import Stage

BACK = {"background": True}


def bash(command: str, **more: Any) -> ScriptedCall:
    return ScriptedCall("bash", {"command": command, **more})


def played(
    tmp_path: Path, *steps: Step, on_event: Callable[[Stage, Event], None], **options: Any
) -> tuple[Stage, TurnEnded]:
    async def run() -> tuple[Stage, TurnEnded]:
        stage = Stage(tmp_path / "project", steps, gate=Gate("yolo"), **options)
        stage.on_event = lambda event: on_event(stage, event)
        ended = await asyncio.wait_for(stage.agent.submit("go"), 20)
        await stage.check_whole()
        stage.model.check()
        return stage, ended

    return asyncio.run(run())


trees = pytest.mark.parametrize(
    "tree", [pytest.param(t, marks=needs_proc) if TREES[t] == DAEMON else t for t in TREES]
)
CODE = f"import os; open('pid', 'w').write(str(os.getpid())); {IGNORES_TERM}"


@trees
def test_the_first_interrupt_ends_the_tree_within_a_second_and_the_turn_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: str
) -> None:
    monkeypatch.setenv("CODE", CODE)
    pid, times = tmp_path / "project/pid", list[float]()

    def on_event(stage: Stage, event: Event) -> None:
        if isinstance(event, events.ToolOutput) and not times:
            while not (pid.exists() and pid.read_text().strip()):
                time.sleep(0.01)
            times.append(time.monotonic())
            stage.agent.interrupt()
        if isinstance(event, events.ToolFinished) and len(times) == 1:
            times.append(time.monotonic())
            assert gone(pid)

    steps = Step(calls=[bash(TREES[tree])]), Step(calls=[bash("echo next")]), Step("I was stopped.")
    stage, ended = played(tmp_path, *steps, on_event=on_event)
    assert (ended.outcome, stage.outcomes()) == ("answered", ["interrupted", "ok"])
    first, second = stage.of(events.ToolFinished)
    assert first.text.endswith("Output so far:\nready\n")
    assert second.text == "next"
    assert gone(pid)
    assert times[1] - times[0] < 1.5


@trees
def test_a_timeout_ends_the_tree_and_delivers_what_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: str
) -> None:
    monkeypatch.setenv("CODE", CODE)
    pid, finished = tmp_path / "project/pid", list[bool]()

    def on_event(stage: Stage, event: Event) -> None:
        if isinstance(event, events.ToolFinished):
            finished.append(gone(pid))

    steps = Step(calls=[bash(TREES[tree], timeout=1)]), Step("It took too long.")
    stage, ended = played(tmp_path, *steps, on_event=on_event)
    assert (ended.outcome, stage.outcomes()) == ("answered", ["timed_out"])
    assert stage.of(events.ToolFinished)[0].text.startswith("ready\n[not done after 1 s: ")
    assert finished == [True]


@pytest.mark.parametrize("holder", ["sleep 300", "yes", "(trap '' TERM; sleep 300; sleep 300)"])
def test_a_holder_of_the_pipe_keeps_no_turn(tmp_path: Path, holder: str) -> None:
    started = time.monotonic()
    steps = Step(calls=[bash(f"{holder} & echo ok; exit 0")]), Step("Started.")
    stage, ended = played(tmp_path, *steps, on_event=lambda stage, event: None)
    assert (ended.outcome, stage.outcomes()) == ("answered", ["ok"])
    assert time.monotonic() - started < 2
    stage.processes.end_all()


def test_a_job_outlives_an_interrupt_and_the_turn_and_the_next_turn_looks_at_it(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        steps = [
            Step(calls=[bash("echo up; until [ -e go ]; do sleep 0.01; done; echo late", **BACK)]),
            Step(calls=[bash("echo begun; sleep 300")]),
            Step("Interrupted."),
            Step(calls=[ScriptedCall("job_status", {"id": 1})]),
            Step("It has ended."),
        ]
        stage = Stage(tmp_path / "project", steps, gate=Gate("yolo"))
        loop = asyncio.get_running_loop()

        def on_event(event: Event) -> None:
            if isinstance(event, events.ToolOutput) and "begun" in event.text:
                loop.call_soon(stage.agent.interrupt)

        stage.on_event = on_event
        assert (await stage.agent.submit("go")).outcome == "answered"
        assert stage.outcomes() == ["ok", "interrupted"]
        (job,) = stage.processes.jobs
        assert not job.over.is_set()
        (tmp_path / "project/go").touch()
        assert await asyncio.to_thread(job.over.wait, 10)
        assert (await stage.agent.submit("go on")).outcome == "answered"
        first, last, _ = stage.of(events.ToolFinished)[-1].text.splitlines()
        assert first.startswith("job 1, exit code 0 after ")
        assert last == "late"
        await stage.check_whole()

    asyncio.run(run())


def test_an_interrupt_while_a_job_starts_leaves_none(tmp_path: Path) -> None:
    pid = tmp_path / "project/pid"

    def on_event(stage: Stage, event: Event) -> None:
        if isinstance(event, events.ToolCalled):
            asyncio.get_running_loop().call_later(0.2, stage.agent.interrupt)

    steps = Step(calls=[bash("echo $$ > pid; exec sleep 300", **BACK)]), Step("Stopped.")
    stage, ended = played(tmp_path, *steps, on_event=on_event)
    assert (ended.outcome, stage.outcomes()) == ("answered", ["interrupted"])
    assert gone(pid)


def test_what_a_job_prints_is_told_without_keys(tmp_path: Path) -> None:
    key = "sk-" + "1234567890abcdef" * 2
    steps = Step(calls=[bash(f"echo {key}", **BACK)]), Step("Done.")
    stage, _ = played(tmp_path, *steps, on_event=lambda stage, event: None)
    text = stage.of(events.ToolFinished)[0].text
    assert "\n[redacted: API key]\n" in text
    assert key not in text


@pytest.mark.parametrize("mode", ["ask", "plan", "yolo"])
def test_the_agent_ends_its_own_job_unasked_but_in_plan_mode(tmp_path: Path, mode: Any) -> None:
    async def run() -> None:
        stop = Step(calls=[ScriptedCall("job_stop", {"id": 1})])
        stage = Stage(tmp_path / "project", [stop, Step("Tried.")], gate=Gate(mode))
        job = await stage.processes.start_job("sleep 300", cwd=tmp_path)
        assert (await stage.agent.submit("go")).outcome == "answered"
        assert not stage.asked
        assert stage.outcomes() == (["refused"] if mode == "plan" else ["ok"])
        assert job.over.is_set() == (mode != "plan")
        stage.processes.end_all()

    asyncio.run(run())


# Where processes are started, besides the one place for it.
SPAWN = {
    "core/workspace/processes.py": "the one place",
    "core/models/local_server.py": "asks llama-server for its switches, in a child's environment",
    "core/models/local_watch.py": "is such a child itself, and imports nothing of ours",
}


def test_no_other_module_starts_a_process() -> None:
    """So what holds there holds for every command: no key, a group of its own, an end."""
    root = Path(events.__file__).parents[1]
    spawns = ("Popen", "subprocess.run", "check_output", "os.system", "os.popen", "os.exec")
    spawns += ("os.spawn", "posix_spawn", "create_subprocess", "os.fork", "pty.spawn")
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and any(each in ast.unparse(node.func) for each in spawns)
    }
    assert found == set(SPAWN)
