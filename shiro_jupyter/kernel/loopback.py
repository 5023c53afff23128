"""A request of the kernel to itself, which says no more than "drain the list".

It makes the main thread run the jobs of a turn whose cell has ended. It queues behind a cell
that runs, and a cell that serves a turn takes the jobs first, whichever comes sooner.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from typing import Any

from . import compat
from .agent_thread import AgentThread
from .main_thread import MainThread

CODE = "get_ipython()._shiro_extension.host.main.drain_blocking()"
AWAITED_CODE = "await get_ipython()._shiro_extension.host.main.drain()"
AGAIN_SECONDS = 0.1  # between two looks at a terminal that is busy
PAUSE_SECONDS = 0.05  # before the second try
# ipykernel 7.0 to 7.3 may leave a request unread until somebody connects (its issue 1554): so we
# connect, first after this long, then after twice as long each time. A cell may as well just run.
NUDGE_SECONDS = 1.0

NO_MAIN = (
    "The main thread waits at its prompt and cannot run anything for a turn in the background; "
    "ask again without &."
)


class Unserved:
    """Has main run what waits, though no cell of ours runs."""

    def __init__(self, shell: Any, main: MainThread, thread: AgentThread) -> None:
        self._shell, self._main, self._thread = shell, main, thread
        self._loopback = Loopback(
            lambda: compat.connection_file(shell),
            lambda: compat.awaits(shell),
            lambda: main.pending,
            main.refuse,
        )

    def seek(self) -> None:
        """On any thread."""
        self._thread.call(self._seek)

    def _seek(self) -> None:
        if not self._main.pending:
            return
        if compat.in_kernel(self._shell):
            self._loopback.ask()
        elif not compat.has_prompt(self._shell):
            self._main.refuse(NO_MAIN)
        elif not compat.call_at_prompt(self._shell, self._main.drain_blocking):
            # It runs something of the person's: when that has ended.
            self._thread.loop.call_later(AGAIN_SECONDS, self._seek)


class Loopback:
    """Sends at most one such request at a time; used on the agent's loop.

    `pending` says whether jobs still wait; `refuse` is told why they will not be run.
    """

    def __init__(
        self,
        connection_file: Callable[[], str],
        awaits: Callable[[], bool],
        pending: Callable[[], bool],
        refuse: Callable[[str], None],
    ) -> None:
        self._connection_file, self._awaits = connection_file, awaits
        self._pending, self._refuse = pending, refuse
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        aborted = 0
        while self._pending():
            try:
                status = await self._request()
            except (ImportError, OSError, RuntimeError) as error:
                self._refuse(f"The kernel could not be asked to run it: {error}.")
                return
            if status == "error":
                self._refuse("The kernel did not run it; ask again when the cells have ended.")
                return
            if status == "aborted":
                # Each failing cell of the person's aborts what is queued behind it, ours too; how
                # long a kernel goes on to abort what arrives then is a setting of its own.
                aborted += 1
                await asyncio.sleep(min(aborted * PAUSE_SECONDS, 1.0))

    async def _request(self) -> str:
        from jupyter_client.asynchronous.client import AsyncKernelClient

        # A client of its own has a session of its own: on a shared one replies vanish.
        client: Any = AsyncKernelClient(connection_file=self._connection_file())
        client.load_connection_file()
        client.start_channels(shell=True, iopub=False, stdin=False, hb=False, control=False)
        nudges: list[Any] = []
        try:
            request = client.execute(
                AWAITED_CODE if self._awaits() else CODE,
                silent=True,
                store_history=False,
                allow_stdin=False,
                stop_on_error=False,
            )
            while True:
                try:
                    reply = await client.get_shell_msg(timeout=NUDGE_SECONDS * 2 ** len(nudges))
                except queue.Empty:
                    nudges.append(client.connect_shell())
                    continue
                if reply["parent_header"].get("msg_id") == request:
                    return str(reply["content"]["status"])
        finally:
            for nudge in nudges:
                nudge.close(linger=0)
            client.stop_channels()
