"""What approvals judge: the subject of a call."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

# What a call does to the world. "session" touches only our own state and never asks; "memory" asks
# where what the model has read is not the person's; "job" ends what a command of its own started,
# which asks nobody, but is a change.
Access = Literal["session", "memory", "read", "write", "shell", "kernel", "job"]


@dataclass(frozen=True)
class Subject:
    """What a call is about, as rules match it and as the person sees it.

    `texts` are what rules match: the command, or project-relative paths with `/`. `preview` is
    what the question shows (default: the texts); `grant` is what "allow for this session"
    covers (default: exactly these texts), and `grant_label` says so in words. `basis` names what
    the preview was made from, in full, and `fault` why the call cannot be done: it is told in
    place of a question.
    """

    tool: str
    access: Access
    texts: tuple[str, ...]
    preview: str = ""
    title: str = ""
    grant: str = ""
    grant_label: str = ""
    basis: str = ""
    fault: str = ""

    @property
    def shown(self) -> str:
        return self.preview or "\n".join(self.texts)

    @property
    def grant_key(self) -> str:
        # Neither texts nor a grant can be written so that one key stands for both.
        return json.dumps([self.tool, self.grant or list(self.texts)])

    @property
    def digest(self) -> str:
        """Binds an answer to exactly what was shown, and to what it was made from."""
        shown = f"{self.tool}\0{self.shown}\0{self.basis}"
        return hashlib.sha256(shown.encode(errors="backslashreplace")).hexdigest()[:16]
