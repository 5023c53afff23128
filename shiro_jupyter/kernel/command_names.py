"""The slash commands as the source of their modules names them: importing those takes the host,
which would be felt at a Tab before the first prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_COMMAND = re.compile(r'^@command\((?:"([^"]*)")?\)\ndef (\w+)\(', re.MULTILINE)


def name_of(function: str) -> str:
    """The command that a function of this name is."""
    return function.rstrip("_").replace("_", "-")


@cache
def arguments_by_command() -> Mapping[str, str]:
    """The arguments of each, as /help shows them."""
    sources = sorted(Path(__file__).parent.glob("*commands.py"))
    found = (each for path in sources for each in _COMMAND.findall(path.read_text("utf-8")))
    return {name_of(function): arguments for arguments, function in found}
