"""The ten canonical turns in every form, kept as files; SHIRO_SNAPSHOTS=write rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shiro_jupyter.views.state import TurnState
from shiro_jupyter.views.static import left_behind
from tests.views.screen import screen
from tests.views.turns import TURNS, text_view, timed

FOLDER = Path(__file__).with_name("snapshots")


def forms(name: str) -> dict[str, str]:
    events = timed(TURNS[name]())
    plain, out, err = text_view()
    terminal, drawn, terminal_err = text_view(terminal=True, colour=True)
    state = TurnState()
    for event, at in events:
        for view in (plain, terminal):
            view.apply(event, at)
        state.apply(event, at)
    assert err.getvalue() == terminal_err.getvalue()
    bundle = left_behind(state)
    return {
        "plain": f"{out.getvalue()}--- stderr\n{err.getvalue()}",
        "terminal": screen(drawn.getvalue()),
        "html": bundle["text/html"],
        "md": bundle["text/markdown"],
        "txt": bundle["text/plain"],
    }


@pytest.mark.parametrize("name", TURNS)
def test_canonical_turn(name: str) -> None:
    text = "".join(f"=== {form}\n{text.rstrip()}\n\n" for form, text in forms(name).items())
    path = FOLDER / f"{name}.txt"
    if os.environ.get("SHIRO_SNAPSHOTS") == "write":
        path.write_text(text, encoding="utf-8", newline="\n")
    assert text == path.read_bytes().decode(), "if the new form is right: make snapshots"


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(TURNS)
