"""`/keep`: the code that turns ran and no cell holds, put into cells. Importing this registers the
command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.errors import UsageError
from ..core.numbers import whole_number
from ..core.sessions.session import Session
from ..views.wording import NAMES, listed
from .commands import Work, command
from .kept_code import Piece, is_told, with_needed
from .services import Services
from .undo import prompt_of

WIDTH = 80  # of a prompt or a line of code that is shown
NOTHING = "Nothing to keep: whatever the code of this session's turns bound, and is bound still, "
NOTHING += "comes from code that stands in a cell."
FAILED = "Nothing to keep: the code that bound {} failed or was interrupted, so it is not offered; "
FAILED += "ask for it again, or write it into a cell."
NO_SESSION = "Nothing to keep: no session has begun here."
USAGE = "Say %shiro /keep for the newest turn, or with all, list or the number of a turn."


@command("[all|list|TURN]")
def keep(services: Services, rest: str) -> Work:
    """put the code of a turn that no cell holds into cells, below the one that asked; or list it"""
    number = whole_number(rest) if rest not in ("", "all", "list") else 0
    if number is None:
        raise UsageError(USAGE)
    cell = not services.thread.here  # one that runs takes what is offered as the next

    async def work() -> str:
        opened = services.conversation.opened
        if opened is None:
            return NO_SESSION
        said = await _said(opened.session)
        await services.after.look_again()
        return said

    async def _said(session: Session) -> str:
        found = await services.after.kept.turns(session.id)
        if rest == "list":
            if found:
                return services.redactor(_listed(session, found))
        elif number and number not in found:
            return f"Nothing to keep of turn {number}: {_others(found)}"
        if not found:
            failed = await services.after.kept.failed(session.id)
            return FAILED.format(listed(failed, NAMES)) if failed else NOTHING
        chosen = found.keys() if rest == "all" else {number or max(found)}
        every = [piece for pieces in found.values() for piece in pieces]
        pieces = with_needed(every, lambda piece: piece.turn[1] in chosen)
        return await services.after.kept.keep(pieces, offers=cell)

    return work()


def _others(found: Mapping[int, Sequence[Piece]]) -> str:
    numbers = ", ".join(map(str, found))
    return f"there is code to keep of turn {numbers}." if found else "there is none of any turn."


def _listed(session: Session, found: Mapping[int, Sequence[Piece]]) -> str:
    lines = []
    for turn, pieces in found.items():
        lines.append(f"Turn {turn} (“{_cut(' '.join(prompt_of(session, turn).split()))}”):")
        for piece in pieces:
            first, *more = piece.code.strip().splitlines()
            size = f" … ({len(more) + 1} lines)" if more else ""
            names = listed([name for name in piece.left if is_told(name)], NAMES)
            lines.append(f"  {_cut(first)}{size}" + (f": binds {names}" if names else ""))
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}…"
