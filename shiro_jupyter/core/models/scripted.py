"""The scripted model: a `ModelClient` that plays a script, for tests, demos and documentation.

A script is a list of steps. A step with `when` answers a prompt that holds those words: the
steps of one `when` are the steps of that turn, however often it is asked. All other steps are
played once, in order. A request that no step is left for fails, and says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..context.render import kept_arguments
from ..errors import EndpointError, EndpointRefused, SettingsError
from ..events import Usage
from ..transcript import Assistant, Call, Item, Reasoning, User
from .assembly import CallIds
from .base import CallPiece, Finished, FinishReason, Piece, ReasoningPiece, Request, TextPiece
from .chat import NativeCalling
from .profiles import Profile

PREFIX = "scripted:"


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call; `arguments` is an object, or text that is sent as it stands."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    call_id: str = ""

    @property
    def text(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Step:
    """One reply. In order: wait for `gate` and `delay` seconds, reason, speak, wait for
    `then_gate`, call, and finish; or raise `error` in place of the finish.

    Text comes in chunks of `chunk` characters, in one where that is 0; one each `pace` seconds.
    """

    text: str = ""
    reasoning: str = ""
    calls: Sequence[ScriptedCall] = ()
    error: EndpointError | None = None
    when: str = ""
    delay: float = 0.0
    gate: asyncio.Event | None = None
    then_gate: asyncio.Event | None = None
    chunk: int = 0
    pace: float = 0.0
    usage: Usage = field(default_factory=Usage)
    reason: FinishReason | None = None


class ScriptedModel:
    """Plays its steps and keeps every request it was sent."""

    def __init__(self, steps: Sequence[Step], profile: Profile | None = None) -> None:
        self.profile = profile or Profile(model="scripted")
        self.requests: list[Request] = []
        self.unexpected: list[Request] = []
        self.closed = 0
        self._in_order = [step for step in steps if not step.when]
        self._played = 0
        self._keyed: dict[str, list[Step]] = {}
        for step in steps:
            if step.when:
                self._keyed.setdefault(step.when, []).append(step)
        self._asked: set[str] = set()

    @classmethod
    def from_json(cls, script: str, profile: Profile | None = None) -> ScriptedModel:
        """The model of a script as JSON: a list of objects with the fields of `Step`. `calls`
        are objects of `name` and `arguments`, `error` is a sentence. Raises `SettingsError`."""
        try:
            steps = [_step(each) for each in json.loads(script)]
        except (ValueError, TypeError, KeyError) as error:
            raise SettingsError(
                f"The script of the scripted model is broken ({error}); mend it, or choose "
                "another model with /model."
            ) from error
        return cls(steps, profile)

    @classmethod
    def from_file(cls, path: Path, profile: Profile | None = None) -> ScriptedModel:
        try:
            script = path.expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"The script {path} of the scripted model cannot be read ({error}); "
                "check the setting of the model."
            ) from error
        return cls.from_json(script, profile)

    @property
    def leftover(self) -> list[Step]:
        """Steps that no request has come for."""
        unasked = [steps for when, steps in self._keyed.items() if when not in self._asked]
        return self._in_order[self._played :] + [step for steps in unasked for step in steps]

    def check(self) -> None:
        """Raises `AssertionError` on a leftover step or a request without one."""
        if self.unexpected:
            raise AssertionError(f"{len(self.unexpected)} requests came without a step for them")
        if self.leftover:
            raise AssertionError(f"{len(self.leftover)} steps were left over: {self.leftover}")

    def body(self, request: Request) -> dict[str, Any]:
        """What a server of Chat Completions would get."""
        return {"model": self.profile.model, **NativeCalling().payload(request, self.profile)}

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.requests.append(request)
        step = self._next(request)
        if step.gate:
            await step.gate.wait()
        if step.delay:
            await asyncio.sleep(step.delay)
        items: list[Item] = []
        async for part in _chunks(step.reasoning, step):
            yield ReasoningPiece(part)
        if step.reasoning:
            items.append(Reasoning(step.reasoning, request.turn, request.step))
        async for part in _chunks(step.text, step):
            yield TextPiece(part)
        if step.text:
            items.append(Assistant(step.text, request.turn, request.step))
        if step.then_gate:
            await step.then_gate.wait()
        ids = CallIds(request)
        for call in step.calls:
            call_id = ids.claim(call.call_id)
            arguments = kept_arguments(call.text)
            items.append(Call(call_id, call.name, arguments, request.turn, request.step))
            yield CallPiece(call_id, call.name)
        if step.error:
            raise step.error
        yield Finished(tuple(items), step.usage, step.reason or ("calls" if step.calls else "stop"))

    async def close(self) -> None:
        self.closed += 1

    def _next(self, request: Request) -> Step:
        prompt = next((each.text for each in reversed(request.items) if isinstance(each, User)), "")
        for when, steps in self._keyed.items():
            if when in prompt and len(steps) >= request.step:
                self._asked.add(when)
                return steps[max(request.step, 1) - 1]
        if self._played < len(self._in_order):
            self._played += 1
            return self._in_order[self._played - 1]
        self.unexpected.append(request)
        raise EndpointRefused(
            f"The script has no step left for step {request.step} of “{prompt[:80]}”; add one to "
            "it, or choose another model with /model."
        )


async def _chunks(text: str, step: Step) -> AsyncGenerator[str, None]:
    clock, size = asyncio.get_running_loop().time, step.chunk or max(len(text), 1)
    begun = clock()
    for number, at in enumerate(range(0, len(text), size)):
        if step.pace:
            # By the clock, so that the pace holds however long a sleep takes.
            await asyncio.sleep(max(0.0, begun + number * step.pace - clock()))
        yield text[at : at + size]


def _step(stored: dict[str, Any]) -> Step:
    values = dict(stored)
    values["calls"] = tuple(ScriptedCall(**each) for each in values.get("calls", ()))
    if "usage" in values:
        values["usage"] = Usage(**values["usage"])
    if "error" in values:
        values["error"] = EndpointRefused(values["error"])
    return Step(**values)
