"""The list of main-thread jobs, without a kernel: the test's own thread is main."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import signal
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.kernel.agent_thread import AgentThread
from shiro_jupyter.kernel.hold import without_handler
from shiro_jupyter.kernel.main_thread import JobInterrupted, MainThread, Server

Turn = Callable[[], Coroutine[Any, Any, Any]]


class Rig:
    """A main thread with an agent's thread that gives it work."""

    def __init__(self) -> None:
        self.agent = AgentThread()
        self.interrupts: list[object] = []
        self.unserved = 0
        self.found = True
        self.main = MainThread(self._interrupted, self._unserved)

    def _interrupted(self, owner: object) -> concurrent.futures.Future[bool]:
        self.interrupts.append(owner)
        seen: concurrent.futures.Future[bool] = concurrent.futures.Future()
        seen.set_result(self.found)
        return seen

    def _unserved(self) -> None:
        self.unserved += 1

    def serve(self, turn: Turn, *, awaiting: bool, owner: object = None, stdin: bool = True) -> Any:
        """Run a turn on the agent's thread, with a cell of the given form that serves it."""
        server = Server(stdin=stdin, owner=owner)
        with self.main.serving(server):
            ended = self.agent.spawn(turn)
            if awaiting:
                asyncio.run(self.main.serve(ended, server))
            else:
                self.main.serve_blocking(ended, server)
        return ended.result()


@pytest.fixture
def rig() -> Iterator[Rig]:
    rig = Rig()
    yield rig
    rig.agent.close()


forms = pytest.mark.parametrize("awaiting", [True, False], ids=["awaited", "blocking"])


@forms
def test_a_job_runs_on_main_and_its_value_comes_back(rig: Rig, awaiting: bool) -> None:
    async def turn() -> list[Any]:
        return [await rig.main.run(threading.current_thread), await rig.main.run(lambda: 2)]

    assert rig.serve(turn, awaiting=awaiting) == [threading.main_thread(), 2]
    assert not rig.main.pending
    assert rig.unserved == 0


