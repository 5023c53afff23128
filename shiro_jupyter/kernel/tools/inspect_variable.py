"""inspect_variable: one live variable in detail."""

from __future__ import annotations

from pydantic import Field

from ...core.tools.base import Parameters, Tool, ToolContext, ToolResult
from ..namespace import Namespace


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
        return ToolResult("ok", self._namespace.inspect(parameters.name))
