"""A cell's source as Python: what IPython would make of it, without running anything."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

from IPython.core.inputtransformer2 import TransformerManager

from ..transformer import VerbatimMagic, verbatim_cell, whole_lines
from .known import BARE, BODIES

DEPTH = 150  # of a tree that is walked


@dataclass(frozen=True)
class Magic:
    """A magic or, where the name is `!`, a command of the system. `body`: of a cell magic."""

    name: str
    line: str
    body: str | None = None


@dataclass(frozen=True)
class Code:
    """`tree` is None where the source is no Python, and `fault` says why; without one it is nested
    too deep to be walked. `bare` is a magic that
    the only line of a cell may be, without its `%`."""

    tree: ast.Module | None
    fault: str = ""
    bare: Magic | None = None

    @property
    def magics(self) -> list[Magic]:
        if self.tree is None:
            return [self.bare] if self.bare else []
        found = [magic_of(node) for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        return [each for each in (*found, self.bare) if each]


def read(source: str) -> Code:
    """The cell as Python; a cell magic whose body is Python is that body."""
    if not source.strip():
        return Code(ast.Module([], []))
    code = _parsed(source)
    for magic in code.magics:
        if magic.body is not None and magic.name in BODIES:
            body = read(magic.body)
            words = [word for word in magic.line.split() if not word.startswith("-")]
            target = words if magic.name == "capture" else []
            if body.tree and target and target[0].isidentifier():
                made = ast.parse(f"{target[0]} = ''").body
                return Code(ast.Module([*made, *body.tree.body], []))
            return body
    words = source.split(maxsplit=1)
    if len(source.strip().splitlines()) == 1 and words[0] in BARE:
        rest = words[1].strip() if len(words) > 1 else ""
        if not rest.startswith(("=", ".", "(", "[", ",")):
            return Code(code.tree, code.fault, Magic(words[0], rest))
    return code


def _parsed(source: str) -> Code:
    manager = TransformerManager()  # type: ignore[no-untyped-call]
    manager.cleanup_transforms.insert(0, verbatim_cell)
    manager.line_transforms[:0] = (whole_lines, verbatim_cell)
    manager.token_transformers.insert(0, VerbatimMagic)
    try:
        with warnings.catch_warnings():  # of the person's literals, each time it is read
            warnings.simplefilter("ignore")
            tree = ast.parse(manager.transform_cell(source))
        return Code(None) if _is_deep(tree) else Code(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        return Code(None, f"{type(error).__name__}: {said}")


def _is_deep(tree: ast.AST) -> bool:
    level, depth = [tree], 0
    while level and depth <= DEPTH:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return bool(level)


def magic_of(node: ast.AST) -> Magic | None:
    """What IPython's call for a magic or a command stands for."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name("get_ipython")), attr=attr),
            args=[*args],
        ):
            texts = [_text(arg) for arg in args]
            match attr, texts:
                case "run_line_magic", [str(name), line, *_]:
                    return Magic(name, line or "")
                case "run_cell_magic", [str(name), line, body, *_]:
                    return Magic(name, line or "", body or "")
                case (("system" | "getoutput"), [command, *_]):
                    return Magic("!", command or "")
    return None


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def bound_in(tree: ast.AST) -> Iterator[str]:
    """All names that a scope may bind, those of the scopes in it left out."""
    match tree:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield tree.name
        case ast.alias():
            yield tree.asname or tree.name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            yield name
        case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child.name
        elif isinstance(child, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            yield from (
                each.target.id for each in ast.walk(child) if isinstance(each, ast.NamedExpr)
            )
        elif not isinstance(child, ast.Lambda):
            yield from bound_in(child)
