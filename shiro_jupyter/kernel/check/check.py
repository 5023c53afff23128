"""A check from the cells to the result: look for room, make the place, run, compare, clean up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ...core.errors import UsageError
from ...core.tools.base import sized
from ...core.workspace.processes import Processes
from ...core.workspace.threads import begun, in_thread
from ..saved_answers import CHECKING
from . import scratch
from .cells import CodeCell, Notebook
from .compare import TOLERANCE, compared
from .forecast import Missing, forecast
from .hidden import Hidden, Live, hidden, names_bound, order
from .known import NAMES
from .result import PASSED_OVER, Result, Row, difference_of
from .run import WITHIN, Fresh, Progress, Run
from .startup import startup_cells

IN_COPY = "in a copy of the project, which is gone"
IN_PLACE = "in the notebook's folder"


@dataclass(frozen=True)
class Options:
    """`timeout`: seconds a cell; None: as long as it takes. `tolerance` is relative."""

    in_place: bool = False
    live: bool = False
    timeout: float | None = None
    tolerance: float = TOLERANCE


@dataclass
class Check:
    """One check of a notebook. `result` stands at any time for what has come by then.

    `kernel` is the live kernel, where the notebook is this one's: it is run by the same
    interpreter. `free` and `used` are bytes of memory, of the machine and of this process.
    """

    notebook: Notebook
    root: Path
    processes: Processes
    options: Options = field(default_factory=Options)
    kernel: Live | None = None
    tell: Callable[[Progress], None] = lambda progress: None
    free: Callable[[], int] = lambda: psutil.virtual_memory().available
    used: Callable[[], int] = lambda: psutil.Process().memory_info().rss
    forecast: list[Missing] = field(init=False)
    _run: Run = field(default_factory=Run)
    _place: scratch.Place | None = None
    _written: tuple[str, ...] | None = ()
    _started: float = 0.0
    _seconds: float = 0.0

    def __post_init__(self) -> None:
        environ = self.processes.environment
        before = startup_cells(environ, Path(environ.get("HOME") or Path.home()))
        found = forecast([*before, *self.notebook.cells])
        self.forecast = [each for each in found if each.cell.number]

    async def run(self) -> Result:
        """Raises `UsageError` where it cannot be checked. A caller who is cancelled may still
        take the `result`; the fresh kernel has ended by then, and the copy is gone."""
        self._look_for_room()
        folder = self.notebook.path.parent
        making = begun(self._made, folder)
        try:
            self._place = await asyncio.shield(making)
            self._started = time.monotonic()
            await Fresh(
                self.processes,
                self._place,
                python=self.kernel is not None,
                live=self.options.live,
                timeout=self.options.timeout,
            ).run(self.notebook, self._run, self.tell)
        finally:
            self._seconds = time.monotonic() - self._started if self._started else 0.0
            if self._place is None:  # it may be half made, and is removed once it is
                making.add_done_callback(_removed)
            else:
                self._written = self._place.written()
                self._run.notes += self._place.outside()
                self._run.notes += self._place.lacking(*_texts(self._run))
                self._place.remove()
        return await in_thread(self.result)

    def result(self, *, interrupted: bool = False) -> Result:
        run, cells = self._run, self.notebook.cells
        rows = {each.cell.number: each for each in run.ran}
        place = self._place
        return Result(
            notebook=self.notebook,
            forecast=tuple(self.forecast),
            rows=tuple(self._row(cell) for cell in cells if cell.source.strip()),
            failure=run.failure,
            order=order(cells),
            seconds=self._seconds,
            place=IN_PLACE if self.options.in_place else IN_COPY,
            hidden=self._hidden([cell for cell in cells if cell.number not in rows]),
            written=self._written,
            linked=place.linked if place else (),
            notes=tuple(run.notes),
            interrupted=interrupted,
        )

    def _hidden(self, unrun: list[CodeCell]) -> tuple[Hidden, ...]:
        if self.kernel is None:
            return ()
        fresh, failure = self._run.names, self._run.failure
        if failure:  # it ended half-way
            unrun = [failure.cell, *unrun]
        if fresh is None:  # it could not be asked: by the text of what ran
            fresh = frozenset[str]().union(*(names_bound(r.cell.source) for r in self._run.ran))
            fresh |= NAMES
        return tuple(hidden(self.kernel, fresh, unrun, self.notebook.cells))

    def _row(self, cell: CodeCell) -> Row:
        for each in self._run.ran:
            if each.cell is not cell:
                continue
            if self._run.failure and self._run.failure.cell is cell:
                return Row(cell, each.seconds)
            if each.passed_over:
                return Row(cell, each.seconds, PASSED_OVER)
            found = compared(cell.outputs, each.outputs, self.options.tolerance)
            return Row(cell, each.seconds, difference_of(cell, found))
        return Row(cell)

    def _made(self, folder: Path) -> scratch.Place:
        if self.options.in_place:
            return scratch.in_place(folder)
        within = folder.is_relative_to(self.root)
        return scratch.copy_of(self.root if within else folder, folder)

    def _look_for_room(self) -> None:
        if self.processes.environment.get(CHECKING):
            raise UsageError(WITHIN)
        if self.kernel is None:
            return
        used, free = self.used(), self.free()
        if free < used:
            raise UsageError(
                f"Not checked: this kernel holds {sized(used)}, a fresh one may need as much, and "
                f"{sized(free)} of memory are free. Free some, or run "
                "python -m shiro_jupyter check in a terminal once this kernel has ended."
            )


def _texts(run: Run) -> tuple[str, list[str]]:
    """Of what failed, and of what was shown."""
    failed = run.failure
    words = (failed.cell.source, failed.said, failed.traceback) if failed else ()
    return "\n".join(words), [str(output) for ran in run.ran for output in ran.outputs]


def _removed(making: asyncio.Future[scratch.Place]) -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().remove()
