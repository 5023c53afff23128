"""The slash commands of memory and session notes; importing this registers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..core.errors import NoteRefused, UsageError
from ..core.events import NotesChanged
from ..core.memory import compact
from ..core.memory.found import Found
from ..core.memory.topics import Topic
from ..core.notes.note import fenced
from ..core.sessions.log import read_log
from ..views.document import Block, Line, Table
from ..views.visible import visible
from .commands import Outcome, Prompt, ask_in_a_cell, command
from .main_thread import JobInterrupted
from .memory_tables import age, memories_table, of_others
from .said import Said
from .services import Services

UPDATE = (
    "Bring this session's note up to date with session_notes: corrections of mine first, then what "
    "was done, what was decided and why, and the next step. Answer in one line."
)
SHOWN = 20_000  # characters of topics that are asked about at a time
NOTE_USES = ("list", "update", "history", "done")


@command()
def notes(services: Services, rest: str) -> Said:
    """all memories, newest first: their use, and what is stale or points at nothing"""
    memory = services.memory
    found = memory.entries(tables=services.remembered.tables())
    amiss = [Line(sentence) for sentence in memory.problems()]
    if not found:
        return [Line("Nothing recorded yet. Record with %remember TEXT."), *amiss]
    return [*memories_table(found, services.clock.now()), *amiss]


@command()
def memory(services: Services, rest: str) -> Outcome:
    """have the model merge the memories that were never recalled, and confirm what comes of it"""
    ask_in_a_cell(services, "memory")
    return _merged(services)


async def _merged(services: Services) -> Said:
    store = services.memory
    before = store.index()
    counts = {each.entry.folded: each.count for each in store.entries("project")}
    merging = compact.candidates(before, counts)
    reply = await services.answer(compact.prompt_for(merging, store.caps))
    merge = compact.merged(reply, before, merging, store.caps)
    ask = f"{len(merge.gone)} memories become {len(merge.made)}. Write it? [y]es / [n]o: "
    if not await _agreed(services, f"{merge.diff()}\n{ask}"):
        return "Nothing was changed."
    backup = store.rewrite(merge.on)
    return f"Merged; what was there before is kept in {backup}."


@command("memory")
def trust(services: Services, rest: str) -> Outcome:
    """take the lines and topics of memory that others wrote as yours, after a look at them"""
    if rest != "memory":
        raise UsageError("Say what to trust: /trust memory.")
    found = services.memory.unaccepted()
    if not found:
        return "Every line and topic of this project's memory is yours, or accepted."
    ask_in_a_cell(services, "trust memory")
    return _trusted(services, found)


async def _trusted(services: Services, found: Sequence[Found]) -> Said:
    path = services.memory.path()
    topics, left = _fitting({e.topic.name: e.topic for e in found if e.topic and not e.own_topic})
    shown = [replace(e, topic=None) if e.topic and e.topic.name in left else e for e in found]
    texts = {path: [each.line for each in reversed(found) if not each.own_line]}
    texts |= {path.with_name(each.name): each.text.split("\n") for each in topics}
    lines = [
        line
        for place, added in texts.items()
        if added
        for line in (f"In {place}, written by others:", *(f"+ {each}" for each in added))
    ]
    if left:
        lines.append(
            f"Too long to be shown here, and left out: {', '.join(left)}. Of topics {SHOWN:,} "
            "characters are shown at a time: ask again, or split a longer one."
        )
    number = of_others(shown)
    if not number:
        return visible("\n".join(lines))
    ask = f"{number} in all. Take exactly these as yours? [y]es / [n]o: "
    if not await _agreed(services, "\n".join([*lines, ask])):
        return "Nothing was accepted."
    services.remembered.accept(shown)
    return f"Accepted {number} as yours."


def _fitting(topics: Mapping[str, Topic]) -> tuple[list[Topic], list[str]]:
    """Those that can be shown whole, and the names of those that cannot."""
    room, fitting, left = SHOWN, [], []
    for name, topic in topics.items():
        if len(topic.text) <= room:
            room -= len(topic.text)
            fitting.append(topic)
        else:
            left.append(name)
    return fitting, left


async def _agreed(services: Services, text: str) -> bool:
    """Whether the person says yes to the last line of the text."""
    try:
        said = await services.typed(visible(text))
    except (JobInterrupted, EOFError):
        return False
    return said.strip().casefold() in ("y", "yes")


@command("[list|update|history|done]")
def session_notes(services: Services, rest: str) -> Outcome:
    """this session's note as it stands; those of the project; brought up to date, or closed"""
    kept = services.remembered.notes
    match rest:
        case "":
            active = kept.active()
            return fenced(active.body) if active else "This session has no note yet."
        case "list":
            return _listed(services)
        case "update":
            return Prompt(UPDATE)
        case "history":
            return _history(services)
        case "done":
            return _closed(services)
    raise UsageError(f"/session-notes takes nothing, or one of {', '.join(NOTE_USES)}.")


def _listed(services: Services) -> Said:
    now = services.clock.now()
    found = services.remembered.notes.all()
    amiss = [Line(sentence) for sentence in services.remembered.notes.problems()]
    if not found:
        return [Line("No session of this project has a note yet."), *amiss]
    rows = tuple(
        (each.front.id, each.front.status, age(each.front.updated, now), note.title, each.path.name)
        for each in found
        for note, _ in [each.read]
    )
    return [Table(("id", "status", "updated", "title", "file"), rows), *amiss]


def _history(services: Services) -> Said:
    if services.opened is None:
        return "This session has not begun yet."
    services.opened.log.flush()
    path = services.opened.log.path
    changes = services.remembered.notes.history(read_log(path).records if path.exists() else ())
    if not changes:
        return "This session's note was not changed yet."
    rows = tuple((each.at[:16], each.op, each.section, each.text) for each in changes)
    blocks: list[Block] = [Table(("at", "what", "section", "text"), rows)]
    return blocks


async def _closed(services: Services) -> Said:
    try:
        done = services.remembered.notes.done()
    except NoteRefused as refused:
        raise UsageError(str(refused)) from None
    services.emit(NotesChanged(done.note.id))
    return f"Archived: {done.path}. The next update starts a new note."
