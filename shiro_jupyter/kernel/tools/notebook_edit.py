"""notebook_edit: one cell inserted, replaced, deleted or moved."""

from __future__ import annotations

from pydantic import Field

from ...core.policy.subjects import Subject
from ...core.tools.base import INPUT_LIMIT, ToolContext, ToolResult, bounded
from ..document import CellType
from ..notebook import Where, for_people
from ..notebook_changes import Action, Change, Edit, Editor
from .notebook_tool import NotebookParameters, NotebookTool


class NotebookEditParameters(NotebookParameters):
    action: Action = Field(description="What to do with the cell.")
    cell: str = Field("", description="Id of the cell to replace, delete or move.")
    after: str = Field("", description="Insert or move it below the cell with this id.")
    before: str = Field("", description="Or above this one; with neither, insert at the end.")
    type: CellType = Field("code", description="Of a cell to insert.")
    source: str = Field(
        "", max_length=INPUT_LIMIT, description="The whole cell, to insert or replace."
    )

    @property
    def edit(self) -> Edit:
        return Edit(**self.model_dump(exclude={"path"}))


class NotebookEdit(NotebookTool[NotebookEditParameters, Change]):
    """Insert, replace, delete or move one cell of the open notebook, or of a closed notebook file.
    Cells are named by id. Read a cell before you replace it. It runs nothing."""

    name = "notebook_edit"
    access = "write"
    shows_output = False
    parameters = NotebookEditParameters

    def __init__(self, editor: Editor) -> None:
        super().__init__(editor.notebooks)
        self._editor = editor

    def summary(self, parameters: NotebookEditParameters) -> str:
        cell = self.notebooks.named(parameters.cell) if not parameters.path else parameters.cell
        cell = cell or f"{parameters.type} cell"
        return " ".join(filter(None, (parameters.path, parameters.action, cell)))

    async def look(
        self, where: Where, parameters: NotebookEditParameters, context: ToolContext
    ) -> Change:
        return await self._editor.look(parameters.edit, where, context)

    def judged(self, found: Change, parameters: NotebookEditParameters) -> Subject:
        told = found.where.told
        return Subject(
            self.name,
            self.access,
            (found.where.name,),
            preview=_preview(found),
            title=_title(found),
            grant_label=f"every change of cells in {told} by {self.name}",
            basis=found.basis,
        )

    async def run(self, parameters: NotebookEditParameters, context: ToolContext) -> ToolResult:
        return ToolResult("ok", await self._editor.make(self.found(context), context))


def _title(change: Change) -> str:
    told, action = change.where.told, change.edit.action
    place = f"after {for_people(change.above)}" if change.above else "at the top"
    if action == "insert" and change.where.own and not change.where.live:
        return "Offer this code as the next cell?"
    if action == "insert":
        return f"Insert a {change.edit.type} cell into {told}, {place}?"
    assert change.cell
    named = f"{change.cell.type} {for_people(change.cell)}"
    if action == "move":
        return f"Move {named} of {told} {place}?"
    return f"{action.title()} {named} of {told}?"


def _preview(change: Change) -> str:
    if change.edit.action == "move":
        assert change.cell
        return bounded(change.cell.source)
    return bounded(f"{change.diff.counted}\n{change.diff.text}")
