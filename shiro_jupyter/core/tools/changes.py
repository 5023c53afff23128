"""What the tools that change one file share: the plan, its preview, and the write under a lock."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import Field

from ..errors import EditRefused, ToolFailed
from ..policy.subjects import Access, Subject
from ..sessions.undo import Writing
from ..workspace.diffs import Diff, diff
from ..workspace.files import retried
from ..workspace.paths import open_regular, resolve_target, shown
from ..workspace.text import rewritten
from ..workspace.threads import in_thread
from .base import OUTPUT_LIMIT, Parameters, Tool, ToolContext, ToolResult, bounded, printable

# Bytes of a file that may be changed, and characters of a line that a result shows.
BYTES = 20_000_000
LINE_SHOWN = 300


class FileParameters(Parameters):
    path: str = Field(description="File, relative to the project.")


P = TypeVar("P", bound=FileParameters)


@dataclass(frozen=True)
class Change:
    """A file's bytes and text before (None: there is no file) and after."""

    path: Path
    before: bytes | None
    after: bytes
    old: str
    new: str

    @cached_property
    def diff(self) -> Diff:
        return diff(self.old, self.new)

    @property
    def basis(self) -> str:
        """Names the file and all its bytes, before and after."""
        parts = (bytes(self.path), self.before or b"", self.after)
        return ":".join(hashlib.sha256(each).hexdigest() for each in parts)


