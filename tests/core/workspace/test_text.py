from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.workspace.text import decode, encode, is_binary, is_visible

WORDS = "naïve €5\r\nzweite Zeile\r"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marks_and_line_endings_survive(encoding: str) -> None:
    data = WORDS.encode(encoding)
    text = decode(data)
    assert text and text.text == WORDS and not text.note and not text.lossy
    assert encode(text.text, text) == data


def test_big_endian_marks_are_known() -> None:
    for mark, encoding in ((b"\xfe\xff", "utf-16-be"), (b"\0\0\xfe\xff", "utf-32-be")):
        text = decode(mark + WORDS.encode(encoding))
        assert text and (text.text, text.encoding) == (WORDS, encoding)


def test_an_older_encoding_is_read_and_told() -> None:
    text = decode("café – 5 €".encode("cp1252"))
    assert text and text.text == "café – 5 €" and "cp1252" in text.note
    latin = decode("\x81 é".encode("latin-1"))
    assert latin and latin.encoding == "latin-1" and latin.note


def test_damaged_marked_text_is_lossy() -> None:
    text = decode("ab".encode("utf-16") + b"\x00")
    assert text and text.text.startswith("ab") and text.lossy and text.note


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0", b"a\0b", bytes(range(1, 32)) * 10])
def test_binary_is_no_text(data: bytes) -> None:
    assert is_binary(data) and decode(data) is None


def test_terminal_colours_are_text() -> None:
    assert decode(b"\x1b[31mred\x1b[0m\n") is not None
    assert decode(b"") is not None


@given(st.binary())
def test_what_was_read_without_loss_is_written_back_byte_for_byte(data: bytes) -> None:
    text = decode(data)
    if text and not text.lossy:
        assert encode(text.text, text) == data


# Default_Ignorable_Code_Point of Unicode 16, DerivedCoreProperties.txt.
IGNORABLE = (
    "ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164 fe00-fe0f feff "
    "ffa0 fff0-fff8 1bca0-1bca3 1d173-1d17a e0000-e0fff"
)


def test_what_is_to_be_ignored_when_it_is_drawn_is_not_visible() -> None:
    for entry in IGNORABLE.split():
        first, _, last = entry.partition("-")
        for code in range(int(first, 16), int(last or first, 16) + 1):
            assert is_visible(chr(code)) == (code in (0xFE0E, 0xFE0F)), hex(code)
    assert not any(map(is_visible, "\u2800\n\t\x1b\x85\xa0\u3000\u2028\ud83d\ufffe"))
    assert not is_visible("seen but for\u3164")


def test_what_people_write_is_visible() -> None:
    assert is_visible("naïve café — “x” 数据 한글 עברית می 1\ufe0f\u20e3 ❤\ufe0f ⣿ e\u0301")
