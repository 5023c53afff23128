"""Changing a few settings in the person's own TOML file: their lines alone, all else as it was."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import SettingsError, StorageError
from ..workspace.files import locked, write_atomic
from ..workspace.text import decode, encode

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_TABLE = re.compile(r"\s*\[")
_STRING = r"""("(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""


def change_settings(path: Path, values: Mapping[str, str]) -> None:
    """Set top-level texts in a settings file, which is made where it is missing.

    Raises `SettingsError` where that cannot be done without touching anything else, and
    `StorageError`.
    """
    path = path.resolve()  # the file may be a link into a folder of the person's dotfiles
    with locked(path):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}.") from None
        held = decode(data)
        if held is None or held.encoding != "utf-8":
            raise SettingsError(f"{path} is not UTF-8 text; save it as UTF-8.")
        try:
            changed = encode(with_values(held.text, values), held)
        except (ValueError, RecursionError):
            wanted = ", ".join(f"{name} = {_toml(value)}" for name, value in values.items())
            raise SettingsError(f"{path} could not be changed; set there: {wanted}.") from None
        if not write_atomic(path, changed, private=True, expected=data):
            raise StorageError(f"{path} was changed by someone else just now; try again.")


def with_values(text: str, values: Mapping[str, str]) -> str:
    """The TOML text with these top-level texts set; every other line stays byte by byte.

    Raises `ValueError` where no change of one place does it.
    """
    for name, value in values.items():
        wanted = {**tomllib.loads(text), name: value}
        text = next(
            (each for each in _candidates(text, name, value) if _means(each, wanted)), ""
        ) or _give_up(name)
    return text


def _give_up(name: str) -> str:
    raise ValueError(name)


def _candidates(text: str, name: str, value: str) -> Iterator[str]:
    """Texts that may be the wanted one, nearest to what was there first.

    What a line is part of (a table, a text of several lines) is the parser's to say, so each
    candidate is parsed.
    """
    lines = _LINES.findall(text)
    key = re.compile(rf"""(\s*["']?{re.escape(name)}["']?\s*=\s*)(.*)""", re.DOTALL)
    line_end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    for first, line in enumerate(lines):
        if not (found := key.match(line)):
            continue
        start, rest = found.groups()
        if one_line := re.fullmatch(rf"{_STRING}(\s*(?:#.*)?\r?\n?)", rest):
            yield "".join((*lines[:first], start, _toml(value), one_line[2], *lines[first + 1 :]))
        for last in range(first + 1, len(lines) + 1):  # a value of several lines
            end = line_end if lines[last - 1].endswith("\n") else ""
            yield "".join((*lines[:first], start, _toml(value), end, *lines[last:]))
    ours = f"{name} = {_toml(value)}{line_end}"
    for first, line in enumerate(lines):
        if _TABLE.match(line):  # before the first table, or what looks like one
            yield "".join((*lines[:first], ours, *lines[first:]))
    yield text + (line_end if text and not text.endswith("\n") else "") + ours
    yield ours + text


def _means(text: str, wanted: object) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except (tomllib.TOMLDecodeError, RecursionError):
        return False


def _toml(value: str) -> str:
    """A TOML string, which is JSON's but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
