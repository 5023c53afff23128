"""What the live kernel has and a fresh run would not, and in what order cells were run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .cells import CodeCell
from .source import bound_in, read

AGENT = "code that the agent ran and that is in no cell"
_OURS = re.compile(r".*%shiro\b", re.DOTALL)
_COMMAND = re.compile(r"\s*%%?shiro\s+/\w")
UNKNOWN = "nothing that is in the notebook"


@dataclass(frozen=True)
class Live:
    """The kernel of the notebook: its names, the sources that it ran by number, and the names that
    code of the agent bound which was not kept as a cell."""

    names: Collection[str]
    history: Sequence[str] = ()
    unkept: Collection[str] = ()


@dataclass(frozen=True)
class Hidden:
    """A name of the live kernel alone, and where it came from."""

    name: str
    origin: str


@dataclass(frozen=True)
class Order:
    """Cells by their counts: those that ran after one that stands below them, those that never
    ran though others did, and how many runs are of no cell as it stands."""

    late: tuple[tuple[CodeCell, CodeCell], ...] = ()
    never: tuple[CodeCell, ...] = ()
    gone: int = 0


def hidden(
    live: Live, fresh: Collection[str], unrun: Sequence[CodeCell], cells: Sequence[CodeCell] = ()
) -> list[Hidden]:
    """`unrun` are those of all `cells` that did not run, which would bind what they name."""
    bound = set(fresh).union(*(names_bound(cell.source) for cell in unrun))
    left = sorted(name for name in live.names if name not in bound and not name.startswith("_"))
    by_history = dict[str, int]()
    for at, source in enumerate(live.history):
        if left and source:
            by_history |= dict.fromkeys(names_bound(source) & set(left), at)
    there = {cell.source.strip() for cell in cells}

    def origin(name: str) -> str:
        at = by_history.get(name)
        if at is None:
            return AGENT if name in live.unkept else UNKNOWN
        if live.history[at].strip() in there:
            return f"[{at}], which does not bind it in a fresh run"
        return f"[{at}], a cell that is gone or was changed"

    return [Hidden(name, origin(name)) for name in left]


def order(cells: Sequence[CodeCell]) -> Order:
    """By the counts that the cells show; a command of ours may be asked from anywhere. They begin
    again with each kernel: where two cells show the same one, nobody knows which of all ran first,
    unless one of the two is of ours, and has run the other."""
    written = [c for c in cells if c.source.strip() and not _COMMAND.match(c.source)]
    counted = [cell for cell in written if cell.count is not None]
    never = tuple(cell for cell in written if cell.count is None) if counted else ()
    alone = Counter(cell.count for cell in counted if not _OURS.match(cell.source))
    asked = {cell.count for cell in counted if _OURS.match(cell.source)}
    if any(number > 1 and count not in asked for count, number in alone.items()):
        return Order(never=never)
    late, highest = list[tuple[CodeCell, CodeCell]](), None
    for cell in counted:
        if highest is not None and _count(cell) < _count(highest):
            late.append((cell, highest))
        else:
            highest = cell
    counts = {_count(cell) for cell in counted}
    return Order(
        tuple(late),
        never,
        max(counts) - min(counts) + 1 - len(counts) if counts else 0,
    )


def _count(cell: CodeCell) -> int:
    assert cell.count is not None
    return cell.count


def names_bound(source: str) -> set[str]:
    """What a cell may bind in the notebook."""
    tree = read(source).tree
    return set(bound_in(tree)) if tree else set()
