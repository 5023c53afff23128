"""The sessions there are: listed newest first, found by id or a unique beginning of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from ..errors import UsageError
from ..workspace.plain import told
from ..workspace.project import Project
from .lease import Holder, Lease, holder
from .records import FORMAT, items_of, records_of
from .session import Record

LISTED = 15
SHORTEST_ID = 8
# Bytes that are read of a file, however large it is: its first line and title stand at the
# beginning, its newest turn at the end. More of that where it holds no turn's end.
_HEAD, _ENDS = 16_384, (8_192, 131_072)


@dataclass(frozen=True)
class Listing:
    """One session of a list. `updated` is the time of its last write, in seconds since 1970,
    `size` its bytes, `turns` their number as far as it is known."""

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

    @property
    def holder(self) -> Holder:
        """Where it is open now."""
        return holder(self.path)


def sessions(
    folder: Path, *, project: Path | None = None, notebook: Path | None = None, limit: int = LISTED
) -> list[Listing]:
    """The newest sessions, of one project or notebook where given; corrupt files are skipped."""
    return [_to_its_end(each) for each in islice(_of(folder, project, notebook), limit)]


def unowned(folder: Path, notebook: Path) -> Listing | None:
    """The newest session of a notebook that is not open anywhere."""
    return next((each for each in _of(folder, None, notebook) if not each.holder), None)


def newest(folder: Path, project: Project, *, apart_from: str = "") -> Listing | None:
    """The newest session of the project's notebook, else of the project, save the one given."""
    places = [{"project": project.root}]
    if project.notebook:
        places.insert(0, {"notebook": project.notebook})
    for place in places:
        for listing in sessions(folder, limit=2, **place):
            if listing.id != apart_from:
                return listing
    return None


def find(folder: Path, prefix: str) -> Path:
    """The file of the one session whose id begins so. Raises `UsageError` for none or several."""
    prefix = prefix.strip().lower()
    if not prefix:
        raise UsageError("Name a session by its id or the beginning of it; /sessions lists them.")
    exact = [listing for listing in _all(folder) if listing.id.startswith(prefix)]
    if not exact:
        raise UsageError(f"No session begins with {prefix}; /sessions lists them.")
    if len(exact) > 1 and not any(listing.id == prefix for listing in exact):
        short = short_ids(listing.id for listing in exact)
        several = ", ".join(
            f"{short[listing.id]} ({listing.title})" if listing.title else short[listing.id]
            for listing in exact[:LISTED]
        )
        raise UsageError(f"Several sessions begin with {prefix}: {several}; give more of the id.")
    return next((each.path for each in exact if each.id == prefix), exact[0].path)


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
            for folder in also:
                with suppress(FileNotFoundError):
                    shutil.rmtree(folder)
            for left in path.parent.glob(f".{path.stem}.*"):  # by a process that was killed
                left.unlink(missing_ok=True)
            path.unlink()
    finally:
        lease.release()


def _of(folder: Path, project: Path | None, notebook: Path | None) -> Iterator[Listing]:
    for listing in _all(folder):
        if (project is None or listing.project == str(project)) and (
            notebook is None or listing.notebook == str(notebook)
        ):
            yield listing


def _all(folder: Path) -> Iterator[Listing]:
    """Newest first; what cannot be read or was written by a later version is left out."""
    dated: list[tuple[int, str, Path, int]] = []
    for path in folder.glob("*.jsonl"):
        try:
            if path.is_file():
                known = path.stat()
                dated.append((known.st_mtime_ns, path.stem, path, known.st_size))
        except OSError:
            continue
    for changed, _, path, size in sorted(dated, reverse=True):
        if listing := _listing(path, changed / 1e9, size):
            yield listing


def _listing(path: Path, updated: float, size: int) -> Listing | None:
    records = _records(_part(path, 0, _HEAD).split(b"\n")[:8])
    header = next((record for record in records if "shiro_session" in record), None)
    if header is None or header["shiro_session"] != FORMAT:
        return None
    said = {
        **header,
        **{str(r.get("set")): r.get("value") for r in records if "set" in r},
    }
    title, created, project, notebook, model = (
        value if isinstance(value := said.get(name), str) else ""
        for name in ("title", "created", "project", "notebook", "model")
    )
    return Listing(path.stem, path, updated, size, title, created, project, notebook, model)


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
        with path.open("rb") as file:
            file.seek(start)
            return file.read(length)
    except OSError:
        return b""


def _records(lines: Iterable[bytes]) -> list[Record]:
    return [record for line in lines for record in records_of(line)[0]]
