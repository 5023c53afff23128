"""What a variable was made of, as far as the code tells that ran: pure, on the text of statements.

A statement that says something private, or names what such a statement named, may have put private
values into everything that it names, the modules among them. The order does not count, since names
come to share objects. From the first such statement on, private values may also lie in files,
databases, modules and whatever else is no variable: what is bound then is open only where it was
made of nothing but open names, literals and functions known to keep and to read nothing.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..core.policy.names import named
from ..core.policy.private import Private

# What code says that may reach any variable without its name.
_REACHING = named("""
    globals locals vars exec eval user_ns __main__ get_objects get_referrers get_referents _getframe
    f_globals f_locals
""")
_BUILTIN = named("globals locals vars exec eval")  # a method of that name is another thing
# More of that, in the code of a model: it may word its way round.
_WORDING = named("""
    getattr setattr delattr compile importlib inspect ctypes modules get_ipython gc
""")
_RUNNING = named("run store rerun macro load recall_history")  # magics that do
_TIMING = named("time timeit")  # magics whose text is code, and no more than that
_OURS = named("shiro remember recall forget todos")  # whose text is no code
_MAGICS = ("run_line_magic", "run_cell_magic")
_COMMANDS = named("system getoutput")
# Modules that keep nothing of what they are given, and tell of nothing else but by `_READS`.
_QUIET = named("""
    __future__ abc bisect calendar collections copy dataclasses datetime decimal enum fractions
    functools heapq itertools json math matplotlib numbers numpy operator pandas polars pyarrow
    random re scipy seaborn sklearn statistics statsmodels string textwrap time types typing
    warnings
""")
_READS = re.compile(
    r"open|input|read\w*|scan_\w+|load\w*|fetch_\w+|from_?file|genfromtxt|memmap|mmap|ExcelFile"
    r"|HDFStore|sql|SQL\w*|options|get_option|get_printoptions|rcParams|gca|gcf|io|rcdefaults"
    r"|system|getoutput|environ|getenv|breakpoint|__import__|compile|lru_cache|cache"
)
_STORING = named("""
    add append appendleft clear extend extendleft insert put put_nowait register set setdefault
    update write writelines
""")
# The person's last inputs and results.
_HISTORY = re.compile(r"_{1,3}|_i{0,3}\d*|_ih|_oh|_dh|In|Out")
HISTORY = "<history>"  # the word for them, which no code says
_DUNDER = re.compile(r"__(?!shiro_tool__)\w+__")
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Statement:
    """`words` is all it says, `bound` what it may bind to objects of its own making, `imports` what
    to those of a module; `labels` name columns, where it names any, and are no text that it may
    hold as data; `changed` it binds or stores into; `loads` are the names whose objects it takes;
    `reads`: it may take something from outside, `files` being all of that where it holds any;
    `reaches`: it may reach what it does not name; `free`: it is a model's that could not."""

    words: frozenset[str]
    bound: frozenset[str]
    imports: frozenset[tuple[str, str]] = frozenset()
    labels: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    loads: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    reads: bool = False
    reaches: bool = False
    of_model: bool = False
    free: bool = False

    @property
    def names(self) -> frozenset[str]:
        return self.changed.union(name for name, _ in self.imports)


