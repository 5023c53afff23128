from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from shiro_jupyter.core.workspace.ignore import rules_of
from shiro_jupyter.core.workspace.wildmatch import ALTERNATIVES, NameGlob, wildmatch


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("*.py", ["a.py", "b/c.py", ".py"], ["a.pyc", "py"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py", "x/src/a.py"]),
        ("./src/*.py", ["src/a.py"], ["a.py"]),
        ("/a.py", ["a.py"], ["b/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/b/c/a.py"], ["a.py", "src/a.pyc"]),
        ("**/test_*.py", ["test_a.py", "b/test_a.py"], ["b/a_test_a.py"]),
        ("src/", ["src/a", "src/b/c"], ["src", "a/src/b"]),
        ("**", ["a", "b/c"], []),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.t", "a.ts,tsx"]),
        ("{a,b/{c,d}}.py", ["a.py", "b/c.py", "b/d.py"], ["c.py", "b/x.py"]),
        ("{a}.py", ["{a}.py"], ["a.py"]),
        ("[!a-c]?.py", ["dx.py"], ["ax.py", "d.py"]),
        ("\\[a\\].py", ["[a].py"], ["a.py"]),
    ],
)
def test_globs_fit_as_people_mean_them(pattern: str, fitting: list[str], other: list[str]) -> None:
    glob = NameGlob(pattern)
    assert [name for name in fitting + other if glob.fits(name.encode())] == fitting


def test_only_forms_that_all_programs_read_alike_are_handed_on() -> None:
    assert NameGlob("src/**/*.{ts,tsx}").plain == ("src/**/*.tsx", "src/**/*.ts")
    for pattern in ("a**b/c", "[ab]", "a?", "a b", "a\\*", "é", "{a,[b]}"):
        assert NameGlob(pattern).plain == ()


def test_what_is_no_glob_is_said_with_the_way_on() -> None:
    with pytest.raises(ValueError, match=r"No name can fit 'a\['; put a \\ before a \["):
        NameGlob("a[")
    with pytest.raises(ValueError, match=f"over {ALTERNATIVES} alternatives; give fewer"):
        NameGlob("{a,b}" * 20)


@pytest.mark.parametrize("path", [False, True])
@pytest.mark.parametrize(
    "pattern", [b"*a" * 40 + b"b", b"**/a*a*/" * 30 + b"b", b"a**/" * 30 + b"[b-]", b"*?" * 60]
)
def test_no_pattern_takes_a_time_that_grows_with_its_stars(pattern: bytes, path: bool) -> None:
    fits = wildmatch(pattern, path=path)
    assert fits
    began = time.process_time()
    for name in (b"a" * 4_000, b"a/" * 2_000 + b"a"):
        assert fits.match(name + b"c") is None or pattern.endswith(b"?")
    assert time.process_time() - began < 1


PATTERNS = (
    *(
        "a ",
        "a  ",
        "a\\ ",
        "a\\  ",
        "a\\ \\ ",
        "a\\\\ ",
        "a \\ ",
        " a",
        "a\t",
        "a\r",
        "\\a ",
        "a/ ",
    ),
    *("#a", "\\#a", "!a", "\\!a", "!", "/", "//", "a//b", " ", "\\ ", "a\0b", "a\n!a", "*\n!a"),
    *("a", "a/b", "/a", "/a/b", "a/", "*", "*/b", "a/*", "/*/b", "*.c", "a*", "*b", "a*c", "/a*c"),
    *("?", "a?c", "/a?c", "??", "/a/?", "é", "?é", "[é]", "a/??", "/a[/]c", "/a[!b]c", "/a[^x]c"),
    *(
        "**",
        "**/b",
        "/**/b",
        "a/**",
        "a/**/b",
        "a/**/c",
        "**/a/**",
        "a**",
        "a**/c",
        "/a**c",
        "/x**/c",
    ),
    *("**b", "*/**", "**/*/c", "***/b", "a/***", "a/**b", "**/**/c", "a/**\\/c", "/**", "x/**/**"),
    *("/ab**/c", "/[a]**/c", "a*b*c", "/a*/*c", "/*a/b*", "/*[b]*/c", "\\a", "\\*", "[*]", "[\\*]"),
    *("[a-c]", "[c-a]", "[a-]", "[-a]", "[]a]", "[!]a]", "[^a]", "[!a-c]", "[a", "a]", "[]", "[]]"),
    *("[[:alpha:]]", "[[:digit:]a]", "[![:alpha:]]", "[[:nope:]]", "[[:alpha:]", "[[:]", "[[a:]]"),
    *("[[:punct:]]", "[[:space:]]", "[[:cntrl:]]", "[[:graph:]]", "[[:print:]]", "[[:xdigit:]]"),
    *(
        "[[:upper:]]",
        "[[:lower:]]",
        "[[:alnum:]]",
        "[[:blank:]]",
        "[a-[:digit:]]",
        "[--a]",
        "[+--]",
    ),
    *(
        "[\\]]",
        "[\\",
        "\\",
        "a\\",
        "[a\\-c]",
        "[\\a-\\c]",
        "[b-\\",
        "[a-a-c]",
        "[!-]",
        "[^^]",
        "[!!]",
    ),
    *("{a,b}", "a+", "(a)", "a.c", "^a", "a$", "a|b", "[&&]", "[a||b]", "[~~a]", "[[]"),
)
NAMES = (
    *("a ", "a  ", " a", "a\t", "a\r", "#a", "!a", "a \\", "a\\ "),
    *(
        "a",
        "b",
        "c",
        "d",
        "-",
        "]",
        "[",
        "*",
        "\\",
        "!",
        "^",
        "+",
        "~",
        "&",
        "|",
        " ",
        "\t",
        "\n",
    ),
    *(
        "é",
        "A",
        "Z",
        "0",
        "f",
        "\x01",
        "ab",
        "abc",
        "a.c",
        "xc",
        "abxc",
        "aé",
        "bé",
        "a+",
        "a]",
        "[]",
    ),
    *("a/b", "a/c", "a/b/c", "a/b/b", "b/a", "b/a/c", "x/c", "x/b/c", "xy/b/c", "ab/c", "abx/c"),
    *("ab/x/c", "xa/bx", "a/bc", "a/bé", "a/\\/c", "{a,b}", "b/b/b/b", "c/a/x/b", "a\\", "a/xb"),
)


def test_every_pattern_fits_what_git_says_it_fits(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    asked = []
    for number, pattern in enumerate(PATTERNS):
        folder = tmp_path / f"p{number}"
        folder.mkdir()
        (folder / ".gitignore").write_bytes(f"{pattern}\n".encode())
        asked += [f"p{number}/{name}" for name in NAMES]
    told = subprocess.run(
        ["git", "-C", tmp_path, "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(asked).encode(),
        capture_output=True,
        check=True,
    ).stdout.decode()
    theirs = set(told.split("\0")) - {""}
    assert 800 < len(theirs) < len(asked) - 800
    rules = rules_of(tmp_path)
    ours = {name for name in asked if rules.hides(name.encode())}
    differing = sorted(ours ^ theirs)
    assert not [(PATTERNS[int(n[1 : n.index("/")])], n, n in theirs) for n in differing]
