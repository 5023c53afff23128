from __future__ import annotations

import pytest

from shiro_jupyter.core.workspace.placeholders import placeholder


@pytest.mark.parametrize(
    "line",
    [
        "# ...",
        "    // ...",
        "/* ... */",
        "<!-- ... -->",
        "{/* ... */}",
        "-- …",
        "# ... rest unchanged",
        "... rest unchanged",
        "... rest unchanged ...",
        "# ... existing code ...",
        "// ... existing code ...",
        "# existing code here",
        "# rest of the code",
        "# (rest of the file unchanged)",
        "[rest of the function remains the same]",
        "// Rest of the class stays the same...",
        "# ... (other methods unchanged)",
        "# imports omitted for brevity",
        "/* unchanged code */",
        "# code same as before",
        "# ... same as above ...",
        "# No changes below",
        "# The rest remains unchanged.",
        "… everything else …",
    ],
)
def test_what_only_says_that_something_was_left_out(line: str) -> None:
    assert placeholder(f"a = 1\n{line}\n", "a = 1\n") == line.strip()
    assert placeholder(f"a = 1\n{line}\n", f"a = 2\n {line}\n") == ""


@pytest.mark.parametrize(
    "line",
    [
        "...",
        "    ...",
        "x = ...",
        "def f(): ...",
        "# other imports",
        "# existing users keep their plan",
        "# keep the rest of the columns unchanged: the model expects them",
        "# Unchanged",
        "## Other methods",
        "# original data",
        "# remaining budget in euros",
        "the rest of the file",
        "Loading...",
        "# wait...",
        "# see the file above",
        "print('... rest unchanged')",
        "#......",
        "# ----",
        "df[...]",
        "Tuple[int, ...]",
        "# same as above",
        "rest",
        "",
        "#",
    ],
)
def test_code_and_remarks_of_their_own_are_none(line: str) -> None:
    assert placeholder(line, "") == ""
