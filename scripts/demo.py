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
from nbformat import NotebookNode

from shiro_jupyter.core.errors import ShiroError
from shiro_jupyter.core.models.discovery import discover
from shiro_jupyter.core.settings import Settings
from shiro_jupyter.core.workspace.folders import user_folders

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "notebooks" / "orders"
# A copy, so that what a person does in the demo changes no file of the repository.
COPY = ROOT / ".cache" / "demo" / "orders"
NOTEBOOK = "orders.ipynb"


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
        elif "text/plain" in data:
            drawn = [kind for kind in data if kind.startswith("image/")]
            print(f"[{drawn[0]}] {data['text/plain']}" if drawn else data["text/plain"].rstrip())


def run_through(folder: Path) -> None:
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
    client.execute()


def open_lab(folder: Path) -> int:
    command = [sys.executable, "-m", "jupyter", "lab", NOTEBOOK]
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or _is_desktop()):
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    print(f"JupyterLab opens on {folder}; ctrl-c ends it.", flush=True)
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
    if os.environ.get("ONCE"):
        # Afresh each time: what an earlier run remembered must not answer for this one.
        shutil.rmtree(COPY, ignore_errors=True)
        os.environ["SHIRO_LIVE"] = "1"
    if not COPY.exists():
        shutil.copytree(EXAMPLE, COPY, ignore=shutil.ignore_patterns("__pycache__", "*checkpoints"))
    if not os.environ.get("ONCE"):
        return open_lab(COPY)
    run_through(COPY)
    return 0


if __name__ == "__main__":
    sys.exit(main())
