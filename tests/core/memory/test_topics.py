from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import PathRefused
from shiro_jupyter.core.memory.index import ABOUT
from shiro_jupyter.core.memory.topics import READ, Topic, parse_topic, read_topic, topics_of

FULL = """---
name: Order dates
description: "what the columns of orders.csv mean"
tags: [orders, '#dates']
files:
  - load.py
  - eda.ipynb
modules: pandas, polars
columns: [order date, ship_date]
branch: fix/dates
reviewed: 2026-01-01
---

Dates are day-first.

    pd.read_csv("orders.csv", dayfirst=True)
"""


def test_front_matter_and_body() -> None:
    assert parse_topic("orders.md", FULL) == Topic(
        "orders.md",
        "Order dates: what the columns of orders.csv mean",
        ("orders", "dates"),
        'Dates are day-first.\n\n    pd.read_csv("orders.csv", dayfirst=True)',
        {
            "files": ("load.py", "eda.ipynb"),
            "modules": ("pandas", "polars"),
            "columns": ("order date", "ship_date"),
            "branch": ("fix/dates",),
        },
    )


def test_line_ends_of_any_kind() -> None:
    expected = parse_topic("orders.md", FULL)
    assert parse_topic("orders.md", FULL.replace("\n", "\r\n")) == expected
    assert parse_topic("orders.md", FULL.replace("\n", "\r")) == expected


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("tags: #payments #stripe", ("payments", "stripe")),
        ("tags: payments, stripe, payments", ("payments", "stripe")),
        ("Tags:payments", ("payments",)),
        ("tags:\n- payments\n-  'stripe'", ("payments", "stripe")),
        ("tags: []", ()),
        ("tags: [payments", ("[payments",)),
        ("tags: payments\ntags: stripe", ("payments", "stripe")),
        ("tags: #", ()),
    ],
)
def test_tags_as_people_write_them(written: str, tags: tuple[str, ...]) -> None:
    assert parse_topic("a.md", f"---\n{written}\n---\nbody").tags == tags


@pytest.mark.parametrize(
    ("written", "description"),
    [
        ("description: one", "one"),
        ("description: >\n  one\n  two", "one two"),
        ("description: one\n  and two", "one and two"),
        ("description: a: b # c", "a: b # c"),
        ("name: a\ndescription: own name says nothing", "own name says nothing"),
        ("name: Other", "Other"),
        ("# comment\n\n{{ odd }}\ndescription: one", "one"),
    ],
)
def test_descriptions(written: str, description: str) -> None:
    topic = parse_topic("a.md", f"---\n{written}\n---\nbody")
    assert (topic.description, topic.body) == (description, "body")


@pytest.mark.parametrize(
    "text",
    [
        "plain\n\n---\ntags: no\n---",
        "---\nno end: of it\n",
        "--- x\ntags: a\n---\n",
        "----\na\n---",
    ],
)
def test_what_is_no_front_matter_is_body(text: str) -> None:
    assert parse_topic("a.md", text) == Topic("a.md", body=text.strip("\n"))


front_matter = st.text("abc:[]-'\"#,>| \t\n", max_size=60)


@given(st.one_of(st.text(), front_matter.map("---\n{}\n---\nbody".format)))
def test_any_text_is_a_topic(text: str) -> None:
    topic = parse_topic("a.md", text)
    assert set(topic.about) <= set(ABOUT)
    assert all(topic.tags) and all(each for values in topic.about.values() for each in values)


# -- files -------------------------------------------------------------------------------


def test_reading(tmp_path: Path) -> None:
    (tmp_path / "orders.md").write_bytes(b"\xef\xbb\xbf" + FULL.encode())
    assert read_topic(tmp_path, "orders.md") == parse_topic("orders.md", FULL)
    assert read_topic(tmp_path, "missing.md") is None
    assert read_topic(tmp_path / "nowhere", "missing.md") is None


@pytest.mark.parametrize(
    "name",
    [
        *("", "../secret.md", "a/b.md", "/etc/passwd", "a\\b.md", "a\0.md", "a\n.md"),
        *(".hidden.md", "a.txt", "MEMORY.md", "memory.md"),
    ],
)
def test_a_name_that_is_a_path_or_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PathRefused, match="plain name"):
        read_topic(tmp_path, name)


def test_a_link_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link.md").symlink_to(tmp_path / "secret")
    (tmp_path / "dangling.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "plain.md").touch()
    for name in ("link.md", "dangling.md", "folder.md", "pipe.md"):
        with pytest.raises(PathRefused, match=f"{name} is no plain file"):
            read_topic(tmp_path, name)
    assert topics_of(tmp_path) == ("plain.md",)


def test_the_file_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").touch()
    with pytest.raises(PathRefused, match="another user"):
        read_topic(tmp_path, "a.md", uid=os.getuid() + 1)


def test_what_is_no_text_is_refused_and_odd_bytes_are_not(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text", encoding="utf-16")
    with pytest.raises(PathRefused, match="UTF-8"):
        read_topic(tmp_path, "a.md")
    (tmp_path / "b.md").write_bytes(b"caf\xe9")
    assert read_topic(tmp_path, "b.md") == Topic("b.md", body="caf\N{REPLACEMENT CHARACTER}")


def test_only_so_much_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x" * (READ + 1_000))
    topic = read_topic(tmp_path, "a.md")
    assert topic and len(topic.body) == READ


def test_the_listing_names_topics_alone(tmp_path: Path) -> None:
    for name in ("b.md", "a.md", "MEMORY.md", "MEMORY.md.lock", ".a.md.1234.tmp", "notes.txt"):
        (tmp_path / name).touch()
    assert topics_of(tmp_path) == ("a.md", "b.md")
    assert topics_of(tmp_path / "nowhere") == ()


def test_a_claim_is_the_name_and_all_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(FULL.replace("\n", "\r\n").encode())
    topic = read_topic(tmp_path, "a.md")
    assert topic and topic.claim == f"a.md\n{FULL}"
