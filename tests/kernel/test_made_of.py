from __future__ import annotations

import pytest

from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.kernel.made_of import made_of_private, statements

PRIVATE = Private(("salaries", "*.email"))


def held(code: str, *names: str) -> frozenset[str]:
    return made_of_private(statements(code), PRIVATE, names)


@pytest.mark.parametrize(
    "code",
    [
        "x = salaries",
        "x = salaries * 2",
        "for x in salaries: pass",
        "x = []\nx.append(salaries)",
        "y = [salaries]\nx = y",
        "x = y\ny = salaries",  # the order does not count
        "def f(): return salaries\nx = f()",
        "f = lambda: salaries\nx = f()",
        "x = df['email']",
        "x = df.email",
        "x = df.query('pay > @salaries')",
        "x = {}\nx['a'] = salaries.sum()",
        "get_ipython().run_line_magic('time', 'x = salaries.sum()')",
        "x = _",
        "x = Out[3]",
        "match salaries:\n    case [x, *_]: pass",
        "try:\n    check(salaries)\nexcept Exception as x: pass",
    ],
)
def test_what_a_statement_put_private_values_into_is_known(code: str) -> None:
    assert "x" in held(code)


@pytest.mark.parametrize(
    "code",
    [
        "x = 1\ny = salaries",
        "import pandas as x\nsalaries = x.read_csv('a.csv')",
        "x = df['price']\ny = salaries",
        "for _ in range(3): x = 1\ny = salaries",
        "get_ipython().run_line_magic('shiro', 'what is x beside salaries?')",
    ],
)
def test_what_no_such_statement_names_is_not(code: str) -> None:
    assert "x" not in held(code)


def test_names_that_are_private_for_another_reason_count_too() -> None:
    assert {"customers", "x"} <= held("x = customers.head()\nz = 1", "customers")
    assert "z" not in held("x = customers.head()\nz = 1", "customers")
    assert not statements("x = (salaries")  # no Python, so nothing ran


@pytest.mark.parametrize("code", ["globals()['x']", "exec(text)", "%run x.py", "vars()['x'] = 1"])
def test_code_that_may_reach_anything_says_so(code: str) -> None:
    if code.startswith("%"):
        code = "get_ipython().run_line_magic('run', 'x.py')"
    assert any(each.reaches for each in statements(code))


def test_of_a_models_code_more_does() -> None:
    for code in ("getattr(a, b)", "import importlib", "a.__class__", "type.__subclasses__(object)"):
        assert any(each.reaches for each in statements(code, of_model=True)), code
        assert not any(each.reaches for each in statements(code)), code


@pytest.mark.parametrize(
    "code",
    [
        "from data import salaries, x",
        "from helpers import x\nx['top'] = salaries",
        "import helpers\nhelpers.keep(salaries)\nx = helpers.get()",
        "salaries.to_csv('no.csv')\nx = pd.read_csv('no.csv')",
        "import duckdb\nduckdb.sql('create table t as from salaries')\nx = duckdb.sql('t')",
        "import numpy as np\nnp.s = salaries\nx = np.s",
        "import os\nos.environ['A'] = salaries\nx = os.environ['A']",
    ],
)
def test_what_took_a_way_round_through_what_is_no_variable_is_known(code: str) -> None:
    assert "x" in held(code)


def test_what_was_made_of_open_names_alone_stays_open_after_it() -> None:
    code = "import pandas as pd\norders = pd.DataFrame()\nsalaries = 1\n"
    assert "x" not in held(code + "x = orders.groupby('a').size() + len([1])")
    assert "x" not in held(code + "class M:\n    def eval(self): return 1\nx = M().eval()")


@pytest.mark.parametrize(
    "code",
    ["import gc; gc.collect()", "m.eval()", "if __name__ == 'a': pass", "def f():\n    'exec it'"],
)
def test_what_only_looks_as_if_it_reached_anything_does_not(code: str) -> None:
    assert not any(each.reaches for each in statements(code))


def test_what_is_timed_is_read_as_code() -> None:
    timed = "get_ipython().run_line_magic('time', {!r})"
    (plain,) = statements(timed.format("x = orders.sum()"), of_model=True)
    assert plain.bound == {"x"} and not plain.reaches
    code = "import numpy as np\n" + timed.format("np.s = salaries") + "\nx = np.s"
    assert "x" in held(code)
