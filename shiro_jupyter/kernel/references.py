"""What a prompt points at with `@`: files, variables and cells, described once for the model.

A reference says "look at this": the name, kind and size of a thing and how it begins, all of them
within one budget. What cannot be described goes out as words alone, and the person is told why.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..core.context.tokens import estimate
from ..core.errors import ModelMendable, PathRefused, ToolFailed
from ..core.notebook.document import Cell
from ..core.notebook.shown import cells_text
from ..core.numbers import common_limit, sized, whole_number
from ..core.policy.names import is_secret_name
from ..core.policy.private import Private
from ..core.tools.read_file import window
from ..core.workspace.ignore import Extra, rules_of
from ..core.workspace.names import printable
from ..core.workspace.paths import open_regular, resolve, shown
from ..core.workspace.picker import BARE, SIGN
from ..core.workspace.project import Project
from ..core.workspace.text import decode
from ..core.workspace.threads import in_thread
from ..core.workspace.walk import walk
from .document import LiveDocument
from .namespace import Namespace

BUDGET = 2_000  # tokens of all that one prompt points at
MOST = 20  # things that are described of one prompt
SECONDS = 5.0  # that one of them may take
PAGE_SECONDS = 2.0  # of these a page's answer
BYTES = 2_000_000  # of a file are looked at
LINES, ENTRIES = 200, 100
CELL = "cell:"
SHORT_ID = 4  # characters of an id that name its cell

HEAD = "What the person points at with @, as it is now:"
CUT = "[cut here; look at it with a tool for the rest]"

_NAME = r"[^\W\d]\w*"
_KEY = r"\[(?:\"[^\"\n]*\"|'[^'\n]*'|-?\d{1,9})\]"
# What is quoted as code holds decorators and matrix products, and no references.
_FENCED = re.compile(r"^(```+|~~~+).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(
    rf"(?P<name>{SIGN}(?:\"[^\"\n]+\"|'[^'\n]+'))|"  # a name in quotes may hold such a mark
    r"`[^`\n]+`|^[ \t]*@[\w.]+(?:\([^\n]*\))?[ \t]*\n(?=[ \t]*(?:@|def |async def |class ))",
    re.MULTILINE,
)
_AT = re.compile(
    rf"{SIGN}(?:\"(?P<double>[^\"\n]+)\"|'(?P<single>[^'\n]+)'|“(?P<curly>[^”\n]+)”"
    rf"|(?P<cell>{CELL}[\w-]+)|(?P<item>{_NAME}(?:\.{_NAME})*(?:{_KEY}(?:\.{_NAME})*)+)"
    rf"|(?P<bare>{BARE}+))"
)
_END = ".:!?…。！？、，"
_PLAIN = re.compile(r"[A-Za-z0-9_./-]+")
_ROOT = re.compile(_NAME)


@dataclass(frozen=True)
class Reference:
    """`names` are what may be meant, the longest first: a mark at the end may be a sentence's."""

    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.names[-1]


def references(prompt: str) -> list[Reference]:
    """What a prompt points at, each once, in its order."""
    text = prompt
    text = _FENCED.sub(lambda found: " " * len(found[0]), text)
    text = _CODE.sub(lambda found: found["name"] or " " * len(found[0]), text)
    found: dict[tuple[str, ...], Reference] = {}
    for match in _AT.finditer(text):
        names = _names(match)
        if names:
            found.setdefault(names, Reference(names))
    return list(found.values())


def _names(match: re.Match[str]) -> tuple[str, ...]:
    if match["bare"] is None:
        return (next(filter(None, match.groups())),)
    whole = match["bare"]
    short = whole.rstrip(_END)
    plain = _PLAIN.match(short)
    more = [plain[0].rstrip(_END)] if plain else []
    return tuple(dict.fromkeys(filter(None, [whole, short, *more])))


class _Withheld(Exception):
    """It is there, and not for the model unless it asks; the reason, for the person."""


