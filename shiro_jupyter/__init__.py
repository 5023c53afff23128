"""An AI agent that lives in the Jupyter kernel, where the data are, and remembers the project.

`%load_ext shiro_jupyter` adds `%shiro` and its neighbours to IPython.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from .kernel.extension import in_turn, load, unload
from .kernel.lazy import make_tool

__all__ = ["load_ipython_extension", "tool", "unload_ipython_extension"]

F = TypeVar("F", bound=Callable[..., Any])
_NONE_YET: Any = object()


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(*, ask: bool = True) -> Callable[[F], F]: ...
def tool(function: Any = _NONE_YET, /, *, ask: bool = True) -> Any:
    """Make a function of a cell a tool of the agent, from its next turn on; the function stays as
    it is.

    Its name, docstring and type hints are what the model is told. It runs on the main thread, may
    be async, and is asked about before it runs: each time, or until the person allows it for the
    session; with `ask=False` never, but in a session that has read the words of others. The tool
    is there as long as the function is there under its name.

    Raises `UsageError`, which says what to change, for what makes no tool: a lambda, a method, an
    argument without a type hint or of a type that a model cannot write, a name of another tool.
    """

    def made(function: Any) -> Any:
        return make_tool(function, ask=ask, in_turn=in_turn())

    return made if function is _NONE_YET else made(function)


def load_ipython_extension(shell: Any) -> None:
    """Called by `%load_ext`: registers magics and transformers; nothing heavy, nothing printed."""
    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Called by `%unload_ext`: ends what runs and puts IPython's own magics back."""
    unload(shell)
