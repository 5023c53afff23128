"""What is handed out: one wheel, with the page that JupyterLab serves and the module of cells."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

from .support.kernels import ROOT

SHARED = "shiro_jupyter-{}.data/data/share/jupyter/labextensions/shiro_jupyter/"
LARGEST = 1_000_000  # bytes of the wheel


def test_page_and_package_have_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = json.loads((ROOT / "labextension" / "package.json").read_text(encoding="utf-8"))
    assert page["version"] == project["version"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of what is tracked, the page built anew."""
    modules = ROOT / "labextension" / "node_modules"
    assert modules.exists(), "what the page is built with is not installed: make labextension"
    copy = tmp_path_factory.mktemp("tracked")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / "labextension" / "node_modules").symlink_to(modules)
    _run(["jlpm", "build:prod"], copy / "labextension")
    _run([sys.executable, "-m", "hatchling", "build"], copy)
    return copy / "dist"


def _run(command: Sequence[str], folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_wheel_holds_the_page_once_and_small(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = archive.namelist()
        shared = SHARED.format(wheel.name.split("-")[1])
        manifest = json.loads(archive.read(f"{shared}package.json"))
        cell = archive.read("shiro_jupyter/static/cell.js").decode()
        archive.extractall(tmp_path / "site")
    entry = manifest["jupyterlab"]["_build"]
    assert f"{shared}install.json" in names
    assert f"{shared}{entry['load']}" in names
    assert f"{shared}static/style.js" in names
    assert "export{" in cell
    assert not [name for name in names if name.endswith(".map")]
    assert not [name for name in names if name.startswith("shiro_jupyter/labextension")]
    assert wheel.stat().st_size < LARGEST
    # Where the kernel runs, JupyterLab and the page need not be.
    imported = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); import shiro_jupyter"
    where = f"{imported}; assert shiro_jupyter.__file__.startswith({str(tmp_path)!r})"
    _run([sys.executable, "-I", "-c", where], tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_sdist_needs_no_node(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert not list(source.rglob("node_modules"))
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], source)
    assert _names(source / "dist") == _names(built)


def _names(folder: Path) -> list[str]:
    """What the wheel in the folder holds."""
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        return sorted(archive.namelist())
