"""What of the live namespace is kept from the model, as the settings are now.

Private variables are not there for it. What may have been made of one, or holds a private column,
is shown without values: an alias, a copy, a sum, and whatever code that nobody can follow touched.
"""

from __future__ import annotations

import re
import types
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from ..core.errors import ToolFailed
from ..core.policy.private import NOTHING_PRIVATE, Private
from .arrays import array_summary
from .describe import comes_from, derives, is_class, is_function, mro_of, no_such
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
from .free_code import is_plain
from .made_of import Objects, Statement, made_of_private, statements
from .parts import copy_of, stored_in

DEPTH = 200  # parts of a value that are looked at
_WORD = re.compile(r"[^\W\d]\w*")
_BEGAN = psutil.Process().create_time()
_shared = object()
# Objects that variables share without knowing of one another.
_SHARED: tuple[type, ...] = (int, float, str, bytes, bool, complex, type(None), types.ModuleType)


class Privacy:
    """Of one kernel. Methods are for any thread, while code runs too."""

    def __init__(self, shell: Any = None, private: Private = NOTHING_PRIVATE) -> None:
        self.private = private
        self._shell = shell
        # Code in no history: after how many inputs it ran, its text, whether it is a model's, and
        # whether it was free.
        self._beside: list[tuple[int, str, bool, bool]] = []
        self._ever: set[str] = set()  # names of what was private, or held some
        self._changed: set[str] = set()  # by code that nobody saw
        self._left: dict[str, object] = {}  # what the last cell left, weakly
        self._unnamed: set[str] = set()  # variables whose very names may be values
        self._was_there = False  # something private, in this kernel
        self._labels: set[str] = set()  # that code names, or that tables had by themselves
        self._looked: tuple[object, Look] | None = None

    def ran(self, code: str, *, of_model: bool = True, free: bool = False) -> None:
        """Code that no history keeps is about to run, or has run."""
        self._beside.append((len(self._inputs()), code, of_model, free))

    def cell_begins(self, variables: Mapping[str, object]) -> None:
        """Code is about to run. What has changed since the last cell ended was changed by none."""
        if self.private.patterns and self._left:
            same = (name for name, value in variables.items() if self._is_left(name, value))
            self._changed.update(variables.keys() - set(same))
        self._left = {}  # while it runs, all may change

    def cell_ended(self, variables: Mapping[str, object]) -> None:
        """What it left is looked at, also where nobody asks."""
        if self.private.patterns:
            self._left = {name: _weak(value) for name, value in variables.items()}
            self.look(variables)

    def _is_left(self, name: str, value: object) -> bool:
        if name not in self._left:
            return False
        left = self._left[name]
        return (left() if isinstance(left, weakref.ref) else left) is value

    def unname(self, name: str) -> None:
        """Nobody wrote this name: code made it of something."""
        self._unnamed.add(name)

    def now(self, variables: Mapping[str, object]) -> Private:
        """What is kept from the model while these are all variables there are."""
        if self.private.patterns and not self._was_there:
            said = (word for each in self._code() for word in each.words)
            private = self._private_among(variables)
            self._was_there = bool(private) or any(map(self.private.mentions, said))
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
        self._ever |= private
        key = self.private, len(code), private, frozenset(variables), frozenset(self._changed)
        if self._looked is None or self._looked[0] != key:
            self._looked = key, self._look(variables, private, code)
        return self._looked[1]

    def _look(
        self, variables: Mapping[str, object], private: frozenset[str], code: Sequence[Statement]
    ) -> Look:
        made = private
        if self.private.patterns:
            objects = Objects(
                lambda name: name not in self._changed and is_plain(variables.get(name, _shared)),
                {n for n, v in variables.items() if is_called(v)},
                _was_before,
            )
            made = made_of_private(code, self.private, self._ever | self._changed, objects)
        known = frozenset(name for each in code for name in each.names)
        if not self.private.patterns:
            known = known.union(variables)
        every = self.private.schema_only or any(each.reaches for each in code)
        closed = (name for name in variables if every or name in made or name not in known)
        changed = (name for each in code if each.of_model for name in each.changed)
        across = (name for name in private if self._is_inside(variables.get(name)))
        plain = known - (made - private).union(changed, across)
        for name in variables.keys() & plain:
            self._labels.update(columns_of(variables[name], alone=False))
        self._labels.update(*(each.labels for each in code))
        return Look(self.private, frozenset(closed), plain, self._labels)

    def _private_among(self, variables: Mapping[str, object]) -> frozenset[str]:
        """Those that are private, or hold a private column."""
        partly = (name for name, value in variables.items() if self._is_partly(name, value))
        return self.hidden(variables).union(partly)

    def _is_partly(self, name: str, value: object) -> bool:
        if is_called(value):
            return False
        if any(self.private.column(name, column) for column in columns_of(value)):
            return True
        return self._is_inside(value)

    def _is_inside(self, value: object) -> bool:
        """Whether it holds a private column as what is no column of its own."""
        columns = any(column for _, column in self.private.pairs)
        return columns and any(map(self.private.any_column, labels_in(value)))

    def saw(self, value: object) -> None:
        """A value that no name stands for."""
        columns = columns_of(value)
        if any(map(self.private.any_column, columns)) or self._is_inside(value):
            self._was_there = True

    def _inputs(self) -> Sequence[str]:
        history = getattr(self._shell, "history_manager", None)
        return list(getattr(history, "input_hist_parsed", ()))

    def _code(self) -> tuple[Statement, ...]:
        """In the order in which it ran."""
        beside, found = list(self._beside), list[Statement]()
        inputs = self._inputs()
        for at, code in enumerate(inputs):
            while beside and beside[0][0] <= at:
                found += statements(*beside.pop(0)[1:])
            found += statements(code)
        return (*found, *(each for more in beside for each in statements(*more[1:])))


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


