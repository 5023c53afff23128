"""The fresh kernel: cells run from top to bottom, by nbclient, until the first that fails.

The kernel carries a mark in its environment, so that it ends with all that its cells started,
whatever ends the run. It loads nothing of ours, unless a cell does, and then calls no model.
"""

from __future__ import annotations

import ast
import asyncio
import importlib.metadata
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...core.errors import UsageError
from ...core.workspace.processes import Processes
from ...core.workspace.project import CHECKED
from ...core.workspace.threads import in_thread, settled
from ..rerun import NEVER
from ..saved_answers import CHECKING, SavedAnswers
from .cells import FAILS, SKIPPED, CodeCell, Notebook
from .scratch import Place

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

WITHIN = "A check runs this code: no other one begins within it."
NOT_STARTED = "The kernel died as it started, twice: see what {} says in a terminal."
OUTPUT_KEPT = 2_000_000  # characters of a cell's outputs, of which the rest is dropped
STARTUP = 120  # seconds for the kernel to be ready
TICK = 0.5  # seconds between two words of progress
NAMES = "__import__('json').dumps([n for n in get_ipython().user_ns if n[0] != '_'])"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_RULE = re.compile(r"\A\s*-{20,}\s*\n")  # above IPython's tracebacks, as wide as no place of ours

# `input`: it asks for input. `exited`: it called `exit()`, and cells are left.
Kind = Literal["error", "input", "timeout", "died", "exited"]


@dataclass(frozen=True)
class Failure:
    """Why the run ended at a cell. `name` is the error's class, `said` its sentence."""

    cell: CodeCell
    kind: Kind
    name: str
    said: str
    traceback: str = ""


@dataclass(frozen=True)
class Ran:
    """A cell that was run, in seconds, with its outputs as a notebook file has them.
    `passed_over`: it is a `%shiro` cell, whose answer is not recorded."""

    cell: CodeCell
    seconds: float
    outputs: tuple[Mapping[str, Any], ...]
    passed_over: bool = False


@dataclass(frozen=True)
class Progress:
    """`ran` is None while it runs."""

    cell: CodeCell
    at: int
    of: int
    seconds: float
    ran: bool = False


