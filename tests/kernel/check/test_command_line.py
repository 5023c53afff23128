from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shiro_jupyter.kernel.check.command_line import FAILS, PASSES, UNCHECKED, main
from tests.support.kernels import ROOT

from .files import cell, printed, write
from .test_check import running, until


@pytest.mark.kernel
def test_the_exit_code_tells_whether_all_re_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clean = write(tmp_path / "clean.ipynb", "x = 1", cell("print(x)", printed("1\n"), count=2))
    broken = write(tmp_path / "broken.ipynb", "print(x)", "x = 1")
    assert main(["check", str(clean), "--json", "--strict"]) == PASSES
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert told["passes"] and told["clean"]
    assert [each["outputs"] for each in told["cells"]] == ["same", "same"]
    assert told["failure"] is None
    assert "[2/2] cell 2: print(x)" in err
    assert main(["check", str(clean), str(broken)]) == FAILS
    out, err = capsys.readouterr()
    assert out.startswith("clean.ipynb re-runs: 2 cells in ")
    assert "broken.ipynb does not re-run: cell 1 fails: NameError: name 'x' is not defined" in out
    assert f"{broken}: Forecast: cell 1 fails: name 'x' is not defined, which cell 2 below " in err


@pytest.mark.kernel
def test_strict_fails_on_outputs_that_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.ipynb", cell("print(3)", printed("4\n"), count=1))
    assert main(["check", str(path), "--strict"]) == FAILS
    assert "The output of cell 1 differs: saved “4”, now “3”." in capsys.readouterr().out


@pytest.mark.kernel
def test_a_cell_without_a_recorded_answer_fails_by_strict_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.ipynb", "%load_ext shiro_jupyter", "%shiro why?", "print(1)")
    assert main(["check", str(path)]) == PASSES
    assert "cell 2 is a %shiro cell: its answer is not recorded here" in capsys.readouterr().out
    assert main(["check", "--strict", str(path)]) == FAILS


def test_the_forecast_alone_runs_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = f"open({str(tmp_path / 'ran')!r}, 'w')", "print(x)", "y"
    path, clean = write(tmp_path / "a.ipynb", *sources), write(tmp_path / "b.ipynb", "x = 1")
    assert main(["check", "--forecast", str(path), str(clean)]) == FAILS
    assert capsys.readouterr() == (
        f"{path}: Forecast: cell 2 fails: name 'x' is not defined, which no cell defines.\n"
        f"{path}: After that, it lacks y.\n"
        f"{clean}: no name is foreseen to be missing.\n",
        "",
    )
    assert main(["check", "--forecast", "--json", str(clean)]) == PASSES
    assert json.loads(capsys.readouterr().out) == {"notebook": str(clean), "forecast": []}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("allowed", "named"),
    [
        ([], "--allow writes,network,commands"),
        (["--allow", "writes"], "--allow network,commands"),
        (["--allow", "commands,writes"], "--allow network"),
    ],
)
def test_nothing_runs_that_does_more_than_is_allowed(
    allowed: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = ("open('a', 'w')", "import requests\nrequests.get('u')", "!ls")
    path = write(tmp_path / "a.ipynb", *sources)
    assert main(["check", str(path), *allowed]) == UNCHECKED
    out, err = capsys.readouterr()
    assert f"Allow it with {named}, after a look" in err
    assert "cell 2 reaches the network: requests.get('u')" in err
    assert out == ""


def odd(**changed: object) -> str:
    return json.dumps({"nbformat": 4, "cells": [cell("x = 1") | changed]})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "cannot be read: No such file"),
        ("nothing", "does not hold JSON"),
        ("[]", "names no nbformat"),
        ('{"nbformat": 3, "worksheets": []}', "jupyter nbconvert --to notebook"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code"}]}', "no valid notebook"),
        ('{"nbformat": 4, "cells": [3]}', "no valid notebook"),
        ('{"nbformat": 4, "cells": [], "metadata": 3}', "no valid notebook"),
        (odd(outputs=[None]), "no valid notebook"),
        (odd(outputs={"output_type": "stream"}), "no valid notebook"),
        (odd(outputs=[{"output_type": "display_data", "data": ["x"]}]), "no valid notebook"),
        (odd(execution_count="7"), "no valid notebook"),
        (odd(source="'\udcff'"), "no valid notebook"),
        (odd(metadata=["x"]), "no valid notebook"),
        ("[" * 100_000, "does not hold JSON"),
        (
            '{"nbformat": 4, "cells": [], "metadata": {"kernelspec": {"language": "R"}}}',
            "only those for Python",
        ),
    ],
)
def test_what_cannot_be_checked_is_told_and_is_no_failure_of_the_notebook(
    text: str | None, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.ipynb"
    if text is not None:
        path.write_text(text)
    assert main(["check", str(path)]) == UNCHECKED
    assert why in capsys.readouterr().err
    assert main(["check", "--allow", "everything", str(write(path, "x = 1"))]) == UNCHECKED
    assert "--allow takes writes, network, installs, commands" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--timeout", "--tolerance"])
@pytest.mark.parametrize("given", ["nan", "inf", "-1", "soon"])
def test_a_number_that_is_none_is_refused(
    option: str, given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", f"{option}={given}", str(tmp_path / "a.ipynb")])
    assert ended.value.code == UNCHECKED
    assert f"argument {option}: not a number from 0: '{given}'" in capsys.readouterr().err


@pytest.mark.kernel
def test_a_notebook_that_is_a_link_runs_where_the_link_is(tmp_path: Path) -> None:
    target = write(tmp_path / "elsewhere" / "b.ipynb", "open('beside.txt').read()")
    project = tmp_path / "project"
    project.mkdir()
    (project / "beside.txt").write_text("x")
    (project / "a.ipynb").symlink_to(target)
    assert main(["check", str(project / "a.ipynb")]) == PASSES
    assert main(["check", str(target)]) == FAILS


@pytest.mark.kernel
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_kernel_outlives_the_command(how: signal.Signals, tmp_path: Path) -> None:
    told = tmp_path / "told"
    path = write(
        tmp_path / "project" / "a.ipynb",
        "import os, time",
        f"open({str(told)!r}, 'w').write(f'{{os.getpid()}}\\n')\nwhile True: time.sleep(0.1)",
    )
    command = [sys.executable, "-m", "shiro_jupyter", "check", "--yes", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        until(lambda: told.exists() and told.read_text().endswith("\n"))
        kernel = int(told.read_text())
        child.send_signal(how)
        out, _ = child.communicate(timeout=60)
    until(lambda: not running(kernel))
    if how != signal.SIGKILL:
        assert child.returncode == UNCHECKED
        assert out.startswith("a.ipynb was not run to its end: interrupted after 1 of 2 cells.")
        assert not list(tmp_path.glob("shiro-check-*"))
