from __future__ import annotations

import types

import pandas as pd
import polars as pl
import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.privacy import Privacy

PATTERNS = ("salaries", "customers.email", "*.ssn")


def seen(cells: list[str], private: Private | None = None, **more: object) -> Namespace:
    """A kernel in which these cells ran."""
    names: dict[str, object] = {}
    for cell in cells:
        exec(cell, {"pd": pd, "pl": pl}, names)
    shell = types.SimpleNamespace(
        user_ns=names | more,
        user_ns_hidden={},
        history_manager=types.SimpleNamespace(input_hist_parsed=["", *cells]),
    )
    return Namespace(shell, Privacy(shell, private or Private(PATTERNS)))


CUSTOMERS = "customers = pd.DataFrame({'name': ['ann'], 'email': ['a@b.c'], 'ssn': [12345]})"


def test_a_private_variable_and_its_aliases_are_not_there() -> None:
    space = seen(["salaries = [70_000]\nsame = salaries\nn = 3\nnone = None"], nothing=None)
    assert list(space.variables()) == ["n", "none", "nothing"]
    assert space.listing().splitlines()[1:] == ["n: int = 3", "none: None", "nothing: None"]
    for name in ("salaries", "same", "missing"):
        with pytest.raises(ToolFailed) as refused:
            space.inspect(name)
        assert str(refused.value) == f"No variable '{name}'; there are n, none, nothing."


def test_private_columns_are_counted_and_what_was_made_of_them_has_no_values() -> None:
    space = seen([CUSTOMERS, "names = customers.name.tolist()\ncopy = customers.copy()\nother = 7"])
    shown = space.listing()
    for word in ("email", "ssn", "ann", "a@b.c", "12345"):
        assert word not in shown + space.inspect("customers") + space.inspect("copy")
    assert "customers: DataFrame, 1 row, 3 columns, 2 of them private: name (str)" in shown
    assert "names: list, 1 item of str" in shown and "other: int = 7" in shown
    with pytest.raises(ToolFailed, match=r"^No column 'email'; there are name\.$"):
        space.inspect("customers['email']")
    with pytest.raises(ToolFailed, match=r"^No column 'ssn'; there are name\.$"):
        space.inspect("copy.ssn")


def test_a_column_that_is_a_value_of_another_table_is_counted_with_the_private_ones() -> None:
    space = seen([CUSTOMERS, "wide = customers.pivot(columns='email', values='name')"])
    assert "wide: DataFrame, 1 row, 1 column, 1 of them private" in space.listing()
    assert "a@b.c" not in space.inspect("wide")
    wide = pd.DataFrame({"a@b.c": [1], "name": [2]})
    assert space.schema("value", wide).endswith("2 columns, 1 of them private: name (int64)")


def test_a_variable_that_no_code_is_known_to_have_made_has_no_values() -> None:
    assert "mystery: int\n" in seen(["n = 1"], mystery=918273).listing() + "\n"


def test_code_that_may_reach_anything_closes_everything() -> None:
    space = seen(["n = 918273"])
    assert "918273" in space.listing()
    space.privacy.ran("getattr(a, b)")
    assert "918273" not in space.listing() + space.inspect("n")


def test_a_name_that_nobody_wrote_is_not_told() -> None:
    space = seen(["n = 1"], Anna=1)
    space.privacy.unname("Anna")
    assert "Anna" not in space.listing()


def test_without_patterns_nothing_is_kept_back() -> None:
    space = seen([CUSTOMERS], Private())
    assert "a@b.c" in space.inspect("customers") and not space.closed()
    assert not space.privacy.now(space.every()).withholds_data


def test_schema_only_tells_a_table_without_any_value() -> None:
    cells = ["kinds = pl.DataFrame({'kind': pl.Series(['red'], dtype=pl.Enum(['red', 'blue']))})"]
    cells += ["row = pd.DataFrame({'a': [1]}, index=['red']).loc['red']\nwords = {'red': 1}"]
    space = seen(cells, Private(schema_only=True))
    told = space.listing() + "".join(map(space.inspect, ("kinds", "row", "words")))
    assert "red" not in told and "blue" not in told
    assert "kind (Enum)" in told and "a: int64" not in told


def test_data_are_withheld_from_when_something_private_is_there() -> None:
    space = seen(["n = 1"])
    assert not space.privacy.now(space.every()).withholds_data
    space.shell.user_ns["salaries"] = [1]
    assert space.privacy.now(space.every()).withholds_data
    del space.shell.user_ns["salaries"]  # its values may be in a file by now
    assert space.privacy.now(space.every()).withholds_data


def test_with_no_value_the_model_cannot_make_columns_of_them() -> None:
    table = "people = pd.DataFrame({'name': ['ann', 'bob'], 'age': [1, 2]})"
    space = seen([table], Private(schema_only=True))
    assert "name (str), age (int64)" in space.listing()
    people = space.shell.user_ns["people"]
    space.privacy.ran("wide = people.set_index('name').T\npeople['older'] = 3")
    people["older"], people["ann"] = 3, 1
    space.shell.user_ns["wide"] = people.set_index("name").T
    assert "ann" not in space.listing() + space.inspect("wide") + space.inspect("people")
    assert "wide: DataFrame, 3 rows, 2 columns, 2 of them private" in space.listing()
    assert "name (str), age (int64), older (int64)" in space.listing()
    assert "bob" not in space.schema("value", people.set_index("name").T)


SSN = "pd.DataFrame({'ssn': [12345], 'n': [1]})"


@pytest.mark.parametrize(
    "code",
    [
        f"x = {{'one': {SSN}}}",
        f"x = [{SSN}]",
        f"x = {SSN}.set_index('ssn')",
        f"x = {SSN}.set_index('ssn').T",
        f"x = {SSN}.to_dict('records')",
        f"x = next({SSN}.itertuples())",
        "x = pl.DataFrame({'a': [{'ssn': 12345}]})",
        f"x = {SSN}.groupby('n')",
    ],
)
def test_a_private_column_deeper_in_a_value_closes_it(code: str) -> None:
    space = seen([])
    exec(code, {"pd": pd, "pl": pl}, space.shell.user_ns)
    space.shell.history_manager.input_hist_parsed.append("x = made()")
    assert space.privacy.now(space.every()).withholds_data
    assert "12345" not in space.listing() + space.inspect("x")


def test_a_name_that_changed_between_cells_is_closed() -> None:
    space = seen(["n = 1", "salaries = [1]"])
    space.privacy.cell_ended(space.every())
    space.shell.user_ns["n"] = 918273
    space.privacy.cell_begins(space.every())
    assert "918273" not in space.listing()
