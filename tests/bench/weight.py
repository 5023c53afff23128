"""What installing shiro_jupyter adds over jupyterlab and ipykernel: distributions and MB."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]


def installed(python: Path) -> set[str]:
    run = subprocess.run(
        [python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {each["name"] for each in json.loads(run.stdout)}


def megabytes(folder: Path) -> float:
    """Of the files as installed, without the bytecode that pip compiles."""
    files = (each for each in folder.rglob("*") if each.is_file() and each.suffix != ".pyc")
    return sum(each.stat().st_size for each in files) / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = next(each for each in Path(folder).glob("*/python*") if each.name == "python")

        def pip(*what: str) -> None:
            command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *what]
            subprocess.run(command, check=True, stderr=sys.stderr)

        pip("jupyterlab", "ipykernel")
        names, size = installed(python), megabytes(Path(folder))
        pip(str(ROOT))
        added = sorted(installed(python) - names)
        grown = megabytes(Path(folder)) - size
    print(f"{len(added)} distributions (promised: at most 20), {grown:.0f} MB (at most 75)")
    print(", ".join(added))


if __name__ == "__main__":
    main()
