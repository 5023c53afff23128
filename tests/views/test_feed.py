from __future__ import annotations

import logging

import pytest

from shiro_jupyter.core import events as e
from shiro_jupyter.core.events import Event
from shiro_jupyter.views.feed import Feed


class Recorder:
    def __init__(self, breaks_at: int = 99) -> None:
        self.seen: list[tuple[Event, float]] = []
        self.breaks_at = breaks_at

    def apply(self, event: Event, at: float) -> None:
        if len(self.seen) == self.breaks_at:
            raise ValueError("no more")
        self.seen.append((event, at))


def feed() -> Feed:
    ticks = iter(range(1_000))
    return Feed(lambda: float(next(ticks)))


def test_a_late_view_is_given_what_it_missed_with_its_times() -> None:
    source, early, late, newest = feed(), Recorder(), Recorder(), Recorder()
    source.subscribe(early)
    for turn in (1, 2):
        source.emit(e.TurnStarted(turn, "go"))
        source.emit(e.TextDelta("hi"))
    source.subscribe(late, since=0)
    source.subscribe(newest, since=source.turn_start)
    source.emit(e.TextDelta("!"))
    assert late.seen == early.seen == source.events
    assert [at for _, at in late.seen] == [0, 1, 2, 3, 4]
    assert newest.seen == source.events[2:]


def test_a_view_that_breaks_is_dropped_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    source, broken, sound = feed(), Recorder(breaks_at=1), Recorder()
    with caplog.at_level(logging.ERROR, "shiro"):
        for view in (broken, sound):
            source.subscribe(view)
        for _ in range(3):
            source.emit(e.StepStarted(1))
        source.subscribe(Recorder(breaks_at=0), since=0)
        source.emit(e.StepStarted(2))
    assert len(broken.seen) == 1 and len(sound.seen) == 4
    assert [record.exc_info is not None for record in caplog.records] == [True, True]


def test_a_view_that_breaks_at_a_tick_is_dropped_too(caplog: pytest.LogCaptureFixture) -> None:
    class Clock(Recorder):
        ticks: tuple[float, ...] = ()

        def tick(self, at: float) -> None:
            self.ticks += (at,)
            if len(self.ticks) == 2:
                raise ValueError("no more")

    source, view = feed(), Clock()
    source.tick(view)
    source.subscribe(view)
    with caplog.at_level(logging.ERROR, "shiro"):
        for _ in range(3):
            source.tick(view)
        source.emit(e.StepStarted(1))
    assert view.ticks == (0, 1) and view.seen == []
    assert [record.exc_info is not None for record in caplog.records] == [True]


def test_a_view_may_leave() -> None:
    source, view, other = feed(), Recorder(), Recorder()
    leave = source.subscribe(view)
    source.subscribe(other)
    source.emit(e.StepStarted(1))
    leave()
    leave()
    source.emit(e.StepStarted(2))
    assert (len(view.seen), len(other.seen)) == (1, 2)
