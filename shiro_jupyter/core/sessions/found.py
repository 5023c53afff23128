"""What there is to say of a session that is opened again: damage, gaps, and a turn that its
process did not live to end."""

from __future__ import annotations

from collections import Counter

from ..context.quoting import quoted
from ..transcript import Call, Note, Result, User
from .records import Stored
from .session import Session


def notices_of(stored: Stored, session: Session) -> tuple[str, ...]:
    """In sentences; none for a session that ended in good order."""
    said = (_damage(stored), _gaps(session), _stopped(session))
    return tuple(sentence for sentence in said if sentence)


def _damage(stored: Stored) -> str:
    lost = stored.damaged - stored.told
    if lost <= 0:
        return ""
    lines = "line was" if lost == 1 else "lines were"
    return f"{lost} damaged {lines} left out of {stored.path}; all else of the session is restored."


def _gaps(session: Session) -> str:
    """What the repair of each request has to mend, open calls apart, which may get a result yet."""
    waiting: Counter[str] = Counter()
    orphans = 0
    for item in session.items:
        if isinstance(item, Call):
            waiting[item.call_id] += 1
        elif isinstance(item, Result):
            waiting[item.call_id] -= 1
            orphans += waiting[item.call_id] < 0
            waiting[item.call_id] = max(0, waiting[item.call_id])
    unanswered = waiting.total() - len(session.open_calls())
    begun = not session.items or isinstance(session.items[0], User | Note)
    kinds = (
        (not begun, "its beginning is missing"),
        (unanswered > 0, f"calls without a result: {unanswered}"),
        (orphans, f"results without their call: {orphans}"),
    )
    found = "; ".join(kind for there, kind in kinds if there)
    return found and (
        f"The session has gaps ({found}): what the model is sent is mended, the file stays as it "
        "is."
    )


def _stopped(session: Session) -> str:
    if session.ended >= session.turn:
        return ""
    calls = session.open_calls()
    if not calls:
        return "The last turn stopped before it ended; say “go on”, or ask something else."
    name = quoted(calls[0].name[:64])
    if session.asked == calls[0].call_id:
        return (
            f"The last turn stopped while {name} waited for your answer: %shiro alone asks again, "
            "any other prompt goes on without it."
        )
    return (
        f"The last turn stopped in {name}, and what that did is not known; say “go on”, or ask "
        "something else."
    )
