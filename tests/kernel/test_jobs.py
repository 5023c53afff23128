"""Jobs in a real kernel: they outlive turn and session, the person sees and ends them, none is
left behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.kernel.test_panel import said
from tests.support.kernels import Kernel, running_kernel
from tests.support.pages import page_of
from tests.support.scripts import says, script, shells

pytestmark = pytest.mark.kernel

SERVICES = "get_ipython()._shiro_extension.host.services"
ITEMS = f"{SERVICES}.conversation.opened.session.items"
RESULT = f"[i.text for i in {ITEMS} if type(i).__name__ == 'Result'][-1]"


KEY = "sk-" + "1234567890abcdef" * 2  # a cell's output is stored with the notebook


def starts(when: str, command: str) -> list[dict[str, Any]]:
    return [shells(when, command, background=True), says(when, "Up.")]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    model = script(
        tmp_path,
        *starts("serve", "echo $$ > pid; echo ready; sleep 300"),
        *starts("fail", f"exit 3 # {KEY}"),
        *starts("environment", "env"),
        {"when": "look", "calls": [{"name": "job_status", "arguments": {"id": 1}}]},
        says("look", "It runs."),
        shells("names", "env"),
        says("names", "Named."),
        shells("count", "seq 20000"),
        says("count", "Counted."),
    )
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    (home / "config/config.toml").write_text('hide = ["PROD_*"]\n')
    ours = {"SHIRO_HOME": str(home), "SHIRO_LIVE": "1", "SHIRO_MODEL": model, "SHIRO_VIEW": "text"}
    secrets = {"SHIRO_API_KEY": "plain-old-key", "A_COPY": "plain-old-key", "PROD_URL": "listed"}
    (tmp_path / "project").mkdir()
    with running_kernel(folder=tmp_path / "project", AWS_X="kept", **ours, **secrets) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def typed(kernel: Kernel, line: str) -> str:
    outputs = kernel.run(line, stdin=lambda prompt: "")
    return outputs.stdout or outputs.stream("stderr")


def of(kernel: Kernel) -> psutil.Process:
    return psutil.Process(int((kernel.folder / "pid").read_text()))


def test_a_job_outlives_turn_and_session_and_the_person_ends_it(kernel: Kernel) -> None:
    assert typed(kernel, "%shiro /jobs") == "No job was started in this kernel.\n"
    typed(kernel, "%shiro --yolo serve")
    typed(kernel, "%shiro --yolo fail")
    server = of(kernel)
    typed(kernel, "%shiro /clear")
    typed(kernel, "%shiro look")
    assert re.match(r"'job 1, running for [0-9]+ s: echo ", kernel.value(RESULT))
    first, file, second, _ = typed(kernel, "%shiro /jobs").splitlines()
    assert re.fullmatch(r"job 1, running for \d+ s: echo \$\$ > pid; echo ready; sleep 300", first)
    assert Path(file.removeprefix("  all of it is in ")).read_text() == "ready\n"
    assert second == "job 2, exit code 3 after 0 s: exit 3 # [redacted: API key]"
    assert server.is_running()
    assert re.match("job 1, stopped after ", typed(kernel, "%shiro /jobs stop 1"))
    assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    assert typed(kernel, "%shiro /jobs stop 7") == "There is no job 7; there are 1, 2.\n"
    for odd in ("", " x", f" {'9' * 5_000}"):
        assert typed(kernel, f"%shiro /jobs stop{odd}").startswith("Say %shiro /jobs, or ")


def test_a_page_lists_and_ends_them_too(kernel: Kernel) -> None:
    typed(kernel, "%shiro --yolo serve")
    with page_of(kernel) as page:
        answers: list[str] = []
        for line in ("/jobs", "/jobs stop 1"):
            page.prompt(line)
            answers.append(said(page))
    assert answers[0].startswith("job 1, running for ")
    assert answers[1].startswith("job 1, stopped after ")


def test_the_kernels_end_is_theirs(kernel: Kernel) -> None:
    typed(kernel, "%shiro --yolo serve")
    server = of(kernel)
    kernel.manager.shutdown_kernel()
    server.wait(10)


@pytest.mark.parametrize("prompt", ["names", "environment"])
def test_no_command_sees_our_key_or_what_the_person_listed(kernel: Kernel, prompt: str) -> None:
    typed(kernel, f"%shiro --yolo {prompt}")
    printed = kernel.value(RESULT)
    assert "AWS_X=kept" in printed
    for name in ("SHIRO_API_KEY", "A_COPY", "PROD_URL", "plain-old-key"):
        assert name not in printed


def test_where_long_output_is_may_be_read(kernel: Kernel) -> None:
    typed(kernel, "%shiro --yolo count")
    kernel.run(f"path = {RESULT}.partition('all of it is in ')[2].partition(' …]')[0]")
    kernel.run("from shiro_jupyter.core.workspace.paths import open_regular, resolve")
    kernel.run(f"project = {SERVICES}.conversation.agent.project")
    assert (
        kernel.value("open_regular(project, resolve(project, path)).read()[-6:]") == r"b'20000\n'"
    )
    refused = kernel.run(f"resolve(project, str({SERVICES}.folders.data / 'outputs' / 'x'))")
    assert "PathRefused" in str(refused.of("error"))
