"""What a fresh IPython kernel runs before the first cell: the person's own startup files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .cells import CodeCell

# Configuration that runs code, or loads what may bind names.
_RUNS = re.compile(r"^[^#\n]*\b(exec_lines|exec_files|extensions|PYTHONSTARTUP)\b", re.MULTILINE)
ANYTHING = "exec('')"


def startup_cells(environ: Mapping[str, str], home: Path) -> list[CodeCell]:
    """These files as cells with the number 0, for a forecast."""
    profile = Path(environ.get("IPYTHONDIR") or home / ".ipython") / "profile_default"
    sources = list[str]()
    for path in profile.glob("ipython*_config.py"):
        if _RUNS.search(_read(path)):
            sources.append(ANYTHING)
    started = sorted((profile / "startup").glob("*"))
    sources += [_read(path) for path in started if path.suffix in (".py", ".ipy")]
    return [CodeCell(0, source) for source in sources if source]


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
