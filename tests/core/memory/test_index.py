from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import TextRefused
from shiro_jupyter.core.memory.index import (
    BOM,
    KINDS,
    STAMP,
    Entry,
    Index,
    compose,
    fold,
    parse_line,
    plain,
)

NOW = datetime(2026, 11, 30, 9, 12, 44)
FULL = (
    "- [2026-11-30 09:12:44] (gotcha) dates in orders.csv are day-first (see orders.md)"
    " #orders #dates <!-- files: load.py, eda.ipynb; columns: order_date; source: user -->"
)

one_line = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60)
texts = st.one_of(
    one_line,
    # Texts that look like the parts around them.
    st.lists(
        st.sampled_from(
            [
                "(gotcha)",
                "(Fact):",
                "#tag",
                "#12",
                "#a,#b;",
                "#c.",
                "(see a.md)",
                "(See: `b.md`).",
                "(see",
                "<!-- x -->",
                "<!--",
                "-->",
                "word",
                ",",
            ]
        ),
        min_size=1,
        max_size=6,
    ).map(" ".join),
).filter(lambda text: text.strip())
tags = st.lists(st.sampled_from(["orders", "snake_case", "a.b", "größe", "x/y-z"]), max_size=3)
entries = st.builds(
    compose,
    texts,
    st.just(NOW),
    st.sampled_from([None, *KINDS]),
    tags,
    st.sampled_from(["", "orders", "orders.md"]),
    st.sampled_from([{}, {"source": ["user"]}, {"files": ["a.py", "b,c", "--x"]}]),
)
file_lines = st.lists(
    st.one_of(
        entries.map(lambda entry: entry.line().encode()),
        st.sampled_from(
            [
                b"# A heading",
                b"- plain bullet",
                b"- [not-a-stamp] x",
                b"- [2026-13-40 10:00:00] x",
                b"<<<<<<< HEAD",
                b"=======",
                b">>>>>>> other",
                b"- [2026-10-08 10:00:00] caf\xe9",
                b"",
                b"  - [2026-10-08 10:00:00] indented",
            ]
        ),
        st.binary(max_size=12).filter(lambda raw: b"\n" not in raw and not raw.endswith(b"\r")),
    ),
    max_size=8,
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    raw = draw(st.sampled_from([b"", BOM]))
    for line in draw(file_lines):
        raw += line + draw(st.sampled_from([b"\n", b"\r\n"]))
    return raw[: -1 - raw.endswith(b"\r\n")] if raw.endswith(b"\n") and draw(st.booleans()) else raw


def test_all_parts_of_a_bullet_are_read_and_written_back() -> None:
    entry = parse_line(FULL)
    assert entry == Entry(
        "2026-11-30 09:12:44",
        "dates in orders.csv are day-first",
        "gotcha",
        "orders.md",
        ("orders", "dates"),
        "files: load.py, eda.ipynb; columns: order_date; source: user",
    )
    assert entry.line() == FULL


@pytest.mark.parametrize(
    "line",
    [
        "# A heading",
        "- plain bullet",
        "- [not-a-stamp] x",
        "- [2026-02-30 10:00:00] no such day",
        "- [2026-10-08 10:00:00]",
        "- [2026-10-08 10:00:00] <!-- nothing but a comment -->",
        "  - [2026-10-08 10:00:00] indented",
        "* [2026-10-08 10:00:00] another bullet",
        "- [2026-10-08 10:00:00] carriage\rreturn",
    ],
)
def test_other_lines_are_no_memories(line: str) -> None:
    assert parse_line(line) is None


@pytest.mark.parametrize(
    ("line", "kind", "text", "tags"),
    [
        ("use pnpm", "fact", "use pnpm", ()),
        ("(decision) use pnpm", "decision", "use pnpm", ()),
        ("(idea) use pnpm", "fact", "(idea) use pnpm", ()),
        ("(fact) (gotcha) is a kind", "fact", "(gotcha) is a kind", ()),
        ("see pull request #12", "fact", "see pull request #12", ()),
        ("prefer C#", "fact", "prefer C#", ()),
        ("#only #tags", "fact", "#only", ("tags",)),
        ("twice #a #a", "fact", "twice", ("a",)),
        ("a <!-- b --> c", "fact", "a <!-- b --> c", ()),
        ("prices are net #a, #b. #c", "fact", "prices are net", ("a", "b", "c")),
        ("prices are net #a,#b;#c", "fact", "prices are net", ("a", "b", "c")),
        ("prices are net #a #b.", "fact", "prices are net", ("a", "b")),
        ("what of #a?", "fact", "what of #a?", ()),
        ("(Gotcha) prices are net", "gotcha", "prices are net", ()),
        ("(DECISION): use uv", "decision", "use uv", ()),
    ],
)
def test_what_is_taken_as_kind_text_and_tags(
    line: str, kind: str, text: str, tags: tuple[str, ...]
) -> None:
    entry = parse_line(f"- [2026-10-08 10:00:00] {line}")
    assert entry
    assert (entry.kind, entry.text, entry.tags) == (kind, text, tags)


@pytest.mark.parametrize(
    "pointer",
    ["(see t.md)", "(see t.md).", "(see `t.md`)", "(see: t.md)", '(See "t.md"),', "(see  t.md)"],
)
def test_a_pointer_is_taken_as_people_write_it_and_among_the_tags(pointer: str) -> None:
    for said in (f"net #a #b {pointer}", f"net {pointer} #a #b", f"net #a {pointer} #b."):
        entry = compose(said, NOW)
        assert (entry.text, entry.topic, entry.tags) == ("net", "t.md", ("a", "b"))
        assert entry.line() == "- [2026-11-30 09:12:44] net (see t.md) #a #b"
        assert parse_line(f"- [2026-11-30 09:12:44] {said}") == entry


@pytest.mark.parametrize(
    "said", ["net (see a/b.md)", "net(see t.md)", "(see t.md)", "x (see `t.md)"]
)
def test_what_is_no_pointer_stays_text(said: str) -> None:
    assert (compose(said, NOW).text, compose(said, NOW).topic) == (said, "")


def test_a_topic_that_is_given_stands_beside_another_that_is_typed() -> None:
    assert compose("net (see t.md)", NOW, topic="t").line().endswith("] net (see t.md)")
    assert compose("net (see a.md)", NOW, topic="t").line().endswith("] net (see a.md) (see t.md)")


def test_a_kind_is_taken_from_the_text_where_none_is_given() -> None:
    assert compose("(gotcha) net", NOW) == Entry("2026-11-30 09:12:44", "net", "gotcha")
    assert compose("(gotcha) net", NOW, "fact").line().endswith("] (fact) (gotcha) net")


@pytest.mark.parametrize("start", ["- [2026-10-08 10:00:00] ", "[2026-10-08 10:00:00]  ", "  "])
@pytest.mark.parametrize("end", ["", " <!-- source: user -->"])
def test_a_pasted_line_is_what_it_says(start: str, end: str) -> None:
    end = end if "[" in start else ""
    assert plain(f"{start}(gotcha) net #a{end} ") == "(gotcha) net #a"


def test_a_text_that_only_looks_like_a_pasted_line_is_left_alone() -> None:
    for text in ("- [ ] task", "[2026-10-08] net", "net <!-- x -->", "- [2026-10-08 10:00:00]"):
        assert plain(text) == text


@given(entries)
def test_a_composed_entry_is_read_back_from_its_line(entry: Entry) -> None:
    assert parse_line(entry.line()) == entry


@given(files(), entries)
def test_append_adds_one_line_and_keeps_every_byte(raw: bytes, entry: Entry) -> None:
    before = Index(raw)
    after = before.append(entry)
    assert after.raw.startswith(raw)
    assert after.entries == (*before.entries, entry)
    assert after.raw.endswith(b"\n")
    without = after.remove(after.found[-1][0]).raw  # but for the end that an open last line got
    ends_open = raw.removeprefix(BOM) != b"" and not raw.endswith(b"\n")
    assert without in ((raw + b"\n", raw + b"\r\n") if ends_open else (raw,))


@given(files())
def test_remove_takes_exactly_one_line(raw: bytes) -> None:
    before = Index(raw)
    lines = raw.removeprefix(BOM).splitlines(keepends=True) if b"\r" not in raw else None
    for at, (number, _) in enumerate(before.found):
        after = before.remove(number)
        assert after.entries == before.entries[:at] + before.entries[at + 1 :]
        assert after.raw.startswith(BOM) is raw.startswith(BOM)
        if lines and raw.endswith(b"\n"):
            kept = [line for place, line in enumerate(lines) if place != number]
            assert after.raw.removeprefix(BOM) == b"".join(kept)


@given(st.binary(max_size=200))
def test_any_bytes_are_an_index(raw: bytes) -> None:
    index = Index(raw)
    assert index.raw == raw
    assert all(index.remove(number).raw != raw for number, _ in index.found)


def test_windows_line_ends_and_byte_order_mark_survive() -> None:
    entry = compose("use uv", NOW)
    raw = BOM + b"# Memory\r\n- [2026-10-08 10:00:00] use pnpm\r\n"
    index = Index(raw)
    assert [each.text for each in index.entries] == ["use pnpm"]
    assert index.append(entry).raw == raw + b"- [2026-11-30 09:12:44] use uv\r\n"
    assert index.remove(1).raw == BOM + b"# Memory\r\n"
    blank = Index(b"# Memory\n\n- [2026-10-08 10:00:00] use pnpm")
    assert blank.remove(2).raw == b"# Memory\n\n"
    alone = Index(BOM + b"- [2026-10-08 10:00:00] use pnpm")
    assert alone.remove(0).raw == BOM


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use pnpm", "  Use   PNPM  "),
        ("use pnpm", "“Use pnpm.”"),
        ("Straße", "STRASSE!"),
        ("cafe\u0301", "café"),
    ],
)
def test_folding_meets_what_says_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)
    assert compose(one, NOW).id == compose(other, NOW).id


