"""What a check hands to its fresh kernel: for the cell that runs, the answers that the notebook
shows. A `%shiro` cell whose answer is not recorded on this machine has them instead."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

CHECKING = "SHIRO_CHECKING"  # names the file in a fresh kernel, which checks nothing itself
_PASSED = ".passed"


@dataclass(frozen=True)
class SavedAnswers:
    """A file that both know, and beside it the mark that it was needed. Blocks."""

    path: Path

    def hand(self, answers: Sequence[str]) -> None:
        """A cell begins, whose turns showed these."""
        with suppress(OSError):  # a cell has taken the folder away
            self._passed.unlink(missing_ok=True)
            self.path.write_text(json.dumps(answers), encoding="utf-8")

    def passed_over(self) -> bool:
        """Whether a turn of that cell had no answer recorded."""
        return self._passed.exists()

    def take(self, turn: int) -> str:
        """In the fresh kernel: what this turn of the cell showed, counted from 0; else empty."""
        with suppress(OSError, ValueError, LookupError):
            self._passed.touch()
            return str(json.loads(self.path.read_bytes())[turn])
        return ""

    @property
    def _passed(self) -> Path:
        return self.path.with_suffix(_PASSED)
