from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from shiro_jupyter.core.approvals import refusal_of
from shiro_jupyter.core.errors import InvalidArguments, ToolFailed
from shiro_jupyter.core.events import PicturesDrawn
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.core.tools.base import INPUT_LIMIT, ToolResult
from shiro_jupyter.kernel.main_thread import JobInterrupted
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.privacy import Privacy
from shiro_jupyter.kernel.run_code import CodeResult, Shown
from shiro_jupyter.kernel.tools import RunPython, run_python
from tests.support.tools import Bench


class Kernel:
    """A live kernel that answers as told. `stops` is whether its code minds an interrupt."""

    def __init__(self, result: CodeResult | Exception, *, busy: bool = False, stops: bool = True):
        self.result, self.busy, self.stops = result, busy, stops
        self.started = asyncio.Event()
        self.stopped = asyncio.Event()
        self.interrupts = 0
        self.codes: list[str] = []
        self.output: Callable[[str], None] = lambda text: None
        self.before: Callable[[], object] = lambda: None  # what runs between judging and running

    async def run(
        self, code: str, output: Callable[[str], None], *, first: Callable[[], None]
    ) -> CodeResult:
        self.before()
        first()
        self.codes.append(code)
        self.output = output
        main = threading.Thread(target=output, args=("half way\n",))
        main.start()
        main.join()
        self.started.set()
        if self.busy:
            await self.stopped.wait()
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def interrupt(self) -> None:
        self.interrupts += 1
        if self.stops:
            self.stopped.set()


async def interrupted(kernel: Kernel, bench: Bench) -> ToolResult:
    """The call's result when its task is cancelled while the code runs."""
    tool = RunPython(kernel)
    call = asyncio.create_task(tool.run(tool.parse('{"code": "work()"}'), bench.context))
    await kernel.started.wait()
    call.cancel()
    return await call


def test_output_value_and_failure_reach_the_model(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    fine = Kernel(CodeResult(ok=True, stdout="hi\n", shown=(Shown("value", "42"),)))
    assert bench.run(RunPython(fine), code="x") == ToolResult("ok", "hi\nvalue: 42")
    assert fine.codes == ["x"]
    assert bench.printed == ["half way\n"]
    broken = Kernel(CodeResult(ok=False, traceback="ValueError: no"))
    assert bench.run(RunPython(broken), code="x") == ToolResult("failed", "ValueError: no")


def test_what_it_drew_that_no_cell_shows_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.run(RunPython(Kernel(CodeResult(ok=True, pictures=("1", "2")))), code="x")
    assert bench.events == [PicturesDrawn("call_1", ("1", "2"))]
    bench.events.clear()
    bench.run(RunPython(Kernel(CodeResult(ok=True))), code="x")
    assert bench.events == []


def test_code_is_no_longer_than_what_can_be_shown(tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments, match="at most 30000 characters"):
        Bench(tmp_path).run(RunPython(Kernel(CodeResult(ok=True))), code="#" * (INPUT_LIMIT + 1))


def test_code_that_the_person_interrupted_says_what_it_had_done(tmp_path: Path) -> None:
    kernel = Kernel(CodeResult(ok=False, interrupted=True, stdout="row 1\n"))
    result = Bench(tmp_path).run(RunPython(kernel), code="x")
    assert result.outcome == "interrupted"
    assert result.text.endswith("Its output:\nrow 1")
    assert kernel.interrupts == 0


def test_code_that_never_began_says_so(tmp_path: Path) -> None:
    result = Bench(tmp_path).run(RunPython(Kernel(JobInterrupted("refused"))), code="x")
    assert result.outcome == "interrupted"
    assert "nothing was run" in result.text


def test_a_cancelled_call_stops_the_code_and_keeps_its_output(tmp_path: Path) -> None:
    async def scene() -> tuple[ToolResult, int]:
        answer = CodeResult(ok=False, interrupted=True, stdout="row 1\nrow 2\n")
        kernel = Kernel(answer, busy=True)
        return await interrupted(kernel, Bench(tmp_path)), kernel.interrupts

    result, interrupts = asyncio.run(scene())
    assert result == ToolResult("interrupted", f"{run_python.INTERRUPTED}\nrow 1\nrow 2")
    assert interrupts == 1


def test_native_code_does_not_hold_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_python, "STOP_SECONDS", 0.05)

    bench = Bench(tmp_path)

    async def scene() -> ToolResult:
        kernel = Kernel(ValueError("seen by nobody"), busy=True, stops=False)
        result = await asyncio.wait_for(interrupted(kernel, bench), 5)
        kernel.output("after the call\n")
        kernel.stopped.set()  # it ends at last, after the turn
        await asyncio.sleep(0)
        return result

    result = asyncio.run(scene())
    assert bench.printed == ["half way\n"]
    assert result == ToolResult("interrupted", f"{run_python.NATIVE}\nhalf way\n")
    assert "has not stopped yet: it cleans up, or is inside native code" in result.text


