"""Calls by schema: each step is one JSON object, a tool or an answer, held by a grammar.

For small local models, which fail at native calls. They choose well among a few tools and they
read facts well, each by itself; they do not know when to stop looking. So a step asks for one of
the two: which tool comes next, as long as there is one that may follow what was seen, or the
answer from the facts seen in this turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..context.prompt import known_text
from ..context.render import arguments_object, chat_messages, kept_arguments, result_text
from ..transcript import Assistant, Call, Item, Result, User
from .assembly import Assembly, CallIds, ChatAssembly
from .base import CallPiece, Finished, Piece, Request, TextPiece, ToolSpec, offered
from .profiles import Profile

# Calls of one turn; then the answer comes from what was found.
MOST_CALLS = 4
# Characters of all facts of a step: a small model on two cores reads 100 tokens a second.
FACTS_LIMIT = 6_000
# Facts of fewer lines need no pointing at; more lines than these are no pointing.
FEW_LINES = 6
# Tokens of one step, and characters of one argument, against a model that does not end.
STEP_TOKENS = 700
ARGUMENT_LIMIT = 300


@dataclass(frozen=True)
class Guide:
    """How a tool is told to a small model: one line, and a question with the call it leads to.

    Of the tool's parameters it is offered those of the example alone. `then` are the tools that
    may follow a result; after any other only the answer does.
    """

    line: str
    question: str
    arguments: dict[str, str]
    then: tuple[str, ...] = ()


GUIDES: dict[str, Guide] = {
    "list_variables": Guide(
        "the names of all live variables",
        "Which variables are there?",
        {},
        ("inspect_variable", "run_python"),
    ),
    "inspect_variable": Guide(
        "one variable: its columns, rows, missing values, mean, min, max, most frequent values",
        "How many values are missing in the age column of people?",
        {"name": "people"},
    ),
    "read_file": Guide(
        "the text of a file", "What is in notes/plan.txt?", {"path": "notes/plan.txt"}
    ),
    "list_dir": Guide("all files of the project", "Which files are there?", {}),
    "run_python": Guide(
        "run Python code, for groups, filters and plots",
        "What is the mean price for each shop in sales?",
        {"code": "sales.groupby('shop')['price'].mean()"},
    ),
}
CHOOSE = (
    "You look things up in a Jupyter kernel. Choose the one tool that helps to answer the "
    "question; reply with one JSON object."
)
ANSWER = """\
Answer the question from the facts. Copy numbers and names exactly as they stand in the facts; \
what the facts do not say, you do not know.

Examples:

Facts:
inspect_variable(people):
people: DataFrame, 12 rows, 2 columns
- age: float64, 1 missing, 9 distinct, min 3, max 71, mean 33.5
- city: str, 0 missing, 2 distinct: Rome (8), Oslo (4)

Question: Which columns does people have?
{"answer": "people has 2 columns: age and city."}

Facts:
(the same)

Question: How old is the oldest person?
{"answer": "The oldest person is 71 years old."}

Facts:
run_python(people.groupby('city')['age'].mean()):
value:
city
Oslo    31.25
Rome    34.5

