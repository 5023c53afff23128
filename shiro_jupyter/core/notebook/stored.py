"""Texts of several lines as the format stores them: one string, or a list of lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

# What is no `text/…` and stored as lines all the same.
_LINES = ("application/javascript", "image/svg+xml")


def joined(text: object, between: str = "") -> str:
    """The one string; empty for None."""
    if isinstance(text, list):
        return between.join(map(str, text))
    return "" if text is None else str(text)


def stored_lines(text: str, as_list: bool) -> str | list[str]:
    return text.splitlines(keepends=True) if as_list else text


def stored_outputs(outputs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs as they come from a kernel, each text of several lines as a list of them."""
    return [_stored(output) for output in outputs]


def _stored(output: dict[str, Any]) -> dict[str, Any]:
    if output.get("output_type") == "stream" and isinstance(output.get("text"), str):
        return output | {"text": stored_lines(output["text"], as_list=True)}
    if isinstance(data := output.get("data"), dict):
        lines = {
            mime: stored_lines(content, as_list=True)
            for mime, content in data.items()
            if isinstance(content, str) and (mime.startswith("text/") or mime in _LINES)
        }
        return output | {"data": data | lines}
    return output
