from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from shiro_jupyter.core.memory import stale as module
from shiro_jupyter.core.memory.index import compose
from shiro_jupyter.core.memory.stale import Files, stale
from tests.support.memories import MakeMemory

NOW = datetime(2026, 11, 30)


def made(root: Path, *names: str) -> Files:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return Files(root)


@pytest.mark.parametrize(
    ("text", "recorded", "said"),
    [
        ("eda.ipynb needs the cleaned orders", ["eda.ipynb", "src/load.py"], "eda.ipynb is gone"),
        ("old.py needs the cleaned orders", ["lib/old.py", "src/load.py"], "old.py is gone"),
        ("load.py parses dates", [], ""),
        ("orders.csv is day-first", [], ""),  # in data/raw
        ("raw/orders.csv is day-first", [], ""),
        ("see src/old.py", [], "src/old.py is gone"),
        ("`src/eda.ipynb`, kept for reference.", [], "src/eda.ipynb is gone"),
        # Nobody knows that they were ever here.
        ("download report.xlsx from SharePoint", [], ""),
        ("model.pkl is written by train.py", [], ""),
        ("src/model.pkl is written by the training", [], ""),
        ("foo.py was deleted in 2023", ["src/load.py"], ""),
        ("see other/old.py of the library", [], ""),
        ("www.example.co.uk/data.json has the codes", [], ""),
        ("www.example.co.uk/load.py is the original", [], ""),
        # No names of files of this project.
        ("Node.js and pd.read_csv and df.columns and v1.2.md.bak", [], ""),
        ("https://example.org/eda.ipynb or a@b.py", [], ""),
        ("/etc/passwd.txt, ~/x.py, ../up.py, C:\\x.py, *.csv, {name}.csv, out_<n>.csv", [], ""),
        # What was being worked on.
        ("dates are day-first", ["src/load.py"], ""),
        ("dates are day-first", ["src/load.py", "gone.py"], ""),
        ("dates are day-first", ["gone.py", "eda.ipynb"], "gone.py is gone"),
    ],
)
def test_a_file_that_is_gone_is_named(
    tmp_path: Path, text: str, recorded: list[str], said: str
) -> None:
    files = made(tmp_path, "src/load.py", "data/raw/orders.csv")
    assert stale(compose(text, NOW, about={"files": recorded}), files.exists) == said


def test_where_not_all_is_read_only_what_was_recorded_can_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LISTED", 3)
    files = made(tmp_path, *(f"many/{number}.py" for number in range(9)))
    entry = compose("eda.ipynb is slow", NOW)
    assert stale(entry, files.exists) == ""
    entry = compose("eda.ipynb is slow", NOW, about={"files": ["many/eda.ipynb"]})
    assert stale(entry, files.exists) == "eda.ipynb is gone"


def test_looks_are_bounded_and_a_link_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKS", 2)
    files = made(tmp_path, "a.py")
    assert [files.exists(name) for name in ("a.py", "b.py", "c.py")] == [True, False, None]
    (tmp_path / "data").symlink_to("/")
    assert Files(tmp_path).exists("b.py") is None


@pytest.mark.parametrize("name", ["a\0.py", "x" * 300 + ".py", "x/" * 3000 + "y.py"])
def test_names_that_no_file_can_have_are_looked_for_in_vain(tmp_path: Path, name: str) -> None:
    assert not Files(tmp_path).exists(name)


def test_a_column_is_gone_only_where_its_table_is_at_hand(tmp_path: Path) -> None:
    files = Files(tmp_path)
    about = {"frames": ["orders"], "columns": ["order_date", "amount"]}
    entry = compose("order_date is day-first", NOW, about=about)
    assert stale(entry, files.exists, {"orders": ["date"]}) == "column order_date is gone"
    assert stale(entry, files.exists, {"orders": ["order_date"]}) == ""
    assert stale(entry, files.exists, {"orders": ["date"], "x": ["order_date"]}) == ""
    assert stale(entry, files.exists, {"customers": ["date"]}) == ""
    assert stale(entry, files.exists) == stale(entry, files.exists, {}) == ""
    unnamed = compose("order_dates are day-first", NOW, about=about)
    assert stale(unnamed, files.exists, {"orders": ["date"]}) == ""
    unrecorded = compose("order_date of orders is day-first", NOW)
    assert stale(unrecorded, files.exists, {"orders": ["date"]}) == ""


def test_a_listing_tells_what_is_stale_and_which_topic_is_missing(make_memory: MakeMemory) -> None:
    memory = make_memory()
    about = {"files": ["eda.ipynb"]}
    memory.remember("eda.ipynb holds the first look", topic="orders", about=about)
    memory.remember("plots are saved as svg", topic="plots")
    memory.remember("ask before touching eda.ipynb", scope="global")
    (memory.project.memory_dir / "plots.md").write_text("Detail.")
    (memory.project.memory_dir / "orders.md").symlink_to("/etc/passwd")
    found = {each.entry.text: (each.stale, each.dangling) for each in memory.entries()}
    assert found == {
        "eda.ipynb holds the first look": ("eda.ipynb is gone", True),
        "plots are saved as svg": ("", False),
        "ask before touching eda.ipynb": ("", False),
    }
    (hit,) = memory.recall("first look")
    assert hit.stale and hit.dangling
    (problem,) = memory.problems()
    assert "orders.md" in problem and memory.problems() == []
    (memory.project.root / "eda.ipynb").touch()
    assert not any(each.stale for each in memory.entries())
