"""A session's note: a title and six fixed sections, whose structure code keeps, not a model.

    # Session: Load the orders and clean dates

    ## Current State

    _(nothing yet)_
    …

Values to values. What a model or a person writes under a heading can not become a heading.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..errors import NoteRefused
from ..policy.credentials import looks_credential
from ..policy.secrets import redact
from ..workspace.text import is_visible

Section = Literal[
    "Current State",
    "Task Specification",
    "Files and Functions",
    "Errors & Corrections",
    "Key Decisions",
    "Worklog",
]
SECTIONS: tuple[Section, ...] = get_args(Section)
HEADINGS = tuple(f"## {name}" for name in SECTIONS)
Status = Literal["active", "archived"]
Edit = Literal["add", "replace", "remove"]
NOTHING = "_(nothing yet)_"
MARKS = "✓✗→↺"
TITLE_WORDS, TITLE_LENGTH = (3, 8), 80
UNTITLED = "Work without a title"
CANDIDATES, CANDIDATE_LENGTH = 5, 80

HEADING = re.compile(r" {0,3}(#{1,2})(?:[ \t]+|$)(.*)")
_FENCE = re.compile(r"( {0,3}(?:(?:[-*+]|\d{1,9}[.)]) +)*)(`{3,}(?=[^`]*$)|~{3,})")
_UNDERLINE = re.compile(r"( {0,3})(?=(?:=+|-+)[ \t]*$)")
# What would hide all that follows, up to the end of the document.
_OPEN_HTML = re.compile(r"( {0,3})(?=<(?:[!?]|script|pre|style|textarea))", re.IGNORECASE)
_STEP = re.compile(rf"(?:[-*] +)?([{MARKS}])\s*(\S.*)")


@dataclass(frozen=True)
class Note:
    """Front matter, title and the text under each heading, empty where there is nothing yet.

    Stamps are local time. `notebook` is relative to the project, empty where there is none;
    `others` are lines of the front matter that are not ours, kept.
    """

    id: str
    session: str = ""
    created: str = ""
    updated: str = ""
    title: str = UNTITLED
    status: Status = "active"
    notebook: str = ""
    others: tuple[str, ...] = ()
    texts: tuple[str, ...] = ("",) * len(SECTIONS)

    def text(self, section: Section) -> str:
        return self.texts[SECTIONS.index(section)]

    def with_text(self, section: Section, text: str) -> Note:
        at = SECTIONS.index(section)
        return replace(self, texts=(*self.texts[:at], settled(text), *self.texts[at + 1 :]))

    @property
    def front(self) -> str:
        fields = {
            "id": self.id,
            "status": self.status,
            "session": self.session,
            "created": self.created,
            "updated": self.updated,
            "notebook": self.notebook,
        }
        lines = [f"{key}: {value}" for key, value in fields.items() if value or key != "notebook"]
        return "\n".join(["---", *lines, *self.others, "---", ""])

    @property
    def body(self) -> str:
        parts = [f"# Session: {self.title}"]
        for heading, text in zip(HEADINGS, self.texts, strict=True):
            parts += [heading, text or NOTHING]
        return "\n\n".join(parts) + "\n"

    def render(self) -> str:
        """The file's text; equal notes give equal bytes."""
        return self.front + self.body


# -- edits -----------------------------------------------------------------------------------


def edited(note: Note, edit: Edit, section: Section, text: str) -> Note:
    """The note after an edit of one section. Raises `NoteRefused`, with what to do instead.

    The worklog and the corrections only grow. A decision that is replaced or removed is kept
    among the corrections, so that nothing wrong goes silently.
    """
    text = _checked(text)
    if edit == "add":
        return _added(note, section, text)
    if section in ("Worklog", "Errors & Corrections"):
        raise NoteRefused(f"{section} only grows: add a line that says what is right now.")
    before = note.text(section)
    after = note.with_text(section, text if edit == "replace" else _without(before, text, section))
    if section != "Key Decisions":
        return after
    kept = {line.strip() for line in after.text(section).split("\n")}
    gone = [line.strip() for line in before.split("\n") if line.strip() not in {"", *kept}]
    return _joined(
        after, "Errors & Corrections", [f"- Decision withdrawn: {line}" for line in gone]
    )


def _added(note: Note, section: Section, text: str) -> Note:
    if not settled(text):
        raise NoteRefused(f"The text for {section} is blank; say what to add.")
    if section != "Worklog":
        return _joined(note, section, [settled(text)])
    steps = []
    for line in filter(str.strip, text.split("\n")):
        step = _STEP.fullmatch(line.strip())
        if not step:
            raise NoteRefused(
                "Each line of the worklog begins with ✓ (done), ✗ (failed), → (in progress) or "
                f"↺ (reverted); this one does not: “{_cut(line.strip())}”."
            )
        steps.append(f"{step[1]} {step[2]}")
    return _joined(note, section, steps)


