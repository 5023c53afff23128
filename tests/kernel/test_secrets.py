"""Neither our own key nor the shape of any other one is in what a turn leaves on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kernels import Kernel, running_kernel
from tests.support.scripts import runs, says, script, shells

pytestmark = pytest.mark.kernel

OWN = "plain-old-word-of-ours"  # of no shape
SHAPE = "sk-" + "proj-abcDEF123456ghiJKL789012"
LINES = "".join(f"line {number}: {OWN} and {SHAPE}\n" for number in range(2_000))


def calls(when: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"when": when, "calls": [{"name": name, "arguments": arguments}]}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("secrets")
    for name in ("project", "temporary"):
        (folder / name).mkdir()
    (folder / "project/leak.txt").write_text(LINES)
    (folder / "project/long.txt").write_text("x," * 50_000 + f" {OWN} {SHAPE} " + "y," * 50_000)
    model = script(
        folder,
        shells("leak", "cat leak.txt"),
        shells("leak", "cat long.txt"),
        shells("leak", f"echo {SHAPE} {OWN}; cat leak.txt", background=True),
        calls("leak", "job_status", id=1, wait=5),
        runs("leak", "print(open('leak.txt').read() * 2)"),
        runs("leak", "import sys; print(open('long.txt').read(), file=sys.stderr)"),
        calls("leak", "read_file", path="leak.txt", limit=5),
        calls("leak", "remember", text=f"the key is {SHAPE}"),
        calls("leak", "session_notes", action="append", section="Decisions", text=SHAPE),
        calls("leak", "todo_write", tasks=[{"text": f"use {SHAPE}", "status": "pending"}]),
        says("leak", f"It says {SHAPE}."),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    home |= {"SHIRO_VIEW": "text", "SHIRO_MODE": "yolo", "SHIRO_API_KEY": OWN}
    temporary = str(folder / "temporary")
    with running_kernel(folder=folder / "project", TMPDIR=temporary, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        kernel.run(f"%shiro leak {OWN} {SHAPE}")
        yield kernel


def left(kernel: Kernel) -> dict[Path, bytes]:
    """All files but those of the project that held it before, and the model's script."""
    root = kernel.folder.parent
    before = {kernel.folder / "leak.txt", kernel.folder / "long.txt", root / "script.json"}
    found = {each for each in root.rglob("*") if each.is_file()} - before
    return {each: each.read_bytes() for each in found}


def test_no_file_holds_a_secret(kernel: Kernel) -> None:
    kernel.run("get_ipython()._shiro_extension.host.services.conversation.opened.log.flush()")
    files = left(kernel)
    assert {".jsonl", ".json", ".txt", ".log"} <= {path.suffix for path in files}
    assert not [path for path, data in files.items() if OWN.encode() in data]
    assert not [path for path, data in files.items() if SHAPE.encode() in data]


def test_all_that_is_stored_is_there_with_its_secrets_taken_out(kernel: Kernel) -> None:
    kernel.run("get_ipython()._shiro_extension.host.services.conversation.opened.log.flush()")
    files = left(kernel)
    line = b"line 1999: [redacted: key] and [redacted: API key]\n"
    log = next(data for path, data in files.items() if path.suffix == ".jsonl")
    assert b"leak [redacted: key] [redacted: API key]" in log
    assert b"It says [redacted: API key]." in log and SHAPE[:12].encode() not in log
    outputs = [data for path, data in files.items() if "outputs" in path.parts]
    assert sum(data.count(line) for data in outputs) == 2  # of the command and of the job
    assert any(b"x, [redacted: key] [redacted: API key] y," in data for data in outputs)
    printed = [data for path, data in files.items() if path.name.startswith("shiro-output-")]
    assert sum(data.count(line) for data in printed) == 2 and len(printed) == 2


def test_no_child_has_our_key_in_its_environment(kernel: Kernel) -> None:
    for processes in ("processes", "models.local.processes"):
        services = "get_ipython()._shiro_extension.host.services"
        told = kernel.value(f"{services}.{processes}.child_environment()")
        assert OWN not in told and "SHIRO_HOME" in told
