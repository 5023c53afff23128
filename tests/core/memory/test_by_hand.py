"""A person edits MEMORY.md between and during the program's writes: nothing of theirs is lost."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.errors import MemoryRefused, StorageError, TextRefused
from shiro_jupyter.core.memory import index_file
from shiro_jupyter.core.memory.index import BOM, parse_line
from shiro_jupyter.core.memory.store import Memory
from shiro_jupyter.core.workspace import files as files_module
from shiro_jupyter.core.workspace.files import write_atomic
from tests.support.memories import maker

TEXTS = ["use pnpm", "the cut-off is 2023-01-01", "plots are saved as svg", "dates are day-first"]
NEW = [*TEXTS, "the cut-off is 2022-06-01", "dates are month-first", "amounts are in cents"]

bullets = st.builds(
    lambda text, kind, end: f"- [2026-10-08 10:00:00] {kind}{text}{end}".encode(),
    st.sampled_from(TEXTS),
    st.sampled_from(["", "(gotcha) ", " "]),
    st.sampled_from(["", " #tag", " (see a.md)", " <!-- by hand -->", "  "]),
)
odd = st.sampled_from(
    [
        b"# Heading", b"", b"   ", b"- plain bullet", b"* [2026-10-08 10:00:00] use pnpm",
        b"  - [2026-10-08 10:00:00] use pnpm", b"- [2026-13-40 10:00:00] use pnpm",
        b"- [not-a-stamp] use pnpm", b"<<<<<<< HEAD", b"=======", b">>>>>>> theirs",
        b"- [2026-10-08 10:00:00] caf\xe9", b"\xff\xfe\xfa", b"use pnpm", b"a\rb", b"\xe2\x80\xa8",
    ]
)  # fmt: skip
lines = st.one_of(bullets, odd, st.binary(max_size=9).filter(lambda raw: b"\n" not in raw))
ends = st.sampled_from([b"\n", b"\n", b"\r\n"])

Edit = Callable[[bytes], bytes]


def inserted(at: int, line: bytes, end: bytes) -> Edit:
    def edit(raw: bytes) -> bytes:
        parts = raw.splitlines(keepends=True) if b"\r" not in raw else raw.split(b"\n")
        if b"\r" in raw:
            parts = [part + b"\n" for part in parts[:-1]] + parts[-1:]
        place = at % (len(parts) + 1)
        return b"".join([*parts[:place], line + end, *parts[place:]])

    return edit


edits = st.one_of(
    st.builds(inserted, st.integers(0, 20), lines, ends),
    st.sampled_from(
        [
            lambda raw: raw.removesuffix(b"\n").removesuffix(b"\r"),
            lambda raw: BOM + raw.removeprefix(BOM),
            lambda raw: raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
            lambda raw: b"<<<<<<< HEAD\n" + raw + b"=======\n" + raw + b">>>>>>> theirs\n",
            lambda raw: raw[len(raw) // 2 :],
            lambda raw: b"",
        ]
    ),
)
files = st.lists(st.tuples(lines, ends), max_size=8).map(
    lambda pairs: b"".join(line + end for line, end in pairs)
)
operations = st.tuples(
    st.sampled_from(["remember", "keep", "forget", "replace"]),
    st.sampled_from(NEW),
    st.sampled_from(TEXTS),
    st.lists(edits, max_size=2),  # before
    st.lists(edits, max_size=3),  # while it is written
)


@contextmanager
def saving(path: Path, pending: list[Edit]) -> Iterator[None]:
    """The person saves the file just before each of the program's writes."""

    def meanwhile(target: Path, *arguments: object, **options: object) -> bool:
        if target == path and pending:
            save(path, pending.pop(0))
        return write_atomic(target, *arguments, **options)  # type: ignore[arg-type]

    with patch.object(index_file, "write_atomic", meanwhile):
        yield


def save(path: Path, edit: Edit) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(edit(path.read_bytes() if path.exists() else b""))


def split(raw: bytes, mark: bytes) -> list[bytes]:
    """Lines with their ends, by a way of its own."""
    assert raw.startswith(mark)
    parts = raw.removeprefix(mark).split(b"\n")
    return [*(part + b"\n" for part in parts[:-1]), *filter(None, parts[-1:])]


def unended(line: bytes) -> bytes:
    return line.removesuffix(b"\n").removesuffix(b"\r")


def text_of(line: bytes) -> str | None:
    try:
        entry = parse_line(unended(line).decode())
    except UnicodeDecodeError:
        return None
    return entry and entry.folded


