"""`@shiro.tool`: what becomes a tool, what is refused, and what a call does in a real kernel."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import pytest
from pydantic import AfterValidator, BaseModel, Field

import shiro_jupyter as shiro
from shiro_jupyter.core.errors import InvalidArguments, UsageError
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.rules import Rules, parse_rule
from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.kernel.own_tools import OwnTool, OwnTools
from shiro_jupyter.kernel.run_code import CodeResult
from tests.support.kernels import Kernel, interpreters, running_kernel
from tests.support.scripts import runs, says, script
from tests.support.tools import Bench


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


class Order(BaseModel):
    item: str
    count: int = 1


@dataclass
class Point:
    x: float


class Tree(BaseModel):
    below: list[Tree] = []


class Live:
    """Runs code at once, in a namespace of its own, and keeps it."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace, self.codes = namespace, list[str]()

    async def run(
        self, code: str, output: Callable[[str], None], *, first: Callable[[], None]
    ) -> CodeResult:
        first()
        self.codes.append(code)
        exec(code, self.namespace)
        return CodeResult(ok=True)

    def interrupt(self) -> None:
        raise AssertionError


def made(function: Any, **more: Any) -> OwnTool:
    namespace = {function.__name__: function, **more}
    (tool,) = OwnTools(namespace, Live(namespace)).tools()
    return tool


def test_name_text_and_hints_are_what_the_model_is_told() -> None:
    @shiro.tool
    def lookup(
        customer: str,
        size: Literal["small", "large"] = "small",
        limit: Annotated[int, Field(description="how many", ge=1)] = 3,
        when: datetime.date | None = None,
        *,
        json: bool = False,
    ) -> list[str]:
        """Find the orders of a customer.

        The newest first.
        """
        return []

    spec = made(lookup).spec()
    assert (spec.name, spec.description) == (
        "lookup",
        "Find the orders of a customer.\n\nThe newest first.",
    )
    assert spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["customer"],
        "properties": {
            "customer": {"type": "string"},
            "size": {"enum": ["small", "large"], "type": "string", "default": "small"},
            "limit": {"type": "integer", "minimum": 1, "default": 3, "description": "how many"},
            "when": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]}
            | {"default": None},
            "json": {"type": "boolean", "default": False},
        },
    }


def test_without_a_docstring_the_signature_is_the_text() -> None:
    @shiro.tool
    def area(width: float, height: float) -> float:
        return width * height

    assert made(area).spec().description == "area(width: 'float', height: 'float') -> 'float'"


def test_a_call_hands_over_what_the_hints_say_and_leaves_the_rest_to_the_function(
    tmp_path: Path,
) -> None:
    got: list[Any] = []
    missing = object()

    @shiro.tool
    def take(
        day: datetime.date,
        size: Size,
        order: Order,
        points: list[Point],
        copy: bool,
        other: Any = missing,
    ) -> None:
        got.extend([day, size, order, points, copy, other])

    namespace = {"take": take}
    live = Live(namespace)
    (tool,) = OwnTools(namespace, live).tools()
    assert tool.spec().parameters["required"] == ["day", "size", "order", "points", "copy"]
    arguments = {
        "day": "2026-01-05",
        "size": "large",
        "order": {"item": "tea"},
        "points": [{"x": 1}],
        "copy": True,
    }
    result = Bench(tmp_path).run(tool, **arguments)
    assert result.outcome == "ok"
    assert got == [
        *(datetime.date(2026, 1, 5), Size.LARGE, Order(item="tea"), [Point(1.0)], True, missing)
    ]
    assert live.codes[0].startswith("take.__shiro_tool__.call(day='2026-01-05', size='large', ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it\nstands", "as it\nstands"),
        (None, "Done; it printed nothing and returned nothing."),
        ("x" * 40_000, "x"),
    ],
)
def test_what_it_returns_is_the_result_as_text(tmp_path: Path, value: Any, text: str) -> None:
    @shiro.tool
    def give() -> Any:
        return value

    said = Bench(tmp_path).run(made(give)).text
    assert said == text if len(text) > 1 else (said.startswith(text) and len(said) < 31_000)


def test_arguments_that_do_not_fit_are_told_by_their_names() -> None:
    @shiro.tool
    def lookup(customer: str, limit: int = 3) -> None: ...

    with pytest.raises(InvalidArguments, match=r"customer: Field required.*limit: Input should"):
        made(lookup).parse('{"limit": "many"}')
    with pytest.raises(InvalidArguments, match="limt: Extra inputs"):
        made(lookup).parse('{"customer": "Ada", "limt": 3}')


def leaves(value: int) -> int:
    raise SystemExit


