"""Calls written as text: one JSON object in a code fence and nothing else.

Some models know no other way to call, and others fall into it now and then. So the text of a
reply is held back while it may still turn out to be a call, and no longer.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from ..context.render import arguments_object, chat_messages, result_text
from ..transcript import Assistant, Call, Item, Result, User
from .assembly import Assembly, CallIds, ChatAssembly
from .base import CallPiece, Finished, Piece, Request, TextPiece, ToolSpec, offered, system_of
from .chat import NativeCalling
from .profiles import Profile

_FENCE = "```"
_TAG = "<tool_call>"
_OPENERS = ("```json\n", "```tool_call\n", "```\n", _TAG, "{")
_NAME_KEYS = ("name", "tool", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args")

INSTRUCTION = """\
To use a tool, reply with one JSON object in a code fence and nothing else:

```json
{"name": "…", "arguments": {…}}
```

Its result comes with the next message. Without a tool to use, answer in plain text. The tools, \
with the JSON schema of their arguments:
"""


def lone_call(text: str, names: set[str]) -> tuple[str, str] | None:
    """Name and arguments (JSON text) where the whole text is a call of a known tool."""
    body = text.strip()
    if body.startswith(_FENCE):
        body = body.partition("\n")[2].strip().removesuffix(_FENCE)
    elif body.startswith(_TAG):
        body = body.removeprefix(_TAG).strip().removesuffix("</tool_call>")
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not said.keys() <= {*_NAME_KEYS, *_ARGUMENT_KEYS, "type"}:
        return None
    name = next((said[key] for key in _NAME_KEYS if key in said), None)
    arguments: Any = next((said[key] for key in _ARGUMENT_KEYS if key in said), {})
    if not isinstance(name, str) or name not in names:
        return None
    if isinstance(arguments, dict):
        return name, json.dumps(arguments, ensure_ascii=False)
    return (name, arguments) if arguments_object(str(arguments)) == arguments else None


class Held:
    """Text of a reply that may still become a lone call; each piece is looked at once."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._start: str | None = ""  # what opens no call yet; None once one is open
        self._end = ""  # the last characters: a fence may be half here
        self._closed = False

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, text: str) -> bool:
        """Whether all the text so far can still become a lone call."""
        self._pieces.append(text)
        if self._start is not None:
            text = (self._start + text).lstrip()
            opener = next((each for each in _OPENERS if text.startswith(each)), None)
            if opener is None:
                self._start = text
                return any(each.startswith(text) for each in _OPENERS)
            text = text if opener == "{" else text.removeprefix(opener).lstrip()
            if text[:1] != "{":
                self._start = opener
                return not text
            self._start = None
        if not self._closed:
            seen = self._end + text
            _, fence, text = seen.partition(f"\n{_FENCE}")
            self._end, self._closed = seen[-len(_FENCE) :], bool(fence)
        return not (self._closed and text.strip())


class RescuingAssembly:
    """An assembly whose text is a call where it is a lone one."""

    def __init__(self, request: Request, inner: Assembly | None = None) -> None:
        self._request = request
        self._inner = inner or ChatAssembly(request)
        self._names = {tool.name for tool in request.tools}
        self._held = Held()
        self._holds = bool(self._names)
        self._call: Call | None = None

    @property
    def done(self) -> bool:
        return self._inner.done

    def feed(self, chunk: object) -> list[Piece]:
        pieces: list[Piece] = []
        for piece in self._inner.feed(chunk):
            if isinstance(piece, CallPiece):
                pieces += self._release()
            if isinstance(piece, TextPiece) and self._holds:
                if not self._held.add(piece.text):
                    pieces += self._release()
            else:
                pieces.append(piece)
        if self.done and self._holds:
            pieces += self._settle()
        return pieces

    def finished(self) -> Finished:
        finished = self._inner.finished()
        if self._call is None:
            return finished
        others = tuple(item for item in finished.items if not isinstance(item, Assistant))
        return replace(finished, items=(*others, self._call), reason="calls")

    def _settle(self) -> list[Piece]:
        """The model has finished: the held text is a call, or it is shown."""
        found = lone_call(self._held.text, self._names)
        if found is None:
            return self._release()
        self._holds = False
        name, arguments = found
        call_id = CallIds(self._request).claim("")
        self._call = Call(call_id, name, arguments, self._request.turn, self._request.step)
        return [CallPiece(call_id, name)]

    def _release(self) -> list[Piece]:
        self._holds = False
        held, self._held = self._held.text, Held()
        return [TextPiece(held)] if held else []


class RescuedCalling(NativeCalling):
    """Native calls; a lone fenced one counts too."""

    def assembly(self, request: Request) -> Assembly:
        return RescuingAssembly(request)


class FencedCalling:
    """Tools told in the system text, calls as fenced JSON, results as messages of the user."""

    def payload(self, request: Request, profile: Profile) -> dict[str, Any]:
        system = system_of(request, profile)
        if tools := offered(request, profile):
            system = "\n\n".join((system, INSTRUCTION + "\n".join(map(_told, tools))))
        messages = chat_messages(system, [_as_text(item) for item in request.items], request.tail)
        return {"messages": messages}

    def assembly(self, request: Request) -> Assembly:
        return RescuingAssembly(request)


def _told(tool: ToolSpec) -> str:
    text = " ".join(tool.description.split())
    return f"- {tool.name}: {text} {json.dumps(tool.parameters, ensure_ascii=False)}"


def _as_text(item: Item) -> Item:
    match item:
        case Call(_, name, arguments):
            call = {"name": name, "arguments": json.loads(arguments_object(arguments))}
            text = f"{_FENCE}json\n{json.dumps(call, ensure_ascii=False)}\n{_FENCE}"
            return Assistant(text, item.turn, item.step)
        case Result():
            return User(f"Result:\n{result_text(item)}", item.turn)
        case _:
            return item
