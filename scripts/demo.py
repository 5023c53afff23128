"""Open JupyterLab on the example project, with a model for `%shiro` to talk to.

ONCE=1 runs the example notebook from top to bottom instead and prints it. The model is what is
configured; else what is found on this machine; else the small one that `fetch_model.py` brings.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from shiro_jupyter.core.errors import ShiroError
from shiro_jupyter.core.models.discovery import discover
from shiro_jupyter.core.settings import Settings
from shiro_jupyter.core.workspace.folders import user_folders

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "notebooks" / "orders"
# Copies, so that what a person does in the demo changes no file of the repository: one that is
# kept from demo to demo, and one that is made afresh for each run-through.
KEPT, ONCE = (ROOT / ".cache" / name / "orders" for name in ("demo", "once"))
NOTEBOOK = "orders.ipynb"
# What made the example, and what only its tests need.
OURS = shutil.ignore_patterns("__pycache__", "*checkpoints", "*.json", "make_data.py")


def model() -> dict[str, str]:
    """What the kernel's environment needs for a working `%shiro`."""
    loaded = Settings.load(environ=os.environ, folders=user_folders(os.environ))
    settings = loaded.settings
    if loaded.endpoint or settings.model_file or settings.model.startswith("scripted:"):
        print(f"model: {settings.model or 'as configured'} ({settings.base_url or 'local'})")
        return {}
    found, _ = asyncio.run(discover())
    if found:
        print(f"model: {found[0].models[0].name} of the server found at {found[0].base_url}")
        return {"SHIRO_BASE_URL": found[0].base_url, "SHIRO_MODEL": found[0].models[0].name}
    fetch = [sys.executable, str(ROOT / "scripts" / "fetch_model.py"), "--json"]
    run = subprocess.run(fetch, stdout=subprocess.PIPE, text=True)
    if run.returncode:
        print("No model: %shiro will say how to connect one; %remember and %recall work.")
        return {}
    files = json.loads(run.stdout)
    return {"SHIRO_LLAMA_SERVER": files["server"], "SHIRO_MODEL_FILE": files["model"]}


def show(cell: NotebookNode) -> None:
    """One cell as text, as it has just run."""
    print("\n" + "\n".join(f">>> {line}" for line in cell.source.splitlines()))
    for output in cell.outputs:
        data = output.get("data", {})
        if output.output_type == "stream":
            print(output.text.rstrip())
        elif output.output_type == "error":
            print(f"{output.ename}: {output.evalue}")
        elif "text/plain" in data:
            drawn = [kind for kind in data if kind.startswith("image/")]
            print(f"[{drawn[0]}] {data['text/plain']}" if drawn else data["text/plain"].rstrip())


def run_through(folder: Path) -> int:
    """The whole notebook in a fresh kernel, each cell printed when it has run."""
    notebook = nbformat.read(folder / NOTEBOOK, as_version=4)

    def executed(cell: NotebookNode, cell_index: int, execute_reply: object) -> None:
        show(cell)
        sys.stdout.flush()

    client = NotebookClient(
        notebook,
        timeout=900,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
        on_cell_executed=executed,
    )
    try:
        client.execute()
    except CellExecutionError:
        print("\nThe run ends here: the last cell failed, as it says above.")
        return 1
    return 0


def open_lab(folder: Path) -> int:
    command = [sys.executable, "-m", "jupyter", "lab", f"--LabApp.default_url=/lab/tree/{NOTEBOOK}"]
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or _is_desktop():
        print(f"JupyterLab opens on {folder}; ctrl-c ends it.", flush=True)
    else:
        command.append("--no-browser")
        print(f"No browser here: open the address below; the project is {folder}.", flush=True)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    try:
        return subprocess.run(command, cwd=folder).returncode
    except KeyboardInterrupt:
        return 0


def _is_desktop() -> bool:
    return sys.platform in ("darwin", "win32")


def main() -> int:
    try:
        os.environ.update(model())
    except ShiroError as error:
        print(error)
        return 1
    once = bool(os.environ.get("ONCE"))
    folder = ONCE if once else KEPT
    if once:  # what an earlier run remembered must not answer for this one
        shutil.rmtree(folder, ignore_errors=True)
        os.environ["SHIRO_LIVE"] = "1"
    if not folder.exists():
        shutil.copytree(EXAMPLE, folder, ignore=OURS)
    return run_through(folder) if once else open_lab(folder)


if __name__ == "__main__":
    sys.exit(main())