def test_folding_keeps_apart_what_differs() -> None:
    assert len({fold(text) for text in ("use C", "use C++", "use C#", "!!!", "...")}) == 5


@pytest.mark.parametrize("tag", ["", "12", "#", "!?"])
def test_a_tag_that_is_none_is_refused(tag: str) -> None:
    with pytest.raises(TextRefused, match="is no tag"):
        compose("text", NOW, tags=[tag])


@pytest.mark.parametrize("topic", ["../up", "a/b.md", "MEMORY", ".hidden"])
def test_a_topic_is_a_plain_name(topic: str) -> None:
    with pytest.raises(TextRefused, match="plain name"):
        compose("text", NOW, topic=topic)


def test_tags_are_made_one_word() -> None:
    assert compose("text #one", NOW, tags=["#two words", "one"]).tags == ("one", "two-words")


def test_the_comment_holds_a_handful_that_cannot_end_it() -> None:
    about = {
        "source": ["user"],
        "files": [f"f{number}.py" for number in range(9)],
        "columns": ["a,b", "x --> y", "ok"],
        "unknown": ["never"],
    }
    entry = compose("text", NOW, about=about)
    assert entry.about == "files: f0.py, f1.py, f2.py, f3.py, f4.py; columns: ok; source: user"


def test_stamp_format_is_the_files() -> None:
    assert compose("text", NOW).stamp == NOW.strftime(STAMP) == "2026-11-30 09:12:44"


