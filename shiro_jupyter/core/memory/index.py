"""MEMORY.md: one bullet a memory, read and edited without touching any other byte.

    - [2026-11-30 09:12:44] (gotcha) dates are day-first (see o.md) #dates <!-- source: user -->

People edit this file by hand. Every line that is not of exactly this form (headings, plain
bullets, merge markers, bytes that are no UTF-8) is kept as it is and is no memory.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple, get_args

from ..errors import TextRefused
from ..workspace.plain import CONFLICT

Kind = Literal["fact", "decision", "gotcha", "command"]
KINDS: tuple[Kind, ...] = get_args(Kind)
STAMP = "%Y-%m-%d %H:%M:%S"
BOM = b"\xef\xbb\xbf"

# What the trailing comment may tell, in this order; a handful of values each.
ABOUT = ("files", "notebook", "modules", "frames", "columns", "branch", "source")
ABOUT_VALUES, ABOUT_LENGTH = 5, 80

_STAMP = r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\] +"
_BULLET = re.compile(rf"- {_STAMP}([^\r\n]+)")
_PASTED = re.compile(rf"(?:- )?{_STAMP}(?=\S)")
_KIND = re.compile(rf"\(({'|'.join(KINDS)})\):? +(?=\S)", re.IGNORECASE)
# A tag begins with a letter, so that "see pull request #12" keeps its number.
_TAG = re.compile(r"#([^\W\d_](?:[\w./-]*\w)?)")
# As people end a sentence with them: `#orders, #dates.`, `#orders,#dates`.
_TAGS = re.compile(rf"{_TAG.pattern}(?:[,;]{_TAG.pattern})*[.,;:!]*")
_TOPIC = re.compile(r"\w[\w. -]*\.md")
_POINTER = re.compile(rf"see:? +([`'\"]?)({_TOPIC.pattern})\1\)[.,;:!]*", re.IGNORECASE)
# Only what ends or quotes a sentence: "use C++" and "use C" are two memories.
_EDGE = " .,;:!?…'\"“”‘’«»`"
# The rest of a line that an editor wrapped; an item below it is a note of its own.
_WRAPPED = re.compile(r"[ \t]+(?!(?:[-*+]|\d+[.)]|#{1,6})(?:\s|$)|[>|<]|```|~~~)\S")
# What was meant as a memory and is none: a stamp after a bullet, not the text of a link.
_NEARLY = re.compile(r"\s*[-*+]\s*\[\s*\d[^\]]*\](?!\()")


@dataclass(frozen=True)
class Entry:
    """One memory. `about` is the body of the trailing comment, never sent to a model."""

    stamp: str
    text: str
    kind: Kind = "fact"
    topic: str = ""
    tags: tuple[str, ...] = ()
    about: str = ""

    @cached_property
    def folded(self) -> str:
        """What makes two memories the same."""
        return fold(self.text)

    @cached_property
    def id(self) -> str:
        """Six hex digits of the folded text."""
        return hashlib.sha256(self.folded.encode()).hexdigest()[:6]

    @cached_property
    def recorded(self) -> Mapping[str, tuple[str, ...]]:
        """`about` by name; parts of another form are passed over."""
        parts = (part.partition(":") for part in self.about.split(";"))
        return {
            name.strip(): tuple(each.strip() for each in values.split(",") if each.strip())
            for name, colon, values in parts
            if colon
        }

    @property
    def pointed(self) -> str:
        """The text with its pointer."""
        return f"{self.text} (see {self.topic})" if self.topic else self.text

    @property
    def said(self) -> str:
        """The text with its pointer and tags."""
        return self.pointed + "".join(f" #{tag}" for tag in self.tags)

    @property
    def label(self) -> str:
        """The kind as it stands before the text, empty for a plain fact."""
        return f"({self.kind}) " if self.kind != "fact" or _KIND.match(self.said) else ""

    def line(self) -> str:
        """The bullet as it stands in the file, without a newline."""
        # A text that ends in a comment of its own gets ours after it, so that it stays text.
        about = f" <!-- {self.about} -->" if self.about or self.said.endswith("-->") else ""
        return f"- [{self.stamp}] {self.label}{self.said}{about}"


class Parts(NamedTuple):
    """What a line says, taken apart; no kind where it names none."""

    text: str
    kind: Kind | None = None
    topic: str = ""
    tags: tuple[str, ...] = ()


def fold(text: str) -> str:
    """Case, white space and edge punctuation folded."""
    folded = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return folded.strip(_EDGE) or folded


def is_topic_name(name: str) -> bool:
    """Whether it is the plain name of a Markdown file beside the index, which is none itself."""
    return bool(_TOPIC.fullmatch(name)) and name.casefold() != "memory.md"


@lru_cache(maxsize=4096)  # the file is read again at every operation, and few lines change
def parse_line(line: str) -> Entry | None:
    """The memory in a line without its newline, or None where it is of another form."""
    found = _BULLET.fullmatch(line)
    if not found or not _is_time(found[1]):
        return None
    rest, about = _without_comment(found[2].strip())
    text, kind, topic, tags = parts(rest)
    return Entry(found[1], text, kind or "fact", topic, tags, about) if text else None


def plain(text: str) -> str:
    """A text without the stamp and the comment that it has where it was pasted from the file or
    from a list."""
    text = text.strip()
    pasted = _PASTED.match(text)
    return _without_comment(text[pasted.end() :])[0] if pasted else text


def parts(text: str) -> Parts:
    kind: Kind | None = None
    if named := _KIND.match(text):
        kind, text = _kind(named[1]), text[named.end() :]
    text, topic, tags = _without_ending(text)
    return Parts(text, kind, topic, tags)


def is_tag(word: str) -> bool:
    return bool(_TAGS.fullmatch(word))


def compose(
    text: str,
    stamp: datetime,
    kind: Kind | None = None,
    tags: Iterable[str] = (),
    topic: str = "",
    about: Mapping[str, Sequence[str]] | None = None,
) -> Entry:
    """The entry that `parse_line` reads back from its own line.

    Tags and a pointer typed at the end of the text are taken as such, and so is a kind before it
    where none is given. Raises `TextRefused` for a tag or topic that is none; the text itself is
    the caller's to check.
    """
    if kind is None:
        rest, kind, pointer, typed = parts(text.strip())
    else:
        rest, pointer, typed = _without_ending(text.strip())
    if topic:
        topic = topic if topic.endswith(".md") else f"{topic}.md"
        if not is_topic_name(topic):
            raise TextRefused(
                f"“{topic}” is no topic: give the plain name of a Markdown file in the memory "
                "folder."
            )
        if pointer not in ("", topic):
            rest = f"{rest} (see {pointer})"
    wanted = dict.fromkeys([*typed, *(_tag(each) for each in tags)])
    stamped, topic = stamp.strftime(STAMP), topic or pointer
    return Entry(stamped, rest, kind or "fact", topic, tuple(wanted), _about(about or {}))


@dataclass(frozen=True)
class Broken:
    """A line, counted from 1, and what is wrong with it."""

    number: int
    fault: str
    line: bytes


@dataclass(frozen=True)
class Index:
    """The bytes of one MEMORY.md and the memories in them."""

    raw: bytes = b""
    # Position of a memory's line in `_lines`, in file order.
    found: tuple[tuple[int, Entry], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found = []
        for number in range(len(self._lines)):
            try:
                entry = parse_line(self.line(number))
            except UnicodeDecodeError:
                continue
            if entry:
                found.append((number, entry))
        object.__setattr__(self, "found", tuple(found))

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for _, entry in self.found)

    @cached_property
    def _lines(self) -> tuple[bytes, ...]:
        """The lines with their ends, without the byte order mark; joined they are the file."""
        return tuple(re.findall(rb"[^\n]*\n|[^\n]+", self.raw.removeprefix(BOM)))

    @property
    def _mark(self) -> bytes:
        return BOM if self.raw.startswith(BOM) else b""

    def line(self, number: int) -> str:
        """The line at that position without its end. Raises `UnicodeDecodeError`."""
        return _unended(self._lines[number]).decode()

    def memory_lines(self) -> list[str]:
        """The lines of the memories, as they stand."""
        return [self.line(number) for number, _ in self.found]

    def broken(self) -> list[Broken]:
        """The lines to mend: what was meant as a memory and is none, or a merge left behind."""
        memories = {number for number, _ in self.found}
        return [
            Broken(at + 1, fault, line)
            for at, line in enumerate(self._lines)
            if at not in memories and (fault := self._fault(at, memories))
        ]

    def _fault(self, at: int, memories: Container[int]) -> str:
        try:
            text = self.line(at)
        except UnicodeDecodeError:
            return "bytes that are no UTF-8"
        if CONFLICT.match(text):
            return "the mark of a merge conflict"
        if _NEARLY.match(text):
            return "no stamp like “- [2026-11-30 09:12:44] ”"
        if at - 1 in memories and self.wraps(at - 1):
            return "the rest of a wrapped line (join it to the one above)"
        return ""

    def wraps(self, number: int) -> bool:
        """Whether the line at that position goes on in the next one, which then stays behind."""
        try:
            return number + 1 < len(self._lines) and bool(_WRAPPED.match(self.line(number + 1)))
        except UnicodeDecodeError:
            return False

    def append(self, entry: Entry) -> Index:
        """With the entry as last line, in the file's own way of ending lines.

        The line ends, and so does the one before it: where neither did, git's union merge of two
        such files would keep the old line twice.
        """
        line = entry.line().encode()
        ended = [each for each in self._lines[-2:] if each.endswith(b"\n")]
        end = b"\r\n" if ended and ended[-1].endswith(b"\r\n") else b"\n"
        open_ended = bool(self._lines) and not self._lines[-1].endswith(b"\n")
        return Index(self.raw + (end if open_ended else b"") + line + end)

    def swap(self, number: int, entry: Entry) -> Index:
        """With the entry in the place of the line at that position, which keeps its end."""
        lines = list(self._lines)
        old = lines[number]
        lines[number] = entry.line().encode() + old[len(_unended(old)) :]
        return Index(self._mark + b"".join(lines))

    def remove(self, number: int) -> Index:
        """Without the line at that position; nothing else changes.

        A file without a final newline stays one, unless that would take a blank line, too.
        """
        lines = list(self._lines)
        gone = lines.pop(number)
        if number == len(lines) and lines and not gone.endswith(b"\n"):
            lines[-1] = _unended(lines[-1]) or lines[-1]
        return Index(self._mark + b"".join(lines))


def _unended(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _is_time(stamp: str) -> bool:
    try:
        datetime.fromisoformat(stamp)  # many times faster than strptime
    except ValueError:
        return False
    return True


def _kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind == name.lower())


def _without_comment(rest: str) -> tuple[str, str]:
    start = rest.rfind("<!--")
    if start < 0 or not rest.endswith("-->") or start + 4 > len(rest) - 3:
        return rest, ""
    return rest[:start].rstrip(), rest[start + 4 : -3].strip()


def _without_ending(text: str) -> tuple[str, str, tuple[str, ...]]:
    """The text without the pointer and the tags around it, that pointer, those tags."""
    text, tags = _without_tags(text)
    text, topic = _without_topic(text)
    if topic:
        text, before = _without_tags(text)
        tags = [*before, *tags]
    return text, topic, tuple(dict.fromkeys(tags))


def _without_tags(rest: str) -> tuple[str, list[str]]:
    words: list[str] = []
    while True:
        split = rest.rsplit(maxsplit=1)
        if len(split) < 2 or not is_tag(split[1]):
            found = (tag for word in reversed(words) for tag in _TAG.findall(word))
            return rest.rstrip(), list(found)
        rest = split[0]
        words.append(split[1])


def _without_topic(rest: str) -> tuple[str, str]:
    text, _, pointer = rest.rpartition("(")
    found = _POINTER.fullmatch(pointer)
    if not (found and is_topic_name(found[2]) and text[-1:].isspace() and text.strip()):
        return rest, ""
    return text.rstrip(), found[2]


def _tag(given: str) -> str:
    tag = re.sub(r"[^\w./-]+", "-", given.strip().removeprefix("#")).strip("-./")
    if not _TAG.fullmatch(f"#{tag}"):
        raise TextRefused(f"“{given}” is no tag: a tag is one word that begins with a letter.")
    return tag


def _about(about: Mapping[str, Sequence[str]]) -> str:
    parts = []
    for name in ABOUT:
        values = [each for each in about.get(name, ()) if _fits_comment(each)][:ABOUT_VALUES]
        if values:
            parts.append(f"{name}: {', '.join(values)}")
    return "; ".join(parts)


def _fits_comment(value: str) -> bool:
    # A value that would end the comment or split a list is left out: it is only a help to recall.
    return (
        0 < len(value) <= ABOUT_LENGTH
        and value.isprintable()
        and value == value.strip()
        and not any(mark in value for mark in (",", ";", "--", "<", ">"))
    )
