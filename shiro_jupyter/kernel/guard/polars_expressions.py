"""polars' expressions: the columns they name, and what they make."""

from __future__ import annotations

import ast
from collections.abc import Mapping as Names
from collections.abc import Sequence
from dataclasses import replace

from ...core.policy.names import named as words
from ..describe import library
from .methods import is_pattern, named
from .values import Const, Expr, Items, Known, text

# Functions of polars whose texts are names of columns.
_OF_COLUMNS = words("""
    col sum mean max min median std var first last n_unique count len head tail quantile all
    any approx_n_unique cum_sum sum_horizontal mean_horizontal max_horizontal min_horizontal
    all_horizontal any_horizontal concat_str concat_list struct coalesce when corr cov implode
""")
_OF_VALUES = words("""
    lit element field exclude format nth duration datetime date time cum_count arg_where concat_arr
    row_index from_epoch int_range repeat zeros ones map_batches map_groups fold reduce rolling_corr
    rolling_cov arctan2
""")
_FIRST_NAMES = words("""
    sum mean max min median std var first last n_unique count quantile
""")
# Namespaces whose methods keep the name of the column.
_KEEPING = words("""
    str dt list arr cat bin
""")


def made_by(function: str, node: ast.AST, args: Sequence[Known], given: Names[str, Known]) -> Expr:
    """What `polars.<function>(…)` makes."""
    if function == "lit":  # a series keeps its own name
        plain = len(args) == 1 and isinstance(args[0], Const)
        return Expr(output="literal" if plain else None)
    if function in ("element", "field"):
        return Expr()
    if function == "exclude":
        return Expr(existing=True)
    values = args if function in _OF_COLUMNS else [each for each in args if _is_expression(each)]
    roots = tuple(root for value in values for root in named(value, node))
    roots += tuple(
        root for value in given.values() if _is_expression(value) for root in named(value, node)
    )
    names = [name for name, _ in roots]
    if function == "len" and not args:
        return Expr(output="len")
    if function == "col":
        types = not names  # of data types
        many = types or len(names) > 1 or any(map(is_pattern, names))
        return Expr(roots=roots, output=None if many else names[0], existing=many)
    if function == "all" and not args:
        return Expr(existing=True)
    single = function in _FIRST_NAMES and len(names) == 1
    return Expr(roots=roots, output=names[0] if single else None)


def is_expression(function: str) -> bool:
    """Whether `polars.<function>(…)` is one."""
    return function in _OF_COLUMNS or function in _OF_VALUES


def _is_expression(value: Known) -> bool:
    if isinstance(value, Items):
        return any(map(_is_expression, value.values or ()))
    return isinstance(value, Expr)


def method(
    of: Expr, name: str, node: ast.AST, args: Sequence[Known], given: Names[str, Known]
) -> Expr:
    """What a method of an expression makes. `name` may be one of a namespace: `str.len_chars`."""
    inside = name in ("list.eval", "arr.eval", "list.agg", "arr.agg", "struct.with_fields")
    others = [*args, *given.values()]
    roots = of.roots
    if name in ("over", "sort_by", "then", "otherwise", "when"):
        of_columns = ("partition_by", "order_by", "by", "statement")
        roots += tuple(
            root
            for value in (*args, *(given[each] for each in of_columns if each in given))
            if isinstance(value, Const | Items | Expr)
            for root in named(value, node)
        )
    elif not inside:
        roots += tuple(
            root for value in others for root in named(value, node) if _is_expression(value)
        )
    if name == "alias":
        return Expr(roots=roots, output=text(args[0]) if args else None)
    if name == "then" and of.output is None and args:
        # What a `when` makes is named by its first `then`.
        first = args[0]
        output = first.output if isinstance(first, Expr) else text(first)
        return Expr(roots=roots, output=output)
    if name == "struct.field":
        field = text(args[0]) if len(args) == 1 else None
        return Expr(roots=roots, output=None if field is None or is_pattern(field) else field)
    if name == "exclude":
        return Expr(roots=roots, existing=True)
    space, dot, _ = name.partition(".")
    keeps = space in _KEEPING if dot else name != "when" and _of_polars(name)
    return replace(of, roots=roots) if keeps and not inside else Expr(roots=roots)


def _of_polars(name: str) -> bool:
    """Whether expressions have such a method of their own."""
    found = getattr(library("polars").get("Expr"), name, None)
    return str(getattr(found, "__module__", "")).partition(".")[0] == "polars"


def operated(one: Known, two: Known) -> Expr | None:
    """What an operator makes of both; None where neither is an expression."""
    if not isinstance(one, Expr) and not isinstance(two, Expr):
        return None
    roots = tuple(root for each in (one, two) if isinstance(each, Expr) for root in each.roots)
    if isinstance(one, Expr):
        return replace(one, roots=roots)
    return Expr(roots=roots)
