"""The project: the folder that memory, notes and sessions belong to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Project:
    """`root` is absolute and resolved. `notebook` is the notebook's path, None where unknown."""

    root: Path
    notebook: Path | None = None
