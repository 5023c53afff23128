"""The notebook tools where no page of ours shows the notebook, in real kernels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.scripts import says, script

pytestmark = pytest.mark.kernel

SESSION = "get_ipython()._shiro_extension.host.services.conversation.opened.session"
RESULTS = f"[item.text for item in {SESSION}.items if type(item).__name__ == 'Result']"


def calls(when: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"when": when, "calls": [{"name": name, "arguments": arguments}]}


def edits(when: str, **arguments: Any) -> dict[str, Any]:
    return calls(when, "notebook_edit", **arguments)


STEPS = [
    calls("look", "notebook_read", cells="2"),
    says("look", "Looked."),
    edits("add", action="insert", source="x = 1\n"),
    edits("add", action="insert", source="y = 2", after="c0"),
    edits("add", action="replace", cell="c1", source="z = 3"),
    says("add", "Added."),
    calls("run", "notebook_run", cells="2"),
    says("run", "Ran."),
    edits("closed", action="insert", source="w = 4", path="closed.ipynb"),
    says("closed", "Done."),
]


@pytest.fixture(params=interpreters())
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kernel]:
    """Of a notebook that was saved in 2023."""
    for name in ("own", "closed"):
        cells = [nbformat.v4.new_code_cell(f"{name} = {at}", id=f"c{at}") for at in range(2)]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
        os.utime(tmp_path / f"{name}.ipynb", (1_700_000_000, 1_700_000_000))
    settings = {"SHIRO_LIVE": "1", "SHIRO_VIEW": "text", "SHIRO_MODE": "yolo"}
    settings["JPY_SESSION_NAME"] = str(tmp_path / "own.ipynb")
    settings["SHIRO_HOME"] = str(tmp_path / "home")
    model = script(tmp_path, *STEPS)
    with running_kernel(request.param, folder=tmp_path, SHIRO_MODEL=model, **settings) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def ask(kernel: Kernel, line: str) -> Outputs:
    return kernel.run(line, stdin=lambda prompt: "y")


def next_cell(outputs: Outputs) -> list[str]:
    return [each["text"] for each in outputs.reply["payload"] if each["source"] == "set_next_input"]


def test_it_is_read_as_last_saved_and_code_is_offered_as_one_next_cell(
    kernel: Kernel, tmp_path: Path
) -> None:
    before = (tmp_path / "own.ipynb").read_bytes()
    ask(kernel, "%shiro look")
    read = str(kernel.value(RESULTS))
    assert "own.ipynb: 2 cells, as last saved (2023-11-1" in read and "own = 1" in read
    assert next_cell(ask(kernel, "%shiro add")) == ["x = 1\n\ny = 2"]
    told = str(kernel.value(RESULTS))
    assert "Offered as the next cell" in told
    assert "own.ipynb cannot be changed now: no page of JupyterLab" in told
    assert next_cell(ask(kernel, "%shiro add")) == ["x = 1\n\ny = 2"]  # of this turn alone
    assert (tmp_path / "own.ipynb").read_bytes() == before


def test_where_nobody_is_there_nothing_is_offered_or_written(
    kernel: Kernel, tmp_path: Path
) -> None:
    before = (tmp_path / "own.ipynb").read_bytes()
    outputs = kernel.run("%shiro add")
    assert outputs.status == "ok" and next_cell(outputs) == []
    assert "Offered" not in str(kernel.value(RESULTS))
    kernel.run("%shiro run")
    assert "Cells can only be run in the open notebook, and no page" in str(kernel.value(RESULTS))
    assert (tmp_path / "own.ipynb").read_bytes() == before


def test_a_turn_in_the_background_has_no_next_cell(kernel: Kernel) -> None:
    assert next_cell(ask(kernel, "r = %shiro add &")) == []
    assert next_cell(ask(kernel, "r.wait()")) == []
    assert "Offered" not in str(kernel.value(RESULTS))


def test_a_closed_notebook_is_changed_and_put_back(kernel: Kernel, tmp_path: Path) -> None:
    before = (tmp_path / "closed.ipynb").read_bytes()
    ask(kernel, "%shiro closed")
    cells = nbformat.read(tmp_path / "closed.ipynb", as_version=4).cells
    assert [cell.source for cell in cells] == ["closed = 0", "closed = 1", "w = 4"]
    assert cells[2].metadata.shiro.turn == 1
    assert "closed.ipynb: restored" in ask(kernel, "%shiro /undo").stdout
    assert (tmp_path / "closed.ipynb").read_bytes() == before
