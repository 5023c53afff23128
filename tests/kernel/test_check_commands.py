"""`/check` in a real kernel, whose notebook it runs in a fresh one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.kernel.check.files import cell, printed, write
from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

STEPS = [runs("make", "agent_made = 1"), says("make", "Made.")]


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    """The kernel of a.ipynb, in which more was run than stands in it."""
    folder = tmp_path_factory.mktemp("project")
    notebook = write(
        folder / "a.ipynb",
        cell("%load_ext shiro_jupyter", count=1),
        cell("x = 1", count=4),
        cell("print(x)", printed("1\n"), count=3),
        cell("%shiro --yolo make a name", printed("another answer\n"), count=5),
        cell("%shiro /check", printed("anything\n"), count=6),
        cell("open('made.txt', 'w').write('m') and None", count=7),
    )
    model = script(folder, *STEPS)
    settings = {"JPY_SESSION_NAME": str(notebook), "SHIRO_MODEL": model}
    with running_kernel(request.param, folder=folder, **settings) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        kernel.run("gone = 2")
        kernel.run("x = 1")
        made = kernel.run("%shiro --yolo make a name", stdin=lambda prompt: "")
        assert made.status == "ok"
        assert kernel.value("agent_made") == "1"
        yield kernel


def shown(outputs: Outputs) -> list[str]:
    kinds = ("display_data", "update_display_data")
    found = [each["content"] for each in outputs.messages if each["msg_type"] in kinds]
    return [each["data"]["text/plain"] for each in found]


def answers(*said: str) -> tuple[list[str], Any]:
    prompts, left = list[str](), list(said)

    def stdin(prompt: str) -> str:
        prompts.append(prompt)
        return left.pop(0)

    return prompts, stdin


def test_the_notebook_is_run_once_that_is_agreed_to_and_the_result_is_a_table(
    kernel: Kernel,
) -> None:
    prompts, stdin = answers("y")
    outputs = kernel.run("%shiro /check", stdin=stdin)
    assert (outputs.status, outputs.stream("stderr")) == ("ok", "")
    assert prompts == ["Run it? [y]es / [n]o: "]
    assert "cell 6 writes or removes: open('made.txt', 'w')" in outputs.stdout
    updates = [each for each in outputs.messages if each["msg_type"] == "update_display_data"]
    progress = [each["content"]["data"]["text/plain"] for each in updates]
    assert any(each.startswith("[3/6] cell 3: print(x)") for each in progress)
    assert progress[-1] == "Ran a.ipynb in a fresh kernel."
    table = outputs.of("display_data")[-1]["data"]
    assert "<table>" in table["text/html"]
    text = table["text/plain"]
    assert text.startswith("a.ipynb re-runs: 6 cells in ")
    assert "but only the live kernel has 2 names, 1 cell ran out of order." in text
    assert "agent_made  code that the agent ran and that is in no cell" in text
    assert "gone" in text
    assert "from the file as last saved: no page of JupyterLab" in " ".join(text.split())
    assert "a cell that is gone or was changed" in text
    assert "an answer, not compared" in text
    assert "made.txt" in text
    assert not (kernel.folder / "made.txt").exists()


def test_whoever_does_not_agree_has_the_forecast_alone(kernel: Kernel) -> None:
    path = write(kernel.folder / "b.ipynb", "print(y)", "open('z', 'w')")
    _, stdin = answers("n")
    outputs = kernel.run(f"%shiro /check {path.name}", stdin=stdin)
    assert shown(outputs) == [
        "Forecast: cell 1 fails: name 'y' is not defined, which no cell defines."
    ]
    assert "Not run; the forecast above is all there is." in outputs.stdout


def test_where_nobody_can_agree_it_is_not_run(kernel: Kernel) -> None:
    outputs = kernel.run("%shiro /check")
    assert outputs.status == "error"
    assert "Nobody is here to allow it" in outputs.reply["evalue"]


def test_a_flag_that_there_is_not_is_told(kernel: Kernel) -> None:
    outputs = kernel.run("%shiro /check --fast", stdin=lambda prompt: "")
    assert "--in-place and --live go before the path" in outputs.stream("stderr")


def test_an_interrupt_ends_the_fresh_kernel_and_shows_what_had_come(kernel: Kernel) -> None:
    write(kernel.folder / "c.ipynb", "x = 1", "import time\nwhile True: time.sleep(0.1)")
    interrupted = list[bool]()

    def meanwhile(message: dict[str, Any]) -> None:
        data = message["content"].get("data", {})
        if "[2/2]" in data.get("text/plain", "") and not interrupted:
            interrupted.append(True)
            kernel.interrupt()

    outputs = kernel.run("%shiro /check c.ipynb", stdin=lambda prompt: "", meanwhile=meanwhile)
    assert outputs.status == "error"
    assert shown(outputs)[-1].startswith("c.ipynb was not run to its end: interrupted after 1 of 2")
    ours = psutil.Process(int(kernel.value("__import__('os').getpid()")))
    assert [each for each in ours.children() if "ipykernel" in " ".join(each.cmdline())] == []


def test_a_file_alone_is_checked_in_its_own_folder_where_that_is_asked(kernel: Kernel) -> None:
    here: Path = kernel.folder / "deep" / "d.ipynb"
    write(here, cell("import os\nprint(os.getcwd())", printed("elsewhere\n"), count=1))
    outputs = kernel.run("%shiro /check --in-place deep/d.ipynb", stdin=lambda prompt: "")
    assert f"now “{here.parent}”" in shown(outputs)[-1]