def test_a_check_of_a_hint_that_raises_is_an_argument_that_does_not_fit() -> None:
    @shiro.tool
    def take(value: Annotated[int, AfterValidator(leaves)]) -> None: ...

    with pytest.raises(InvalidArguments, match="take do not fit: checking them raised SystemExit"):
        made(take).parse('{"value": 3}')


# -- what makes no tool ------------------------------------------------------------------------


def nothing(**hints: Any) -> Any:
    def plain(value: Any) -> None: ...

    plain.__annotations__ = hints
    return plain


class Holder:
    def method(self) -> None: ...


def numbers() -> Iterator[int]:
    yield 1


def positional(value: int, /) -> None: ...


def several(*values: int) -> None: ...


def more(**values: int) -> None: ...


def unhinted(value) -> None: ...  # type: ignore[no-untyped-def]


def run_python() -> None: ...


def prüfe() -> None: ...


def half_a_character() -> None: ...


half_a_character.__doc__ = "\ud800"


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda: None, "A lambda has no name: write a def"),
        (prüfe, "prüfe is no name for a tool: write a def with a name of ASCII letters"),
        (Holder.method, "Holder.method is a method: write a function outside the class"),
        (Holder, "not above a class"),
        (functools.partial(nothing), "not above a partial"),
        (print, "not above a builtin"),
        (3, "not above a int"),
        (None, "not above a NoneType"),
        (half_a_character, "docstring or a hint of half_a_character holds half a character"),
        (numbers, "numbers yields its values one by one: have it return a list"),
        (positional, "positional takes value without a name"),
        (several, r"several takes \*values without a name"),
        (more, r"more takes \*\*values without a name"),
        (unhinted, "value of unhinted has no type hint: say what it is, such as value: str"),
        (nothing(value=pd.DataFrame), "value of plain is DataFrame, which a model cannot write"),
        (nothing(value="Missing"), "A type hint of plain cannot be read .*Missing"),
        (nothing(value=Callable[[int], int]), "value of plain is .*Callable.*cannot write"),
        (nothing(value=Tree), "value of plain is Tree, which a model cannot write"),
        (run_python, "There is a tool run_python already: give the function another name"),
    ],
)
def test_what_makes_no_tool_is_refused_with_what_to_do(function: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why) as caught:
        shiro.tool(function)
    assert caught.value._render_traceback_() == [f"UsageError: {caught.value}"]  # type: ignore[attr-defined]


# -- which there are ---------------------------------------------------------------------------


def test_a_tool_is_there_as_long_as_its_function_is_there_under_its_name() -> None:
    @shiro.tool
    def second() -> int:
        return 2

    @shiro.tool
    def first() -> int:
        return 1

    namespace: dict[str, Any] = {"second": second, "first": first, "alias": first, "n": 3}
    tools = OwnTools(namespace, Live(namespace))
    assert [tool.name for tool in tools.tools()] == ["first", "second"]
    namespace["second"] = lambda: 2
    assert [tool.name for tool in tools.tools()] == ["first"]
    del namespace["first"]
    assert tools.tools() == ()


def test_other_decorators_around_it_are_kept(tmp_path: Path) -> None:
    calls: list[int] = []

    @functools.cache
    @shiro.tool
    def under(value: int) -> str:
        calls.append(value)
        return f"got {value}"

    @shiro.tool
    @functools.cache
    def above(value: int) -> str:
        calls.append(value)
        return f"got {value}"

    for function in (under, above):
        tool = made(function)
        assert Bench(tmp_path).run(tool, value=7).text == "got 7"
        assert Bench(tmp_path).run(tool, value=7).text == "got 7"
    assert calls == [7, 7]


def test_an_object_that_answers_for_everything_is_not_asked() -> None:
    class Answers:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

        __class__ = property(lambda self: self.boom)  # type: ignore[assignment]

    namespace: dict[str, Any] = {"thing": Answers()}
    assert OwnTools(namespace, Live(namespace)).tools() == ()


# -- asking ------------------------------------------------------------------------------------


def verdict(tool: OwnTool, session: Session, gate: Gate, bench: Bench) -> tuple[str, bool]:
    bench.session = session
    subject = tool.subject(tool.parse('{"customer": "Ada"}'), bench.context)
    decision = gate.decide(subject, session.grants, tainted=bool(session.tainted))
    return decision.verdict, decision.once


