"""What the shape of code says by itself: what a function is given, what may not be reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...core.policy.names import named as words
from .values import ANY, Const, Known

# Errors that a handler may name without catching what a missing column raises.
_OTHER_ERRORS = words("""
    ImportError ModuleNotFoundError FileNotFoundError OSError IOError ZeroDivisionError
    KeyboardInterrupt StopIteration PermissionError TimeoutError ConnectionError
    UnicodeDecodeError json.JSONDecodeError OverflowError MemoryError NotImplementedError
""")
# Contexts that take nothing of what is raised inside.
LETTING_THROUGH = (
    *(
        "builtins.open",
        "warnings.",
        "numpy.errstate",
        "numpy.printoptions",
        "matplotlib.",
        "duckdb.",
    ),
    *("pandas.option_context", "pandas.Excel", "pandas.HDFStore", "polars.Config", "sqlite3."),
    *("polars.StringCache", "zipfile.", "gzip.", "tempfile.", "pathlib.", "io."),
)
_HELD = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def parameters(
    args: ast.arguments, given: tuple[Known, ...], named: dict[str, Known]
) -> dict[str, Known]:
    places = [*args.posonlyargs, *args.args]
    scope: dict[str, Known] = {}
    constants = dict(zip([each.arg for each in places[::-1]], args.defaults[::-1], strict=False))
    constants |= {a.arg: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d}
    for each in (*places, *args.kwonlyargs):
        default = constants.get(each.arg)
        scope[each.arg] = Const(value=default.value) if isinstance(default, ast.Constant) else ANY
    for each, value in zip(places, given, strict=False):
        scope[each.arg] = value
    scope |= {name: value for name, value in named.items() if name in scope}
    for rest in (args.vararg, args.kwarg):
        if rest is not None:
            scope[rest.arg] = ANY
    return scope


def may_leave(statement: ast.stmt) -> bool:
    """Whether what follows it may not be reached though nothing fails."""
    return not isinstance(statement, _HELD) and any(_leaving(statement, False))


def leaves_early(loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a loop may end before its last element."""
    return may_leave(loop) or any(isinstance(each, ast.Break) for each in ast.walk(loop))


def declares(node: ast.ClassDef) -> bool:
    """Whether the body of a class does nothing but declare."""
    for each in node.body:
        match each:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                continue
            case ast.FunctionDef(decorator_list=marks, args=args):
                defaults = [*args.defaults, *filter(None, args.kw_defaults)]
                if all(isinstance(e, ast.Name) for e in marks) and all(map(_plain, defaults)):
                    continue
            case ast.AnnAssign(target=ast.Name(), value=value):
                if value is None or _plain(value):
                    continue
            case ast.Assign(targets=[ast.Name()], value=value) if _plain(value):
                continue
        return False
    return True


def _plain(node: ast.expr) -> bool:
    """Whether it is made of constants and names alone."""
    fine = (ast.Constant, ast.Name, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.expr_context)
    return all(isinstance(each, fine) for each in ast.walk(node))


def _leaving(node: ast.AST, looped: bool) -> Iterator[bool]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _HELD):
            continue
        if isinstance(child, ast.Return | ast.Raise):
            yield True
        elif isinstance(child, ast.Break | ast.Continue):
            yield not (looped or isinstance(node, ast.For | ast.While | ast.AsyncFor))
        elif isinstance(child, ast.Call) and ast.unparse(child.func) in (
            "exit",
            "quit",
            "sys.exit",
        ):
            yield True
        else:
            yield from _leaving(
                child, looped or isinstance(node, ast.For | ast.While | ast.AsyncFor)
            )


def catches(handler: ast.ExceptHandler) -> bool:
    """Whether it may catch what a missing column raises."""
    if handler.type is None:
        return True
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(ast.unparse(each) not in _OTHER_ERRORS for each in named)


def expects(handler: ast.ExceptHandler) -> bool:
    """Whether it is there for a missing column."""
    said = "" if handler.type is None else ast.unparse(handler.type)
    return any(each in said for each in ("KeyError", "LookupError", "AttributeError", "NotFound"))


def is_main(test: ast.expr) -> bool:
    return ast.unparse(test) == "__name__ == '__main__'"
