"""inspect_variable: one live variable in detail."""

from __future__ import annotations

import asyncio

from pydantic import Field

from ...core.errors import ToolFailed
from ...core.tools.base import Parameters, Tool, ToolContext, ToolResult
from ...core.workspace.threads import in_thread
from ..namespace import Namespace

# A table of the largest size that is read takes some seconds.
SECONDS = 20.0


class InspectVariableParameters(Parameters):
    name: str = Field(description='A variable, or a part of one: df, df["price"], config.path')


class InspectVariable(Tool[InspectVariableParameters]):
    """Show one live variable in detail. For a table: rows, columns, and for each column its
    type, missing values, distinct values, min, max, mean or most frequent values. Runs no code."""

    name = "inspect_variable"
    toolset = "kernel"
    access = "read"
    parameters = InspectVariableParameters

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def summary(self, parameters: InspectVariableParameters) -> str:
        return parameters.name

    async def run(self, parameters: InspectVariableParameters, context: ToolContext) -> ToolResult:
        looking = in_thread(self._namespace.inspect, parameters.name)
        try:
            return ToolResult("ok", await asyncio.wait_for(looking, SECONDS))
        except TimeoutError:
            raise ToolFailed(
                f"{parameters.name} takes over {SECONDS:.0f} s to read; look at a part of it, or "
                "compute what you need with code."
            ) from None
