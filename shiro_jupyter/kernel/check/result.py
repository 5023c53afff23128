"""What a check found: for code, as JSON, and in what it ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...views.visible import visible
from .cells import CodeCell, Notebook
from .compare import Difference
from .forecast import Missing
from .hidden import Hidden, Order
from .run import Failure, package_of

TRACEBACK = 4_000  # characters
OF_MODEL = Difference("same", "an answer, not compared")
PASSED_OVER = Difference("same", "passed over")


@dataclass(frozen=True)
class Row:
    """A code cell: `seconds` is None where it did not run, `difference` where nothing is saved."""

    cell: CodeCell
    seconds: float | None = None
    difference: Difference | None = None


@dataclass(frozen=True)
class Result:
    """`seconds` of the whole run; `place` says where it ran; `written` is None where that could
    not be seen. `interrupted`: it stands as far as the run had come."""

    notebook: Notebook
    forecast: tuple[Missing, ...]
    rows: tuple[Row, ...]
    failure: Failure | None
    order: Order
    seconds: float
    place: str
    hidden: tuple[Hidden, ...] = ()
    written: tuple[str, ...] | None = ()
    linked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def passes(self) -> bool:
        """Whether every cell ran to its end."""
        return self.failure is None and not self.interrupted

    @property
    def differs(self) -> tuple[Row, ...]:
        return tuple(r for r in self.rows if r.difference and r.difference.how == "differs")

    @property
    def passed_over(self) -> tuple[Row, ...]:
        """Cells with a `%shiro` whose answer is not recorded on this machine."""
        return tuple(row for row in self.rows if row.difference is PASSED_OVER)

    @property
    def clean(self) -> bool:
        """Whether it passes, shows what is saved, and nothing hides in the live kernel."""
        found = self.differs, self.passed_over, self.hidden, self.order.late
        return self.passes and not any(found)

    @property
    def verdict(self) -> str:
        name, of = self.notebook.path.name, len(self.rows)
        ran = sum(row.seconds is not None for row in self.rows)
        if failure := self.failure:
            return f"{name} does not re-run: {failure.cell.name} {why(failure)}"
        if self.interrupted:
            return f"{name} was not run to its end: interrupted after {ran} of {of} cells."
        said = f"{name} re-runs: {ran} cell{'' if ran == 1 else 's'} in {self.seconds:.1f} s"
        if self.clean:
            return f"{said}."
        found = (
            (len(self.differs), "the outputs of {} differ", "cell"),
            (len(self.passed_over), "{} had no recorded answer", "%shiro cell"),
            (len(self.hidden), "only the live kernel has {}", "name"),
            (len(self.order.late), "{} ran out of order", "cell"),
        )
        what = [text.format(f"{n} {one}{'s' * (n > 1)}") for n, text, one in found if n]
        return f"{said}, but {', '.join(what)}."

    def as_json(self) -> dict[str, Any]:
        failure = self.failure and {
            "cell": self.failure.cell.number,
            "id": self.failure.cell.id,
            "kind": self.failure.kind,
            "error": self.failure.name,
            "message": self.failure.said,
            "traceback": visible(self.failure.traceback)[-TRACEBACK:],
        }
        cells = [
            {
                "cell": row.cell.number,
                "id": row.cell.id,
                "seconds": None if row.seconds is None else round(row.seconds, 3),
                "outputs": row.difference and row.difference.how,
                "difference": row.difference and row.difference.what,
            }
            for row in self.rows
        ]
        return self.forecast_as_json() | {
            "passes": self.passes,
            "clean": self.clean,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "failure": failure,
            "cells": cells,
            "passed_over": [row.cell.number for row in self.passed_over],
            "hidden": {each.name: each.origin for each in self.hidden},
            "out_of_order": [cell.number for cell, _ in self.order.late],
            "never_run": [cell.number for cell in self.order.never],
            "written": None if self.written is None else list(self.written),
            "notes": list(self.notes),
        }

    def forecast_as_json(self) -> dict[str, Any]:
        """What there is to say where nothing was run."""
        told = [
            {"cell": each.cell.number, "name": each.name, "said": each.said}
            for each in self.forecast
        ]
        return {"notebook": str(self.notebook.path), "forecast": told}


def why(failure: Failure) -> str:
    """What the cell did, and what to do where that is known."""
    match failure.kind:
        case "input":
            return "asks for input, which nobody gives in a fresh run: set the value in a cell."
        case "timeout":
            return f"was {failure.said} and was ended: allow it more, or do less at once."
        case "exited":
            return "calls exit(), which ends the kernel: the cells below do not run."
        case "died":
            return f"did not end, since {failure.said}."
    said = failure.said.strip().partition("\n")[0]
    sentence = f"fails: {failure.name}: {said}" if said else f"fails: {failure.name}"
    if failure.name == "ModuleNotFoundError":
        return f"{sentence} (install it: pip install {package_of(said)})"
    return sentence


def difference_of(cell: CodeCell, found: Difference) -> Difference | None:
    """None where no output is saved to compare with."""
    if cell.source.lstrip().startswith(("%shiro", "%%shiro")):
        return OF_MODEL
    return found if cell.outputs or cell.count is not None else None