@forms
def test_what_a_job_raises_is_raised_where_it_was_asked_for(rig: Rig, awaiting: bool) -> None:
    async def turn() -> str:
        with pytest.raises(ZeroDivisionError):
            await rig.main.run(lambda: 1 / 0)
        with pytest.raises(JobInterrupted):
            await rig.main.run(lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        return "went on"

    assert rig.serve(turn, awaiting=awaiting) == "went on"


@forms
def test_an_exit_fails_the_job_alone(rig: Rig, awaiting: bool) -> None:
    def leave() -> None:
        raise SystemExit

    async def awaited() -> None:
        leave()

    async def turn() -> str:
        with pytest.raises(ToolFailed, match="It raised SystemExit and was not run to its end"):
            await rig.main.run(leave)
        with pytest.raises(ToolFailed, match="It raised SystemExit"):
            await rig.main.run(leave, awaited=awaited)
        return await rig.main.run(lambda: "served on")

    assert rig.serve(turn, awaiting=awaiting) == "served on"


@forms
def test_any_server_runs_any_turns_jobs(rig: Rig, awaiting: bool) -> None:
    """A background turn wants main while a queued cell waits for that very turn."""
    mine, other = object(), object()

    async def turn() -> str:
        behind = asyncio.create_task(rig.main.run(lambda: "done", owner=other))
        return await behind

    assert rig.serve(turn, awaiting=awaiting, owner=mine) == "done"


@forms
def test_jobs_of_another_turn_run_in_its_context(rig: Rig, awaiting: bool) -> None:
    variable = contextvars.ContextVar("variable", default="")
    variable.set("the cell's")

    async def turn() -> list[str]:
        variable.set("the turn's")
        return [await rig.main.run(variable.get, owner=owner) for owner in (None, "other")]

    assert rig.serve(turn, awaiting=awaiting) == ["the cell's", "the turn's"]


def test_an_awaited_job_is_awaited_and_its_variables_stay(rig: Rig) -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    async def job() -> str:
        await asyncio.sleep(0)
        variable.set("by the job")
        return "awaited"

    async def turn() -> str:
        return await rig.main.run(lambda: "blocking", awaited=job)

    async def cell() -> tuple[str, str]:
        ended = rig.agent.spawn(turn)
        await rig.main.serve(ended, Server())
        return ended.result(), variable.get()

    assert asyncio.run(cell()) == ("awaited", "by the job")
    assert rig.serve(turn, awaiting=False) == "blocking"


def test_a_job_that_needs_a_person_waits_for_a_server_that_has_one(rig: Rig) -> None:
    asked = rig.agent.spawn(lambda: rig.main.run(lambda: "typed", stdin=True))

    async def nothing() -> None:
        pass

    rig.serve(nothing, awaiting=False, stdin=False)
    assert rig.main.questions
    assert rig.unserved == 0  # no drain could answer it
    rig.serve(nothing, awaiting=False)
    assert asked.result(5) == "typed"


def test_a_drain_runs_what_nobody_serves(rig: Rig) -> None:
    put = threading.Event()

    async def turn() -> str:
        job = rig.main.put(lambda: "drained")
        put.set()
        return str(await rig.main.result(job))

    asked = rig.agent.spawn(turn)
    assert put.wait(5)
    assert rig.unserved == 1
    rig.main.drain_blocking()
    assert asked.result(5) == "drained"
    asyncio.run(rig.main.drain())  # nothing left is no harm


def test_jobs_that_nothing_can_run_are_refused_with_the_reason(rig: Rig) -> None:
    put = threading.Event()

    async def turn() -> str:
        job = rig.main.put(lambda: "never")
        put.set()
        with pytest.raises(ToolFailed, match="no main"):
            await rig.main.result(job)
        return "told"

    asked = rig.agent.spawn(turn)
    assert put.wait(5)
    rig.main.refuse("no main")
    assert asked.result(5) == "told"


@forms
def test_an_interrupt_ends_the_job_and_the_cell_serves_on(rig: Rig, awaiting: bool) -> None:
    begun = threading.Event()

    def job() -> None:
        begun.set()
        threading.Event().wait(30)

    async def turn() -> str:
        with pytest.raises(JobInterrupted):
            await rig.main.run(job, owner="me")
        return await rig.main.run(lambda: "next job")

    threading.Thread(target=lambda: (begun.wait(5), _sigint())).start()
    assert rig.serve(turn, awaiting=awaiting) == "next job"
    assert rig.interrupts == ["me"]


@forms
def test_an_interrupt_between_jobs_is_only_told(rig: Rig, awaiting: bool) -> None:
    told = asyncio.Event()

    async def turn() -> str:
        await rig.main.run(lambda: None)
        _sigint()
        await asyncio.wait_for(told.wait(), 5)
        return "went on"

    tell = rig.main._interrupted
    rig.main._interrupted = lambda owner: (rig.agent.call(told.set), tell(owner))[1]
    assert rig.serve(turn, awaiting=awaiting) == "went on"


def test_an_interrupt_cancels_code_that_awaits(rig: Rig) -> None:
    begun = threading.Event()

    async def job() -> None:
        begun.set()
        await asyncio.sleep(30)

    async def turn() -> str:
        with pytest.raises(JobInterrupted):
            await rig.main.run(lambda: None, awaited=job)
        return "went on"

    threading.Thread(target=lambda: (begun.wait(5), _sigint())).start()
    assert rig.serve(turn, awaiting=True) == "went on"


@forms
def test_cancelling_a_running_job_interrupts_it_and_waits(rig: Rig, awaiting: bool) -> None:
    begun, ended = threading.Event(), []

    def job() -> None:
        try:
            begun.set()
            threading.Event().wait(30)
        finally:
            ended.append(True)

    async def turn() -> list[bool]:
        asked = asyncio.create_task(rig.main.run(job))
        while not begun.is_set():
            await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait({asked})
        assert asked.cancelled()
        return list(ended)

    assert rig.serve(turn, awaiting=awaiting) == [True]
    assert rig.interrupts == []  # the signal was ours


def test_a_job_cancelled_before_it_began_never_runs(rig: Rig) -> None:
    ran: list[bool] = []

    async def turn() -> None:
        asked = asyncio.create_task(rig.main.run(lambda: ran.append(True)))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait({asked})

    rig.agent.spawn(turn).result(5)
    rig.main.drain_blocking()
    assert ran == []
    assert not rig.main.pending


@forms
def test_the_handler_of_signals_is_put_back(rig: Rig, awaiting: bool) -> None:
    async def turn() -> None:
        await rig.main.run(lambda: None)

    before = signal.getsignal(signal.SIGINT)
    rig.serve(turn, awaiting=awaiting)
    assert signal.getsignal(signal.SIGINT) is before


def test_jobs_left_when_a_server_goes_look_for_another(rig: Rig) -> None:
    """They came between the server's last look at the list and its end."""
    ended: concurrent.futures.Future[None] = concurrent.futures.Future()
    ended.set_result(None)
    late = rig.main._next

    def arrives(server: Server) -> Any:
        job = late(server)
        if job is None and not rig.main.pending:
            rig.agent.spawn(lambda: rig.main.run(lambda: "late"))
            while not rig.main.pending:
                pass
        return job

    rig.main._next = arrives  # type: ignore[method-assign]
    rig.main.serve_blocking(ended, Server())
    assert rig.unserved == 1
    rig.main._next = late  # type: ignore[method-assign]
    rig.main.drain_blocking()


def _sigint() -> None:
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)


