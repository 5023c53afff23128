"""The flags of `%shiro`, which count only before the first word of the prompt."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from ..core.errors import UsageError

Think = Literal["", "off", "low", "medium", "high"]
THINK_LEVELS = ("off", "low", "medium", "high")

# What people say of the session's note, and what /session-notes takes for it.
SPOKEN = {
    "show session notes": "",
    "show the session notes": "",
    "note the session": "update",
    "session done": "done",
    "wrap up": "done",
}


@dataclass(frozen=True)
class CommandLine:
    """What was asked. `resume` is "" (go on), "latest" or an id; `mode` "" leaves the mode."""

    prompt: str = ""
    model: str = ""
    base_url: str = ""
    resume: str = ""
    mode: Literal["", "plan", "yolo"] = ""
    memory: bool = True
    think: Think = ""
    quiet: bool = False
    json: bool = False
    live: bool = False
    background: bool = False

    @property
    def command(self) -> tuple[str, str] | None:
        """The slash command and its rest, where the prompt is one: `/name` and nothing glued; or
        plain words that say no more than one does."""
        said = " ".join(self.prompt.casefold().split()).rstrip(".!")
        if said in SPOKEN:
            return "session-notes", SPOKEN[said]
        found = re.match(r"/([a-z][a-z-]*)(?:\s+|$)", self.prompt)
        return (found[1], self.prompt[found.end() :].strip()) if found else None


@dataclass(frozen=True)
class Flag:
    """One flag: its spellings, the name of its value (none: a switch), and what it does."""

    names: tuple[str, ...]
    value: str
    text: str
    apply: Callable[[CommandLine, str], CommandLine]


def _think(line: CommandLine, value: str) -> CommandLine:
    if value not in THINK_LEVELS:
        raise UsageError(f"--think takes one of {', '.join(THINK_LEVELS)}, not {value!r}.")
    return replace(line, think=value)  # type: ignore[arg-type]


def _mode(line: CommandLine, mode: Literal["plan", "yolo"]) -> CommandLine:
    if line.mode not in ("", mode):
        raise UsageError("--plan and --yolo contradict each other; give one of them.")
    return replace(line, mode=mode)


FLAGS = (
    Flag(("-m", "--model"), "NAME", "use this model from now on", lambda c, v: replace(c, model=v)),
    Flag(
        ("--base-url",), "URL", "use this endpoint from now on", lambda c, v: replace(c, base_url=v)
    ),
    Flag(
        ("-c", "--continue"),
        "",
        "go on with this project's newest session",
        lambda c, v: replace(c, resume="latest"),
    ),
    Flag(
        ("-r", "--resume"),
        "ID",
        "go on with this session (the start of its id will do)",
        lambda c, v: replace(c, resume=v),
    ),
    Flag(("--plan",), "", "look and plan, change nothing", lambda c, v: _mode(c, "plan")),
    Flag(
        ("--yolo",),
        "",
        "allow without asking; deny rules still hold",
        lambda c, v: _mode(c, "yolo"),
    ),
    Flag(("--no-memory",), "", "a session without memory", lambda c, v: replace(c, memory=False)),
    Flag(("--think",), "|".join(THINK_LEVELS), "how much the model reasons", _think),
    Flag(("-q", "--quiet"), "", "show the answer only", lambda c, v: replace(c, quiet=True)),
    Flag(("--json",), "", "print the turn as JSON", lambda c, v: replace(c, json=True)),
    Flag(
        ("--live",),
        "",
        "ask the model again where a recorded answer would be shown",
        lambda c, v: replace(c, live=True),
    ),
)
HELP = ("-h", "--help")
_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}


def parse(text: str, body: str | None = None) -> CommandLine:
    """A line as typed; `body` is that of a `%%shiro` cell, where flags never count.

    Raises `UsageError` for an unknown flag or a flag without its value.
    """
    line, rest = _flags(CommandLine(), text)
    background = False
    if body is not None:
        head, background = _background(rest)
        rest = f"{head}\n{body.strip(chr(10))}" if head and body.strip() else head or body
    prompt, at_end = _background(rest)
    return replace(line, prompt=prompt.strip("\n"), background=background or at_end)


def _flags(line: CommandLine, text: str) -> tuple[CommandLine, str]:
    while True:
        text = text.lstrip()
        word = re.match(r"\S*", text)[0]  # type: ignore[index]
        # A lone dash and a negative number begin a prompt.
        if not word.startswith("-") or re.fullmatch(r"-|-\.?\d.*", word):
            return line, text
        text = text[len(word) :]
        if word == "--":
            return line, text.lstrip(" \t")
        if word in HELP:  # whatever comes after it
            return line, "/help"
        name, given, value = word.partition("=")
        flag = _BY_NAME.get(name)
        if flag is None:
            raise UsageError(_unknown(name))
        if flag.value and not given:
            found = re.match(r"\s*(\S+)", text)
            if found is None:
                raise UsageError(f"{name} needs a value: {name} {flag.value}.")
            value, text = found[1], text[found.end() :]
        elif given and not flag.value:
            raise UsageError(f"{name} takes no value.")
        line = flag.apply(line, value)


def _background(text: str) -> tuple[str, bool]:
    """A final ` &` that stands alone means the background."""
    stripped = text.rstrip()
    if stripped == "&" or re.search(r"\s&$", stripped):
        return stripped[:-1].rstrip(), True
    return text, False


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, _BY_NAME, 1)
    hint = f"did you mean {near[0]}?" if near else f"the flags are {', '.join(_BY_NAME)}."
    return f"%shiro has no flag {name}; {hint} A prompt that begins with a dash goes after --."
