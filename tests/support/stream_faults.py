"""Every fault of a stream at every place, and what must come of it.

A case is named by its four values, so that one that fails can be run again by itself.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

from shiro_jupyter.core.errors import EndpointError
from shiro_jupyter.core.models.base import (
    CallPiece,
    Finished,
    ModelClient,
    Piece,
    ReasoningPiece,
)
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.patience import patient
from shiro_jupyter.core.models.profiles import Api, Profile
from shiro_jupyter.core.models.sdk import AFTER_DONE
from shiro_jupyter.core.transcript import Assistant, Call, Reasoning
from tests.support.steps import MadeClock, Outcome, asked
from tests.support.streams import (
    IndexStyle,
    Reply,
    ScriptedCall,
    broken_event,
    chat_stream,
    responses_stream,
)
from tests.support.wires import ENDPOINT, Line, MadeTimeLoop, Sent, wired

Fault = Literal[
    "cut", "broken", "silent", "error", "corrupt", "doubled", "dropped", "split", "crumbs"
]
# Those that happen at a byte, those that happen at an event, and the one that is everywhere.
AT_BYTES: tuple[Fault, ...] = ("cut", "broken", "split")
FAULTS: tuple[Fault, ...] = get_args(Fault)
ENDING: tuple[Fault, ...] = ("cut", "broken", "silent", "error")
IDLE = 60.0
FEW = 13
_CORRUPT = b'data: {"choices": [{"del\n\n'

A = ScriptedCall("look", {"path": "Größe €"}, "id_a")
B = ScriptedCall("look", {"path": "b", "lines": [1, 2]}, "id_b")
C = ScriptedCall("read", {}, "id_c")


def _styles() -> Iterator[tuple[str, Reply]]:
    """Parallel calls in every way that servers send them and that can be told apart."""
    for index in get_args(IndexStyle):
        for ids, repeat_ids in ((False, False), (True, False), (True, True)):
            for names in (False, True):
                for interleaved in (False, True):
                    plain = index in ("plain", "from_one") or (index == "late" and ids)
                    if interleaved and not (repeat_ids or plain):
                        continue
                    name = f"{index}{' ids' * ids}{'+' * repeat_ids}{' names' * names}"
                    name += " by turns" * interleaved
                    yield (
                        name,
                        Reply(
                            "é",
                            calls=(A, B, C),
                            chunk=12,
                            index=index,
                            ids=ids,
                            repeat_ids=repeat_ids,
                            repeat_names=names,
                            interleaved=interleaved,
                        ),
                    )


REPLIES: dict[str, Reply] = {
    "text": Reply("Größe “x” 日 😀 ha ha ha", chunk=3),
    "refusal": Reply(refusal="Nein, größer nicht.", chunk=5),
    "thought": Reply("So.", reasoning="hm, größer “als”", chunk=4),
    "call": Reply(calls=(A,), chunk=1000),
    "all": Reply("I look.", reasoning="two files", calls=(A, B, C), chunk=7),
    "by turns": Reply(calls=(A, B), chunk=5, interleaved=True, phase="commentary"),
    "cut": Reply("So", calls=(A,), chunk=9, finish="length"),
    **dict(_styles()),
}
# How an API names its calls makes no difference to the other one.
OF: dict[Api, tuple[str, ...]] = {"chat": tuple(REPLIES), "responses": tuple(REPLIES)[:7]}


@dataclass(frozen=True)
class Case:
    api: Api
    reply: str
    fault: Fault
    at: int


@cache
def events(api: Api, reply: str) -> tuple[bytes, ...]:
    make = chat_stream if api == "chat" else responses_stream
    return tuple(make(REPLIES[reply], "tiny"))


@cache
def done_at(api: Api, reply: str) -> int:
    """The event with which the model has finished."""
    marks = (b'"finish_reason": "', b'"response.completed"', b'"response.incomplete"')
    found = [at for at, each in enumerate(events(api, reply)) if any(m in each for m in marks)]
    return found[-1]


def cases(api: Api, reply: str) -> Iterator[Case]:
    """Each fault at every place. How calls are indexed matters to a cut at any byte, not to how a
    connection breaks there: of those, one in a few."""
    size = sum(map(len, events(api, reply)))
    for fault in FAULTS:
        whole = 1 if fault == "crumbs" else len(events(api, reply))
        places = range(size + 1 if fault in AT_BYTES else whole)
        few = reply not in OF["responses"] and fault in ("broken", "split")
        for at in places[:: FEW if few else 1]:
            yield Case(api, reply, fault, at)


def sent(case: Case) -> Sent:
    told, at = events(case.api, case.reply), case.at
    data = b"".join(told)
    match case.fault:
        case "cut":
            return Sent([data[:at]])
        case "broken":
            return Sent([data[:at]], "broken")
        case "silent":
            return Sent(told[:at], "silent")
        case "error":
            return Sent([*told[:at], broken_event(case.api, Reply()), *told[at:]])
        case "corrupt":
            return Sent([*told[:at], _CORRUPT, *told[at:]])
        case "doubled":
            return Sent([*told[: at + 1], *told[at:]])
        case "dropped":
            return Sent([*told[:at], *told[at + 1 :]])
        case "split":
            return Sent([data[:at], data[at:]])
    return Sent([data[at : at + 1] for at in range(len(data))])


def play(chosen: Iterable[Case]) -> Iterator[tuple[Case, str]]:
    """The cases, each through the client, and what is wrong; empty where nothing is."""
    line = Line()
    with wired(line), asyncio.Runner(loop_factory=MadeTimeLoop) as runner:
        clients: dict[Api, ModelClient] = {
            api: client_for(ENDPOINT, Profile("tiny", api=api, idle_seconds=IDLE)) for api in OF
        }
        for case in chosen:
            try:
                runner.run(run(case, clients[case.api], line))
                yield case, ""
            except Exception as error:  # whatever it is, it is not what must come of it
                line.open = 0
                yield case, f"{type(error).__name__}: {error}"
        for client in clients.values():
            runner.run(client.close())


async def run(case: Case, client: ModelClient, line: Line) -> None:
    """Raises `AssertionError` where a case does not end as it must. The first try meets the fault,
    one after it would meet none."""
    line.begin(sent(case), lambda body: Sent(events(case.api, case.reply)))
    clock = asyncio.get_running_loop()
    begun = clock.time()
    pieces: list[Piece] = []
    error: EndpointError | None = None
    try:
        async with aclosing(patient(client, asked(), MadeClock(), lambda event: None)) as stream:
            async for piece in stream:
                pieces.append(piece)
    except EndpointError as raised:
        error = raised
    assert clock.time() - begun <= IDLE + AFTER_DONE + 0.1, "past its deadline"
    assert line.open == 0, "a response was left open"
    _check(case, Outcome(pieces, error), tries=len(line.bodies))


def _check(case: Case, outcome: Outcome, tries: int) -> None:
    ends = [at for at, piece in enumerate(outcome.pieces) if isinstance(piece, Finished)]
    assert len(ends) + bool(outcome.error) == 1, "not one terminal event"
    if ends:
        assert ends == [len(outcome.pieces) - 1], "something came after the end"
    reply = REPLIES[case.reply]
    expected = reply.text + reply.refusal
    allowed = {expected} if tries > 1 else texts(case)
    if outcome.error:
        assert case.fault not in ("split", "crumbs"), f"an error: {outcome.error}"
        assert not _is_done(case), f"an error after the end: {outcome.error}"
        assert tries == 1 or not outcome.pieces, "tried again after something was seen"
        assert any(each.startswith(outcome.text) for each in allowed), f"shown: {outcome.text!r}"
        return
    assert outcome.text in allowed, f"shown: {outcome.text!r}"
    _check_items(case, outcome, tries)


def _check_items(case: Case, outcome: Outcome, tries: int) -> None:
    reply, items = REPLIES[case.reply], outcome.finished.items
    kept = "".join(item.text for item in items if isinstance(item, Assistant))
    assert kept in ({reply.text + reply.refusal} | texts(case)), f"kept: {kept!r}"
    thought = "".join(item.text for item in items if isinstance(item, Reasoning))
    seen = "".join(each.text for each in outcome.pieces if isinstance(each, ReasoningPiece))
    if case.api == "responses" or case.fault not in ("doubled", "dropped"):
        assert thought == reply.reasoning, f"thought: {thought!r}"
    assert seen.strip() == thought or case.fault in ("doubled", "dropped"), f"seen: {seen!r}"
    calls = [item for item in items if isinstance(item, Call)]
    named = [(each.call_id, each.name) for each in outcome.pieces if isinstance(each, CallPiece)]
    found = [(call.call_id, call.name) for call in calls]
    assert sorted(named) == sorted(found), "other calls than were told"
    assert len({call.call_id for call in calls}) == len(calls), "two calls under one id"
    wanted = [(call.name, call.text) for call in reply.calls]
    got = [(call.name, call.arguments) for call in calls]
    if tries > 1 or case.api == "responses" or case.fault not in ("doubled", "dropped"):
        assert got == wanted, f"calls: {got}"
        return
    # What a server of Chat Completions says twice, or not at all, cannot be told from what it means
    # so; but no call is made up, and what is not whole is no JSON object.
    assert len(got) <= len(wanted), f"a ghost call: {got}"
    objects = [arguments for _, arguments in got if is_object(arguments)]
    assert all(each in arguments(case) for each in objects), f"half arguments: {objects}"


def _is_done(case: Case) -> bool:
    """Whether the model had finished when the fault came."""
    end = done_at(case.api, case.reply)
    if case.fault in ("cut", "broken"):
        return case.at >= sum(map(len, events(case.api, case.reply)[: end + 1]))
    if case.fault == "dropped":  # of a call whose name is lost nothing can be made
        return case.at != end and b'"name"' not in events(case.api, case.reply)[case.at]
    return case.fault == "doubled" or case.at > end


def texts(case: Case) -> set[str]:
    """What may be shown: of numbered events all text once, of others what was sent."""
    reply = REPLIES[case.reply]
    expected = reply.text + reply.refusal
    if case.fault == "dropped" or (case.fault == "doubled" and case.api == "chat"):
        pieces = [_text(each) for each in events(case.api, case.reply)]
        again = 2 if case.fault == "doubled" else 0
        pieces[case.at] *= again
        return {expected, "".join(pieces)}
    return {expected}


def _text(event: bytes) -> str:
    told = _json(event)
    if "delta" in told:
        text = told["type"] in ("response.output_text.delta", "response.refusal.delta")
        return str(told["delta"]) if text else ""
    if not told.get("choices"):
        return ""
    delta = told["choices"][0]["delta"]
    return str(delta.get("content") or delta.get("refusal") or "")


def _json(event: bytes) -> dict[str, Any]:
    data = event.decode().partition("data: ")[2]
    return {} if data.startswith("[") else dict(json.loads(data))


def arguments(case: Case) -> set[str]:
    """Arguments that a faulty stream can be taken to say: those meant, and those meant with the
    piece at hand left out or said twice."""
    meant = {call.text for call in REPLIES[case.reply].calls}
    told = _json(events(case.api, case.reply)[case.at])
    parts = told["choices"][0]["delta"].get("tool_calls", ()) if told.get("choices") else ()
    for part in parts:
        piece = part["function"]["arguments"]
        for each in list(meant):
            at = each.find(piece)
            while piece and at >= 0:
                meant |= {each[:at] + each[at + len(piece) :], each[:at] + piece + each[at:]}
                at = each.find(piece, at + 1)
    return meant


def is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
