"""The sessions there are: listed newest first, found by id or a unique beginning of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..workspace.project import Project
from .log import FORMAT, records_of
from .session import Record

LISTED = 15
SHORTEST_ID = 8
# The first line and the title stand at the beginning.
_HEAD = 16_384


@dataclass(frozen=True)
class Listing:
    """One session of a list. `updated` is the time of its last write, in seconds since 1970."""

    id: str
    path: Path
    updated: float
    title: str = ""
    created: str = ""
    project: str = ""
    notebook: str = ""
    model: str = ""


def sessions(
    folder: Path, *, project: Path | None = None, notebook: Path | None = None, limit: int = LISTED
) -> list[Listing]:
    """The newest sessions, of one project or notebook where given; corrupt files are skipped."""
    found: list[Listing] = []
    for listing in _all(folder):
        if len(found) == limit:
            break
        if project is not None and listing.project != str(project):
            continue
        if notebook is not None and listing.notebook != str(notebook):
            continue
        found.append(listing)
    return found


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


def _all(folder: Path) -> Iterator[Listing]:
    """Newest first; what cannot be read or was written by a later version is left out."""
    dated: list[tuple[int, str, Path]] = []
    for path in folder.glob("*.jsonl"):
        try:
            if path.is_file():
                dated.append((path.stat().st_mtime_ns, path.stem, path))
        except OSError:
            continue
    for changed, _, path in sorted(dated, reverse=True):
        if listing := _listing(path, changed / 1e9):
            yield listing


def _listing(path: Path, updated: float) -> Listing | None:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None
    records = [record for line in head.split(b"\n")[:8] for record in records_of(line)[0]]
    header = next((record for record in records if "shiro_session" in record), None)
    if header is None or header["shiro_session"] != FORMAT:
        return None
    said = {
        **header,
        **{str(r.get("set")): r.get("value") for r in records if "set" in r},
    }
    names = ("title", "created", "project", "notebook", "model")
    return Listing(path.stem, path, updated, *(_text(said, name) for name in names))


def _text(header: Record, name: str) -> str:
    value = header.get(name)
    return value if isinstance(value, str) else ""
