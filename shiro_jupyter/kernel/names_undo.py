"""The names that the code of a turn added, rebound or deleted, held so that they can be put back.

Held in memory, within a bound, by references to what they were bound to; what an object held is
kept with it where that costs little (`contents.py`), so that a change in place is seen, and put
back. All on the main thread.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from .contents import HELD, Contents, contents
from .data_changes import Change, Size, size_now, told
from .sizes import size_of

TURNS = 20  # the newest, of which anything is held
LARGE = f"what it was is not held: more than {HELD // 1_000_000} MB in all"
SAME = "it is as it was before the turn"
SINCE = "it was bound anew since"
INSIDE = "what it holds was changed since"
UNSURE = "whether what it holds was changed since cannot be told"
BEYOND = "it was changed in place, which cannot be put back"
EARLIER = "something else changed it during the turn: what the turn did to it before that stays"

# What IPython itself binds anew with each cell, Python by itself, and what IPython fills.
_NOT_OURS = re.compile(r"_+|_i+|_i?\d+|_exit_code|__\w+__")
_FILLED_BY_IPYTHON = re.compile(r"In|Out|_[iod]h")
_WORD = re.compile(r"\w+")

State = Literal["restored", "removed", "kept"]
Turn = tuple[str, int]  # of which session, and which one of it


class _Mark:
    """In the place of a value: there was none, or it is not held."""


_ABSENT, _UNHELD = _Mark(), _Mark()


@dataclass(frozen=True)
class Undone:
    """What became of one name, and why it was not put back, or not as the turn found it."""

    name: str
    state: State
    why: str = ""


class _Left:
    """An object as the turn left it, kept alive only where it cannot be referred to otherwise."""

    def __init__(self, value: Any) -> None:
        self.contents = contents(value)
        self._id, self._forgotten = id(value), False
        self._value, self._octets = None, 0
        try:
            self._reference: Callable[[], Any] | None = weakref.ref(value)
        except TypeError:  # a list, a number
            self._reference = None
            self._value, self._octets = value, size_of(value)

    @property
    def value(self) -> Any:
        """None where it is gone."""
        return self._reference() if self._reference else self._value

    @property
    def size(self) -> int:
        """Bytes that are held by this alone, as far as is known."""
        return self._octets + (self.contents.beyond(self.value) if self.contents else 0)

    def is_(self, value: Any) -> bool:
        if self._reference is not None:
            known = self._reference()
            return known is not None and known is value
        return id(value) == self._id

    def is_changed(self, value: Any) -> bool:
        """Whether that object is known to hold something else by now."""
        return self.contents is not None and not self.contents.are_of(value)

    def changed(self, value: Any) -> str:
        """Why that object is not to be touched: it holds, or may hold, something else by now."""
        if self.is_changed(value):
            return INSIDE
        return UNSURE if self._forgotten or (self.contents and not self.contents.sure) else ""

    def forget(self) -> None:
        self._forgotten = True
        self._value, self.contents, self._octets = None, None, 0


@dataclass
class _Bound:
    """A name, what it was bound to, and what the turn left it bound to."""

    name: str
    before: Any
    size: int  # bytes of what is held of that
    left: _Left
    was: Size
    earlier: bool = False


@dataclass
class _Filled:
    """An object that was changed in place, by a name of it; and what it held before."""

    name: str
    before: Contents | None
    left: _Left
    was: Size
    earlier: bool = False
    back: bool = False  # it holds again what it held before

    @property
    def size(self) -> int:
        return self.left.size + (self.before.beyond(self.left.value) if self.before else 0)


@dataclass
class _Changes:
    bound: dict[str, _Bound] = field(default_factory=dict)
    filled: dict[int, _Filled] = field(default_factory=dict)
    told: str = ""  # all in all, in a line

    def limit(self, room: int) -> int:
        """Hold no more bytes than that; the room that is left."""
        for filled in self.filled.values():
            size = filled.size
            if size > room:
                filled.before, size = None, 0
                filled.left.forget()
            room -= size
        for bound in self.bound.values():
            if bound.size > room:
                bound.before, bound.size = _UNHELD, 0
            room -= bound.size
            size = bound.left.size
            if size > room:
                bound.left.forget()
                size = 0
            room -= size
        return room


_NOTHING = _Changes()


@dataclass
class Touched:
    """What one piece of code bound, deleted or changed in place, by name, once it has run."""

    turn: Turn | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Held:
    """A variable before the code that names it runs."""

    value: Any
    inside: Contents | None
    size: Size


class NamesUndo:
    """`namespace` is the person's; `turn` says which one's code is about to run, None for none."""

    def __init__(self, namespace: dict[str, Any], turn: Callable[[], Turn | None]) -> None:
        self._namespace, self._turn = namespace, turn
        self._turns: dict[Turn, _Changes] = {}

    def turns(self, session: str) -> list[int]:
        """Those of a session that can be undone, newest first."""
        return sorted((turn for of, turn in self._turns if of == session), reverse=True)

    def names(self, turn: Turn) -> list[str]:
        """What the turn changed, by name."""
        changes = self._turns.get(turn, _Changes())
        return sorted({*changes.bound, *(each.name for each in changes.filled.values())})

    def told(self, turn: Turn) -> str:
        """What the turn did to the data so far, in a line; for any thread."""
        return self._turns.get(turn, _NOTHING).told

    def watched(self, code: str) -> AbstractContextManager[Touched]:
        """For the code of the turn at hand, which runs inside."""
        return self._watch(self._turn(), code)

    def undo(self, turn: Turn) -> list[Undone]:
        """Put back what the turn changed: each name for itself."""
        changes = self._turns.pop(turn, _Changes())
        done = [self._refill(each, changes.bound) for each in changes.filled.values()]
        return done + [self._rebind(each) for each in changes.bound.values()]

    # -- while code runs ---------------------------------------------------------------------

    @contextmanager
    def _watch(self, turn: Turn | None, code: str) -> Iterator[Touched]:
        before, touched = self._ours(), Touched(turn)
        words = set(_WORD.findall(code))
        looked_into = [n for n in before if n in words and not _FILLED_BY_IPYTHON.fullmatch(n)]
        held = {
            name: _Held(before[name], contents(before[name]), size_now(before[name]))
            for name in looked_into
        }
        try:
            yield touched
        finally:
            if turn is not None:
                touched.names = self._compare(turn, words, before, held)

    def _compare(
        self, turn: Turn, words: set[str], before: dict[str, Any], held: dict[str, _Held]
    ) -> tuple[str, ...]:
        changes, after = self._turns.get(turn, _Changes()), self._ours()
        touched = []
        for name, was in held.items():
            if was.inside is not None and not was.inside.are_of(was.value):
                _fill(changes, name, was)
                touched.append(name)
        for name in {**before, **after}:
            old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
            if old is not new:
                size = held[name].size if name in held else size_now(old)
                _bind(changes, name, old, new, size)
                touched.append(name)
            elif name in words and name in changes.bound:
                changes.bound[name].left = _Left(new)
        self._turns.pop(turn, None)
        if changes.bound or changes.filled:
            self._turns[turn] = changes
            looked = {id(was.value) for was in held.values()}
            changes.told = told(_all_in_all(changes, after, looked))
        self._forget()
        return tuple(dict.fromkeys(touched))

    def _ours(self) -> dict[str, Any]:
        copy = self._namespace.copy()
        return {k: v for k, v in copy.items() if type(k) is str and not _NOT_OURS.fullmatch(k)}

    def _forget(self) -> None:
        """Hold no more than the bound, the newest turns first."""
        for old in list(self._turns)[:-TURNS]:
            del self._turns[old]
        room = HELD
        for changes in reversed(self._turns.values()):
            room = changes.limit(room)

    # -- putting back ------------------------------------------------------------------------

    def _refill(self, filled: _Filled, bound: Collection[str]) -> Undone:
        name, value = filled.name, filled.left.value
        if filled.before is None:
            return Undone(name, "kept", LARGE)
        if value is None or (name not in bound and self._namespace.get(name) is not value):
            return Undone(name, "kept", SINCE)
        if not filled.before.restores:
            return Undone(name, "kept", BEYOND)
        if changed := filled.left.changed(value):
            return Undone(name, "kept", changed)
        if filled.before.put_back(value):
            return Undone(name, "restored", EARLIER if filled.earlier else "")
        return Undone(name, "kept", BEYOND)

    def _rebind(self, bound: _Bound) -> Undone:
        name, namespace = bound.name, self._namespace
        why = EARLIER if bound.earlier else ""
        now = namespace.get(name, _ABSENT)
        if now is bound.before:
            return Undone(name, "kept", why or SAME)
        if not bound.left.is_(now):
            return Undone(name, "kept", SINCE)
        if changed := bound.left.changed(now):
            return Undone(name, "kept", changed)
        if bound.before is _UNHELD:
            return Undone(name, "kept", LARGE)
        if bound.before is _ABSENT:
            del namespace[name]
            return Undone(name, "removed", why)
        namespace[name] = bound.before
        return Undone(name, "restored", why)


def _bind(changes: _Changes, name: str, old: Any, new: Any, was: Size) -> None:
    known = changes.bound.get(name)
    if known is not None and known.left.is_(old):
        known.left = _Left(new)
        if new is known.before:
            del changes.bound[name]
        return
    size = 0 if old is _ABSENT else size_of(old)
    changes.bound[name] = _Bound(name, old, size, _Left(new), was, earlier=known is not None)


def _fill(changes: _Changes, name: str, was: _Held) -> None:
    value, inside = was.value, was.inside
    if any(each.left.is_(value) for each in changes.bound.values()):
        return  # the turn made it: it goes as a whole
    known = changes.filled.get(id(value))
    if known is None or not known.left.is_(value):
        changes.filled[id(value)] = _Filled(name, inside, _Left(value), was.size)
    elif known.left.is_changed(value):  # and not told by another name of it
        assert inside is not None
        if not (known.left.contents and known.left.contents.are(inside)):
            known.before, known.was, known.earlier = inside, was.size, True
        known.left = _Left(value)


def _all_in_all(
    changes: _Changes, now: dict[str, Any], looked: Collection[int]
) -> Iterator[Change]:
    """The net effect, on the names as they are now; `looked`: objects that may have changed."""
    first = {}  # sizes of objects that were changed in place, and perhaps bound anew then
    for filled in changes.filled.values():
        first[filled.name] = filled.was
        value = filled.left.value
        if filled.before is not None and id(value) in looked:
            filled.back = filled.before.are_of(value)
        if value is None or filled.back:
            continue
        for name in now:  # whatever it is called, the person may know it by that name
            if now[name] is value and name not in changes.bound:
                yield Change(name, "filled", filled.was, size_now(value))
    for name, bound in changes.bound.items():
        if bound.before is _ABSENT:
            if name in now:
                yield Change(name, "new", after=size_now(now[name]))
        elif name not in now:
            yield Change(name, "gone")
        else:
            yield Change(name, "bound", first.get(name, bound.was), size_now(now[name]))
