"""A turn as text: in a terminal with a status line that is rewritten, else as plain lines."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable
from itertools import zip_longest
from typing import Literal, TextIO

from ..core import events as e
from ..core import todos as tasks
from ..core.events import Event
from ..core.transcript import Outcome
from .diff_marks import ADDED, PLACE, TAKEN, diff_marks
from .queue import back_lines, come, queue_lines
from .state import ToolUse, TurnState, footer, reasoning_line, status, tool_details
from .visible import one_line, output_text, summary_line, visible
from .wording import MARKS, choices_line, data_lines, duration

# Seconds between two drawings of the status where nothing else is printed.
REDRAW = 0.1

Style = Literal["dim", "bold", "red", "green", "yellow"]
_CODES: dict[Style, str] = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33"}
_DIFF_STYLES: dict[str | None, Style] = {ADDED: "green", TAKEN: "red", PLACE: "dim"}
_MARK_STYLES: dict[Outcome, Style] = {"ok": "green", "refused": "yellow", "interrupted": "yellow"}


def terminal_width() -> int:
    return shutil.get_terminal_size().columns


class TextView:
    """Prints a turn to `out`, and why it failed to `err`.

    In a terminal a status region stands below the text: the line of truth, the newest output of
    the tool in flight, the reasoning's size and the task bar. It is erased before anything is
    printed and is gone at the end; the host calls `tick` so that its seconds count, and `hide`
    and `show` around anything else that writes to the screen. Elsewhere no control character is
    written and no line ever changes. `quiet` prints answer, questions and errors only.
    """

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        terminal: bool,
        colour: bool = False,
        quiet: bool = False,
        width: Callable[[], int] = terminal_width,
    ) -> None:
        self.state = TurnState()
        self._out, self._err = out, err
        self._terminal, self._colour, self._quiet = terminal, terminal and colour, quiet
        self._width = width
        self._mid_line = False  # the cursor stands behind streamed text
        self._opening = True  # no text since the last line of ours
        self._held = ""  # a line end that may be half here
        self._drawn: list[str] = []
        self._drawn_at = 0.0
        self._hidden = False

    # -- what a host calls ---------------------------------------------------------------

    def apply(self, event: Event, at: float) -> None:
        before = self.state.queue
        if not self.state.apply(event, at):
            return
        match event:
            case e.QueueChanged():
                self._queue(event, before)
            case e.TextDelta(text):
                self._stream(text)
            case e.TurnEnded():
                self._end(event)
            case _:
                self._line_of(event)
        self._draw(at)
        self._out.flush()

    def tick(self, at: float) -> None:
        self._draw(at)
        self._out.flush()

    def behind(self, turns: int) -> None:
        """The turn has been asked for, and waits until so many others have ended."""
        if not self._quiet:
            before = "the turn" if turns == 1 else f"the {turns} turns"
            self._print(self._styled(f"· waiting for {before} before it", "dim"))
            self._out.flush()

    def hide(self) -> None:
        """Nothing is drawn until `show`: someone else writes to the screen."""
        self._hidden = True
        self._erase()
        self._out.flush()

    def show(self) -> None:
        self._hidden = False

    # -- lines that stay -----------------------------------------------------------------

    def _line_of(self, event: Event) -> None:
        match event:
            case e.StepStarted() | e.ToolStarted() | e.ToolCalled():
                self._new_line()
            case e.ApprovalRequested(question):
                self._question(question)
            case _ if self._quiet:
                pass
            case e.Steered(prompt):
                self._print(self._styled(f"> {visible(prompt)}", "bold"))
            case e.ToolFinished(outcome=outcome, text=text):
                self._print(self._tool_line(self.state.tools[-1]))
                if outcome not in ("ok", "interrupted"):  # why is not to be seen elsewhere
                    self._print(self._styled(f"    {one_line(text)}", "dim"))
            case e.Retrying(reason, seconds) if not self._terminal:
                self._print(f"· retrying in {duration(seconds)}: {one_line(reason)}")
            case e.TodosChanged(todos) if not self._terminal:
                self._print(tasks.bar(todos))
            case e.Notice(text, level):
                self._print(
                    self._styled(f"· {visible(text)}", "yellow" if level == "warning" else "dim")
                )
            case e.DataChanged():
                for line in data_lines(event):
                    self._print(self._styled(f"· {visible(line)}", "dim"))
            case e.MemoryChanged() | e.NotesChanged() | e.Compacted():
                self._print(self._styled(f"· {visible(self.state.notes[-1])}", "dim"))

    def _queue(self, changed: e.QueueChanged, before: tuple[e.Waiting, ...]) -> None:
        """A terminal shows what waits in its region; elsewhere each is told as it comes."""
        lines = back_lines(changed.back)
        if not (self._terminal or self._quiet):
            lines += queue_lines(come(before, changed.waiting))
        for line in lines:
            self._print(self._styled(f"· {visible(line)}", "dim"))

    def _tool_line(self, use: ToolUse) -> str:
        outcome = use.outcome or "ok"
        details = tool_details(use)
        room = self._width() - len(use.name) - len(details) - 8 if self._terminal else 200
        summary = summary_line(use.summary, max(room, 20))
        mark = self._styled(MARKS[outcome], _MARK_STYLES.get(outcome, "red"))
        parts = (f"{mark} {visible(use.name)}", summary, self._styled(details, "dim"))
        return "  ".join(part for part in parts if part)

    def _question(self, question: e.Question) -> None:
        self._print(self._styled(f"? {visible(question.title)}", "bold"))
        if question.preview:
            shown = visible(question.preview).rstrip("\n")
            for line, mark in zip_longest(shown.split("\n"), diff_marks(shown)):
                self._print(f"    {self._styled(line, _DIFF_STYLES.get(mark))}")
        if choices := choices_line(question):
            self._print(self._styled(f"  {visible(choices)}", "dim"))

    def _end(self, ended: e.TurnEnded) -> None:
        if not self._quiet:
            if self.state.todos_changed:
                for line in (tasks.bar(self.state.todos), tasks.lines(self.state.todos)):
                    if line and self._terminal:
                        self._print(visible(line))
            if ended.reason and ended.outcome != "failed":
                self._print(visible(ended.reason))
            self._print(self._styled(footer(self.state), "dim"))
        self._new_line()
        self._out.flush()
        if ended.outcome == "failed" and ended.reason:
            self._write(visible(ended.reason) + "\n", self._err)
            self._err.flush()

    # -- the streamed answer -------------------------------------------------------------

    def _stream(self, text: str) -> None:
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        if self._opening:
            text = text.lstrip("\n")  # models open with empty lines
        if text:
            self._opening = False
            self._erase()
            shown = visible(text)
            self._write(shown)
            self._mid_line = not shown.endswith("\n")

    def _new_line(self) -> None:
        self._erase()
        self._held = ""
        if self._mid_line:
            self._write("\n")
            self._mid_line = False

    def _print(self, line: str) -> None:
        if line:
            self._new_line()
            self._write(line + "\n")
            self._opening = True

    # -- the status region ---------------------------------------------------------------

    def _draw(self, at: float) -> None:
        if not self._terminal or self._hidden or self._mid_line:
            return
        if self._drawn and at - self._drawn_at < REDRAW:
            return
        lines = self._region(at)
        if lines == self._drawn:
            return
        self._erase()
        if lines:
            drawn = "\n".join(self._styled(line, "dim") for line in lines)
            up = f"\x1b[{len(lines) - 1}A" if len(lines) > 1 else ""
            # The cursor waits at the start of the region: what others print replaces it.
            self._write(f"{drawn}\r{up}")
        self._drawn, self._drawn_at = lines, at

    def _region(self, at: float) -> list[str]:
        # While the person answers, the line is theirs.
        if self.state.phase in ("idle", "ended", "waiting"):
            return []
        use = self.state.current
        first = "⋯ " + status(self.state, at)
        if use and use.summary:
            first += f"  {summary_line(use.summary)}"
        output = output_text(use.output).strip().rpartition("\n")[2] if use else ""
        second = f"  {one_line(output)}" if output else ""
        queue = [f"  {line}" for line in queue_lines(self.state.queue)]
        lines = (first, second, reasoning_line(self.state), *queue, tasks.bar(self.state.todos))
        return [_clipped(visible(line), self._width() - 1) for line in lines if line]

    def _erase(self) -> None:
        if self._drawn:
            self._write("\r\x1b[J")
            self._drawn = []

    def _styled(self, text: str, style: Style | None) -> str:
        coloured = self._colour and text and style
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if style and coloured else text

    def _write(self, text: str, stream: TextIO | None = None) -> None:
        stream = stream or self._out
        encoding = getattr(stream, "encoding", None) or "utf-8"
        # A stream that cannot say a character shows its code rather than ending the view.
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _clipped(line: str, width: int) -> str:
    """As much of the line as fits, in cells of a terminal: a wrapped line could not be erased."""
    used = 0
    for at, character in enumerate(line):
        used += _cells(character)
        if used > width:
            return line[:at]
    return line


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
