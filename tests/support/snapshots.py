"""Snapshots: what a test compares with a file, rewritten by `SHIRO_SNAPSHOTS=write pytest`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "snapshots"


def check_json(name: str, value: Any) -> None:
    """The value is the one in `tests/snapshots/<name>.json`."""
    check_text(f"{name}.json", json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def check_text(name: str, text: str) -> None:
    """The text is the one in `tests/snapshots/<name>`."""
    file = FOLDER / name
    if os.environ.get("SHIRO_SNAPSHOTS") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    assert file.exists(), f"no snapshot {name}; run `make snapshots` and look at what it wrote"
    stored = file.read_text(encoding="utf-8")
    assert text == stored, f"{name} has changed; if that is meant, run `make snapshots`"
