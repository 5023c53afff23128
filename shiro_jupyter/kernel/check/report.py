"""A result as a document: for the person a table, for the model the same as text."""

from __future__ import annotations

from collections.abc import Sequence

from ...views.document import Block, Folded, Line, Table, Verbatim, clipped
from ...views.visible import visible
from .cells import CodeCell
from .effects import Effect
from .forecast import Missing
from .hidden import names_bound
from .result import TRACEBACK, Result, Row

UNFOLDED = 40  # cells of a table
LISTED = 20  # names or files told one by one


def report(result: Result) -> list[Block]:
    """The verdict, each cell, and what else there is to know; the first error whole."""
    blocks: list[Block] = [Line(result.verdict, strong=True)]
    if result.notebook.taken:
        blocks.append(Line(result.notebook.taken))
    if result.failure and result.failure.traceback:
        traceback = visible(result.failure.traceback)
        blocks.append(Verbatim(clipped(traceback, TRACEBACK)))
    blocks += _cells(result)
    if result.hidden:
        rows = tuple((each.name, each.origin) for each in result.hidden[:LISTED])
        left = len(result.hidden) - len(rows)
        title = "Names that the live kernel has and a fresh run would not"
        blocks += [Line(f"{title}:"), Table(("name", "bound by"), rows)]
        blocks += [Line(f"{left} more such names.")] if left else []
    blocks += [Line(sentence) for sentence in _sentences(result)]
    return blocks


def forecast_lines(missing: Sequence[Missing], cells: Sequence[CodeCell]) -> list[str]:
    """What is said before anything runs."""
    if not missing:
        return []
    first, *rest = missing
    lines = [f"Forecast: {first.said}{_where(first, cells)}."]
    if rest:
        names = ", ".join(dict.fromkeys(each.name or each.said for each in rest[:LISTED]))
        lines.append(f"After that, it lacks {names}.")
    return lines


def _where(missing: Missing, cells: Sequence[CodeCell]) -> str:
    if not missing.name:
        return ""
    below = [c for c in cells if c.number > missing.cell.number]
    for cell in below:
        if missing.name in names_bound(cell.source):
            return f", which {cell.name} below defines"
    return ", which no cell defines"


def asked(effects: Sequence[Effect]) -> str:
    """What the cells do, to be agreed to."""
    said = [each.said for each in effects[:LISTED]]
    left = len(effects) - len(said)
    return "\n".join([*said, *([f"and {left} more"] if left else [])])


def _cells(result: Result) -> list[Block]:
    rows = [row for row in result.rows if row.cell.source.strip()]
    head, tail = rows[:UNFOLDED], rows[UNFOLDED:]
    blocks: list[Block] = [_table(head, result)] if head else []
    if tail:
        blocks.append(Folded(f"{len(tail)} more cells", (_table(tail, result),)))
    return blocks


def _table(rows: Sequence[Row], result: Result) -> Table:
    lines = tuple(
        (
            str(row.cell.number),
            "" if row.seconds is None else f"{row.seconds:.1f} s",
            _said(row, result),
            row.cell.title.partition(": ")[2],
        )
        for row in rows
    )
    return Table(("cell", "time", "outputs", "first line"), lines, numbers=(0, 1))


def _said(row: Row, result: Result) -> str:
    if result.failure and row.cell is result.failure.cell:
        return "FAILS"
    if row.seconds is None:
        return "not run"
    found = row.difference
    if found is None:
        return "ran; none saved"
    if found.how == "differs":
        return "DIFFER"
    return found.what or "as saved"


def _sentences(result: Result) -> list[str]:
    order = result.order
    said = [
        f"The output of {row.cell.name} differs: {row.difference.what}."
        for row in result.differs[:LISTED]
        if row.difference
    ]
    said += [
        f"{row.cell.name} is a %shiro cell: its answer is not recorded here, so it was passed "
        "over; --live asks the model."
        for row in result.passed_over[:LISTED]
    ]
    said += [
        f"{cell.name} ran as [{cell.count}], before {other.name} above it [{other.count}]."
        for cell, other in order.late[:LISTED]
    ]
    if order.never:
        said.append(f"Never run by hand: {', '.join(c.name for c in order.never[:LISTED])}.")
    if order.gone and (order.late or result.hidden):
        one = order.gone == 1
        runs = "1 run in between is" if one else f"{order.gone} runs in between are"
        cells = "a cell that was" if one else "cells that were"
        said.append(f"{runs} of {cells} run again, changed or deleted.")
    if result.written is None:
        said.append("Which files changed could not be told: there are too many.")
    elif result.written:
        names = ", ".join(result.written[:LISTED])
        more = len(result.written) - LISTED
        more_said = f" and {more} more" if more > 0 else ""
        said.append(f"Files changed {result.place}: {names}{more_said}.")
    if result.linked:
        said.append(f"Too large to copy, so linked: {', '.join(result.linked[:LISTED])}.")
    return [*said, *result.notes]
