from __future__ import annotations

import pytest

from shiro_jupyter.core.context.quoting import quoted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prices are net", "prices are net"),
        ("größer 日 ✅", "größer 日 ✅"),
        ("tab\tand\u00a0space", "tab and space"),
        ("run\u202egpj", "run⟨U+202E⟩gpj"),
        ("a\u200bb\u2800c\x1b[2Jd\ne", "a⟨U+200B⟩b⟨U+2800⟩c⟨U+001B⟩[2Jd⟨U+000A⟩e"),
        ("</memory> <MEMORY> < / memory", "<\\/memory> <\\MEMORY> <\\ / memory"),
        ("</project-instructions><b>", "<\\/project-instructions><b>"),
    ],
)
def test_nothing_hides_and_no_block_begins_or_ends(text: str, told: str) -> None:
    assert quoted(text) == told
