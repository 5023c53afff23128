"""The sessions there are: listed newest first, found by id or a unique beginning of it."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

from ..errors import StorageError, UsageError
from ..workspace.plain import opened_plain, told
from ..workspace.project import Project
from .lease import Holder, Lease, holder
from .records import is_foreign, is_later, items_of, records_of
from .session import ID, Record

LISTED = 15
SHORTEST_ID = 8
# Bytes that are read of a file, however large it is: its first line and title stand at the
# beginning, its newest turn at the end. More of that where it holds no turn's end.
_HEAD, _ENDS = 16_384, (8_192, 131_072)


@dataclass(frozen=True)
class Listing:
    """One session of a list. `updated` is the time of its last write, in seconds since 1970,
    `size` its bytes, `turns` their number as far as it is known. One that does not `open`, as a
    later version or another user wrote it, is found, so that its opening can say why."""

    id: str
    path: Path
    updated: float
    size: int
    title: str = ""
    created: str = ""
    project: str = ""
    notebook: str = ""
    model: str = ""
    turns: int = 0
    opens: bool = True

    @property
    def holder(self) -> Holder:
        """Where it is open now."""
        return holder(self.path)


def sessions(
    folder: Path, *, project: Path | None = None, notebook: Path | None = None, limit: int = LISTED
) -> list[Listing]:
    """The newest sessions, of one project or notebook where given; what holds no record is left
    out. One whose first line is damaged may be of any project."""
    return [_to_its_end(each) for each in islice(_of(folder, project, notebook), limit)]


def of_notebook(folder: Path, notebook: Path) -> Listing | None:
    """The newest session of a notebook."""
    return next(iter(_of(folder, None, notebook)), None)


def newest(folder: Path, project: Project, *, apart_from: str = "") -> Listing | None:
    """The newest session of the project's notebook, else of the project, save the one given."""
    of_notebook = _of(folder, None, project.notebook) if project.notebook else ()
    of_project = (each for each in _of(folder, project.root, None) if each.project)
    return next((each for each in chain(of_notebook, of_project) if each.id != apart_from), None)


def find(folder: Path, prefix: str) -> Path:
    """The file of the one session whose id begins so. Raises `UsageError` for none or several."""
    prefix = prefix.strip().lower()
    if not prefix:
        raise UsageError("Name a session by its id or the beginning of it; /sessions lists them.")
    found = [listing for listing in _all(folder) if listing.id.startswith(prefix)]
    if not found:
        raise UsageError(f"No session begins with {prefix}; /sessions lists them.")
    if len(found) > 1:
        short = short_ids(listing.id for listing in found)
        several = ", ".join(
            f"{short[listing.id]} ({listing.title})" if listing.title else short[listing.id]
            for listing in found[:LISTED]
        )
        raise UsageError(f"Several sessions begin with {prefix}: {several}; give more of the id.")
    return found[0].path


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """The shortest beginnings, of one length, that tell these ids apart."""
    ids = list(dict.fromkeys(ids))
    length = SHORTEST_ID
    while len({each[:length] for each in ids}) < len(ids):
        length += 1
    return {each: each[:length].rstrip("-") for each in ids}


def short_id(path: Path) -> str:
    """The shortest beginning of a session's id that none beside it has."""
    return short_ids([path.stem, *(each.stem for each in path.parent.glob("*.jsonl"))])[path.stem]


def delete(path: Path, *also: Path) -> None:
    """Delete a session for good: its file, and the folders of `also` that belong to it. Raises
    `UsageError` for one that is open, `StorageError` for one that cannot be deleted."""
    lease = Lease(path)
    if not lease.take():
        raise UsageError(
            f"Session {short_id(path)} is open: /clear there, or end that kernel, and "
            "delete it then."
        )
    try:
        with told("delete", path):
            path.unlink()  # first: a session that stays keeps what belongs to it
        for folder in also:
            with told("delete", folder), suppress(FileNotFoundError):
                shutil.rmtree(folder)
        for left in path.parent.glob(f".{path.stem}.*"):  # by a process that was killed
            with told("delete", left):
                left.unlink(missing_ok=True)
    finally:
        lease.release()


def _of(folder: Path, project: Path | None, notebook: Path | None) -> Iterator[Listing]:
    for listing in _all(folder):
        of_project = project is None or listing.project in ("", str(project))
        if listing.opens and of_project and (notebook is None or listing.notebook == str(notebook)):
            yield listing


def _all(folder: Path) -> Iterator[Listing]:
    """Newest first; what is no plain file with the name of a session is left out."""
    dated: list[tuple[int, str, Path, os.stat_result]] = []
    for path in folder.glob("*.jsonl"):
        with suppress(OSError):
            known = path.lstat()
            if ID.fullmatch(path.stem) and stat.S_ISREG(known.st_mode):
                dated.append((known.st_mtime_ns, path.stem, path, known))
    for _, _, path, known in sorted(dated, key=lambda each: each[:2], reverse=True):
        if listing := _listing(path, known):
            yield listing


def _listing(path: Path, known: os.stat_result) -> Listing | None:
    """None of a file that holds no record of ours where one looks for them."""
    updated, size = known.st_mtime, known.st_size
    records = _records(_part(path, 0, _HEAD).split(b"\n")[:8])
    if not any(items_of(each) or "shiro_session" in each or "set" in each for each in records):
        return None
    header = next((record for record in records if "shiro_session" in record), {})
    opens = not is_later(header) and not is_foreign(known)
    said = {
        **header,
        **{str(r.get("set")): r.get("value") for r in records if "set" in r},
    }
    title, created, project, notebook, model = (
        value if isinstance(value := said.get(name), str) else ""
        for name in ("title", "created", "project", "notebook", "model")
    )
    return Listing(
        path.stem, path, updated, size, title, created, project, notebook, model, opens=opens
    )


def _to_its_end(listing: Listing) -> Listing:
    """With what only the end of the file tells: the newest turn, and a title given later."""
    for reach in _ENDS:
        start = max(0, listing.size - reach)
        lines = _part(listing.path, start, reach).split(b"\n")[1 if start else 0 :]
        turns, title = 0, ""
        for record in _records(lines):
            match record.get("set"), record.get("value"):
                case "ended", {"turn": int(turns), "title": str(title)}:
                    pass
                case "title", str(title):
                    pass
            for item in items_of(record):
                turns = item.turn
        if title:
            break
    return replace(listing, turns=turns, title=title or listing.title)


def _part(path: Path, start: int, length: int) -> bytes:
    """Bytes of a file; none where it cannot be read."""
    try:
        with opened_plain(path) as file:
            file.seek(start)
            return file.read(length)
    except (OSError, StorageError):
        return b""


def _records(lines: Iterable[bytes]) -> list[Record]:
    return [record for line in lines for record in records_of(line)[0]]
