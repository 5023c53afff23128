"""Time, passed in: the real clock here, a made one in tests."""

from __future__ import annotations

import asyncio
import time
from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Local time, with its zone."""
        ...

    def monotonic(self) -> float:
        """Seconds from some start."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now().astimezone()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
