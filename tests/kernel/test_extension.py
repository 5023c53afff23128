"""What loading does, and does not do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from shiro_jupyter.kernel import extension
from tests.support.kernels import ROOT

LOAD = """
import json, sys, threading
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
sockets = []
sys.addaudithook(lambda name, args: sockets.append(name) if name.startswith("socket.") else None)
shell.run_line_magic("load_ext", "shiro_jupyter")
print("<<", json.dumps({
    "modules": sorted(set(sys.modules) - before),
    "threads": [thread.name for thread in threading.enumerate()],
    "sockets": sockets,
}))
"""
HEAVY = ("openai", "pydantic", "ipywidgets", "anywidget", "nbformat", "httpx2", "jupyter_client")


def test_loading_is_instant_and_silent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD], capture_output=True, text=True, check=True, cwd=ROOT
    )
    printed, _, told = done.stdout.partition("<< ")
    assert (printed, done.stderr) == ("", "")
    found = json.loads(told)
    assert not [name for name in found["modules"] if name.partition(".")[0] in HEAVY]
    # What is left is ours and small; a new import of others shows up here.
    known = ("shiro_jupyter", "IPython", "difflib", "locale", "_locale")
    assert not [name for name in found["modules"] if name.partition(".")[0] not in known]
    assert "MainThread" in found["threads"]
    assert not [name for name in found["threads"] if "shiro" in name]
    assert found["sockets"] == []


UNLOAD = """
from IPython.core.interactiveshell import InteractiveShell
import threading
shell = InteractiveShell.instance()
getattr(shell.magics_manager, "load_all_lazy_magics", lambda: None)()
manager = shell.input_transformer_manager
def state():
    return (
        {kind: dict(table) for kind, table in shell.magics_manager.magics.items()},
        list(manager.cleanup_transforms), list(manager.line_transforms),
        list(manager.token_transformers), list(shell.input_transformers_post),
        {name: list(found) for name, found in shell.events.callbacks.items()},
    )
before = state()
for _ in range(2):
    shell.run_line_magic("load_ext", "shiro_jupyter")
    assert state() != before
    %s
    shell.run_line_magic("unload_ext", "shiro_jupyter")
    assert state() == before, "not all was put back"
    left = [thread.name for thread in threading.enumerate() if "shiro" in thread.name]
    assert not left, left
"""


@pytest.mark.parametrize(
    "used",
    [
        "pass",
        "shell.run_line_magic('todos', '')",
        "shell.run_line_magic('recall', 'nothing yet')",
        "shell.run_cell('r = %shiro --live hello there')",
    ],
)
def test_unloading_puts_everything_back(used: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNLOAD % used],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=_environment(tmp_path),
    )
    assert done.returncode == 0, done.stderr


def _environment(folder: Path) -> dict[str, str]:
    script = folder / "script.json"
    script.write_text('[{"text": "Hello."}]')
    return {**os.environ, "PYTHONPATH": str(ROOT), "SHIRO_MODEL": f"scripted:{script}"}


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


@pytest.mark.parametrize("magic", ["%shiro hello", "%todos", "%remember a fact"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, FileNotFoundError])
def test_what_stops_the_first_prompt_is_said_in_a_sentence(
    shell: InteractiveShell,
    magic: str,
    error: type[BaseException],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shell.run_line_magic("load_ext", "shiro_jupyter")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    try:
        if error is KeyboardInterrupt:
            monkeypatch.setattr(extension, "make_host", lambda *args: signal.raise_signal(2))
        else:
            gone.rmdir()
        result = shell.run_cell(magic)
        assert isinstance(result.error_in_exec, error)
        shown = capsys.readouterr()
        assert len((shown.out + shown.err).strip().splitlines()) == 1
    finally:
        monkeypatch.chdir(tmp_path)
        shell.run_line_magic("unload_ext", "shiro_jupyter")
