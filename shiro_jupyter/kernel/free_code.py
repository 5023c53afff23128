"""Whether a piece of code can show nothing but what its own words and open variables hold.

Known is what is allowed, all else is not: code that is harmless and unusual is not free, and then
the model does not read what it shows.
"""

from __future__ import annotations

import ast
import builtins
import datetime
import decimal
import sys
import types
from collections.abc import Collection, Mapping
from typing import Any

from ..core.policy.names import named
from .describe import class_name, comes_from, is_of, known_zone
from .frames import TABLE_ERRORS, is_frame

_MODULES = named(
    "math statistics datetime decimal fractions itertools collections numpy pandas polars"
)
_BUILTINS = named("""
    ArithmeticError AssertionError Exception False IndexError KeyError None RuntimeError
    StopIteration True TypeError ValueError ZeroDivisionError abs all any bin bool chr dict display
    divmod enumerate filter float frozenset hex int isinstance len list map max min ord pow print
    range repr reversed round set slice sorted str sum tuple zip
""")
_ATTRIBUTES = named("""
    abs add alias all any append arange argmax argmin argsort array asarray assign astype at
    atleast_1d between bfill Boolean cast cat ceil chain clip col columns comb combinations concat
    concat_list contains copy corr count Counter counts cov cummax cummin cumprod cumsum cut
    DataFrame date date_range datetime day dayofweek dayofyear days Decimal defaultdict deque
    describe diff digits div dot drop drop_duplicates drop_nans drop_nulls dropna dt dtype dtypes
    duplicated empty endswith eq exp explode extend factorial ffill fill_nan fill_null fillna filter
    find first flatten float32 Float64 float64 floor fsum gcd ge get get_dummies group_by groupby gt
    head height hour hypot iat idxmax idxmin iloc index inf insert int32 Int64 int64 interpolate
    intersect1d is_between is_in is_not_null is_null isclose isdigit isfinite isin isinf isna isnull
    issubset items iterrows itertuples join keys kurt last le len length linspace list lit loc log
    log10 log1p log2 lower lstrip lt max maximum mean median melt merge min minimum minute mod mode
    month most_common mul n_unique NA name names nan nanmean nansum NaT ndim ne nlargest notna
    notnull nsmallest null_count nunique ones otherwise over pct_change percentile perm permutations
    pi pivot pop pow prod product qcut quantile quarter rank ravel rename replace resample
    reset_index reshape rjust rolling round row rows rpartition rsplit rstrip sample schema second
    seconds select select_dtypes sem Series set_index shape shift sin size skew slice sort
    sort_index sort_values split sqrt squeeze stack startswith std str strftime String strip
    strptime sub sum swapaxes T tail then Timedelta timedelta Timestamp title to_datetime to_dict
    to_frame to_list to_numeric to_numpy to_string today tolist total_seconds transpose truediv
    unique unstack update upper Utf8 value_counts values var vstack weekday when where width
    with_columns year zeros zfill
""")
# Methods that call another one by its name.
_BY_NAME = named("agg aggregate transform")
_EXACT: tuple[type, ...] = (
    *(bool, int, float, complex, str, bytes, range, type(None)),
    *(datetime.date, datetime.timedelta, decimal.Decimal),
)
_HOLDERS: tuple[type, ...] = (list, tuple, set, frozenset)
_NODES: tuple[type[ast.AST], ...] = (
    *(
        ast.Module,
        ast.Expr,
        ast.Assign,
        ast.AugAssign,
        ast.AnnAssign,
        ast.NamedExpr,
        ast.If,
        ast.For,
    ),
    *(
        ast.While,
        ast.Pass,
        ast.Break,
        ast.Continue,
        ast.FunctionDef,
        ast.Return,
        ast.Lambda,
        ast.Raise,
    ),
    *(ast.Try, ast.ExceptHandler, ast.Assert, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare),
    *(ast.IfExp, ast.Call, ast.keyword, ast.Constant, ast.Name, ast.Attribute, ast.Subscript),
    *(ast.Slice, ast.Starred, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp),
    *(ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.JoinedStr, ast.FormattedValue),
    *(ast.Import, ast.ImportFrom, ast.alias, ast.arguments, ast.arg, ast.expr_context),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Delete),
)
ITEMS = 10_000  # of containers, and cells of a table of objects, that are looked at


