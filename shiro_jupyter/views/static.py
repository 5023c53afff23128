"""What is left behind of a turn: a document that reads without a kernel, widgets or scripts."""

from __future__ import annotations

from collections import Counter

from ..core import todos as tasks
from .document import Block, Bundle, Folded, Line, Prose, Verbatim, bundle, clipped
from .state import Said, ToolUse, TurnState, footer, tool_details
from .visible import output_text, summary_line
from .wording import MARKS, OUTCOME_WORDS, data_lines

# A longer prompt is folded; the cell above shows it anyway.
PROMPT_OPEN = 1_000
# Characters of a call's result; the whole of it is in the session's log.
RESULT_SHOWN = 1_200


def left_behind(state: TurnState) -> Bundle:
    """The bundle that replaces the live view at the end of a turn."""
    return bundle(left_blocks(state))


def left_blocks(state: TurnState) -> list[Block]:
    """Prompt, answer, tools folded, what changed, task list, and how the turn ended."""
    blocks = [*prompt_block(state), *asked_blocks(state)]
    if state.answer:
        blocks.append(Prose(state.answer))
    blocks += [Line(line) for line in data_lines(state.data)]
    if state.tools:
        blocks.append(_work(state))
    blocks += [Line(note) for note in state.notes]
    if state.todos_changed and state.todos:
        blocks.append(Verbatim(f"{tasks.bar(state.todos)}\n{tasks.lines(state.todos)}"))
    if state.ended and state.ended.reason:
        blocks.append(Line(state.ended.reason, strong=True))
    blocks.append(Line(footer(state)))
    return blocks


def prompt_block(state: TurnState) -> list[Block]:
    """The prompt, folded where it is long, nothing where there is none."""
    prompt = Verbatim(state.prompt, quoted=True)
    if len(state.prompt) > PROMPT_OPEN:
        return [Folded(f"prompt, {len(state.prompt):,} characters", (prompt,))]
    return [prompt] if state.prompt else []


def asked_blocks(state: TurnState) -> list[Block]:
    """What the person sent into the turn."""
    return [Verbatim(clipped(text, PROMPT_OPEN), quoted=True) for text in state.asked]


def tool_line(use: ToolUse) -> Line:
    """`✗ bash `pytest -q` failed · 2.1 s`."""
    mark = MARKS[use.outcome] if use.outcome else "⋯"
    return Line(f"{mark} {use.name}", summary_line(use.summary), tool_details(use))


def _work(state: TurnState) -> Folded:
    """All that was said and done before the answer, in order."""
    last = next((each for each in reversed(state.work) if isinstance(each, Said)), None)
    inner: list[Block] = []
    for each in state.work:
        if isinstance(each, Said) and each is not last:
            inner.append(Prose(each.text))
        if not isinstance(each, ToolUse):
            continue
        inner.append(tool_line(each))
        if text := output_text(each.text).strip():
            inner.append(Verbatim(clipped(text, RESULT_SHOWN)))
    uses = state.tools
    title = f"{len(uses)} tool call{'s' if len(uses) > 1 else ''}"
    ended = Counter(OUTCOME_WORDS[use.outcome or "ok"] for use in uses)
    bad = [f"{number} {words}" for words, number in ended.items() if words]
    return Folded(", ".join((title, *bad)), tuple(inner))
