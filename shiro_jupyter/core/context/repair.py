"""What holds of every request, whatever a crash, a fork or a damaged file did to the items.

Pure, idempotent, and the identity on a healthy transcript.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from ..transcript import Assistant, Call, Item, Note, Reasoning, Result, Summary, User

NOT_EXECUTED = "Not executed: no result of this call is known."
LOST_START = "The beginning of this conversation is missing."
# What every endpoint takes back as the id of a call; a model or a server may make up any other.
# OpenAI's Chat Completions take no longer ones.
_FIT_ID = re.compile(r"[!-~]{1,40}")

_Model = Assistant | Reasoning | Call


def repaired(items: Sequence[Item]) -> tuple[Item, ...]:
    """The items with these made true:

    every result has its call before it and every call exactly one result, right after the
    response that held it; call ids are unique and fit to send; no message is
    empty; a reasoning item has what it led to; the first item is the user's.
    """
    paired = _pair([item for item in items if not _is_blank(item)])
    mended: list[Item] = []
    for group in _groups(paired):
        mended += _mended(group)
    if mended and not isinstance(mended[0], User | Note | Summary):
        mended.insert(0, Note(LOST_START, mended[0].turn))
    return tuple(mended)


def without_reasoning(
    items: Sequence[Item], drop: Callable[[Reasoning], bool] = lambda reasoning: True
) -> tuple[Item, ...]:
    """The items less the reasoning to drop. What else came in the same response stays, without
    its provider ids, which would refer to what is no longer there."""
    kept: list[Item] = []
    for group in responses(items):
        rest = [item for item in group if not (isinstance(item, Reasoning) and drop(item))]
        kept += rest if len(rest) == len(group) else [_anonymous(item) for item in rest]
    return tuple(kept)


def responses(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Runs of what one model response held; every other item is a run of its own."""
    run: list[Item] = []
    for item in items:
        if run and not (_from_model(item) and _from_model(run[0]) and _step(item) == _step(run[0])):
            yield run
            run = []
        run.append(item)
    if run:
        yield run


def is_fit_id(call_id: str) -> bool:
    return _FIT_ID.fullmatch(call_id) is not None


def _from_model(item: Item) -> bool:
    return isinstance(item, _Model)


def _step(item: Item) -> tuple[int, int]:
    return item.turn, getattr(item, "step", 0)


def _is_blank(item: Item) -> bool:
    return isinstance(item, User | Assistant | Note | Summary) and not item.text.strip()


def _anonymous(item: Item) -> Item:
    return replace(item, provider_id="") if isinstance(item, _Model) else item


def _pair(items: list[Item]) -> list[Item]:
    """Calls with unique, fit ids, and their results under the same; no orphaned results."""
    taken = {item.call_id for item in items if isinstance(item, Call)}
    seen: set[str] = set()
    waiting: dict[str, deque[str]] = defaultdict(deque)
    paired: list[Item] = []
    for item in items:
        if isinstance(item, Call):
            call_id = item.call_id
            if not is_fit_id(call_id):
                call_id = _fresh(f"call_{item.turn}_{item.step}", taken)
            elif call_id in seen:
                call_id = _fresh(call_id[:30], taken)
            seen.add(call_id)
            waiting[item.call_id].append(call_id)
            paired.append(item if call_id == item.call_id else replace(item, call_id=call_id))
        elif isinstance(item, Result):
            if not waiting[item.call_id]:
                continue
            call_id = waiting[item.call_id].popleft()
            paired.append(item if call_id == item.call_id else replace(item, call_id=call_id))
        else:
            paired.append(item)
    return paired


def _fresh(call_id: str, taken: set[str]) -> str:
    number = 2
    while f"{call_id}_{number}" in taken:
        number += 1
    taken.add(f"{call_id}_{number}")
    return f"{call_id}_{number}"


def _groups(items: list[Item]) -> Iterator[list[Item]]:
    """Each response followed by the results of its calls, in the order they came."""
    results = {
        item.call_id: (at, item) for at, item in enumerate(items) if isinstance(item, Result)
    }
    for run in responses(items):
        if isinstance(run[0], Result):
            continue  # follows its call
        calls = [item.call_id for item in run if isinstance(item, Call)]
        known = sorted((results[each] for each in calls if each in results), key=itemgetter(0))
        yield [*run, *(result for _, result in known)]


def _mended(group: list[Item]) -> list[Item]:
    """One response and its results: no reasoning without its follower, no call left open."""
    model = [item for item in group if _from_model(item)]
    followed = list(model)
    while followed and isinstance(followed[-1], Reasoning):
        followed.pop()
    if len(followed) < len(model):
        followed = [_anonymous(item) for item in followed]
    rest = group[len(model) :]
    answered = {item.call_id for item in rest if isinstance(item, Result)}
    missing = [
        Result(item.call_id, "skipped", NOT_EXECUTED, item.turn, item.step)
        for item in followed
        if isinstance(item, Call) and item.call_id not in answered
    ]
    return [*followed, *rest, *missing]
