from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, PathRefused, ToolFailed
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.tools import grep
from shiro_jupyter.core.tools.base import OUTPUT_LIMIT, ToolContext
from shiro_jupyter.core.tools.glob import Glob
from shiro_jupyter.core.tools.grep import HITS, Grep
from shiro_jupyter.core.tools.read_file import ReadFile
from shiro_jupyter.core.workspace import walk
from tests.support.programs import processes_with
from tests.support.tools import Bench

UNREAD = "[Files that hold keys, or that rules keep from being read, are not searched.]"


class Judged(Bench):
    """As the loop has it: what may be read is for the gate to say."""

    rules = Rules()

    @property
    def context(self) -> ToolContext:
        gate = Gate(rules=self.rules)
        return replace(super().context, may_read=partial(gate.lets_read, self.session.grants))


@pytest.fixture(params=[("rg", "git"), ()], ids=["rg", "no rg"])
def bench(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Judged]:
    (tmp_path / "project").mkdir()
    bench = Judged(tmp_path / "project")
    with processes_with(*request.param) as bench.processes:
        yield bench


def put(bench: Bench, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = bench.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def lines(bench: Bench, pattern: str, **arguments: object) -> list[str]:
    return bench.run(Grep(), pattern=pattern, **arguments).text.splitlines()


def test_lines_come_with_path_and_number(bench: Judged) -> None:
    put(bench, {"b.py": "x = 1\n\ndef f(x):\n", "src/a.py": "def g(): pass", "c.md": "def"})
    assert lines(bench, r"def \w\(") == ["b.py:3: def f(x):", "src/a.py:1: def g(): pass"]
    assert lines(bench, "DEF", ignore_case=True, glob="*.md") == ["c.md:1: def"]
    assert lines(bench, "def", glob="src/*.{py,md}") == ["src/a.py:1: def g(): pass"]
    assert lines(bench, "def", path="src") == ["src/a.py:1: def g(): pass"]
    assert lines(bench, "def", path="b.py") == ["b.py:3: def f(x):"]
    assert lines(bench, "nothing") == ["No line matches nothing in the project folder."]


def test_what_is_ignored_is_searched_where_path_names_it(bench: Judged) -> None:
    put(bench, {"out/a": "word", "node_modules/b": "word", ".gitignore": "out/\n*.log\n"})
    put(bench, {"c.log": "word"})
    assert lines(bench, "word") == ["No line matches word in the project folder."]
    assert lines(bench, "word", path="out") == ["out/a:1: word"]
    assert lines(bench, "word", path="node_modules") == ["node_modules/b:1: word"]
    assert lines(bench, "word", path="c.log") == ["c.log:1: word"]


def test_files_that_hold_keys_are_passed_over_and_it_is_said_whatever_is_in_them(
    bench: Judged,
) -> None:
    put(bench, {".env": "KEY=word", "sub/id_rsa": "word", "a": "word", ".aws/config": "word"})
    assert lines(bench, "word") == ["a:1: word", UNREAD]
    none = "No line matches KEY=w in the project folder."
    assert lines(bench, "KEY=w") == [none, UNREAD]
    assert lines(bench, "KEY=x")[1:] == [UNREAD]
    assert lines(bench, "word", path="sub")[1:] == [UNREAD]
    assert lines(bench, "KEY=w", glob="a") == [none]
    # A person was asked for a path that names it: then it is searched.
    parameters = Grep().parse('{"pattern": "word", "path": ".env"}')
    subject = Grep().subject(parameters, bench.context)
    assert subject.texts == (".env",) and Gate().decide(subject, ()).verdict == "ask"
    assert lines(bench, "word", path=".env") == [".env:1: KEY=word"]


@pytest.mark.parametrize("file", ["api/deep/.env", "api/.aws/config", "api/keys/a.pem"])
def test_it_is_said_that_files_with_keys_far_below_are_passed_over(
    bench: Judged, file: str
) -> None:
    put(bench, {"a": "word", "node_modules/x/.env": "KEY=word", "out/b.pem": "word"})
    put(bench, {".gitignore": "out/\n"})
    assert lines(bench, "word") == ["a:1: word"]
    put(bench, {file: "KEY=word"})
    assert lines(bench, "word") == ["a:1: word", UNREAD]


def test_it_is_said_too_where_there_is_too_much_to_tell(
    bench: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "LOOKED_AT", 4)
    monkeypatch.setattr(grep, "LOOKED_AT", 4)
    put(bench, {"a": "word", "b/c": "word"})
    assert lines(bench, "word") == ["a:1: word", "b/c:1: word"]
    put(bench, {"b/d": "", "b/e/.env": "KEY=word"})
    assert lines(bench, "word") == ["a:1: word", "b/c:1: word", UNREAD]


def test_files_that_a_rule_keeps_from_being_read_are_passed_over(bench: Judged) -> None:
    bench.rules = Rules.parse(deny=["read(private/**)"], ask=["read_file(*.csv)"])
    put(bench, {"private/a": "word", "b.csv": "word", "c": "word"})
    assert lines(bench, "word") == ["c:1: word", UNREAD]
    assert lines(bench, "word", glob="*.csv")[0].startswith("No line matches")


def test_nothing_outside_the_project_is_read(bench: Judged, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("word")
    put(bench, {"sub/a": "word"})
    (bench.root / "link").symlink_to(tmp_path / "outside/secret")
    (bench.root / "folder").symlink_to(tmp_path / "outside")
    (bench.root / "up").symlink_to(bench.root)
    (bench.root / "gone").symlink_to("nowhere")
    os.mkfifo(bench.root / "pipe")
    assert lines(bench, "word") == ["sub/a:1: word"]
    assert lines(bench, "word", path="up/sub") == ["sub/a:1: word"]
    for path in ("link", "folder", "folder/secret", "..", "/", "pipe"):
        with pytest.raises(PathRefused):
            lines(bench, "word", path=path)


def test_a_folder_that_is_allowed_besides_is_searched(bench: Judged) -> None:
    bench.outputs.mkdir()
    (bench.outputs / "long.txt").write_text("word")
    assert lines(bench, "word", path=str(bench.outputs)) == [f"{bench.outputs}/long.txt:1: word"]


def test_the_text_is_bounded_and_says_what_is_left_out(bench: Judged) -> None:
    put(bench, {f"{n:03}": "word\n" for n in range(HITS)})
    assert len(lines(bench, "word")) == HITS
    put(bench, {"zzz": "word\n"})
    assert lines(bench, "word")[HITS - 1 :] == [
        "199:1: word",
        "[only the first 200 lines; narrow the pattern, the path or the glob]",
    ]
    put(bench, {"000": f"{'é' * 290}\n" * 150})
    text = bench.run(Grep(), pattern="é|w").text
    assert len(text) <= OUTPUT_LIMIT
    assert "more lines left out for their length]" in text
    put(bench, {"long": "a" * 500 + "needle" + "b" * 500})
    (line,) = lines(bench, "needle")
    assert line.startswith("long:1: [400 characters cut …] aaa") and "needle" in line


def test_what_is_not_searched_in_a_file_is_said_of_it(bench: Judged) -> None:
    put(bench, {"data.bin": b"word\0", "wide": "word".encode("utf-32"), "old": b"word \xe9"})
    assert lines(bench, "word", path="data.bin") == [
        "No line matches word in data.bin.",
        "[data.bin: Binary; not searched.]",
    ]
    assert lines(bench, "word", path="wide")[1:] == ["[wide: UTF-32; not searched.]"]
    assert lines(bench, "word") == ["old:1: word é", "[old: Not UTF-8; read as cp1252.]"]


def test_odd_names_and_patterns_stay_on_their_line(bench: Judged) -> None:
    put(bench, {"-x": "-word", "new\nline": "-word", "\x1b[2J": "-word"})
    assert lines(bench, "-word") == ["\\x1b[2J:1: -word", "-x:1: -word", "new\\nline:1: -word"]
    assert lines(bench, "-word", path="-x") == ["-x:1: -word"]
    assert lines(bench, "a\nb") == ["No line matches a\\nb in the project folder."]


def test_what_cannot_be_searched_for_is_refused_with_the_way_on(bench: Judged) -> None:
    with pytest.raises(ToolFailed, match="There is no file or folder missing"):
        lines(bench, "a", path="missing")
    with pytest.raises(ToolFailed, match=r"no regular expression .missing .*; put a"):
        lines(bench, "(a")
    with pytest.raises(ToolFailed, match="No name can fit"):
        lines(bench, "a", glob="[")
    with pytest.raises(InvalidArguments, match="at least 1 character"):
        lines(bench, "")
    assert Grep().summary(Grep().parse('{"pattern": "a", "path": "src"}')) == "a in src"


@pytest.mark.skipif(os.name != "posix", reason="such names are none there")
@pytest.mark.parametrize("name", ["caf\udce9.txt", "new\nline.txt"])
def test_a_name_that_was_shown_can_be_given_back(tmp_path: Path, name: str) -> None:
    root = tmp_path.resolve() / "project"
    root.mkdir()
    (root / name).write_text("word\n")
    bench = Bench(root)
    shown = bench.run(Glob(), pattern="*.txt").text
    assert shown == bench.run(Grep(), pattern="word").text.removesuffix(":1: word")
    assert bench.run(Grep(), pattern="word", path=shown).text == f"{shown}:1: word"
    assert bench.run(ReadFile(), path=shown).text == "1: word"
