"""A whole session as a Markdown file to read and to hand on."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence

from ..core.transcript import Assistant, Call, Item, Note, Reasoning, Result, Summary, User
from .markdown_safe import fenced, html_text, markdown_text, to_markdown
from .visible import output_text, summary_line
from .wording import MARKS, OUTCOME_WORDS


def exported(title: str, about: str, items: Sequence[Item], redacted: Callable[[str], str]) -> str:
    """Prompts and answers of each turn, its calls folded to a line each. What models and tools
    wrote is harmless in it, and holds no secret."""
    parts = [f"# {markdown_text(redacted(title)) or 'A session'}", markdown_text(about)]
    return "\n\n".join([*parts, *_parts(items, redacted)]) + "\n"


def _parts(items: Sequence[Item], redacted: Callable[[str], str]) -> Iterator[str]:
    results = _results(items)
    turn = 0
    for item in items:
        if item.turn > turn:
            turn = item.turn
            yield f"## Turn {turn}"
        match item:
            case User(text):
                yield fenced(redacted(text))
            case Assistant(text):
                yield to_markdown(redacted(text))
            case Call(call_id):
                result = results[call_id].popleft() if results[call_id] else None
                yield _folded(item, result, redacted)
            case Note(text):
                yield markdown_text(redacted(text))
            case Summary(text):
                summary = to_markdown(redacted(text))
                yield f"<details><summary>summary of what came before</summary>\n\n{summary}"
                yield "</details>"
            case Result() | Reasoning():
                pass  # with its call; not for readers


def _results(items: Sequence[Item]) -> dict[str, deque[Result]]:
    """By the id of the call, which a server may use again."""
    found: dict[str, deque[Result]] = defaultdict(deque)
    for item in items:
        if isinstance(item, Result):
            found[item.call_id].append(item)
    return found


def _folded(call: Call, result: Result | None, redacted: Callable[[str], str]) -> str:
    arguments = redacted(call.arguments)
    mark = MARKS[result.outcome] if result else "⋯"
    words = OUTCOME_WORDS[result.outcome] if result else "no result"
    line = f"{mark} {call.name} {summary_line(arguments, 120)} {words}".rstrip()
    parts = [f"<details><summary>{html_text(line)}</summary>", fenced(arguments, "json")]
    if result and result.text.strip():
        parts.append(fenced(output_text(redacted(result.text))))
    return "\n\n".join([*parts, "</details>"])
