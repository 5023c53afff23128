"""What a step costs as its conversation grows: rendering, pruning, and a search in vain."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from shiro_jupyter.core.context.prune import Pruner, shown
from shiro_jupyter.core.context.render import chat_messages, response_items
from shiro_jupyter.core.transcript import Assistant, Call, Cut, Item, Result, User

SIZES, ROUNDS = (100, 1_000, 5_000), 5
PER_TURN = 10  # steps


def conversation(size: int) -> list[Item]:
    """Turns of ten steps, each a call and its result of 600 characters."""
    items: list[Item] = []
    turn = 0
    while len(items) < size:
        turn += 1
        items.append(User(f"question {turn}", turn))
        items += [item for step in range(1, PER_TURN + 1) for item in a_step(turn, step)]
        items.append(Assistant(f"answer {turn}", turn, PER_TURN + 1))
    return items[:size]


def a_step(turn: int, step: int) -> list[Item]:
    call = f"call_{turn}_{step}"
    text = f"{turn} {step} " + "12.5, some words; " * 33
    return [
        Call(call, "read_file", f'{{"path": "{step}.py"}}', turn, step),
        Result(call, "ok", text, turn, step),
    ]


def milliseconds(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        spent.append(1000 * (time.perf_counter() - started))
    return statistics.median(spent)


def measured(size: int) -> list[float]:
    items = conversation(size)
    room = Pruner().size(items) // 2
    pruner = Pruner()
    first = milliseconds(lambda: Pruner().prune(items, room))
    pruner.prune(items, room)
    grown = [*items, *a_step(items[-1].turn, PER_TURN + 2)]
    next_step = milliseconds(lambda: pruner.prune(grown, 10 * room))
    pruner.prune(grown, 1)
    return [
        milliseconds(lambda: chat_messages("system", shown(items, Cut()), "tail")),
        milliseconds(lambda: response_items(shown(items, Cut()), "tail")),
        milliseconds(lambda: chat_messages("system", shown(items, pruner.cut), "tail")),
        first,
        next_step,
        milliseconds(lambda: pruner.prune(grown, 1)),
    ]


def main() -> None:
    print("milliseconds (median of 5) by items in the conversation")
    names = (
        "rendered for Chat Completions",
        "rendered for the Responses API",
        "rendered after a deep cut",
        "measured and cut for the first time",
        "looked at again at the next step",
        "a cut sought in vain, again",
    )
    columns = [measured(size) for size in SIZES]
    print(f"{'':38}" + "".join(f"{size:>10,}" for size in SIZES))
    for row, name in enumerate(names):
        print(f"{name:38}" + "".join(f"{column[row]:>10.2f}" for column in columns))


if __name__ == "__main__":
    main()
