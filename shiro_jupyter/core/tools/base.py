"""What a tool is. One tool, one file: schema, prompt text, docs row, tool set, approval
subject and tests all derive from its class."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from inspect import cleandoc
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from ..context.render import said_arguments
from ..context.sources import Source
from ..errors import InvalidArguments, PathRefused
from ..events import Answer, Event, Question
from ..models.base import ToolSpec
from ..numbers import sized as sized
from ..policy.private import NOTHING_PRIVATE, Private
from ..policy.subjects import Access, Subject
from ..sessions.session import Session
from ..sessions.undo import Write, Writing
from ..transcript import Outcome
from ..workspace.files import write_atomic
from ..workspace.names import printable as printable
from ..workspace.output import OUTPUT_LIMIT as OUTPUT_LIMIT
from ..workspace.output import bounded as bounded
from ..workspace.paths import recheck, resolve, shown
from ..workspace.processes import Processes
from ..workspace.project import Project
from ..workspace.seen import Seen

# One for a command or code: what is to be approved is shown whole.
INPUT_LIMIT = 30_000


class Parameters(BaseModel):
    """Base of all parameter models: strict about names, so that a typo is told."""

    model_config = ConfigDict(extra="forbid")


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True)
class ToolResult:
    """What came of a call. `text` is for the model; it is bounded by `bounded`. `seen` is what the
    person sees of it, where that is another one."""

    outcome: Outcome
    text: str
    seen: str = ""


@dataclass(frozen=True)
class ToolContext:
    """All that a running call may touch. `output` shows text as it comes; `may_read` says whether
    a file, by the name that rules match, may be read without asking, and `denies_reading` whether
    never; `approved` is the basis of what a person agreed to, empty where nobody was asked;
    `judged` are the texts that were, None before; `kept` is what a call has made by then;
    `around` keeps what a change of a file undoes, and has it made; `private` says what is kept
    from the model, and `unseen` that it will not read what this call shows."""

    call_id: str
    project: Project
    session: Session
    processes: Processes
    seen: Seen
    emit: Callable[[Event], None]
    output: Callable[[str], None]
    ask: Callable[[Question], Awaitable[Answer | None]]
    may_read: Callable[[str], bool] = lambda name: True
    denies_reading: Callable[[str], bool] = lambda name: False
    approved: str = ""
    judged: tuple[str, ...] | None = None
    kept: dict[str, object] = field(default_factory=dict)
    around: Callable[[Writing, Write], bool] = lambda writing, write: write()
    private: Private = NOTHING_PRIVATE
    unseen: bool = False

    def resolved(self, given: str, how: Callable[[Project, str], Path] = resolve) -> Path:
        """The real path of what the model wrote. Raises `PathRefused` where that is not one that
        was judged: a link has been put there since."""
        path = how(self.project, given)
        if self.judged is not None and shown(self.project, path) not in self.judged:
            raise PathRefused(
                f"{given} leads elsewhere than when this call was judged; call again."
            )
        return path

    def write(self, change: Writing) -> bool:
        """The one way for a tool to change a file of the project, so that it can be undone. False
        where it holds other bytes by now; a link that was put there since raises `PathRefused`."""

        def write() -> bool:
            recheck(self.project, change.path)
            return write_atomic(change.path, change.after, expected=change.before or b"")

        return self.around(change, write)


class Tool(ABC, Generic[P]):
    """A tool. The class docstring is its text for the model.

    `run` raises `ModelMendable` for what the model can mend, and lets `CancelledError` pass
    after it has ended what it started.
    """

    name: ClassVar[str]
    toolset: ClassVar[str]
    access: ClassVar[Access]
    # One sentence for the system text: when to take this tool. It names no tool of another set.
    guidance: ClassVar[str] = ""
    # Whether it is called again and again to see what has become of something.
    polls: ClassVar[bool] = False
    # Whether its results may hold what ran, printed or stored: the host withholds them where that
    # is private. False: it asks `ToolContext.private` itself. None: as its access says.
    shows_output: ClassVar[bool | None] = None
    # Bound by each subclass; a ClassVar may not hold a type variable.
    parameters: type[P]

    @classmethod
    def spec(cls) -> ToolSpec:
        text, schema = cleandoc(cls.__doc__ or ""), schema_of(cls.parameters)
        return ToolSpec(cls.name, text, schema, cls.guidance)

    @classmethod
    def source(cls) -> Source:
        """Of what, in a request, its calls and results are."""
        match cls.toolset, cls.access:
            case (("kernel" | "notebook" | "own"), _):
                return "kernel"
            case "session", _:
                return "memory"
            case _, ("read" | "write"):
                return "files"
            case _:
                return "commands"

    @classmethod
    def may_show_output(cls) -> bool:
        if cls.shows_output is not None:
            return cls.shows_output
        return cls.toolset == "notebook" or cls.access in ("shell", "kernel", "job")

    def parse(self, arguments: str) -> P:
        """The call's arguments; empty text means none. Raises `InvalidArguments`."""
        try:
            said = said_arguments(arguments).strip()
            return self.parameters.model_validate_json(said or "{}")
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}"
                for each in error.errors(include_url=False)
            )
            raise InvalidArguments(
                f"The arguments of {self.name} do not fit ({problems}). "
                f"The schema is {json.dumps(schema_of(self.parameters))}."
            ) from None

    @abstractmethod
    def summary(self, parameters: P) -> str:
        """One line for the views: the command, path, pattern or query."""

    async def prepare(self, parameters: P, context: ToolContext) -> None:
        """Look, before each time that it is judged, at what `subject` has to know and only the
        loop can reach; kept in `context.kept`."""

    def subject(self, parameters: P, context: ToolContext) -> Subject:
        """What approvals and rules judge. Raises `PathRefused` for a path out of bounds."""
        return Subject(self.name, self.access, (self.summary(parameters),))

    @abstractmethod
    async def run(self, parameters: P, context: ToolContext) -> ToolResult: ...


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema without pydantic's titles, which cost tokens and say nothing, and
    without references, which not every server follows."""
    schema = model.model_json_schema()
    return _plain(schema, schema.pop("$defs", {}))  # type: ignore[no-any-return]


def _plain(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(each, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if reference := node.get("$ref"):
        node = definitions[reference.rpartition("/")[2]] | node
    # A property may itself be called "title": only a string there is pydantic's.
    return {
        key: _plain(value, definitions)
        for key, value in node.items()
        if key != "$ref" and not (key == "title" and isinstance(value, str))
    }