Question: What is the mean age for each city?
{"answer": "Oslo: 31.25, Rome: 34.5."}"""
_ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "minLength": 1}},
    "required": ["answer"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Look:
    """One call of this turn and what it gave; `text` is empty until its result is there."""

    name: str
    arguments: dict[str, Any]
    result: Result | None

    def told(self, limit: int) -> str:
        values = ", ".join(map(str, self.arguments.values()))
        text = result_text(self.result) if self.result else ""
        return f"{self.name}({values}):\n{_shortened(text, limit)}"


class SchemaCalling:
    """One JSON object a step, by `response_format`; without tools, plain text."""

    def payload(self, request: Request, profile: Profile) -> dict[str, Any]:
        bounds = {"temperature": profile.temperature or 0.0, profile.limit_field: STEP_TOKENS}
        if not request.tools:  # a question outside any conversation, with all that it needs
            messages = chat_messages(request.system, request.items, request.tail)
            return {"messages": messages, **bounds}
        tools = offered(request, profile)
        looks = looks_of(request)
        following = offered_tools(tools, looks)
        facts = [look.told(FACTS_LIMIT // len(looks)) for look in looks]
        if following:
            system = _choosing(tools)
            schema: dict[str, Any] = {"anyOf": [_call_schema(tool) for tool in following]}
            facts = [request.tail, *facts]  # what there is by name
        else:
            system, schema = ANSWER, _ANSWER_SCHEMA
            known = known_text(request.system)
            facts = [known, *facts, *_telling(facts, question_of(request))]
        told = "Facts:\n" + "\n\n".join(facts) + "\n\n" if any(facts) else ""
        return {
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": f"{told}Question: {question_of(request)}"},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "step", "strict": True, "schema": schema},
            },
            **bounds,
        }

    def assembly(self, request: Request) -> Assembly:
        return SchemaAssembly(request)


def looks_of(request: Request) -> list[Look]:
    """The calls of the request's turn, oldest first."""
    items = [item for item in request.items if item.turn == request.turn]
    results = {item.call_id: item for item in items if isinstance(item, Result)}
    return [
        Look(item.name, json.loads(arguments_object(item.arguments)), results.get(item.call_id))
        for item in items
        if isinstance(item, Call)
    ]


def question_of(request: Request) -> str:
    """What the person asks in this turn, with what was sent into it."""
    asked = [item for item in request.items if isinstance(item, User) and item.text.strip()]
    return "\n\n".join(item.text for item in asked if item.turn == asked[-1].turn)


def offered_tools(tools: Sequence[ToolSpec], looks: Sequence[Look]) -> list[ToolSpec]:
    """What the model may call now; empty where it has to answer."""
    if not looks:
        return list(tools)
    last = looks[-1]
    outcome = last.result.outcome if last.result else "skipped"
    if len(looks) >= MOST_CALLS:
        return []
    if outcome in ("failed", "invalid_arguments"):
        used = {look.name for look in looks if not _guide(look.name).arguments} | {last.name}
        return [tool for tool in tools if tool.name not in used]
    if outcome != "ok":  # the person's word ends the looking
        return []
    then = _guide(last.name).then
    return [tool for tool in tools if tool.name in then]


def _telling(facts: Sequence[str], question: str) -> list[str]:
    """The lines that share a word with the question, once more where they are few of many: a
    small model reads best what stands next to the question."""
    words = _words(question)
    lines = [line for fact in facts for line in fact.splitlines()[1:]]
    telling = [line for line in lines if _words(line) & words]
    if len(lines) < FEW_LINES or not 0 < len(telling) < FEW_LINES:
        return []
    return ["\n".join(("Of these, on the question:", *telling))]


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in re.findall(r"[a-z]\w{2,}", text.lower())}


def _guide(name: str) -> Guide:
    return GUIDES.get(name, Guide("", "", {}))


def _choosing(tools: Sequence[ToolSpec]) -> str:
    lines, examples = [], []
    for tool in tools:
        guide = GUIDES.get(tool.name)
        names = ", ".join(_properties(tool))
        line = guide.line if guide else " ".join(tool.description.split()).partition(". ")[0]
        lines.append(f"- {tool.name}({names}): {line}")
        if guide:
            call = {"tool": tool.name, "arguments": guide.arguments}
            examples.append(f"Question: {guide.question}\n{json.dumps(call)}")
    return "\n\n".join((CHOOSE, "Tools:\n" + "\n".join(lines), "Examples:", *examples))


def _properties(tool: ToolSpec) -> dict[str, Any]:
    """The parameters that are offered: those of the example, else those that are required."""
    guide = GUIDES.get(tool.name)
    names = guide.arguments if guide else tool.parameters.get("required", ())
    offered = {name: dict(tool.parameters["properties"][name]) for name in names}
    for schema in offered.values():
        if schema.get("type") == "string":
            schema.setdefault("maxLength", ARGUMENT_LIMIT)
    return offered


