"""Which view a turn gets."""

from __future__ import annotations

from typing import Literal

Kind = Literal["cell", "terminal", "plain"]
Setting = Literal["auto", "cell", "terminal", "plain"]


def choose(parent_metadata_has_cell_id: bool, isatty: bool, setting: Setting = "auto") -> Kind:
    """The view set, else by what is there: a notebook names the cell it runs, a terminal is a
    tty; all else (a redirected stream, `jupyter console`) gets plain text."""
    if setting != "auto":
        return setting
    if parent_metadata_has_cell_id:
        return "cell"
    return "terminal" if isatty else "plain"
