"""Tools that look at the live kernel, and the one that runs code in it."""

from __future__ import annotations

from typing import Any

from ...core.tools.base import Tool
from .inspect_variable import InspectVariable
from .list_variables import ListVariables
from .run_python import RunPython

KERNEL_TOOLS: tuple[type[Tool[Any]], ...] = (ListVariables, InspectVariable, RunPython)
