"""Turns in the background, and cells that wait behind them: nobody waits for ever."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kernels import ROOT, SIX, Kernel, interpreters, running_kernel
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

SUM = "total = 40 + 2\nprint('in code')\ntotal"


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("background")
    # The delays let the cell end first, or the next one begin first.
    model = script(
        folder,
        runs("sum", SUM, delay=0.3),
        runs("sum", "print('again', total)", delay=0.3),
        says("sum", "It is 42."),
        runs("await", "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')", delay=0.3),
        says("await", "Awaited."),
        says("front", "In front."),
        says("slow", "Slowly.", delay=2),
        says("silent", "never", delay=60),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    home["SHIRO_VIEW"] = "text"
    with running_kernel(request.param, folder=folder, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def aside(kernel: Kernel, code: str) -> str:
    """Start a turn in the background; its cell has ended then."""
    request = kernel.send(code)
    outputs = kernel.finish(request)
    assert outputs.status == "ok"
    assert outputs.stdout in ("", "· next: front\n")  # where it holds two
    return request


def test_the_cell_returns_and_the_turn_goes_on_in_its_output(kernel: Kernel) -> None:
    request = aside(kernel, "r = %shiro --yolo sum &")
    shown = kernel.later(request, "answered")
    assert "in code\n" in shown.stdout
    assert "again 42\n" in shown.stdout
    assert "It is 42." in shown.stdout
    assert [each["data"]["text/plain"] for each in shown.of("display_data")] == ["42"]
    assert kernel.run("print(r.wait().answer, r.outcome)").stdout == "It is 42. answered\n"


def test_top_level_await_works_there_too(kernel: Kernel) -> None:
    request = aside(kernel, "%shiro --yolo await &")
    assert "awaited\n" in kernel.later(request, "answered").stdout


@pytest.mark.parametrize("form", ["", "%%time\n", "for _ in range(2):\n    "])
def test_a_cell_behind_it_serves_it_and_is_answered(kernel: Kernel, form: str) -> None:
    request = aside(kernel, "%shiro --yolo sum &")
    outputs = kernel.run(f"{form}%shiro front", stdin=lambda prompt: "")
    assert outputs.stdout.startswith("· waiting for the turn before it\n")
    assert outputs.stdout.count("waiting") == 1
    assert "In front." in outputs.stdout
    assert "in code" not in outputs.stdout  # that is the other cell's
    assert "in code\n" in kernel.later(request, "answered").stdout


def test_it_runs_code_behind_a_cell_of_the_persons(kernel: Kernel) -> None:
    request = aside(kernel, "%shiro --yolo sum &")
    assert kernel.run("import time; time.sleep(1); total = 'theirs'").status == "ok"
    assert "in code\n" in kernel.later(request, "answered").stdout
    assert kernel.value("total") == "42"


def test_a_failing_cell_in_front_does_not_lose_the_code(kernel: Kernel) -> None:
    request = aside(kernel, "%shiro --yolo sum &")
    assert kernel.run("time.sleep(1); 1 / 0").status == "error"
    assert "in code\n" in kernel.later(request, "answered").stdout


def test_three_queued_prompts_are_answered_in_order(kernel: Kernel) -> None:
    aside(kernel, "a = %shiro --yolo sum &\nb = %shiro front &")
    told = kernel.run("%shiro front", stdin=lambda prompt: "").stdout
    assert told.startswith("· waiting for the 2 turns before it\n")
    assert "In front." in told
    kernel.run("c = [a.wait(), b.wait()]")
    prompts = "get_ipython()._shiro_extension.host.services.conversation.opened.session.items"
    told = kernel.value(f"[i.text for i in {prompts} if type(i).__name__ == 'User'][-3:]")
    assert told == "['sum', 'front', 'front']"


def test_its_question_waits_until_a_cell_can_ask_it(kernel: Kernel) -> None:
    request = aside(kernel, "%shiro sum &")
    kernel.later(request, "waits for your answer")
    asked: list[str] = []
    outputs = kernel.run("%shiro", stdin=lambda prompt: (asked.append(prompt), "s")[1])
    assert outputs.status == "ok"
    assert len(asked) == 1
    assert "The background turn “sum” asks:\n? Run this code" in outputs.stdout
    assert "    total = 40 + 2\n" in outputs.stdout
    assert "in code\n" in kernel.later(request, "answered").stdout
    kernel.run(
        "get_ipython()._shiro_extension.host.services.conversation.opened.session.grants.clear()"
    )


@pytest.mark.parametrize("form", ["", "%%time\n"])
def test_its_question_is_put_in_the_cell_that_runs(kernel: Kernel, form: str) -> None:
    request = aside(kernel, "%shiro sum &")
    cell = kernel.send(f"{form}%shiro front")
    asked = kernel.client.get_stdin_msg(timeout=30)
    assert asked["parent_header"]["msg_id"] == cell
    kernel.client.input("s")
    outputs = kernel.finish(cell)
    assert "The background turn “sum” asks:" in outputs.stdout
    assert "In front." in outputs.stdout
    assert "in code\n" in kernel.later(request, "answered").stdout
    kernel.run(
        "get_ipython()._shiro_extension.host.services.conversation.opened.session.grants.clear()"
    )


def test_an_interrupt_takes_a_waiting_cell_out_of_the_queue(kernel: Kernel) -> None:
    request = aside(kernel, "%shiro slow &")
    cell = kernel.send("%shiro front")
    queued = "get_ipython()._shiro_extension.host.services.conversation.agent.queue.waiting"
    begun: list[float] = []

    def once() -> None:
        if begun and time.monotonic() > begun[0] + 0.5:
            kernel.interrupt()
            begun[0] = float("inf")

    outputs = kernel.finish(
        cell, meanwhile=lambda message: begun.append(time.monotonic()), idle=once
    )
    assert outputs.of("error")[0]["ename"] == "KeyboardInterrupt"
    assert "Slowly." in kernel.later(request, "answered").stdout
    assert kernel.value(queued) == "()"


def test_code_that_a_turn_runs_cannot_ask_itself(kernel: Kernel) -> None:
    kernel.run("ask = lambda: get_ipython().run_line_magic('shiro', 'front')")
    refused = kernel.run(
        "host = get_ipython()._shiro_extension.host\n"
        "import concurrent.futures\n"
        "ended = host.services.thread.spawn(lambda: host.main.run(lambda: ask()))\n"
        "from shiro_jupyter.kernel.main_thread import Server\n"
        "host.main.serve_blocking(ended, Server())",
        stdin=lambda prompt: "",
    )
    assert "cannot be asked from within it" in refused.stream("stderr")


@pytest.mark.parametrize("form", ["", "%%time\n"])
def test_waiting_for_a_reply_serves_its_turn(kernel: Kernel, form: str) -> None:
    outputs = kernel.run(f"{form}r = %shiro --yolo sum &\nprint(r.wait(20).answer)", stdin=str)
    assert outputs.status == "ok" and "It is 42." in outputs.stdout


def test_a_wait_is_no_longer_than_it_may_be(kernel: Kernel) -> None:
    outputs = kernel.run("r = %shiro slow &\nr.wait(0.2)", stdin=str)
    assert outputs.reply["ename"] == "TimeoutError"
    assert kernel.run("print(r.wait().answer)").stdout.endswith("Slowly.\n")


# Touches `waits` once main is inside the serving of the wait: an interrupt before is another one.
WATCH = """
import sys, threading, time
from pathlib import Path
def serving(frame):
    while frame and frame.f_code.co_name != "serve_blocking":
        frame = frame.f_back
    return frame
