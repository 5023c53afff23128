"""Which view a turn gets."""

from __future__ import annotations

from typing import Literal

Kind = Literal["widget", "cell", "terminal", "plain"]


def choose(*, notebook: bool, watched: bool, terminal: bool, setting: str = "auto") -> Kind:
    """By the setting (`auto`, `text`, `display`) and by what is there.

    `notebook`: what is displayed is kept in a file; `watched`: somebody may look at it now, so
    that a widget is worth its while; `terminal`: lines can be rewritten. All else (a redirected
    stream, `jupyter console`) gets plain text.
    """
    if setting == "auto" and notebook and watched:
        return "widget"
    if setting == "display" or (setting == "auto" and notebook):
        return "cell"
    return "terminal" if terminal else "plain"
