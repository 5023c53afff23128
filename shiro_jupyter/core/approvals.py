"""Whether a call may run: the verdict of the gate, and where it asks that of the person."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import events
from .errors import ToolFailed
from .events import Question
from .policy.gate import Gate
from .policy.names import is_secret_name
from .policy.reach import taint_of
from .policy.subjects import Subject
from .tools.base import Parameters, Tool, ToolContext, printable
from .workspace.threads import in_thread

SHOWN = 200  # letters of a name in a title
NOBODY = "Nobody is there to approve this; do without it, or say what you would run."


async def refusal_of(
    tool: Tool[Any], parameters: Parameters, context: ToolContext, gate: Gate
) -> tuple[str, ToolContext]:
    """Why the call may not run, empty where it may; and the context in which it then runs, with
    what was judged and what the person agreed to.

    Judged again after a yes: the mode may be another by then, or a file not as it was shown. A call
    that may run taints the session by what it will read of others. Raises `ToolFailed` for what
    cannot be done, once nothing denies it.
    """
    session, agreed, choice = context.session, "", ""
    while True:
        await tool.prepare(parameters, context)
        subject = await in_thread(tool.subject, parameters, context)
        decision = gate.decide(subject, session.grants, tainted=bool(session.tainted))
        if decision.verdict == "deny":
            return decision.reason, context
        if subject.fault:
            raise ToolFailed(subject.fault)
        approved = subject.digest == agreed
        if decision.verdict == "allow" or approved:
            if by := taint_of(subject, context.project.allowed):
                session.taint(by)
            if approved and choice == events.ALLOW_SESSION:
                session.grants.add(subject.grant_key)
            basis = subject.basis if approved else ""
            return "", replace(context, approved=basis, judged=subject.texts)
        led = sorted(session.tainted) if decision.once else []
        answer = await context.ask(_question(tool, subject, context, led, again=bool(agreed)))
        if answer is None:
            return NOBODY, context
        if answer.choice not in (events.ALLOW, events.ALLOW_SESSION):
            words = f": {answer.words}" if answer.words else "."
            return f"The person refused this call{words}", context
        agreed, choice = subject.digest, answer.choice


def _question(
    tool: Tool[Any], subject: Subject, context: ToolContext, led: list[str], *, again: bool
) -> Question:
    """`led`: what of others the session has read, so that this is asked each time. `again`: what
    the person agreed to is no more what would be done."""
    title = subject.title or _asks(tool, subject)
    if again:
        title += " It has changed since you allowed it: nothing was done yet, please look again."
    if led:
        title += f" The model has read the words of others ({', '.join(led)}), which may lead it."
    if context.unseen:
        title += " The model will not see its output."
    never = events.ALLOW_SESSION if led else ""
    return Question(
        id=f"{context.call_id}:{subject.digest}",
        call_id=context.call_id,
        kind="approval",
        title=title,
        preview=subject.shown,
        choices=tuple(each for each in events.APPROVAL_CHOICES if each != never),
        digest=subject.digest,
        grant=subject.grant_label,
    )


def _asks(tool: Tool[Any], subject: Subject) -> str:
    if subject.access != "read":
        return f"Run {tool.name}?"
    keys = [text for text in subject.texts if is_secret_name(text)]
    if not keys:
        return "Let the model read this?"
    more = f" and {len(keys) - 1} more" if keys[1:] else ""
    return f"Read {printable(keys[0])[:SHOWN]}{more}, which may hold keys?"
