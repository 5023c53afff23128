"""A fault of a stream as the whole agent meets it: what is run, shown, stored and sent next."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from shiro_jupyter.core import events
from shiro_jupyter.core.context.repair import repaired
from shiro_jupyter.core.events import TextDelta, TurnEnded
from shiro_jupyter.core.models.base import ModelClient
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.tools.base import Parameters, Tool, ToolContext, ToolResult
from shiro_jupyter.core.transcript import Call, Reasoning
from tests.support import stream_faults as faults
from tests.support.agents import Stage
from tests.support.stream_faults import REPLIES, Case
from tests.support.streams import Reply, chat_stream, responses_stream
from tests.support.strict_rules import refusal
from tests.support.wires import ENDPOINT, Line, MadeTimeLoop, Sent, wired

SEEN, DONE, MORE = "Seen by the tool.", "Done.", "And now?"


class LookParameters(Parameters):
    path: str = ""
    lines: list[int] = []  # noqa: RUF012


class Look(Tool[LookParameters]):
    """Look at a file."""

    name: ClassVar[str] = "look"
    toolset: ClassVar[str] = "core"
    access = "session"
    parameters = LookParameters

    def __init__(self) -> None:
        self.ran: list[str] = []

    def summary(self, parameters: LookParameters) -> str:
        return parameters.path

    async def run(self, parameters: LookParameters, context: ToolContext) -> ToolResult:
        self.ran.append(parameters.model_dump_json(exclude_unset=True))
        return ToolResult("ok", SEEN)


class Read(Look):
    """Read a file."""

    name: ClassVar[str] = "read"


class WireStage(Stage):
    """An agent whose model is the real client, over a line."""

    api: faults.Api = "chat"

    async def _client(self) -> ModelClient:
        return client_for(ENDPOINT, Profile("tiny", api=self.api, idle_seconds=faults.IDLE))


def play(chosen: Iterable[Case], root: Path) -> Iterator[tuple[Case, str]]:
    """The cases, each as the first step of a turn, and what is wrong; empty where nothing is."""
    line = Line()
    with wired(line), asyncio.Runner(loop_factory=MadeTimeLoop) as runner:
        for case in chosen:
            try:
                runner.run(_turns(case, line, root))
                yield case, ""
            except Exception as error:
                line.open = 0
                yield case, f"{type(error).__name__}: {error}"


async def _turns(case: Case, line: Line, root: Path) -> None:
    make = chat_stream if case.api == "chat" else responses_stream
    done = Sent(tuple(make(Reply(DONE), "tiny", 2)))
    whole = Sent(faults.events(case.api, case.reply))

    def then(body: bytes) -> Sent:
        told = body.decode()
        return done if SEEN in told or MORE in told or "do not fit" in told else whole

    line.begin(faults.sent(case), then)
    stage = WireStage(root, (), tools=(look := Look(), read := Read()))
    stage.api = case.api
    clock = asyncio.get_running_loop()
    begun = clock.time()
    first = await stage.agent.submit("Look!")
    assert clock.time() - begun <= faults.IDLE + 2 * faults.AFTER_DONE + 0.1, "past its deadline"
    shown = "".join(event.text for event in stage.of(TextDelta))
    _check(case, stage, [*look.ran, *read.ran], shown, first)
    second = await stage.agent.submit(MORE)
    assert second.outcome == "answered", f"the next turn: {second.reason}"
    for body in line.bodies:
        why = refusal(case.api, json.loads(body))
        assert why is None, f"refused: {why}"
    assert line.open == 0, "a response was left open"


def _check(case: Case, stage: Stage, ran: list[str], shown: str, ended: TurnEnded) -> None:
    reply, items = REPLIES[case.reply], list(stage.session.items)
    assert len(stage.of(TurnEnded)) == 1, "not one end of the turn"
    assert ended.outcome in ("answered", "interrupted", "failed"), ended.outcome
    # Thoughts that led to nothing, since that was lost, are left out of what is sent.
    items = [item for item in items if not isinstance(item, Reasoning)]
    assert repaired(items) == tuple(items), "the transcript needs repair"
    for call in (item for item in items if isinstance(item, Call)):
        assert not call.arguments or json.loads(call.arguments) is not None, "half arguments kept"
    finished = Counter(event.call_id for event in stage.of(events.ToolFinished))
    assert max(finished.values(), default=1) == 1, "a call ended twice"
    expected = reply.text + reply.refusal
    texts = {expected, *faults.texts(case)}
    texts |= {f"{each}{DONE}" for each in texts}
    whole = shown in texts
    assert whole or any(each.startswith(shown) for each in texts), f"shown: {shown!r}"
    meant: list[Any] = [json.loads(call.text) for call in reply.calls]
    if case.api == "chat" and case.fault in ("doubled", "dropped"):
        meant += [json.loads(each) for each in faults.arguments(case) if faults.is_object(each)]
        assert len(ran) <= len(reply.calls), f"a ghost ran: {ran}"
    for each in map(json.loads, ran):
        assert each in meant, f"ran with {each}"
        if case.fault not in ("doubled", "dropped"):
            meant.remove(each)
    if ended.outcome != "answered":
        assert not ran or case.fault in ("doubled", "dropped"), f"ran in a turn that broke: {ran}"
