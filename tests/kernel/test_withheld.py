from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from shiro_jupyter.core.calls import INTERRUPTED, Withheld
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.core.tools.base import Tool, ToolResult
from shiro_jupyter.core.tools.bash import Bash
from shiro_jupyter.core.tools.job_status import JobStatus
from shiro_jupyter.core.tools.read_file import ReadFile
from shiro_jupyter.kernel.live import LiveKernel
from shiro_jupyter.kernel.privacy import Privacy
from shiro_jupyter.kernel.run_code import CodeResult
from shiro_jupyter.kernel.tools.notebook_run import NotebookRun
from shiro_jupyter.kernel.tools.run_python import DROPPED, NATIVE, RunPython
from shiro_jupyter.kernel.withheld import Withholding

ALONE = "went to the person alone (setting private)."
SECRET = "918273645"


class Kernel:
    """What a withholding sees of a kernel: its names, its history and what ran."""

    def __init__(self, private: Private, *cells: str, **names: Any) -> None:
        formatters = SimpleNamespace(formatters={"plain": SimpleNamespace(type_printers={})})
        self.history = ["", *cells]
        self.shell = SimpleNamespace(
            user_ns=dict(names),
            user_ns_hidden={},
            history_manager=SimpleNamespace(input_hist_parsed=self.history),
            events=SimpleNamespace(callbacks={"post_execute": []}),
            display_formatter=formatters,
            custom_exceptions=(),
        )
        self.live: Any = SimpleNamespace()
        live: LiveKernel = self.live
        self.withholding = Withholding(self.shell, Privacy(self.shell, private), live)

    def begun(self, tool: Tool[Any], **arguments: Any) -> Withheld | None:
        return self.withholding.of(tool, tool.parse(json.dumps(arguments)))

    def code(self, code: str) -> Withheld:
        """A call that runs this code, as it begins."""
        withheld = self.begun(RunPython(self.live), code=code)
        assert withheld
        self.live.begins(code)
        return withheld


def pays(*cells: str, **names: Any) -> Kernel:
    return Kernel(Private(("pay",)), "pay = load()", "n = 1", *cells, pay=918273645, n=1, **names)


def test_nothing_is_withheld_where_nothing_is_private_or_of_what_asks_itself() -> None:
    assert Kernel(Private(), pay=1).begun(Bash(), command="ls") is None
    assert pays().begun(ReadFile(), path="a.py") is None


def test_of_a_command_its_end_is_told() -> None:
    kernel = pays()
    command = kernel.begun(Bash(), command="cat a.csv")
    assert command and command.sure
    told = command.told(ToolResult("failed", f"{SECRET}\n[exit code 3]"))
    assert told.text == "[exit code 3]\n[23 characters, for the person alone (setting private)]"
    assert told.seen == f"{SECRET}\n[exit code 3]"
    assert command.told(ToolResult("ok", SECRET)).text.startswith("[9 characters, for")
    stopped = command.told(ToolResult("interrupted", INTERRUPTED + SECRET)).text
    assert stopped.startswith("Interrupted by the person.\n[") and SECRET not in stopped
    job = kernel.begun(JobStatus(), id=1)
    assert job and job.told(ToolResult("ok", f"job 1, running: x\n{SECRET}")).text.startswith(
        "job 1, running: x\n["
    )
    jobs = kernel.begun(JobStatus())
    assert jobs and jobs.told(ToolResult("ok", "job 1, running: x")).text == "job 1, running: x"


def test_of_code_how_it_went_is_told() -> None:
    kernel = pays()
    withheld = kernel.code("top = pay * 2\ntop")
    assert withheld.sure
    kernel.shell.user_ns |= {"top": 2, "made": 3}
    kernel.live.ended(CodeResult(ok=True, value=[pay := kernel.shell.user_ns["pay"]]))
    told = withheld.told(ToolResult("ok", f"value: [{pay}]"))
    assert (
        told.text == f"It ran. What it showed {ALONE}\nvalue: list, 1 item of int\nBound:\ntop: int"
    )
    assert told.seen == f"value: [{SECRET}]"  # and `made`, which no code says, is not named


def test_of_an_error_its_class_and_place_are_told() -> None:
    for code, said in {
        "n = 2\nraise KeyError(pay)": "KeyError in line 2; its words are withheld.",
        "raise type(str(pay), (Exception,), {})": "An error in line 1; its words are withheld.",
    }.items():
        kernel = pays()
        withheld = kernel.code(code)
        with pytest.raises(Exception) as raised:
            exec(code, kernel.shell.user_ns)
        kernel.live.ended(CodeResult(ok=False, error=raised.value))
        told = withheld.told(ToolResult("failed", f"… {SECRET}")).text
        assert told.startswith(f"It failed. What it showed {ALONE}\n{said}") and SECRET not in told


def test_code_that_was_stopped_or_never_ran_says_so() -> None:
    withheld = pays().code("print(pay)")
    dropped = ToolResult("interrupted", DROPPED)
    assert withheld.told(dropped) == dropped
    refused = ToolResult("failed", "Not run, since it would fail.")
    assert withheld.told(refused) == refused
    told = withheld.told(ToolResult("interrupted", f"{NATIVE}\n{SECRET}")).text
    assert (
        told.startswith("Interrupted by the person, but the code has not stopped yet")
        and SECRET not in told
    )


def test_code_that_can_only_show_what_may_be_seen_is_told_whole() -> None:
    kernel = pays()
    withheld, result = kernel.code("print(n + 1)"), ToolResult("ok", "2")
    kernel.live.ended(CodeResult(ok=True))
    assert not withheld.sure and withheld.told(result) == result


@pytest.mark.parametrize("cell", ["n = pay", "exec(text)", "def f():\n    global n\n    n = pay"])
def test_unless_a_cell_came_between(cell: str) -> None:
    kernel = pays()
    withheld = kernel.code("print(n + 1)")
    kernel.history.append(cell)
    kernel.live.ended(CodeResult(ok=True))
    assert SECRET not in withheld.told(ToolResult("ok", SECRET)).text


def test_or_code_of_theirs_runs_beside_all_code() -> None:
    def hook() -> None: ...

    hook.__module__ = "__main__"
    kernel = pays()
    kernel.shell.events.callbacks["post_execute"].append(hook)
    assert kernel.code("print(n + 1)").sure


def test_cells_of_the_notebook_are_withheld_like_any_other_code() -> None:
    kernel = pays()
    withheld = kernel.begun(NotebookRun(SimpleNamespace(), kernel.live), cells="1")  # type: ignore[arg-type]
    assert withheld and withheld.sure
    told = withheld.told(ToolResult("ok", f"# --- cell a: ok ---\n{SECRET}"))
    assert told.text == f"It ran. What it showed {ALONE}"


def test_with_no_value_at_all_no_code_is_free() -> None:
    kernel = Kernel(Private(schema_only=True), "n = 1", n=1)
    assert kernel.code("print(n)").sure


def test_before_anything_private_is_there_all_is_told_and_then_no_more() -> None:
    kernel = Kernel(Private(("pay",)), "n = 1", n=1)
    assert kernel.begun(Bash(), command="ls") is None
    withheld, result = kernel.code("odd.thing()"), ToolResult("ok", SECRET)
    kernel.live.ended(CodeResult(ok=True))
    assert not withheld.sure and withheld.told(result) == result
    withheld = kernel.code("odd.thing()")
    kernel.shell.user_ns["pay"] = 918273645
    kernel.live.ended(CodeResult(ok=True))
    assert SECRET not in withheld.told(result).text
