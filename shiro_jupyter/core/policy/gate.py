"""The order of approvals: deny rules, plan mode, ask rules, allow rules, grants, the person.

Approvals guard against a mistaken or misled model, not against code that already runs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal

from .commands import read_command
from .destructive import destruction, names_destruction
from .hiding import may_run
from .names import is_secret_name, is_steering_name
from .reach import reaches_out
from .rules import Rule, Rules, may_become_one, permits, restricts
from .subjects import Subject

Mode = Literal["ask", "accept-edits", "plan", "yolo"]

_ABSOLUTE = re.compile(r"/|[A-Za-z]:")

# From what allows least to what allows most.
_BY_LOOSENESS: tuple[str, ...] = ("plan", "ask", "accept-edits", "yolo")

PLAN_REFUSAL = (
    "Plan mode: nothing may be changed or run now; read, think and propose a plan instead."
)


def is_looser(mode: str, *, than: str) -> bool:
    """Whether a mode allows what another one does not."""
    return _BY_LOOSENESS.index(mode) > _BY_LOOSENESS.index(than)


@dataclass(frozen=True)
class Decision:
    """`reason` is told to the model when denied. `once`: a yes holds for this one call, since the
    session is tainted."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""
    once: bool = False


_ALLOW, _ASK, _ASK_ONCE = Decision("allow"), Decision("ask"), Decision("ask", once=True)


@dataclass
class Gate:
    """`yolo` is the ceiling of a hub or a user: false turns that mode into `ask`, and takes the
    rules away that allow any command or code, which would come to the same."""

    mode: Mode = "ask"
    rules: Rules = field(default_factory=Rules)
    yolo: bool = True

    def decide(
        self, subject: Subject, grants: Collection[str], *, tainted: bool = False
    ) -> Decision:
        """Never raises; whatever is not understood asks. `tainted`: the model has read what is
        neither the person's nor the project's, and may be led by it: then what reaches out is
        allowed by no mode, rule or grant."""
        if denied := self._denied(subject):
            return Decision("deny", denied)
        if subject.access == "session":
            return _ALLOW
        if self.mode == "plan" and subject.access != "read":
            return Decision("deny", PLAN_REFUSAL)
        if tainted and reaches_out(subject):
            return _ASK_ONCE
        if self._may_hide_denied(subject):
            return _ALLOW if subject.grant_key in grants else _ASK
        if self.mode == "yolo" and self.yolo:
            return _ALLOW
        if restricts(self.rules.ask, subject) or (
            subject.access == "shell" and may_become_one(self.rules.ask, subject)
        ):
            return _ASK
        if permits(self._allow_rules(subject), subject) or subject.grant_key in grants:
            return _ALLOW
        return _ALLOW if self._goes_without_asking(subject) else _ASK

    def lets_read(self, grants: Collection[str], path: str) -> bool:
        """Whether a file may be read without asking, so that its lines may be told."""
        return self.decide(Subject("read_file", "read", (path,)), grants).verdict == "allow"

    def denies_reading(self, path: str) -> bool:
        """Whether a file may not be read at all, so that nothing it holds may be told."""
        return bool(self._denied(Subject("read_file", "read", (path,))))

    def _allow_rules(self, subject: Subject) -> Iterable[Rule]:
        if self.yolo or subject.access not in ("shell", "kernel"):
            return self.rules.allow
        return [rule for rule in self.rules.allow if rule.pattern.strip("* ")]

    def _denied(self, subject: Subject) -> str:
        if rule := restricts(self.rules.deny, subject):
            return f"Denied by the rule {rule} of the settings; do without it."
        if subject.access == "shell":
            for text in subject.texts:
                if what := destruction(text):
                    return f"Denied in every mode: this {what}."
        return ""

    def _may_hide_denied(self, subject: Subject) -> bool:
        """A command that cannot be followed, or that names what is denied, may run it: then a
        person looks at it, whatever the mode. One that only redirects, expands or loops can be
        followed."""
        return subject.access == "shell" and (
            may_run(self.rules.deny, subject)
            or may_become_one(self.rules.deny, subject)
            or any(
                (any(rule.names(subject) for rule in self.rules.deny) or names_destruction(text))
                and not read_command(text).followed
                for text in subject.texts
            )
        )

    def _goes_without_asking(self, subject: Subject) -> bool:
        if subject.access in ("memory", "job"):
            return True
        if subject.access == "read":
            return not any(map(is_secret_name, subject.texts))
        if subject.access == "write" and self.mode == "accept-edits":
            return bool(subject.texts) and not any(
                _ABSOLUTE.match(text) or is_secret_name(text) or is_steering_name(text)
                for text in subject.texts
            )
        return False
