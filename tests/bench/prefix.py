"""How much of each request repeats the one before, byte for byte from its start: what a provider
has cached. Sessions of 50 steps with task lists, memories, changed files, one prune, a resume and
a compaction, over a real server, in both formats."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from shiro_jupyter.core.agent import Agent
from shiro_jupyter.core.compaction import HEADINGS
from shiro_jupyter.core.context.prompt import system_text
from shiro_jupyter.core.events import ALLOW, Answer, Compacted, Event, Question
from shiro_jupyter.core.memory.store import Memory
from shiro_jupyter.core.models.base import ModelClient
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Api, Profile
from shiro_jupyter.core.models.scripted import ScriptedCall
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.sessions.log import Opened, load_session, open_session
from shiro_jupyter.core.tools.remember import Remember
from shiro_jupyter.core.tools.shelf import tools_for
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.core.workspace.processes import Processes
from shiro_jupyter.core.workspace.project import Project
from tests.support.strict_endpoint import Reply, StrictEndpoint

TURNS, STEPS = 10, 5
WINDOW = 60_000  # in which the session is pruned once
RESUMED, COMPACTED = 9, 10  # after these turns
SUMMARY = "\n".join(f"## {each}\n- about {each.lower()}" for each in HEADINGS)


@dataclass
class Sent:
    """The requests of one session, as bytes in the order that a cache reads them: tools first."""

    bodies: list[bytes] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)  # the last message of each
    # Of which requests what went before was cut or summed up.
    cuts: list[int] = field(default_factory=list)
    resumed: int = 0
    compacted: int = 0

    def add(self, body: dict[str, Any]) -> None:
        said = body.get("messages", body.get("input"))
        head = json.dumps([body.get("tools"), body.get("instructions")], ensure_ascii=False)
        self.bodies.append((head + json.dumps(said, ensure_ascii=False)).encode())
        self.tails.append(str(said[-1]["content"]) if "content" in said[-1] else str(said[-1]))

    def share(self, at: int) -> float:
        """What of this request is the one before, from the start on."""
        return self._repeated(at) / len(self.bodies[at])

    def shares(self, *, whole: bool = False) -> float:
        """Over all requests but the first and, unless `whole`, those right after a cut."""
        counted = [at for at in range(1, len(self.bodies)) if whole or at not in self.cuts]
        repeated = sum(map(self._repeated, counted))
        return repeated / sum(len(self.bodies[at]) for at in counted)

    def _repeated(self, at: int) -> int:
        before, body = self.bodies[at - 1 : at + 1]
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, body, strict=False))
        return sum(1 for _ in same)


def replies() -> Iterator[Reply]:
    """Ten turns of five steps: a look, a change, the task list and a memory."""
    for turn in range(1, TURNS + 1):
        todos = [{"text": f"part {n}", "status": "pending"} for n in range(turn, TURNS + 2)]
        note = f"column c{turn} of orders.csv holds the amount of quarter {turn}"
        for call in (
            ScriptedCall("todo_write", {"todos": todos}),
            ScriptedCall("read_file", {"path": f"{turn}.csv"}),
            ScriptedCall("write_file", {"path": f"made{turn}.py", "content": "x = 1\n" * 20}),
            ScriptedCall("remember", {"text": note, "keep_both": True}),
        ):
            yield Reply(f"Step of turn {turn}.", calls=[call], input_tokens=0)
        yield Reply(f"Turn {turn} is done.", input_tokens=0)
    yield Reply("And so on.", input_tokens=0)


async def played(folder: Path, api: Api) -> Sent:
    root = folder / "project"
    root.mkdir()
    for number in range(1, TURNS + 1):
        rows = (f"{row};2026-01-{row % 28 + 1:02};{row * 7.31:.2f}" for row in range(160))
        (root / f"{number}.csv").write_text("\n".join(rows))
    sent, script = Sent(), replies()

    def replied(body: dict[str, Any]) -> Reply:
        if not body.get("tools"):
            return Reply(SUMMARY)
        sent.add(body)
        return next(script)

    with StrictEndpoint(replied) as server:
        world = World(folder, root, server.base_url, api, sent)
        opened = world.begun()
        agent = world.agent(opened)
        for turn in range(1, TURNS + 1):
            ended = await agent.submit(f"Do part {turn}.")
            assert ended.outcome == "answered", ended.reason
            if turn == RESUMED:
                opened = world.loaded(opened)
                agent, sent.resumed = world.agent(opened), len(sent.bodies)
            if turn == COMPACTED:
                sent.compacted = len(sent.bodies)
                await agent.compact()
        await agent.submit("And now?")
        server.check()
    return sent


@dataclass
class World:
    folder: Path
    root: Path
    url: str
    api: Api
    sent: Sent

    def __post_init__(self) -> None:
        self.clock, self.project = SystemClock(), Project(self.root)
        folders = Folders(self.folder / "config", self.folder / "data", self.folder)
        self.memory = Memory(self.project, folders, self.clock)

    def begun(self) -> Opened:
        return open_session(
            self.folder / "log", project=self.project, clock=self.clock, tell=print, cwd=self.root
        )

    def loaded(self, before: Opened) -> Opened:
        before.log.close()
        return load_session(before.log.path, clock=self.clock, tell=print)

    def agent(self, opened: Opened) -> Agent:
        system = opened.session.system or system_text(self.project, self.memory.block().text)
        opened.session.set_system(system)

        async def client() -> ModelClient:
            return client_for(Endpoint(self.url), Profile("tiny", api=self.api, window=WINDOW))

        async def allow(question: Question) -> Answer:
            return Answer(question.id, ALLOW)

        def emit(event: Event) -> None:
            opened.log.heard(event)
            if isinstance(event, Compacted):
                self.sent.cuts.append(len(self.sent.bodies))

        return Agent(
            session=opened.session,
            model=client,
            tools=tools_for(extra=(Remember(self.memory, lambda text: {}),)),
            system=lambda: system,
            gate=Gate(),
            project=self.project,
            processes=Processes(os.environ, self.folder / "outputs"),
            clock=self.clock,
            emit=emit,
            ask=allow,
            flush=opened.log.flush,
            surroundings=lambda: f"{len(list(self.root.iterdir()))} files here.",
        )


def main() -> None:
    for api in ("chat", "responses"):
        with tempfile.TemporaryDirectory() as folder:
            sent = asyncio.run(played(Path(folder), api))
        cuts = " and ".join(str(at + 1) for at in sent.cuts)
        print(
            f"{api}: {len(sent.bodies)} requests, {sum(map(len, sent.bodies)) / 1e6:.1f} MB, cut "
            f"before request {cuts}\n"
            f"  repeats the start of the request before: {sent.shares():.3f} of the bytes between "
            f"cuts, {sent.shares(whole=True):.3f} with them; {sent.share(sent.resumed):.3f} of "
            "the first request after a resume"
        )


if __name__ == "__main__":
    main()
