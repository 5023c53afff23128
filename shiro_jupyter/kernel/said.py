"""What magics and commands have to say: text, or a document with tables where those are shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ..views.document import Block, bundle, plain
from ..views.visible import visible
from . import compat

Said = str | Sequence[Block]


def text_of(said: Said) -> str:
    return visible(said) if isinstance(said, str) else plain(said)


def say(shell: Any, said: Said) -> None:
    """Print it for the cell or console line that runs; a notebook shows tables as such."""
    if isinstance(said, str) or not compat.in_kernel(shell):
        sys.stdout.write(f"{text_of(said)}\n")
    else:
        sys.stdout.flush()
        compat.publisher(shell)(bundle(said), {})
