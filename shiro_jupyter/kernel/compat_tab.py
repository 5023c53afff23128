"""What touches the inside of IPython's completion; apart, since it comes with the load.

`shell.Completer.custom_matchers`, since IPython 8.6; where it is missing, Tab completes nothing of
ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from IPython.core.completer import SimpleCompletion, completion_matcher


class _Nothing(list[Any]):
    """No completions, and no others either: IPython asks others unless there are some, and asks
    that of the length alone."""

    def __len__(self) -> int:
        return 1


def on_tab(
    shell: Any, completed: Callable[[str], tuple[str, Sequence[str]] | None]
) -> Callable[[], None]:
    """Have Tab ask this first, with the cell's text before the cursor: the end of it that is to be
    replaced, and by what; None where others are to be asked. Returns the call that ends it."""
    matchers = getattr(getattr(shell, "Completer", None), "custom_matchers", None)
    if matchers is None:
        return lambda: None

    def matcher(context: Any) -> Any:
        above = context.full_text.split("\n")[: context.cursor_line]
        place = sum(len(line) + 1 for line in above) + context.cursor_position
        found = completed(context.full_text[:place])
        if found is None:
            return {"completions": [], "suppress": False}
        texts = [SimpleCompletion(text, type="shiro") for text in found[1]] or _Nothing()
        return {
            "completions": texts,
            "matched_fragment": found[0],
            "ordered": True,
            "suppress": True,
        }

    # Ahead of those that look into live objects.
    first: Any = completion_matcher(priority=1_000, identifier="shiro", api_version=2)
    matchers.append(first(matcher))

    def end() -> None:
        if matcher in matchers:
            matchers.remove(matcher)

    return end
