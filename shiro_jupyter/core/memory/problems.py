"""What is wrong with the files of a memory, said once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ..errors import PathRefused, StorageError
from .index_file import IndexFile
from .topics import read_topic

LISTED = 5  # of one file, at a time


class Problems:
    """Remembers what it told; a line that moved in its file is not told again."""

    def __init__(self, files: Iterable[IndexFile]) -> None:
        self._files = tuple(files)
        self._told: set[Hashable] = set()

    def fresh(self) -> list[str]:
        """Sentences that were not told yet."""
        told = []
        for file in self._files:
            found = {key: said for key, said in _problems(file) if key not in self._told}
            self._told.update(found)
            told += list(found.values())[:LISTED]
            if len(found) > LISTED:
                told.append(f"{file.path} has {len(found) - LISTED} more faults; mend these first.")
        return told


def _problems(file: IndexFile) -> Iterator[tuple[Hashable, str]]:
    try:
        index = file.read()
    except StorageError as error:
        yield str(error), str(error)
        return
    for at in index.broken():
        yield (
            (file.path, at.line),
            f"{file.path}, line {at.number}: {at.fault}; kept, and no memory until it is mended.",
        )
    for topic in dict.fromkeys(each.topic for each in index.entries if each.topic):
        try:
            read_topic(file.path.parent, topic)
        except PathRefused as error:
            yield (file.path, topic), str(error)
