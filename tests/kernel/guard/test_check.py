"""What the guard takes for certain, for doubtful, and for no business of its own."""

from __future__ import annotations

import ast
import sys
import sysconfig
import time
import types
from pathlib import Path

import dask
import dask.dataframe
import hypothesis
import pandas as pd
import polars as pl
import pytest
from hypothesis import strategies as st

from shiro_jupyter.kernel.guard import Schema, Verdict, check
from shiro_jupyter.kernel.guard.verdict import FOUND, nearest

DF = pd.DataFrame({"revenue": [1.0, 2.0], "region": ["n", "s"], "units": [1, 2]})
TRIPS = pl.DataFrame({"fare": [1.0], "vendor": ["A"]})


def judged(code: str, **more: object) -> Verdict:
    return check(code, Schema({"df": DF, "trips": TRIPS, "pd": pd, "pl": pl, **more}))


def names(code: str, **more: object) -> list[str]:
    """What is certainly missing."""
    return [each.what for each in judged(code, **more).certain]


def test_the_refusal_says_where_what_and_what_there_is() -> None:
    verdict = judged("x = 1\ndf['revnue'] + df['zzz']")
    assert verdict.refusal == (
        "Not run, since it would fail. line 2: df has no column 'revnue'; nearest: 'revenue'; "
        "line 2: df has no column 'zzz'; it has 'region', 'revenue', 'units'. "
        "Correct it and call again."
    )
    assert verdict.warning == ""


def test_a_column_of_polars_is_no_attribute() -> None:
    assert names("trips.fare") == ["trips.fare is no attribute; the column is trips['fare']"]


@pytest.mark.parametrize(
    "code",
    [
        "if flag:\n    df['nope']",
        "for x in unknown:\n    df['nope']",
        "flag and df['nope']",
        "df['nope'] if flag else 0",
        "try:\n    df['nope']\nexcept Exception:\n    pass",
        "def later():\n    return df['nope']",
        "while flag:\n    df['nope']",
        "def f():\n    if flag:\n        return 1\n    return df['nope']\nf()",
        "if flag:\n    raise SystemExit\ndf['nope']",
        "print('nope' in df)\ndf['nope']",
    ],
)
def test_what_may_not_be_reached_is_a_doubt(code: str) -> None:
    verdict = judged(code, flag=True, unknown=[1])
    assert not verdict.certain
    assert [each.what for each in verdict.doubtful] == ["df has no column 'nope'"]


@pytest.mark.parametrize(
    "code",
    [
        "if 'nope' in df.columns:\n    df['nope']",
        "if 'nope' not in df:\n    df['nope'] = 0\ndf['nope']",
        "try:\n    df['nope']\nexcept KeyError:\n    pass",
        "if hasattr(df, 'nope'):\n    df.nope",
        "df['nope'",
        "%%sql\nselect nope from df",
        "from helpers import *\ndf['nope']",
        "exec(source)\ndf['nope']",
        "change(df)\ndf['nope']",
        "thing.change()\ndf['nope']",
        "box[0]['nope'] = 1\ndf['nope']",
        "box[0].insert(0, 'nope', 1)\ndf['nope']",
        "df.columns = names\ndf['nope']",
        "df.rename(columns=names, inplace=True)\ndf['nope']",
        "def f(df):\n    return df['nope']",
        "[df['nope'] for df in tables]",
        "f = lambda df: df['nope']",
        "df[name]",
        "df.loc[0, name]",
        "with thing:\n    pass\nthing.go()\ndf['nope']",
        "from IPython import get_ipython\nget_ipython().run_line_magic('run', 'x.py')\ndf['nope']",
        "get_ipython().user_ns['df'] = pd.DataFrame()\ndf['nope']",
        "!true\n" * 510 + "df['nope']",
        "global df\nimport data as df\ndf['nope']",
        "match thing:\n    case df:\n        df['nope']",
        "except_ = 1\ntry:\n    1 / 0\nexcept Exception as df:\n    df['nope']",
    ],
)
def test_what_code_may_have_made_is_never_told(code: str) -> None:
    given = {"box": [DF], "thing": types.SimpleNamespace(), "tables": [DF], "names": {1: 2}}
    assert judged(code, **given) == Verdict()


