"""Notebooks run in real fresh kernels: whatever there is to find is reported as what it is."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from shiro_jupyter.core.errors import UsageError
from shiro_jupyter.core.policy.redactor import Redactor
from shiro_jupyter.core.workspace.folders import user_folders
from shiro_jupyter.core.workspace.processes import Processes
from shiro_jupyter.core.workspace.project import find_project
from shiro_jupyter.kernel.check.cells import read_saved
from shiro_jupyter.kernel.check.check import Check, Options
from shiro_jupyter.kernel.check.hidden import Live
from shiro_jupyter.kernel.check.report import report
from shiro_jupyter.kernel.check.result import Result
from shiro_jupyter.kernel.check.run import Progress
from shiro_jupyter.kernel.check.scratch import NO_GIT, REAL
from shiro_jupyter.kernel.command_line import parse
from shiro_jupyter.kernel.rerun import Answers, Cell, Runs
from shiro_jupyter.views.document import bundle, plain

from .files import cell, printed, result, write

pytestmark = pytest.mark.kernel


@pytest.fixture(autouse=True)
def no_copy_left(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield
    assert not list(folder.glob("shiro-check-*"))


def check_of(path: Path, **more: Any) -> Check:
    options = Options(**{name: more.pop(name) for name in list(more) if hasattr(Options, name)})
    processes = Processes(os.environ, path.parent / ".outputs")
    return Check(read_saved(path), path.parent, processes, options, **more)


def checked(path: Path, **more: Any) -> Result:
    return asyncio.run(check_of(path, **more).run())


def text_of(found: Result) -> str:
    return plain(report(found), 200)


def record(notebook: Path, prompt: str, answer: str) -> None:
    """As a person's own run of a cell with that prompt would have."""
    folders = user_folders(os.environ)
    project = find_project(notebook.parent, home=folders.home, notebook=notebook)
    runs = Runs(Answers(folders.data / "answers", project, Redactor()), time.time)
    line, where = parse(prompt), Cell("one", "r1", 1.0, 1.0)
    key = runs.key(repr((line.prompt, line.model, line.mode, line.think)), where)
    runs.record(key, where, line.prompt, answer)


def test_a_notebook_that_runs_is_told_by_cell_with_all_there_is_to_know(tmp_path: Path) -> None:
    path = write(
        tmp_path / "project" / "a.ipynb",
        cell("import random, time\nx = 20\nopen('data.csv').read()", result("'a,b'"), count=1),
        cell("x + 1", result("20"), count=2),
        cell("print(object())", printed("<object object at 0x7f0000000001>\n"), count=7),
        cell(
            "print(time.strftime('%Y-%m-%d %H:%M:%S'))", printed("2020-01-01 10:00:00\n"), count=4
        ),
        cell("print(random.random())", printed("0.123\n"), count=5),
        cell("open('out.txt', 'w').write('x') and None", count=8),
        cell("%load_ext shiro_jupyter", count=9),
        cell("%shiro --live why is that?", printed("An older answer\n"), count=10),
        cell("never_by_hand = 1"),
        cell("1 / 0", tags=["raises-exception"]),
        cell("later", tags=["skip-execution"]),
        cell(""),
    )
    (path.parent / "data.csv").write_text("a,b")
    record(path, "why is that?", "It is so.")
    told = list[Progress]()
    live = Live(["x", "gone", "agents"], ["", "gone = 1"], {"agents"})
    found = checked(path, kernel=live, tell=told.append)

    assert found.passes
    assert not found.clean
    assert found.forecast == ()
    rows = {row.cell.number: row for row in found.rows}
    how = {number: row.difference and row.difference.how for number, row in rows.items()}
    same, unsaved = dict.fromkeys((1, 6, 7, 8), "same"), dict.fromkeys((9, 10, 11))
    assert how == same | {2: "differs", 3: "times", 4: "times", 5: "differs"} | unsaved
    assert rows[2].difference and rows[2].difference.what == "saved “20”, now “21”"
    assert rows[8].difference and rows[8].difference.what == "an answer, not compared"
    assert all(row.seconds is not None and row.seconds >= 0 for row in found.rows[:10])
    assert [each.name for each in found.hidden] == ["agents", "gone"]
    assert "that the agent ran" in found.hidden[0].origin
    assert "[1], a cell that is gone" in found.hidden[1].origin
    assert [(a.number, b.number) for a, b in found.order.late] == [(4, 3), (5, 3)]
    assert [each.number for each in found.order.never] == [9, 10, 11]
    assert found.written == ("out.txt",)
    assert not (path.parent / "out.txt").exists()
    assert [each.cell.number for each in told if each.ran] == list(range(1, 11))
    text = text_of(found)
    assert text.startswith("a.ipynb re-runs: 10 cells in ")
    assert (
        "but the outputs of 2 cells differ, only the live kernel has 2 names, 2 cells ran" in text
    )
    assert "cell 4 ran as [4], before cell 3 above it [7]." in text
    assert "Files changed in a copy of the project, which is gone: out.txt." in text
    assert "<table>" in bundle(report(found))["text/html"]


