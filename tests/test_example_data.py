"""The example data are what its script makes, and the questions' answers are right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ORDERS = Path(__file__).parents[1] / "notebooks" / "orders"
FILES = ("customers.csv", "orders.csv", "prices.csv")
QUESTIONS: list[dict[str, Any]] = json.loads((ORDERS / "questions.json").read_text("utf-8"))


def test_the_files_are_what_the_script_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ORDERS / "make_data.py", tmp_path], check=True)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (ORDERS / name).read_bytes()


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    """What pandas says of the loaded data, in a process of its own."""
    code = (
        "import json; from load import *\n"
        "means = dict(quantity_by_channel.values.tolist())\n"
        "print(json.dumps({'columns': list(customers), 'rows': len(orders), 'prices': prices.shape,"
        " 'missing': int(orders['unit_price'].isna().sum()), 'wholesale': means['wholesale']}))"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=ORDERS, capture_output=True, text=True, check=True
    )
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def expected(*words: str) -> list[Any]:
    (question,) = [q for q in QUESTIONS if all(word in q["question"] for word in words)]
    answer: list[Any] = question["expect"]
    return answer


def test_expected_numbers_are_the_datas(facts: dict[str, Any]) -> None:
    assert expected("rows", "variable orders") == [facts["rows"]]
    assert expected("unit_price", "missing") == [facts["missing"]]
    assert expected("mean", "wholesale") == [facts["wholesale"]]
    assert expected("rows and columns", "prices") == facts["prices"]


def test_expected_words_are_the_files() -> None:
    facts_columns = (ORDERS / "customers.csv").read_text().splitlines()[0]
    assert all(re.search(each, facts_columns) for each in expected("columns", "customers"))
    prices = (ORDERS / "prices.csv").read_text()
    assert all(
        re.search(each, prices.splitlines()[0]) for each in expected("columns", "prices.csv")
    )
    (darjeeling,) = [line for line in prices.splitlines() if line.startswith("Darjeeling")]
    assert re.search(expected("Darjeeling")[0], darjeeling)
    found = " ".join(path.name for path in ORDERS.glob("*.csv"))
    assert all(re.search(each, found) for each in expected("CSV files"))


def test_expected_decisions_are_remembered() -> None:
    memory = (ORDERS / ".shiro" / "memory" / "MEMORY.md").read_text()
    for question in QUESTIONS:
        if question["kind"] == "decision":
            assert all(re.search(each, memory) for each in question["expect"])


def test_there_are_ten_questions_and_a_wrong_answer_fails() -> None:
    assert len(QUESTIONS) == len({question["question"] for question in QUESTIONS}) == 10
    for question in QUESTIONS:
        patterns = [each for each in question["expect"] if isinstance(each, str)]
        assert not any(re.search(each, "I do not know. 0", re.I) for each in patterns)
