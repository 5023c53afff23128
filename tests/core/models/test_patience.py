"""Retries before the first visible piece, and the idle deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from shiro_jupyter.core.errors import (
    EndpointBusy,
    EndpointError,
    EndpointRefused,
    EndpointSilent,
    EndpointUnreachable,
    StreamBroken,
)
from shiro_jupyter.core.events import Event, Retrying, Usage
from shiro_jupyter.core.models.base import (
    CallPiece,
    Finished,
    Heartbeat,
    ModelClient,
    Piece,
    ReasoningPiece,
    Request,
    TextPiece,
)
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.patience import LONGEST_WAIT, patient
from shiro_jupyter.core.models.profiles import Profile
from tests.support.steps import MadeClock, asked
from tests.support.strict_endpoint import Reply, StrictEndpoint

END = Finished((), Usage(), "stop")
BUSY = EndpointBusy("The server is busy; ask again later.")


class Fake:
    """A client whose tries are lists: of pieces, an error to raise, or seconds of silence."""

    def __init__(self, *tries: Sequence[Piece | EndpointError | float], idle: float = 60) -> None:
        self.profile = Profile(model="fake", idle_seconds=idle)
        self.tries = list(tries)
        self.open = 0

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.open += 1
        try:
            for each in self.tries.pop(0):
                if isinstance(each, EndpointError):
                    raise each
                if isinstance(each, float):
                    await asyncio.sleep(each)
                else:
                    yield each
        finally:
            self.open -= 1

    async def close(self) -> None: ...


class Told:
    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.events: list[Event] = []
        self.error: EndpointError | None = None
        self.clock = MadeClock()

    async def run(self, client: ModelClient) -> Told:
        try:
            async for piece in patient(client, asked(), self.clock, self.events.append):
                self.pieces.append(piece)
        except EndpointError as error:
            self.error = error
        return self


def told(client: ModelClient) -> Told:
    return asyncio.run(Told().run(client))


def test_a_try_that_fails_before_anything_is_seen_is_made_again() -> None:
    fake = Fake([BUSY], [Heartbeat(), StreamBroken("It broke; ask again.")], [TextPiece("a"), END])
    seen = told(fake)
    assert seen.pieces == [TextPiece("a"), END]
    assert seen.error is None
    first, second = (event for event in seen.events if isinstance(event, Retrying))
    assert first.reason == str(BUSY)
    assert [first.seconds, second.seconds] == seen.clock.slept
    assert 0.375 <= first.seconds <= 0.5
    assert 0.75 <= second.seconds <= 1.0


def test_three_tries_are_all() -> None:
    fake = Fake([BUSY], [BUSY], [BUSY], [END])
    seen = told(fake)
    assert seen.error is BUSY
    assert len(fake.tries) == 1
    assert len(seen.clock.slept) == 2


@pytest.mark.parametrize("visible", [TextPiece("a"), ReasoningPiece("hm"), CallPiece("c", "look")])
def test_what_was_seen_is_never_told_twice(visible: Piece) -> None:
    seen = told(Fake([visible, StreamBroken("It broke; ask again.")], [visible, END]))
    assert seen.pieces == [visible]
    assert isinstance(seen.error, StreamBroken)
    assert seen.events == []


@pytest.mark.parametrize(
    "error",
    [
        EndpointRefused("No."),
        EndpointUnreachable("A web page.", retryable=False),
        EndpointSilent("Nothing."),
    ],
)
def test_what_no_second_try_mends_is_told_at_once(error: EndpointError) -> None:
    seen = told(Fake([error], [END]))
    assert seen.error is error
    assert seen.clock.slept == []


def test_retry_after_is_obeyed_up_to_what_a_person_waits_for() -> None:
    wait = EndpointBusy("Busy; wait.", retry_after=LONGEST_WAIT)
    seen = told(Fake([wait], [END]))
    assert seen.clock.slept == [LONGEST_WAIT]
    assert seen.pieces == [END]
    long = EndpointBusy("Busy; ask again later.", retry_after=7300.0, code="rate_limit")
    seen = told(Fake([long], [END]))
    assert seen.clock.slept == []
    assert str(seen.error) == "Busy; ask again later; it asks to wait 2 hours."
    assert isinstance(seen.error, EndpointBusy)
    assert (seen.error.retry_after, seen.error.code) == (7300.0, "rate_limit")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (121.0, "2 minutes"),
        (7300.0, "2 hours"),
        (172_800.0, "2 days"),
        (1e16, "longer than a month"),
    ],
)
def test_a_wait_is_told_in_the_largest_fitting_unit(seconds: float, words: str) -> None:
    seen = told(Fake([EndpointBusy("Busy.", retry_after=seconds)], [END]))
    assert str(seen.error) == f"Busy; it asks to wait {words}."


def test_silence_ends_the_try_wherever_it_falls() -> None:
    for pieces in ([], [TextPiece("a")], [Heartbeat()]):
        fake = Fake([*pieces, 60.0, END], idle=0.02)
        seen = told(fake)
        assert isinstance(seen.error, EndpointSilent)
        assert "Nothing came from the model for 0.02 s" in str(seen.error)
        assert fake.open == 0


def test_heartbeats_keep_a_try_alive_and_are_not_passed_on() -> None:
    beats: list[Piece | EndpointError | float] = []
    for _ in range(8):
        beats += [0.02, Heartbeat()]
    seen = told(Fake([*beats, END], idle=0.1))
    assert seen.pieces == [END]


def test_a_reader_that_stops_or_is_cancelled_closes_the_stream() -> None:
    async def stops() -> int:
        fake = Fake([TextPiece("a"), 60.0, END])
        clock = MadeClock()
        async with aclosing(patient(fake, asked(), clock, lambda event: None)) as pieces:
            async for _ in pieces:
                break
        return fake.open

    async def cancelled() -> int:
        fake = Fake([TextPiece("a"), 60.0, END])
        task = asyncio.create_task(Told().run(fake))
        while not fake.open:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return fake.open

    assert asyncio.run(stops()) == 0
    assert asyncio.run(cancelled()) == 0


def test_retries_and_silence_over_the_network() -> None:
    replies = [
        Reply(status=429, headers={"retry-after": "7"}),
        Reply(drop=True),
        Reply("there"),
        Reply("one two three", silent_after=2),
    ]

    async def run() -> tuple[Told, Told]:
        profile = Profile(model="tiny", idle_seconds=0.3)
        client = client_for(Endpoint(server.base_url), profile)
        try:
            return await Told().run(client), await Told().run(client)
        finally:
            await client.close()

    with StrictEndpoint(replies) as server:
        retried, silent = asyncio.run(run())
        assert server.disconnected.wait(5)
        server.check()
    assert retried.pieces[0] == TextPiece("there")
    assert retried.clock.slept[0] == 7
    assert silent.pieces == [TextPiece("one two")]
    assert isinstance(silent.error, EndpointSilent)