@dataclass
class Run:
    """What has come of it by now. `names` are those of the namespace at its end, None where it
    could not be asked any more. `python` says what ran it, where that is not its kernelspec."""

    ran: list[Ran] = field(default_factory=list)
    failure: Failure | None = None
    names: frozenset[str] | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Fresh:
    """How to run. `python`: this interpreter's kernel, else the notebook's kernelspec where there
    is one. `timeout` are seconds a cell, None for as long as it takes."""

    processes: Processes
    place: Place
    python: bool = False
    live: bool = False
    timeout: float | None = None

    async def run(self, notebook: Notebook, run: Run, tell: Callable[[Progress], None]) -> None:
        """Fills `run` as it goes; a caller who is cancelled has what had come by then. Raises
        `UsageError` where no kernel can be started."""
        with tempfile.TemporaryDirectory(
            prefix="shiro-check-", ignore_cleanup_errors=True
        ) as folder:
            await self._run(notebook, run, tell, SavedAnswers(Path(folder, "answers")))

    async def _run(
        self,
        notebook: Notebook,
        run: Run,
        tell: Callable[[Progress], None],
        saved: SavedAnswers,
    ) -> None:
        environment, mark = self.processes.marked_environment()
        environment = self.place.environment(environment)
        environment["JPY_SESSION_NAME"] = str(self.place.folder / notebook.path.name)
        environment[CHECKED] = str(notebook.path)
        environment[CHECKING] = str(saved.path)
        environment["SHIRO_LIVE"] = "1" if self.live else NEVER
        manager = await in_thread(self._manager, notebook, run)
        client, replies = await in_thread(_client, _nodes(notebook.cells), manager)
        try:
            if not await self._starts(client, manager, environment):
                # Another kernel took one of its ports meanwhile: with others this works.
                manager = await in_thread(self._manager, notebook, Run())
                client, replies = await in_thread(_client, _nodes(notebook.cells), manager)
                if not await self._starts(client, manager, environment):
                    raise UsageError(NOT_STARTED.format(self.python_of(manager)))
            await self._cells(client, replies, notebook, run, tell, saved)
            if run.failure is None or run.failure.kind not in ("died", "timeout", "exited"):
                run.names = await _names(client)
        finally:
            ending = asyncio.create_task(_end(client, manager, self.processes, mark))
            if await settled(ending):
                raise asyncio.CancelledError
            ending.result()

    def _manager(self, notebook: Notebook, run: Run) -> AsyncKernelManager:
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import AsyncKernelManager

        if notebook.kernel and not self.python:
            if notebook.kernel in KernelSpecManager().find_kernel_specs():
                return AsyncKernelManager(kernel_name=notebook.kernel)
            run.notes.append(
                f"There is no kernelspec {notebook.kernel!r} here: run by {sys.executable}."
            )
        manager = AsyncKernelManager()
        spec = manager.kernel_spec
        if spec is None:  # of ipykernel itself, so that it is always there
            raise UsageError("No kernel can be started: install ipykernel.")
        spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return manager

    @staticmethod
    def python_of(manager: AsyncKernelManager) -> str:
        """The command that starts the kernel."""
        argv = manager.kernel_spec.argv if manager.kernel_spec else []
        return " ".join(argv[:3])

    async def _starts(
        self, client: NotebookClient, manager: AsyncKernelManager, environment: dict[str, str]
    ) -> bool:
        """Whether it is ready; raises `UsageError` where there is nothing to start."""
        if "ipykernel" in self.python_of(manager):  # the person's history is not of this
            client.extra_arguments = ["--HistoryManager.hist_file=:memory:"]
        try:
            await client.async_start_new_kernel(
                env=environment,
                cwd=str(self.place.folder),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, ValueError) as error:
            raise UsageError(f"The notebook's kernel did not start: {error}.") from error
        try:
            await client.async_start_new_kernel_client()
        except RuntimeError:  # nbclient has ended it
            return False
        return True

    async def _cells(
        self,
        client: NotebookClient,
        replies: dict[int, Mapping[str, Any]],
        notebook: Notebook,
        run: Run,
        tell: Callable[[Progress], None],
        saved: SavedAnswers,
    ) -> None:
        cells = [
            (at, cell)
            for at, cell in enumerate(notebook.cells)
            if cell.source.strip() and SKIPPED not in cell.tags
        ]
        for at, cell in cells:
            started = time.monotonic()

            def said(ran: bool, cell: CodeCell = cell, at: int = at, t: float = started) -> None:
                tell(Progress(cell, at + 1, len(notebook.cells), time.monotonic() - t, ran))

            await in_thread(saved.hand, cell.answers)
            ended = await self._cell(client, at, lambda said=said: said(False))  # type: ignore[misc]
            outputs = tuple(client.nb.cells[at].outputs)
            passed_over = await in_thread(saved.passed_over)
            run.ran.append(Ran(cell, time.monotonic() - started, outputs, passed_over))
            said(True)
            reply = replies.get(at, {})
            run.failure = _failure(cell, ended, reply, self.timeout, client)
            if run.failure is None and _exits(reply) and at != cells[-1][0]:
                run.failure = Failure(cell, "exited", "", "")
            if run.failure:
                return

    async def _cell(
        self, client: NotebookClient, at: int, tick: Callable[[], None]
    ) -> Literal["ended", "timeout", "died"]:
        task = asyncio.ensure_future(client.async_execute_cell(client.nb.cells[at], at))
        until = None if self.timeout is None else time.monotonic() + self.timeout
        try:
            while not (await asyncio.wait({task}, timeout=TICK))[0]:
                tick()
                if until is not None and time.monotonic() > until:
                    return "timeout"
        finally:
            if not task.done():  # nbclient takes it for the kernel's death
                task.cancel()
                await asyncio.wait({task})
            error = task.exception()
        if error is not None and type(error).__name__ != "DeadKernelError":
            raise error
        return "died" if error else "ended"


def _nodes(cells: Sequence[CodeCell]) -> _Node:
    made = [
        _Node(
            cell_type="code",
            source=cell.source,
            id=cell.id,
            metadata=_Node(tags=list(cell.tags)),
            outputs=[],
            execution_count=None,
        )
        for cell in cells
    ]
    return _Node(cells=made, metadata=_Node())


