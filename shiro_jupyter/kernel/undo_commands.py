"""`/undo`: what a turn's own tools changed is put back; what cannot be is named. Importing this
registers the command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from ..core.sessions import undo as files
from ..core.sessions.session import Session
from ..core.tools.base import Tool, printable
from ..core.transcript import Note
from ..core.workspace.paths import shown
from ..core.workspace.project import Project
from ..core.workspace.threads import in_thread
from . import cells_undo as cells
from . import names_undo as names
from .commands import Work, command
from .services import Services
from .undo import Lasting, lasting, prompt_of

LISTED = 12  # commands and memories of a turn that are named
WIDTH = 80  # of a prompt or a command that is named
NOTHING = (
    "Nothing to undo: what the turns of this session changed is put back, or was left as it is."
)
OUTLOOK = "What %shiro /undo would do now, the newest turn first:"
NO_SESSION = (
    "Nothing to undo: no session has begun here. %shiro /resume goes on with an earlier one, whose "
    "turns can be undone then."
)
OF_CODE = "the code that ran: what it wrote to files, sent, or changed inside other objects"
AGAIN = "%shiro /undo once more tries again what failed."
OF_MEMORY = "%forget takes it back, %remember records it again"


@command("[list]")
def undo(services: Services, rest: str) -> Work:
    """put back what the newest turn changed: files, and names in the kernel; or list the turns"""
    if rest not in ("", "list"):
        raise UsageError("Say %shiro /undo for the newest turn, or %shiro /undo list.")

    async def work() -> str:
        async with nullcontext() if rest else services.undo.one:
            opened = services.conversation.opened
            if opened is None:
                return NO_SESSION
            session = opened.session
            tools = {tool.name: tool for tool in services.tools(services.settings())}
            turns = await in_thread(services.undo.turns, session, tools)
            if rest:
                told = [await in_thread(_outlook, services, session, turn, tools) for turn in turns]
                return services.redactor("\n".join([OUTLOOK, *told])) if told else NOTHING
            services.conversation.refuse_busy()
            if not turns:
                return NOTHING
            return services.redactor(await _undone(services, session, turns[0], tools))

    return work()


async def _undone(
    services: Services, session: Session, turn: int, tools: Mapping[str, Tool[Any]]
) -> str:
    kept = services.undo.files(session.id)
    done = await in_thread(kept.undo, turn)
    bound: list[names.Undone] = []
    if services.undo.names.names((session.id, turn)):
        bound = await services.main.run(lambda: services.undo.names.undo((session.id, turn)))
    placed = await services.undo.cells.undo((session.id, turn), services.document)
    services.undo.passed(session, turn)
    services.after.kept.forget((session.id, turn))
    await services.after.look_again()
    in_files = _of_files(services.project, done)
    lines = [*in_files, *_of_cells((each.called, each) for each in placed), *_of_names(bound)]
    if lines:
        told = f"The person has undone turn {turn}, as far as it was still as the turn left it:"
        known = services.seen().tells
        names_told = _of_names(each for each in bound if known(each.name))
        cells_told = _of_cells((f"cell {each.cell}", each) for each in placed)  # by their ids
        note = "\n".join([told, *in_files, *cells_told, *names_told])
        session.append(Note(note, session.turn))
        services.conversation.flush()
    beyond = _beyond(lasting(session, turn, tools))
    if beyond:
        lines += ["Beyond undo, and done still:", *beyond]
    if turn in {*services.undo.cells.turns(session.id), *await in_thread(kept.turns)}:
        lines.append(AGAIN)
    states = [*(e.state for e in done), *(e.state for e in placed), *(e.state for e in bound)]
    back = {"restored", "removed"}.intersection(states)
    outcome = " undone:" if back else ": nothing was put back."
    return "\n".join([f"Turn {turn} ({_prompt(session, turn)}){outcome}", *lines])


def _of_files(project: Project, done: Iterable[files.Undone]) -> list[str]:
    lines = []
    for each in done:
        lines.append(f"  {_name(project, each.path)}: {_state(each.state, each.why)}")
        if each.before:
            lines.append(f"    what it was before: {each.before}")
    return lines


def _of_cells(done: Iterable[tuple[str, cells.Undone]]) -> list[str]:
    return [f"  {printable(called)}: {_state(e.state, e.why)}" for called, e in done]


def _of_names(done: Iterable[names.Undone]) -> list[str]:
    """Those that are put back in one line each way; those that are not with their reason."""
    done = list(done)
    plain = [each for each in done if not each.why]
    lines = []
    for state in ("restored", "removed"):
        if found := sorted(each.name for each in plain if each.state == state):
            lines.append(f"  {state} in the kernel: {', '.join(found)}")
    told = [each for each in done if each.why]
    return lines + [f"  {e.name} in the kernel: {_state(e.state, e.why)}" for e in told]


def _state(state: str, why: str) -> str:
    said = {"kept": "left as it is", "failed": "not restored"}.get(state, state)
    return f"{said}; {why}" if why else said


def _beyond(found: list[Lasting]) -> list[str]:
    lines = [
        f"  {each.name}: {_cut(each.summary)}"
        + (f" ({OF_MEMORY})" if each.access == "memory" else "")
        for each in found
        if each.access != "kernel"
    ]
    if len(lines) > LISTED:
        lines[LISTED:] = [f"  and {len(lines) - LISTED} more"]
    if any(each.access == "kernel" for each in found):
        lines.append(f"  {OF_CODE}")
    return lines


def _outlook(
    services: Services, session: Session, turn: int, tools: Mapping[str, Tool[Any]]
) -> str:
    """What an undo of that turn would come to now."""
    lines = _of_files(services.project, services.undo.files(session.id).files(turn))
    if placed := services.undo.cells.cells((session.id, turn)):
        lines.append(f"  in the open notebook: {', '.join(map(printable, placed))}")
    if bound := services.undo.names.names((session.id, turn)):
        lines.append(f"  in the kernel: {', '.join(bound)}")
    if beyond := _beyond(lasting(session, turn, tools)):
        lines += ["  beyond undo:", *(f"  {each}" for each in beyond)]
    return "\n".join([f"Turn {turn} ({_prompt(session, turn)}):", *lines])


def _prompt(session: Session, turn: int) -> str:
    return f"“{_cut(' '.join(prompt_of(session, turn).split()))}”"


def _name(project: Project, path: Path) -> str:
    return printable(shown(project, path))


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}…"
