from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.memory.close import close, closest
from shiro_jupyter.core.memory.index import compose

# Each pair speaks of the same, and only one of the two can be meant.
CLOSE = [
    ("orders.csv dates are day-first", "orders.csv dates are month-first"),
    ("dates in orders.csv are day-first", "orders.csv dates are month-first"),
    ("dates in orders.csv are day-first since March", "dates in orders.csv are month-first"),
    ("the cut-off is 2023-01-01", "the cut-off is 2022-06-01"),
    ("cut-off: 2023-01-01", "the cut-off is 2022-06-01."),
    ("use pnpm for the frontend", "use yarn for the frontend"),
    ("use pnpm for the frontend", "the frontend uses yarn"),
    ("use the staging database for tests", "use a local database for tests"),
    ("use pandas for joins", "never use pandas for joins"),
    ("use pnpm", "don't use pnpm"),
    ("the database is postgres", "the database is SQLite"),
    ("timestamps are stored in UTC", "timestamps are stored in local time"),
    ("the timeout is 30 s", "the timeout is 1 minute"),
    ("revenue is net of VAT", "revenue is gross of VAT"),
    ("revenue includes VAT", "revenue excludes VAT"),
    ("the config lives in settings.toml", "the config lives in config.yaml"),
    ("the api is versioned under /v2", "the API is versioned under /v3"),
    ("customer_id is nullable", "customer_id is not nullable"),
    ("run the tests with pytest -n4", "run the tests with pytest -n1"),
    ("save figures to reports/img", "save figures to docs/figures"),
    ("the nightly export runs at 02:00", "the nightly export runs at 04:30"),
    ("chunk size 500 rows", "chunk size 1000 rows"),
    ("orders has 12 columns", "orders has 14 columns"),
    ("the train split is 80%", "the train split is 70%"),
    ("answers are in English", "answers are in German"),
    ("we use black for formatting", "use ruff for formatting"),
    ("prefer median over mean for prices", "prefer mean over median for prices"),
    ("models must be retrained weekly", "models must be retrained daily"),
]
# Each pair has words in common, and both can be true.
RELATED = [
    ("orders.csv dates are day-first", "customers.csv dates are day-first"),
    ("dates in orders.csv are day-first", "dates in orders.csv need dayfirst=True in read_csv"),
    ("dates in orders.csv are day-first", "amounts in orders.csv are in cents"),
    ("the order_date column in orders.csv is UTC", "the ship_date column in orders.csv is local"),
    ("use pnpm", "use uv"),
    ("prefer rust", "prefer go"),
    ("use pnpm for the frontend", "use pnpm for the docs"),
    ("use pnpm for the frontend", "use uv for the backend"),
    ("never use iterrows for joins", "use merge for joins"),
    ("the api is versioned under /v2", "the api is written in Go"),
    ("orders.csv is read by load.py", "orders.csv is read in chunks of 500"),
    ("orders.csv is read by load.py", "orders.csv is written by export.py"),
    ("orders.csv is exported weekly", "orders.csv is exported by Anna"),
    ("the model is trained on 2023 data", "the model is trained in notebooks/train.ipynb"),
    ("load.py reads orders.csv", "load.py writes orders.parquet"),
    ("customer_id has duplicates", "customer_id has missing values"),
    ("orders has 12 columns", "orders has 40000 rows"),
    ("run the tests with make test", "run the linter with make lint"),
    ("the staging database is read-only", "the production database is read-only"),
    ("sheet 1 holds prices", "sheet 2 holds prices"),
    ("revenue is net of VAT", "revenue is computed per month"),
    ("plots are saved as svg", "plots are saved in figures/"),
    ("we chose snake_case for database columns", "the api is versioned under /v2"),
    ("the build needs node 18", "the build needs java"),
    ("tests are slow", "browser tests are flaky"),
    ("never commit data/raw", "data/raw comes from the export of Anna"),
    ("run 12 failed on Monday after the deploy", "run 13 failed on Monday after the deploy"),
    ("fact 4525", "fact 6945"),
    ("tests in tests/browser need chromium", "tests in tests/kernel need ipykernel"),
    ("the api returns 429 above 10 requests", "the api returns dates as ISO strings"),
    ("it is slow", "it is fast"),
]


@pytest.mark.parametrize(("one", "other"), CLOSE)
def test_another_claim_about_the_same_is_close(one: str, other: str) -> None:
    assert close(one, other) and close(other, one)


@pytest.mark.parametrize(("one", "other"), RELATED)
def test_what_is_merely_related_is_not(one: str, other: str) -> None:
    assert not close(one, other) and not close(other, one)


def test_the_newest_close_one_is_answered_and_never_the_same_text() -> None:
    now = datetime(2026, 11, 30)
    known = [compose(f"the cut-off is 2023-0{month}-01", now) for month in (1, 2, 3)]
    known.append(compose("the docs are in German", now))
    assert closest(compose("the cut-off is 2022-06-01", now), known) == known[2]
    assert closest(compose("The cut-off is 2023-03-01.", now), known) == known[1]
    assert closest(compose("plots are saved as svg", now), known) is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared_in_either_order(one: str, other: str) -> None:
    assert close(one, other) == close(other, one)
