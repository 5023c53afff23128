"""`/check`: whether a notebook re-runs. Importing this registers the command."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.workspace.threads import in_thread
from ..views.document import Block, Line, bundle
from ..views.visible import visible
from . import compat
from .check.cells import Notebook, read_saved
from .check.check import Check, Options
from .check.effects import effects
from .check.own import own_notebook
from .check.report import asked, forecast_lines, report
from .check.run import WITHIN, Progress
from .commands import Work, command
from .main_thread import JobInterrupted
from .owner import Publisher
from .said import Said, text_of
from .saved_answers import CHECKING
from .services import Services
from .typed import typed

PAGE_SECONDS = 3.0  # for the page to say that it is there
FLAGS = ("--in-place", "--live")
USAGE = "Say %shiro /check, or /check PATH for another notebook; {} go before the path."
NOT_RUN = "Not run; the forecast above is all there is."


@command("[--in-place] [--live] [PATH]")
def check(services: Services, rest: str) -> Work:
    """whether the notebook re-runs: its first error, what differs, what only this kernel has"""
    words = rest.split()
    flags = [word for word in words if word.startswith("--")]
    given = " ".join(word for word in words if word not in flags)
    if set(flags) - set(FLAGS):
        raise UsageError(USAGE.format(" and ".join(FLAGS)))
    options = Options(in_place="--in-place" in flags, live="--live" in flags)
    shown = _Shown(services.shell, silent=services.thread.here)
    asks = not services.thread.here and compat.allows_stdin(services.shell)
    return _checked(services, given, options, shown, asks)


async def _checked(
    services: Services, given: str, options: Options, shown: _Shown, asks: bool
) -> Said:
    if services.environ.get(CHECKING):
        return WITHIN
    notebook, own = await _notebook(services, given)
    kernel = await services.held(services.namespace(services.settings())) if own else None
    checking = Check(
        notebook,
        services.project.root,
        services.processes,
        options,
        kernel=kernel,
        tell=shown.progress,
    )
    shown.lines(forecast_lines(checking.forecast, notebook.cells))
    if not await _agreed(services, notebook, asks):
        return NOT_RUN
    services.hold(services.settings())
    shown.end("Starting a fresh kernel…")
    try:
        result = await checking.run()
    except asyncio.CancelledError:
        shown.document(report(checking.result(interrupted=True)))
        raise
    shown.end(f"Ran {notebook.path.name} in a fresh kernel.")
    return report(result)


async def _notebook(services: Services, given: str) -> tuple[Notebook, bool]:
    """What is to be checked, and whether it is this kernel's."""
    known = services.project.notebook
    path = (Path.cwd() / Path(given).expanduser()).resolve()
    if given and path != known:
        return await in_thread(read_saved, path), False
    return await own_notebook(services.document, known, PAGE_SECONDS), True


async def _agreed(services: Services, notebook: Notebook, asks: bool) -> bool:
    """Whether the person lets the cells do what they do beside computing."""
    found = effects(notebook.cells, notebook.path.parent)
    if not found:
        return True
    told = f"{notebook.path.name} does more than compute:\n{asked(found)}"
    if not asks:
        raise UsageError(
            f"{told}\nNobody is here to allow it: run %shiro /check in a cell, or "
            "python -m shiro_jupyter check in a terminal."
        )
    text = f"{told}\nRun it? [y]es / [n]o: "
    try:
        said = await typed(services.main, visible(text))
    except (JobInterrupted, EOFError):
        return False
    return said.strip().lower() in ("y", "yes")


class _Shown:
    """What is shown in the cell while a check runs; a page that asks sees the result alone."""

    def __init__(self, shell: Any, *, silent: bool) -> None:
        self._shell, self._silent = shell, silent
        self._publisher = None if silent or not compat.in_kernel(shell) else Publisher(shell)
        self._display = ""

    def lines(self, lines: Sequence[str]) -> None:
        if lines:
            self.document([Line(line) for line in lines])

    def document(self, blocks: Sequence[Block]) -> None:
        if self._publisher:
            self._publisher.show(bundle(blocks), {})
        elif not self._silent:
            sys.stdout.write(f"{text_of(blocks)}\n")
            sys.stdout.flush()

    def progress(self, progress: Progress) -> None:
        """One line that changes, in a notebook; a line for each cell elsewhere."""
        title = f"[{progress.at}/{progress.of}] {progress.cell.title}"
        if self._publisher:
            self.end(f"{title}  {progress.seconds:.1f} s")
        elif progress.ran:
            self.lines([f"{title}  {progress.seconds:.1f} s"])

    def end(self, line: str) -> None:
        if not self._publisher:
            return
        data = bundle([Line(line)])
        if self._display:
            self._publisher.update(self._display, data, {})
        else:
            self._display = self._publisher.show(data, {})