class _Node(dict[str, Any]):
    """What nbclient takes for a notebook, without the seconds that importing nbformat takes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def _client(
    notebook: _Node, manager: AsyncKernelManager
) -> tuple[NotebookClient, dict[int, Mapping[str, Any]]]:
    """A client that keeps each cell's reply, and of its outputs as much as is compared."""
    from nbclient import NotebookClient

    replies: dict[int, Mapping[str, Any]] = {}
    room: dict[int, int] = {}

    class Bounded(NotebookClient):
        def output(self, outs: Any, msg: Any, display_id: Any, cell_index: int) -> Any:
            left = room.get(cell_index, OUTPUT_KEPT)
            room[cell_index] = left - len(str(msg["content"]))
            return super().output(outs, msg, display_id, cell_index) if left > 0 else None

    def executed(cell: Any, cell_index: int, execute_reply: Mapping[str, Any]) -> None:
        replies[cell_index] = execute_reply["content"]

    client = Bounded(
        notebook,  # type: ignore[arg-type]
        manager,
        allow_errors=True,
        on_cell_executed=executed,
        record_timing=False,
        startup_timeout=STARTUP,
        coalesce_streams=False,  # done by patterns that take hours on a long line
    )
    return client, replies


def _failure(
    cell: CodeCell,
    ended: str,
    reply: Mapping[str, Any],
    timeout: float | None,
    client: NotebookClient,
) -> Failure | None:
    if ended == "timeout":
        return Failure(cell, "timeout", "", f"not done after {timeout:g} s")
    if ended == "died":
        return Failure(cell, "died", "", _death(client))
    if reply.get("status") != "error" or FAILS in cell.tags:
        return None
    name, said = str(reply.get("ename", "")), str(reply.get("evalue", ""))
    if name == "StdinNotImplementedError":
        return Failure(cell, "input", name, said)
    traceback = _COLOURS.sub("", "\n".join(map(str, reply.get("traceback") or ())))
    return Failure(cell, "error", name, said, _RULE.sub("", traceback).strip("\n"))


def _exits(reply: Mapping[str, Any]) -> bool:
    """Whether `exit` or `quit` was called, upon which the kernel ends in its own time."""
    payload = reply.get("payload") or ()
    return any(p.get("source") == "ask_exit" and not p.get("keepkernel") for p in payload)


def _death(client: NotebookClient) -> str:
    process = getattr(getattr(client.km, "provisioner", None), "process", None)
    code = process.poll() if process else None
    if code is not None and code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
        memory = ", as the system does where memory runs out" if name == "SIGKILL" else ""
        return f"the kernel died: ended by {name}{memory}"
    if code == 0:
        return "the kernel ended, as exit() or os._exit(0) make it"
    return "the kernel died" + ("" if code is None else f" with exit code {code}")


async def _names(client: NotebookClient) -> frozenset[str] | None:
    assert client.kc is not None
    request = client.kc.execute("", silent=True, user_expressions={"names": NAMES})
    try:
        async with asyncio.timeout(STARTUP):
            reply = await client.async_wait_for_reply(str(request))
        told = reply["content"]["user_expressions"]["names"]["data"] if reply else {}
        return frozenset(json.loads(ast.literal_eval(told["text/plain"])))
    except (TimeoutError, RuntimeError, KeyError, TypeError, ValueError, SyntaxError):
        return None  # it has ended, or a cell took away what answers


async def _end(
    client: NotebookClient, manager: AsyncKernelManager, processes: Processes, mark: str
) -> None:
    await in_thread(processes.end_marked, mark)
    if client.kc is not None:
        client.kc.stop_channels()
    with suppress(RuntimeError):  # there is none
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)
    await manager.cleanup_resources()


def package_of(said: str) -> str:
    """What to install for a module that was not found, as its error says it."""
    module = said.rpartition("named ")[2].strip("'\"").partition(".")[0]
    usual = {"sklearn": "scikit-learn", "cv2": "opencv-python", "PIL": "pillow", "yaml": "pyyaml"}
    usual |= {"bs4": "beautifulsoup4", "skimage": "scikit-image", "dotenv": "python-dotenv"}
    known = importlib.metadata.packages_distributions().get(module, [])
    return known[0] if known else usual.get(module, module)