def test_names_alike_are_looked_for_only_where_they_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        "shiro_jupyter.kernel.guard.verdict.nearest", lambda name, names: asked.append(name) or ()
    )
    verdict = judged("\n".join(f"df['nope{at}']" for at in range(30)))
    assert len(verdict.certain) == 30 and asked == []
    assert verdict.refusal and len(asked) == FOUND


def test_two_names_of_one_table_are_one() -> None:
    assert names("other['new'] = 1\ndf['new']", other=DF) == []
    assert names("other['new'] = 1\ndf['new']", other=DF.copy()) == ["df has no column 'new'"]


def test_functions_of_the_persons_are_read_for_what_they_reach() -> None:
    space: dict[str, object] = {"df": DF, "__name__": "__main__"}
    exec(
        "def plain(x):\n    return len(x) + 1\n"
        "def changing(x):\n    df['new'] = 1\n"
        "def indirect(x):\n    return changing(x)\n",
        space,
    )
    functions = {name: space[name] for name in ("plain", "changing", "indirect")}
    for name, found in (("plain", ["df has no column 'new'"]), ("changing", []), ("indirect", [])):
        assert names(f"{name}([1])\ndf['new']", **functions) == found
        # What is handed over may be changed in place.
        assert names(f"{name}(df)\ndf['new']", **functions) == []


def test_the_index_has_names_too() -> None:
    by_day = DF.set_index(pd.Index(["a", "b"], name="day"))
    for use in (
        "groupby('day')",
        "sort_values('day')",
        "query('day > \"a\"')",
        "merge(df, on='day')",
    ):
        assert not any("by_day" in each for each in names(f"by_day.{use}", by_day=by_day))
    assert names("by_day['day']", by_day=by_day) == ["by_day has no column 'day'"]
    assert names("by_day.reset_index()['day']", by_day=by_day) == []


def test_tables_that_are_not_plain_are_left_alone() -> None:
    class Own(pd.DataFrame):
        def __getattr__(self, name: str) -> object:
            return 1

    deep = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_product([["a"], ["b", "c"]]))
    times = pd.DataFrame([[1]], columns=pd.to_datetime(["2026-01-01"]))
    made = {"own": Own({"a": [1]}), "deep": deep, "times": times, "lazy": TRIPS.lazy()}
    for name in made:
        assert names(f"{name}['nope']", **made) == []
    assert names("own.nope", **made) == []
    assert names("times['2026-01-01']", **made) == []


def test_frames_of_dask_are_looked_up_without_computing() -> None:
    frame = dask.dataframe.from_pandas(DF, npartitions=2)
    with dask.config.set(scheduler=lambda *args, **kwargs: pytest.fail("computed")):
        assert names("events['nope']", events=frame) == ["events has no column 'nope'"]
        assert names("events.nope", events=frame) == ["events has no column or attribute 'nope'"]
        assert names("events.head()['nope']", events=frame) == [
            "events.head() has no column 'nope'"
        ]
        right = "events['tax'] = events.revenue\nevents[events.tax > 1].groupby('region').tax.sum()"
        assert judged(f"{right}.compute()", events=frame) == Verdict()


def test_numbers_as_columns_are_no_texts() -> None:
    numbered = pd.DataFrame([[1, 2]])
    assert names("numbered[0] + numbered['0']", numbered=numbered) == ["numbered has no column '0'"]


def test_private_columns_are_there_and_never_named() -> None:
    names = {"df": DF, "also": DF, "values": ["Ada"]}
    schema = Schema(names, ("also", "values"), lambda name, value: ["region", "units"])
    assert check("df['revenue']", schema) == Verdict()
    assert check("df[values]\ndf[values[0]]", schema) == Verdict()  # would tell what they hold
    told = check("also\ndf['revenu']\ndf.query('regoin > 1')", schema).refusal
    assert "'revenu'" in told and "'revenue'" not in told and "'region'" in told


