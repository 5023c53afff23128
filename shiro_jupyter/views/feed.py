"""The events of a session, in order, and the views that follow them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from ..core.events import Event, TurnStarted

log = logging.getLogger("shiro")


class View(Protocol):
    """Renders events. `at` is when the event happened, in seconds of the feed's clock."""

    def apply(self, event: Event, at: float) -> None: ...


class Ticked(View, Protocol):
    """A view that shows how long something takes."""

    def tick(self, at: float) -> None: ...


class Feed:
    """An append-only list of events; a view that comes late is given what it missed.

    Used on the agent's thread only. A view that raises is dropped with a line in the log: it
    never stops a turn, nor the other views.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._views: list[View] = []
        self.events: list[tuple[Event, float]] = []
        # Where the newest turn begins: the replay for a view of that turn alone.
        self.turn_start = 0

    def emit(self, event: Event) -> None:
        at = self._clock()
        if isinstance(event, TurnStarted):
            self.turn_start = len(self.events)
        self.events.append((event, at))
        for view in tuple(self._views):
            self._give(view, event, at)

    def subscribe(self, view: View, since: int | None = None) -> Callable[[], None]:
        """Give `view` the events from index `since` on (default: from now), then every new one.

        Returns the call that ends it.
        """
        self._views.append(view)
        for event, at in self.events[len(self.events) if since is None else since :]:
            if not self._give(view, event, at):
                break
        return lambda: self._drop(view)

    def tick(self, view: Ticked) -> None:
        """Tell a view what time it is, if it still follows."""
        if any(each is view for each in self._views):
            self._guarded(view, lambda: view.tick(self._clock()))

    def _give(self, view: View, event: Event, at: float) -> bool:
        return self._guarded(view, lambda: view.apply(event, at))

    def _guarded(self, view: View, call: Callable[[], object]) -> bool:
        try:
            call()
        except Exception:
            log.exception("the view %s broke and is dropped", type(view).__name__)
            self._drop(view)
            return False
        return True

    def _drop(self, view: View) -> None:
        self._views = [each for each in self._views if each is not view]