def test_our_handler_is_taken_off_every_traceback_of_a_chain(rig: Rig) -> None:
    told: list[str] = []

    def work() -> None:
        try:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                raise ValueError("while stopping")  # noqa: B904
        except ValueError as error:
            for change in (lambda error: None, without_handler):
                change(error)
                told.append("".join(traceback.format_exception(error)))

    rig.serve(lambda: rig.main.run(work), awaiting=False)
    before, after = told
    assert "_on_sigint" in before
    assert "_on_sigint" not in after
    assert "raise_signal" in after
    assert "ValueError: while stopping" in after


@forms
def test_a_job_that_sets_the_signal_does_not_disarm_the_turn(rig: Rig, awaiting: bool) -> None:
    before = signal.getsignal(signal.SIGINT)

    async def turn() -> list[object]:
        work = rig.main.run(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN), owner="me")
        await work
        return [await rig.main.run(lambda: signal.getsignal(signal.SIGINT), owner="me")]

    try:
        assert rig.serve(turn, awaiting=awaiting, owner="me") == [rig.main._on_sigint]
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # once the turn is over
    finally:
        signal.signal(signal.SIGINT, before)


@forms
def test_a_stop_that_a_job_ignored_hides_no_interrupt_behind_it(rig: Rig, awaiting: bool) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def deaf() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        begun.set()
        go_on.wait(5)
        signal.signal(signal.SIGINT, before)

    async def turn() -> None:
        job = rig.main.put(deaf)
        while not begun.is_set():
            await asyncio.sleep(0)
        rig.main.stop(job)
        go_on.set()
        await rig.main.result(job)
        while rig.main.busy:
            await asyncio.sleep(0)
        _sigint()
        while not rig.interrupts:
            await asyncio.sleep(0.01)

    before = signal.getsignal(signal.SIGINT)
    rig.serve(lambda: asyncio.wait_for(turn(), 10), awaiting=awaiting, owner="me")
    assert rig.interrupts == ["me"]


@forms
def test_an_interrupt_that_found_nothing_to_end_was_missed(rig: Rig, awaiting: bool) -> None:
    for rig.found in (True, False):
        server, ended = Server(owner="me"), rig.agent.spawn(lambda: asyncio.sleep(0))
        with rig.main.serving(server):
            signal.raise_signal(signal.SIGINT)
            if awaiting:
                asyncio.run(rig.main.serve(ended, server))
            else:
                rig.main.serve_blocking(ended, server)
        assert server.missed is not rig.found


def test_a_server_that_never_serves_is_forgotten(rig: Rig) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), rig.main.serving(Server(stdin=True, owner="me")):
        signal.raise_signal(signal.SIGINT)  # no job runs: told to the turn, raised nowhere
        assert rig.interrupts == ["me"]
        raise ZeroDivisionError
    assert not rig.main.answerable
    assert signal.getsignal(signal.SIGINT) is before


@forms
def test_another_thread_waits_and_runs_no_jobs(rig: Rig, awaiting: bool) -> None:
    ran: list[threading.Thread] = []

    async def turn() -> None:
        ran.append(await rig.main.run(threading.current_thread))

    theirs = threading.Thread(target=lambda: rig.serve(turn, awaiting=awaiting))
    theirs.start()
    while not rig.main.pending:
        theirs.join(0.01)
    rig.main.drain_blocking()
    theirs.join()
    assert ran == [threading.main_thread()]
    assert rig.unserved


def test_main_is_held_by_a_cell_that_waits_and_not_by_a_drain(rig: Rig) -> None:
    async def held() -> bool:
        return rig.main.held

    assert not rig.main.held
    assert rig.serve(held, awaiting=False, owner="turn", stdin=False)
    assert rig.serve(held, awaiting=True, stdin=True)
    drained = rig.agent.spawn(lambda: rig.main.run(lambda: rig.main.held))
    while not rig.main.pending:
        assert not drained.done()
    rig.main.drain_blocking()
    assert drained.result() is False
    assert not rig.main.held
