"""Takes prompts as they were typed, and makes `%shiro` an `await` where that is possible.

IPython would turn a trailing `?` into help, paste `$name` and `{name}`, and join lines at a
backslash. So each of our magics is turned into a call with the text as a Python literal before
IPython's own transformers see it, by a token transformer that takes part in their loop: the
earliest special syntax of a cell goes first, so what stands in a string is never touched.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from IPython.core.inputtransformer2 import TokenTransformBase, make_tokens_by_line

VERBATIM = ("shiro", "todos", "remember", "recall", "forget")
# IPython's magics whose line may hold ours; their rest is code, taken as it stands too.
TIMERS = ("time", "timeit", "prun")
SYNC, ASYNC = "shiro", "shiro_async"


class VerbatimMagic(TokenTransformBase):
    """`%shiro …`, `x = %shiro …` and the like, also indented.

    A statement's value is dropped (`and None`), so that nothing is echoed and `_` and `Out`
    stay what they were.
    """

    priority = 0  # ahead of `name?` at the same place

    def __init__(
        self, start: tuple[int, int], percent: tuple[int, int], name: str, assigned: bool
    ) -> None:
        super().__init__(start)  # type: ignore[no-untyped-call]
        # The statement may begin on an earlier line than its `%`.
        self.at, self.percent = percent[0] - 1, percent[1]
        self.name, self.assigned = name, assigned

    @classmethod
    def find(cls, tokens_by_line: list[list[tokenize.TokenInfo]]) -> VerbatimMagic | None:
        for line in tokens_by_line:
            tokens = [t for t in line if t.type not in (tokenize.INDENT, tokenize.DEDENT)]
            if not tokens:
                continue
            for at in (0,) if tokens[0].string == "%" else _assigned(tokens):
                name = _magic_at(tokens, at)
                if name in VERBATIM or (name in TIMERS and _holds_ours(tokens[at + 2 :])):
                    return cls(tokens[0].start, tokens[at].start, name, at > 0)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        line = lines[self.at]
        before, text = line[: self.percent], line[self.percent + 1 + len(self.name) :]
        typed = _as_typed(text)
        call = f"get_ipython().run_line_magic({self.name!r}, {typed!r})"
        if self.name == "time" and not typed.startswith("-"):
            # A line IPython splits at spaces and quotes and puts together otherwise, and either
            # it wants to be Python.
            timed = [f"{typed}\n"]
            if inner := self.find(make_tokens_by_line(timed)):
                timed = inner.transform(timed)
            call = f"get_ipython().run_cell_magic('time', '', {''.join(timed)!r})"
        if not self.assigned and self.name not in TIMERS:
            call += " and None"
        return [*lines[: self.at], f"{before}{call}\n", *lines[self.at + 1 :]]


def whole_lines(lines: list[str]) -> list[str]:
    """The lines as Python counts them: `str.splitlines`, which IPython uses, also splits at
    U+2028, form feeds and the like, which are text in a prompt."""
    whole: list[str] = []
    for line in lines:
        if whole and not whole[-1].endswith(("\n", "\r")):
            whole[-1] += line
        else:
            whole.append(line)
    return whole


def verbatim_cell(lines: list[str]) -> list[str]:
    """`%%shiro` with its body, which may be empty, look like a doctest, or end in `?`."""
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None or not lines[first].startswith("%%shiro"):
        return lines
    rest = lines[first][len("%%shiro") :]
    if rest.strip() in ("?", "??") or (rest and not rest[0].isspace()):
        return lines
    head, _, body = "".join((rest, *lines[first + 1 :])).partition("\n")
    # IPython refuses an empty body; ours may be empty.
    arguments = f"{head.strip()!r}, {body.rstrip() or chr(10)!r}"
    return [f"get_ipython().run_cell_magic('shiro', {arguments}) and None\n"]


# `check_complete` leaves transformers with side effects out: a terminal must go on asking for
# the lines of a `%%shiro` cell.
verbatim_cell.has_side_effects = True  # type: ignore[attr-defined]


def _as_typed(text: str) -> str:
    return text.rstrip("\r\n").strip()


def _magic_at(tokens: Sequence[tokenize.TokenInfo], at: int) -> str:
    """The name right after the `%` at this place, or nothing."""
    if at + 1 >= len(tokens) or tokens[at].string != "%":
        return ""
    percent, name = tokens[at], tokens[at + 1]
    if name.type != tokenize.NAME or name.start != percent.end:
        return ""
    # `%shiro?` is left to IPython, and so is `%shiro.x`, which is no magic.
    after = name.line[name.end[1] : name.end[1] + 1]
    return name.string if not after or after.isspace() else ""


def _assigned(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[int]:
    """Where the right side of each plain `=` of the line begins."""
    depth = 0
    for at, token in enumerate(tokens):
        if token.string == "=" and depth == 0:
            yield at + 1
        elif token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")


def _holds_ours(tokens: Sequence[tokenize.TokenInfo]) -> bool:
    return any(_magic_at(tokens, at) == SYNC for at in range(len(tokens)))


class AwaitedMagic:
    """Puts `await` before each `%shiro` of the outermost cell of an execute request.

    ipykernel transforms a cell, decides by the result whether to await it, and else has it
    transformed once more by `run_cell`. Only the first of these asks for the awaited form, so
    everything that runs code by other ways (`%%time`, `%run`, `run_cell`, autoawait off, other
    runners, the terminal) gets the synchronous one by itself. `rewritten` is told of each.
    """

    def __init__(self, rewritten: Callable[[], None]) -> None:
        self._rewritten = rewritten

    def __call__(self, lines: list[str]) -> list[str]:
        if not any(SYNC in line for line in lines) or not _for_execute_request(sys._getframe(1)):
            return lines
        made = awaited(lines)
        if made != lines:
            self._rewritten()
        return made


def awaited(lines: list[str]) -> list[str]:
    """The cell with its calls awaited where an await may stand; as it was if it is no Python."""
    # Lines as Python counts them, which is not as `str.splitlines` does.
    source = "".join(lines).replace("\r\n", "\n").replace("\r", "\n")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return lines
    data = [line.encode() for line in source.split("\n")]
    # From the end, so that earlier positions stay true.
    for call in sorted(_calls(tree), key=lambda c: (c.lineno, c.col_offset), reverse=True):
        _rewrite(data, call)
    return b"\n".join(data).decode().splitlines(keepends=True)


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Our calls outside of functions, classes and comprehensions."""
    scopes = (
        ast.FunctionDef,
        ast.AsyncFunctionDef,
        ast.ClassDef,
        ast.Lambda,
        ast.ListComp,
        ast.SetComp,
        ast.DictComp,
        ast.GeneratorExp,
        ast.JoinedStr,  # positions inside f-strings are not to be relied on
    )
    for child in ast.iter_child_nodes(node):
        if isinstance(child, scopes):
            continue
        if isinstance(child, ast.Call) and _is_ours(child):
            yield child
        else:
            yield from _calls(child)


def _is_ours(call: ast.Call) -> bool:
    match call:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Name("get_ipython")),
                attr="run_line_magic" | "run_cell_magic",
            ),
            args=[ast.Constant(name), *_],
        ):
            return bool(name == SYNC)
    return False


def _rewrite(data: list[bytes], call: ast.Call) -> None:
    assert call.end_lineno is not None and call.end_col_offset is not None
    end = call.end_lineno - 1
    data[end] = data[end][: call.end_col_offset] + b")" + data[end][call.end_col_offset :]
    name: Any = call.args[0]
    at = name.lineno - 1
    data[at] = data[at][: name.col_offset] + repr(ASYNC).encode() + data[at][name.end_col_offset :]
    at = call.lineno - 1
    data[at] = data[at][: call.col_offset] + b"(await " + data[at][call.col_offset :]


def _for_execute_request(frame: FrameType | None) -> bool:
    """Whether ipykernel's `do_execute` itself asked for this transformation."""
    while frame is not None and frame.f_code.co_name == "transform_cell":
        frame = frame.f_back
    if frame is None or frame.f_code.co_name != "do_execute":
        return False
    return str(frame.f_globals.get("__name__", "")).split(".")[0] == "ipykernel"
