"""Functions of the person's as tools of the agent: `@shiro.tool` in a cell.

The decorator leaves a mark on the function. At the start of each turn the names of the person are
looked through for marked functions, so that a tool is there as long as its function is there under
its own name, whether the extension was loaded before or after.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import types
import typing
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from IPython.core.getipython import get_ipython
from pydantic import ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError

from ..core.errors import InvalidArguments, ModelMendable, UsageError
from ..core.policy.subjects import Subject
from ..core.sessions.session import Session
from ..core.tools.base import Parameters, Tool, ToolContext, ToolResult, bounded, schema_of
from . import compat
from .describe import class_name, kind
from .run_code import CodeResult, Live
from .tools import OUR_NAMES
from .tools.run_python import ran

MARK = "__shiro_tool__"
TEXT_LIMIT = 2_000  # characters of a docstring, which goes out with every request
UNASKED, ALWAYS = "unasked", "always"  # what a grant covers
NO_VALUE = "Done; it printed nothing and returned nothing."
WITHIN = "A turn is running this code: only a cell that the person runs makes a function a tool."

_WIRE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_CACHED = type(functools.cache(lambda: None))


class OwnParameters(Parameters):
    """Of one function. Fields have names of ours, since those of arguments may be taken."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=False)


@dataclass(eq=False)
class Mark:
    """What makes a function a tool. `function` is what stands under its name, with whatever other
    decorators are around it; `value` is the text of what the last call returned."""

    function: Callable[..., Any]
    parameters: type[OwnParameters]
    fields: dict[str, str]  # arguments by the fields of the model
    ask: bool
    source: str
    tool: type[OwnTool]
    value: str = ""

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def awaits(self) -> bool:
        return inspect.iscoroutinefunction(inspect.unwrap(self.function))

    def call(self, /, **arguments: Any) -> Awaitable[None] | None:
        """Run the function on main, with arguments as JSON has them; an async one has to be
        awaited."""
        __tracebackhide__ = True
        given = self.parameters.model_validate_json(json.dumps(arguments))
        values = {self.fields[name]: getattr(given, name) for name in given.model_fields_set}
        value = self.function(**values)
        if self.awaits:
            return self._awaited(value)
        if inspect.isawaitable(value):  # of a function that does not look as if it were async
            compat.run_inside(self._awaited(value))
        else:
            self.value = _as_text(value)
        return None

    async def _awaited(self, value: Any) -> None:
        __tracebackhide__ = True
        self.value = _as_text(await value if inspect.isawaitable(value) else value)

    def code(self, arguments: dict[str, Any], known: dict[str, Any]) -> str:
        """What is run. The names in the comment are those that it may change in place: so it is
        seen, and put back by an undo."""
        call = f"{'await ' if self.awaits else ''}{self.name}.{MARK}.call({_listed(arguments)})"
        names = getattr(inspect.unwrap(self.function), "__code__").co_names  # noqa: B009
        used = [name for name in names if name in known]
        return f"{call}  # {', '.join(used)}" if used else call


class OwnTool(Tool[OwnParameters]):
    """Made for each function; the text for the model is its docstring."""

    toolset = "own"
    access = "kernel"
    mark: ClassVar[Mark]

    def __init__(self, live: Live, namespace: dict[str, Any]) -> None:
        self._live, self._namespace = live, namespace

    def parse(self, arguments: str) -> OwnParameters:
        """A hint may bring along code of theirs, which runs here, on the agent's thread."""
        try:
            return super().parse(arguments)
        except ModelMendable:
            raise
        except BaseException as error:
            raise InvalidArguments(
                f"The arguments of {self.name} do not fit: checking them raised "
                f"{class_name(type(error))}."
            ) from None

    def summary(self, parameters: OwnParameters) -> str:
        return f"{self.name}({_listed(_said(parameters))})"

    def subject(self, parameters: OwnParameters, context: ToolContext) -> Subject:
        """A function that is not to be asked about is one that the person has granted; in a session
        that has read the words of others it is asked about all the same."""
        unasked = not self.mark.ask and not context.session.tainted
        return Subject(
            self.name,
            self.access,
            # The source, too, since it says whether the function reaches out.
            tuple(filter(None, [_listed(_said(parameters)), self.mark.source])),
            preview=self.summary(parameters),
            title=f"Run your function {self.name}?",
            grant=UNASKED if unasked else ALWAYS,
            grant_label=f"every call of {self.name}, whatever its arguments",
        )

    async def run(self, parameters: OwnParameters, context: ToolContext) -> ToolResult:
        mark = self.mark
        mark.value = ""

        def told(result: CodeResult) -> str:
            printed = result.text() if result.stdout or result.stderr or result.shown else ""
            return "\n".join(filter(None, [printed, mark.value])) or NO_VALUE

        code = mark.code(_said(parameters), self._namespace)
        return await ran(self._live, code, context, told)


@dataclass
class OwnTools:
    """The tools that the functions in a namespace make, in the order of their names."""

    namespace: dict[str, Any]
    live: Live

    def tools(self) -> tuple[OwnTool, ...]:
        return tuple(mark.tool(self.live, self.namespace) for mark in self._marks())

    def offered(self, session: Session) -> tuple[OwnTool, ...]:
        """Those of the turn that begins; what needs no asking is granted for it."""
        tools = self.tools()
        for key in [each for each in session.grants if _is_unasked(each)]:
            session.grants.discard(key)
        session.grants |= {_unasked_key(each.name) for each in tools if not each.mark.ask}
        return tools

    def _marks(self) -> list[Mark]:
        found = [_marked(name, value) for name, value in self.namespace.copy().items()]
        return sorted(filter(None, found), key=lambda mark: mark.name)


