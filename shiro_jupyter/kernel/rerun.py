"""Run All does not spend money twice: recorded answers, and when they are shown.

The rule:

- An answer is recorded by project, notebook, prompt with its flags, and its place among equal
  prompts of one cell (a loop).
- **With a person**, re-running an unchanged `%shiro` cell (the front end names the cell by its
  id) asks once a run: run again, or show the recorded answer. One choice holds for one run:
  for every request that was sent before the choice was made, or that follows the end of the
  cell before it within `SAME_RUN` seconds, as a front end sends them that waits in between. A
  terminal or a console, which names no cells, never asks.
- **Without a person** (nbclient, papermill, nbconvert) the recorded answer is shown, the newest
  one of the project where the notebook has none of its own; without any the run stops with a
  sentence. The model is called only when told: `--live`, or `SHIRO_LIVE=1`, which also spare the
  question to a person.
- **In a check** (`SHIRO_LIVE=never`) the model is not called, whatever a cell asks for: without a
  recorded answer the cell is passed over, and its reply holds what the notebook shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from ..core.errors import StorageError, UsageError
from ..core.policy.secrets import redact
from ..core.workspace.files import locked, write_atomic
from ..core.workspace.project import Project
from .saved_answers import SavedAnswers

SAME_RUN = 0.5  # seconds
KEPT = 500  # answers a project
Choice = Literal["run", "show"]
NEVER = "never"  # of the variable SHIRO_LIVE
NO_RECORD = (
    "No answer is recorded for this prompt, and a run without a person does not call the model: "
    "run the cell by hand once, or allow it with --live or SHIRO_LIVE=1."
)
NOT_CALLED = "A check calls no model: run this cell by hand, or the check with --live."


def is_live(environ: Mapping[str, str], asked: bool) -> bool:
    """Whether the model is to be called though an answer is recorded; `asked`: by a flag."""
    said = environ.get("SHIRO_LIVE", "")
    return said != NEVER and (asked or said not in ("", "0"))


@dataclass(frozen=True)
class Recorded:
    """One answer as it was given; `at` is "" where the notebook that is checked shows it, or has
    none."""

    key: str
    notebook: str
    cell: str
    prompt: str
    answer: str
    at: str

    @property
    def when(self) -> str:
        """The minute it was given in, by the clock of this machine."""
        try:
            return f"{datetime.fromisoformat(self.at).astimezone():%Y-%m-%d %H:%M}"
        except (ValueError, OverflowError):
            return self.at  # damaged

    @property
    def note(self) -> str:
        """What is said below it."""
        if not self.at:
            return "(not recorded here: passed over)"
        return f"(recorded {self.when}; --live asks the model again)"


@dataclass
class Answers:
    """The recorded answers of a project: one file among the user's data, newest last."""

    folder: Path
    project: Project
    redacted: Callable[[str], str] = redact

    @property
    def path(self) -> Path:
        name = hashlib.sha256(str(self.project.root).encode()).hexdigest()[:16]
        return self.folder / f"{name}.json"

    @property
    def notebook(self) -> str:
        return str(self.project.notebook or "")

    def find(self, key: str, cell: str = "") -> Recorded | None:
        """The newest answer: of this cell where one is given, else of this notebook, else of
        any notebook of the project."""
        found = [each for each in self._read() if each.key == key]
        if cell:
            found = [each for each in found if each.cell == cell]
        own = [each for each in found if each.notebook == self.notebook]
        return (own or found)[-1] if found else None

    def add(self, recorded: Recorded) -> None:
        said = {name: self.redacted(getattr(recorded, name)) for name in ("prompt", "answer")}
        recorded = replace(recorded, **said)
        with locked(self.path):
            same = (recorded.key, recorded.notebook, recorded.cell)
            kept = [e for e in self._read() if (e.key, e.notebook, e.cell) != same]
            stored = [asdict(each) for each in [*kept, recorded][-KEPT:]]
            data = json.dumps(stored, ensure_ascii=True, indent=0).encode()
            write_atomic(self.path, data, private=True)

    def _read(self) -> list[Recorded]:
        try:
            stored = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error}.") from error
        except ValueError:
            return []  # damaged: the next answer starts it anew
        fields = Recorded.__dataclass_fields__
        return [
            Recorded(**each)
            for each in stored
            if isinstance(each, dict)
            and each.keys() == fields.keys()
            and all(isinstance(value, str) for value in each.values())
        ]


@dataclass(frozen=True)
class Cell:
    """The request that runs: `cell` is "" where the front end names none, `sent` and `started`
    are seconds since the epoch."""

    cell: str
    request: str
    sent: float
    started: float


@dataclass
class Runs:
    """What to do for each `%shiro` cell, and the choice that holds for the run it belongs to.
    `saved` is there in a check."""

    answers: Answers
    clock: Callable[[], float]
    saved: SavedAnswers | None = None
    _choice: Choice | None = None
    _chosen_at: float = 0.0
    _ended_at: float = float("-inf")
    _places: dict[str, int] = field(default_factory=dict)
    _request: str = ""
    _turn: int = 0  # of those that the request asked for, from 0

    def key(self, asked: str, cell: Cell) -> str:
        """What identifies this prompt, with its place among equal ones of the request."""
        if cell.request != self._request or not cell.request:
            self._request, self._places, self._turn = cell.request, {}, -1
        self._turn += 1
        place = self._places[asked] = self._places.get(asked, -1) + 1
        return hashlib.sha256(f"{place}\0{asked}".encode(errors="replace")).hexdigest()[:32]

    def recorded(self, key: str, cell: Cell, *, person: bool) -> Recorded | None:
        """The answer that may be shown instead of asking the model.

        Raises `UsageError` where nobody is there and nothing is recorded, unless in a check.
        """
        if person:
            return self.answers.find(key, cell.cell) if cell.cell else None
        found = self.answers.find(key)
        if found is None and self.saved:
            return Recorded(key, "", "", "", self.saved.take(self._turn), "")
        if found is None:
            raise UsageError(NO_RECORD)
        return found

    def choice(self, cell: Cell) -> Choice | None:
        """What the person chose for the run that this cell belongs to; None: ask."""
        same_run = cell.sent <= self._chosen_at or cell.started - self._ended_at <= SAME_RUN
        return self._choice if same_run else None

    def choose(self, choice: Choice) -> None:
        self._choice, self._chosen_at = choice, self.clock()

    def cell_ended(self) -> None:
        """A cell, whichever, has ended."""
        self._ended_at = self.clock()

    def record(self, key: str, cell: Cell, prompt: str, answer: str) -> None:
        at = datetime.now().astimezone().isoformat(timespec="seconds")
        notebook = self.answers.notebook
        self.answers.add(Recorded(key, notebook, cell.cell, prompt[:200], answer, at))


def cell_of(header: dict[str, Any], cell_id: str, now: float) -> Cell:
    """The running cell by the header of its request; the front end's clock tells when it sent."""
    date = header.get("date")
    if isinstance(date, str):
        try:
            date = datetime.fromisoformat(date)
        except ValueError:
            date = None
    sent = date.timestamp() if isinstance(date, datetime) else now
    return Cell(cell_id, str(header.get("msg_id") or ""), sent, now)