def labels_in(whole: object) -> Iterator[str]:
    """Names of columns deeper in the value, as far as `DEPTH` parts are looked at: of tables that
    it holds, of an index, of fields, and keys of what may be rows."""
    waiting, left = [whole], DEPTH
    while waiting and left:
        value, left = waiting.pop(0), left - 1
        if value is not whole:
            yield from columns_of(value)
        if is_frame(value) or is_lazy(value):
            yield from _labels_beside(value)
        elif type(value) is dict:
            items = copy_of(value)[:left]
            yield from (key for key, _ in items if type(key) is str)
            waiting += [item for _, item in items]
        elif derives(value, tuple) or derives(value, list):
            yield from vars(type(value)).get("_fields", ())
            base = list if derives(value, list) else tuple
            waiting += islice(base.__iter__(value), left)  # type: ignore[arg-type]
        elif array := array_summary(value):
            yield from _WORD.findall(array)
        elif type(value) not in _SHARED and not is_called(value):
            stored = stored_in(value)
            yield from stored
            waiting += stored.values()


def _labels_beside(value: Any) -> Iterator[str]:
    """Those of a table's axes, and of the fields of its columns."""
    with suppress(*TABLE_ERRORS):
        if (frame := frame_of(value)) is not None:
            yield from (
                word
                for at in range(min(frame.shape[1], DEPTH))
                for word in _WORD.findall(frame.dtype(at))
            )
        for axis in ("index", "columns") if comes_from(mro_of(type(value))[-2], "pandas") else ():
            names = getattr(getattr(value, axis, None), "names", ())
            yield from (str(name) for name in names if name is not None)
        if (lazy := lazy_of(value)) is not None:
            yield from (word for _, kind in lazy.columns or () for word in _WORD.findall(kind))


def is_called(value: object) -> bool:
    return is_function(value) or is_class(value) or type(value) is types.ModuleType


def _weak(value: object) -> object:
    """Data that may be large is not kept alive."""
    try:
        return weakref.ref(value)
    except TypeError:
        return value


def _was_before(path: str) -> bool:
    """Whether the file has not changed since this kernel began."""
    try:
        return Path(path).stat().st_ctime < _BEGAN
    except (OSError, ValueError):
        return False


def _is_own(value: object) -> bool:
    return not any(type(value) is each for each in _SHARED)
