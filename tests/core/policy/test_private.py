from __future__ import annotations

from dataclasses import replace

import pytest

from shiro_jupyter.core.policy.private import Private

PRIVATE = Private(("salaries", "Secret_*", "customers.email", "*.ssn", "wide.*"))


@pytest.mark.parametrize("name", ["salaries", "SALARIES", "secret_", "secret_key"])
def test_a_variable_is_private_by_its_pattern_in_any_case(name: str) -> None:
    assert PRIVATE.name(name) and PRIVATE.mentions(name)


@pytest.mark.parametrize("name", ["salary", "my_salaries", "customers", "email", "wide", ""])
def test_a_variable_with_a_private_column_is_none(name: str) -> None:
    assert not PRIVATE.name(name)


@pytest.mark.parametrize(
    ("variable", "column", "private"),
    [
        ("customers", "email", True),
        ("customers", "Email", True),
        ("orders", "email", False),
        ("orders", "ssn", True),
        ("orders", "(2024, ssn)", True),
        ("orders", "(2024, price)", False),
        ("wide", "anything at all", True),
        ("salaries", "price", False),
    ],
)
def test_a_column_is_private_where_its_variable_and_its_name_fit(
    variable: str, column: str, private: bool
) -> None:
    assert PRIVATE.column(variable, column) is private


def test_of_what_was_made_of_others_every_private_column_is() -> None:
    columns = ("email", "ssn", "price")
    assert [*map(Private(("customers.email", "*.ssn")).any_column, columns)] == [True, True, False]
    assert PRIVATE.any_column("price")  # it may come from wide


def test_words_of_code_that_say_something_private() -> None:
    assert PRIVATE.mentions("email") and PRIVATE.mentions("ssn")
    assert not PRIVATE.mentions("wide") and not PRIVATE.mentions("print")
    assert PRIVATE.scrubbed("load(salaries, path) of ssn2, ssn") == (
        "load([private], path) of ssn2, [private]"
    )
    assert Private(schema_only=True).scrubbed("salaries") == "salaries"


@pytest.mark.parametrize(
    "path", ["data.csv", "a/b.JSON", "x.txt", "noname", "plot.svg", "/outputs/1.md", "old.py.bak"]
)
def test_a_file_that_may_hold_data_is_withheld_where_no_value_is_shown(path: str) -> None:
    assert Private(schema_only=True).withholds(path)
    assert PRIVATE.withholds(path) and not replace(PRIVATE, there=False).withholds(path)


@pytest.mark.parametrize(
    "path", ["load.py", "src/A.SQL", "README.md", "Makefile", "requirements.txt", ".gitignore"]
)
def test_a_file_that_people_write_is_not(path: str) -> None:
    assert not Private(schema_only=True).withholds(path)
    assert not Private(schema_only=True).withholds_lines(path)


def test_of_a_notebook_only_the_cells_are_shown() -> None:
    for private in (PRIVATE, Private(schema_only=True)):
        assert private.withholds_lines("a.ipynb") and not private.withholds("a.ipynb")
    assert not Private().any and not Private().withholds_lines("a.ipynb")


def test_a_name_is_the_same_however_its_letters_are_composed() -> None:
    assert Private(("geha\u0308lter",)).name("geh\u00e4lter")
    assert Private(("geh\u00e4lter",)).name("GEHA\u0308LTER")