def _joined(note: Note, section: Section, lines: Iterable[str]) -> Note:
    return note.with_text(section, "\n".join(filter(None, [note.text(section), *lines])))


def _without(before: str, text: str, section: Section) -> str:
    """Without these lines, else without the one item that holds the text."""
    wanted = settled(text).split("\n")
    lines = before.split("\n")
    if wanted == [""]:
        raise NoteRefused(f"Say what to remove from {section}: its text, or a part of it.")
    size = len(wanted)
    stripped = [line.strip() for line in lines]
    same = [
        at
        for at in range(len(lines) - size + 1)
        if stripped[at : at + size] == [line.strip() for line in wanted]
    ]
    if not same:
        same = [at for at, line in enumerate(lines) if text.strip() in line]
        size = 1
    if not same:
        raise NoteRefused(
            f"{section} does not hold “{_cut(text.strip())}”, so nothing was removed; show the "
            "note and give a part of it."
        )
    if len(same) > 1:
        found = "\n".join(f"  {_cut(stripped[at])}" for at in same[:CANDIDATES])
        raise NoteRefused(
            f"{len(same)} places of {section} hold “{_cut(text.strip())}”, so nothing was removed; "
            f"give more of its text:\n{found}"
        )
    end = same[0] + size
    while end < len(lines) and _indent(lines[end]) > _indent(lines[same[0]]):
        end += 1  # the rest of a list item
    return "\n".join([*lines[: same[0]], *lines[end:]])


def _checked(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if any(unicodedata.category(each) in ("Cc", "Cs") and each not in "\n\t" for each in text):
        raise NoteRefused("The text holds control characters; write it again without them.")
    if secret := looks_credential(text):
        raise NoteRefused(
            f"The text looks like it holds a secret ({secret}), so it was not noted; say where "
            "that is kept instead."
        )
    return text


# -- text under a heading --------------------------------------------------------------------


def settled(text: str) -> str:
    """Text that stays under its heading, whatever is in it: the same for what is settled already.

    Headings of the first two levels become ones of the third, an open fence is closed, and the
    placeholder goes. What stands in a fence is left alone.
    """
    out: list[str] = []
    closing = ""
    for line, inside, closes in fences(text.split("\n")):
        if closing and not inside:  # the list item around the fence has ended
            out.append(closing)
        closing = closes
        if inside:
            out.append(line)
        elif line.strip() != NOTHING:
            out.append(_harmless(line, out[-1] if out else ""))
    text = _trimmed(out)
    return f"{text}\n{closing}" if closing else text


def _harmless(line: str, before: str) -> str:
    """A line outside any fence that is no heading, neither by itself nor of the line before."""
    if heading := HEADING.fullmatch(line):
        line = f"### {heading[2]}".rstrip()
    under = _UNDERLINE.match(line) if before.strip() else None
    if harm := under or _OPEN_HTML.match(line):
        line = f"{harm[1]}\\{line[harm.end() :]}"
    return line


def fences(lines: Iterable[str]) -> Iterator[tuple[str, bool, str]]:
    """Each line, whether it belongs to a code fence, and what closes the one open after it."""
    closing, margin = "", 0
    for line in lines:
        if closing and line.strip() and _indent(line) < margin:
            closing = ""  # the list item that it stood in has ended, and it with it
        if closing:
            marks = line.strip()
            ends = set(marks) == {closing.strip()[0]} and len(marks) >= len(closing.strip())
            closing = "" if ends and _indent(line) <= margin + 3 else closing
            yield line, True, closing
            continue
        if opening := _FENCE.match(line):
            margin = len(opening[1]) if opening[1].strip() else 0
            closing = " " * margin + opening[2]
        yield line, bool(closing), closing


def fenced(text: str) -> str:
    """A text verbatim as a Markdown code block, in a fence longer than any inside."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}markdown\n{text}{end}{fence}"


# -- titles ----------------------------------------------------------------------------------


def title_of(prompt: str) -> str:
    """Three to eight words from the first prompt of a session."""
    least, most = TITLE_WORDS
    plain = "".join(each if is_visible(each) else " " for each in redact(prompt))
    words = [word.strip("#*`_>\"'“”()[]") for word in plain.split()]
    words = [word for word in words if word][:most]
    for at, word in enumerate(words, 1):
        if at >= least and word.endswith((".", "!", "?", ":", ";")):
            words = words[:at]
    if words and len(words) < least:
        words = ["Work", "on:", *words]
    return " ".join(words)[:TITLE_LENGTH].strip(" .,:;!?") if words else UNTITLED


def slug_of(title: str) -> str:
    """The title in a file's name."""
    words = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFC", title).casefold()).strip("-")
    return words[:40].strip("-") or "note"


def _trimmed(lines: list[str]) -> str:
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[filled[0] : filled[-1] + 1]) if filled else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= CANDIDATE_LENGTH else line[: CANDIDATE_LENGTH - 1] + "…"