def is_free(code: str, variables: Mapping[str, object], others: Collection[str]) -> bool:
    """`variables` are those that may be shown, and `others` name what else there is. Nothing of the
    person's is run to tell."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return _Free(tree, variables, others).holds()


class _Free:
    def __init__(
        self, tree: ast.Module, variables: Mapping[str, object], others: Collection[str]
    ) -> None:
        self._nodes = list(ast.walk(tree))
        self._variables, self._others = variables, others
        self._called = {id(node.func) for node in self._nodes if isinstance(node, ast.Call)}
        self._own = {name for node in self._nodes for name in _names_bound(node)}

    def holds(self) -> bool:
        return all(map(self._allows, self._nodes))

    def _allows(self, node: ast.AST) -> bool:
        if not isinstance(node, _NODES):
            return False
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                return self._is_open(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name):
                decorated = isinstance(node, ast.FunctionDef) and node.decorator_list
                return not name.startswith("_") and not decorated
            case ast.Attribute(attr=name) if name in _BY_NAME:
                return id(node) in self._called  # by another name it would be called with anything
            case ast.Attribute(attr=name):
                return name in _ATTRIBUTES or self._is_column(name)
            case ast.Call(func=ast.Attribute(attr=name)) if name in _BY_NAME:
                given = [*node.args, *(each.value for each in node.keywords)]
                return all(map(_by_name, given))
            case ast.Import(names=names):
                return all(each.name in _MODULES for each in names)
            case ast.ImportFrom(module=module, names=names, level=0):
                known = all(each.name in _ATTRIBUTES for each in names)
                return module in _MODULES and known
            case ast.ImportFrom():
                return False
        return True

    def _is_open(self, name: str) -> bool:
        if name in self._variables:
            return is_plain(self._variables[name])
        if name in self._others:
            return False
        if name in self._own:
            return True
        return name in _BUILTINS and (name == "display" or hasattr(builtins, name))

    def _is_column(self, name: str) -> bool:
        """A column that is taken as an attribute, where no method has its name."""
        frames = [value for value in self._variables.values() if is_frame(value)]
        return not name.startswith("_") and any(
            not hasattr(type(frame), name) and name in _labels(frame) for frame in frames
        )


def is_plain(whole: object) -> bool:
    """Whether showing the value, or a part of it, runs no code of the person's."""
    left = ITEMS
    waiting: list[Any] = [whole]
    while waiting:
        value = waiting.pop()
        cls = type(value)
        left -= 1
        if left < 0:
            return False
        if any(cls is each for each in _HOLDERS):
            waiting += list(value)[: left + 1]
        elif cls is dict:
            waiting += [*list(value)[: left + 1], *list(value.values())[: left + 1]]
        elif cls is types.ModuleType:
            name = types.ModuleType.__getattribute__(value, "__dict__").get("__name__")
            if name not in _MODULES or sys.modules.get(name) is not value:
                return False
        elif cls is datetime.datetime or cls is datetime.time:
            if not known_zone(value.tzinfo):
                return False
        elif not (any(cls is each for each in _EXACT) or _is_plain_array(value)):
            return False
    return True


def _is_plain_array(value: Any) -> bool:
    cls = type(value)
    try:
        if comes_from(cls, "numpy"):
            return value.dtype.kind in "biufcSUmM" and (is_of(cls, "numpy"))
        if is_of(cls, "polars") and class_name(cls) in ("DataFrame", "Series"):
            types_ = value.dtypes if class_name(cls) == "DataFrame" else [value.dtype]
            return not any("Object" in str(each) for each in types_)
        if is_of(cls, "pandas") and class_name(cls) in ("DataFrame", "Series"):
            table = value if class_name(cls) == "DataFrame" else value.to_frame(name="value")
            axes = [table.index, table.columns]
            columns = [table.iloc[:, at] for at in range(table.shape[1])]
            return all(map(_is_plain_column, [*axes, *columns]))
    except TABLE_ERRORS:
        pass
    return False


def _is_plain_column(column: Any) -> bool:
    """One of pandas, or an index."""
    dtype = column.dtype
    if not (comes_from(type(dtype), "numpy", "pandas") and comes_from(type(column), "pandas")):
        return False
    if str(dtype) == "category":
        return _is_plain_column(dtype.categories)
    if str(dtype) != "object":
        return True
    return len(column) <= ITEMS and all(
        any(type(each) is known for known in _EXACT) or each is None for each in column.tolist()
    )


def _labels(frame: Any) -> set[str]:
    try:
        return {each for each in frame.columns if type(each) is str}
    except TABLE_ERRORS:
        return set()


def _names_bound(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.ExceptHandler(name=str(name)):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [each.asname or each.name for each in names]
    return []


def _by_name(node: ast.expr) -> bool:
    """Names of methods that are written out."""
    match node:
        case ast.Constant(value=str(name)):
            return name in _ATTRIBUTES
        case ast.Constant() | ast.Lambda():
            return True
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(map(_by_name, parts))
        case ast.Dict(values=parts):
            return all(map(_by_name, parts))
    return False
