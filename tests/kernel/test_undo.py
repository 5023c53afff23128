"""/undo in real kernels: files and names are put back, and what stays is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.scripts import runs, says, script, shells

pytestmark = pytest.mark.kernel

SESSION = "get_ipython()._shiro_extension.host.services.conversation.opened.session"


def calls(when: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"when": when, "calls": [{"name": name, "arguments": arguments}]}


STEPS = [
    calls("clean", "edit_file", path="clean.py", old_text="rows = 1", new_text="rows = 2"),
    calls("clean", "write_file", path="new/report.md", content="# Report\n"),
    runs("clean", "rate = 2; prices['eur'] = 1.0; extra = [1]; del gone"),
    runs("clean", "import asyncio; await asyncio.sleep(0); rate = rate + 1"),
    says("clean", "Cleaned."),
    shells("build", "echo built > built.txt"),
    calls("build", "remember", text="the build needs make", kind="fact"),
    says("build", "Built."),
    says("hi", "Hello."),
    runs("mutate", "nested['a'].append(2); model.fitted = True"),
    says("mutate", "Mutated."),
]


@pytest.fixture(params=interpreters())
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kernel]:
    with started(tmp_path, request.param) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def started(tmp_path: Path, *interpreter: str) -> Any:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    home = {"SHIRO_HOME": str(tmp_path / "home"), "SHIRO_LIVE": "1", "SHIRO_VIEW": "text"}
    model = script(tmp_path, *STEPS)
    return running_kernel(
        *interpreter, folder=project, SHIRO_MODEL=model, SHIRO_MODE="yolo", **home
    )


def ask(kernel: Kernel, line: str) -> Outputs:
    return kernel.run(line, stdin=lambda prompt: "y")


def test_a_turn_is_undone_in_files_and_names(kernel: Kernel) -> None:
    folder = kernel.folder
    (folder / "clean.py").write_bytes(b"rows = 1\r\n")
    (folder / "clean.py").chmod(0o755)
    kernel.run("import pandas as pd; rate = 1; gone = [1]; kept = gone")
    kernel.run("prices = alias = pd.DataFrame({'usd': [1.0, 2.0]})")
    assert "Nothing to undo" in ask(kernel, "%shiro /undo").stdout
    ask(kernel, "%shiro clean")
    assert (folder / "clean.py").read_bytes() == b"rows = 2\r\n"
    assert kernel.value("(rate, list(prices), 'extra' in globals(), 'gone' in globals())") == (
        "(3, ['usd', 'eur'], True, False)"
    )
    listed = ask(kernel, "%shiro /undo list").stdout
    assert "Turn 1 (“clean”):" in listed and "new/report.md: removed" in listed
    assert "in the kernel: asyncio, extra, gone, prices, rate" in listed
    assert (folder / "new/report.md").exists()
    told = ask(kernel, "%shiro /undo").stdout.splitlines()
    assert told == [
        "Turn 1 (“clean”) undone:",
        "  clean.py: restored",
        "  new/report.md: removed",
        "  restored in the kernel: gone, prices, rate",
        "  removed in the kernel: asyncio, extra",
        "Beyond undo, and done still:",
        "  the code that ran: what it wrote to files, sent, or changed inside other objects",
    ]
    assert (folder / "clean.py").read_bytes() == b"rows = 1\r\n"
    assert (folder / "clean.py").stat().st_mode & 0o777 == 0o755
    assert not (folder / "new").exists()
    assert kernel.value("(rate, list(prices), prices is alias, gone is kept)") == (
        "(1, ['usd'], True, True)"
    )
    assert kernel.value("'extra' in globals()") == "False"
    assert "Nothing to undo" in ask(kernel, "%shiro /undo").stdout
    note = kernel.value(f"{SESSION}.items[-1]")
    assert "The person has undone turn 1" in note and "clean.py: restored" in note
    assert "Hello." in ask(kernel, "%shiro hi").stdout  # and the conversation goes on


def test_what_stays_is_named_and_the_turn_before_is_undone_next(kernel: Kernel) -> None:
    folder = kernel.folder
    (folder / "clean.py").write_text("rows = 1\n")
    kernel.run("import pandas as pd; prices = pd.DataFrame({'usd': [1.0]}); gone = rate = 1")
    ask(kernel, "%shiro clean")
    ask(kernel, "%shiro build")
    told = ask(kernel, "%shiro /undo").stdout
    assert "Turn 2 (“build”): nothing was put back.\nBeyond undo, and done still:\n" in told
    assert "  bash: echo built > built.txt\n" in told
    assert "  remember: the build needs make (%forget takes it back" in told
    assert (folder / "built.txt").exists()
    kernel.run("rate = 'mine'")
    (folder / "clean.py").write_text("mine\n")
    told = ask(kernel, "%shiro /undo").stdout
    assert "  clean.py: left as it is; it was changed since\n    what it was before: /" in told
    (before,) = re.findall("what it was before: (.*)", told)
    assert Path(before).read_bytes() == b"rows = 1\n"
    assert "  rate in the kernel: left as it is; it was bound anew since\n" in told
    assert "  new/report.md: removed\n" in told
    assert kernel.value("rate") == "'mine'" and (folder / "clean.py").read_text() == "mine\n"


def test_a_session_that_another_kernel_took_has_its_own_undo(tmp_path: Path) -> None:
    """As after its machine slept: it goes on in a copy, from its first change on."""
    with started(tmp_path) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        (kernel.folder / "clean.py").write_text("rows = 1\n")
        kernel.run("rate = 1; prices = {}; gone = 1")
        ask(kernel, "%shiro hi")
        first = kernel.value(f"{SESSION}.id").strip("'")
        (lease,) = (tmp_path / "home").rglob(f"{first}.lease")
        lease.unlink()
        with started(tmp_path) as other:
            other.run("%load_ext shiro_jupyter")
            ask(other, "%shiro /resume")
            ask(other, "%shiro hi")
            assert other.value(f"{SESSION}.id").strip("'") == first
            assert "saved as a copy" in str(ask(kernel, "%shiro clean it").messages)
            assert kernel.value(f"{SESSION}.id").strip("'") != first
            assert ask(other, "%shiro /undo").stdout.startswith("Nothing to undo")
            assert (kernel.folder / "clean.py").read_text() == "rows = 2\n"
            said = ask(kernel, "%shiro /undo").stdout
            assert "clean.py: restored" in said and "restored in the kernel: gone, prices" in said
            assert (kernel.folder / "clean.py").read_text() == "rows = 1\n"


def test_files_are_undone_after_a_restart(tmp_path: Path) -> None:
    with started(tmp_path) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        (kernel.folder / "clean.py").write_text("rows = 1\n")
        kernel.run("import pandas as pd; prices = pd.DataFrame({'usd': [1.0]}); gone = 1")
        ask(kernel, "%shiro clean")
    with started(tmp_path) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        ask(kernel, "%shiro /resume")
        told = ask(kernel, "%shiro /undo").stdout
        assert "  clean.py: restored\n  new/report.md: removed\n" in told
        assert (kernel.folder / "clean.py").read_text() == "rows = 1\n"


def test_what_code_changed_in_place_comes_back_or_is_listed_as_beyond_undo(kernel: Kernel) -> None:
    kernel.run("class Model:\n    pass\nmodel = Model(); nested = {'a': [1]}; alias = nested['a']")
    told = ask(kernel, "%shiro mutate").stdout
    assert "· data: changed: model, nested\n" in told
    told = ask(kernel, "%shiro /undo").stdout
    assert "  restored in the kernel: nested\n" in told
    assert "  model in the kernel: left as it is; it was changed in place, which cannot" in told
    assert kernel.value("(alias, model.fitted, nested)") == "([1], True, {'a': [1]})"
