"""The kernel's main thread: one list of pending jobs, served by whichever cell runs a turn.

Only main may run the person's code and call `input()`. The agent's thread puts jobs on the
list; a cell that waits for a turn takes them off, whosesoever turn they belong to, so that a
queued cell and a background turn can never wait for each other. Where no cell serves, the host
is told (`unserved`) and sends the kernel a request that says no more than "drain the list".

One SIGINT handler holds while main serves. It raises KeyboardInterrupt only while a job runs,
and tells the agent each time. (Swapping handlers around each job would leave a gap in which an
interrupt kills the serving cell.)
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar, cast

from ..core.errors import ToolFailed
from . import compat, hold
from .contexts import carry

T = TypeVar("T")
Interrupted = Callable[[object], concurrent.futures.Future[bool]]
# Seconds that running code has to handle one interrupt before another stop is passed on to it.
GRACE = 0.5


class JobInterrupted(Exception):
    """The person interrupted a job on the main thread."""


@dataclass(eq=False)
class Job:
    """Something to run on main. `owner` is the turn it belongs to; `context` is that turn's.

    `served_by` is the cell that runs it, and in whose context it runs where it is to be `here`.
    """

    run: Callable[[], Any]
    awaited: Callable[[], Awaitable[Any]] | None
    stdin: bool
    owner: object
    context: contextvars.Context
    here: bool
    future: concurrent.futures.Future[Any] = field(default_factory=concurrent.futures.Future)
    task: asyncio.Task[Any] | None = None
    stopped_at: float = 0.0  # by the monotonic clock; 0 for never
    served_by: Server | None = None


@dataclass(eq=False)
class Server:
    """A cell, or a drain, that takes jobs off the list. `stdin`: it may call `input()`."""

    stdin: bool = False
    owner: object = None
    wake: Callable[[], object] = lambda: None
    waits_for: object = None  # the turn that an interrupt is for, where it is not the owner's
    before: Any = None  # the SIGINT handler to put back
    interrupts: list[concurrent.futures.Future[bool]] = field(default_factory=list)

    @property
    def missed(self) -> bool:
        """Whether one came too late for the turn that has ended; waits for the agent's word."""
        seen = concurrent.futures.wait(self.interrupts, GRACE).done
        return any(not each.result() for each in seen)