@dataclass(frozen=True)
class References:
    """Describes what prompts point at; on the agent's thread, before the first step of a turn.

    `may_read` says whether a file may be read without asking, by the name that rules match;
    `namespace` and `private` are of the settings in force, `inputs` are the cells that ran, by
    their numbers; `tell` takes a sentence for the person.
    """

    project: Callable[[], Project]
    may_read: Callable[[str], bool]
    namespace: Namespace
    private: Callable[[], Private]
    document: LiveDocument
    inputs: Callable[[], Sequence[str]]
    tell: Callable[[str], None]

    async def described(self, prompt: str) -> str:
        """The text for the model, empty where the prompt points at nothing that is there."""
        found = references(prompt)
        texts: list[str] = []
        private: list[str] = []
        unknown: list[str] = []
        for reference in found[:MOST]:
            try:
                said = await asyncio.wait_for(self._described(reference), SECONDS)
            except TimeoutError:
                self.tell(f"@{reference.name} takes too long to look at: only its name goes out.")
            except (_Withheld, ModelMendable, OSError) as why:
                if self._is_private(reference):
                    private.append(f"@{reference.name}")
                else:
                    self.tell(f"@{reference.name} goes out as its name alone: {why}")
            else:
                texts += said
                missing = private if self._is_private(reference) else unknown
                missing += [] if said else [f"@{reference.name}"]
        if private:
            one = "is private: the model is not told of it"
            are = one if not private[1:] else "are private: the model is not told of them"
            self.tell(f"{', '.join(private)} {are}; sent as words.")
        if unknown:
            one = "is no file, variable or cell" if not unknown[1:] else "are none of these here"
            what = "" if not unknown[1:] else " (a file, a variable, a cell)"
            self.tell(f"{', '.join(unknown)} {one}{what}: sent as words.")
        if found[MOST:]:
            self.tell(f"Only the first {MOST} of {len(found)} things after @ are described.")
        return told(texts)

    async def _described(self, reference: Reference) -> list[str]:
        """A text for each thing of that name: a folder may be called as a variable is."""
        if reference.name.startswith(CELL):
            return await self._cell(reference.name.removeprefix(CELL))
        for name in reference.names:
            said = [await in_thread(self._file, name), await in_thread(self._variable, name)]
            if any(said):
                return list(filter(None, said))
        return []

    # -- variables -------------------------------------------------------------------------

    def _variable(self, name: str) -> str:
        namespace, root = self.namespace, _ROOT.match(name)
        if root is None or root[0] not in namespace.variables():
            return ""
        if not re.fullmatch(rf"{_NAME}(?:\.{_NAME}|{_KEY})*", name):
            return ""
        return f"@{name}, a variable\n{namespace.inspect(name)}"

    def _is_private(self, reference: Reference) -> bool:
        return any(map(self.namespace.withholds, reference.names))

    # -- files -----------------------------------------------------------------------------

    def _file(self, name: str) -> str:
        path = self._path(name)
        if path is None:
            return ""
        project = self.project()
        known = shown(project, path)
        if is_secret_name(known):
            raise _Withheld("it may hold keys.")
        if not self.may_read(known):
            raise _Withheld("a rule of the settings has the model ask before it reads it.")
        if path != project.root and _is_ignored(project, path):
            raise _Withheld("it is ignored (.gitignore, .shiroignore or the setting `ignore`).")
        if path.is_dir():
            return _folder(project, path)
        if self.private().withholds_lines(known):
            return f"{printable(known)}, a file, {sized(path.stat().st_size)}"
        return _text(project, path)

    def _path(self, name: str) -> Path | None:
        """What is there under that name, seen from the project's folder, else from where the
        notebook's code looks."""
        project, outside = self.project(), ""
        for base in dict.fromkeys((project.root, Path.cwd())):
            try:
                path = resolve(project, str(base / name))
            except PathRefused:
                outside = outside or _why_not(base / name)
                continue
            if os.path.lexists(path) and path.is_relative_to(project.root):
                return path
        if outside:
            raise _Withheld(outside)
        return None

    # -- cells -----------------------------------------------------------------------------

    async def _cell(self, which: str) -> list[str]:
        """From the open notebook; else what ran under that number, else the saved file."""
        said = await self._open_cell(which) or self._input(which)
        if not said and (notebook := self.project().notebook):
            said = await in_thread(self._saved_cell, notebook, which)
        return [f"@{CELL}{which}, {said}"] if said else []

    async def _open_cell(self, which: str) -> str:
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                cells = (await self.document.outline()).cells
                meant = _meant([(each.id, each.execution_count) for each in cells], which)
                if meant is None:
                    return ""
                (cell,) = await self.document.read([cells[meant].id], outputs=True)
        except (ToolFailed, TimeoutError):  # no page has it open, or none that answers
            return ""
        stored = {**vars(cell), "cell_type": cell.type, "outputs": list(cell.outputs or ())}
        return f"of the open notebook\n{self._cell_text(meant, stored)}"

    def _input(self, which: str) -> str:
        ran, number = self.inputs(), whole_number(which) or 0
        if not 0 < number < len(ran) or not ran[number].strip():
            return ""
        return f"which ran as [{number}]\n{ran[number]}"

    def _saved_cell(self, notebook: Path, which: str) -> str:
        try:
            cells = json.loads(notebook.read_bytes())["cells"]
            meant = _meant([(c.get("id"), c.get("execution_count")) for c in cells], which)
        except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
            return ""
        if meant is None:
            return ""
        return f"of the notebook as last saved\n{self._cell_text(meant, cells[meant])}"

    def _cell_text(self, at: int, stored: dict[str, Any]) -> str:
        return cells_text([Cell.of(at + 1, stored)], outputs=not self.private().any)


