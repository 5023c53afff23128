"""The values of events in words, the same in every view."""

from __future__ import annotations

from collections.abc import Sequence

from ..core import events as e
from ..core.events import TurnOutcome, Usage
from ..core.transcript import Outcome

NAMES = 6  # of variables, in a sentence

MARKS: dict[Outcome, str] = {
    "ok": "✓",
    "failed": "✗",
    "refused": "⊘",
    "interrupted": "■",
    "timed_out": "✗",
    "invalid_arguments": "✗",
    "skipped": "–",
}
OUTCOME_WORDS: dict[Outcome, str] = {
    "ok": "",
    "failed": "failed",
    "refused": "refused",
    "interrupted": "interrupted",
    "timed_out": "timed out",
    "invalid_arguments": "invalid arguments",
    "skipped": "not run",
}
ENDINGS: dict[TurnOutcome, str] = {
    "answered": "answered",
    "interrupted": "interrupted",
    "limited": "stopped at a limit",
    "failed": "failed",
}

APPROVAL_LABELS = {
    e.ALLOW: "Allow",
    e.ALLOW_SESSION: "Allow for this session",
    e.DENY: "Deny",
}


def tokens(usage: Usage) -> str:
    """`1,234 in, 56 out`; empty where nothing was reported."""
    return f"{usage.input:,} in, {usage.output:,} out" if usage.input or usage.output else ""


def memory_line(changed: e.MemoryChanged) -> str:
    if not changed.text:
        return f"Forgot ({changed.scope}): {changed.old}"
    instead = f", in place of: {changed.old}" if changed.old else ""
    return f"Remembered ({changed.scope}): {changed.text}{instead}"


def data_lines(changed: e.DataChanged | None) -> list[str]:
    """What became of the data, and what code there is to keep; each where there is any."""
    if changed is None:
        return []
    unkept = unkept_line(changed)
    return [f"data: {changed.changes}"] * bool(changed.changes) + [unkept] * bool(unkept)


def unkept_line(changed: e.DataChanged) -> str:
    if not changed.unkept:
        return ""
    names = listed(changed.unkept, NAMES)
    return f"The code that bound {names} ran in no cell: %shiro /keep puts it into cells."


def listed(names: Sequence[str], limit: int) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def choice_label(question: e.Question, choice: str) -> str:
    """What stands on the button of a choice."""
    if question.kind != "approval":
        return choice
    covers = f" ({granted(question)})" if choice == e.ALLOW_SESSION else ""
    return APPROVAL_LABELS.get(choice, choice) + covers


def granted(question: e.Question) -> str:
    """What a yes for the session covers."""
    return question.grant or "exactly this"


def choices_line(question: e.Question) -> str:
    """What may be answered, by its number; whoever takes an approval says how it is given."""
    if question.kind == "approval":
        return ""
    return "   ".join(f"{number}. {each}" for number, each in enumerate(question.choices, start=1))


def duration(seconds: float) -> str:
    """Coarser the longer it is, so that a line that counts is rewritten seldom in a long wait."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 600:
        return f"{whole // 60} min {whole % 60 // 10 * 10} s"
    if whole < 3600:
        return f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def precise(seconds: float) -> str:
    """`0.3 s`, or as `duration` from a minute on; empty where it took no time worth a word."""
    if seconds < 0.05:
        return ""
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds)
