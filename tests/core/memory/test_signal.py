from __future__ import annotations

import pytest

from shiro_jupyter.core.memory.rank import Document, Ranker
from shiro_jupyter.core.memory.search import terms
from shiro_jupyter.core.memory.signal import TaskSignal, stem_of


@pytest.mark.parametrize(
    "signal",
    [
        TaskSignal(),
        TaskSignal(branch="main"),
        TaskSignal(branch="master"),
        TaskSignal(branch="Develop"),
        TaskSignal(branch="trunk"),
        TaskSignal(branch="fix/"),
        TaskSignal(branch="feat/2024"),
        TaskSignal(branch="fix/test-init"),
        TaskSignal(prompt="  "),
        TaskSignal(prompt="and then what about the 2023 tests?"),
        TaskSignal(notebook="Untitled.ipynb"),
        TaskSignal(notebook="Untitled1-Copy2.ipynb", headings=("1.",)),
        TaskSignal(branch="feature/main"),
    ],
)
def test_what_says_nothing_finds_nothing(signal: TaskSignal) -> None:
    assert not signal.paths and not any(signal.cues.values())
    words = "fix the main tests of 2023 and 2024: init, and what then about the copy of a feature"
    assert Ranker([Document(words, files=("Untitled.ipynb",))]).rank(signal) == []


@pytest.mark.parametrize(
    "signal",
    [
        TaskSignal(branch="main-menu"),
        TaskSignal(branch="stripe/main"),
        TaskSignal(files=("tests/__init__.py",)),  # its path may have been recorded
        TaskSignal(prompt="stripe"),
        TaskSignal(notebook="orders.ipynb"),
        TaskSignal(headings=("Cleaning",)),
        TaskSignal(modules=("polars",)),
        TaskSignal(frames=("orders",)),
        TaskSignal(columns=("order_date",)),
    ],
)
def test_one_cue_is_enough(signal: TaskSignal) -> None:
    assert signal.paths or any(signal.cues.values())


@pytest.mark.parametrize(
    ("branch", "words"),
    [
        ("fix/stripe-webhook", ["stripe", "webhook"]),
        ("feature/GH-123_orderDates", ["GH", "orderDates", "order", "Dates"]),
        ("anna/fix/rls", ["rls"]),
        ("stripe/main", ["stripe"]),
        ("anna/main", []),
        ("anna-stripe", ["stripe"]),
        ("größen-ändern", ["größen", "ändern"]),
    ],
)
def test_a_branch_says_its_words_without_its_prefix(branch: str, words: list[str]) -> None:
    assert list(TaskSignal(branch=branch, user="anna").cues["branch"].values()) == words


def test_files_say_the_words_of_their_names() -> None:
    signal = TaskSignal(files=("src/lib/resend.ts", "tests/test_load_orders.spec.py", "README"))
    assert list(signal.cues["file"].values()) == ["resend", "load", "orders", "README"]
    assert list(signal.cues["file"]) == terms("resend load orders README")


def test_the_notebook_is_one_of_the_files_where_its_name_says_something() -> None:
    assert TaskSignal(files=("a.py",), notebook="eda.ipynb").paths == ("a.py", "eda.ipynb")
    assert TaskSignal(files=("a.py",), notebook="Untitled3.ipynb").paths == ("a.py",)


def test_names_of_the_kernel_match_by_their_parts() -> None:
    signal = TaskSignal(modules=("scipy.stats",), frames=("dailyOrders",), columns=("order_date",))
    assert set(signal.cues["kernel"]) == {*terms("scipy stats daily orders date"), "dailyorder"}


@pytest.mark.parametrize(
    ("path", "stem"),
    [("a/b/load.py", "load"), ("x.spec.ts", "x"), (".travis.yml", ".travis"), ("Makefile",) * 2],
)
def test_a_stem_is_the_name_without_endings(path: str, stem: str) -> None:
    assert stem_of(path) == stem