def test_a_cell_whose_answer_is_not_recorded_here_is_passed_over(tmp_path: Path) -> None:
    def turn(text: str, **metadata: object) -> dict[str, Any]:
        forms = [] if metadata else ["text/html", "text/markdown"]
        data = {"text/plain": [text]} | dict.fromkeys(forms, "<b>formatted</b>")
        return {"output_type": "display_data", "data": data, "metadata": metadata}

    path = write(
        tmp_path / "project" / "a.ipynb",
        "%load_ext shiro_jupyter",
        cell("%shiro --live never answered?", printed("So it is."), count=2),
        cell(
            "r = %shiro why?\ns = %shiro known?\nt = %shiro how?",
            turn("a", shiro={}),
            turn("b"),
            result("<Figure>"),
            turn("c"),
        ),
        "assert (str(r), str(s), str(t)) == ('a', 'recorded', 'c')",
        cell("%%time\nempty = get_ipython().run_line_magic('shiro', 'who?')", count=5),
        "assert empty.answer == '' and empty.outcome == 'answered'",
    )
    record(path, "known?", "recorded")
    found = checked(path)
    assert found.passes, text_of(found)
    assert not found.clean
    assert [row.cell.number for row in found.passed_over] == [2, 3, 5]
    assert found.differs == ()
    assert found.as_json()["passed_over"] == [2, 3, 5]
    text = text_of(found)
    assert ", but 3 %shiro cells had no recorded answer." in text
    assert (
        "cell 2 is a %shiro cell: its answer is not recorded here, so it was passed over; "
        "--live asks the model." in text
    )