@lru_cache(maxsize=20_000)
def statements(code: str, of_model: bool = False, free: bool = False) -> tuple[Statement, ...]:
    """The statements of a piece of code, as IPython has transformed it; none where it is no Python,
    of which nothing ran."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return ()
    except (ValueError, RecursionError, MemoryError):
        words = frozenset(_WORD.findall(code))
        return (Statement(words, words, reaches=True),)
    return tuple(_statement(node, of_model, free) for node in tree.body)


@dataclass(frozen=True)
class Objects:
    """What is known of the objects that names stand for now: `plain` ones are data and nothing
    else, of `callables` no value is told; `old` says of a file that it was there before."""

    plain: Callable[[str], bool] = lambda name: False
    callables: Collection[str] = ()
    old: Callable[[str], bool] = lambda path: False


def made_of_private(
    code: Sequence[Statement],
    private: Private,
    names: Collection[str],
    objects: Objects = Objects(),
) -> frozenset[str]:
    """The names that may hold something private, of these and what was made of them. `code` is in
    the order in which it ran."""
    said = {word for each in code for word in each.words if private.mentions(word)}
    return frozenset(_Making(code, {HISTORY, *names, *said}, objects).settled())


class _Making:
    def __init__(self, code: Sequence[Statement], held: set[str], objects: Objects) -> None:
        self._code, self._held, self._objects = code, held, objects
        private = held - {HISTORY}
        touched = (at for at, each in enumerate(code) if not private.isdisjoint(each.words))
        # What no code in the history names was there nobody knows when.
        self._late = next(touched, 0 if private else len(code))
        self._modules: dict[str, set[str]] = {}
        for each in code:
            for name, module in each.imports:
                self._modules.setdefault(name, set()).add(module)
        into = {name for each in code for name in each.changed - each.bound}
        set_ = {module for name in into for module in self._modules.get(name, ())}
        self._quiet = _QUIET - set_
        self._bound = {name for each in code for name in each.bound | each.names}
        self._held_modules: set[str] = set()
        self._sources: set[str] = set()  # that may tell of what is no variable
        self._bound_late = {name for each in code[self._late :] for name in each.names}

    def settled(self) -> set[str]:
        size = -1
        while size != (size := len(self._held) + len(self._held_modules) + len(self._sources)):
            for at, each in enumerate(self._code):
                self._look(each, late=at >= self._late)
        loud = (name for name, of in self._modules.items() if of & self._held_modules)
        return self._held.union(loud)

    def _look(self, each: Statement, *, late: bool) -> None:
        modules = self._loud(each)
        if not self._held.isdisjoint(each.words):
            self._hold((each.words & self._bound) | each.names)
            self._held_modules |= modules
        elif not modules.isdisjoint(self._held_modules):
            self._hold(each.names)
        elif not self._is_made_of_open(each):
            if late:
                self._hold(each.names)
            else:
                self._sources |= each.names

    def _hold(self, names: Collection[str]) -> None:
        """Functions and modules, which many statements name, hold nothing in sight."""
        quiet = {name for name in names if self._modules.get(name, {""}) <= self._quiet}
        called = {name for name in names if name in self._modules and self._is_called(name)}
        self._held.update(set(names) - quiet - called)

    def _is_called(self, name: str) -> bool:
        return name in self._objects.callables

    def _loud(self, each: Statement) -> set[str]:
        found = (self._modules[name] for name in each.words & self._modules.keys())
        return set[str]().union(*found) - self._quiet

    def _is_made_of_open(self, each: Statement) -> bool:
        if each.of_model and not each.free:
            return False
        if each.reads and not (each.files and all(map(self._objects.old, each.files))):
            return False
        if any(module not in self._quiet for _, module in each.imports):
            return False
        return all(map(self._is_open, each.loads - each.bound))

    def _is_open(self, name: str) -> bool:
        if name in self._modules:
            return self._modules[name] <= self._quiet
        if name in self._sources:
            return name not in self._bound_late and self._objects.plain(name)
        return name in self._bound or hasattr(builtins, name)


def _statement(node: ast.stmt, of_model: bool, free: bool) -> Statement:
    words, bound, magics, labels = set[str](), set[str](), set[str](), set[str]()
    told = set[str]()  # in what magics are given
    inner = list[Statement]()  # which they time
    skipped, harmless = set[int](), set[int]()
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and getattr(each.func, "attr", "") in _MAGICS:
            magic, *texts = (_text(argument) for argument in each.args) if each.args else ("",)
            magics.add(magic)
            if magic in _OURS:
                skipped.update(id(argument) for argument in each.args)
            else:
                told.update(word for text in texts for word in _WORD.findall(text))
                timed = statements(texts[-1]) if magic in _TIMING and texts else ()
                inner += timed
                bound.update(*(each.bound for each in timed) if timed else [told])
        if id(each) not in skipped:
            words.update(_words(each))
            labels.update(_labels(each))
            bound.update(_bound(each))
        harmless.update(_harmless(each))
    loads = frozenset(_loaded(node)).union(*(each.loads for each in inner))
    if any(map(_HISTORY.fullmatch, loads)):
        words.add(HISTORY)
    reaches = any(_reaches(each, of_model) for each in ast.walk(node) if id(each) not in harmless)
    reaches |= not _RUNNING.isdisjoint(magics) or not _REACHING.isdisjoint(told)
    imports = frozenset(_imports(node))
    labels |= words if of_model else set()
    changed = bound.union(filter(None, map(_stored_into, ast.walk(node))))
    changed.update(*(each.changed for each in inner))
    files = list(_files(node))
    reads = [each for each in map(_called, ast.walk(node)) if _READS.fullmatch(each)]
    return Statement(
        frozenset(words).union(name for name, _ in imports),
        frozenset(bound),
        imports,
        frozenset(labels),
        frozenset(changed),
        loads - {"get_ipython"},
        frozenset(files if len(files) == len(reads) else ()),
        bool(reads) or any(each.reads for each in inner),
        reaches,
        of_model,
        free,
    )


def _called(node: ast.AST) -> str:
    """A name or an attribute that is taken."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
            return name
        case ast.alias(name=name):
            return name.rpartition(".")[2]
    return ""


