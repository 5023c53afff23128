"""At the end of a turn: what it did to the data is told, and its code is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.errors import ToolFailed
from ..core.events import DataChanged, TurnEnded
from ..views.wording import unkept_line
from .document import LiveDocument
from .kept_code import KeptCode
from .live import LiveKernel
from .names_undo import NamesUndo, Turn
from .next_cell import NextCell
from .owner import Owner
from .pages import Pages


class AfterTurn:
    """All on the agent's thread."""

    def __init__(
        self,
        live: LiveKernel,
        names: NamesUndo,
        document: LiveDocument,
        next_cell: NextCell,
        pages: Pages,
    ) -> None:
        shell = live.shell
        self.kept = KeptCode(
            shell.user_ns,
            document,
            lambda: shell.history_manager.input_hist_raw,
            next_cell.offer,
        )
        document.wrote, live.ran = self.kept.written, self.kept.ran
        self._names, self._document, self._redactor = names, document, live.redactor
        self._pages = pages
        self._offers: dict[Turn, int] = {}  # what pages offer to keep, and their number of the turn

    def changed(self, turn: Turn, owner: Owner, ended: TurnEnded) -> DataChanged | None:
        """What to tell of the turn, just before its end; None where there is nothing."""
        offers = owner.loaded.settings.keep != "never" and not self._keeps(owner, ended)
        left = self.kept.left() if offers else {}
        if offers:
            self._narrow(left)
        unkept = left.get(turn, ())
        if unkept:
            self._offers[turn] = self._pages.turn
        changes = self._redactor(self._names.told(turn))
        return DataChanged(changes, unkept) if changes or unkept else None

    async def keep(self, turn: Turn, owner: Owner, ended: TurnEnded) -> None:
        """Put the code of the turn into cells, where that is wanted without asking; where that
        cannot be done, say what else can."""
        if self._keeps(owner, ended):
            pieces = (await self.kept.turns(turn[0])).get(turn[1])
            try:
                if pieces:
                    await self.kept.keep(pieces, offers=_offers(owner))
            except ToolFailed:
                owner.say(unkept_line(DataChanged("", self.kept.names(turn))))

    async def look_again(self) -> None:
        """Have pages offer no more what was kept or undone meanwhile."""
        if self._offers:
            self._narrow(await self.kept.left_now())

    def _narrow(self, left: Mapping[Turn, Sequence[str]]) -> None:
        for turn, number in list(self._offers.items()):
            self._pages.narrow(number, left.get(turn, ()))
            if turn not in left:
                del self._offers[turn]

    def _keeps(self, owner: Owner, ended: TurnEnded) -> bool:
        wanted = owner.loaded.settings.keep == "always" and ended.outcome == "answered"
        return wanted and (_offers(owner) or self._document.there)


def _offers(owner: Owner) -> bool:
    """Whether a cell waits for the turn, and a person who would see the next one."""
    return owner.origin == "cell" and owner.person
