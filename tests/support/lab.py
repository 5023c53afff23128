"""A real JupyterLab on loopback, with the kernels that the tests run in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import psutil

from .kernels import OLDEST, ROOT, SIX
from .nudge import nudged

EXTENSION = ROOT / "shiro_jupyter" / "labextension" / "package.json"
START = 60.0  # seconds that the server may take to be up
SETTINGS: dict[str, dict[str, Any]] = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/extensionmanager-extension:plugin": {"enabled": False},
}
NO_SUBSHELLS = {
    "@jupyterlab/apputils-extension:kernels-settings": {"commsOverSubshells": "disabled"}
}
# The machine's own set-up, which must not leak into a test.
FOREIGN = ("SHIRO_", "OPENAI_", "JUPYTER", "JPY_", "IPYTHON", "PYTEST_", "PYTHONPATH")
# Kernels by the names of their specs: an interpreter, and what comes first on its path.
KERNELS = {
    "newest": (sys.executable, ()),
    "oldest": (OLDEST, ()),
    "six": (sys.executable, (SIX,)),
}


@dataclass
class Lab:
    """A running server; notebooks lie in `folder`, `script` is what the model plays."""

    url: str
    folder: Path
    script: Path
    server: psutil.Process

    def notebook(
        self, name: str, cells: Sequence[str | nbformat.NotebookNode], *, kernel: str = "newest"
    ) -> str:
        """Write a notebook; strings are code cells, with the ids `cell-0`, `cell-1`, …"""
        made = [
            nbformat.v4.new_code_cell(each, id=f"cell-{at}") if isinstance(each, str) else each
            for at, each in enumerate(cells)
        ]
        spec = {"name": kernel, "display_name": kernel, "language": "python"}
        notebook = nbformat.v4.new_notebook(cells=made, metadata={"kernelspec": spec})
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
        return name

    def play(self, *steps: dict[str, Any]) -> None:
        """What the scripted model plays in kernels whose first prompt comes from now on."""
        self.script.write_text(json.dumps(steps), encoding="utf-8")

    def kernel(self, kernel_id: str) -> psutil.Process:
        """The process of a kernel."""
        named = f"kernel-{kernel_id}.json"
        (found,) = [
            each for each in self.server.children() if any(named in word for word in each.cmdline())
        ]
        return found

    def state(self, kernel_id: str) -> str:
        """What the server takes a kernel for: idle, busy, …"""
        return str(self._asked("GET", f"api/kernels/{kernel_id}")["execution_state"])

    def end_kernels(self) -> None:
        """Shut every kernel down, with its session."""
        for session in self._asked("GET", "api/sessions"):
            self._asked("DELETE", f"api/sessions/{session['id']}")

    def _asked(self, method: str, path: str) -> Any:
        request = urllib.request.Request(f"{self.url}/{path}", method=method)
        with urllib.request.urlopen(request, timeout=START) as response:
            return json.loads(response.read() or b"null")


@contextmanager
def running_lab(
    *,
    labextension: bool = True,
    widgets: bool = True,
    subshells: bool = True,
    settings: Mapping[str, dict[str, Any]] | None = None,
    **environment: str,
) -> Iterator[Lab]:
    """A Lab of its own, with its own home, settings, kernelspecs and notebooks' folder.

    Without `labextension` ours is off, without `widgets` the one that draws widgets; all others
    stay. Without `subshells` Lab is set to send comm messages of the page over the shell channel.
    `environment` is the kernels'.
    """
    if labextension:
        assert EXTENSION.exists(), "the labextension is not built: make labextension"
    with TemporaryDirectory(prefix="lab-") as name:
        own = Path(name)
        folder = own / "notebooks"
        folder.mkdir()
        configured = {**SETTINGS, **({} if subshells else NO_SUBSHELLS), **(settings or {})}
        _written(own / "config" / "labconfig" / "default_setting_overrides.json", configured)
        wanted = {"shiro_jupyter": labextension, "@jupyter-widgets/jupyterlab-manager": widgets}
        disabled = {name: True for name, on in wanted.items() if not on}
        _written(own / "config/labconfig/page_config.json", {"disabledExtensions": disabled})
        script = own / "script.json"
        script.write_text("[]", encoding="utf-8")
        _specs(own / "data" / "kernels", {"SHIRO_MODEL": f"scripted:{script}", **environment})
        with _served(own, folder) as (url, process):
            yield Lab(url, folder, script, process)


def _written(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def _specs(folder: Path, environment: Mapping[str, str]) -> None:
    for name, (python, first) in KERNELS.items():
        for needed in (python, *first):
            assert Path(needed).exists(), f"{needed} is missing: make kernels"
        spec = {
            "argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": name,
            "language": "python",
            # Lab asks a debugger over control, which marks a busy kernel idle.
            "metadata": {"debugger": False},
            "env": {"PYTHONPATH": os.pathsep.join([*first, str(ROOT)]), **environment},
        }
        _written(folder / name / "kernel.json", spec)


@contextmanager
def _served(own: Path, folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--ip=127.0.0.1", "--port=0", "--expose-app-in-browser"]
    command += ["--IdentityProvider.token=", "--ServerApp.password="]
    command += ["--ServerApp.disable_check_xsrf=True"]  # for `end_kernels`, which has no cookie
    command += ["--ServerApp.terminals_enabled=False", "--LabApp.extension_manager=readonly"]
    command += [f"--ServerApp.root_dir={folder}"]
    command += [f"--LabApp.user_settings_dir={own / 'settings'}"]
    command += [f"--LabApp.workspaces_dir={own / 'workspaces'}"]
    runtime = own / "runtime"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environment = {
        **kept,
        "HOME": str(own / "home"),
        "TMPDIR": str(own / "tmp"),
        "IPYTHONDIR": str(own / "ipython"),
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "SHIRO_HOME": str(own / "shiro"),
        "MPLCONFIGDIR": str(ROOT / ".cache" / "matplotlib"),
    }
    for name in ("home", "tmp"):
        (own / name).mkdir()
    log = own / "server.log"
    with log.open("wb") as output:
        server = psutil.Popen(
            command, env=environment, cwd=folder, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        with nudged(runtime):
            yield _address(server, runtime, log), server
    finally:
        children = server.children(recursive=True) if server.is_running() else []
        server.terminate()
        _, left = psutil.wait_procs([server, *children], timeout=15)
        for process in left:
            process.kill()
        assert not left, f"JupyterLab left {left} behind"


def _address(server: psutil.Popen, runtime: Path, log: Path) -> str:
    """Where the server is, once it answers there."""
    deadline = time.monotonic() + START
    stated = runtime / f"jpserver-{server.pid}.json"
    while True:
        with suppress(OSError, ValueError):
            return f"http://127.0.0.1:{json.loads(stated.read_text('utf-8'))['port']}"
        said = log.read_text("utf-8", "replace")
        assert server.poll() is None, f"JupyterLab did not start:\n{said}"
        assert time.monotonic() < deadline, f"JupyterLab is not up after {START:.0f} s:\n{said}"
        time.sleep(0.05)