class FileTool(Tool[P]):
    """A tool that changes the text of one file, in its encoding, and never unseen."""

    access: ClassVar[Access] = "write"
    makes: ClassVar[bool] = False  # whether the file may be missing

    @abstractmethod
    def changed(self, parameters: P, text: str) -> str:
        """The new text, from the old one. Raises `EditRefused`."""

    def refuse(self, path: Path, before: bytes, context: ToolContext) -> None:
        """Raise `EditRefused` where this file may not be changed by this call."""
        if changed := context.seen.changed(path, before):
            raise changed

    def summary(self, parameters: P) -> str:
        return parameters.path

    def subject(self, parameters: P, context: ToolContext) -> Subject:
        """With a fault in place of a preview where the change cannot be made. Blocks."""
        path = resolve_target(context.project, parameters.path)
        name = shown(context.project, path)
        context.kept.pop("refused", None)
        try:
            return self._subject(self._plan(path, parameters, context), name)
        except EditRefused as error:
            if not context.may_read(name):
                context.kept["refused"] = error
                return self._telling(name, parameters, error)
            return Subject(self.name, self.access, (name,), fault=str(error))
        except ToolFailed as error:
            return Subject(self.name, self.access, (name,), fault=str(error))

    async def run(self, parameters: P, context: ToolContext) -> ToolResult:
        return await in_thread(self._write, parameters, context)

    def _subject(self, change: Change, name: str) -> Subject:
        told = printable(name)
        title = f"Write new file {told}?"
        if change.before is not None:
            title = f"{'Replace' if self.makes else 'Change'} {told}?"
        return Subject(
            self.name,
            self.access,
            (name,),
            preview=bounded(f"{change.diff.counted}\n{change.diff.text}"),
            title=title,
            grant_label=f"every change of {told} by {self.name}",
            basis=change.basis,
        )

    def _telling(self, name: str, parameters: P, error: EditRefused) -> Subject:
        """That an edit fits, or how often, tells what a file holds: of one that may not be read
        without asking, this too is asked."""
        told, asked = printable(name), parameters.model_dump_json(exclude={"path"})
        return Subject(
            self.name,
            self.access,
            (name,),
            preview=bounded(f"{error}\n{asked}"),
            title=f"Let the model know why it cannot change {told} so? It learns what that holds.",
            grant=f"\0{name}",
            grant_label=f"telling why a change of {told} by {self.name} cannot be made",
        )

    def _plan(self, path: Path, parameters: P, context: ToolContext) -> Change:
        """What would be done now. Raises `ToolFailed`; it is `EditRefused` where that depends on
        what the file holds, and shows lines only where it may be read."""
        name = printable(shown(context.project, path))
        if os.path.lexists(path) and context.denies_reading(shown(context.project, path)):
            raise ToolFailed(f"The settings deny to read {name}, so it is not changed; do without.")
        if path.suffix.lower() == ".ipynb":
            raise ToolFailed(
                f"{name} is a notebook, which its editor would overwrite or take for broken; take "
                "a tool for cells where there is one, or let the person change them."
            )
        before = self._before(path, name, context)
        kind: type[ToolFailed] = ToolFailed
        try:
            if before is not None:
                self.refuse(path, before, context)
            kind = EditRefused  # from here on it is what the file holds that decides
            return self._change(path, before, parameters, context)
        except EditRefused as error:
            told = [f"{name}: {error}"]
            if error.excerpt and context.may_read(shown(context.project, path)):
                told.append(error.excerpt)
            raise kind("\n".join(told)) from None

    def _change(
        self, path: Path, before: bytes | None, parameters: P, context: ToolContext
    ) -> Change:
        """Made once, though it is asked for when it is judged, and before and under the lock."""
        known = context.kept.get("change")
        if isinstance(known, Change) and (known.path, known.before) == (path, before):
            return known
        old, new, after = rewritten(before or b"", lambda text: self.changed(parameters, text))
        if before == after:
            raise EditRefused("it would stay as it is; nothing was changed.")
        context.kept["change"] = change = Change(path, before, after, old, new)
        return change

    def _before(self, path: Path, name: str, context: ToolContext) -> bytes | None:
        if not _is_there(path, name):
            if not self.makes:
                raise ToolFailed(f"There is no file {name}; look for its name, or write the file.")
            there = next(each for each in path.parents if os.path.lexists(each))
            if not there.is_dir():
                raise ToolFailed(f"{printable(shown(context.project, there))} is no folder.")
            return None
        with open_regular(context.project, path) as stream:
            try:
                data = stream.read(BYTES + 1)
                mode = os.fstat(stream.fileno()).st_mode
            except OSError as error:
                raise ToolFailed(f"{name} cannot be read: {error.strerror}.") from None
        if len(data) > BYTES:
            raise ToolFailed(f"{name} is larger than {BYTES // 1_000_000} MB; change it by code.")
        if not mode & 0o222:
            raise ToolFailed(f"{name} is read-only; ask the person whether to change that.")
        return data

    def _write(self, parameters: P, context: ToolContext) -> ToolResult:
        path = context.resolved(parameters.path, resolve_target)
        name = printable(shown(context.project, path))
        if isinstance(refused := context.kept.get("refused"), EditRefused):
            raise refused  # nobody agreed to the change itself, should it be possible by now

        missing = [each for each in path.parents if not each.exists()]

        def attempt() -> Change | None:
            change = self._plan(path, parameters, context)
            if context.approved not in ("", change.basis):
                raise ToolFailed(f"{name} changed after the person had agreed; call again.")
            writing = Writing(path, change.before, change.after, missing)
            return change if context.write(writing) else None

        self._plan(path, parameters, context)  # what cannot be done makes no folder and no lock
        try:
            change = retried(path, attempt)
        except BaseException:
            for each in missing:  # those that are empty, from the innermost
                with suppress(OSError):
                    each.rmdir()
            raise
        if self.makes:
            context.seen.note(path, change.after)
        else:
            context.seen.note_edit(path, change.after, change.diff.added - change.diff.removed)
        return ToolResult("ok", _told(name, change, context.may_read(shown(context.project, path))))


def _is_there(path: Path, name: str) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ToolFailed(f"{name} cannot be looked at: {error.strerror}.") from None
    return True


def _told(name: str, change: Change, readable: bool) -> str:
    """What was done, with the lines that are new."""
    done = "Made" if change.before is None else "Changed"
    said = [f"{done} {name}: {change.diff.sizes}."]
    if readable and change.before is not None:
        lines = change.diff.lines
        said += [f"{number}: {_cut(line)}" for number, line in lines]
        if change.diff.added > len(lines):
            said.append(f"[{change.diff.added - len(lines):,} more new lines]")
    return bounded("\n".join(said), OUTPUT_LIMIT)


def _cut(line: str) -> str:
    return line if len(line) <= LINE_SHOWN else f"{line[:LINE_SHOWN]}…"
