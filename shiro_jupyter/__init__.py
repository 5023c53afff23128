"""An AI agent that lives in the Jupyter kernel, where the data are, and remembers the project.

`%load_ext shiro_jupyter` adds `%shiro` and its neighbours to IPython.
"""

from __future__ import annotations

from typing import Any

from .kernel.extension import load, unload

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext`: registers magics and transformers; nothing heavy, nothing printed."""
    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext`: ends what runs and puts IPython's own magics back."""
    unload(shell)
