"""A note that grows too long: decisions merged by a model, done steps counted by code.

Nothing that a decision names, no correction, and no step that failed, runs or was reverted goes.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import groupby

from ..context.named import lost
from ..context.tokens import estimate
from ..errors import ShiroError
from .note import Note, settled

MERGE_OVER, COLLAPSE_OVER = 12_000, 20_000  # tokens of the body
LABEL = 80  # characters of a step that a summary quotes

Ask = Callable[[str], Awaitable[str]]

PROMPT = """\
Below are the key decisions of a work session, as data. Merge those that are about the same \
thing into one: the choice first, then why. Leave every other one as it is, in its place. Keep \
every name, number, path, identifier and quoted word. Answer with the decisions alone, as \
Markdown bullets.

{decisions}"""

_DONE = "✓"
_SUMMARY = re.compile(rf"{_DONE} (\d+) steps, from “(.*)” to “(.*)”")


@dataclass(frozen=True)
class Fitted:
    """`note` is the one given where nothing could be done; `said` are sentences to tell."""

    note: Note
    said: tuple[str, ...] = ()


async def fit(note: Note, ask: Ask | None, *, tried: bool = False) -> Fitted:
    """The note under its budget, as far as that goes without a loss.

    `ask` has a model answer a prompt, None where there is none; `tried`: these decisions could
    not be merged before.
    """
    size = estimate(note.body)
    if size <= MERGE_OVER:
        return Fitted(note)
    fitted, said = note, []
    if size > COLLAPSE_OVER:
        fitted = fitted.with_text("Worklog", collapsed(note.text("Worklog")))
    decisions = note.text("Key Decisions")
    if decisions and not tried:
        merged, why = await _merged(decisions, ask)
        fitted = fitted.with_text("Key Decisions", merged)
        said += [f"The key decisions were kept whole: {why}."] if why else []
    if fitted == note and tried:
        return Fitted(note)
    after = estimate(fitted.body)
    if after > MERGE_OVER:
        said.append(
            f"The note has about {after:,} tokens, over its {MERGE_OVER:,}: shorten Current State "
            "or Files and Functions, or archive it with done."
        )
    return Fitted(fitted, tuple(said))


async def _merged(before: str, ask: Ask | None) -> tuple[str, str]:
    """The decisions after a merge; or as they are, and why."""
    if not ask:
        return before, "there is no model to merge them"
    try:
        after = settled(await ask(PROMPT.format(decisions=before)))
    except ShiroError as error:
        return before, f"the model could not be asked ({str(error).rstrip('.')})"
    if not after:
        return before, "the model's merge is empty"
    if gone := lost(before, after):
        return before, f"the model's merge lost {', '.join(gone[:5])}"
    if estimate(after) >= estimate(before):
        return before, "the model's merge is no shorter"
    return after, ""


def collapsed(worklog: str) -> str:
    """The worklog with each run of done steps as one line; all other lines as they are."""
    out: list[str] = []
    for done, lines in groupby(worklog.split("\n"), lambda line: line.startswith(_DONE)):
        run = list(lines)
        out += [_summary(run)] if done and len(run) > 1 else run
    return "\n".join(out)


def _summary(run: list[str]) -> str:
    counts, firsts, lasts = zip(*map(_steps, run), strict=True)
    return f"{_DONE} {sum(counts)} steps, from “{firsts[0]}” to “{lasts[-1]}”"


def _steps(line: str) -> tuple[int, str, str]:
    """How many steps a line stands for, and the first and last of them."""
    if found := _SUMMARY.fullmatch(line):
        return int(found[1]), found[2], found[3]
    text = line.removeprefix(_DONE).strip()
    label = text if len(text) <= LABEL else text[: LABEL - 1] + "…"
    return 1, label, label
