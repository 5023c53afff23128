"""Reading a note that anybody may have edited: every text gives a whole note, and no text goes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import pairwise

from .note import (
    HEADING,
    HEADINGS,
    NOTHING,
    SECTIONS,
    UNTITLED,
    Note,
    Status,
    fences,
    settled,
)

_FRONT = re.compile(r"---[ \t\r]*\n(.*?)^---[ \t\r]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"(id|status|session|created|updated|notebook):[ \t]*(.*?)[ \t]*")
_DEEPER = re.compile(r" {0,3}#{3,6}[ \t]+")
_TITLE = re.compile(r"Session:[ \t]*", re.IGNORECASE)


@dataclass
class _Chunk:
    """A heading as written, and the lines under it; `at` is its section where it is one."""

    heading: str = ""
    words: str = ""
    level: int = 0
    at: int | None = None
    lines: Sequence[str] = ()


def parse(text: str, known: Note) -> tuple[Note, tuple[str, ...]]:
    """The note in a file's text, and a sentence for each thing that had to be repaired.

    The id, which the file's name tells, and what else is gone are taken from `known`.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    note = front_of(text, known)
    repairs = [] if note else ["Its front matter was gone."]
    chunks = _chunks(body_of(text).split("\n"))
    title, chunks = _titled(chunks)
    if not title:
        repairs.append("Its title was gone.")
    texts, more = _sections(chunks)
    note = replace(note or known, title=title or known.title, texts=tuple(texts))
    return note, (*repairs, *more)


def front_of(text: str, known: Note) -> Note | None:
    """A note without its texts, of what the front matter says; None where there is none."""
    found = _FRONT.match(text)
    if not found:
        return None
    fields: dict[str, str] = {}
    others = []
    for line in found[1].split("\n"):
        field = _FIELD.fullmatch(line)
        if field and field[1] not in fields:
            fields[field[1]] = field[2]
        elif line.strip():
            others.append(line)
    status: Status = "archived" if fields.get("status", "").lower() == "archived" else "active"
    return replace(
        known,
        status=status,
        session=fields.get("session", ""),
        created=fields.get("created") or known.created,
        updated=fields.get("updated", ""),
        notebook=fields.get("notebook", ""),
        others=tuple(others),
    )


def body_of(text: str) -> str:
    """What follows the front matter, verbatim."""
    found = _FRONT.match(text)
    return text[found.end() :] if found else text


# -- the parts -------------------------------------------------------------------------------


def _chunks(lines: list[str]) -> list[_Chunk]:
    """The text above the first heading, then one chunk for each heading of the first two levels,
    and for each deeper one that means a section which has none.

    A heading inside a code fence is none; but where somebody left a fence open, those of ours
    that it would swallow are the structure.
    """
    outside = [at for at, (_, inside, _) in enumerate(fences(lines)) if not inside]
    starts = [at for at in outside if HEADING.fullmatch(lines[at])]
    there = {_section(lines[at].lstrip(" #")) for at in starts} - {None}
    for at in outside:
        if _DEEPER.match(lines[at]) and (named := _section(lines[at].lstrip(" #"))) is not None:
            starts += [] if named in there else [at]
            there.add(named)
    ours = _in_order(lines)
    if len(ours) > len(there):
        starts = [at for at in starts if at < ours[0]] + ours
    starts.sort()
    chunks = [_Chunk(lines=lines[: starts[0] if starts else None])]
    for start, end in pairwise([*starts, len(lines)]):
        words = lines[start].strip().lstrip("#")
        level = len(lines[start].strip()) - len(words)
        words = words.strip()
        chunks.append(_Chunk(lines[start], words, level, _section(words), lines[start + 1 : end]))
    return chunks


