"""The page's modules, run by node without a browser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .kernels import ROOT

ESBUILD = ROOT / "labextension" / "node_modules" / ".bin" / "esbuild"


def bundled(source: Path, folder: Path) -> list[str | Path]:
    """The command that runs a script of ours with what it imports, bundled into this folder."""
    node = shutil.which("node")
    assert node, "node is missing: apt-get install nodejs, then make labextension"
    assert ESBUILD.exists(), f"{ESBUILD.relative_to(ROOT)} is missing: make labextension"
    bundle = folder / source.name
    subprocess.run(
        [ESBUILD, source, "--bundle", "--platform=node", "--format=esm", f"--outfile={bundle}"],
        check=True,
        capture_output=True,
    )
    return [node, bundle]
