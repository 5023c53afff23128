"""What a model client is: one request in, pieces out, one `Finished` last.

A client raises `EndpointError`s and nothing else; it is closed by whoever made it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from ..events import Usage
from ..transcript import Item
from .profiles import Profile

FinishReason = Literal["stop", "calls", "length", "filtered"]


@dataclass(frozen=True)
class ToolSpec:
    """A tool as the wire knows it; `parameters` is a JSON schema of type object.

    `guidance` is said of it in the system text, empty for a tool that needs none.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    guidance: str = ""

    def without_values(self) -> ToolSpec:
        """With names and types of arguments alone: defaults, bounds, choices and the words on an
        argument may be made of data."""
        return replace(self, parameters=_types_of(self.parameters))


_TYPES = frozenset({"type", "required", "format"})  # in a JSON schema, what holds no value
_INNER = ("items", "additionalProperties")
_CHOICES = ("anyOf", "oneOf", "allOf", "prefixItems")


def _types_of(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    kept = {key: said for key, said in schema.items() if key in _TYPES}
    kept |= {key: _types_of(schema[key]) for key in _INNER if key in schema}
    if named := schema.get("properties"):
        kept["properties"] = {name: _types_of(each) for name, each in named.items()}
    kept |= {key: [_types_of(each) for each in schema[key]] for key in _CHOICES if key in schema}
    return kept


@dataclass(frozen=True)
class Request:
    """One step, before any wire format.

    `system` and `tools` are byte-stable for a session; `items` grow; `tail` is volatile (task
    list, date, …), goes last on the wire and is never stored.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    items: tuple[Item, ...]
    tail: str = ""
    turn: int = 0
    step: int = 0


def offered(request: Request, profile: Profile) -> tuple[ToolSpec, ...]:
    """The tools that the model is told of: all, or those its profile narrows them to."""
    narrowed = set(profile.tools)
    return tuple(tool for tool in request.tools if not narrowed or tool.name in narrowed)


def system_of(request: Request, profile: Profile) -> str:
    """The system text, with what is to be said of the tools that the model is told of. Of an
    absent one it says nothing: that would teach calls which cannot succeed."""
    said = dict.fromkeys(tool.guidance for tool in offered(request, profile) if tool.guidance)
    guidance = "\n".join(["Of your tools:", *(f"- {each}" for each in said)]) if said else ""
    return "\n\n".join(filter(None, (request.system, guidance)))


@dataclass(frozen=True)
class TextPiece:
    text: str


@dataclass(frozen=True)
class ReasoningPiece:
    text: str


@dataclass(frozen=True)
class CallPiece:
    """A call's name is known; its arguments follow in `Finished`."""

    call_id: str
    name: str


@dataclass(frozen=True)
class Heartbeat:
    """The endpoint is alive without anything to show: arguments that stream, a ping.

    It resets the idle deadline and reaches no one above `patient`.
    """


@dataclass(frozen=True)
class Finished:
    """The step is whole: its items in the order the model gave them, with turn and step set."""

    items: tuple[Item, ...]
    usage: Usage
    reason: FinishReason


Piece = TextPiece | ReasoningPiece | CallPiece | Heartbeat | Finished


class ModelClient(Protocol):
    """Streams steps of one model at one endpoint."""

    @property
    def profile(self) -> Profile: ...

    def body(self, request: Request) -> dict[str, Any]:
        """What goes out for this step, as JSON; the key is in a header."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Piece]:
        """The pieces of one step, `Finished` last; raises `EndpointError` instead of it."""
        ...

    async def close(self) -> None: ...
