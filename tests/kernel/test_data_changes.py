"""What the code of a turn did to the data, in a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shiro_jupyter.kernel.data_changes import Change, Size, size_now, told
from shiro_jupyter.kernel.names_undo import NamesUndo


class Turn:
    """The person's names, and code of one turn on them."""

    def __init__(self, **names: Any) -> None:
        self.names = names
        self.undo = NamesUndo(self.names, lambda: ("s", 1))

    def run(self, *codes: str) -> str:
        for code in codes:
            with self.undo.watched(code):
                exec(code, {"np": np, "pd": pd, "pl": pl, "pa": pa}, self.names)
        return self.undo.told(("s", 1))


def rows(number: int) -> pd.DataFrame:
    return pd.DataFrame({"price": np.arange(number), "day": ["2026-01-01"] * number})


def test_rows_and_columns_of_a_table_and_names_that_come_and_go() -> None:
    turn = Turn(df=rows(10_000), tmp=1)
    said = turn.run(
        "df = df[df.price >= 188]; df['price_eur'] = df.price * 2",
        "total = 3; by_month = df.head(12); del tmp",
    )
    assert said == (
        "df 10,000 → 9,812 rows, +price_eur · new: by_month (12 × 3), total · deleted: tmp"
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("df['day'] = pd.to_datetime(df['day'])", "df day now datetime64[us]"),
        ("df = df.drop(columns='day').rename(columns={'price': 'usd'})", "df +usd, -price, -day"),
        ("df.pop('day')", "df -day"),
        ("df = df.assign(**{f'c{n}': n for n in range(5)})", "df +5 columns"),
        ("df.loc[0, 'price'] = 9", "changed: df"),
        ("df = df.sort_values('price')", "rebound: df"),
        ("df = pl.from_pandas(df)", "df DataFrame → polars.DataFrame (5 × 2)"),
        ("df = None", "df DataFrame → NoneType"),
        ("df = df['price']", "df DataFrame → Series (5 rows)"),
        ("a = a[:2]", "a 5 × 2 → 2 × 2"),
        ("a = a + 1", "rebound: a"),
        ("items.append(4)", "items 3 → 4 items"),
        ("items[0] = 9", "changed: items"),
        ("f = lambda: 1", "rebound: f"),
        ("new = df.price; import json", "new: new (5 rows)"),
        ("_scratch = 1; _ = 2", ""),
        ("df.describe(); a.sum(); len(items)", ""),
        ("n = 2.5", "n int → float"),
        ("n = 3", "rebound: n"),
        ("tables = {'x': df}", "new: tables (1 item)"),
    ],
)
def test_one_change(code: str, said: str) -> None:
    turn = Turn(df=rows(5), a=np.zeros((5, 2)), items=[1, 2, 3], f=rows, n=2)
    assert turn.run(code) == said


@pytest.mark.parametrize(
    "codes",
    [
        ("passing = 1", "del passing"),
        ("items.append(4)", "items.pop()"),
        ("old = df; df = df.head(1)", "df = old; del old"),
        ("df['x'] = 1; del df['x']",),
        ("df['x'] = 1", "del df['x']; passing = 1; del passing; items.append(1); items.pop()"),
    ],
)
def test_what_is_taken_back_within_the_turn_is_no_change(codes: tuple[str, ...]) -> None:
    assert Turn(df=rows(5), items=[1]).run(*codes) == ""


def test_a_change_in_place_and_then_another_table_is_told_from_the_first_to_the_last() -> None:
    turn = Turn(df=rows(5))
    assert turn.run("df['x'] = 1", "df = df.head(2)", "df['y'] = 2") == "df 5 → 2 rows, +x, +y"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x\n· deleted: all", r"df +'x\n· deleted: all'"),
        ("price, eur", "df +'price, eur'"),
        ("x" * 3_000, f"df +{'x' * 39}…"),
        ("\u202ex", r"df +'\u202ex'"),
        ("unit price", "df +unit price"),
    ],
)
def test_no_name_of_a_column_passes_for_more_of_the_line(name: str, said: str) -> None:
    assert Turn(df=rows(5)).run(f"df[{name!r}] = 1") == said


def test_every_name_of_what_was_changed_in_place_is_told() -> None:
    df = rows(5)
    assert Turn(df=df, al=df, other=rows(5)).run("al['z'] = 1") == "al +z · df +z"


def test_what_a_reset_binds_anew_is_not_told() -> None:
    turn = Turn(get_ipython=rows, exit=1, In=[""], Out={}, df=rows(5))
    reset = "del df; get_ipython = rows.__call__; exit = 2; In = []; Out = {1: 2}"
    turn.names["rows"] = rows
    assert turn.run(reset) == "deleted: df"


def test_other_libraries_tell_their_sizes() -> None:
    turn = Turn(p=pl.DataFrame({"a": [1, 2]}), t=pa.table({"a": [1, 2]}), s=pd.Series([1, 2]))
    said = turn.run("p = p.head(1); t = t.append_column('b', t['a']); s = s[s > 1]")
    assert said == "p 2 → 1 row · s 2 → 1 row · t +b"


def test_many_names_are_counted_and_few_are_told_in_full() -> None:
    many = Turn().run("; ".join(f"n{number:02} = {number}" for number in range(20)))
    assert many == "new: n00, n01, n02, n03, n04, n05, n06, n07 and 12 more"
    frames = Turn(**{f"t{number}": rows(9) for number in range(6)})
    said = frames.run("\n".join(f"t{number} = t{number}.head(1)" for number in range(6)))
    assert said == ("t0 9 → 1 row · t1 9 → 1 row · t2 9 → 1 row · t3 9 → 1 row · rebound: t4, t5")


def test_a_very_wide_table_is_told_by_the_number_of_its_columns() -> None:
    wide = pd.DataFrame(np.zeros((2, 3_000)))
    assert Turn(wide=wide).run("wide['x'] = 1") == "wide 3,000 → 3,001 columns"


def test_nothing_of_the_persons_own_is_run() -> None:
    class Mine(list[int]):
        def __len__(self) -> int:
            raise AssertionError

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(name)

        __eq__ = __iter__ = __len__  # type: ignore[assignment]

    assert size_now(Mine()).rows is None
    assert told([Change("mine", "bound", size_now(Mine()), size_now(Mine()))]) == "rebound: mine"
    assert told([Change("x", "new", after=Size("module"))]) == ""