def _in_order(lines: list[str]) -> list[int]:
    """Where the most headings of ours stand in their order, wherever that is."""
    best: list[list[int]] = [[] for _ in HEADINGS]  # ending at each heading
    for at, line in enumerate(lines):
        if line in HEADINGS:
            end = HEADINGS.index(line)
            before = max(best[:end], key=len, default=[])
            if len(before) + 1 >= len(best[end]):
                best[end] = [*before, at]
    return max(best, key=len)


def _titled(chunks: list[_Chunk]) -> tuple[str, list[_Chunk]]:
    """The title, empty where there is none, and the chunks with its own made a plain one."""
    tops = [chunk for chunk in chunks if chunk.level == 1 and chunk.at is None]
    named = [chunk for chunk in tops if _TITLE.match(chunk.words)]
    # One that does not say `Session:` is the title only where a title stands.
    first = [chunk for chunk in tops if chunk is next((c for c in chunks if c.heading), None)]
    if not (named or first):
        return "", chunks
    chosen = (named or first)[0]
    title = " ".join(_TITLE.sub("", chosen.words, count=1).split())
    plain = _Chunk(lines=chosen.lines)
    return title or UNTITLED, [plain if chunk is chosen else chunk for chunk in chunks]


def _sections(chunks: list[_Chunk]) -> tuple[list[str], list[str]]:
    """The text of each section, and what was repaired."""
    repairs: list[str] = []
    renamed = _renamed(chunks)
    written: list[int] = []
    texts = [""] * len(SECTIONS)
    here = 0
    for number, chunk in enumerate(chunks):
        text = "\n".join(chunk.lines)
        at = chunk.at
        if at is None and number in renamed:
            at = renamed[number]
            repairs.append(f"“{chunk.heading}” became “{HEADINGS[at]}”.")
        elif at is not None and chunk.heading != HEADINGS[at]:
            repairs.append(f"“{chunk.heading}” became “{HEADINGS[at]}” again.")
        if at is not None and at in written:
            repairs.append(f"“{HEADINGS[at]}” stood there again: both are one.")
        elif at is not None:
            written.append(at)
        here = here if at is None else at
        if chunk.heading and chunk.at is None:  # words of a person's own stay
            text = f"### {chunk.words}\n{text}"
            if at is None:
                repairs.append(f"“{chunk.heading}” is no section: it stays under {SECTIONS[here]}.")
        elif not chunk.heading and text.strip() and not written:
            repairs.append(f"What stood above the sections is under {SECTIONS[0]}.")
        added = settled(text)
        if _filled(added) != _filled(text):
            repairs.append(f"What could pass for structure under {SECTIONS[here]} was made plain.")
        texts[here] = "\n\n".join(filter(None, [texts[here], added]))
    repairs += [
        f"“{HEADINGS[at]}” was missing." for at in range(len(SECTIONS)) if at not in written
    ]
    if written != sorted(written):
        repairs.append("The sections are in their order again.")
    return texts, repairs


def _renamed(chunks: list[_Chunk]) -> dict[int, int]:
    """Foreign headings that stand exactly where headings of ours are missing: their sections."""
    known = [(number, chunk.at) for number, chunk in enumerate(chunks) if chunk.at is not None]
    there = {at for _, at in known}
    found: dict[int, int] = {}
    edges = [(-1, -1), *known, (len(chunks), len(SECTIONS))]
    for (start, before), (end, after) in pairwise(edges):
        foreign = [
            number
            for number in range(start + 1, end)
            if chunks[number].level == 2 and chunks[number].at is None
        ]
        missing = [at for at in range(before + 1, after) if at not in there]
        if len(foreign) == len(missing):
            found |= dict(zip(foreign, missing, strict=True))
    return found


def _section(words: str) -> int | None:
    """The section that a heading means, however it is written, also with a slip of the pen."""
    names = [_folded(name) for name in SECTIONS]
    near = get_close_matches(_folded(words), names, n=1, cutoff=0.85)
    return names.index(near[0]) if near else None


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.replace("&", "and").casefold())


def _filled(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip() not in ("", NOTHING)]
