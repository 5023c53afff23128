from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import EditRefused
from shiro_jupyter.core.workspace.text import decode, encode, is_binary, is_visible, rewritten

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


def swapped(data: bytes, old: str, new: str) -> bytes:
    def change(text: str) -> str:
        if old not in text:
            raise EditRefused("not there")
        return text.replace(old, new)

    return rewritten(data, change)[2]


@pytest.mark.parametrize(
    ("text", "encoding", "old", "new"),
    [
        ("été à midi", "utf-8", "midi", "minuit, 夜"),
        ("été à midi", "utf-8-sig", "midi", "夜"),
        ("été à midi", "utf-16", "midi", "夜"),
        ("été à midi", "utf-32", "midi", "夜"),
        # No encoding of several bytes has such bytes, so that accents may change too.
        ("été à midi", "latin-1", "midi", "Noël"),
        ("– 5 € –", "cp1252", "5", "6 €"),
        # Which of them it is does not matter to these changes.
        ("表示 = 'ソート'\n", "cp932", "= '", "== '"),
        ("表示 = 1\n", "gb18030", "1", "2\nx = 3"),
        ("Größe", "latin-1", "Gr", "gr"),
    ],
)
def test_a_change_keeps_mark_and_encoding(text: str, encoding: str, old: str, new: str) -> None:
    data = text.encode(encoding)
    assert swapped(data, old, new) == text.replace(old, new).encode(encoding)


@pytest.mark.parametrize(
    ("data", "old", "new", "said"),
    [
        # Half of 表 is a backslash, and half of ソ too.
        ("表ソ = 1".encode("cp932"), "\\", "/", "encoding is uncertain"),
        ("表ソ = 1".encode("cp932"), "1", "é", "encoding is uncertain"),
        ("é = 1".encode() + b" \xe9 ", "1", "é", "encoding is uncertain"),
        ("été = 1".encode("latin-1"), "1", "日", "stored as cp1252, which has no '日'"),
        ("ab".encode("utf-16") + b"\0", "a", "b", "damaged text"),
        (b"\0a", "a", "b", "no text"),
        (b"a", "a", "\ufffd", "U\\+FFFD"),
        (b"a", "a", "\ud83d", "half of a character"),
        (b"a", "a", "\0", "leave out controls"),
        (b"a b", "a", "\ufeff", "read as another text"),
        (b"\xe9 a", "a", "\x01" * 9, "leave out controls"),
    ],
)
def test_what_an_encoding_cannot_keep_is_refused(
    data: bytes, old: str, new: str, said: str
) -> None:
    with pytest.raises(EditRefused, match=said):
        swapped(data, old, new)


def test_a_lost_character_that_was_there_may_stay() -> None:
    assert swapped("\ufffd a".encode(), "a", "b") == "\ufffd b".encode()


@given(st.binary(), st.sampled_from(["a", "é", "日"]))
def test_the_bytes_before_what_is_added_stay_or_all_of_them_do(data: bytes, new: str) -> None:
    try:
        old, text, changed = rewritten(data, lambda text: text + new)
    except EditRefused:
        return
    assert text == old + new and changed.startswith(data) and "\ufffd" not in new


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("# -*- coding: latin-1 -*-\n", "iso8859-1"),
        ("#!/usr/bin/python\r\n# vim: set fileencoding=latin1 :\r\n", "iso8859-1"),
        ("\n# coding: cp1251-unix\n", "cp1251"),
        ("# coding: shift_jis\n# coding: cp1251\n", "shift_jis"),
        ("// -*- coding: euc-jp -*-\n", "euc_jp"),
        ('<?xml version="1.0" encoding="ISO-8859-15"?>\n', "iso8859-15"),
        ("<!doctype html>\n<html><head>\n<META charset='gb2312'>\n", "gb2312"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">\n', "koi8-r"),
        ("# coding: iso-2022-jp\n", "iso2022_jp"),
    ],
)
def test_the_encoding_that_a_text_states_decides(head: str, encoding: str) -> None:
    words = "\u65e5\u672c" if "j" in encoding or "gb" in encoding else "\xe9\u20ac\u043f"
    words = words.encode(encoding, "ignore").decode(encoding)
    data = f"{head}x = '{words}'\n".encode(encoding)
    text = decode(data)
    assert text and text.encoding == encoding and words in text.text and not text.note
    old, new, changed = rewritten(data, lambda text: text.replace("x = ", f"{words[0]} = "))
    assert old.replace("x = ", f"{words[0]} = ") == new and changed == new.encode(encoding)
    with pytest.raises(EditRefused, match=f"stored as {encoding}, which has no"):
        rewritten(data, lambda old: f"{old}\U0001f600")


@pytest.mark.parametrize(
    "data",
    [
        "x = 1\n# coding: latin-1\n\xe9".encode(),
        "\n\n# coding: latin-1\n\xe9".encode(),
        "# coding: no-such\n\xe9".encode(),
        "# coding: utf-16\n\xe9".encode(),
        "# coding: hex\n\xe9".encode(),
        "say coding: latin-1\n\xe9".encode(),
        b"\xef\xbb\xbf# coding: latin-1\n\xc3\xa9",
        "# coding: utf-8-sig\n\xe9".encode(),
    ],
)
def test_what_states_no_encoding_that_can_be_is_utf_8(data: bytes) -> None:
    text = decode(data)
    assert text and text.encoding == "utf-8" and text.text.endswith("\xe9")


def test_what_is_not_as_it_states_is_told_and_its_change_must_be_certain() -> None:
    text = decode(b"# coding: utf-8\n\xe9\n")
    assert text and text.note == "Not utf-8, as it states; read as cp1252."
    odd = b"# coding: cp932\n\xfa\x4a\n"  # two ways to store one character
    text = decode(odd)
    assert text and text.lossy and "unusual" in text.note
    with pytest.raises(EditRefused, match="damaged"):
        rewritten(odd, str.upper)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# coding: latin-1\n\xe9".encode("latin-1"), "# coding: utf-8\n\xe9"),
        ("# coding: x\n\xe9".encode(), "# coding: latin-1\n\xe9"),
    ],
)
def test_a_statement_that_would_be_false_is_refused(before: bytes, after: str) -> None:
    with pytest.raises(EditRefused, match="state the encoding it has"):
        rewritten(before, lambda text: after)


def test_a_new_text_is_stored_as_it_states() -> None:
    new = "# coding: latin-1\n\xe9\n"
    assert rewritten(b"", lambda text: new)[2] == new.encode("latin-1")
    guessed = b"x = '\xe9'\n"  # to state what was guessed is how it becomes certain
    assert rewritten(guessed, lambda text: f"# coding: latin-1\n{text}")[2] == (
        b"# coding: latin-1\n" + guessed
    )


@pytest.mark.parametrize("codec", ["iso2022_jp", "iso2022_jp_2"])
def test_escaped_characters_are_not_taken_for_ascii(codec: str) -> None:
    with pytest.raises(EditRefused, match="ISO 2022"):
        rewritten("\u65e5\u672c one\n".encode(codec), lambda text: text.replace("one", "two"))
    reset = b"\x1b(B\x1b[m done\n"  # what terminals are told
    assert rewritten(reset, lambda text: text.replace("done", "ok"))[2] == b"\x1b(B\x1b[m ok\n"
