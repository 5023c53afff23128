"""Regenerate the tables that the documentation derives from the code.

    python scripts/docs.py           rewrite them
    python scripts/docs.py --check   fail where one is out of date

A table stands between `<!-- NAME -->` and `<!-- /NAME -->` in any Markdown file of the
repository's docs.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Iterable
from inspect import getdoc
from pathlib import Path

from shiro_jupyter.core.events import EVENTS, name_of
from shiro_jupyter.core.settings import settings_table
from shiro_jupyter.core.tools.shelf import sets_table, tools_table
from shiro_jupyter.core.turn import Limits
from shiro_jupyter.kernel import memory_commands as memory_commands  # registers its commands
from shiro_jupyter.kernel.commands import commands_table, flags_table
from shiro_jupyter.kernel.tools import KERNEL_TOOLS

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"

    heads = list(heads)
    return "\n".join([line(heads), line("---" for _ in heads), *map(line, rows)])


def tools() -> str:
    return table(("tool", "set", "access", "what it does"), tools_table(KERNEL_TOOLS))


def sets() -> str:
    return table(("set", "is there", "its tools"), sets_table(KERNEL_TOOLS))


def settings() -> str:
    return table(("setting", "environment", "default", "what it does"), settings_table())


def commands() -> str:
    return table(("command", "takes", "what it does"), commands_table())


def flags() -> str:
    return table(("flag", "takes", "what it does"), flags_table())


def events() -> str:
    fields = ((name_of(each), [f.name for f in dataclasses.fields(each)]) for each in EVENTS)
    return table(("event", "fields"), ((f"`{name}`", ", ".join(names)) for name, names in fields))


def limits() -> str:
    rows = ((f"`{f.name}`", f.default) for f in dataclasses.fields(Limits))
    return f"{getdoc(Limits)}\n\n{table(('limit', 'default'), rows)}"


BLOCKS: dict[str, Callable[[], str]] = {
    each.__name__: each for each in (tools, sets, settings, commands, flags, events, limits)
}


def regenerated(text: str) -> str:
    def block(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- {name} -->\n{BLOCKS[name]()}\n<!-- /{name} -->"

    names = "|".join(BLOCKS)
    return re.sub(rf"<!-- ({names}) -->.*?<!-- /\1 -->", block, text, flags=re.DOTALL)


def main() -> int:
    stale = []
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = regenerated(old)
        if new == old:
            continue
        stale.append(page.relative_to(ROOT))
        if "--check" not in sys.argv:
            page.write_text(new, encoding="utf-8")
    for page in stale:
        print(f"{page} {'is out of date: make docs' if '--check' in sys.argv else 'rewritten'}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
