"""What the model reads of what ran, where the person keeps things from it.

Code can show anything, and a command too. So what they show goes to the person alone, and the model
reads how it went: unless it is code that can only show what may be seen (`free_code.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from ..core.calls import INTERRUPTED, Withheld
from ..core.policy.private import Private
from ..core.tools.base import Parameters, Tool, ToolResult
from .describe import class_name, count, library, module_of
from .free_code import is_free
from .live import LiveKernel
from .made_of import statements
from .namespace import Namespace
from .privacy import Privacy
from .run_code import CodeResult
from .tools.run_python import DROPPED, NATIVE, RunPythonParameters

NAMES = 20  # that the code bound, shown
_WORD = re.compile(r"[^\W\d]\w*")


class Withholding:
    """Of one kernel, whose model makes one call at a time. Methods are for the agent's thread."""

    def __init__(self, shell: Any, privacy: Privacy, live: LiveKernel) -> None:
        live.begins, live.ended = self._begins, self._ended
        self._shell, self._privacy = shell, privacy
        self._namespace = Namespace(shell, privacy)
        self._codes: list[str] = []
        self._heard: list[CodeResult] = []
        self._free = False  # whether the code of the call that runs is

    def cell_begins(self, private: Private) -> None:
        """A cell of the person's is about to run, under these settings; on main."""
        self._privacy.private = private
        self._privacy.cell_begins(self._namespace.every())

    def cell_ended(self, result: Any) -> None:
        """On main."""
        if (info := getattr(result, "info", None)) is not None and not info.store_history:
            self._privacy.ran(_plain(info.raw_cell), of_model=False)
        self._privacy.cell_ended(self._namespace.every())

    def of(self, tool: Tool[Any], parameters: Parameters) -> Withheld | None:
        """What the model reads of a call that begins now; None where that is its whole result."""
        if not (self._privacy.private.any and tool.may_show_output()):
            return None
        there = self._now().withholds_data
        if tool.access != "kernel" and tool.toolset != "notebook":
            return Withheld(self._of_command(tool, parameters)) if there else None
        self._codes, self._heard = [], []
        before = self._namespace.variables()

        free = isinstance(parameters, RunPythonParameters) and self._is_free(parameters.code)
        self._free = free

        def withheld(result: ToolResult) -> ToolResult:
            heard, self._heard = self._heard, []  # with the objects
            for each in heard:
                self._privacy.saw(each.value)
            if not self._now().withholds_data:
                return result
            if isinstance(parameters, RunPythonParameters):
                # A cell that ran before it may have changed what its names stand for.
                if free and self._is_free(parameters.code, before):
                    return result
                ran = heard or (result.outcome == "interrupted" and result.text != DROPPED)
                if not ran:  # ours are the words on why
                    return result
            return replace(result, text=self._told(result, before, heard), seen=result.text)

        return Withheld(withheld, sure=there and not free)

    def _now(self) -> Private:
        return self._privacy.now(self._namespace.every())

    def _begins(self, code: str) -> None:
        self._codes.append(code)
        self._privacy.cell_begins(self._namespace.every())
        self._privacy.ran(_plain(code), free=self._free)

    def _ended(self, result: CodeResult) -> None:
        self._privacy.cell_ended(self._namespace.every())
        if self._privacy.private.any:  # else it would keep the objects alive
            self._heard.append(result)

    def _is_free(self, code: str, before: Mapping[str, object] | None = None) -> bool:
        """`before`: what there was before it ran; what is new since, it has made itself."""
        privacy = self._privacy
        if privacy.private.schema_only or self._has_hooks():
            return False
        words = {word for each in statements(code, True) for word in each.words}
        if any(map(privacy.private.mentions, words)):
            return False
        every, seen = self._namespace.every(), self._namespace.variables()
        closed = privacy.look(every).closed
        others = {*map(str, self._shell.user_ns), *every} - (seen.keys() - closed) - {"display"}
        old = seen if before is None else before
        shown = {name: seen[name] for name in seen.keys() & old.keys() - closed}
        return is_free(code, shown, others)

    def _has_hooks(self) -> bool:
        """Whether code of the person's runs beside all code, or words their objects."""
        shell = self._shell
        called = [each for calls in shell.events.callbacks.values() for each in calls]
        for formatter in shell.display_formatter.formatters.values():
            called += formatter.type_printers.values()
        return bool(shell.custom_exceptions) or any(
            getattr(each, "__module__", "") == "__main__" for each in called
        )

    # -- what is said instead --------------------------------------------------------------------

    def _told(
        self, result: ToolResult, before: Mapping[str, object], heard: Sequence[CodeResult]
    ) -> str:
        how = {"ok": "It ran", "interrupted": "The person interrupted it"}
        said = how.get(result.outcome, "It failed")
        if result.text.startswith(NATIVE):
            said = NATIVE.partition(". ")[0]
        lines = [f"{said}. What it showed went to the person alone ({self._setting})."]
        for each in heard:
            lines += self._outcome(each)
        return "\n".join([*lines, *self._bound(before)])

    def _outcome(self, result: CodeResult) -> list[str]:
        if (error := result.error) is not None and not result.interrupted:
            at = _line_of(error, self._shell.user_ns)
            return [f"{self._name(error)}{f' in line {at}' if at else ''}; its words are withheld."]
        return [self._namespace.schema("value", result.value)] if result.value is not None else []

    def _name(self, error: BaseException) -> str:
        """Of a class that somebody wrote, and not of one made of a value."""
        cls, name = type(error), class_name(type(error))
        known = library(module_of(cls)).get(name) is cls or name in self._words()
        return self._privacy.private.scrubbed(name) if known else "An error"

    def _bound(self, before: Mapping[str, object]) -> list[str]:
        """The names that it bound, as a listing has them."""
        words = self._words()
        for name in self._namespace.variables():
            if name not in before and name not in words:
                self._privacy.unname(name)
        now = self._namespace.variables()
        bound = [name for name in now if name not in before or before[name] is not now[name]]
        lines = [self._namespace.schema(name, now[name]) for name in bound[:NAMES]]
        if len(bound) > NAMES:
            lines.append(f"… and {count(len(bound) - NAMES, 'more name')}")
        return ["Bound:", *lines] if lines else []

    def _words(self) -> set[str]:
        return {word for code in self._codes for word in _WORD.findall(code)}

    def _of_command(
        self, tool: Tool[Any], parameters: Parameters
    ) -> Callable[[ToolResult], ToolResult]:
        """How a command ended: the last line where it did not end well, the first line of a job."""
        is_job = tool.name != "bash" or getattr(parameters, "background", False)
        lists_jobs = tool.name == "job_status" and not getattr(parameters, "id", 0)

        def withheld(result: ToolResult) -> ToolResult:
            if lists_jobs:
                return result
            said = ""
            if result.text.startswith(INTERRUPTED):
                said = INTERRUPTED.partition(";")[0] + "."
            elif is_job:
                said = result.text.partition("\n")[0]
            elif result.outcome != "ok":
                said = result.text.rpartition("\n")[2]
            note = f"[{len(result.text):,} characters, for the person alone ({self._setting})]"
            text = "\n".join(filter(None, (said, note)))
            return replace(result, text=text, seen=result.text)

        return withheld

    @property
    def _setting(self) -> str:
        return "setting schema_only" if self._privacy.private.schema_only else "setting private"


def _plain(code: str) -> str:
    """Without IPython's own syntax. The person's transformers are code of theirs, and would run
    once more here, away from main."""
    try:
        return TransformerManager().transform_cell(code)  # type: ignore[no-untyped-call]
    except (SyntaxError, RuntimeError):
        return code


def _line_of(error: BaseException, namespace: Mapping[str, Any]) -> int | None:
    """Where in the code it rose."""
    if isinstance(error, SyntaxError):
        return error.lineno
    line, at = None, error.__traceback__
    while at is not None:
        if at.tb_frame.f_globals is namespace:
            line = at.tb_lineno
        at = at.tb_next
    return line
