"""A session's note brought up to date by a model that has read the conversation."""

from __future__ import annotations

import re

from ..errors import NoteRefused
from ..workspace.threads import in_thread
from .budget import Ask
from .note import MARKS, NOTHING, SECTIONS, Edit, Note, Section
from .store import Notes

INSTRUCTION = """\
Bring the note on this session up to date. It stands so:

{note}

Write what is new under these headings, and leave out those with nothing new:

## Errors & Corrections
## Task Specification
## Files and Functions
## Key Decisions
## Worklog
## Current State

Errors & Corrections: what went wrong, how it was mended, what the person corrected. Task \
Specification: what was asked, constraints. Files and Functions: one path a line, and why it \
matters. Key Decisions: the choice first, then why. Worklog: one line a step, beginning with ✓ \
done, ✗ failed, → in progress or ↺ reverted. Current State takes the place of what stands there, \
and ends with the next step. Repeat nothing that the note says already. Answer with headings and \
lines alone."""

_HEADING = re.compile(rf"(?im)^ *#+ *({'|'.join(map(re.escape, SECTIONS))})\b[ :*]*$")
# A correction is written before anything else.
_ORDER = sorted(SECTIONS, key=lambda section: section != "Errors & Corrections")


async def refreshed(notes: Notes, ask: Ask, prompt: str) -> tuple[str, tuple[str, ...]]:
    """Have the note say what is new, by one reply to `ask`: its id, empty where nothing was, and
    sentences to tell. A new note takes its title from `prompt`.

    Raises `NoteRefused` for a reply that is none, `StorageError` where the file cannot be used.
    """
    kept = await in_thread(notes.active)
    reply = await ask(INSTRUCTION.format(note=kept.body if kept else "(There is none yet.)"))
    parts = sections_of(reply)
    if not parts:
        raise NoteRefused("the model's reply has none of its headings")
    note = kept.read[0] if kept else Note("")
    updated, said = "", list[str]()
    for section in _ORDER:
        if not (text := new_in(note, section, parts.get(section, ""))):
            continue
        edit: Edit = "replace" if section == "Current State" else "add"
        try:
            written = await in_thread(notes.update, edit, section, text, prompt)
        except NoteRefused as refused:
            said.append(str(refused))
        else:
            updated, said = written.note.id, [*said, *written.said]
    said += await notes.fit(None)
    return updated, tuple(said)


def sections_of(reply: str) -> dict[Section, str]:
    """What a reply has under each heading of a note."""
    names = {section.casefold(): section for section in SECTIONS}
    _, *parts = _HEADING.split(reply)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return {names[heading.casefold()]: text.strip("\n") for heading, text in pairs}


def new_in(note: Note, section: Section, text: str) -> str:
    """The lines that the section does not have yet; of the worklog's only those that are steps."""
    had = {line.strip() for line in note.text(section).split("\n")} - {""}
    lines = [line for line in text.split("\n") if line.strip() != NOTHING]
    if section == "Current State":
        return "" if {line.strip() for line in lines} - {""} == had else "\n".join(lines).strip()
    if section == "Worklog":
        steps = (line.strip(" \t-*") for line in lines)
        lines = [step for step in steps if step.startswith(tuple(MARKS))]
    return "\n".join(line for line in lines if line.strip() not in had).strip()
