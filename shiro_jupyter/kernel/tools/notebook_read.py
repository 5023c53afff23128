"""notebook_read: the outline of a notebook, or some of its cells."""

from __future__ import annotations

from pydantic import Field

from ...core.notebook.select import selected
from ...core.notebook.shown import cells_text, outline
from ...core.policy.subjects import Subject
from ...core.tools.base import ToolContext, ToolResult
from ..notebook import Reading, Where, ref
from .notebook_tool import NotebookParameters, NotebookTool

NO_CELLS = "It has no cells."


class NotebookReadParameters(NotebookParameters):
    cells: str = Field(
        "",
        description="Ids, numbers, ranges (3-7) or a heading, with commas; without, the outline.",
    )
    outputs: bool = Field(False, description="Show their outputs, too; images by size alone.")


class NotebookRead(NotebookTool[NotebookReadParameters, Where]):
    """Read the notebook you are in as it is now, also unsaved, or another notebook file: its
    outline with the ids of its cells, or some cells in full."""

    name = "notebook_read"
    access = "read"
    shows_output = False
    parameters = NotebookReadParameters

    def summary(self, parameters: NotebookReadParameters) -> str:
        if parameters.path:
            return f"{parameters.path} {parameters.cells}".rstrip()
        return self.notebooks.named(parameters.cells) if parameters.cells.strip() else "outline"

    async def look(
        self, where: Where, parameters: NotebookReadParameters, context: ToolContext
    ) -> Where:
        return where  # it is read once that is allowed

    def judged(self, found: Where, parameters: NotebookReadParameters) -> Subject:
        return Subject(self.name, self.access, (found.name,))

    async def run(self, parameters: NotebookReadParameters, context: ToolContext) -> ToolResult:
        where = self.found(context)
        reading = await self.notebooks.read(where, context, outputs=parameters.outputs)
        return ToolResult("ok", f"{_head(reading)}\n{_shown(reading, parameters, context)}")


def _head(reading: Reading) -> str:
    total = len(reading.cells)
    how = f", {reading.note}" if reading.note else ""
    return f"{reading.where.told}: {total:,} {'cell' if total == 1 else 'cells'}{how}"


def _shown(reading: Reading, parameters: NotebookReadParameters, context: ToolContext) -> str:
    if not parameters.cells.strip():
        return outline(reading.cells) or NO_CELLS
    cells = selected(reading.cells, parameters.cells)
    text = cells_text(cells, outputs=parameters.outputs and not context.private.any)
    for cell in cells:
        if cell.source in text:  # all of it was shown
            reading.where.note_read(ref(cell), cell.source, context)
    return text
