"""What of the live namespace is kept from the model, as the settings are now.

Private variables are not there for it. What may have been made of one, or holds a private column,
is shown without values: an alias, a copy, a sum, and whatever code that nobody can follow touched.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import ToolFailed
from ..core.policy.private import NOTHING_PRIVATE, Private
from .describe import is_class, is_function, no_such
from .frames import (
    TABLE_ERRORS,
    Closed,
    Frame,
    Lazy,
    frame_of,
    is_frame,
    is_lazy,
    lazy_of,
    without_categories,
)
from .made_of import Statement, made_of_private, statements

# Objects that variables share without knowing of one another.
_SHARED: tuple[type, ...] = (int, float, str, bytes, bool, complex, type(None), types.ModuleType)


class Privacy:
    """Of one kernel. Methods are for any thread, while code runs too."""

    def __init__(self, shell: Any = None, private: Private = NOTHING_PRIVATE) -> None:
        self.private = private
        self._shell = shell
        self._of_model: list[str] = []  # code, in no history
        self._unnamed: set[str] = set()  # variables whose very names may be values
        self._was_there = False  # something private, in this kernel
        self._labels: set[str] = set()  # that code names, or that tables had by themselves
        self._looked: tuple[object, Look] | None = None

    def ran(self, code: str) -> None:
        """The model's code is about to run."""
        self._of_model.append(code)

    def unname(self, name: str) -> None:
        """Nobody wrote this name: code made it of something."""
        self._unnamed.add(name)

    def now(self, variables: Mapping[str, object]) -> Private:
        """What is kept from the model while these are all variables there are."""
        if self.private.patterns and not self._was_there:
            said = (word for each in self._code() for word in each.words)
            self._was_there = bool(self._private_among(variables)) or any(
                map(self.private.mentions, said)
            )
        return replace(self.private, there=self._was_there)

    def hidden(self, variables: Mapping[str, object]) -> frozenset[str]:
        """The names that are not there for the model, those of the same objects among them."""
        private = [name for name in variables if self.private.name(name)]
        same = {id(variables[name]) for name in private if _is_own(variables[name])}
        also = (name for name, value in variables.items() if id(value) in same)
        return frozenset((*private, *also, *self._unnamed)) if self.private.any else frozenset()

    def look(self, variables: Mapping[str, object]) -> Look:
        """What may be told of these, which are all there are."""
        if not self.private.any:
            return Look(self.private, frozenset())
        private, code = self._private_among(variables), self._code()
        key = self.private, len(code), private, frozenset(variables)
        if self._looked is None or self._looked[0] != key:
            self._looked = key, self._look(variables, private, code)
        return self._looked[1]

    def _look(
        self, variables: Mapping[str, object], private: frozenset[str], code: Sequence[Statement]
    ) -> Look:
        made = made_of_private(code, self.private, private) if self.private.patterns else private
        known = frozenset(name for each in code for name in each.bound | each.imports)
        if not self.private.patterns:
            known = known.union(variables)
        every = self.private.schema_only or any(each.reaches for each in code)
        closed = (name for name in variables if every or name in made or name not in known)
        changed = (name for each in code if each.of_model for name in each.changed)
        plain = known - (made - private).union(changed)
        for name in variables.keys() & plain:
            self._labels.update(columns_of(variables[name], alone=False))
        self._labels.update(*(each.labels for each in code))
        return Look(self.private, frozenset(closed), plain, self._labels)

    def _private_among(self, variables: Mapping[str, object]) -> frozenset[str]:
        """Those that are private, or hold a private column."""
        partly = (name for name, value in variables.items() if self._is_partly(name, value))
        return self.hidden(variables).union(partly)

    def _is_partly(self, name: str, value: object) -> bool:
        if is_function(value) or is_class(value) or not (is_frame(value) or is_lazy(value)):
            return False
        return any(self.private.column(name, column) for column in columns_of(value))

    def _code(self) -> tuple[Statement, ...]:
        history = getattr(self._shell, "history_manager", None)
        theirs = [each for each in getattr(history, "input_hist_parsed", ()) if each]
        return (
            *(each for code in theirs for each in statements(code)),
            *(each for code in self._of_model for each in statements(code, True)),
        )


@dataclass(frozen=True)
class Look:
    """What may be told of the variables at one point. Of `closed` ones no value is, and of those
    that are none of the `plain` only columns which `labels` hold: one of a table that the model
    made or changed, or that was made of something private, may be called by a value."""

    private: Private
    closed: frozenset[str]
    plain: Collection[str] = ()
    labels: Collection[str] | None = None

    def view(self, name: str, *, closed: bool = False) -> View:
        """Of one of them, or of something else by that name, which then has to be `closed`."""
        labels = None if name in self.plain else self.labels
        return View(self.private, name, closed or name in self.closed, labels)


@dataclass(frozen=True)
class View:
    """What the model may know of one variable. One that is not `closed` is told in full; of
    columns those that are not private, and that `labels` hold."""

    private: Private
    name: str
    closed: bool
    labels: Collection[str] | None = None

    def frame(self, value: object) -> Frame | None:
        """As `frame_of`; a part is seen as the whole is."""
        frame = frame_of(value)
        if frame is None or not self.closed:
            return frame
        every = range(frame.shape[1])
        if frame.single or (not self.private.patterns and self.labels is None):
            return Closed(frame, every)
        names = frame.names()
        return Closed(frame, [at for at in every if not self._hides(names[at])])

    def lazy(self, value: object) -> Lazy | None:
        """As `lazy_of`."""
        lazy = lazy_of(value)
        if lazy is None or not self.closed or lazy.columns is None:
            return lazy
        shown = [(name, kind) for name, kind in lazy.columns if not self._hides(name)]
        return replace(lazy, columns=[(name, without_categories(kind)) for name, kind in shown])

    def check(self, value: object, step: str | int) -> None:
        """Raises `ToolFailed` for a column, an attribute or a key that is private, as for one that
        there is not."""
        if not self.closed or isinstance(step, int):
            return
        frame = self.frame(value)
        names = frame.names() if frame and not frame.single else None
        if self._hides(step[1:]) or (names is not None and step[1:] not in names):
            raise ToolFailed(no_such(step[1:], names or [], "column"))

    def told(self, text: str) -> str:
        """The text as the model may read it."""
        return self.private.scrubbed(text) if self.closed else text

    def _hides(self, column: str) -> bool:
        if self.labels is not None and column not in self.labels:
            return True
        return self.private.any_column(column)  # of whatever it was made of


def columns_of(value: object, *, alone: bool = True) -> list[str]:
    """Empty where it is no table, or its columns are not known; also for a column `alone` where
    that is not to count: it may be a row, whose label is a value."""
    try:
        if (frame := frame_of(value)) is not None:
            return frame.names() if alone or not frame.single else []
        lazy = lazy_of(value)
        return [name for name, _ in lazy.columns or ()] if lazy else []
    except TABLE_ERRORS:
        return []


def _is_own(value: object) -> bool:
    return not any(type(value) is each for each in _SHARED)