def _call_schema(tool: ToolSpec) -> dict[str, Any]:
    properties = _properties(tool)
    arguments = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    if "$defs" in tool.parameters:
        arguments["$defs"] = tool.parameters["$defs"]
    return {
        "type": "object",
        "properties": {"tool": {"const": tool.name}, "arguments": arguments},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _shortened(text: str, limit: int) -> str:
    """The head of a long text, up to a line's end: a listing's most telling part."""
    if len(text) <= limit:
        return text
    return text[:limit].rpartition("\n")[0] + "\n[… the rest is left out]"


# A complete run of characters of a JSON string, escapes included.
_RUN = re.compile(r'(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_OPENING = re.compile(r'\s*\{\s*"(answer|tool)"\s*:\s*"')


class StepReader:
    """One step's JSON object as it streams: what of its answer, or which tool, is there already.

    Text that is no such object is passed on as it is: the server did not hold the schema.
    """

    def __init__(self) -> None:
        self.text = ""
        self.kind = ""  # answer, tool, or plain for what is no step
        self.shown = ""
        self._place = 0

    def feed(self, text: str) -> str:
        """What of the answer is new; empty for a tool."""
        self.text += text
        if not self.kind:
            if opening := _OPENING.match(self.text):
                self.kind, self._place = opening[1], opening.end()
            elif not _may_open(self.text):
                self.kind = "plain"
        if self.kind == "plain":
            new, self._place = self.text[self._place :], len(self.text)
        elif self.kind == "answer":
            new = self._decoded()
        else:
            return ""
        self.shown += new
        return new

    @property
    def tool(self) -> str:
        """The tool's name, once it is whole."""
        if self.kind != "tool":
            return ""
        run = _RUN.match(self.text, self._place)
        return run[0] if run and self.text[run.end() : run.end() + 1] == '"' else ""

    def arguments(self) -> str:
        """The arguments as JSON; as far as they came where the step was cut."""
        try:
            return json.dumps(json.loads(self.text)["arguments"], ensure_ascii=False)
        except (ValueError, KeyError, RecursionError):
            return self.text.partition('"arguments"')[2].lstrip(" :")

    def _decoded(self) -> str:
        run = _RUN.match(self.text, self._place)
        raw = run[0] if run else ""
        if _HIGH_SURROGATE.search(raw):  # its other half is still to come
            raw = raw[:-6]
        self._place += len(raw)
        text: str = json.loads(f'"{raw}"', strict=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _may_open(text: str) -> bool:
    """Whether the start of a step's object may still come."""
    packed = re.sub(r"\s", "", text)
    return any(f'{{"{key}":"'.startswith(packed) for key in ("answer", "tool"))


class SchemaAssembly:
    """From the stream of a step's object to the answer's text, or one call."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._inner = ChatAssembly(request)
        self._reader = StepReader()
        self._call_id = ""

    @property
    def done(self) -> bool:
        return self._inner.done

    def feed(self, chunk: object) -> list[Piece]:
        pieces: list[Piece] = []
        for piece in self._inner.feed(chunk):
            if not isinstance(piece, TextPiece):
                pieces.append(piece)
                continue
            if new := self._reader.feed(piece.text):
                pieces.append(TextPiece(new))
            if self._reader.tool and not self._call_id:
                self._call_id = CallIds(self._request).claim("")
                pieces.append(CallPiece(self._call_id, self._reader.tool))
        return pieces

    def finished(self) -> Finished:
        finished = self._inner.finished()
        turn, step = self._request.turn, self._request.step
        items: list[Item] = [i for i in finished.items if not isinstance(i, Assistant)]
        reason = finished.reason
        if self._call_id:
            arguments = kept_arguments(self._reader.arguments())
            items.append(Call(self._call_id, self._reader.tool, arguments, turn, step))
            reason = "calls"
        elif self._reader.shown.strip():
            items.append(Assistant(self._reader.shown, turn, step))
        return replace(finished, items=tuple(items), reason=reason)