@pytest.mark.parametrize(
    ("name", "known", "best"),
    [
        ("Revenue", ["region", "revenue"], "revenue"),
        ("customer_name", ["id", "name", "customs"], "name"),
        ("fareamount", ["fare_amount", "fare"], "fare_amount"),
        ("temperature", ["temp_max", "wind"], "temp_max"),
        ("qty", ["price", "date"], None),
    ],
)
def test_the_nearest_name(name: str, known: list[str], best: str | None) -> None:
    assert nearest(name, known)[:1] == ((best,) if best else ())


# -- whatever code there is ----------------------------------------------------------------------


def sources() -> list[Path]:
    roots = [Path(sysconfig.get_paths()["purelib"]) / each for each in ("pandas", "polars")]
    files = [file for root in roots for file in sorted(root.rglob("*.py"))]
    return [file for file in files if file.stat().st_size < 60_000][::15]


@pytest.mark.slow
def test_no_code_breaks_it() -> None:
    """Over code of others in which tables have the names that it uses most."""
    assert len(sources()) > 50
    for path in sources():
        code = path.read_text(encoding="utf-8")
        used = [n.id for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Name)]
        most = sorted(set(used), key=used.count)[-12:]
        tables = {name: (DF, TRIPS, DF.copy())[at % 3] for at, name in enumerate(most)}
        assert isinstance(check(code, Schema({"pd": pd, "pl": pl, **tables})), Verdict), path


def test_it_takes_no_more_than_linear_time() -> None:
    """Counted in steps, not seconds: what nests and loops is given up in time."""
    deep = "for a in b:\n"
    for depth in range(1, 18):
        deep += "    " * depth + "for a in df:\n"
    deep += "    " * 18 + "df['x'] = 1"
    nested = "x = " + "df.assign(a=lambda d: " * 20 + "1" + ")" * 20
    calls = "def f(a):\n    return f(a) + f(a)\nf(df)\n" * 50
    started = time.thread_time()
    for code in (deep, nested, calls, "(" * 90 + "df" + ")" * 90, "df[" * 80 + "0" + "]" * 80):
        assert isinstance(judged(code), Verdict)
    assert time.thread_time() - started < 20  # exponential time would be hours


PIECES = st.sampled_from([
    *("df", "trips", "'revenue'", "'nope'", "[", "]", "(", ")", ".", "loc", "groupby", ":", ","),
    *("=", "if df:\n ", "\n", "for x in df:\n ", "lambda d: ", "def f(df):\n ", "return ", "query"),
    *("try:\n ", "\nexcept KeyError:\n ", "pl.col", "with_columns", "**", "*", "del ", "assign"),
])  # fmt: skip


@hypothesis.given(st.lists(PIECES, max_size=25).map(" ".join))
def test_no_text_breaks_it(code: str) -> None:
    assert isinstance(judged(code), Verdict)


def test_nothing_is_imported_to_look() -> None:
    before = set(sys.modules)
    judged("import seaborn as sns\nsns.histplot(df, x='nope')\nimport duckdb_not_there\ndf['a']")
    assert not {each for each in set(sys.modules) - before if "seaborn" in each}


def test_what_is_kept_back_is_not_named_after_it_was_worked_on() -> None:
    closed, told = Schema({"df": DF, "trips": TRIPS, "pl": pl}, ("df", "trips")), []
    for code in (
        "df.merge(df, on='region')['nope']",
        "df.reset_index()['nope']",
        "df.sort_values('region')['nope']",
        "trips.select(pl.all())['nope']",
        "trips.with_columns(pl.all())['nope']",
        "trips.join(trips, on='fare')['nope']",
    ):
        told += [str(each).partition("'nope'")[2] for each in check(code, closed).certain]
    assert len(told) >= 4
    assert not [name for name in (*DF.columns, *TRIPS.columns) if name in "".join(told)]
