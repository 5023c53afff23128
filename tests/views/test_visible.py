from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.views.visible import one_line, output_text, summary_line, visible


def test_what_is_hidden_or_obeyed_is_shown() -> None:
    assert visible("a\x1b[31mb\x07\x7f\x85") == "a␛[31mb␇␡⟨U+0085⟩"
    assert visible("if admin\u202e\u2066// end\u2069") == "if admin⟨U+202E⟩⟨U+2066⟩// end⟨U+2069⟩"
    assert visible("r\u200bm \U000e0041\ufeff\ud800") == "r⟨U+200B⟩m ⟨U+E0041⟩⟨U+FEFF⟩⟨U+D800⟩"
    assert visible("r\u200dm\u200f\u200e -rf") == "r⟨U+200D⟩m⟨U+200F⟩⟨U+200E⟩ -rf"
    assert visible("a\u3164b \uffa0\ufe00数\U000e0100") == "a⟨U+3164⟩b ⟨U+FFA0⟩⟨U+FE00⟩数⟨U+E0100⟩"
    assert visible("cat a\u2800\u2800b r\u034fm") == "cat a⟨U+2800⟩⟨U+2800⟩b r⟨U+034F⟩m"


def test_text_of_people_stays_as_it_is() -> None:
    for text in (
        "tab\tand\nline",
        "naïve café — “quotes” … 数据 данные",
        "family 👨\u200d👩\u200d👧, heart ❤\ufe0f, keycap 1\ufe0f\u20e3",
        "می\u200cخواهم",
        "עברית\u200f!",
        "ᠮᠣᠩᠭ\u180bᠣᠯ",
        " 10 |\u2800\u2800\u2800⡠⠔⠉\u2800\n  5 |\u2800⡠⠊\n  0 |\u2800\u2800\u2800\n\u2800\n",
    ):
        assert visible(text) == text
    assert visible("dos\r\nline") == "dos\nline"


def test_output_is_read_as_a_terminal_would_leave_it() -> None:
    assert output_text("\x1b[1;31mred\x1b[0m \x1b]8;;https://x\x07link\x1b]8;;\x07") == "red link"
    assert output_text(" 10%\r 50%\r100%\ndone\r\n") == "100%\ndone\n"
    assert output_text("cut \x1b[3") == "cut ␛[3"


def test_the_lines_of_a_script_are_told_apart_on_one_line() -> None:
    assert summary_line("\nset -e\r\n\n  cd  src\nmake\x1b\n") == "set -e ⏎ cd src ⏎ make␛"
    assert summary_line("a/b.py") == "a/b.py" and len(summary_line("a\n" * 900)) == 400


@given(st.text())
def test_nothing_hidden_is_left(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not set(shown) & set("\x00\x07\x08\r\x1b\x7f\x9b\u200b\u202a\u202e\u2066\u2069\ufeff")
    assert visible(shown) == shown
    assert "\n" not in one_line(text) and len(one_line(text, 20)) <= 20