def test_a_clean_notebook_passes_in_its_folder_too(tmp_path: Path) -> None:
    path = write(
        tmp_path / "clean.ipynb",
        "import os\nos.environ.get('SHIRO_API_KEY'), os.environ['KEPT']",
        cell("1 + 1", result("2"), count=2),
        "print('x' * 5_000_000)",  # which nbclient would join for hours
        kernelspec={"name": "nowhere", "language": "python"},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHIRO_API_KEY", "sk-12345678901234567890")
        patch.setenv("KEPT", "here")
        check = check_of(path, in_place=True)
        found = asyncio.run(check.run())
    assert found.passes
    seen = check._run.ran[0].outputs[0]["data"]["text/plain"]
    assert seen == "(None, 'here')"
    assert not list(tmp_path.glob("*.txt"))
    assert found.differs[0].cell.number == 1  # nothing of it was saved
    assert "There is no kernelspec 'nowhere' here: run by " in text_of(found)


@pytest.mark.parametrize(
    ("sources", "kind", "said"),
    [
        (
            ["x = 1", "def f():\n    return missing_name", "f()", "y = 2"],
            "error",
            "does not re-run: cell 3 fails: NameError: name 'missing_name' is not defined",
        ),
        (["x = input('Your name: ')"], "input", "cell 1 asks for input"),
        (
            ["import no_such_package_of_ours.deep"],
            "error",
            "(install it: pip install no_such_package_of_ours)",
        ),
        (
            ["import time", "exit()\ntime.sleep(1)", "x"],
            "exited",
            "cell 2 calls exit(), which ends the kernel: the cells below do not run.",
        ),
        (["quit", "x"], "exited", "cell 1 calls exit()"),
        (
            ["import os", "os._exit(0)"],
            "died",
            "the kernel ended, as exit() or os._exit(0) make it",
        ),
        (
            ["import os, signal", "os.kill(os.getpid(), signal.SIGKILL)"],
            "died",
            "the kernel died: ended by SIGKILL, as the system does where memory runs out",
        ),
        (
            ["import time", "while True:\n    time.sleep(0.1)", "x = 1"],
            "timeout",
            "cell 2 was not done after 2 s and was ended",
        ),
    ],
)
def test_the_first_failure_is_told_as_what_it_is(
    sources: list[str], kind: str, said: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.ipynb", *sources)
    live = Live(["x", "y", "f", "only_here"])
    found = checked(path, kernel=live, timeout=2 if kind == "timeout" else None)
    assert found.failure is not None
    assert found.failure.kind == kind
    assert not found.passes
    text = text_of(found)
    assert said in text
    assert "FAILS" in text
    at = found.failure.cell.number
    assert [row.seconds is None for row in found.rows] == [
        n > at for n in range(1, len(sources) + 1)
    ]
    assert "only_here" in [each.name for each in found.hidden]
    assert "y" not in [each.name for each in found.hidden if kind == "error" and len(sources) > 3]
    if len(sources) == 4:
        assert "----> 2     return missing_name" in text
        assert found.failure.traceback.startswith("NameError  ")
        assert not found.failure.traceback.endswith("\n")
        assert [(each.cell.number, each.name) for each in found.forecast] == [(3, "missing_name")]


@pytest.mark.parametrize("sources", [["x = 1", "exit()"], ["exit(keep_kernel=True)", "x = 1"]])
def test_an_exit_that_keeps_no_cell_from_running_is_no_failure(
    sources: list[str], tmp_path: Path
) -> None:
    skipped = cell("later", tags=["skip-execution"])
    assert checked(write(tmp_path / "a.ipynb", *sources, skipped, "")).passes


def test_what_leads_out_of_the_copy_is_not_changed_else_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, far = tmp_path / "project", tmp_path / "far"
    monkeypatch.setenv("PWD", str(project))
    monkeypatch.setenv("MY_DATA", f"{project}/data/")
    path = write(
        project / "a.ipynb",
        "import os\nfrom pathlib import Path",
        "Path(os.environ['JPY_SESSION_NAME']).unlink()",
        "Path(os.environ['PWD'], 'pwd.txt').write_text('changed')",
        "Path(os.environ['MY_DATA'] + 'own.txt').unlink()",
        "Path('far/one.txt').write_text('changed')",
        f"Path({str(project)!r}, 'real.txt').write_text('changed')",
        "print(os.popen('git log 2>&1').read())",
    )
    for file in (
        project / "pwd.txt",
        project / "data/own.txt",
        project / "real.txt",
        far / "one.txt",
    ):
        file.parent.mkdir(exist_ok=True)
        file.write_text("kept")
    (project / ".git").mkdir()
    (project / "far").symlink_to("../far")
    found = checked(path)
    assert found.passes
    assert found.written == ("a.ipynb", "data/own.txt", "far/one.txt", "pwd.txt")
    assert found.notes[-2:] == (REAL.format("real.txt"), NO_GIT)
    assert REAL.format("real.txt") in text_of(found)
    assert path.exists()
    for kept in (project / "pwd.txt", project / "data/own.txt", far / "one.txt"):
        assert kept.read_text() == "kept"


def running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def until(happens: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interrupt_ends_all_that_runs_and_leaves_what_had_come(tmp_path: Path) -> None:
    told = tmp_path / "told"
    path = write(
        tmp_path / "project" / "a.ipynb",
        "x = 1",
        "import os, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        f"open({str(told)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}} {{os.getcwd()}}\\n')\n"
        "while True: time.sleep(0.1)",
        "y = 1",
    )

    async def interrupted() -> Result:
        check = check_of(path)
        task = asyncio.create_task(check.run())
        while not (told.exists() and told.read_text().endswith("\n")):
            assert not task.done()
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return check.result(interrupted=True)

    found = asyncio.run(interrupted())
    kernel, child, folder = told.read_text().split()
    until(lambda: not running(int(kernel)) and not running(int(child)))
    assert not Path(folder).exists()
    assert not found.passes
    assert [row.seconds is not None for row in found.rows] == [True, False, False]
    assert text_of(found).startswith("a.ipynb was not run to its end: interrupted after 1 of 3")


def test_a_check_needs_as_much_free_memory_as_the_live_kernel_holds(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ipynb", "x = 1")
    lying = {"free": lambda: 2_000_000_000, "used": lambda: 3_000_000_000}
    with pytest.raises(UsageError, match=r"holds 3\.0 GB, .* 2\.0 GB of memory are free"):
        checked(path, kernel=Live([]), **lying)


@pytest.mark.parametrize("python", ["false", "no-such-python"])
def test_a_kernel_that_does_not_start_is_told(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.ipynb", "x = 1")
    check = check_of(path)
    monkeypatch.setattr("sys.executable", f"/bin/{python}")
    with pytest.raises(UsageError, match=rf"(died as it started, twice|did not start).*/{python}"):
        asyncio.run(check.run())


def test_a_kernel_whose_port_was_taken_is_started_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two kernels that start at once may choose the same one."""
    started = tmp_path / "started"
    python = tmp_path / "python"
    second = f'test -e {started} && exec {sys.executable} "$@"'
    python.write_text(f"#!/bin/sh\n{second}\ntouch {started}\nexit 1\n")
    python.chmod(0o755)
    path = write(tmp_path / "project" / "a.ipynb", "x = 1")
    check = check_of(path)
    monkeypatch.setattr("sys.executable", str(python))
    assert asyncio.run(check.run()).passes
    assert started.exists()


def test_no_check_begins_within_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIRO_CHECKING", "1")
    with pytest.raises(UsageError, match="no other one begins within it"):
        checked(write(tmp_path / "a.ipynb", "x = 1"))


def test_startup_files_count_as_known(tmp_path: Path) -> None:
    startup = Path(os.environ["IPYTHONDIR"], "profile_default", "startup")
    startup.mkdir(parents=True)
    path = write(tmp_path / "a.ipynb", "helper()")
    assert [each.name for each in check_of(path).forecast] == ["helper"]
    (startup / "00-mine.py").write_text("def helper(): pass")
    assert check_of(path).forecast == []
    (startup / "00-mine.py").unlink()
    config = startup.parent / "ipython_kernel_config.py"
    config.write_text("c.InteractiveShellApp.exec_lines = ['from tools import *']")
    assert check_of(path).forecast == []
