"""Running code in real kernels, on the newest ipykernel and on the oldest of its major version."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from shiro_jupyter.kernel.run_code import CodeResult, Shown
from tests.support.kernels import ROOT, Kernel, Outputs, interpreters, running_kernel

pytestmark = pytest.mark.kernel

# A cell that serves one piece of code, with the interrupt handler that a turn has.
SET_UP = """
import asyncio, signal
from shiro_jupyter.kernel.run_code import run_on_main, run_on_main_sync

said = []

async def run(code):
    loop = asyncio.get_running_loop()
    task = loop.create_task(run_on_main(get_ipython(), code, said.append))
    def stop(*_):
        if asyncio.current_task(loop) is task:
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(task.cancel)
    before = signal.signal(signal.SIGINT, stop)
    try:
        return await task
    finally:
        signal.signal(signal.SIGINT, before)

def run_sync(code):
    return run_on_main_sync(get_ipython(), code, said.append)
"""
FORMS = ("await run", "run_sync")


@pytest.fixture(scope="module", params=interpreters())
def kernel(request: pytest.FixtureRequest) -> Iterator[Kernel]:
    with running_kernel(request.param) as kernel:
        outputs = kernel.run(SET_UP)
        assert outputs.status == "ok", outputs.messages
        yield kernel


def live(kernel: Kernel, code: str, form: str = "await run", **how: Any) -> Outputs:
    """The outputs of a cell that has the code run; its result is the kernel's `result`."""
    outputs = kernel.run(f"said.clear(); result = {form}({code!r})", **how)
    assert outputs.status == "ok", outputs.messages
    return outputs


def told(kernel: Kernel) -> str:
    """What the model reads of the newest result."""
    return kernel.run("print(result.text(), end='')").stdout


def shown(outputs: Outputs) -> list[str]:
    kinds = ("stream", "display_data", "execute_result", "error")
    return [each["msg_type"] for each in outputs.messages if each["msg_type"] in kinds]


@pytest.mark.parametrize("form", FORMS)
def test_prints_and_the_value_land_in_the_cell_and_reach_the_model(
    kernel: Kernel, form: str
) -> None:
    outputs = live(kernel, "print('hello'); 6 * 7", form)
    assert shown(outputs) == ["stream", "display_data"]
    assert outputs.stdout == "hello\n"
    assert outputs.of("display_data")[0]["data"] == {"text/plain": "42"}
    assert told(kernel) == "hello\nvalue: 42"
    assert kernel.value("said, result.ok, result.interrupted") == "(['hello\\n'], True, False)"


@pytest.mark.parametrize("form", FORMS)
def test_top_level_await(kernel: Kernel, form: str) -> None:
    outputs = live(kernel, "import asyncio\nawait asyncio.sleep(0.01)\nx = 5\nx + 1", form)
    assert outputs.of("display_data")[0]["data"]["text/plain"] == "6"
    assert told(kernel) == "value: 6"
    assert kernel.value("x") == "5"


def test_the_persons_own_tasks_go_on_while_code_awaits(kernel: Kernel) -> None:
    kernel.run(
        "ticks = []\n"
        "async def tick():\n"
        "    while len(ticks) < 5:\n"
        "        ticks.append(0); await asyncio.sleep(0)\n"
        "task = asyncio.ensure_future(tick())"
    )
    live(kernel, "import asyncio\nawait asyncio.wait_for(task, 10)\nlen(ticks)")
    assert told(kernel) == "value: 5"


def test_a_figure_is_flushed_into_the_cell(kernel: Kernel) -> None:
    code = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2, 3]);"
    outputs = live(kernel, code)
    assert shown(outputs) == ["display_data"]
    assert outputs.of("display_data")[0]["data"]["image/png"].startswith("iVBOR")
    said = told(kernel)
    assert said.startswith("shown to the person: <Figure size")
    assert said.endswith("[image/png]")
    # And from code that awaits, where the shell itself flushes nothing.
    outputs = live(kernel, "import asyncio\nawait asyncio.sleep(0)\nplt.plot([3, 2]);")
    assert "image/png" in outputs.of("display_data")[0]["data"]


def test_displays_keep_their_order_among_prints(kernel: Kernel) -> None:
    code = (
        "from IPython.display import HTML\n"
        "print('one')\ndisplay('two')\nprint('three')\nHTML('<b>4</b>')"
    )
    outputs = live(kernel, code)
    assert shown(outputs) == ["stream", "display_data", "stream", "display_data"]
    assert outputs.of("display_data")[1]["data"]["text/html"] == "<b>4</b>"
    assert told(kernel) == "one\nthree\nshown to the person: 'two'\nvalue: <b>4</b>"


