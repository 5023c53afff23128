"""The column guard in a turn of a real kernel."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kernel.test_services import RESULTS
from tests.support.kernels import Kernel, interpreters, running_kernel
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("guard")
    model = script(
        folder,
        runs("made up", "print('it ran')\nsales['revnue'].sum()"),
        says("made up", "I see."),
        runs("later", "print('it ran'); sales['revenue'].sum()"),
        says("later", "I see."),
        runs("right", "sales['tax'] = sales['revenue'] * 0.2\nprint(sales['tax'].sum())"),
        says("right", "Done."),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    with running_kernel(request.param, folder=folder, SHIRO_VIEW="text", **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        kernel.run("import pandas as pd; sales = pd.DataFrame({'revenue': [1.0], 'day': [2]})")
        yield kernel


def nobody(prompt: str) -> str:
    raise AssertionError(f"asked: {prompt}")


def test_a_made_up_column_costs_no_question_and_nothing_runs(kernel: Kernel) -> None:
    outputs = kernel.run("%shiro made up", stdin=nobody)
    assert "I see." in outputs.stdout and "it ran" not in outputs.stdout.replace("'it ran'", "")
    told = "line 2: sales has no column 'revnue'; nearest: 'revenue'"
    assert told in kernel.value(RESULTS)


def test_right_code_runs(kernel: Kernel) -> None:
    assert "0.2" in kernel.run("%shiro --yolo right", stdin=nobody).stdout
    assert "tax" in kernel.value("list(sales.columns)")


def test_a_cell_that_was_queued_before_the_code_counts(kernel: Kernel) -> None:
    kernel.run("sales = pd.DataFrame({'revenue': [1.0], 'day': [2]})")
    turn = kernel.send("r = %shiro --yolo later &")
    changing = kernel.send("import time; time.sleep(1); _ = sales.pop('revenue')")
    kernel.finish(turn)
    kernel.finish(changing)
    assert kernel.run("print(r.wait(60).outcome)").stdout == "answered\n"
    assert "sales has no column 'revenue'" in kernel.value(RESULTS)