def test_output_is_handed_over_on_the_agents_loop(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    threads: list[threading.Thread] = []

    class Heard(list[str]):
        def append(self, text: str) -> None:
            threads.append(threading.current_thread())

    bench.printed = Heard()
    bench.run(RunPython(Kernel(CodeResult(ok=True))), code="x")
    assert threads == [threading.main_thread()]


def test_the_question_names_what_the_code_changes(tmp_path: Path) -> None:
    tool, context = RunPython(Kernel(CodeResult(ok=True))), Bench(tmp_path).context
    code = "df = df.dropna()\ndf.to_csv('a.csv')"
    subject = tool.subject(tool.parameters(code=code), context)
    assert subject.title == (
        "Run this code in the kernel?\nWill change df; cannot be undone: df.to_csv."
    )


def test_the_question_shows_the_code_and_the_session_grant_says_everything(
    tmp_path: Path,
) -> None:
    tool, context = RunPython(Kernel(CodeResult(ok=True))), Bench(tmp_path).context
    one, two = (
        tool.subject(tool.parse(arguments), context)
        for arguments in ('{"code": "df.head()\\nprint(1)"}', '{"code": "x"}')
    )
    assert (one.access, one.title) == ("kernel", "Run this code in the kernel?")
    assert one.shown == "df.head()\nprint(1)"
    assert one.digest != two.digest
    assert one.grant_key == two.grant_key
    assert "all code in the kernel" in one.grant_label
    assert tool.summary(tool.parse('{"code": "df.head()\\nprint(1)"}')) == "df.head() … (2 lines)"


# -- names that are not there --------------------------------------------------------------------


def guarded(kernel: Kernel, **variables: object) -> RunPython:
    shell = SimpleNamespace(user_ns=variables, user_ns_hidden={})
    return RunPython(kernel, Namespace(shell))


def test_code_on_a_column_that_is_not_there_is_refused_unasked(tmp_path: Path) -> None:
    kernel = Kernel(CodeResult(ok=True))
    tool, bench = guarded(kernel, df=pd.DataFrame({"revenue": [1]})), Bench(tmp_path)
    call = tool.parse('{"code": "print(1)\\ndf[\\"revnue\\"].sum()"}')
    with pytest.raises(ToolFailed, match="line 2: df has no column 'revnue'; nearest: 'revenue'"):
        asyncio.run(refusal_of(tool, call, bench.context, Gate()))
    assert bench.questions == []
    right = tool.parse('{"code": "df[\\"revenue\\"].sum()"}')
    asyncio.run(refusal_of(tool, right, bench.context, Gate()))
    assert [each.title for each in bench.questions] == ["Run this code in the kernel?"]
    assert kernel.codes == []


def test_a_table_that_changed_since_the_call_was_judged_is_looked_at_again(tmp_path: Path) -> None:
    df = pd.DataFrame({"revenue": [1]})
    kernel = Kernel(CodeResult(ok=True))
    kernel.before = lambda: df.pop("revenue")  # a cell that was queued
    tool, bench = guarded(kernel, df=df), Bench(tmp_path)
    assert not tool.subject(tool.parse('{"code": "df[\\"revenue\\"]"}'), bench.context).fault
    with pytest.raises(ToolFailed, match="df has no column 'revenue'"):
        bench.run(tool, code='df["revenue"]')
    assert kernel.codes == []


def test_what_is_doubtful_runs_and_is_told(tmp_path: Path) -> None:
    kernel = Kernel(CodeResult(ok=True, stdout="done\n"))
    tool, bench = guarded(kernel, df=pd.DataFrame({"revenue": [1]}), flag=True), Bench(tmp_path)
    code = 'if flag:\n    df["revnue"]\nprint("done")'
    subject = tool.subject(tool.parse(json.dumps({"code": code})), bench.context)
    assert subject.title.endswith("Doubtful: line 2: df has no column 'revnue'.")
    result = bench.run(tool, code=code)
    assert result == ToolResult(
        "ok", "done\nDoubtful: line 2: df has no column 'revnue'; nearest: 'revenue'."
    )


def test_no_private_column_is_named(tmp_path: Path) -> None:
    df = pd.DataFrame({"revenue": [1], "salary": [1]})
    shell = SimpleNamespace(user_ns={"df": df}, user_ns_hidden={})
    shell.history_manager = SimpleNamespace(input_hist_parsed=["", "df = load()"])
    private = Privacy(shell, Private(("*.salary",)))
    tool = RunPython(Kernel(CodeResult(ok=True)), Namespace(shell, private))
    context = Bench(tmp_path).context
    fault = tool.subject(tool.parse('{"code": "df[\\"salaryy\\"]"}'), context).fault
    assert fault.startswith("Not run, since it would fail.")
    assert "'salary'" not in fault
    assert "revenue" in fault
    assert not tool.subject(tool.parse('{"code": "df[\\"salary\\"]"}'), context).fault


def test_a_fault_of_the_guard_costs_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(code: str, schema: object) -> None:
        raise ValueError("ours")

    monkeypatch.setattr(run_python, "check", broken)
    kernel = Kernel(CodeResult(ok=True, stdout="1"))
    assert Bench(tmp_path).run(guarded(kernel), code="print(1)") == ToolResult("ok", "1")
    assert "the column guard failed" in caplog.text
