"""What changed between two plain JSON values, as a page applies it.

A patch is None where they are equal, else one of

    {"=": value}            replaced
    {"+": text}             appended to a string, with `"-": n` after n UTF-16 units were taken
                            off its end
    {"o": {key: patch}}     members of an object; with `"n": length` of an array, cut or made
                            longer to that length, its keys being indices
"""

from __future__ import annotations

from typing import Any

Json = None | bool | int | float | str | list[Any] | dict[str, Any]
Patch = dict[str, Any]


def diff(old: Json, new: Json) -> Patch | None:
    """The patch that makes `new` of `old`. Parts that are the same object cost nothing."""
    if old is new:
        return None
    if isinstance(old, str) and isinstance(new, str):
        return _of_text(old, new)
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() <= new.keys():
        members = {key: _member(old, key, value) for key, value in new.items()}
        changed = {key: patch for key, patch in members.items() if patch}
        return {"o": changed} if changed else None
    if isinstance(old, list) and isinstance(new, list):
        parts = {str(at): diff(*pair) for at, pair in enumerate(zip(old, new, strict=False))}
        changed = {key: patch for key, patch in parts.items() if patch}
        changed |= {str(at): {"=": new[at]} for at in range(len(old), len(new))}
        return {"o": changed, "n": len(new)} if changed or len(old) != len(new) else None
    return None if type(old) is type(new) and old == new else {"=": new}


def _member(old: dict[str, Any], key: str, value: Json) -> Patch | None:
    return diff(old[key], value) if key in old else {"=": value}


def _of_text(old: str, new: str) -> Patch | None:
    if old == new:
        return None
    kept = _common(old, new)
    if kept == 0:
        return {"=": new}
    if kept == len(old):
        return {"+": new[kept:]}
    # Python counts characters, a page the halves of those beyond the first plane, too.
    cut = len(old[kept:].encode("utf-16-le", "surrogatepass")) // 2
    shorter = kept > len(f'"-":{cut},')
    return {"-": cut, "+": new[kept:]} if shorter else {"=": new}


def _common(old: str, new: str) -> int:
    """How many characters both begin with; halving, since slices compare at the speed of C."""
    least, most = 0, min(len(old), len(new))
    if old[:most] == new[:most]:
        return most
    while most - least > 1:
        middle = (least + most) // 2
        if old[least:middle] == new[least:middle]:
            least = middle
        else:
            most = middle
    return least
