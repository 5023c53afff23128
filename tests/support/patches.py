"""A page's side of the patches: strings are counted in UTF-16 units, as JavaScript does."""

from __future__ import annotations

from typing import Any


def applied(value: Any, patch: dict[str, Any] | None) -> Any:
    """The value after the patch; `value` itself is not changed."""
    if patch is None:
        return value
    if "=" in patch:
        return patch["="]
    if "+" in patch:
        units = value.encode("utf-16-le", "surrogatepass")
        cut = 2 * patch.get("-", 0)
        assert cut <= len(units)
        more = patch["+"].encode("utf-16-le", "surrogatepass")
        return (units[: len(units) - cut] + more).decode("utf-16-le", "surrogatepass")
    if "n" in patch:
        items = value[: patch["n"]]
        for key, part in patch["o"].items():
            at = int(key)
            items[at : at + 1] = [applied(items[at] if at < len(items) else None, part)]
        assert len(items) == patch["n"]
        return items
    return value | {key: applied(value.get(key), part) for key, part in patch["o"].items()}


class Follower:
    """A page that follows the turns behind `before`: it takes messages in order, and sees a gap."""

    def __init__(self, before: int = 0) -> None:
        self.before = before
        self.models: dict[int, Any] = {}
        self.seqs: dict[int, int] = {}
        self.gaps = 0

    def take(self, message: dict[str, Any]) -> None:
        turn, seq, patch = message["turn"], message["seq"], message["patch"]
        if "=" not in patch:
            if turn <= self.before:
                return
            if seq <= self.seqs.get(turn, -1):
                return
            if seq != self.seqs.get(turn, -2) + 1:
                self.gaps += 1
                return
        self.models[turn] = applied(self.models.get(turn), patch)
        self.seqs[turn] = seq
