"""Tools that look at the live kernel, and the one that runs code in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ...core.settings import Loaded
from ...core.tools.base import Tool
from ...core.tools.shelf import HOSTED, SHELF
from ..live import LiveKernel
from ..namespace import Namespace
from .inspect_variable import InspectVariable
from .list_variables import ListVariables
from .run_python import RunPython

KERNEL_TOOLS: tuple[type[Tool[Any]], ...] = (ListVariables, InspectVariable, RunPython)


OUR_NAMES = tuple(tool.name for tool in (*SHELF, *HOSTED, *KERNEL_TOOLS))


def kernel_tools(namespace: Namespace, live: LiveKernel) -> tuple[Tool[Any], ...]:
    return ListVariables(namespace), InspectVariable(namespace), RunPython(live)


def with_unknown_rules(loaded: Loaded, own: Iterable[str] = ()) -> Loaded:
    """Told beside the rest: a rule that names no tool, nor one of the person's `own`, would protect
    nothing, and nobody knew."""
    unknown = loaded.settings.rules.unknown([*OUR_NAMES, *own])
    return replace(loaded, notices=(*loaded.notices, *unknown))
