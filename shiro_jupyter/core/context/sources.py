"""What goes out in a request, in tokens, by where it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, get_args

from ..transcript import Call, Item, Result
from .quoting import MEMORY
from .tokens import Measure, estimate

# Memory is what was recorded, with the notes and the task list; kernel what is live there, with the
# cells of the notebook; turn and history are what the person and the model said, and thought.
Source = Literal[
    "instructions", "memory", "tools", "kernel", "files", "commands", "history", "turn"
]
SOURCES: tuple[Source, ...] = get_args(Source)
SAID: dict[Source, str] = {
    "instructions": "instructions",
    "memory": "memory, notes, tasks",
    "tools": "tools",
    "kernel": "notebook and kernel",
    "files": "files",
    "commands": "commands",
    "history": "earlier turns",
    "turn": "this turn",
}


def sources(
    system: str,
    tools: Iterable[object],
    items: Sequence[Item],
    tail: str,
    turn: int,
    source_of: Callable[[str], Source],
    measure: Measure,
) -> dict[Source, int]:
    """Tokens by source, by estimate; together those of the whole request.

    `tools` are what goes out of each as JSON, `turn` is the one at hand. A call and its result are
    of the source of the tool, which `source_of` tells by its name.
    """
    found = dict.fromkeys(SOURCES, 0)
    found["memory"] = measure.text(memory) if (memory := memory_of(system)) else 0
    found["instructions"] = max(0, measure.text(system) - found["memory"])
    found["tools"] = sum(map(measure.schema, tools))
    found["kernel"] = estimate(tail, measure.vocabulary)
    names: dict[str, str] = {}  # of calls; a server may give an id anew in a later step
    for item in items:
        if isinstance(item, Call):
            names[item.call_id] = item.name
        if isinstance(item, Call | Result):
            source = source_of(names.get(item.call_id, ""))
        else:
            source = "turn" if item.turn == turn else "history"
        found[source] += measure.item(item)
    return found


def memory_of(system: str) -> str:
    """The block of memories in a system text, empty where there is none."""
    opening, closing = f"<{MEMORY}>", f"</{MEMORY}>"
    _, opened, rest = system.partition(opening)
    block, closed, _ = rest.partition(closing)
    return f"{opening}{block}{closing}" if opened and closed else ""
