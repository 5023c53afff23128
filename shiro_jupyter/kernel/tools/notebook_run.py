"""notebook_run: cells of the open notebook, run as the person would run them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from pydantic import Field

from ...core.errors import ToolFailed
from ...core.notebook.document import Cell
from ...core.notebook.select import selected
from ...core.notebook.shown import cells_text, outputs_text
from ...core.policy.subjects import Subject
from ...core.tools.base import INPUT_LIMIT, Parameters, ToolContext, ToolResult, bounded
from ...core.workspace.threads import in_thread
from ..namespace import Namespace
from ..notebook import Notebooks, Where, for_people, ref
from ..outputs import Outputs
from ..run_code import CodeResult
from .notebook_tool import NotebookTool
from .run_python import RunPython, RunPythonParameters

MOST = 100  # cells of one call
AWAY = "Cells can only be run in the open notebook, and {}; read them and run their code instead."
STOPS = "Stopped at the first error; not run: {}."
CHANGED = "Cell {} has changed since this call was judged; nothing of it was run, call again."
RUNS = "Cell {} runs already, or will once this turn has ended: name another one."
NOTHING = "Done; it shows nothing."
GOES_ON = (
    "Interrupted by the person, who no longer waits for cell {}: it goes on until it has ended or "
    "is interrupted in the notebook. Run nothing else until then."
)


class NotebookRunParameters(Parameters):
    cells: str = Field(description="Ids, numbers, ranges (3-7) or a heading, with commas.")


class Live(Protocol):
    """The live kernel, which runs code inside what is made of its shell. `count` is the number of
    the cell that asked."""

    @property
    def count(self) -> int | None: ...

    async def run(
        self,
        code: str,
        output: Callable[[str], None],
        inside: Callable[[Any], AbstractContextManager[object]],
        *,
        first: Callable[[], None],
    ) -> CodeResult: ...

    def interrupt(self) -> None: ...


@dataclass(frozen=True)
class _Inside:
    """The live kernel, for code whose output goes into its own cell."""

    live: Live
    outputs: Outputs

    async def run(
        self, code: str, output: Callable[[str], None], *, first: Callable[[], None]
    ) -> CodeResult:
        return await self.live.run(code, output, self.outputs.taken, first=first)

    def interrupt(self) -> None:
        self.live.interrupt()


class NotebookRun(NotebookTool[NotebookRunParameters, list[Cell]]):
    """Run code cells of the notebook you are in, from top to bottom; the first error stops.
    Returns their outputs, which stand below them in the notebook, too."""

    name = "notebook_run"
    access = "kernel"
    parameters = NotebookRunParameters

    def __init__(
        self, notebooks: Notebooks, live: Live, namespace: Namespace | None = None
    ) -> None:
        """With a namespace, a cell that certainly fails on a name that is not there is not run."""
        super().__init__(notebooks)
        self._live, self._namespace = live, namespace

    def summary(self, parameters: NotebookRunParameters) -> str:
        return self.notebooks.named(parameters.cells)

    async def look(
        self, where: Where, parameters: NotebookRunParameters, context: ToolContext
    ) -> list[Cell]:
        if not where.live:
            raise ToolFailed(AWAY.format(where.away.rstrip(".")))
        reading = await self.notebooks.read(where, context)
        cells = [each for each in selected(reading.cells, parameters.cells) if each.type == "code"]
        if not cells:
            raise ToolFailed("There is no code cell among these; name one by its id.")
        if len(cells) > MOST:
            raise ToolFailed(f"These are {len(cells)} cells: run at most {MOST} at a time.")
        if sum(len(each.source) for each in cells) > INPUT_LIMIT:
            raise ToolFailed(f"These hold over {INPUT_LIMIT:,} characters: run fewer at a time.")
        await self._refuse_running(cells)
        await self._refuse_certain(cells[0], context)  # what the others find, it may make
        return cells

    def judged(self, found: list[Cell], parameters: NotebookRunParameters) -> Subject:
        what = for_people(found[0]) if len(found) == 1 else f"these {len(found)} cells"
        return Subject(
            self.name,
            self.access,
            tuple(each.source for each in found),
            preview=cells_text(found, outputs=False),
            title=f"Run {what} of the notebook?",
            grant="everything",
            grant_label="all cells of the notebook, whatever they hold",
        )

    async def run(self, parameters: NotebookRunParameters, context: ToolContext) -> ToolResult:
        cells, told = self.found(context), list[str]()
        for at, cell in enumerate(cells):
            try:
                ran = await self._run(cell, context)
            except ToolFailed as error:  # those before it have run
                ran = ToolResult("failed", str(error))
            told.append(f"# --- cell {ref(cell)}: {ran.outcome} ---\n{ran.text}")
            if ran.outcome != "ok":
                if left := ", ".join(map(ref, cells[at + 1 :])):
                    told.append(STOPS.format(left))
                return ToolResult(ran.outcome, bounded("\n".join(told)))
        return ToolResult("ok", bounded("\n".join(told)))

    async def _run(self, cell: Cell, context: ToolContext) -> ToolResult:
        """Where a cell of ours keeps main until this turn has ended, no other one could run: then
        its code does, and what it shows is put below it."""
        if self.notebooks.document.held:
            return await self._run_code(cell, context)
        await self._refuse_certain(cell, context)
        context.output(f"Running cell {ref(cell)}.\n")
        document = self.notebooks.document
        try:
            ran = await document.run(ref(cell), was=cell.source)
        except asyncio.CancelledError:
            return ToolResult("interrupted", GOES_ON.format(ref(cell)))
        text = outputs_text(ran.outputs) or NOTHING
        return ToolResult("ok" if ran.status == "ok" else "failed", text)

    async def _run_code(self, cell: Cell, context: ToolContext) -> ToolResult:
        document, outputs = self.notebooks.document, Outputs()
        (now,) = await document.read([ref(cell)])
        if now.source != cell.source:
            raise ToolFailed(CHANGED.format(ref(cell)))
        await self._refuse_running([cell])
        ran = await self._python(outputs).run(_code(cell), context)
        try:
            await document.patch(ref(cell), outputs.listed, self._live.count)
        except ToolFailed as error:
            return replace(ran, text=f"{ran.text}\nIts outputs are not shown below it: {error}")
        return ran

    async def _refuse_running(self, cells: list[Cell]) -> None:
        """Raise `ToolFailed` where one of them runs, or will: the cell that asks is one, too."""
        outline = await self.notebooks.document.outline()
        running = {each.id for each in outline.cells if each.running}
        if busy := next((each for each in cells if each.id in running), None):
            raise ToolFailed(RUNS.format(ref(busy)))

    async def _refuse_certain(self, cell: Cell, context: ToolContext) -> None:
        """Raise `ToolFailed` where the cell would certainly fail."""
        judged = await in_thread(self._python(Outputs()).subject, _code(cell), context)
        if judged.fault:
            raise ToolFailed(f"Cell {ref(cell)} was not run: {judged.fault}")

    def _python(self, outputs: Outputs) -> RunPython:
        return RunPython(_Inside(self._live, outputs), self._namespace)


def _code(cell: Cell) -> RunPythonParameters:
    return RunPythonParameters.model_construct(code=cell.source)
