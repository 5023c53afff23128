"""run_python: code in the live namespace, on the main thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from pydantic import Field

from ...core.errors import ToolFailed
from ...core.events import PicturesDrawn
from ...core.policy.subjects import Subject
from ...core.tools.base import INPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult
from ..foreseen import foreseen
from ..guard import NO_VERDICT, Schema, Verdict, check
from ..main_thread import JobInterrupted
from ..namespace import Namespace
from ..run_code import CodeResult, Live
from ..tee import Ends

log = logging.getLogger("shiro")

# Seconds that code has to stop in; after them the turn goes on without it.
STOP_SECONDS = 1.0
PARTIAL_LIMIT = 8_000

TITLE = "Run this code in the kernel?"
INTERRUPTED = "Interrupted by the person; what the code had done stays done. Its output:"
NATIVE = (
    "Interrupted by the person, but the code has not stopped yet: it cleans up, or is inside "
    "native code. Run nothing else until it ends. Its output so far:"
)
DROPPED = "Interrupted by the person before the code began; nothing was run."


class RunPythonParameters(Parameters):
    code: str = Field(
        max_length=INPUT_LIMIT,
        description="Python code; the value of its last expression comes back.",
    )


class RunPython(Tool[RunPythonParameters]):
    """Run Python code in the person's live kernel, like a notebook cell: their variables are
    there, top-level await works, figures and output appear in the notebook. Returns what it
    printed, the value of the last expression, and the traceback if it failed."""

    name = "run_python"
    toolset = "kernel"
    access = "kernel"
    guidance = "Run code in the kernel only where looking is not enough."
    parameters = RunPythonParameters

    def __init__(self, live: Live, namespace: Namespace | None = None) -> None:
        """With a namespace, code that certainly fails on a name that is not there is not run."""
        self._live, self._namespace = live, namespace

    def summary(self, parameters: RunPythonParameters) -> str:
        lines = parameters.code.strip().splitlines() or [""]
        return lines[0] + (f" … ({len(lines)} lines)" if len(lines) > 1 else "")

    def subject(self, parameters: RunPythonParameters, context: ToolContext) -> Subject:
        verdict = self._verdict(parameters.code)
        return Subject(
            self.name,
            self.access,
            (parameters.code,),
            title=f"{TITLE} {verdict.hint}".rstrip() + f"\n{foreseen(parameters.code)}".rstrip(),
            grant="everything",
            grant_label="all code in the kernel, whatever it does",
            fault=verdict.refusal,
        )

    async def run(self, parameters: RunPythonParameters, context: ToolContext) -> ToolResult:
        verdict = NO_VERDICT

        def look() -> None:  # once more: a cell that was queued may have changed a table meanwhile
            nonlocal verdict
            verdict = self._verdict(parameters.code)
            if verdict.refusal:
                raise ToolFailed(verdict.refusal)

        result = await ran(self._live, parameters.code, context, first=look)
        warned = f"{result.text.rstrip()}\n{verdict.warning}".rstrip()
        return replace(result, text=warned) if verdict.warning else result

    def _verdict(self, code: str) -> Verdict:
        """What the code uses that is not there, as far as that is known before it runs."""
        if self._namespace is None:
            return NO_VERDICT
        seen = self._namespace
        try:
            return check(code, Schema(seen.variables(), seen.closed(), seen.columns))
        except Exception:  # a fault of ours costs what it would have found, and not the call
            log.exception("the column guard failed")
            return NO_VERDICT


async def ran(
    live: Live,
    code: str,
    context: ToolContext,
    told: Callable[[CodeResult], str] = CodeResult.text,
    first: Callable[[], None] = lambda: None,
) -> ToolResult:
    """What comes of code in the kernel; `told` says what the model reads where it ran well, `first`
    is called on main before it."""
    loop = asyncio.get_running_loop()
    so_far = Ends(PARTIAL_LIMIT)
    listening = True

    def say(text: str) -> None:
        if listening:  # code that outlives its call has nobody to tell
            so_far.add(text)
            context.output(text)

    def output(text: str) -> None:  # on main, or the thread that batches
        loop.call_soon_threadsafe(say, text)

    running = asyncio.ensure_future(live.run(code, output, first=first))
    try:
        result = await asyncio.shield(running)
        if result.pictures:
            context.emit(PicturesDrawn(context.call_id, result.pictures))
        if result.interrupted:
            return ToolResult("interrupted", f"{INTERRUPTED}\n{result.text()}")
        return ToolResult("ok", told(result)) if result.ok else ToolResult("failed", result.text())
    except JobInterrupted:
        return ToolResult("interrupted", DROPPED)
    except asyncio.CancelledError:
        return await _stopped(live, running, so_far)
    finally:
        listening = False


async def _stopped(live: Live, running: asyncio.Future[CodeResult], so_far: Ends) -> ToolResult:
    live.interrupt()
    await asyncio.wait({running}, timeout=STOP_SECONDS)
    if not running.done():
        running.add_done_callback(_seen)
        return ToolResult("interrupted", f"{NATIVE}\n{so_far.text()}")
    if running.cancelled() or running.exception() is not None:
        return ToolResult("interrupted", DROPPED)
    return ToolResult("interrupted", f"{INTERRUPTED}\n{running.result().text()}")


def _seen(running: asyncio.Future[CodeResult]) -> None:
    """Code that outlived its turn: nothing waits for its result any more."""
    if not running.cancelled():
        running.exception()
