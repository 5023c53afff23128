"""What Tab completes in our magics: flags and their values, slash commands, kinds, and `@`.

Imported at the first Tab in one of them. Before the first prompt there is no host, and importing it
would be felt: models and sessions come with it; flags, commands and `@` are there at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..core.memory.index import KINDS
from ..core.workspace.picker import SHOWN, beside, query, written
from ..core.workspace.project import find_project
from .command_line import FLAGS
from .command_names import arguments_by_command
from .compat import inputs

CELL = "cell:"
Found = tuple[str, Sequence[str]]  # what is replaced, at the end of the text, and by what

_MAGIC = re.compile(
    r"[ \t]*(?:[^%#\"'\n]*=[ \t]*|%time[ \t]+)?%(shiro|remember|recall|forget)[ \t]+(.*)"
)
_WORDS = re.compile(r"(?<![\w-])-{0,2}[a-z][a-z-]*")
_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}
_MAGIC_WORDS = {
    "remember": (*KINDS, "--global", "--replaces", "--keep-both"),
    "recall": ("--why",),
    "forget": ("--global",),
}


class Offers(Protocol):
    """What there is to choose from once there is a host; at once, and without the network."""

    def models(self) -> Sequence[str]: ...

    def sessions(self) -> Sequence[str]: ...

    def paths(self, query: str) -> Sequence[str]: ...


class Completion:
    """Answers with None for what is none of ours: what stands behind another magic, or code."""

    def __init__(self, shell: Any, offers: Callable[[], Offers | None]) -> None:
        self._shell, self._offers = shell, offers

    def __call__(self, before: str) -> Found | None:
        """`before` is the cell's text before the cursor."""
        if before.lstrip().startswith("%%shiro"):
            head, newline, body = before.lstrip()[len("%%shiro") :].partition("\n")
            if newline:
                return self._at(body)
            return self._shiro(head) if head[:1].isspace() else None
        found = _MAGIC.fullmatch(before.rpartition("\n")[2])
        if found is None:
            return None
        magic, typed = found[1], found[2]
        if magic == "shiro":
            return self._shiro(typed)
        word = typed.rpartition(" ")[2]
        ours = all(each in _MAGIC_WORDS[magic] for each in typed.split()[:-1])
        return word, _beginning(word, _MAGIC_WORDS[magic] if ours else ())

    def _shiro(self, typed: str) -> Found:
        """Flags count only before the first word of the prompt."""
        rest = typed.lstrip()
        while rest.startswith("-"):
            word, blank, after = _first(rest)
            if word == "--" and blank:
                return self._at(after)
            name, given, value = word.partition("=")
            flag = _BY_NAME.get(name)
            if not blank and not given:
                return word, _beginning(word, _BY_NAME)
            if flag and flag.value:
                value, blank, after = (value, blank, after) if given else _first(after.lstrip())
                if not blank:
                    return value, _beginning(value, self._values(flag.value))
            rest = after.lstrip()
        if rest.startswith("/"):
            return self._command(rest)
        return self._at(rest)

    def _values(self, shape: str) -> Sequence[str]:
        """What may stand where a flag or a command shows this in its help."""
        offers = self._offers()
        match shape.strip("[]"):
            case "NAME" if offers:
                return offers.models()
            case "ID" if offers:
                return offers.sessions()
        return tuple(dict.fromkeys(_WORDS.findall(shape)))

    def _command(self, typed: str) -> Found:
        known = arguments_by_command()
        word, blank, after = _first(typed)
        if not blank:
            return word, _beginning(word, [f"/{name}" for name in known])
        if (at := self._at(typed))[1]:
            return at
        values = self._values(known.get(word[1:], ""))
        if word == "/check":  # its path is the last word
            after = after.rpartition(" ")[2]
            values = (*values, *_notebooks(after))
        return after, _beginning(after, values)

    def _at(self, typed: str) -> Found:
        """Whatever else a prompt says is the person's, and nothing completes it."""
        sought = query(typed)
        if sought is None:
            return "", ()
        cut = typed[typed.rindex("@") :]
        offers = self._offers()
        paths = offers.paths(sought) if offers else _beside(sought)
        names = self._shell.user_ns
        hidden = self._shell.user_ns_hidden
        variables = [
            name for name in names if name not in hidden or names[name] is not hidden[name]
        ]
        return cut, [*map(written, pointed(sought, variables, inputs(self._shell), paths))]


def pointed(
    sought: str, variables: Iterable[str], ran: Sequence[str], paths: Iterable[str]
) -> list[str]:
    """What an `@` may point at: variables, cells that ran, the newest first, and paths."""
    folded = sought.casefold()
    names = [
        n for n in list(variables) if not n.startswith("_") and n.casefold().startswith(folded)
    ]
    numbers = (at for at in range(len(ran) - 1, 0, -1) if ran[at].strip())
    cells = [f"{CELL}{at}" for at in numbers] if sought[:1] == CELL[0] else []
    cells = [each for each in cells if each.startswith(sought)]
    return [*sorted(names), *cells[:SHOWN], *paths]


def _beginning(word: str, words: Iterable[str]) -> list[str]:
    return [each for each in words if each.startswith(word)]


def _first(text: str) -> tuple[str, str, str]:
    """The first word, the blank behind it, empty while it is being typed, and the rest."""
    found = re.match(r"(\S*)(\s*)(.*)", text, re.DOTALL)
    assert found is not None
    return found[1], found[2], found[3]


def _notebooks(typed: str) -> list[str]:
    """Those of the one folder that is named, and folders, from the working folder."""
    above = typed[: typed.rfind("/") + 1]
    try:
        with os.scandir(Path(above or ".").expanduser()) as entries:
            found = [each for each in entries if not each.name.startswith(".")]
        files = [each.name for each in found if each.name.endswith(".ipynb") and each.is_file()]
        folders = [f"{each.name}/" for each in found if each.is_dir()]
    except (OSError, RuntimeError, ValueError):
        return []
    return [above + name for name in (*sorted(files), *sorted(folders)) if name.isprintable()]


def _beside(sought: str) -> list[str]:
    try:
        return beside(find_project(Path.cwd(), home=Path.home()).root, sought)
    except OSError:  # the working folder is gone
        return []
