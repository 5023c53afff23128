"""What the notebook tools share: they look first, and are judged by what they have found."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Generic, TypeVar

from pydantic import Field

from ...core.errors import ModelMendable, ToolFailed
from ...core.policy.subjects import Subject
from ...core.tools.base import Parameters, Tool, ToolContext
from ..notebook import Notebooks, Where


class NotebookParameters(Parameters):
    path: str = Field("", description="A notebook file; by default the one you are in.")


P = TypeVar("P", bound=Parameters)
F = TypeVar("F")  # what is found before it is judged


class NotebookTool(Tool[P], Generic[P, F]):
    toolset: ClassVar[str] = "notebook"

    def __init__(self, notebooks: Notebooks) -> None:
        self.notebooks = notebooks

    @abstractmethod
    async def look(self, where: Where, parameters: P, context: ToolContext) -> F:
        """What the call would do now. Raises `ModelMendable`."""

    @abstractmethod
    def judged(self, found: F, parameters: P) -> Subject:
        """What is to be approved."""

    def found(self, context: ToolContext) -> F:
        """What `look` found last. Raises `ToolFailed` where it could not be done."""
        if fault := context.kept["fault"]:
            raise ToolFailed(str(fault))
        found: F = context.kept["found"]  # type: ignore[assignment]
        return found

    async def prepare(self, parameters: P, context: ToolContext) -> None:
        given, kept = getattr(parameters, "path", ""), context.kept
        kept.update(name=given, fault="")
        try:
            where = await self.notebooks.find(given, context)
            kept["name"] = where.name
            kept["found"] = await self.look(where, parameters, context)
        except ModelMendable as error:
            kept["fault"] = str(error)

    def subject(self, parameters: P, context: ToolContext) -> Subject:
        if fault := context.kept["fault"]:
            name = str(context.kept["name"])
            return Subject(self.name, self.access, (name,), fault=str(fault))
        return self.judged(self.found(context), parameters)
