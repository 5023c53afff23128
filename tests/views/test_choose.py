from __future__ import annotations

import pytest

from shiro_jupyter.views.choose import choose


@pytest.mark.parametrize(
    ("notebook", "watched", "terminal", "setting", "kind"),
    [
        (True, True, False, "auto", "widget"),
        (True, False, False, "auto", "cell"),  # a run without a person: a file in the making
        (True, True, False, "display", "cell"),
        (False, True, False, "display", "cell"),
        (True, True, False, "text", "plain"),
        (False, True, False, "auto", "plain"),  # jupyter console
        (False, False, True, "auto", "terminal"),
        (False, False, True, "text", "terminal"),
    ],
)
def test_the_view_fits_what_is_there(
    notebook: bool, watched: bool, terminal: bool, setting: str, kind: str
) -> None:
    chosen = choose(notebook=notebook, watched=watched, terminal=terminal, setting=setting)
    assert chosen == kind
