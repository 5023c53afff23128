"""The slash commands of memory and session notes; importing this registers them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..core.context.instructions import AgentsFile
from ..core.errors import NoteRefused, StorageError, UsageError
from ..core.events import NotesChanged
from ..core.memory import compact
from ..core.memory.found import Found
from ..core.memory.index import fold
from ..core.memory.store import Memory
from ..core.memory.topics import Topic
from ..core.notes.note import fenced
from ..core.sessions.records import read_log
from ..views.document import Block, Line, Table
from ..views.visible import visible
from .commands import Outcome, Prompt, ask_in_a_cell, command
from .main_thread import JobInterrupted
from .memory_magics import OFF
from .memory_tables import age, folding, known_of, nothing_yet, of_others, place
from .said import Said
from .services import Services
from .session_memory import SessionMemory
from .typed import typed

UPDATE = (
    "Bring this session's note up to date with session_notes: corrections of mine first, then what "
    "was done, what was decided and why, and the next step. Answer in one line."
)
SHOWN = 20_000  # characters of a topic that is asked about
SHOWN_LINES = 40  # asked about at a time, and a topic longer than that
YES, NO = ("y", "yes"), ("n", "no")
TRUSTED = {"memory": "line and topic of this project's memory", "agents": "line of AGENTS.md"}
NOTE_USES = ("list", "update", "history", "done")


@command("[WORDS]")
def notes(services: Services, rest: str) -> Said:
    """all memories, or those with the words, newest first: their use, what is stale or missing"""
    memory = services.memory
    every = memory.entries(tables=services.remembered.tables())
    unusable = memory.unusable()
    amiss = [Line(sentence) for sentence in dict.fromkeys([*unusable, *memory.problems()])]
    if not every:
        return [Line(nothing_yet(unusable)), *amiss]
    found = [each for each in every if _holds(each, rest)]
    if not found:
        return [
            Line(
                f"None of {len(every)} memories holds “{rest}” or is marked so; /notes lists all."
            ),
            *amiss,
        ]
    said = f"{len(found)} of {len(every)}" if rest else f"{len(every)}"
    if not all(each.accepted for each in found):
        amiss.append(Line("%shiro /trust memory shows what others wrote, and accepts it as yours."))
    return [
        Line(f"{said} {'memory' if len(every) == 1 else 'memories'}{known_of(found)}."),
        *amiss,
        *folding(found, services.clock.now()),
    ]


def _holds(found: Found, words: str) -> bool:
    """Whether each of the words stands in its row."""
    entry = found.entry
    row = fold(" ".join([entry.id, entry.kind, *found.notes, entry.said]))
    return all(fold(word) in row for word in words.split())


@command()
def memory(services: Services, rest: str) -> Outcome:
    """have the model merge the memories that were never recalled, and confirm what comes of it"""
    ask_in_a_cell(services, "memory")
    if not services.settings().settings.memory:
        raise UsageError(OFF)
    return _merged(services)


async def _merged(services: Services) -> Said:
    store = services.memory
    before = store.index()
    counts = {each.entry.folded: each.count for each in store.entries("project")}
    merging = compact.candidates(before, counts)
    reply = await services.answer(compact.prompt_for(merging, store.caps))
    merge = compact.merged(reply, before, merging, store.caps)
    ask = f"{len(merge.gone)} memories become {len(merge.made)}. Write it? [y]es / [n]o: "
    if await _answer(services, f"{merge.diff()}\n\n{ask}") not in YES:
        return "Nothing was changed."
    backup = store.rewrite(merge.on)
    return f"Merged; what was there before is kept in {place(store, backup)}."


@command("[memory|agents]")
def trust(services: Services, rest: str) -> Outcome:
    """take what others wrote of the memory and of AGENTS.md as yours, after a look at it"""
    if rest not in ("", *TRUSTED):
        raise UsageError(f"/trust takes nothing, or one of {', '.join(TRUSTED)}.")
    asked = [name for name in TRUSTED if rest in ("", name)]
    found, amiss = list[Found](), list[str]()
    if "memory" in asked:
        try:
            found = services.memory.unaccepted()
        except StorageError as error:
            if rest:
                raise
            asked, amiss = ["agents"], [str(error)]
    files = services.remembered.instructions.unaccepted() if "agents" in asked else []
    if not found and not files:
        what = " and every ".join(TRUSTED[name] for name in asked)
        return "\n".join([f"Every {what} is yours, or accepted.", *amiss])
    ask_in_a_cell(services, f"trust {rest}".rstrip())
    return _trusted(services, found, files, amiss)


@dataclass(frozen=True)
class Offer:
    """What is asked about at a time: memories, or lines of an AGENTS.md."""

    found: Sequence[Found] = ()
    file: AgentsFile | None = None

    def shown(self, memory: Memory) -> str:
        if self.file:
            return _added(self.file.name, "others, or by hand", self.file.lines)
        return _memories_added(memory, self.found)

    def accept(self, remembered: SessionMemory) -> None:
        if self.file:
            remembered.instructions.accept(self.file)
        else:
            remembered.accept(self.found)


def _amount(offers: Sequence[Offer]) -> str:
    """`2 lines and 1 topic, 3 lines of AGENTS.md`."""
    files = [each.file for each in offers if each.file]
    said = [of_others([found for each in offers for found in each.found])]
    for file in files:
        number = len(file.lines)
        said.append(f"{number} line{'s' if number > 1 else ''} of {file.name}")
    return ", ".join(filter(None, said))


async def _trusted(
    services: Services, found: Sequence[Found], files: Sequence[AgentsFile], said: Sequence[str]
) -> Said:
    """Accepted is what stands right above a yes, and nothing else; `said` is to be told, too."""
    taken = list[Offer]()
    memories, left = _parts(found)
    parts = [*(Offer(part) for part in memories), *(Offer(file=file) for file in files)]
    said = list(said)
    if left:
        said.append(f"Left out, over {SHOWN:,} characters: {', '.join(left)}. Split it to see it.")
    for number, part in enumerate(parts, 1):
        more = number < len(parts)
        ask = f"{_amount([part])}{f', part {number} of {len(parts)}' if len(parts) > 1 else ''}. "
        ask += f"Take exactly these as yours? [y]es / [n]o{' / [s]top' if more else ''}: "
        gap = "\n" if number > 1 else ""
        answer = await _answer(services, f"{gap}{part.shown(services.memory)}\n\n{ask}")
        if answer in YES:
            part.accept(services.remembered)
            taken.append(part)
        elif answer not in NO:
            break
    said.append(f"Accepted {_amount(taken)} as yours." if taken else "Nothing was accepted.")
    return "\n".join(said)


def _parts(found: Sequence[Found]) -> tuple[list[list[Found]], list[str]]:
    """What is to be accepted, in parts that are shown at a time, in the order of the file; and
    the topics that are too long for that. A topic goes with the first line that points at it."""
    parts: list[list[Found]] = []
    topics: dict[str, bool] = {}  # whether it can be shown
    room = 0
    for each in reversed(found):
        topic = None if each.own_topic else each.topic
        if topic and topic.name in topics:
            topic = None
        elif topic:
            topics[topic.name] = len(topic.text) <= SHOWN
            topic = topic if topics[topic.name] else None
        lines = (not each.own_line) + (len(_lines(topic)) if topic else 0)
        if not lines:
            continue
        if lines > room:
            parts.append([])
            room = SHOWN_LINES
        parts[-1].append(replace(each, topic=topic))
        room -= lines
    return parts, [name for name, fits in topics.items() if not fits]


def _memories_added(memory: Memory, part: Sequence[Found]) -> str:
    index = memory.path()
    texts = {index: [each.line for each in part if not each.own_line]}
    texts |= {index.with_name(e.topic.name): _lines(e.topic) for e in part if e.topic}
    shown = (_added(place(memory, path), "others", lines) for path, lines in texts.items() if lines)
    return "\n\n".join(shown)


def _added(name: str, who: str, lines: Sequence[str]) -> str:
    """The lines of a file as those of a diff."""
    return "\n".join([f"In {name}, written by {who}:", *(f"+ {line}" for line in lines)])


def _lines(topic: Topic) -> list[str]:
    return topic.text.removesuffix("\n").split("\n")


async def _answer(services: Services, text: str) -> str:
    """What the person answers to the last line of the text; "" where they do not."""
    try:
        said = await typed(services.main, visible(text))
    except (JobInterrupted, EOFError):
        return ""
    return said.strip().casefold()


@command("[list|update|history|done]")
def session_notes(services: Services, rest: str) -> Outcome:
    """this session's note as it stands; those of the project; brought up to date, or closed"""
    kept = services.remembered.notes
    match rest:
        case "":
            active = kept.active()
            return fenced(active.body) if active else kept.absent()
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
    return [*amiss, Table(("id", "status", "updated", "title", "file"), rows, main=3)]


def _history(services: Services) -> Said:
    if services.conversation.opened is None:
        return "This session has not begun yet."
    services.conversation.opened.log.flush()
    path = services.conversation.opened.log.path
    changes = services.remembered.notes.history(read_log(path).records if path.exists() else ())
    if not changes:
        return "This session's note was not changed yet."
    rows = tuple(
        (each.at[:16].replace("T", " "), each.op, each.section, each.text) for each in changes
    )
    blocks: list[Block] = [Table(("at", "what", "section", "text"), rows)]
    return blocks


async def _closed(services: Services) -> Said:
    try:
        done = services.remembered.notes.done()
    except NoteRefused as refused:
        raise UsageError(str(refused)) from None
    services.emit(NotesChanged(done.note.id))
    return f"Archived: {place(services.memory, done.path)}. The next update starts a new note."
