"""Scripts of the scripted model, as files that a kernel of its own can play."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def script(folder: Path, *steps: dict[str, Any]) -> str:
    """The model's name for a script with these steps."""
    path = folder / "script.json"
    path.write_text(json.dumps(steps), encoding="utf-8")
    return f"scripted:{path}"


def says(when: str, text: str, **more: Any) -> dict[str, Any]:
    return {"when": when, "text": text, **more}


def runs(when: str, code: str, **more: Any) -> dict[str, Any]:
    """A step that has this code run in the kernel."""
    return {"when": when, "calls": [{"name": "run_python", "arguments": {"code": code}}], **more}


def shells(when: str, command: str, *, background: bool = False, **more: Any) -> dict[str, Any]:
    arguments = {"command": command, "background": background}
    return {"when": when, "calls": [{"name": "bash", "arguments": arguments}], **more}
