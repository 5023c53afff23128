"""What `%shiro` returns: the answer, as a value that shows nothing by itself."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Literal

from ..core.events import TurnEnded, TurnOutcome, Usage


class Reply:
    """One turn's answer. `str(reply)` is its text; displaying it shows nothing, since the cell
    has shown it already. In the background `outcome` is "running" until the turn has ended."""

    def __init__(
        self,
        prompt: str,
        recorded: str | None = None,
        serve: Callable[[concurrent.futures.Future[None], float | None], None] | None = None,
    ) -> None:
        """`serve` waits for the end of the turn, for so many seconds at most, and runs its code
        meanwhile where that has to be."""
        self.prompt = prompt
        self._serve = serve
        self.recorded = recorded is not None
        self._answer = recorded or ""
        self._ended: TurnEnded | None = None
        self._done = concurrent.futures.Future[None]()
        if recorded is not None:
            self._done.set_result(None)

    @property
    def answer(self) -> str:
        """The model's last words in this turn, as Markdown; empty where there were none."""
        return self._answer

    @property
    def outcome(self) -> TurnOutcome | Literal["running"]:
        if self._ended:
            return self._ended.outcome
        return "answered" if self.recorded else "running"

    @property
    def reason(self) -> str:
        """Why the turn did not end with an answer, and the next step; else empty."""
        return self._ended.reason if self._ended else ""

    @property
    def usage(self) -> Usage:
        return self._ended.usage if self._ended else Usage()

    def wait(self, timeout: float | None = None) -> Reply:
        """Wait for a turn in the background, whose code runs meanwhile; else TimeoutError."""
        if self._serve and not self._done.done():
            self._serve(self._done, timeout)
            timeout = 0
        self._done.result(timeout)
        return self

    def finish(self, ended: TurnEnded, answer: str) -> None:
        self._ended, self._answer = ended, answer
        self._done.set_result(None)

    def __str__(self) -> str:
        return self.answer

    def __repr__(self) -> str:
        return f"<Reply: {self.outcome}, {len(self.answer)} characters>"

    def _ipython_display_(self) -> None:
        """Nothing: the view has shown the turn."""
