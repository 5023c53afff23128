from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT
from shiro_jupyter.kernel.check.hidden import Live
from shiro_jupyter.kernel.notebook import Notebooks
from shiro_jupyter.kernel.tools.notebook_check import NotebookCheck
from tests.kernel.check.files import cell, printed, write
from tests.support.live_pages import LivePage, code, markdown
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "work"
    write(root / "own.ipynb", "x = 1", cell("print(x)", printed("1\n"), count=2))
    write(root / "other.ipynb", "print(nothing)", "open('a', 'w')", "import requests")
    return Bench(root)


def tool(bench: Bench, page: LivePage | None = None, *live: str) -> NotebookCheck:
    async def kernel() -> Live:
        return Live(live)

    document = (page or LivePage([], there=False)).document
    return NotebookCheck(Notebooks(document, bench.root / "own.ipynb"), kernel)


@pytest.mark.kernel
def test_the_own_notebook_is_checked_as_it_is_in_the_page(bench: Bench) -> None:
    printed_1 = {"output_type": "stream", "name": "stdout", "text": "1\n"}
    page = LivePage(
        [
            markdown("m", "# Title"),
            code("a", "x = 2", execution_count=1),
            code("b", "print(x)", outputs=[printed_1], execution_count=2),
        ]
    )
    result = bench.run(tool(bench, page, "x", "hidden_one"))
    assert result.outcome == "ok"
    assert result.text.startswith("own.ipynb re-runs: 2 cells in ")
    assert "The cells were taken from the open notebook, saved or not." in result.text
    assert "The output of cell 3 differs: saved “1”, now “2”." in result.text
    assert "hidden_one  nothing that is in the notebook" in result.text
    assert any("[2/2] cell 3: print(x)" in each for each in bench.printed)


@pytest.mark.kernel
def test_a_failure_comes_with_its_cell_and_the_forecast_before_it(bench: Bench) -> None:
    result = bench.run(tool(bench), path="other.ipynb", timeout=60)
    assert result.outcome == "failed"
    assert "cell 1 fails: NameError: name 'nothing' is not defined" in result.text
    assert bench.printed[0].startswith("Forecast: cell 1 fails: name 'nothing' is not defined")
    assert len(result.text) < OUTPUT_LIMIT


def test_the_question_names_what_cells_do_and_a_yes_holds_for_that_alone(bench: Bench) -> None:
    plain, busy = bench.judged(tool(bench)), bench.judged(tool(bench), path="other.ipynb")
    assert plain.texts == ("own.ipynb",)
    assert "No cell is seen to write, send, install or run commands." in plain.shown
    assert "in a copy of the project" in plain.shown
    assert busy.title.endswith("Its cells do more than compute:")
    assert "cell 2 writes or removes: open('a', 'w')" in busy.shown
    in_place = bench.judged(tool(bench), path="other.ipynb", in_place=True)
    write(bench.root / "other.ipynb", "print(nothing)", "open('a', 'w')", "!ls")
    more = bench.judged(tool(bench), path="other.ipynb")
    write(bench.root / "other.ipynb", "print(1)", "open('a', 'w')", "2")
    same = bench.judged(tool(bench), path="other.ipynb")
    assert len({each.grant_key for each in (plain, busy, in_place, more)}) == 4
    assert same.grant_key == busy.grant_key
    assert len({each.digest for each in (busy, in_place, more, same)}) == 4


def test_it_asks_and_is_refused_in_plan_mode(bench: Bench) -> None:
    subject = bench.judged(tool(bench))
    verdicts = {mode: Gate(mode).decide(subject, set()).verdict for mode in ("ask", "plan", "yolo")}
    assert verdicts == {"ask": "ask", "plan": "deny", "yolo": "allow"}


@pytest.mark.parametrize(
    ("text", "why"),
    [("nonsense", "does not hold JSON"), ('{"nbformat": 3}', "no notebook of format 4")],
)
def test_what_is_no_notebook_is_told_instead_of_asked(bench: Bench, text: str, why: str) -> None:
    (bench.root / "bad.ipynb").write_text(text)
    assert why in bench.judged(tool(bench), path="bad.ipynb").fault


@pytest.mark.kernel
def test_an_interrupt_leaves_what_had_come(bench: Bench) -> None:
    write(bench.root / "own.ipynb", "x = 1", "import time\nwhile True: time.sleep(0.1)")
    check, context = tool(bench), bench.context

    async def run() -> str:
        parameters = check.parse(json.dumps({}))
        await check.prepare(parameters, context)
        task = asyncio.create_task(check.run(parameters, context))
        while not bench.printed:
            await asyncio.sleep(0.02)
        task.cancel()
        result = await task
        assert result.outcome == "interrupted"
        return result.text

    assert asyncio.run(run()).startswith("own.ipynb was not run to its end: interrupted after 1 of")


def test_too_little_memory_is_a_failure_that_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("M", (), {"available": 10})())
    with pytest.raises(ToolFailed, match="Free some"):
        bench.run(tool(bench))
