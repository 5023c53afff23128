"""What a variable was made of, as far as the code tells that ran: pure, on the text of statements.

A statement that says something private, or names what such a statement named, may have put private
values into everything that it names. The order does not count, since names come to share objects.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..core.policy.names import named
from ..core.policy.private import Private

# What code says that may reach any variable without its name.
_REACHING = named("globals locals vars exec eval user_ns __main__ gc _getframe f_globals f_locals")
# More of that, in the code of a model: it may word its way round.
_WORDING = named("getattr setattr delattr compile importlib inspect ctypes modules get_ipython")
_RUNNING = named("run store rerun macro load recall_history")  # magics that do
_OURS = named("shiro remember recall forget todos")  # whose text is no code
_MAGICS = ("run_line_magic", "run_cell_magic")
# The person's last inputs and results.
_HISTORY = re.compile(r"_{1,3}|_i{0,3}\d*|_ih|_oh|_dh|In|Out")
HISTORY = "<history>"  # the word for them, which no code says
_DUNDER = re.compile(r"__(?!shiro_tool__)\w+__")
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Statement:
    """`words` is all it says, `bound` what it may bind to objects of its own making, `imports` what
    to those of a module; `labels` name columns, where it names any, and are no text that it may
    hold as data; `changed` it binds or stores into; `reaches`: it may reach what it does not name.
    """

    words: frozenset[str]
    bound: frozenset[str]
    imports: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    reaches: bool = False
    of_model: bool = False


@lru_cache(maxsize=20_000)
def statements(code: str, of_model: bool = False) -> tuple[Statement, ...]:
    """The statements of a piece of code, as IPython has transformed it; the whole as one where it
    is no Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        words = frozenset(_WORD.findall(code))
        return (Statement(words, words, reaches=True),)
    return tuple(_statement(node, of_model) for node in tree.body)


def made_of_private(
    code: Iterable[Statement], private: Private, names: Collection[str]
) -> frozenset[str]:
    """The names that may hold something private, of these and what was made of them."""
    unsettled = list(dict.fromkeys(code))
    bound = frozenset(name for each in unsettled for name in each.bound)
    said = {word for each in unsettled for word in each.words if private.mentions(word)}
    held = {HISTORY, *names, *said}
    while True:
        touched = [each for each in unsettled if not held.isdisjoint(each.words)]
        unsettled = [each for each in unsettled if held.isdisjoint(each.words)]
        if not touched:
            return frozenset(held)
        held |= {word for each in touched for word in each.words & bound}


def _statement(node: ast.stmt, of_model: bool) -> Statement:
    words, bound, magics, labels = set[str](), set[str](), set[str](), set[str]()
    skipped = set[int]()
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and getattr(each.func, "attr", "") in _MAGICS:
            magic, *texts = (_text(argument) for argument in each.args) if each.args else ("",)
            magics.add(magic)
            if magic in _OURS:
                skipped.update(id(argument) for argument in each.args)
            else:
                bound.update(word for text in texts for word in _WORD.findall(text))
        if id(each) not in skipped:
            words.update(_words(each))
            labels.update(_labels(each))
            bound.update(_bound(each))
    if any(map(_HISTORY.fullmatch, _loaded(node))):
        words.add(HISTORY)
    reaching = _REACHING | _WORDING if of_model else _REACHING
    reaches = not reaching.isdisjoint(words) or not _RUNNING.isdisjoint(magics)
    reaches |= of_model and any(map(_DUNDER.fullmatch, words))
    imports = frozenset(_imports(node))
    labels |= words if of_model else set()
    said = frozenset(words) | imports
    changed = bound.union(filter(None, map(_stored_into, ast.walk(node))))
    told = frozenset(labels), frozenset(changed)
    return Statement(said, frozenset(bound), imports, *told, reaches, of_model)


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _loaded(node: ast.stmt) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            yield each.id


def _imports(node: ast.stmt) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.alias):
            yield each.asname or each.name.partition(".")[0]


def _words(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
            yield from _WORD.findall(text)
        case ast.alias(name=name):
            yield from name.split(".")
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            yield name
        case ast.keyword(arg=str(name)):
            yield name
    yield from _bound(node)


def _stored_into(node: ast.AST) -> str:
    """The name in `name.a["b"] = …`."""
    if not isinstance(getattr(node, "ctx", None), ast.Store):
        return ""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _labels(node: ast.AST) -> Iterator[str]:
    """A name, or text in square brackets."""
    if isinstance(node, ast.Subscript):
        yield from filter(None, (_text(each) for each in ast.walk(node.slice)))
    elif not isinstance(node, ast.Constant):
        yield from _words(node)


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
