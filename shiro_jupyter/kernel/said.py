"""What magics and commands have to say: text, or a document with tables where those are shown."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

from ..views.document import Block, bundle, plain
from ..views.visible import visible
from . import compat

Said = str | Sequence[Block]


def text_of(said: Said, width: int = 0) -> str:
    """Tables keep to the width, in columns, where one is given."""
    return visible(said) if isinstance(said, str) else plain(said, width)


def say(shell: Any, said: Said) -> None:
    """Print it for the cell or console line that runs; a notebook shows tables as such."""
    if not isinstance(said, str) and compat.in_kernel(shell):
        sys.stdout.flush()
        compat.publisher(shell)(bundle(said), {})
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    sys.stdout.write(f"{text_of(said, width)}\n")
