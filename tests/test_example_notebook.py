"""The example notebook as a person follows it: top to bottom, and with the kernel restarted."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.kernels import ROOT
from tests.support.model_files import MODEL, SERVER, needs_model
from tests.support.strict_endpoint import Reply, ScriptedCall, StrictEndpoint

pytestmark = pytest.mark.kernel

SOURCE = ROOT / "notebooks" / "orders"
SCRIPT: list[dict[str, Any]] = json.loads((SOURCE / "script.json").read_text("utf-8"))
GOTCHA = "dates in orders.csv are day-first: 03/01/2024 is 3 January"

# What the cells say, by their ids: the answers, and what the tools showed.
SAID = {
    "ask-missing": ["list_variables", "8 of its 318 values are missing"],
    "ask-2023": ["the old shop exported net prices without a currency", "2025-09-08"],
    "plot-first": ["run_python", "2024-01 to 2025-12", "only a handful in each month after June"],
    "plot-again": ["run_python", "2024-01 to 2025-06\n16 to 19 orders a month", "evenly: 16 to 19"],
    "remember-dates": [
        f"Remembered as gotcha: {GOTCHA} #orders #dates\n"
        "  tags: orders, dates\n  in .shiro/memory/MEMORY.md"
    ],
    "recall-dates": [f"| gotcha | now | 1 | {GOTCHA} #orders #dates |"],
    "ask-dates": ["Day-first, as the project's memory says"],
}
FIGURES = ["plot-first", "plot-again"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the example project, outside of this repository."""
    return Path(shutil.copytree(SOURCE, tmp_path / "orders"))


def run(project: Path, cells: Sequence[Any], **environment: str) -> dict[str, Any]:
    """The cells run in a fresh kernel, by id; the first error of a cell is raised."""
    notebook = nbformat.v4.new_notebook(cells=list(cells))
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(project)}})
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT), "SHIRO_LIVE": "1", **environment})
    return {cell.id: cell for cell in notebook.cells if cell.cell_type == "code"}


def cells_of(project: Path) -> list[Any]:
    return list(nbformat.read(project / "orders.ipynb", as_version=4).cells)


def said(cell: Any) -> str:
    """All that a cell shows as text; what it wrote on stderr is a failure."""
    parts = []
    for output in cell.outputs:
        assert output.get("name") != "stderr", output
        data = output.get("data", {})
        parts.append(output.get("text") or data.get("text/markdown") or data.get("text/plain", ""))
    return "".join(parts)


def figures(cell: Any) -> list[bytes]:
    pictures = [output.data.get("image/png") for output in cell.outputs if "data" in output]
    return [base64.b64decode(picture) for picture in pictures if picture]


def assert_as_told(cells: dict[str, Any]) -> None:
    for name, cell in cells.items():
        for text in SAID.get(name, []):
            assert text in said(cell), name
    made = {name: figures(cell) for name, cell in cells.items() if figures(cell)}
    assert all(len(pictures) == 1 for pictures in made.values())
    assert [name for name in cells if name in FIGURES] == list(made)
    assert len({pictures[0] for pictures in made.values()}) == len(made)


def remembered(project: Path) -> list[str]:
    lines = (project / ".shiro" / "memory" / "MEMORY.md").read_text("utf-8").splitlines()
    before = (SOURCE / ".shiro" / "memory" / "MEMORY.md").read_text("utf-8").splitlines()
    assert lines[: len(before)] == before
    return lines[len(before) :]


def assert_gotcha_is_recorded(project: Path) -> None:
    (line,) = remembered(project)
    stamp, rest = line.split("] ", 1)
    assert re.fullmatch(r"- \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", stamp)
    assert rest == (
        f"(gotcha) {GOTCHA} #orders #dates <!-- files: orders.csv; modules: matplotlib, pandas; "
        "frames: orders, per_month, days, quantity_by_channel, prices; "
        "columns: order_id, order_date, customer_id, product, quantity; source: user -->"
    )


def test_it_is_kept_without_outputs_and_every_prompt_has_its_steps() -> None:
    notebook = nbformat.read(SOURCE / "orders.ipynb", as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    prompts = [cell.source for cell in code if cell.source.startswith("%shiro")]
    keys = {step["when"] for step in SCRIPT}
    assert all(sum(key in prompt for key in keys) == 1 for prompt in prompts)
    assert len(keys) == len(prompts)


def test_top_to_bottom_on_the_scripted_model(project: Path) -> None:
    cells = run(project, cells_of(project), SHIRO_MODEL=f"scripted:{project / 'script.json'}")
    assert set(SAID) < set(cells)
    assert_as_told(cells)
    assert_gotcha_is_recorded(project)
    assert said(cells["load-extension"]) == said(cells["load-again"]) == ""


SMALL_MODEL = {"SHIRO_LLAMA_SERVER": str(SERVER), "SHIRO_MODEL_FILE": str(MODEL)}
# Of the answers of a very small model, what it can know: it may fail at the plots.
SMALL_SAYS = {
    "ask-missing": r"\b8\b",
    "ask-2023": r"net prices|currency",
    "ask-dates": r"day-first",
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("files", [pytest.param(SMALL_MODEL, marks=needs_model, id="0.5b")])
def test_top_to_bottom_on_the_small_model(project: Path, files: dict[str, str]) -> None:
    cells = run(project, cells_of(project), **files)
    for name, pattern in SMALL_SAYS.items():
        assert re.search(pattern, said(cells[name])), said(cells[name])
    for name in FIGURES:
        assert "answered" in said(cells[name])
    assert [GOTCHA in line for line in remembered(project)] == [True]


def test_after_a_restart_the_model_is_told_what_was_remembered(project: Path) -> None:
    cells = cells_of(project)
    (restart,) = [
        at for at, cell in enumerate(cells) if "after-restart" in cell.metadata.get("tags", [])
    ]
    with StrictEndpoint(_reply) as server:
        environment = {"SHIRO_MODEL": "tiny", "SHIRO_BASE_URL": server.base_url}
        assert_as_told(run(project, cells[:restart], **environment))
        before = len(server.bodies)
        assert_as_told(run(project, cells[restart:], **environment))
        server.check()
        bodies = server.bodies
    assert (before, len(bodies)) == (7, 8)
    first, last = json.dumps(bodies[0]), json.dumps(bodies[-1])
    for decision in ("we dropped the 2023 rows of orders.csv", "revenue is reported in EUR"):
        assert decision in first and decision in last
    assert GOTCHA not in first and f"(gotcha) {GOTCHA}" in last
    assert "source: user" not in first + last
    # Of the conversation before the restart nothing is left.
    assert "plot the number of orders" in json.dumps(bodies[before - 1])
    assert "plot the number of orders" not in last


def _reply(body: dict[str, Any]) -> Reply:
    """The script of the example, played by a server: the step after those of this turn."""
    asked, steps = "", 0
    for message in body["messages"]:
        if any(step["when"] in str(message["content"]) for step in SCRIPT) and (
            message["role"] == "user"
        ):
            asked, steps = str(message["content"]), 0
        steps += message["role"] == "assistant"
    step = [step for step in SCRIPT if step["when"] in asked][steps]
    calls = [ScriptedCall(**call) for call in step.get("calls", [])]
    return Reply(step.get("text", ""), calls=calls)
