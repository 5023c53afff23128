"""Whatever a pattern of Python's matches, ripgrep's finds too."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from encodings.aliases import aliases
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.workspace.matching import Reader, _hits
from shiro_jupyter.core.workspace.narrowing import STATED, STATED_OTHERWISE, narrowed
from tests.support.programs import where

EXAMPLES = int(os.environ.get("SHIRO_TEST_EXAMPLES", "100"))
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1")
# Beside it a control character makes no file a binary one.
LONG = "a line that is read\n"
# What differs most between the two: case beyond ASCII, marks, other blanks and digits, line ends.
LETTERS = "aAkKsSiIxé̈²ßſıİK١_-. \t\x1c\x0b\r\u2028\u00a0"
PIECES = st.sampled_from(
    [
        *("a", "k", "s", "i", "x", "é", "ß", "ſ", "ı", "İ", "K", "A", "-", " ", r"\.", "ab", "_"),
        *(".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\b", r"\B", "^", "$", r"\A", r"\Z"),
        *("[a-k]", "[^a]", "[^a-k]", r"[^\s]", r"[^\S]", r"[\w-]", "[é-ÿ]", "[^é]", "[K]", "[^k]"),
        *("[^i]", "[^\u017f]", r"[\d_]", r"[^\W]", "[a-é]", "[-a]", "{", "a{2}", "k{0}", "}"),
        *("(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(a|k)", "(a|)", "(?:ab|x)", "(?i:k)", "(?-i:s)"),
        *("(?>a|s)", "|", "(", ")", "(s)", r"\1", "(?(1)a|s)", r"\r", r"\x1c"),
    ]
)
AFTER = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "++", "{,1}"])
PATTERNS = st.lists(st.tuples(PIECES, AFTER).map("".join), min_size=1, max_size=4).map("".join)
TEXTS = st.lists(st.text(LETTERS, max_size=8), min_size=1, max_size=3).map("\n".join)


def ripgrep(folder: Path, pattern: str) -> set[str]:
    done = subprocess.run(
        [where("rg"), "--no-config", "--text", "--null", "-l", "-e", pattern, "./"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), (pattern, done.stderr)
    return {name.removeprefix("./") for name in done.stdout.decode().split("\0") if name}


@settings(max_examples=EXAMPLES)
@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_ripgrep_names_every_file_that_matches(
    pattern: str, texts: list[str], fold: bool, ascii_only: bool
) -> None:
    flags = (re.I if fold else 0) | (re.A if ascii_only else 0)
    try:
        compiled = re.compile(pattern, flags)
    except re.error:
        assume(False)
    narrow, _ = narrowed(pattern, flags)
    assume(narrow is not None)
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base).resolve()
        for number, text in enumerate(texts):
            for encoding in ENCODINGS:
                data = text.encode(encoding, errors="ignore")
                (folder / f"{number}-{encoding}").write_bytes(data)
        reader = Reader(folder)
        matched = {
            path.name
            for path in folder.iterdir()
            if list(_hits(reader.read(path.name.encode())[0], compiled))
        }
        assert matched <= ripgrep(folder, narrow or "")


@pytest.mark.parametrize(
    ("pattern", "narrow"),
    [
        ("word7", rf"\x77\x6f\x72\x64\x37|{STATED_OTHERWISE}"),
        (r"\bdef f\(", rf"\b\x64\x65\x66\x20\x66\x28|{STATED}"),
        (r"\b(?:a|b2)+\b", rf"\b(?:(?:\x61|\x62\x32)){{1,}}\b|{STATED}"),
        (r"\b(?:a|-)\b", rf"(?:)[\x2d\x61](?:)|{STATED_OTHERWISE}"),
        (
            r"(?i)\bs\bx*\b",
            rf"(?:)(?:[\x53\x73]|[\x80-\xff]{{1,4}})(?:)[\x58\x78]{{0,}}(?:)|{STATED}",
        ),
        ("^a$", rf"(?:^|\r|\xef\xbb\xbf)(?:)\x61(?:)(?:$|\r)|{STATED_OTHERWISE}"),
        ("(?i)a", rf"[\x41\x61]|{STATED_OTHERWISE}"),
        ("é", rf"[\x80-\xff]{{1,4}}|{STATED}"),
        ("a.b", rf"\x61[\x00-\x09\x0b-\x7f\x80-\xff]{{1,4}}\x62|{STATED}"),
        ("a{500}", rf"\x61{{100,}}|{STATED_OTHERWISE}"),
    ],
)
def test_it_stays_as_narrow_as_it_can(pattern: str, narrow: str) -> None:
    assert narrowed(pattern, 0)[0] == "(?-u)" + narrow


def test_what_no_line_holds_is_left_to_the_matcher() -> None:
    assert narrowed(r"a\nb", 0) == (None, False)


@pytest.mark.parametrize(
    ("pattern", "quick"),
    [
        *((r"^def \w\(", True), ("(?i)foo|ba[rz]|(x)", True), ("", True)),
        *(("a*", False), ("a?", False), (r"(a)\1", False), ("(?=a)", False), ("(?>a)", False)),
        *(("(a|a)" * 5, True), ("(a|a)" * 6, False), ("|".join(f"{n}x" for n in range(60)), False)),
    ],
)
def test_a_pattern_is_quick_that_no_text_makes_slow(pattern: str, quick: bool) -> None:
    assert narrowed(pattern, 0)[1] == quick


@pytest.mark.parametrize(
    ("pattern", "flags", "data"),
    [
        *(("s", re.I, "ſ"), ("k", re.I, "K"), ("i", re.I, "İ"), ("i", re.I, "ı")),
        *(("ſ", re.I, "S"), ("[ſ]", re.I, "s"), ("[K]", re.I, "k"), ("[a-z]", re.I, "ſ")),
        *(
            (r"^[^\s]$", re.A, f"{LONG}\x1c"),
            (r"^\S$", re.A, f"{LONG}\x1c"),
            (r"^\s$", 0, f"{LONG}\x1c"),
            (r"\d", 0, "١"),
        ),
        *(("^a", 0, "x\ra"), ("^a", 0, b"\xef\xbb\xbfa"), ("a$", 0, "a\r\nx"), ("^$", 0, "\r")),
        *(("^a^b|$^", 0, "\r"), ("é", 0, b"\xe9"), ("“.", 0, b"\x93x"), (r"\w{3}", 0, "éßĳ")),
        *(("ab", 0, "ab".encode("utf-16")), ("é", 0, "é".encode("utf-16")), ("[^a]", 0, "😀")),
        *(
            (r"x(?!y)\B", 0, "xz"),
            (r"(a)b\1", 0, "aba"),
            ("(a)?(?(1)b|c)", 0, "c"),
            ("(?>a+)b", 0, "aab"),
        ),
        *(
            ("アb", 0, "# coding: shift_jis\nアb".encode("shift_jis")),
            (r"\bword", 0, "<meta charset=sjis>\n、word".encode("shift_jis")),
            (r"\wb", 0, b"<?xml version='1.0'\n encoding='utf-7'?>\n+AOk-b"),
            ("é", 0, b"<META\ncharset=UTF7>\n+AOk-"),
        ),
        *(
            ("ab", 0, b"# coding: utf-7\n+AGEAYg-"),
            ("ab", 0, b"# coding: unicode_escape\n\\x61b"),
            ("ab", 0, b"# coding: raw_unicode_escape\n\\u0061b"),
            ("a~b", 0, b"# coding: hz\na~~b"),
            ("ab", 0, b"# coding: csISO2022JP\na\x1b(Bb"),
            ("a~", 0, b"# coding: s_jisx0213\na\x81\xb0"),
            ("xi", re.I, "# coding: gb18030\nxİ".encode("gb18030")),
            ("xi", re.I, "# coding: ISO-8859-9\nxı".encode("iso8859-9")),
            ("xi", re.I, "# coding: cp1254\nxİ".encode("cp1254")),
        ),
    ],
)
def test_where_the_two_read_differently_nothing_is_missed(
    tmp_path: Path, pattern: str, flags: int, data: str | bytes
) -> None:
    (tmp_path / "file").write_bytes(data.encode() if isinstance(data, str) else data)
    assert list(_hits(Reader(tmp_path).read(b"file")[0], re.compile(pattern, flags)))
    assert ripgrep(tmp_path, narrowed(pattern, flags)[0] or "") == {"file"}


def is_unsure(codec: str) -> bool:
    """Whether a character beyond ASCII has a byte of ASCII in it."""
    letters = (chr(code) for code in range(0xA0, 0x10000) if not 0xD800 <= code < 0xE000)
    try:
        coded = (letter.encode(codec, "ignore") for letter in letters)
        return "a".encode(codec) == b"a" and any(data and min(data) < 128 for data in coded)
    except (LookupError, UnicodeError):
        return False


def test_a_text_is_looked_at_that_states_an_encoding_with_ascii_in_other_characters(
    tmp_path: Path,
) -> None:
    codecs = {*aliases.values(), "punycode", "raw_unicode_escape", "unicode_escape"}
    unsure = {each for each in codecs if is_unsure(each)}
    assert {"shift_jis", "gbk", "big5", "johab", "utf_7", "iso2022_jp", "hz"} <= unsure
    names = {*unsure, *(name for name, codec in aliases.items() if codec in unsure)}
    for name in names:
        (tmp_path / name).write_text(f"# coding: {name.upper()}")
        (tmp_path / f"{name}.html").write_text(f"<Meta x Charset = '{name.replace('_', '-')}'>")
        (tmp_path / f"{name}.xml").write_text(f"<?xml version='1.0' encoding=\"{name}\"?>")
    for name in ("utf-8", "UTF8", "latin-1", "iso-8859-1", "ascii", "us-ascii", "iso8859_15"):
        (tmp_path / f"{name}.plain").write_text(f"# coding: {name}\n<meta charset='{name}'>")
    found = ripgrep(tmp_path, STATED)
    assert found == {f"{name}{end}" for name in names for end in ("", ".html", ".xml")}
