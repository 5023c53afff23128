"""The order of approvals: deny rules, plan mode, ask rules, allow rules, grants, the person."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from .subjects import Subject

Mode = Literal["ask", "accept-edits", "plan", "yolo"]


@dataclass(frozen=True)
class Decision:
    """`reason` is told to the model when denied."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str = ""


@dataclass
class Gate:
    mode: Mode = "ask"

    def decide(self, subject: Subject, grants: Collection[str]) -> Decision:
        raise NotImplementedError
