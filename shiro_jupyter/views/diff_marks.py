"""Which lines of a text are those of a unified diff, for the views that colour them."""

from __future__ import annotations

# Of a line that was added, that was taken, and that says where in which file: its mark.
ADDED, TAKEN, PLACE = "+", "-", "@"


def diff_marks(text: str) -> str:
    """A character for each line of the text: one of the marks, or a blank; empty for no diff.

    The names of two files stand right above a place: elsewhere `--- of 2025` is a comment of SQL
    that was taken out.
    """
    lines = text.split("\n")
    marks = [" "] * len(lines)
    inside = False
    for at, line in enumerate(lines):
        if line.startswith("@@ -"):
            marks[at], inside = PLACE, True
            if at > 1 and lines[at - 2].startswith("--- ") and lines[at - 1].startswith("+++ "):
                marks[at - 2 : at] = PLACE * 2
        elif inside:
            marks[at] = line[0] if line[:1] in (ADDED, TAKEN) else " "
            # A line that ends it, but for the one that says what is not shown here.
            inside = line[:1] in ("", " ", ADDED, TAKEN, "\\", "…")
    found = "".join(marks)
    return found if PLACE in found else ""
