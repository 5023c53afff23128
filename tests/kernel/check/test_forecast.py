from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shiro_jupyter.kernel.check.cells import CodeCell
from shiro_jupyter.kernel.check.forecast import forecast

from .notebooks import FAILING, GOOD

# Runs notebooks one after the other, each in a fresh namespace: number and name of the first
# failure, "" for an error of another kind.
RUNNER = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "shiro_jupyter")
shell.user_ns["get_ipython"] = lambda: shell
shell.magics_manager.register_function(lambda line="", cell="": None, "line_cell", "shiro")
sys.modules["__main__"] = shell.user_module
out, sys.stdout = sys.stdout, open("/dev/null", "w")
sys.stderr = open("/dev/null", "w")
before = set(vars(shell.user_module)) | {"__builtins__"}
found = {}
import builtins
known = set(dir(builtins))
for title, cells in json.load(open(sys.argv[1])).items():
    shell.reset(new_session=True)
    for name in set(dir(builtins)) - known:
        delattr(builtins, name)
    found[title] = None
    for number, source in enumerate(cells, 1):
        result = shell.run_cell(source, store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            name = error.name if isinstance(error, NameError) else ""
            found[title] = [number, name or "", repr(error)]
            break
json.dump(found, out)
"""


def cells_of(sources: list[str]) -> list[CodeCell]:
    return [CodeCell(number, source) for number, source in enumerate(sources, 1)]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[object] | None]:
    """What really becomes of each notebook."""
    folder = tmp_path_factory.mktemp("ran")
    every = {title: cells for title, (cells, _, _) in FAILING.items()} | GOOD
    (folder / "notebooks.json").write_text(json.dumps(every))
    run = subprocess.run(
        [sys.executable, "-c", RUNNER, "notebooks.json"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, list[object] | None] = json.loads(run.stdout)
    return found


def test_the_fixtures_are_as_many_as_the_claim() -> None:
    assert len(FAILING) >= 20
    assert len(GOOD) >= 65
    assert not FAILING.keys() & GOOD.keys()


@pytest.mark.parametrize("title", FAILING)
def test_a_name_that_is_missing_is_foreseen_with_its_cell(
    title: str, ran: dict[str, list[object] | None]
) -> None:
    sources, number, name = FAILING[title]
    assert ran[title] is not None
    assert ran[title][:2] == [number, name]  # it does fail so
    first = forecast(cells_of(sources))[0]
    assert (first.cell.number, first.name) == (number, name)


@pytest.mark.parametrize("title", GOOD)
def test_what_runs_raises_no_alarm(title: str, ran: dict[str, list[object] | None]) -> None:
    assert ran[title] is None  # it does run
    assert forecast(cells_of(GOOD[title])) == []


def test_a_cell_that_is_nested_too_deep_ends_the_forecast() -> None:
    deep = f"x = {'+'.join(['y'] * 900)}"
    assert forecast(cells_of([deep, "missing"])) == []
    assert [each.name for each in forecast(cells_of(["missing", deep]))] == ["missing"]


def test_a_cell_that_is_no_python_is_foreseen_too() -> None:
    (found,) = forecast(cells_of(["x = 1", "def f(:\n    pass"]))
    assert found.said == "cell 2 fails: SyntaxError: invalid syntax"
    assert forecast(cells_of(["some alias of mine"])) == []  # IPython may know it
