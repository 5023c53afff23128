from __future__ import annotations

import math
import os
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shiro_jupyter.kernel.free_code import is_free, is_plain


class Loud:
    def __repr__(self) -> str:
        raise AssertionError("it was asked")


def loud() -> None:
    raise AssertionError("it was called")


OPEN: dict[str, object] = {
    "df": pd.DataFrame({"price": [1.0, 2.0], "kind": ["a", "b"], "query": [1, 2]}),
    "pf": pl.DataFrame({"price": [1.0]}),
    "rows": [1, "a", {"k": (2.5, None)}],
    "np": np,
    "pd": pd,
    "math": math,
    "os": os,
    "loud": loud,
    "thing": Loud(),
    "things": [Loud()],
}
OTHERS = {"salaries", "exit", "_"}


@pytest.mark.parametrize(
    "code",
    [
        "df.describe()",
        "print(df.price.mean(), len(rows))",
        "df.groupby('kind')['price'].agg(['mean', 'sum'])",
        "df['price'].agg(lambda each: each.sum())",
        "total = sum(x for x in df.price if x > 1)\nf'{total:.2f}'",
        "import pandas as pd\npd.concat([df, df]).head()",
        "from math import sqrt\nsqrt(2)",
        "def half(x):\n    return x / 2\nprint(half(np.mean([1, 2])))",
        "try:\n    df['no']\nexcept KeyError as error:\n    print(error)",
        "pf.with_columns(double=pf['price'] * 2)",
        "{k: v for k, v in rows[2].items()}",
        "for i, each in enumerate(rows):\n    print(i, each)",
    ],
)
def test_code_that_shows_only_what_is_open_is_free(code: str) -> None:
    assert is_free(code, OPEN, OTHERS)


@pytest.mark.parametrize(
    "code",
    [
        "salaries",
        "salaries = salaries",
        "[salaries for salaries in salaries]",
        "def f(x=salaries): return x\nf()",
        "_",
        "globals()",
        "locals()['sal' + 'aries']",
        "eval('sal' + 'aries')",
        "__import__('os')",
        "import os",
        "import numpy.lib.npyio",
        "from pandas.io.common import os",
        "from numpy import *",
        "os.environ",
        "open('a.csv').read()",
        "pd.read_csv('a.csv')",
        "np.load('a.npy')",
        "df.query('price > @sal' + 'aries')",
        "df.eval('x')",
        "df.agg('ev' + 'al')",
        "df.agg('eval', 0)",
        "df.pipe(print)",
        "f = df.agg\nf('query', 0, '@sal' + 'aries')",
        "'{0.__class__}'.format(df)",
        "df.__class__",
        "(x for x in rows).gi_frame",
        "getattr(df, 'x')",
        "loud()",
        "thing",
        "print(things)",
        "class A:\n    def __repr__(self): return 'x'\nA()",
        "@print\ndef f(): pass",
        "await x",
        "with x: pass",
        "global x",
        "lambda: (yield)",
        "get_ipython()",
        "unknown",
        "%time df",
        "!ls",
        "df.price (",
        "\\0",
    ],
)
def test_code_that_may_show_more_is_not(code: str) -> None:
    assert not is_free(code, OPEN, OTHERS)


def test_a_value_is_plain_where_no_part_of_it_runs_code_to_be_shown() -> None:
    plain = [
        1,
        "a",
        b"c",
        None,
        [1, (2, {3})],
        {"a": 1},
        np.arange(3),
        np.float64(1),
        pl.Series([1]),
    ]
    assert all(
        map(
            is_plain,
            [*plain, pd.Series(["a", None], dtype=object), pd.Series(["a"], dtype="category")],
        )
    )
    assert is_plain(pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}))
    objects = np.array([Loud()], dtype=object)
    odd = [Loud(), [Loud()], {Loud(): 1}, objects, types.ModuleType("math"), loud, Loud]
    odd += [pd.Series([Loud()]), pd.DataFrame({"a": [Loud()]}), pd.Series([1], index=[Loud()])]
    odd += [pd.Series([Loud()]).astype("category"), list(range(20_000))]
    assert not any(map(is_plain, odd))
