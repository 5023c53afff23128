from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.core.errors import TextRefused
from shiro_jupyter.core.memory.caps import Caps, refuse_secret
from shiro_jupyter.core.memory.index import Index

FOLDER = Path("/p/.shiro/memory")
LINE = b"- [2026-11-30 09:00:00] use pnpm\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (" \t\n", "The text is blank; say what to remember."),
        *(
            (
                f"one{end}two",
                "A memory is one line; put the detail into a topic file (Markdown in "
                "/p/.shiro/memory) and remember one line that points at it.",
            )
            for end in ("\n", "\r")
        ),
        (
            "x" * 401,
            "A memory is at most 400 characters, this is 401; put the detail into a topic file "
            "(Markdown in /p/.shiro/memory).",
        ),
        *(
            (
                f"one{character}two",
                "The text holds control characters; type it again without them.",
            )
            for character in "\0\x1b\x85\u2028\u2029\ud83d"
        ),
        *(
            (text, "The text is tags alone; say before them what to remember.")
            for text in ("#only #tags", "#only", "#a,#b #c.")
        ),
        *((text, "The text holds no word; say what to remember.") for text in (".", "... ?", "“”")),
    ],
)
def test_what_is_no_line_of_an_index_is_refused(text: str, says: str) -> None:
    with pytest.raises(TextRefused) as refused:
        Caps().check(text, FOLDER)
    assert str(refused.value) == says


@pytest.mark.parametrize(
    "text",
    [
        "🎉",
        "C#",
        "#1 is speed",
        "x" * 400,
        f"  {'x' * 400}\n",
        "tab\there",
        "größe 数据 👩\u200d👧",
    ],
)
def test_what_is_one_line_passes(text: str) -> None:
    Caps().check(text, FOLDER)


def test_a_password_as_people_note_it_is_refused() -> None:
    refuse_secret("password: see 1Password")
    with pytest.raises(TextRefused, match="secret \\(password\\)"):
        refuse_secret("db password: hunter2")


def test_a_secret_is_refused_unseen() -> None:
    with pytest.raises(TextRefused) as refused:
        refuse_secret("key: sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2")
    assert str(refused.value) == (
        "The text looks like it holds a secret (API key), so it was not recorded; say where "
        "that is kept instead."
    )


@pytest.mark.parametrize(
    ("caps", "full"),
    [
        (Caps(entries=2), "2 memories"),
        (Caps(bytes=2 * len(LINE)), "0 kB"),
        (Caps(entries=2, bytes=2 * len(LINE)), "2 memories and 0 kB"),
    ],
)
def test_an_index_grows_up_to_its_caps_and_a_fuller_one_only_shrinks(caps: Caps, full: str) -> None:
    one, two, three, four = (Index(LINE * count) for count in (1, 2, 3, 4))
    assert caps.within(one, two, "project") is two
    assert caps.within(four, three, "project") is three
    assert caps.within(three, three, "project") is three
    with pytest.raises(TextRefused) as refused:
        caps.within(three, four, "project")
    assert str(refused.value) == (
        f"The project memory is full (it may hold {full}); remove what is stale with %forget, "
        "merge what says nearly the same, or move detail to topic files."
    )
    with pytest.raises(TextRefused):
        caps.within(two, three, "project")