def watch(main=threading.main_thread().ident):
    while not serving(sys._current_frames()[main]): time.sleep(0.01)
    Path('waits').touch()
"""


def test_an_interrupt_of_a_wait_stops_the_turn_and_the_cell(kernel: Kernel) -> None:
    kernel.run(WATCH)
    sent: list[bool] = []
    begun = kernel.folder / "waits"

    def meanwhile() -> None:
        if not sent and begun.exists():
            sent.append(True)
            kernel.interrupt()

    outputs = kernel.run(
        "r = %shiro silent &\nthreading.Thread(target=watch).start()\nr.wait()",
        idle=meanwhile,
        stdin=str,
    )
    assert outputs.reply["ename"] == "KeyboardInterrupt"
    assert len(outputs.reply["traceback"]) == 1
    assert kernel.value("r.outcome") == "'interrupted'"


def test_a_thread_of_the_persons_has_the_code_run_on_main(kernel: Kernel) -> None:
    kernel.run("import threading; asked = []; shell = get_ipython()")
    kernel.run(
        "def ask(): asked.append(shell.run_line_magic('shiro', '--yolo sum').answer)\n"
        "t = threading.Thread(target=ask); t.start()",
        stdin=str,
    )
    deadline = time.monotonic() + 30
    while kernel.value("t.is_alive()") == "True":  # its code runs between these cells
        assert time.monotonic() < deadline
    assert kernel.value("(asked, total)") == "(['It is 42.'], 42)"


def test_nobody_is_asked_where_nobody_can_type(kernel: Kernel) -> None:
    request = aside(kernel, "%shiro sum &")
    kernel.later(request, "waits for your answer")
    outputs = kernel.run("%shiro")
    assert outputs.status == "error" and "nobody can answer it here" in str(outputs.reply)
    kernel.run("%shiro", stdin=lambda prompt: "s")
    kernel.later(request, "answered")
    kernel.run(
        "get_ipython()._shiro_extension.host.services.conversation.opened.session.grants.clear()"
    )


def test_its_view_stays_in_its_cell_where_the_kernel_knows_one_cell_at_a_time(
    tmp_path: Path,
) -> None:
    model = script(tmp_path, says("hello", "Good day."))
    home = {"SHIRO_HOME": str(tmp_path / "home"), "SHIRO_MODEL": model, "SHIRO_VIEW": "display"}
    home["PYTHONPATH"] = os.pathsep.join([SIX, str(ROOT)])
    with running_kernel(sys.executable, folder=tmp_path, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter\nimport threading, time\ngate = threading.Event()")
        kernel.run("thread = get_ipython()._shiro_extension.host.services.thread")
        # The agent's thread shows nothing before the next cell runs.
        asked = kernel.send("thread.call(gate.wait)\nr = %shiro hello &", cell_id="one")
        kernel.finish(asked)
        waits = "gate.set()\nwhile r.outcome == 'running': time.sleep(0.01)\nprint(r)"
        other = kernel.run(waits, cell_id="two")
        assert other.stdout == "Good day.\n"
        assert other.of("display_data") == []
        shown = [each for each in kernel.others if each["msg_type"] == "display_data"]
        assert [each["parent_header"]["msg_id"] for each in shown] == [asked]
