"""Child processes that find only the programs a test names, whatever this machine has."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiro_jupyter.core.workspace.processes import Processes

# Where the tests' own ripgrep is installed.
OWN = Path(sys.executable).parent


def where(program: str) -> str:
    """A program that the tests need; fails where there is none."""
    found = shutil.which(program, path=f"{OWN}{os.pathsep}{os.environ['PATH']}")
    assert found, f"{program} is missing; repair with: make test"
    return found


@contextmanager
def processes_with(*programs: str, path: Path | str = "") -> Iterator[Processes]:
    """`path` is looked through after the programs named."""
    with tempfile.TemporaryDirectory() as folder:
        for name in programs:
            (Path(folder) / name).symlink_to(where(name))
        environment = {**os.environ, "PATH": str(path)}
        processes = Processes(environment, Path(folder) / "outputs", bin=Path(folder))
        yield processes
        processes.end_all()