@given(files(), entries)
def test_swap_changes_exactly_one_line(raw: bytes, entry: Entry) -> None:
    before = Index(raw)
    for at, (number, _) in enumerate(before.found):
        after = before.swap(number, entry)
        assert after.entries == (*before.entries[:at], entry, *before.entries[at + 1 :])
        old, new = before.line(number).encode(), entry.line().encode()
        assert len(after.raw) == len(raw) - len(old) + len(new)
        if raw.count(old) == 1:
            assert after.raw == raw.replace(old, new)


def test_the_rest_of_a_wrapped_line_is_told_and_an_item_below_is_none() -> None:
    line = b"- [2026-10-08 10:00:00] use pnpm\n"
    for rest in (b"  and not npm #js\n", b"\tand\n", b" #js\n"):
        (told,) = Index(line + rest + rest).broken()
        assert (told.number, told.line) == (2, rest) and "wrapped" in told.fault
        assert Index(line + rest).wraps(0)
    for rest in (b"  - since it is fast\n", b"\n", b"  \n", b"words\n", b"  # Heading\n", b" \xe9"):
        index = Index(line + rest)
        assert not index.wraps(0) and not any("wrapped" in each.fault for each in index.broken())
    assert Index(b"# Heading\n  words\n").broken() == []


def test_what_the_comment_tells_is_read_back() -> None:
    about = {"files": ["load.py", "a b.ipynb"], "frames": ["orders"], "source": ["user"]}
    assert compose("text", NOW, about=about).recorded == {
        "files": ("load.py", "a b.ipynb"),
        "frames": ("orders",),
        "source": ("user",),
    }
    assert Entry("", "text", about="words; files:; x: a,,b").recorded == {
        "files": (),
        "x": ("a", "b"),
    }


def test_lines_to_mend_are_told_with_their_number() -> None:
    raw = BOM + (
        b"# Heading\r\n- [2026-10-08 10:00:00] use pnpm\n- [2026-02-30 10:00:00] no day\n"
        b"* [2026-10-08 10:00:00] star\n<<<<<<< HEAD\n=======\n>>>>>>> theirs\ncaf\xe9\n"
        b"- [ ] to do\n- [1](https://example.org)\n- plain\n- [not-a-stamp] x\n  - [2026-10-08] day"
    )
    told = Index(raw).broken()
    assert [each.number for each in told] == [3, 4, 5, 7, 8, 13]
    words = ["stamp", "stamp", "merge", "merge", "UTF-8", "stamp"]
    assert all(word in each.fault for word, each in zip(words, told, strict=True))