@pytest.mark.parametrize("ask", [True, False])
def test_it_is_asked_about_unless_the_person_said_not_to(tmp_path: Path, ask: bool) -> None:
    @shiro.tool(ask=ask)
    def lookup(customer: str) -> None: ...

    bench, session, gate = Bench(tmp_path), Session(), Gate()
    namespace = {"lookup": lookup}
    tools = OwnTools(namespace, Live(namespace))
    (tool,) = tools.offered(session)
    subject = tool.subject(tool.parse('{"customer": "Ada"}'), bench.context)
    assert subject.shown == "lookup(customer='Ada')"
    assert subject.title == "Run your function lookup?"
    assert verdict(tool, session, gate, bench)[0] == ("ask" if ask else "allow")
    assert verdict(tool, session, Gate(mode="plan"), bench)[0] == "deny"
    for rule in ("lookup", "lookup(customer='A*)", "lookup(*)"):
        denied = Gate(rules=Rules(deny=(parse_rule(rule),)))
        assert verdict(tool, session, denied, bench)[0] == "deny"
    session.tainted.add("network")
    assert verdict(tool, session, gate, bench)[0] == "ask"
    session.tainted.clear()
    tools.namespace = {}
    tools.offered(session)
    assert verdict(tool, session, gate, bench)[0] == "ask"
    session.grants.add(subject.grant_key if ask else json.dumps(["lookup", "always"]))
    tools.offered(session)
    assert verdict(tool, session, gate, bench)[0] == ("allow" if ask else "ask")


def test_what_its_code_says_counts_where_the_session_has_read_words_of_others(
    tmp_path: Path,
) -> None:
    @shiro.tool
    def lookup(customer: str) -> None:
        import urllib.request

        urllib.request.urlopen(f"https://example.com/{customer}")

    bench, session = Bench(tmp_path), Session()
    tool = made(lookup)
    session.tainted.add("network")
    session.grants.add(tool.subject(tool.parse('{"customer": "A"}'), bench.context).grant_key)
    assert verdict(tool, session, Gate(mode="yolo"), bench) == ("ask", True)


# -- in a kernel -------------------------------------------------------------------------------

DEFINES = '''
import asyncio, time
import shiro_jupyter as shiro
rows = [1]
@shiro.tool(ask=False)
def lookup(customer: str, limit: int = 2) -> list:
    """Find the orders of a customer."""
    global found
    found = customer
    rows.append(limit)
    print("looking", customer)
    return [customer] * limit
@shiro.tool(ask=False)
async def later(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"
@shiro.tool(ask=False)
def breaks() -> None:
    """Break."""
    raise KeyError("nobody")
@shiro.tool(ask=False)
def sleeps() -> None:
    """Sleep."""
    open("sleeping", "w").close()
    time.sleep(60)
@shiro.tool(ask=False)
def hands_on(seconds: float) -> object:
    """Hand on what has to be awaited."""
    return later(seconds)
class Unshown:
    def __repr__(self):
        raise OSError("no repr")
@shiro.tool(ask=False)
def unshown() -> object:
    """Give what cannot be shown."""
    return Unshown()
@shiro.tool(ask=False)
def stops() -> None:
    """Stop."""
    raise KeyboardInterrupt
@shiro.tool
def asks(name: str) -> str:
    """Ask."""
    return f"asked {name}"
'''
ITEMS = "get_ipython()._shiro_extension.host.services.conversation.opened.session.items"
LAST = f"[i.text for i in {ITEMS} if type(i).__name__ == 'Result'][-1]"
TOOLS = (
    "[t.name for t in get_ipython()._shiro_extension.host.services.conversation.agent.tools"
    " if t.toolset == 'own']"
)


