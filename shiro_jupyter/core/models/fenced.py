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
from .base import CallPiece, Finished, Piece, Request, TextPiece, ToolSpec
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


def may_be_call(text: str) -> bool:
    """Whether a text that began like this can still become a lone call."""
    text = text.lstrip()
    for opener in _OPENERS:
        if opener.startswith(text):
            return True
        if text.startswith(opener):
            body = text if opener == "{" else text.removeprefix(opener).lstrip()
            _, closed, rest = body.partition(f"\n{_FENCE}")
            return body[:1] in ("", "{") and not (closed and rest.strip())
    return False


class RescuingAssembly:
    """An assembly whose text is a call where it is a lone one."""

    def __init__(self, request: Request, inner: Assembly | None = None) -> None:
        self._request = request
        self._inner = inner or ChatAssembly(request)
        self._names = {tool.name for tool in request.tools}
        self._held = ""
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
                self._held += piece.text
                if not may_be_call(self._held):
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
        found = lone_call(self._held, self._names)
        if found is None:
            return self._release()
        self._holds = False
        name, arguments = found
        call_id = CallIds(self._request).claim("")
        self._call = Call(call_id, name, arguments, self._request.turn, self._request.step)
        return [CallPiece(call_id, name)]

    def _release(self) -> list[Piece]:
        self._holds = False
        held, self._held = self._held, ""
        return [TextPiece(held)] if held else []


class RescuedCalling(NativeCalling):
    """Native calls; a lone fenced one counts too."""

    def assembly(self, request: Request) -> Assembly:
        return RescuingAssembly(request)


class FencedCalling:
    """Tools told in the system text, calls as fenced JSON, results as messages of the user."""

    def payload(self, request: Request, profile: Profile) -> dict[str, Any]:
        tools = [tool for tool in request.tools if not profile.tools or tool.name in profile.tools]
        system = request.system
        if tools:
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
