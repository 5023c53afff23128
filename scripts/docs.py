"""Regenerate the tables that the documentation derives from the code.

    python scripts/docs.py           rewrite them
    python scripts/docs.py --check   fail where one is out of date

A table stands between `<!-- NAME -->` and `<!-- /NAME -->` in any Markdown file of the
repository's docs.
"""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from collections.abc import Callable, Iterable
from inspect import getdoc
from pathlib import Path
from typing import get_args

from shiro_jupyter.core.events import EVENTS, name_of
from shiro_jupyter.core.policy.gate import Gate, Mode
from shiro_jupyter.core.policy.names import SECRET_NAMES
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.settings import settings_table
from shiro_jupyter.core.settings.fields import Fields
from shiro_jupyter.core.tools.shelf import sets_table, tools_table
from shiro_jupyter.core.turn import Limits
from shiro_jupyter.kernel import host as host  # registers every command
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
    rows = ((f"`{name}`", value) for name, value in vars(Limits.of(Fields())).items())
    return f"{getdoc(Limits)}\n\n{table(('limit', 'default'), rows)}"


SAMPLES = (
    ("look at a file", Subject("read_file", "read", ("a.csv",)), False),
    ("look at one that may hold keys, such as `.env`", Subject("t", "read", (".env",)), False),
    ("change a file of the project", Subject("t", "write", ("a.py",)), False),
    (
        "change one that holds keys, or steers git or another tool",
        Subject("t", "write", (".git/config",)),
        False,
    ),
    ("run a command", Subject("bash", "shell", ("make",)), False),
    ("run code in the kernel", Subject("run_python", "kernel", ("x = 1",)), False),
    ("remember or forget something", Subject("remember", "memory", ("x",)), False),
    ("keep its task list and notes, recall, ask you", Subject("t", "session", ()), False),
    ("reach out, once the session is tainted", Subject("t", "memory", ("x",)), True),
)
RULES = {
    "allow": ["bash(git status *)", "bash(pytest *)", "read(data/**)"],
    "ask": ["bash(pip install *)"],
    "deny": ["bash(rm -rf *)", "bash(git push *)", "read(secrets/**)", "write(*.lock)"],
}
JUDGED = (
    *("git status -sb", "git status && pytest -q", "git status; make", "pytest > out.txt"),
    *("X=1 pytest", "pip install x", "rm -r -f build", "cd sub && git push", "bash -c 'git push'"),
    *("echo $(git push)", "$command push", "ssh host git push"),
)
VERDICTS = {"allow": "runs", "ask": "asks", "deny": "is denied"}


def verdicts_of(subject: Subject, rules: Rules, tainted: bool = False) -> list[str]:
    gates = [Gate(mode, rules) for mode in get_args(Mode)]
    return [VERDICTS[gate.decide(subject, set(), tainted=tainted).verdict] for gate in gates]


def modes() -> str:
    rows = ([what, *verdicts_of(subject, Rules(), led)] for what, subject, led in SAMPLES)
    return table(("the agent wants to", *(f"`{mode}`" for mode in get_args(Mode))), rows)


def rules() -> str:
    said = "\n".join(f"{name} = {json.dumps(each)}" for name, each in RULES.items())
    parsed = Rules.parse(**RULES)
    subjects = [Subject("bash", "shell", (command,)) for command in JUDGED]
    rows = ([f"`{each.shown}`", *verdicts_of(each, parsed)] for each in subjects)
    heads = ("command", *(f"`{mode}`" for mode in get_args(Mode)))
    return f"```toml\n{said}\n```\n\n{table(heads, rows)}"


def names() -> str:
    return ", ".join(f"`{name}`" for name in SECRET_NAMES)


BLOCKS: dict[str, Callable[[], str]] = {
    each.__name__: each
    for each in (tools, sets, settings, commands, flags, events, limits, modes, rules, names)
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
