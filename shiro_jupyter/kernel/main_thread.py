"""The kernel's main thread: one list of pending jobs, served by whichever cell runs a turn.

Only main may run the person's code and call `input()`. The agent's thread puts jobs on the
list; a cell that waits for a turn takes them off, whosesoever turn they belong to, so that a
queued cell and a background turn can never wait for each other. Where no cell serves, the host
is told (`unserved`) and sends the kernel a request that says no more than "drain the list".

One SIGINT handler holds while main serves. It raises KeyboardInterrupt only while a job runs;
else it tells the agent. (Swapping handlers around each job would leave a gap in which an
interrupt kills the serving cell.)
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import queue
import signal
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from . import compat

T = TypeVar("T")


class JobInterrupted(Exception):
    """The person interrupted a job on the main thread, or it was cancelled before it began."""


@dataclass(eq=False)
class Job:
    """Something to run on main. `owner` is the turn it belongs to; `context` is that turn's."""

    run: Callable[[], Any]
    awaited: Callable[[], Awaitable[Any]] | None
    stdin: bool
    owner: object
    context: contextvars.Context
    future: concurrent.futures.Future[Any] = field(default_factory=concurrent.futures.Future)
    interrupts: int = 0
    task: asyncio.Task[Any] | None = None


@dataclass(eq=False)
class Server:
    """A cell, or a drain, that takes jobs off the list. `stdin`: it may call `input()`."""

    wake: Callable[[], None]
    stdin: bool
    owner: object
    # Context variables that jobs changed, for the cells after this one.
    carried: dict[contextvars.ContextVar[Any], Any] = field(default_factory=dict)


