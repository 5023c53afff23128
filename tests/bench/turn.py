"""What the loop costs: a streamed answer beside the bare SDK, and steps as a session grows."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import openai

from shiro_jupyter.core.agent import Agent
from shiro_jupyter.core.events import Question
from shiro_jupyter.core.models.base import ModelClient
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.models.scripted import ScriptedModel, Step
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.sessions.log import open_session
from shiro_jupyter.core.tools.shelf import tools_for
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.processes import Processes
from shiro_jupyter.core.workspace.project import Project
from tests.support.strict_endpoint import Reply, StrictEndpoint

DELTAS, ROUNDS, TURNS = 2000, 7, 400
ANSWER = "word " * DELTAS


def agent_of(model: Callable[[], ModelClient], folder: Path) -> Agent:
    async def client() -> ModelClient:
        return model()

    async def nobody(question: Question) -> None:
        return None

    clock, project = SystemClock(), Project(folder)
    opened = open_session(folder / "log", project=project, clock=clock, tell=print, cwd=folder)
    return Agent(
        session=opened.session,
        model=client,
        tools=tools_for(),
        system=lambda: "You are shiro.",
        gate=Gate(),
        project=project,
        processes=Processes(os.environ, folder),
        clock=clock,
        emit=opened.log.heard,
        ask=nobody,
        flush=opened.log.flush,
    )


async def bare(base_url: str) -> float:
    """CPU seconds of this process for one streamed answer through the SDK alone."""
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:
        started = time.process_time()
        stream = await client.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "go"}], stream=True
        )
        heard = "".join(
            [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
        )
        assert heard == ANSWER
        return time.process_time() - started


async def ours(base_url: str, folder: Path) -> float:
    """The same through the agent, its log and its events."""
    agent = agent_of(lambda: client_for(Endpoint(base_url), Profile("tiny")), folder)
    started = time.process_time()
    ended = await agent.submit("go")
    assert ended.outcome == "answered", ended.reason
    return time.process_time() - started


async def growth(folder: Path) -> tuple[float, float]:
    """Median milliseconds of a turn among the first and the last fifty of a long session."""
    model = ScriptedModel([Step(f"Answer {n}.") for n in range(TURNS)])
    agent = agent_of(lambda: model, folder)
    spent = []
    for number in range(TURNS):
        started = time.perf_counter()
        await agent.submit(f"question {number}")
        spent.append(1000 * (time.perf_counter() - started))
    return statistics.median(spent[:50]), statistics.median(spent[-50:])


async def measure() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with StrictEndpoint(lambda body: Reply(ANSWER, chunk=5)) as server:
            url = server.base_url
            await bare(url), await ours(url, folder)  # imports and caches
            pairs = [(await bare(url), await ours(url, folder)) for _ in range(ROUNDS)]
        ratio = statistics.median(mine / theirs for theirs, mine in pairs)
        print(
            f"a streamed answer of {DELTAS} deltas: {ratio:.2f} times the CPU of the bare SDK "
            f"(median of {ROUNDS} pairs; the server's share, in the same process, is in both)"
        )
        first, last = await growth(folder)
        print(
            f"a turn in a session of {TURNS}: {first:.2f} ms among the first fifty, {last:.2f} "
            f"among the last, {last / first:.1f} times (loop and log alone; nothing is rendered)"
        )


def main() -> None:
    asyncio.run(measure())


if __name__ == "__main__":
    main()
