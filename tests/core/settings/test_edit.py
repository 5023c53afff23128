from __future__ import annotations

import difflib
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shiro_jupyter.core.errors import SettingsError
from shiro_jupyter.core.settings.edit import change_settings, with_values

URL = "https://api.example.org/v1"
VALUES = {"base_url": URL, "model": "some-model"}


def lines_that_went(before: str, after: str) -> list[list[str]]:
    """Each run of lines that are no longer there; the last line may get an end."""
    lines, now = ([line.rstrip("\r") for line in text.split("\n")] for text in (before, after))
    matcher = difflib.SequenceMatcher(None, lines, now, autojunk=False)
    return [lines[i:j] for tag, i, j, _, _ in matcher.get_opcodes() if tag in ("replace", "delete")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", f'base_url = "{URL}"\nmodel = "some-model"\n'),
        ("# mine", f'# mine\nbase_url = "{URL}"\nmodel = "some-model"\n'),
        (
            'model = "old" # why not\nbase_url="x"\n',
            f'model = "some-model" # why not\nbase_url="{URL}"\n',
        ),
        (
            "  model = 'old'\r\n[headers]\r\nmodel = 'X-Model'\r\n",
            f'  model = "some-model"\r\nbase_url = "{URL}"\r\n[headers]\r\nmodel = \'X-Model\'\r\n',
        ),
        (
            '"model" = """\nold\n"""\nmode = "plan"',
            f'"model" = "some-model"\nmode = "plan"\nbase_url = "{URL}"\n',
        ),
        (
            'deny = [\n  "a",\n["b"][0],\n]\n',
            None,  # not TOML at all
        ),
        (
            'note = """\nmodel = "in a text"\n[table]\n"""\n[headers]\nx = "1"\n',
            'note = """\nmodel = "in a text"\n[table]\n"""\n'
            f'base_url = "{URL}"\nmodel = "some-model"\n[headers]\nx = "1"\n',
        ),
        (
            '[headers]\nbase_url = "X"\n',
            f'base_url = "{URL}"\nmodel = "some-model"\n[headers]\nbase_url = "X"\n',
        ),
        (
            "allow = [\n  [1],\n  [2],\n]\n",
            f'allow = [\n  [1],\n  [2],\n]\nbase_url = "{URL}"\nmodel = "some-model"\n',
        ),
    ],
)
def test_only_the_lines_of_the_two_settings_change(text: str, wanted: str | None) -> None:
    if wanted is None:
        with pytest.raises(ValueError):
            with_values(text, VALUES)
    else:
        assert with_values(text, VALUES) == wanted


_KEYS = st.sampled_from(["model", "base_url", "mode", "deny", "window", "view", "note"])
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=12)
_BASIC = _TEXTS.map(lambda text: _quoted(text))
_SIMPLE = st.one_of(
    _BASIC,
    st.integers(-9, 99).map(str),
    st.sampled_from(["true", "'a # b'", "[]", '["x", "]"]', '[\n  "a", # [x]\n  "model = 1",\n]']),
    st.sampled_from(['"""\nmodel = 1\n[x]\n"""', "'''base_url = 2'''", "{ model = 1 }"]),
)
_COMMENTS = st.sampled_from(["", " # why", '# model = "commented"', "\t"])
_LINES = st.one_of(
    st.tuples(_KEYS, st.sampled_from([" = ", "=", "  =\t"]), _SIMPLE, _COMMENTS).map("".join),
    st.sampled_from(["", "# base_url = 'x'", "   ", "[headers]", "[[other]]", "[a.b]"]),
)
_FILES = st.tuples(
    st.lists(_LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans()
).map(lambda made: made[1].join(made[0]) + (made[1] if made[2] else ""))


def _quoted(text: str) -> str:
    """A basic string in which all but ASCII letters and digits is escaped."""
    plain = "".join(c if c.isascii() and c.isalnum() else f"\\U{ord(c):08x}" for c in text)
    return f'"{plain}"'


@given(text=_FILES, model=_TEXTS, url=_TEXTS)
def test_any_file_means_the_same_but_for_what_was_set(text: str, model: str, url: str) -> None:
    try:
        before: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    after = with_values(text, {"base_url": url, "model": model})
    assert tomllib.loads(after) == {**before, "base_url": url, "model": model}
    for went in lines_that_went(text, after):
        assert went[0].startswith(("model", "base_url"))
        whole = tomllib.loads("\n".join(went))
        assert whole.keys() <= {"model", "base_url"}  # and nothing beside the two values


def test_setting_it_again_changes_nothing() -> None:
    once = with_values("# mine\n[headers]\na = 'b'\n", VALUES)
    assert with_values(once, VALUES) == once


def test_the_file_is_made_private_and_one_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "config" / "config.toml"
    change_settings(path, VALUES)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    change_settings(path, {"model": "other"})
    assert path.stat().st_mode & 0o777 == 0o640
    assert tomllib.loads(path.read_text()) == {"base_url": URL, "model": "other"}
    assert [each.name for each in path.parent.iterdir()] == ["config.toml"]


def test_a_byte_order_mark_and_a_link_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "shiro.toml"
    real.parent.mkdir()
    real.write_bytes(b"\xef\xbb\xbfmode = 'plan'\r\n")
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    change_settings(link, {"model": "m"})
    assert real.read_bytes() == b"\xef\xbb\xbfmode = 'plan'\r\nmodel = \"m\"\r\n"
    assert link.is_symlink()


@pytest.mark.parametrize("data", [b"model = \n", b"\xff\xfe\x00\x01", b"caf\xe9 = 1\n", b"\0\0"])
def test_a_broken_file_is_left_as_it_is_and_said(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(data)
    with pytest.raises(SettingsError, match=r"config\.toml"):
        change_settings(path, VALUES)
    assert path.read_bytes() == data
