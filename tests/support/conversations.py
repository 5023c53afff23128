"""Conversations that go through anything: turns, prunes, summaries, forks, saves, kills, loads,
other models and endpoints; and what must hold of the next request after each of them.

All comes from one seed: `Conversation(Random(seed), folder).live(steps)` does the same again.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from random import Random

from shiro_jupyter.core.compaction import HEADINGS, Compactor
from shiro_jupyter.core.context.prune import Pruner, shown
from shiro_jupyter.core.context.repair import repaired, responses, without_reasoning
from shiro_jupyter.core.errors import NotCompacted
from shiro_jupyter.core.models.base import ModelClient, Request, ToolSpec
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.models.responses import OF_REASONING
from shiro_jupyter.core.models.scripted import ScriptedModel, Step
from shiro_jupyter.core.models.sdk import encoded
from shiro_jupyter.core.sessions.fork import fork
from shiro_jupyter.core.sessions.log import Opened, load_session, open_session
from shiro_jupyter.core.transcript import Cut, Item, Summary, User
from shiro_jupyter.core.workspace.project import Project
from tests.support.steps import LOOK, MadeClock
from tests.support.strict_rules import SEAL, refusal
from tests.support.transcripts import Writer

TAIL = "It is the second of March."
READ = ToolSpec("read_file", "Read a file.", LOOK.parameters, "Read before you write.")
ENDPOINTS = (
    Endpoint("https://api.openai.com/v1", "sk-ann-0123456789"),
    Endpoint("https://api.openai.com/v1", "sk-bob-0123456789"),
    Endpoint("http://127.0.0.1:8080/v1"),
)
MODELS = ("tiny", "small")
# In every way to call tools, over Chat Completions; and over the Responses API.
PROFILES = (
    Profile("", calling="native"),
    Profile("", calling="fenced"),
    Profile("", calling="schema"),
    Profile("", api="responses"),
)
SUMMARY = "\n".join(f"## {each}\nOf the {each.lower()} nothing is lost." for each in HEADINGS)


class Broken(AssertionError):
    """What must hold does not; says of which request."""


@dataclass
class Conversation:
    """`counts` says how much was done and looked at."""

    random: Random
    folder: Path
    counts: Counter[str] = field(default_factory=Counter)
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.writer = Writer(self.random)
        self.endpoint, self.model = ENDPOINTS[0], MODELS[0]
        self.clock, self.said = MadeClock(), list[str]()
        self.take(self.new())

    def live(self, operations: int) -> None:
        """So many operations, each followed by a look at every request that could come next."""
        try:
            for _ in range(operations):
                operation = self.random.choice(OPERATIONS)
                self.done.append(operation.__name__)
                operation(self)
                self.counts[operation.__name__] += 1
                self.check()
        finally:
            self.log.close()

    @property
    def origin(self) -> str:
        return self.endpoint.origin(self.model)

    def check(self) -> None:
        """Every request is accepted, holds the newest prompt and the tail, and is repaired once."""
        items = shown(self.session.items, self.pruner.cut)
        mended = repaired(items)
        if repaired(mended) != mended:
            raise Broken("a second repair changes what the first one gave")
        turn = takewhile(lambda i: i.turn == self.session.turn, reversed(self.session.items))
        newest = next((each for each in turn if _speaks(each)), None)
        for profile in PROFILES:
            # A client of calls by schema writes its own prompt from all there is.
            sent = tuple(self.session.items) if profile.calling == "schema" else items
            request = Request("Be kind.", (LOOK, READ), sent, TAIL, self.session.turn or 1, 1)
            client = client_for(self.endpoint, replace(profile, model=self.model))
            body = encoded(client.body(request))
            self.counts["requests"] += 1
            name = profile.calling if profile.api == "chat" else profile.api
            why = self._refused(profile, body)
            if why and OF_REASONING.search(why.lower()) and {"decays", "garbles"} & {*self.done}:
                # That bytes within a record are others, which still is one, only the endpoint can
                # tell: the client sends once more without reasoning.
                self.counts["second tries"] += 1
                again = replace(request, items=without_reasoning(request.items))
                why = self._refused(profile, encoded(client.body(again)))
            if why:
                raise Broken(f"{name}: {why}")
            if newest and _as_sent(newest.text) not in body:
                raise Broken(f"{name}: the newest prompt is missing")
            if profile.calling != "schema" and _as_sent(TAIL) not in body:
                raise Broken(f"{name}: the tail is missing")

    def _refused(self, profile: Profile, body: bytes) -> str | None:
        return refusal(profile.api, json.loads(body), self.writer.issued, self.origin)

    # -- the session and its file --------------------------------------------------------

    def new(self) -> Opened:
        return open_session(self.folder, project=PROJECT, clock=self.clock, tell=self.said.append)

    def take(self, opened: Opened) -> None:
        self.session, self.log = opened.session, opened.log
        self.pruner = Pruner(Cut(*self.session.cut))

    def load(self, path: Path) -> None:
        self.take(load_session(path, clock=self.clock, tell=self.said.append))

    def save(self) -> bool:
        """Whether there is a file now."""
        self.log.flush()
        return self.log.path.exists()


PROJECT = Project(Path("/home/ann/shop"))


def _speaks(item: Item) -> bool:
    return isinstance(item, User) and bool(item.text.strip())


def _as_sent(text: str) -> bytes:
    """As it stands within a body."""
    return encoded({"": text})[5:-2]


# -- what may happen; an operation more is a function more ---------------------------------


def says(it: Conversation) -> None:
    """The person asks, the model answers."""
    _append(it, _turn(it))
    it.session.end_turn(it.session.turn, "answered")


def breaks_off(it: Conversation) -> None:
    _append(it, it.writer.broken(_turn(it)))
    if it.random.random() < 0.5:
        it.session.end_turn(it.session.turn, "interrupted")


def garbles(it: Conversation) -> None:
    """Items in any order, as if a file had been put together from pieces."""
    for _ in range(it.random.randint(1, 4)):
        again = it.session.items and it.random.random() < 0.4
        item = it.random.choice(it.session.items) if again else it.writer.anything()
        it.session.append(item)


def prunes(it: Conversation) -> None:
    if it.pruner.prune(it.session.items, it.random.randint(1, 2_000)):
        it.session.set_cut(astuple(it.pruner.cut))
        it.counts["cuts"] += 1


async def _allowed(request: Request, profile: Profile) -> None:
    """Nobody is asked."""


def compacts(it: Conversation) -> None:
    """As the agent does it, or as it stands in a file."""
    if it.random.random() < 0.5:
        it.session.append(
            Summary("[A summary.] The dates are to be cleaned.", it.session.turn or 1)
        )
        return
    compactor = Compactor(it.clock, lambda event: None, str, _allowed)
    client: ModelClient = ScriptedModel([Step(SUMMARY)])
    try:
        asyncio.run(compactor.compact(it.session, client, lambda usage: None))
        it.counts["summaries"] += 1
    except NotCompacted:
        it.counts["not compacted"] += 1


def forks(it: Conversation) -> None:
    """Another session with all of this one, or up to a turn of it."""
    if it.save() and it.session.items:
        turns = sorted({item.turn for item in it.session.items if item.turn > 0})
        turn = it.random.choice([None, *(t for t in turns if t <= it.session.turn)])
        it.log.close()
        it.load(fork(it.log.path, it.clock.now(), turn=turn))


def begins_anew(it: Conversation) -> None:
    it.log.close()
    it.take(it.new())


def opens_twice(it: Conversation) -> None:
    """A second opener gets a copy, in which nothing is open, and goes on there."""
    if it.save():
        first = it.log
        it.load(first.path)
        first.close()
        assert it.log.path != first.path
        assert not it.session.open_calls()


def loads(it: Conversation) -> None:
    before = repr(it.session.items)
    if it.save():
        it.log.close()
        it.load(it.log.path)
        if repr(it.session.items) != before:
            raise Broken("a load gives other items than were saved")


def dies(it: Conversation) -> None:
    """Killed before or in the midst of a write."""
    if it.random.random() < 0.5:
        it.log.flush()
    it.log.lease.release()  # as a dead process does
    path = it.log.path
    if path.exists():
        data = path.read_bytes()
        path.write_bytes(data[: it.random.randint(0, len(data))])
        it.load(path)


def decays(it: Conversation) -> None:
    """The disk lost, doubled or muddled some of the file."""
    if not it.save():
        return
    it.log.close()
    path = it.log.path
    data = path.read_bytes()
    at = it.random.randint(0, len(data))
    end = min(len(data), at + it.random.randint(0, 400))
    damage = (
        data[:at] + data[end:],
        data[:at] + bytes(end - at) + data[end:],
        data[:at] + b"\xff\xfe" + data[at:],
        data[:end] + data[at:],
    )
    path.write_bytes(it.random.choice(damage))
    it.load(path)


def moves(it: Conversation) -> None:
    """Another model, key or endpoint."""
    it.endpoint, it.model = it.random.choice(ENDPOINTS), it.random.choice(MODELS)
    it.session.set_model(it.model)


OPERATIONS: tuple[Callable[[Conversation], None], ...] = (
    says,
    says,
    breaks_off,
    garbles,
    prunes,
    compacts,
    forks,
    begins_anew,
    opens_twice,
    loads,
    dies,
    decays,
    moves,
)


def _append(it: Conversation, items: list[Item]) -> None:
    """What one response held at once, all else by itself."""
    for run in responses(items):
        it.session.append(*run)


def _turn(it: Conversation) -> list[Item]:
    sealed = f"{SEAL}{it.model}-{it.origin}-" if it.random.random() < 0.7 else ""
    return it.writer.turn(it.session.turn + 1, sealed, it.origin if sealed else "")
