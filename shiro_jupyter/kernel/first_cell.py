"""The rest of the cell that loads the extension.

IPython transformed that cell before our transformer was there, so a prompt of it that ends in
`?` has become a call for help on its last word. Until the cell ends, such a call is the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .transformer import VERBATIM

# What IPython makes of a line that ends in `?`.
_HELP = ("pinfo", "pinfo2", "psearch")
_OURS = re.compile(rf"[ \t]*%({'|'.join(VERBATIM)})[ \t]+(.*\?)[ \t]*$", re.MULTILINE)


def mend(shell: Any) -> None:
    """Take back the prompts of the running cell, where it holds any that end in `?`."""
    raw = next(reversed(shell.history_manager.input_hist_raw), "")
    waiting = [(found[1], found[2]) for found in _OURS.finditer(raw)]
    if not waiting:
        return
    table = shell.magics_manager.magics["line"]
    before = {name: shell.find_line_magic(name) for name in _HELP}

    def asked(help_magic: Callable[[str], Any], word: str) -> Any:
        for prompt in waiting:
            if prompt[1].rstrip("?").endswith(word):
                waiting.remove(prompt)
                # As a statement: its value is not echoed.
                shell.run_line_magic(*prompt)
                return None
        return help_magic(word)

    def ended(result: object) -> None:
        shell.events.unregister("post_run_cell", ended)
        table.update(before)

    for name, magic in before.items():
        table[name] = lambda word, magic=magic: asked(magic, word)
    shell.events.register("post_run_cell", ended)