def _marked(name: str, value: Any) -> Mark | None:
    """Asks nothing of objects that are no functions."""
    if type(value) not in (types.FunctionType, _CACHED):
        return None
    mark = value.__dict__.get(MARK)
    if type(mark) is not Mark or mark.name != name:
        return None
    mark.function = value
    return mark


def _unasked_key(name: str) -> str:
    return Subject(name, "kernel", (), grant=UNASKED).grant_key


def _is_unasked(key: str) -> bool:
    tool, _ = json.loads(key)
    return key == _unasked_key(tool)


def _said(parameters: OwnParameters) -> dict[str, Any]:
    """The arguments that were given, as JSON has them."""
    given: dict[str, Any] = parameters.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return given


def _listed(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items())


def _as_text(value: Any) -> str:
    """A returned value for the model, as its cell would show it; text as it stands."""
    if value is None:
        return ""
    if type(value) is str:
        return bounded(value)
    shell: Any = get_ipython()
    text = shell.display_formatter.formatters["text/plain"](value)
    if text is None:  # the formatter has shown the person why
        return f"It returned {kind(value)}, which cannot be shown: its __repr__ raised an error."
    return bounded(str(text))


# -- the decorator -------------------------------------------------------------------------


def marked(function: Any, *, ask: bool, in_turn: bool) -> Any:
    """The function, marked. Raises `UsageError`, shown as one sentence, where it makes no tool."""
    try:
        if in_turn:
            raise UsageError(WITHIN)
        setattr(function, MARK, _mark_of(function, ask))
    except UsageError as error:
        raise compat.terminate_quietly(error, f"UsageError: {error}") from None
    return function


def _mark_of(function: Any, ask: bool) -> Mark:
    _check(function)
    name = function.__name__
    parameters, fields = _parameters_of(function)
    text = inspect.getdoc(function) or f"{name}{_without_defaults(inspect.signature(function))}"
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):  # made by `exec`, or of no file
        source = ""
    try:
        f"{text}{json.dumps(schema_of(parameters), ensure_ascii=False)}".encode()
    except UnicodeEncodeError:
        raise UsageError(
            f"The docstring or a hint of {name} holds half a character, which cannot be sent: take "
            "it out."
        ) from None
    members = {"name": name, "parameters": parameters, "__doc__": bounded(text, TEXT_LIMIT)}
    tool: type[OwnTool] = type(name, (OwnTool,), members)
    mark = Mark(function, parameters, fields, ask, source, tool)
    tool.mark = mark
    return mark


def _without_defaults(signature: inspect.Signature) -> inspect.Signature:
    """The schema tells them, where they may be told."""
    bare = [each.replace(default=each.empty) for each in signature.parameters.values()]
    return signature.replace(parameters=bare)


def _check(function: Any) -> None:
    if type(function) not in (types.FunctionType, _CACHED):
        raise UsageError(
            f"@shiro.tool goes above a function (def), not above {_kind(function)}: write one that "
            "does what is needed."
        )
    name, plain = function.__name__, inspect.unwrap(function)
    if not _WIRE_NAME.fullmatch(name):
        what = "A lambda has no name" if name == "<lambda>" else f"{name} is no name for a tool"
        raise UsageError(f"{what}: write a def with a name of ASCII letters, 64 at most.")
    if name in OUR_NAMES:
        raise UsageError(f"There is a tool {name} already: give the function another name.")
    inner = function.__qualname__.rpartition(".")[0]
    if inner and not inner.endswith("<locals>"):
        raise UsageError(
            f"{function.__qualname__} is a method: write a function outside the class, to call it."
        )
    if inspect.isgeneratorfunction(plain) or inspect.isasyncgenfunction(plain):
        raise UsageError(f"{name} yields its values one by one: have it return a list of them.")


def _kind(value: Any) -> str:
    return "a class" if isinstance(value, type) else f"a {type(value).__name__}"


def _parameters_of(function: Any) -> tuple[type[OwnParameters], dict[str, str]]:
    """A model of the arguments, and the argument of each of its fields."""
    name = function.__name__
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception as error:  # a hint that is text may hold any code
        raise UsageError(
            f"A type hint of {name} cannot be read ({error}): write one that is defined."
        ) from None
    found: dict[str, Any] = {}
    fields: dict[str, str] = {}
    for at, each in enumerate(inspect.signature(function).parameters.values()):
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise UsageError(
                f"{name} takes {str(each).partition(':')[0]} without a name for each: name every "
                "argument, or take one list."
            )
        if each.name not in hints:
            raise UsageError(
                f"{each.name} of {name} has no type hint: say what it is, such as {each.name}: str."
            )
        found[f"field_{at}"] = (hints[each.name], _field(each))
        fields[f"field_{at}"] = each.name
        _check_hint(name, each.name, *found[f"field_{at}"])
    return create_model(name, __base__=OwnParameters, **found), fields


def _field(parameter: inspect.Parameter) -> Any:
    """An argument that is not given is left to the function; the model is told the default where
    JSON has it."""
    default = parameter.default
    if default is parameter.empty:
        return Field(alias=parameter.name)
    try:
        json.dumps(default, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return Field(alias=parameter.name, default_factory=lambda: None)
    return Field(alias=parameter.name, default=default)


def _check_hint(function: str, name: str, hint: Any, field: Any) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schema_of(create_model(function, __base__=OwnParameters, field=(hint, field)))
    except (PydanticUserError, RecursionError, TypeError, ValueError):
        raise UsageError(
            f"{name} of {function} is {_hint(hint)}, which a model cannot write: take text, a "
            "number, a list, a dict, or the name of a variable as str."
        ) from None


def _hint(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)
