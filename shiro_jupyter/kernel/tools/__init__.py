"""Tools that look at the live kernel, and the one that runs code in it."""

from __future__ import annotations

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


def kernel_tools(namespace: Namespace, live: LiveKernel) -> tuple[Tool[Any], ...]:
    return ListVariables(namespace), InspectVariable(namespace), RunPython(live)


def with_unknown_rules(loaded: Loaded) -> Loaded:
    """Told beside the rest: a rule that names no tool would protect nothing, and nobody knew."""
    tools = [tool.name for tool in (*SHELF, *HOSTED, *KERNEL_TOOLS)]
    unknown = loaded.settings.rules.unknown(tools)
    return replace(loaded, notices=(*loaded.notices, *unknown))
