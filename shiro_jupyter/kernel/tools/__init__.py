"""Tools that look at the live kernel and its notebook, and those that run code in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from ...core.settings import Loaded
from ...core.tools.base import Tool
from ...core.tools.shelf import HOSTED, SHELF
from ..check.hidden import Live
from ..live import LiveKernel
from ..namespace import Namespace
from ..notebook_changes import Editor
from .inspect_variable import InspectVariable
from .list_variables import ListVariables
from .notebook_check import NotebookCheck
from .notebook_edit import NotebookEdit
from .notebook_read import NotebookRead
from .notebook_run import NotebookRun
from .run_python import RunPython

KERNEL_TOOLS: tuple[type[Tool[Any]], ...] = (
    ListVariables,
    InspectVariable,
    RunPython,
    NotebookRead,
    NotebookEdit,
    NotebookRun,
    NotebookCheck,
)


OUR_NAMES = tuple(tool.name for tool in (*SHELF, *HOSTED, *KERNEL_TOOLS))


def kernel_tools(namespace: Namespace, live: LiveKernel) -> tuple[Tool[Any], ...]:
    return ListVariables(namespace), InspectVariable(namespace), RunPython(live, namespace)


def notebook_tools(
    editor: Editor,
    live: LiveKernel,
    namespace: Namespace,
    held: Callable[[], Awaitable[Live]],
) -> tuple[Tool[Any], ...]:
    """`held` answers what the live kernel holds."""
    notebooks = editor.notebooks
    run, check = NotebookRun(notebooks, live, namespace), NotebookCheck(notebooks, held)
    return NotebookRead(notebooks), NotebookEdit(editor), run, check


def with_unknown_rules(loaded: Loaded, own: Iterable[str] = ()) -> Loaded:
    """Told beside the rest: a rule that names no tool, nor one of the person's `own`, would protect
    nothing, and nobody knew."""
    unknown = loaded.settings.rules.unknown([*OUR_NAMES, *own])
    return replace(loaded, notices=(*loaded.notices, *unknown))