def _files(node: ast.stmt) -> Iterator[str]:
    """The literal paths of calls that read one."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and _READS.fullmatch(_called(each.func)):
            yield from filter(None, map(_text, each.args[:1]))


def _reaches(node: ast.AST, of_model: bool) -> bool:
    match node:
        case ast.Name(id=name) | ast.alias(name=name):
            found = set(name.split("."))
        case ast.Attribute(attr=name):
            found = {name} if of_model else {name} - _BUILTIN
        case ast.Constant(value=str(text)) if of_model:
            found = set(_WORD.findall(text)) - _BUILTIN
        case _:
            return False
    if not of_model:
        return not _REACHING.isdisjoint(found)
    dunder = any(each != "__name__" and _DUNDER.fullmatch(each) for each in found)
    return dunder or not (_REACHING | _WORDING).isdisjoint(found)


def _harmless(node: ast.AST) -> Iterator[int]:
    """What `_reaches` is not to look at: of a call that does no more than it seems to."""
    match node:
        case ast.Call(func=ast.Name(id="getattr") as named_, args=[_, ast.Constant(value=str(at))]):
            if not at.startswith("_") and at not in _REACHING | _WORDING:
                yield id(named_)
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython") as shell), attr=attr),
            args=[ast.Constant(value=str(first)), *_],
        ) if attr in _COMMANDS or (attr in _MAGICS and first in _TIMING | {"pip", "conda"}):
            yield id(shell)
        case ast.Attribute(value=ast.Name(id="gc") as module, attr="collect"):
            yield id(module)
        case ast.Import(names=names):
            yield from (id(each) for each in names if each.name == "gc")
        case ast.Expr(value=ast.Constant() as text):  # a docstring
            yield id(text)


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _loaded(node: ast.stmt) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            yield each.id


def _imports(node: ast.stmt) -> Iterator[tuple[str, str]]:
    for each in ast.walk(node):
        if isinstance(each, ast.Import):
            for name in each.names:
                root = name.name.partition(".")[0]
                yield name.asname or root, root
        elif isinstance(each, ast.ImportFrom):
            root = "" if each.level else (each.module or "").partition(".")[0]
            yield from ((name.asname or name.name, root) for name in each.names)


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
    """The name in `name.a["b"] = …` and in `name.append(…)`."""
    if isinstance(node, ast.Call) and _called(node.func) in _STORING:
        node = node.func
    elif isinstance(node, ast.Call) and _called(node.func) == "setattr" and node.args:
        node = node.args[0]
    elif not isinstance(getattr(node, "ctx", None), ast.Store):
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
