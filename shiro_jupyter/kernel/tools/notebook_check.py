"""notebook_check: whether a notebook re-runs, by running it in a fresh kernel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import Field

from ...core.errors import ToolFailed, UsageError
from ...core.policy.subjects import Subject
from ...core.tools.base import OUTPUT_LIMIT, ToolContext, ToolResult, bounded
from ...core.workspace.threads import in_thread
from ...views.document import plain
from ..check.cells import Notebook, read_saved
from ..check.check import Check, Options
from ..check.effects import Effect, effects
from ..check.hidden import Live
from ..check.own import own_notebook
from ..check.report import asked, forecast_lines, report
from ..check.run import Progress
from ..notebook import Notebooks, Where
from .notebook_tool import NotebookParameters, NotebookTool

WITH_EFFECTS = "Run {} top to bottom in a fresh kernel? Its cells do more than compute:"
PLAIN = "Run {} top to bottom in a fresh kernel?"


class NotebookCheckParameters(NotebookParameters):
    timeout: float | None = Field(None, gt=0, description="Seconds a cell may take.")
    in_place: bool = Field(False, description="In its own folder, not in a copy of the project.")


@dataclass(frozen=True)
class Target:
    """What would be run, and what its cells do beside computing."""

    where: Where
    notebook: Notebook
    effects: tuple[Effect, ...]


class NotebookCheck(NotebookTool[NotebookCheckParameters, Target]):
    """Prove whether the notebook re-runs: all its cells, top to bottom, in a fresh kernel and a
    copy of the project. Returns the first error, outputs that differ from the saved ones, names
    only the live kernel has, cells run out of order. The notebook stays as it is."""

    name = "notebook_check"
    access = "kernel"
    shows_output = True
    parameters = NotebookCheckParameters

    def __init__(self, notebooks: Notebooks, kernel: Callable[[], Awaitable[Live]]) -> None:
        super().__init__(notebooks)
        self._kernel = kernel

    def summary(self, parameters: NotebookCheckParameters) -> str:
        return parameters.path or "this notebook"

    async def look(
        self, where: Where, parameters: NotebookCheckParameters, context: ToolContext
    ) -> Target:
        try:
            if where.own:
                notebook = await own_notebook(self.notebooks.document, where.path)
            else:
                assert where.path is not None
                notebook = await in_thread(read_saved, where.path)
        except UsageError as error:
            raise ToolFailed(str(error)) from None
        return Target(where, notebook, effects(notebook.cells, notebook.path.parent))

    def judged(self, found: Target, parameters: NotebookCheckParameters) -> Subject:
        title = (WITH_EFFECTS if found.effects else PLAIN).format(found.where.told)
        place = "in its own folder" if parameters.in_place else "in a copy of the project"
        does = asked(found.effects) or "No cell is seen to write, send, install or run commands."
        return Subject(
            self.name,
            self.access,
            (found.where.name,),
            title=title,
            preview=f"{does}\nIt runs {place}.",
            basis="\0".join(cell.source for cell in found.notebook.cells),
            # What was agreed to for one set of effects holds for no other.
            grant=f"{found.where.name}\0{place}\0{found.effects}",
            grant_label="this notebook, as long as its cells do no more than that",
        )

    async def run(self, parameters: NotebookCheckParameters, context: ToolContext) -> ToolResult:
        found = self.found(context)

        def tell(progress: Progress) -> None:
            if progress.ran:
                title = f"[{progress.at}/{progress.of}] {progress.cell.title}"
                context.output(f"{title}  {progress.seconds:.1f} s\n")

        check = Check(
            found.notebook,
            context.project.root,
            context.processes,
            Options(in_place=parameters.in_place, timeout=parameters.timeout),
            kernel=await self._kernel() if found.where.own else None,
            tell=tell,
        )
        for line in forecast_lines(check.forecast, found.notebook.cells):
            context.output(f"{line}\n")
        try:
            result = await check.run()
        except UsageError as error:
            raise ToolFailed(str(error)) from None
        except asyncio.CancelledError:
            stopped = plain(report(check.result(interrupted=True)))
            return ToolResult("interrupted", bounded(stopped, OUTPUT_LIMIT // 2))
        text = bounded(plain(report(result)), OUTPUT_LIMIT // 2)
        return ToolResult("ok" if result.passes else "failed", text)