def test_an_error_is_real_error_output_and_the_cell_goes_on(kernel: Kernel) -> None:
    outputs = live(kernel, "def half(x):\n    return x / 0\nprint('before')\nhalf(1)")
    assert shown(outputs) == ["stream", "error"]
    assert outputs.of("error")[0]["ename"] == "ZeroDivisionError"
    said = told(kernel)
    assert said.startswith("before\n")
    assert "return x / 0" in said
    assert said.rstrip().endswith("ZeroDivisionError: division by zero")
    assert "\x1b" not in said
    assert kernel.value("result.ok, result.interrupted") == "(False, False)"


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("def f(:\n  pass", "SyntaxError"),
        ("  x = 1\n y = 2", "IndentationError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("%no_such_magic", "UsageError"),
        ("raise ExceptionGroup('many', [ValueError('first')])", "ValueError: first"),
    ],
)
def test_every_kind_of_failure_is_told(kernel: Kernel, code: str, error: str) -> None:
    live(kernel, code)
    assert error in told(kernel)
    assert kernel.value("result.ok") == "False"


WORDLESS = "class Bad(Exception):\n    def __str__(self):\n        {}\nraise Bad('x')"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("words", "raised"),
    [("raise SystemExit", "SystemExit"), ("exit()", "SystemExit"), ("raise OSError", "OSError")],
)
def test_an_error_whose_words_raise_is_a_failed_call(
    kernel: Kernel, form: str, words: str, raised: str
) -> None:
    outputs = live(kernel, WORDLESS.format(words), form)
    (error,) = outputs.of("error")
    assert (error["ename"], error["evalue"]) == ("Bad", f"<its __str__ raised {raised}>")
    assert "raise Bad('x')" in told(kernel)
    assert kernel.value("result.ok, result.interrupted") == "(False, False)"


@pytest.mark.parametrize("form", FORMS)
def test_an_exit_in_a_hook_behind_the_code_is_a_failed_call(kernel: Kernel, form: str) -> None:
    code = (
        "events = get_ipython().events\n"
        "def leave():\n    events.unregister('post_execute', leave)\n"
        "    raise SystemExit('bye')\nevents.register('post_execute', leave)"
    )
    assert live(kernel, code, form).of("error")[0]["evalue"] == "bye"
    assert told(kernel).endswith("SystemExit: bye")
    assert kernel.value("result.ok") == "False"


@pytest.mark.parametrize("form", FORMS)
def test_code_that_takes_the_streams_away_is_told_and_cells_print_on(
    kernel: Kernel, form: str
) -> None:
    outputs = live(kernel, "import sys\nprint(1)\nsys.stdout = sys.stderr = None\n1/0", form)
    assert [each["ename"] for each in outputs.of("error")] == ["ZeroDivisionError"]
    assert told(kernel).startswith("1\n") and "ZeroDivisionError: division" in told(kernel)
    outputs = kernel.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (outputs.stdout, outputs.stream("stderr")) == ("out\n", "err\n")


def test_a_value_that_cannot_be_shown_does_not_fail_the_cell(kernel: Kernel) -> None:
    code = "class Broken:\n    def __repr__(self):\n        raise OSError('no repr')\nBroken()"
    outputs = live(kernel, code)
    assert outputs.of("error")[0]["ename"] == "OSError"


def test_a_hundred_thousand_lines_are_bounded(kernel: Kernel) -> None:
    outputs = live(kernel, "for i in range(100_000):\n    print('line', i)")
    assert outputs.stdout.startswith("line 0\nline 1\n")
    assert outputs.stdout.endswith("line 99998\nline 99999\n")
    assert len(outputs.stdout) < 70_000
    assert len(outputs.of("stream")) < 40
    said = told(kernel)
    assert said.startswith("line 0\n")
    assert said.endswith("line 99999")
    assert len(said) < 15_000
    assert kernel.value("open(result.log).read().count('line')") == "100000"
    assert kernel.value("len(''.join(said))") == str(len(outputs.stdout))
    # IPython keeps what a cell prints; what was left out is not there either.
    kept = "len(repr(dict(getattr(get_ipython().history_manager, 'outputs', {}))))"
    assert int(kernel.value(kept)) < 500_000