def _meant(cells: Sequence[tuple[object, object]], which: str) -> int | None:
    """Where the cell is of which this is the id or its beginning, else the number that it ran as,
    else its place from the top; of cells by id and number."""
    tests: tuple[Callable[[object, object], bool], ...] = (
        lambda name, ran: name == which,
        lambda name, ran: len(which) >= SHORT_ID and str(name).startswith(which),
        lambda name, ran: str(ran) == which,
    )
    for test in tests:
        for at, cell in enumerate(cells):
            if test(*cell):
                return at
    number = whole_number(which) or 0
    return number - 1 if 0 < number <= len(cells) else None


def _why_not(path: Path) -> str:
    """Why what is there is not looked at; empty where nothing is."""
    if not os.path.lexists(path):
        return ""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "its links lead in a circle."
    return "it is outside the project folder."


def _is_ignored(project: Project, path: Path) -> bool:
    relative = path.relative_to(project.root).as_posix()
    is_folder = path.is_dir()
    extra = Extra(project.root, project.ignore)
    rules = rules_of(project.root, project.root)
    name = os.fsencode(relative)
    return rules.hides(name, is_folder) or (bool(extra) and extra.hides(name, is_folder))


def _folder(project: Project, path: Path) -> str:
    extra = Extra(project.root, project.ignore)
    entries = list(islice(walk(path, extra, 1), ENTRIES + 1))
    name = "the project folder" if path == project.root else printable(shown(project, path)) + "/"
    lines = [_entry(each.name, each.kind == "folder", each.size) for each in entries[:ENTRIES]]
    if len(entries) > ENTRIES:
        lines.append(f"[more than {ENTRIES} entries]")
    return "\n".join([f"{name}, a folder", *(lines or ["[nothing in it that is not ignored]"])])


def _entry(name: str, is_folder: bool, size: int) -> str:
    return f"{printable(name)}/" if is_folder else f"{printable(name)}  {sized(size)}"


def _text(project: Project, path: Path) -> str:
    name = printable(shown(project, path))
    with open_regular(project, path) as stream:
        data = stream.read(BYTES + 1)
        size = stream.seek(0, os.SEEK_END)
    looked = ""
    if len(data) > BYTES:
        data, looked = data[: data.rfind(b"\n", 0, BYTES) + 1 or BYTES], f"over {sized(BYTES)}"
    text = decode(data)
    if text is None:
        return f"{name}, a binary file, {sized(size)}"
    reading = window(text, name, 1, LINES, looked)
    lines = len(reading.lines) + reading.left
    count = "" if looked or not lines else f", {lines:,} line{'s' if lines > 1 else ''}"
    return f"{name}, a file, {sized(size)}{count}\n{reading.text()}"


# -- one text of them ----------------------------------------------------------------------


def told(texts: Sequence[str], budget: int = BUDGET) -> str:
    """The descriptions as one text of about `budget` tokens: those that are too long are cut, all
    to the same length, and say so. Empty for none."""
    if not texts:
        return ""
    limit = common_limit([estimate(each) for each in texts], budget)
    return "\n\n".join([HEAD, *(_indented(_fitting(each, limit)) for each in texts)])


def _fitting(text: str, limit: int) -> str:
    """Its first lines, as many as fit; at least the one that names it."""
    if estimate(text) <= limit:
        return text
    kept: list[str] = []
    left = limit - estimate(CUT)
    for line in text.split("\n"):
        size = estimate(line) + 1
        if size > left:
            if left > 20:  # part of a long line says more than none
                kept.append(f"{line[: len(line) * left // size]} …")
            break
        kept.append(line)
        left -= size
    return "\n".join([*(kept or [text.split("\n", 1)[0][:200]]), CUT])


def _indented(text: str) -> str:
    """So that no text passes for another's, or for ours."""
    first, *rest = text.split("\n")
    return "\n".join([f"- {first}", *_further_in(rest)])


def _further_in(lines: Sequence[str]) -> Iterator[str]:
    return (f"  {line}" if line else "" for line in lines)
