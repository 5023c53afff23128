"""list_variables: what is in the live namespace."""

from __future__ import annotations

from pydantic import Field

from ...core.tools.base import Parameters, Tool, ToolContext, ToolResult
from ...core.workspace.threads import in_thread
from ..namespace import Namespace


class ListVariablesParameters(Parameters):
    match: str = Field(default="", description="Only names that hold this text.")


class ListVariables(Tool[ListVariablesParameters]):
    """List the live variables: type, rows and columns, columns with their types and how many
    values are missing. Runs no code."""

    name = "list_variables"
    toolset = "kernel"
    access = "read"
    guidance = (
        "You are inside the person's Jupyter kernel: prefer the live variables over reading files "
        "again."
    )
    parameters = ListVariablesParameters

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def summary(self, parameters: ListVariablesParameters) -> str:
        return parameters.match or "all variables"

    async def run(self, parameters: ListVariablesParameters, context: ToolContext) -> ToolResult:
        return ToolResult("ok", await in_thread(self._namespace.listing, parameters.match))