def test_progress_bars_reach_the_model_as_they_end(kernel: Kernel) -> None:
    live(kernel, "for i in range(3):\n    print(f'\\r{i} of 2', end='', flush=True)\nprint()")
    assert told(kernel) == "2 of 2"


@pytest.mark.parametrize("form", ["await run_on_main", "run_on_main_sync"])
@pytest.mark.parametrize("start", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_context_variables_are_set_for_the_cell(kernel: Kernel, start: str, form: str) -> None:
    kernel.run("from contextvars import ContextVar\nflavour = ContextVar('flavour', default='old')")
    code = f"{start}flavour.set('new')"
    cell = f"result = {form}(get_ipython(), {code!r}, said.append)\nprint(flavour.get())"
    assert kernel.run(cell).stdout == "new\n"


def test_many_displays_are_counted_and_an_update_is_none_of_them(kernel: Kernel) -> None:
    code = (
        "handle = display('0 %', display_id=True)\n"
        "for n in range(1_000): handle.update(f'{n} %')\n"
        "for n in range(30): display(n)\n'the value'"
    )
    live(kernel, code)
    lines = told(kernel).splitlines()
    assert lines[:2] == ["shown to the person: '0 %'", "shown to the person: 0"]
    assert lines[-2:] == ["value: 'the value'", "[… 23 more shown to the person …]"]


def test_history_and_last_results_stay_as_they_were(kernel: Kernel) -> None:
    kernel.run("'mine'")
    before = "(len(Out), len(In), sorted(n for n in globals() if n.startswith('_')), _)"
    cell = f"before = {before}; result = await run({{!r}}); print({before} == before, _)"
    for code in ("1 + 1", "for _ in range(3): pass\n_", "1/0", "__ = 4"):
        assert kernel.run(cell.format(code)).stdout.endswith("True mine\n")
    assert kernel.run("'next'").of("execute_result")[0]["data"]["text/plain"] == "'next'"
    assert kernel.value("_") == "'next'"


def test_the_cells_own_value_is_still_its_value(kernel: Kernel) -> None:
    outputs = kernel.run("await run('1 + 1')\n'mine'")
    assert shown(outputs) == ["display_data", "execute_result"]
    assert kernel.value("_") == "'mine'"
    assert kernel.value("get_ipython().last_execution_result.result") == "\"'mine'\"".strip('"')


def test_a_semicolon_hides_the_value(kernel: Kernel) -> None:
    assert shown(live(kernel, "1 + 1;")) == []
    assert told(kernel) == "Done; it printed nothing and has no value."
    # The semicolon of the cell that runs the code is none of the code's.
    assert shown(kernel.run("result = run_sync('1 + 1');")) == ["display_data"]


def test_threads_of_the_code_print_into_the_cell(kernel: Kernel) -> None:
    code = (
        "import threading\n"
        "def work(n):\n    print(f'thread {n}\\n', end='')\n"
        "workers = [threading.Thread(target=work, args=(n,)) for n in range(5)]\n"
        "for each in workers: each.start()\n"
        "for each in workers: each.join()"
    )
    outputs = live(kernel, code)
    assert sorted(outputs.stdout.split("\n"))[1:] == [f"thread {n}" for n in range(5)]
    assert sorted(told(kernel).split("\n")) == [f"thread {n}" for n in range(5)]


def test_shell_commands_and_forked_children_are_heard(kernel: Kernel) -> None:
    outputs = live(kernel, "!echo from the shell\nimport sys\nprint('bad', file=sys.stderr)")
    assert "from the shell" in outputs.stdout
    assert outputs.stream("stderr") == "bad\n"
    assert told(kernel) == "from the shell\nstderr:\nbad"
    fork = (
        "import multiprocessing\n"
        "child = multiprocessing.get_context('fork').Process(target=print, args=('child',))\n"
        "child.start(); child.join()"
    )
    assert "child" in live(kernel, fork).stdout + kernel.run("pass").stdout


def test_a_logging_handler_made_by_the_code_prints_later_too(kernel: Kernel) -> None:
    code = (
        "import logging, sys\n"
        "log = logging.getLogger('made')\n"
        "log.addHandler(logging.StreamHandler(sys.stdout))\n"
        "log.warning('during')"
    )
    assert live(kernel, code).stdout == "during\n"
    assert kernel.run("log.warning('after')").stdout == "after\n"
    assert kernel.value("type(sys.stdout).__name__") == "'OutStream'"


INTERRUPTED = {
    "busy": "print('started')\nwhile True: pass",
    "sleeping": "import time\nprint('started')\ntime.sleep(60)",
    "awaiting": "import asyncio\nprint('started')\nawait asyncio.sleep(60)",
    "busy, then": "import asyncio\nawait asyncio.sleep(0)\nprint('started')\nwhile True: pass",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", INTERRUPTED.values(), ids=INTERRUPTED.keys())
def test_an_interrupt_ends_the_code_and_not_the_cell(kernel: Kernel, code: str, form: str) -> None:
    def interrupt(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and "started" in message["content"]["text"]:
            kernel.interrupt()

    outputs = live(kernel, f"{code}\nprint('not reached')", form, meanwhile=interrupt, timeout=20)
    assert outputs.stdout == "started\n"
    assert kernel.value("result.interrupted, result.ok") == "(True, False)"
    assert told(kernel) == "started"
    assert shown(outputs) == ["stream", "error"]
    assert live(kernel, "'alive'").of("display_data")[0]["data"]["text/plain"] == "'alive'"


def test_input_reaches_the_person_or_raises_as_usual(kernel: Kernel) -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "Ada"

    live(kernel, "name = input('who? ')\nname", stdin=answer)
    assert asked == ["who? "]
    assert told(kernel) == "value: 'Ada'"
    live(kernel, "input('who? ')")
    assert "StdinNotImplementedError" in told(kernel)


def test_magics_and_help_run_as_in_a_cell(kernel: Kernel) -> None:
    live(kernel, "%%capture caught\nprint('hidden')")
    assert told(kernel) == "Done; it printed nothing and has no value."
    assert kernel.value("caught.stdout") == "'hidden\\n'"


def test_a_cell_that_captures_gets_the_output_and_the_model_too(kernel: Kernel) -> None:
    outputs = kernel.run("%%capture caught\nresult = run_sync('print(1); display(2); 6 * 7')")
    assert (outputs.status, shown(outputs)) == ("ok", [])
    assert told(kernel) == "1\nshown to the person: 2\nvalue: 42"
    assert kernel.value("caught.stdout") == "'1\\n'"
    assert kernel.value("[each.data for each in caught.outputs]") == (
        "[{'text/plain': '2'}, {'text/plain': '42'}]"
    )


def test_nothing_of_ours_stays_in_the_shell(kernel: Kernel) -> None:
    state = (
        "(set(vars(get_ipython().displayhook)), set(vars(get_ipython().display_pub)),"
        " '_showtraceback' in vars(get_ipython()), sorted(t.name for t in threading.enumerate()))"
    )
    kernel.run(f"import threading\nbefore = {state}")
    for code in ("print(1); 2", "1/0", "import asyncio\nawait asyncio.sleep(0)\nprint(2)"):
        live(kernel, code)
    assert kernel.value(f"{state} == before") == "True"


TERMINAL = """
import asyncio, sys, warnings
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from shiro_jupyter.kernel.run_code import run_on_main_sync
shell = TerminalInteractiveShell.instance(colors="nocolor")
shell.run_cell("'mine'", store_history=True)
for code in sys.argv[1:]:
    said = []
    result = run_on_main_sync(shell, code, said.append)
    print("TOLD", repr(result.text()), result.ok)
print("LAST", shell.user_ns["_"], len(shell.user_ns["Out"]))
"""


def test_in_a_terminal(tmp_path: Any) -> None:
    codes = [
        "print('hello'); 6 * 7",
        "import asyncio\nawait asyncio.sleep(0.01)\ndisplay('shown')",
        "1/0",
    ]
    done = subprocess.run(
        [sys.executable, "-c", TERMINAL, *codes],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    assert lines[:3] == ["Out[1]: 'mine'", "hello", "42"]
    assert lines[3] == "TOLD 'hello\\nvalue: 42' True"
    assert lines[4:6] == ["'shown'", "TOLD \"shown to the person: 'shown'\" True"]
    assert "ZeroDivisionError" in lines[-2]
    assert lines[-2].startswith("TOLD '----")
    assert lines[-2].endswith("False")
    assert lines[-1] == "LAST mine 1"


def test_the_text_for_the_model() -> None:
    assert CodeResult(ok=True).text() == "Done; it printed nothing and has no value."
    assert CodeResult(ok=False, interrupted=True).text() == ""
    table = Shown("value", "   a\n0  1")
    assert CodeResult(ok=True, shown=(table,)).text() == "value:\n   a\n0  1"
    many = CodeResult(ok=True, shown=(Shown("display", "x"),), unshown=1_200)
    assert many.text() == "shown to the person: x\n[… 1,200 more shown to the person …]"