class MainThread:
    """The list, its servers, and the interrupts that arrive meanwhile.

    `interrupted` is called on main for each interrupt of the person's while main serves, with
    the owner of what runs or waits there; the agent's thread says later whether there was anything
    to end. `unserved` is called when a job finds nobody to run it, on any thread.
    """

    def __init__(self, interrupted: Interrupted, unserved: Callable[[], None]) -> None:
        self._interrupted, self._unserved = interrupted, unserved
        self._jobs: deque[Job] = deque()
        self._servers: list[Server] = []
        self._lock = threading.Lock()
        self._current: Job | None = None
        self._signalled: Job | None = None  # the next SIGINT is ours, and is for this

    @property
    def busy(self) -> bool:
        """Whether a job runs on main now: code that a turn runs may not start a turn."""
        return self._current is not None

    @property
    def foreign(self) -> bool:
        """Whether the job that runs is of another turn than the cell that serves it."""
        job = self._current
        return bool(job and job.served_by and job.owner is not job.served_by.owner)

    @property
    def answerable(self) -> bool:
        """Whether a cell serves that may call `input()`."""
        return any(server.stdin for server in list(self._servers))

    @property
    def held(self) -> bool:
        """Whether a cell of ours is on main until a turn has ended; a drain ends by itself."""
        return any(each.stdin or each.owner or each.waits_for for each in list(self._servers))

    @property
    def questions(self) -> bool:
        """Whether jobs wait that need `input()`."""
        return any(job.stdin for job in list(self._jobs))

    @property
    def pending(self) -> bool:
        """Whether jobs wait that any server can run."""
        return any(not job.stdin for job in list(self._jobs))

    # -- on the agent's thread -------------------------------------------------------------

    async def run(
        self,
        work: Callable[[], T],
        *,
        awaited: Callable[[], Awaitable[T]] | None = None,
        stdin: bool = False,
        owner: object = None,
    ) -> T:
        """Run `work()` on main and answer its value, or raise what it raised.

        `awaited()` is taken instead where main's own loop serves, so that top-level await
        works; `stdin` waits for a server that may call `input()`. Cancelling takes the job off
        the list, or interrupts it and waits until it has ended. KeyboardInterrupt comes as
        `JobInterrupted`.
        """
        return cast(T, await self.result(self.put(work, awaited=awaited, stdin=stdin, owner=owner)))

    def put(
        self,
        work: Callable[[], Any],
        *,
        awaited: Callable[[], Awaitable[Any]] | None = None,
        stdin: bool = False,
        owner: object = None,
        here: bool = False,
    ) -> Job:
        job = Job(work, awaited, stdin, owner, contextvars.copy_context(), here or stdin)
        with self._lock:
            self._jobs.append(job)
        self._announce()
        return job

    async def result(self, job: Job) -> Any:
        future = asyncio.wrap_future(job.future)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            self.stop(job)
            await asyncio.wait({future})
            if not future.cancelled():
                future.exception()  # seen: nothing is logged for it
            raise

    def stop(self, job: Job) -> None:
        """Take a job off the list, or interrupt it where it has begun; returns at once."""
        if job.future.cancel():
            with self._lock, suppress(ValueError):
                self._jobs.remove(job)
            return
        with self._lock:
            if self._current is job and time.monotonic() - job.stopped_at > GRACE:
                self._signalled = job
                compat.signal_main(signal.SIGINT)

    def _announce(self) -> None:
        with self._lock:
            server = self._servers[-1] if self._servers else None
        if server:
            server.wake()
        elif self.pending:
            self._unserved()

    def refuse(self, reason: str) -> None:
        """Fail the waiting jobs that need no person: nothing will ever run them."""
        with self._lock:
            jobs = [job for job in self._jobs if not job.stdin]
            self._jobs = deque(job for job in self._jobs if job.stdin)
        for job in jobs:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(ToolFailed(reason))

    # -- on main ---------------------------------------------------------------------------

    async def serve(self, ended: concurrent.futures.Future[Any], server: Server) -> None:
        """Run jobs until `ended`, awaiting in between: main's loop stays alive.

        On any other thread both forms only wait: jobs run on main alone.
        """
        if not compat.on_main():
            await asyncio.wait({asyncio.wrap_future(ended)})
            return
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()
        server.wake = lambda: loop.call_soon_threadsafe(woken.set)
        ended.add_done_callback(lambda _: server.wake())
        with self.serving(server):
            while True:
                try:
                    woken.clear()
                    while job := self._next(server):
                        await self._await_job(job, server)
                    if ended.done():
                        return
                    await woken.wait()
                except asyncio.CancelledError:
                    # The kernel's own way to interrupt a cell, before our handler was there.
                    if task := asyncio.current_task():
                        task.uncancel()
                    server.interrupts.append(self._interrupted(server.owner))
                except KeyboardInterrupt:  # it came just as a job ended
                    continue

    def serve_blocking(
        self,
        ended: concurrent.futures.Future[Any],
        server: Server,
        seconds: float = float("inf"),
    ) -> None:
        """Run jobs until `ended`, or for so long, blocking main in between."""
        if not compat.on_main():
            concurrent.futures.wait([ended], min(seconds, threading.TIMEOUT_MAX))
            return
        until = time.monotonic() + seconds
        wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        server.wake = lambda: wakes.put(None)
        ended.add_done_callback(lambda _: server.wake())
        with self.serving(server):
            while True:
                try:
                    while job := self._next(server):
                        self._run_job(job, server)
                    left = until - time.monotonic()
                    if ended.done() or left <= 0:
                        return
                    # With a time-out, since a wait without one hides ctrl-c on Windows.
                    wakes.get(timeout=min(left, 1.0))
                except (queue.Empty, KeyboardInterrupt):
                    continue

    async def drain(self) -> None:
        """Run what waits now, in a request of its own; for turns whose cell has ended."""
        await self.serve(_now(), Server())

    def drain_blocking(self) -> None:
        self.serve_blocking(_now(), Server())

    def _next(self, server: Server) -> Job | None:
        with self._lock:
            job = next((each for each in self._jobs if server.stdin or not each.stdin), None)
            if job:
                self._jobs.remove(job)
            return job

    def _run_job(self, job: Job, server: Server) -> None:
        if not job.future.set_running_or_notify_cancel():
            return
        value, error = None, None
        try:
            self._current, job.served_by = job, server
            # Front ends ask for input in the cell that runs, whosesoever question it is.
            here = job.here or job.owner is server.owner
            value = job.run() if here else job.context.run(job.run)
            self._current = None  # no call comes between, and so no interrupt
        except BaseException as raised:
            self._current, error = None, raised
        self._job_ended(server)
        _resolve(job, value, error)

    async def _await_job(self, job: Job, server: Server) -> None:
        if job.awaited is None:
            self._run_job(job, server)
            return
        if not job.future.set_running_or_notify_cancel():
            return
        ours = job.here or job.owner is server.owner
        context = contextvars.copy_context() if ours else job.context
        value, error = None, None
        # A task, so that an interrupt can cancel code that awaits and nothing else.
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
            self._job_ended(server)
        _resolve(job, value, error)
        if ours:
            carry(context)

    # -- interrupts ------------------------------------------------------------------------

    @contextmanager
    def serving(self, server: Server) -> Iterator[None]:
        """Announce a server, so that no job goes looking for one, and take its interrupts.

        Around all that a cell does for its turn: what has entered it may serve at any time.
        """
        if not compat.on_main() or server in self._servers:
            yield
            return
        server.before = signal.getsignal(signal.SIGINT)
        try:
            with self._lock:
                self._servers.append(server)
            self._hold_sigint(server)
            yield
        finally:
            with hold.held():
                try:
                    signal.signal(signal.SIGINT, server.before or signal.SIG_DFL)
                finally:
                    with self._lock:
                        self._servers.remove(server)
                        served = bool(self._servers)
                if self.pending and not served:
                    self._unserved()

    def _job_ended(self, server: Server) -> None:
        with self._lock:  # a signal of ours has come by now, or never will
            self._signalled = None
        self._hold_sigint(server)

    def _hold_sigint(self, server: Server) -> None:
        """Have our handler in place; one that a job has put there is for when we are done."""
        before = signal.getsignal(signal.SIGINT)
        if before != self._on_sigint:
            signal.signal(signal.SIGINT, self._on_sigint)
            server.before = before

    def _on_sigint(self, signum: int, frame: FrameType | None) -> None:
        signalled, self._signalled = self._signalled, None
        job, server = self._current, self._servers[-1]
        if job is None:
            if signalled is None:
                server.interrupts.append(self._interrupted(server.waits_for or server.owner))
            return
        job.stopped_at = time.monotonic()
        if signalled is not job:
            self._interrupted(job.owner)
        loop = job.task.get_loop() if job.task else None
        if job.task and loop and asyncio.current_task(loop) is not job.task:
            # The code awaits: raising here would end the kernel's event loop instead.
            loop.call_soon_threadsafe(job.task.cancel)
            return
        if not hold.postponed():
            raise KeyboardInterrupt


async def _value(make: Callable[[], Awaitable[T]]) -> T:
    """A KeyboardInterrupt or SystemExit that left a task would end the kernel's event loop."""
    try:
        return await make()
    except (KeyboardInterrupt, SystemExit) as error:
        raise _harmless(error) from error


def _now() -> concurrent.futures.Future[None]:
    ended: concurrent.futures.Future[None] = concurrent.futures.Future()
    ended.set_result(None)
    return ended


def _harmless(error: BaseException) -> Exception:
    """What ends the job alone, and neither the agent's loop nor its turn."""
    if isinstance(error, Exception):
        return error
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return JobInterrupted("The person interrupted it.")
    return ToolFailed(f"It raised {type(error).__name__} and was not run to its end.")


def _resolve(job: Job, value: Any, error: BaseException | None) -> None:
    if error is not None:
        job.future.set_exception(_harmless(error))
    else:
        job.future.set_result(value)
