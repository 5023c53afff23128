"""The live kernel as its tools see it: code goes to the main thread as a job."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..core.policy.redactor import Redactor
from . import compat
from .hold import held
from .main_thread import Job, MainThread
from .names_undo import Touched
from .owner import CURRENT
from .pictures import Pictures
from .put_back import replaced
from .run_code import CodeResult, run_on_main, run_on_main_sync

BATCH = 16_000  # characters of what code prints that are looked through for secrets at a time


@dataclass
class LiveKernel:
    """Runs one piece of code at a time, since an agent makes one call at a time."""

    shell: Any
    main: MainThread
    pictures: Pictures
    redactor: Redactor
    # What code runs inside, so that the names which it changes can be put back.
    watched: Callable[[str], AbstractContextManager[Touched]] = lambda code: contextlib.nullcontext(
        Touched()
    )
    # Told on main of code that is of no cell: which one asked, what it did, whether it ran well.
    ran: Callable[[str, str, Touched, bool], None] = lambda cell, code, touched, ok: None
    # Told of all code, and of what came of it with its objects, which nobody else gets.
    begins: Callable[[str], None] = lambda code: None
    ended: Callable[[CodeResult], None] = lambda result: None
    _job: Job | None = None

    async def run(
        self,
        code: str,
        output: Callable[[str], None],
        inside: Callable[[Any], AbstractContextManager[object]] = contextlib.nullcontext,
        *,
        first: Callable[[], None] = lambda: None,
    ) -> CodeResult:
        """`inside` makes, on main and of the shell, what the code runs in; `first` comes before."""
        owner = CURRENT.get()
        cleared = owner.cleared if owner else lambda: None
        nowhere = owner is not None and owner.cell is None
        request: dict[str, Any] = {} if nowhere or owner is None else owner.request
        where = partial(compat.shown_in, request=request) if owner else contextlib.nullcontext
        numbered = partial(_numbered, number=owner.number if owner else None)
        watching = self.watched(code)  # in the name of the turn at hand
        drawn: list[str] = []

        def shown(bundle: Any) -> None:
            if nowhere and (key := self.pictures.keep(bundle)):
                drawn.append(key)

        seen = shown, partial(self.redactor.stream, BATCH)

        def done(result: CodeResult, touched: Touched) -> CodeResult:
            if inside is contextlib.nullcontext:
                cell = owner.cell if owner else None
                self.ran(cell or "", code, touched, result.ok)
            return result

        def run() -> CodeResult:
            first()
            with held(), where(self.shell), numbered(self.shell), inside(self.shell):
                with watching as touched:
                    result = run_on_main_sync(self.shell, code, output, cleared, *seen)
                return done(result, touched)

        async def awaited() -> CodeResult:
            first()
            with held(), where(self.shell), numbered(self.shell), inside(self.shell):
                with watching as touched:
                    result = await run_on_main(self.shell, code, output, cleared, *seen)
                return done(result, touched)

        if owner:
            owner.hide()
        self.begins(code)
        try:
            self._job = job = self.main.put(run, awaited=awaited, owner=owner, here=nowhere)
            result: CodeResult = await self.main.result(job)
            if isinstance(result.error, KeyboardInterrupt) and not job.stopped_at:  # its own
                result = replace(result, interrupted=False)
            self.ended(result)
            return replace(result, pictures=tuple(drawn), value=None, error=None)
        finally:
            if owner:
                owner.show()

    @property
    def count(self) -> int | None:
        """The number of the cell that asked; where a page did, of the newest one."""
        owner = CURRENT.get()
        return owner.number if owner and owner.number else self.shell.execution_count - 1

    def interrupt(self) -> None:
        if self._job:
            self.main.stop(self._job)


@contextmanager
def _numbered(shell: Any, number: int | None) -> Iterator[None]:
    """A traceback names the cell that asked: while it runs, the shell counts the next one."""
    cache = shell.compile.cache

    def cached(code: str, next_one: int = 0, raw_code: str | None = None) -> str:
        name: str = cache(code, next_one if number is None else number, raw_code)
        return name

    with replaced(shell.compile, "cache", cached):
        yield
