"""git's wildmatch: the patterns of ignore files as regular expressions over bytes.

What git decides is decided the same, odd corners included (a `?` is one byte, not one character).
Between two stars the first place that fits is as good as any later one; so nothing goes back over
it, and the time that a match takes grows with the name and not with its powers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb"\t-\r ",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
ALTERNATIVES = 200
_BRACES = re.compile(r"(?<!\\)\{([^{}]*,[^{}]*)\}")
_PLAIN = re.compile(r"[\w.*-]+", re.ASCII)
_SPECIAL = re.compile(rb"[*?\[\\]")
# What stands between two chunks of a pattern: any text in a name, any folders or none, any text.
_NAME, _FOLDERS, _ALL = b"*", b"**/", b"**"


@lru_cache(10_000)
def wildmatch(pattern: bytes, *, path: bool) -> re.Pattern[bytes] | None:
    """What the whole of a name must match, None where nothing ever does.

    `path`: the name is one with slashes, which only `**` crosses; else it is a plain name.
    """
    try:
        parts = list(_parts(pattern, path))
    except ValueError:
        return None
    # Chunks and what stands between them, alternating: chunk, star, chunk, …, chunk.
    regex = parts[0]
    stars = parts[1::2]
    last_free = max((n for n, star in enumerate(stars) if star != _NAME), default=-1)
    open_free = 0
    for number, (star, chunk) in enumerate(zip(stars, parts[2::2], strict=True)):
        last_of_all = number == len(stars) - 1
        if star == _NAME:
            # The last star of a free part (or of all) must let what follows decide its length.
            regex += b"[^/]*" + chunk if last_of_all else b"(?>[^/]*?" + chunk + b")"
            continue
        regex += b")" * open_free
        open_free = int(number < last_free)
        start = b"(?>" if open_free else b""
        lazy = b"?" if open_free else b""
        free = b".*" + lazy if star == _ALL else b"(?:.*" + lazy + b"/)?" + lazy
        regex += start + free + chunk
    return re.compile(regex + b")" * open_free + rb"\Z", re.DOTALL)


class NameGlob:
    """What names of files fit, as a person writes it: as in an ignore file, so without a slash in
    any folder, and with `{a,b}` besides.

    `plain` are its forms for other programs that read such patterns, empty where they might
    differ. Raises `ValueError`, with a sentence, for what is none.
    """

    def __init__(self, pattern: str) -> None:
        forms = [each.removeprefix("./") for each in _without_braces(pattern)]
        self.plain = tuple(forms) if all(map(_is_plain, forms)) else ()
        self._whole = re.compile(b"|".join(map(_of_path, forms)), re.DOTALL)

    def fits(self, path: bytes) -> bool:
        return self._whole.match(path) is not None

    def fitting(self, paths: Iterable[bytes]) -> Iterator[bytes]:
        return filter(self._whole.match, paths)


def _of_path(form: str) -> bytes:
    data = os.fsencode(form + "**" if form.endswith("/") else form)
    path = b"/" in data
    if not (fits := wildmatch(data.removeprefix(b"/"), path=path)):
        raise ValueError(f"No name can fit {form!r}; put a \\ before a [ that is meant so.")
    return b"(?:%b%b)" % (b"" if path else b"(?:.*/)?", fits.pattern)


def _is_plain(form: str) -> bool:
    parts = form.split("/")
    return all(each == "**" or (_PLAIN.fullmatch(each) and "**" not in each) for each in parts)


def _without_braces(pattern: str) -> list[str]:
    """Each alternative by itself."""
    done: list[str] = []
    open_ = [pattern]
    while open_:
        if len(done) + len(open_) > ALTERNATIVES:
            raise ValueError(f"{pattern!r} has over {ALTERNATIVES} alternatives; give fewer.")
        form = open_.pop()
        if found := _BRACES.search(form):
            open_ += [
                form[: found.start()] + each + form[found.end() :] for each in found[1].split(",")
            ]
        else:
            done.append(form)
    return done


def _parts(pattern: bytes, path: bool) -> Iterator[bytes]:
    """Raises `ValueError` for what never matches."""
    special = _SPECIAL.search(pattern)
    first = special.start() if special else -1
    chunk = b""
    at = 0
    while at < len(pattern):
        each = pattern[at : at + 1]
        if each == b"*":
            end = at + len(pattern[at:]) - len(pattern[at:].lstrip(b"*"))
            star, end = _star(pattern, at, end, first, path)
            yield chunk
            yield star
            chunk, at = b"", end
        elif each == b"[":
            found, at = _set(pattern, at + 1)
            chunk += found
        elif each == b"?":
            chunk += b"[^/]"
            at += 1
        else:
            if each == b"\\":
                at += 1
                each = pattern[at : at + 1]
                if not each:
                    raise ValueError(pattern)
            chunk += re.escape(each)
            at += 1
    yield chunk


def _star(pattern: bytes, at: int, end: int, first: int, path: bool) -> tuple[bytes, int]:
    """Which kind of star the ones from `at` to `end` are, and where the pattern goes on.

    What comes before the first special character is compared by itself in git: a `**` right
    behind it stands at a start, as behind a slash.
    """
    after = pattern[end:]
    starts = at in (0, first) or pattern[at - 1 : at] == b"/"
    if not (path and end - at > 1 and starts):
        return _NAME, end
    if after.startswith(b"/"):
        return _FOLDERS, end + 1
    return (_ALL if not after or after.startswith(b"\\/") else _NAME), end


def _set(pattern: bytes, at: int) -> tuple[bytes, int]:
    """The bracket expression whose first character is at `at`, and where it ends."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members = b""
    before = b""  # what a range may begin with
    begun = False
    while True:
        each = _at(pattern, at)
        if each == b"]" and begun:
            break
        begun = True
        if each == b"-" and before and pattern[at + 1 : at + 2] not in (b"", b"]"):
            at += 1
            if (last := _at(pattern, at)) == b"\\":
                at += 1
                last = _at(pattern, at)
            if before <= last:
                members += re.escape(before) + b"-" + re.escape(last)
            before = b""
        elif each == b"[" and pattern[at + 1 : at + 2] == b":":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                raise ValueError(pattern)
            if end > at + 2 and pattern[end - 1 : end] == b":":
                name = pattern[at + 2 : end - 1]
                if name not in _CLASSES:
                    raise ValueError(pattern)
                members += _CLASSES[name]
                before, at = b"", end
            else:
                members += rb"\["
                before = each
        else:
            if each == b"\\":
                at += 1
                each = _at(pattern, at)
            members += re.escape(each)
            before = each
        at += 1
    found = b"[^" + members + b"]" if negated else b"[" + members + b"]"
    if not members:
        found = b"." if negated else b"(?!)"
    return b"(?!/)" + found, at + 1


def _at(pattern: bytes, at: int) -> bytes:
    if at >= len(pattern):
        raise ValueError(pattern)
    return pattern[at : at + 1]
