from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.policy.globs import path_glob, text_glob


@given(st.text("ab *", max_size=8), st.text("ab ", max_size=8))
def test_a_star_is_any_text(pattern: str, text: str) -> None:
    pattern = " ".join(pattern.split())
    forms = [pattern, pattern.removesuffix(" *")] if pattern.endswith(" *") else [pattern]
    plain = "|".join(".*".join(map(re.escape, form.split("*"))) for form in forms)
    assert text_glob(pattern)(text) == bool(re.fullmatch(plain, text))


@given(st.text("ab/*?", max_size=8), st.text("ab/", max_size=8))
def test_a_path_pattern_is_the_expression_that_it_stands_for(pattern: str, text: str) -> None:
    """As plain expressions say it, which go back and so may take ages."""
    anchored = "/" in pattern.rstrip("/")
    shown = ("/" if pattern.startswith("/") else "") + pattern.strip("/")
    means = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.findall(r"\*\*/|/\*\*$|\*\*|\*|\?|[^*?]", shown)
    plain = "".join(means.get(piece, re.escape(piece)) for piece in pieces)
    prefix = "" if anchored or shown.startswith("**") else "(?:.*/)?"
    expected = bool(re.fullmatch(f"{prefix}{plain}(?:/.*)?", text))
    assert path_glob(pattern, wide=False)(text) == expected
    assert path_glob(pattern.upper(), wide=True)(text) == expected


def test_many_stars_do_not_make_a_match_hang() -> None:
    began = time.process_time()
    assert not text_glob("*a" * 50 + "b")("a" * 30_000)
    assert not path_glob("*a" * 50 + "b", wide=True)("a" * 2000)
    assert not path_glob("**/a" * 50 + "/b", wide=False)("a/" * 1000)
    assert time.process_time() - began < 3
