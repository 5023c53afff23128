from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.workspace.text import decode, encode, is_binary

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