def run(memory: Memory, name: str, text: str, old: str) -> tuple[str, str]:
    """What was done, in a word, and the folded text of what went: `old` may be a part of it."""
    if name == "forget":
        return "gone", memory.forget(old).entry.folded
    replaces = old if name == "replace" else ""
    done = memory.remember(text, replaces=replaces, keep_both=name == "keep")
    if done.replaced:
        return "swapped" if done.stored else "gone", done.replaced.folded
    return "added" if done.stored else "", ""


def check(done: str, before: bytes, after: bytes, text: str, old: str) -> None:
    """The person's last save and what the program made of it."""
    mark = BOM if before.startswith(BOM) else b""
    was, now = split(before, mark), split(after, mark)
    if not done:
        assert after == before
    elif done == "added":
        assert after.startswith(before) and text_of(now[-1]) == text
        assert list(map(unended, now[:-1])) == list(map(unended, was))
    else:
        held = [at for at, line in enumerate(was) if text_of(line) == old]
        place = held.pop() if done == "swapped" else -1
        kept = [(at, line) for at, line in enumerate(was) if at not in held]
        assert len(now) == len(kept)
        for (at, line), new in zip(kept, now, strict=True):
            if at == place:
                assert (
                    text_of(new) == text and new[len(unended(new)) :] == line[len(unended(line)) :]
                )
            else:  # the end of a last line may go with the one behind it
                assert new == line or (new is now[-1] and new == unended(line))


@settings(max_examples=200)
@given(files, st.lists(operations, min_size=1, max_size=4))
def test_nothing_a_person_wrote_is_lost_or_moved(
    start: bytes, steps: list[tuple[str, str, str, list[Edit], list[Edit]]]
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.multiple(files_module, EMPTY_PATIENCE=0, LATE_PATIENCE=0),  # saves are whole here
    ):
        memory = maker(Path(folder))()
        path = memory.path()
        save(path, lambda raw: start)
        for name, text, old, before, during in steps:
            for edit in before:
                save(path, edit)
            saved = [path.read_bytes()]
            during = [_noting(edit, saved) for edit in during]
            done = gone = ""
            with saving(path, during), suppress(MemoryRefused, TextRefused, StorageError):
                done, gone = run(memory, name, text, old)
            check(done, saved[-1], path.read_bytes(), text, gone)
            assert sorted(each.name for each in path.parent.iterdir()) == ["MEMORY.md"]


def _noting(edit: Edit, saved: list[bytes]) -> Edit:
    def noted(raw: bytes) -> bytes:
        saved.append(edit(raw))
        return saved[-1]

    return noted


def test_an_editor_that_saves_in_place_loses_nothing_however_slow(tmp_path: Path) -> None:
    memory = maker(tmp_path)()
    path = memory.remember("use pnpm").path
    old = path.read_bytes() + b"- by hand\n" * 50
    with path.open("wb") as editor:  # which empties it
        memory.remember("plots are saved as svg")
        editor.write(old)
    assert path.read_bytes() == old


def test_lines_to_mend_are_told_once_with_their_number_while_the_rest_works(tmp_path: Path) -> None:
    memory = maker(tmp_path)()
    memory.remember("use pnpm")
    good = memory.path().read_bytes()
    memory.path().write_bytes(
        b"# Team\n<<<<<<< HEAD\n" + good + b"=======\n- [2026-10-08] a day alone\n"
        b">>>>>>> theirs\ncaf\xe9\n- [ ] a task\n"
    )
    told = memory.problems()
    assert [sentence.split("line ")[1].split(":")[0] for sentence in told] == ["2", "5", "6", "7"]
    assert all(str(memory.path()) in sentence for sentence in told)
    memory.remember("plots are saved as svg")
    save(memory.path(), lambda raw: b"\n\n" + raw)  # the lines move
    assert memory.problems() == []
    assert [found.entry.text for found in memory.entries()] == [
        "plots are saved as svg", "use pnpm",
    ]  # fmt: skip
    save(memory.path(), lambda raw: raw + b"- [2026-10-09] another\n" * 9 + b"\xe9\n\xe8\n" * 3)
    assert ["another" in sentence or "line" in sentence for sentence in memory.problems()]
    for number in range(9):
        save(memory.path(), lambda raw, number=number: raw + b"\xe9 %d\n" % number)  # type: ignore[misc]
    told = memory.problems()
    assert len(told) == 6 and "4 more" in told[-1] and memory.problems() == []