class MainThread:
    """The list, its servers, and the interrupts that arrive meanwhile.

    `interrupted` is called on main for an interrupt while no job runs, `insisted` for a second
    one of the same job; both only hand over to the agent's thread. `unserved` is called on the
    agent's thread when a job finds nobody to run it.
    """

    def __init__(
        self,
        interrupted: Callable[[], None],
        insisted: Callable[[], None],
        unserved: Callable[[], None],
    ) -> None:
        self._interrupted, self._insisted, self._unserved = interrupted, insisted, unserved
        self._jobs: deque[Job] = deque()
        self._servers: list[Server] = []
        self._lock = threading.Lock()
        self._current: Job | None = None

    @property
    def running(self) -> bool:
        """Whether a job runs on main now: code that a turn started may not start a turn."""
        return self._current is not None

    @property
    def waiting_for_stdin(self) -> bool:
        return any(job.stdin for job in list(self._jobs))

    # -- on the agent's thread -------------------------------------------------------------

    async def run(
        self,
        work: Callable[[], T],
        *,
        awaited: Callable[[], Awaitable[T]] | None = None,
        stdin: bool = False,
        owner: object = None,
        stuck: Callable[[], None] = lambda: None,
    ) -> T:
        """Run `work()` on main and answer its value, or raise what it raised.

        `awaited()` is taken instead where main's own loop serves, so that top-level await
        works; `stdin` waits for a server that may call `input()`. Cancelling takes the job off
        the list, or interrupts it and waits until it has ended (`stuck` is called once if that
        takes over a second). KeyboardInterrupt comes as `JobInterrupted`.
        """
        job = Job(work, awaited, stdin, owner, contextvars.copy_context())
        with self._lock:
            self._jobs.append(job)
        future = asyncio.wrap_future(job.future)
        self._announce()
        try:
            return await asyncio.shield(future)  # type: ignore[no-any-return]
        except asyncio.CancelledError:
            if not job.future.cancel():
                self._interrupt(job)
                await _ended(future, stuck)
            raise

    def _announce(self) -> None:
        with self._lock:
            server = self._servers[-1] if self._servers else None
        if server:
            server.wake()
        elif any(not job.stdin for job in list(self._jobs)):
            self._unserved()

    def refuse(self, reason: str) -> None:
        """Fail the waiting jobs: nothing will ever run them."""
        with self._lock:
            jobs, self._jobs = list(self._jobs), deque()
        for job in jobs:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(JobInterrupted(reason))

    def _interrupt(self, job: Job) -> None:
        if self._current is job:
            compat.interrupt_main()

    # -- on main ---------------------------------------------------------------------------

    async def serve(self, ended: concurrent.futures.Future[Any], server: Server) -> None:
        """Run jobs until `ended`, awaiting in between: main's loop stays alive."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()
        server.wake = lambda: loop.call_soon_threadsafe(woken.set)  # type: ignore[assignment]
        ended.add_done_callback(lambda _: server.wake())
        with self._serving(server):
            while True:
                try:
                    woken.clear()
                    while job := self._next(server):
                        await self._await_job(job, server)
                    if ended.done():
                        return
                    await woken.wait()
                except asyncio.CancelledError:
                    # The kernel's own way to interrupt a cell, or the kernel closing.
                    if task := asyncio.current_task():
                        task.uncancel()
                    self._insisted()
                except KeyboardInterrupt:  # came as a job ended
                    self._interrupted()

    def serve_blocking(self, ended: concurrent.futures.Future[Any], server: Server) -> None:
        """Run jobs until `ended`, blocking main in between."""
        wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        server.wake = lambda: wakes.put(None)
        ended.add_done_callback(lambda _: server.wake())
        with self._serving(server):
            while True:
                try:
                    while job := self._next(server):
                        self._run_job(job, server)
                    if ended.done():
                        return
                    # With a time-out, since a wait without one hides ctrl-c on Windows.
                    wakes.get(timeout=1.0)
                except queue.Empty:
                    continue
                except KeyboardInterrupt:
                    self._interrupted()

    async def drain(self) -> None:
        """Run what waits now, in a request of its own; for turns whose cell has ended."""
        done: concurrent.futures.Future[None] = concurrent.futures.Future()
        done.set_result(None)
        await self.serve(done, Server(lambda: None, stdin=False, owner=None))

    def drain_blocking(self) -> None:
        done: concurrent.futures.Future[None] = concurrent.futures.Future()
        done.set_result(None)
        self.serve_blocking(done, Server(lambda: None, stdin=False, owner=None))

    def _next(self, server: Server) -> Job | None:
        with self._lock:
            for job in self._jobs:
                if server.stdin or not job.stdin:
                    self._jobs.remove(job)
                    return job
        return None

    def _run_job(self, job: Job, server: Server) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        value, error = None, None
        try:
            self._current = job
            value = job.run() if job.owner is server.owner else job.context.run(job.run)
        except BaseException as raised:
            self._current = None
            error = raised
        self._current = None
        _resolve(job, value, error)

    async def _await_job(self, job: Job, server: Server) -> None:
        if job.awaited is None:
            self._run_job(job, server)
            return
        if not job.future.set_running_or_notify_cancel():
            return
        ours = job.owner is server.owner
        context = contextvars.copy_context() if ours else job.context
        value, error = None, None
        job.task = asyncio.get_running_loop().create_task(_value(job.awaited), context=context)
        try:
            self._current = job
            value = await asyncio.shield(job.task)
        except BaseException as raised:
            error = raised
            if not job.task.done():  # the cell itself was cancelled: the code goes with it
                job.task.cancel()
                await asyncio.wait({job.task})
        finally:
            self._current = None
        _resolve(job, value, error)
        if ours:
            _carry(context, server)

    # -- interrupts ------------------------------------------------------------------------

    @contextmanager
    def _serving(self, server: Server) -> Iterator[None]:
        with self._lock:
            self._servers.append(server)
        on_main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self._on_sigint) if on_main else None
        try:
            yield
        finally:
            if on_main:
                signal.signal(signal.SIGINT, before)
            with self._lock:
                self._servers.remove(server)
                left = bool(self._jobs) and not self._servers
            if left:
                self._unserved()

    def _on_sigint(self, signum: int, frame: FrameType | None) -> None:
        job = self._current
        if job is None:
            self._interrupted()
            return
        job.interrupts += 1
        if job.interrupts > 1:
            self._insisted()
        if job.task is not None:
            loop = job.task.get_loop()
            if asyncio.current_task(loop) is not job.task:
                loop.call_soon_threadsafe(job.task.cancel)
                return
        raise KeyboardInterrupt


async def _value(make: Callable[[], Awaitable[T]]) -> T:
    return await make()


async def _ended(future: asyncio.Future[Any], stuck: Callable[[], None]) -> None:
    await asyncio.wait({future}, timeout=1.0)
    if not future.done():
        stuck()
        await asyncio.wait({future})
    if not future.cancelled():
        future.exception()  # seen: nothing is logged for it


def _resolve(job: Job, value: Any, error: BaseException | None) -> None:
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | SystemExit):
        # These would end the agent's loop, where only the job was meant.
        error = JobInterrupted("The person interrupted it.")
    if error is not None:
        job.future.set_exception(error)
    else:
        job.future.set_result(value)


def _carry(context: contextvars.Context, server: Server) -> None:
    """Take over what a task changed in its copy of our context."""
    missing = object()
    for variable, value in context.items():
        if variable.get(missing) is not value:
            variable.set(value)
            server.carried[variable] = value