def calls(when: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"when": when, "calls": [{"name": name, "arguments": arguments}]}


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("own")
    made_in_a_turn = "import shiro_jupyter as shiro\n@shiro.tool(ask=False)\ndef mine(): ..."
    model = script(
        folder,
        *(calls("look up", "lookup", customer="Ada"), says("look up", "Found.")),
        *(calls("await", "later", seconds=0), says("await", "Awaited.")),
        *(calls("break", "breaks"), says("break", "Broke.")),
        *(calls("sleep", "sleeps"), says("sleep", "Slept.")),
        *(calls("hand on", "hands_on", seconds=0), says("hand on", "Handed on.")),
        *(calls("show it", "unshown"), says("show it", "Shown.")),
        *(calls("stop it", "stops"), says("stop it", "Stopped.")),
        *(calls("ask me", "asks", name="Bo"), says("ask me", "Asked.")),
        *(runs("define", made_in_a_turn), says("define", "Defined.")),
        says("hi", "Hello."),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    with running_kernel(request.param, folder=folder, SHIRO_VIEW="text", **home) as kernel:
        assert kernel.run(DEFINES).status == "ok"  # before the extension is loaded
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def test_a_call_prints_into_the_cell_and_its_value_goes_to_the_model(kernel: Kernel) -> None:
    outputs = kernel.run("r = %shiro look up", stdin=str)
    assert "looking Ada" in outputs.stdout and "Found." in outputs.stdout
    assert kernel.value(LAST) == repr("looking Ada\n['Ada', 'Ada']")
    assert kernel.value("found, rows") == "('Ada', [1, 2])"
    undone = kernel.run("%shiro /undo", stdin=lambda prompt: "y")
    assert "found" in undone.stdout, undone.stdout + undone.stream("stderr")
    assert kernel.value("'found' in globals(), rows") == "(False, [1])"


def test_one_that_is_async_is_awaited_in_a_cell_that_awaits_and_in_one_that_blocks(
    kernel: Kernel,
) -> None:
    for cell in ("r = %shiro await", "%time r = get_ipython().run_line_magic('shiro', 'await')"):
        assert kernel.run(cell, stdin=str).status == "ok"
        assert kernel.value(LAST) == "'waited'"


def test_what_a_plain_function_hands_on_is_awaited_too(kernel: Kernel) -> None:
    for cell in (
        "r = %shiro hand on",
        "%time r = get_ipython().run_line_magic('shiro', 'hand on')",
    ):
        assert kernel.run(cell, stdin=str).status == "ok"
        assert kernel.value(LAST) == "'waited'"


def test_an_object_that_cannot_be_shown_is_told_as_such(kernel: Kernel) -> None:
    kernel.run("r = %shiro show it", stdin=str)
    assert kernel.value(LAST) == repr(
        "It returned Unshown, which cannot be shown: its __repr__ raised an error."
    )


def test_a_tool_that_raises_an_interrupt_itself_has_failed(kernel: Kernel) -> None:
    outputs = kernel.run("r = %shiro stop it", stdin=str)
    assert outputs.status == "ok" and "Stopped." in outputs.stdout
    said = kernel.run(f"print({LAST})").stdout
    assert "Interrupted by the person" not in said and "raise KeyboardInterrupt" in said


def test_an_error_is_its_result_and_shows_no_frame_of_ours(kernel: Kernel) -> None:
    outputs = kernel.run("r = %shiro break", stdin=str)
    assert outputs.status == "ok" and "Broke." in outputs.stdout
    said = kernel.run(f"print({LAST})").stdout
    assert "KeyError: 'nobody'" in said and 'raise KeyError("nobody")' in said
    assert "own_tools.py" not in said


def test_an_interrupt_ends_the_call_and_the_turn_goes_on(kernel: Kernel) -> None:
    sleeping = kernel.folder / "sleeping"

    def once() -> None:
        if sleeping.exists():
            sleeping.unlink()
            kernel.interrupt()

    outputs = kernel.run("r = %shiro sleep", stdin=str, idle=once)
    assert outputs.status == "ok" and "Slept." in outputs.stdout
    assert "Interrupted by the person" in kernel.value(LAST)


def test_a_question_shows_the_call_and_a_yes_holds_for_the_session(kernel: Kernel) -> None:
    asked: list[str] = []

    def person(prompt: str) -> str:
        asked.append(prompt)
        return "s"

    shown = kernel.run("r = %shiro ask me", stdin=person).stdout
    assert "Run your function asks?" in shown + asked[0] and "asks(name='Bo')" in shown + asked[0]
    assert kernel.value(LAST) == "'asked Bo'"
    kernel.run("r = %shiro ask me", stdin=person)
    assert len(asked) == 1


def test_a_cell_that_is_run_again_replaces_it_and_a_deleted_one_is_gone(kernel: Kernel) -> None:
    kernel.run("@shiro.tool\ndef passing(n: int): 'Pass.'")
    kernel.run("%shiro hi", stdin=str)
    assert "'passing'" in kernel.value(TOOLS)
    assert "passing" in kernel.run("%shiro /tools", stdin=str).stdout
    kernel.run("@shiro.tool\ndef passing(text: str): 'Pass it on.'")
    kernel.run("%shiro hi", stdin=str)
    names = kernel.value(TOOLS)
    assert names.count("'passing'") == 1
    described = kernel.value(TOOLS.replace("t.name", "t.spec()"))
    assert "Pass it on." in described and "'n'" not in described
    kernel.run("del passing")
    kernel.run("%shiro hi", stdin=str)
    left = "asks breaks hands_on later lookup sleeps stops unshown"
    assert kernel.value(TOOLS) == repr(left.split())


def test_code_of_a_turn_makes_no_tool(kernel: Kernel) -> None:
    kernel.run("r = %shiro --yolo define", stdin=str)
    assert "UsageError: A turn is running this code: only a cell" in kernel.value(LAST)
    assert "mine" not in kernel.value(TOOLS)
