from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from shiro_jupyter.core.errors import MemoryRefused, TextRefused, UsageError
from shiro_jupyter.core.events import Event, MemoryChanged
from shiro_jupyter.core.memory.store import Memory
from shiro_jupyter.core.workspace import files
from shiro_jupyter.kernel.memory_magics import (
    OFF,
    MemoryMagics,
    forget_line,
    is_history,
    recall_line,
    remember_line,
)
from shiro_jupyter.kernel.said import text_of
from tests.support.kernels import running_kernel
from tests.support.memories import maker

ROOT = Path(__file__).parents[2]


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return maker(tmp_path)()


@pytest.mark.parametrize(
    ("line", "kind", "scope", "text"),
    [
        ("use pnpm", "fact", "project", "use pnpm"),
        ("gotcha dates are day-first", "gotcha", "project", "dates are day-first"),
        ("decision: use uv", "decision", "project", "use uv"),
        ("(command) make test", "command", "project", "make test"),
        ("--global decision no emojis", "decision", "global", "no emojis"),
        ("decision --global no emojis", "decision", "global", "no emojis"),
        ("-- decision trees beat forests", "fact", "project", "decision trees beat forests"),
        ("fact decision trees win", "fact", "project", "decision trees win"),
        ("factual errors are logged", "fact", "project", "factual errors are logged"),
        ('say "50 % off?" for {x} $y', "fact", "project", 'say "50 % off?" for {x} $y'),
        ("use --global in scripts", "fact", "project", "use --global in scripts"),
        ("-- npm install --global", "fact", "project", "npm install --global"),
        ("-- --no-verify is banned", "fact", "project", "--no-verify is banned"),
        ("DECISION we drop 2023", "decision", "project", "we drop 2023"),
        ("Gotcha: we drop rows", "gotcha", "project", "we drop rows"),
        ("(Gotcha) we drop rows", "gotcha", "project", "we drop rows"),
        ("[gotcha] we drop rows", "gotcha", "project", "we drop rows"),
        ("gotcha - we drop rows", "gotcha", "project", "we drop rows"),
        ("Decision — use uv", "decision", "project", "use uv"),
        ("Decision trees beat forests", "fact", "project", "Decision trees beat forests"),
        ("gotcha -1 is missing", "gotcha", "project", "-1 is missing"),
        ("- [2026-10-08 10:00:00] (gotcha) net <!-- x -->", "gotcha", "project", "net"),
        ("--global [2026-10-08 10:00:00] (decision) net", "decision", "global", "net"),
    ],
)
def test_what_is_taken_is_echoed_and_stored(
    memory: Memory, line: str, kind: str, scope: str, text: str
) -> None:
    said, event = remember_line(memory, line)
    (found,) = memory.entries()
    assert (found.entry.kind, found.scope, found.entry.text) == (kind, scope, text)
    assert event == MemoryChanged(scope, text)
    assert said.startswith(f"Remembered as {kind}") and text in said
    assert (".shiro/memory/MEMORY.md" if scope == "project" else "config/memory") in said


def test_the_same_again_is_said_and_changes_nothing(memory: Memory) -> None:
    remember_line(memory, "gotcha use pnpm #js")
    said, event = remember_line(memory, "Use  PNPM")
    assert said.startswith("Already recorded: [2026-11-30 09:00:01] (gotcha) use pnpm #js")
    assert event is None


def test_the_kind_of_what_is_replaced_stays_unless_one_is_given(memory: Memory) -> None:
    remember_line(memory, "gotcha use pnpm")
    (old,) = memory.entries()
    said, _ = remember_line(memory, f"--replaces {old.entry.id} use yarn")
    assert said.startswith("Remembered as gotcha: use yarn")
    (found,) = memory.entries()
    said, _ = remember_line(memory, f"fact --replaces {found.entry.id} use uv")
    assert said.startswith("Remembered as fact: use uv") and "in place of: use yarn" in said


def test_tags_and_pointer_are_echoed_as_they_were_taken(memory: Memory) -> None:
    said, _ = remember_line(memory, "prices are net #a, #b (see `t.md`).")
    assert said.split("\n")[:2] == [
        "Remembered as fact: prices are net (see t.md) #a #b",
        "  tags: a, b; detail in t.md",
    ]
    assert "tags" not in remember_line(memory, "use pnpm")[0]


def test_one_replaced_by_what_is_there_already_is_said_to_be_gone(memory: Memory) -> None:
    remember_line(memory, "use pnpm")
    remember_line(memory, "plots are svg")
    said, event = remember_line(memory, '--replaces "plots are svg" use pnpm')
    assert said.startswith("Already recorded: ") and "\n  in place of: plots are svg" in said
    assert event == MemoryChanged("project", "use pnpm", "plots are svg")
    assert [each.entry.text for each in memory.entries()] == ["use pnpm"]


@pytest.mark.parametrize("old", ['"plots are svg"', "“plots are svg”", '"Plots are svg."'])
def test_a_text_of_several_words_is_replaced_in_quotes(memory: Memory, old: str) -> None:
    remember_line(memory, "plots are svg")
    assert "in place of: plots are svg" in remember_line(memory, f"--replaces {old} use pnpm")[0]


@pytest.mark.parametrize(
    "flag", ["--global", "--keep-both", "--replaces a1b2c3", '--replaces "use npm"', "--replaces"]
)
def test_a_flag_at_the_end_is_asked_about_and_never_stored(memory: Memory, flag: str) -> None:
    with pytest.raises(UsageError) as refused:
        remember_line(memory, f"use pnpm {flag}")
    assert str(refused.value) == (
        f"“{flag}” stands at the end: flags come first (%remember {flag} TEXT); begin with -- "
        "where the text ends so."
    )
    assert memory.entries() == []


@pytest.mark.parametrize("line", ["", "  ", "decision", "--global", "--", "--gobal x"])
def test_remember_without_a_text_says_how(memory: Memory, line: str) -> None:
    with pytest.raises(UsageError, match=r"%remember \[fact\|decision"):
        remember_line(memory, line)
    assert not memory.project.store.exists()


def test_a_refused_text_says_why(memory: Memory) -> None:
    with pytest.raises(TextRefused, match="topic file"):
        remember_line(memory, "x" * 401)


def test_what_is_worked_on_is_kept_beside_it(memory: Memory) -> None:
    remember_line(memory, "dates are day-first", lambda text: {"branch": [text[:5]]})
    assert memory.entries()[0].entry.about == "branch: dates"


def recalled(memory: Memory, line: str) -> str:
    return text_of(recall_line(memory, line))


def test_recall_says_what_there_is(memory: Memory) -> None:
    assert recalled(memory, "anything").startswith("Nothing recorded yet")
    remember_line(memory, "decision we chose snake_case for database columns #naming")
    remember_line(memory, "--global the api is versioned under /v2")
    entry = memory.recall("snake")[0].entry
    assert recalled(memory, "snake_case columns").split("\n") == [
        "id      kind      age  used  memory",
        f"{entry.id}  decision  now  2     we chose snake_case for database columns #naming",
    ]
    assert recalled(memory, "api").endswith("  1     the api is versioned under /v2 — global")
    assert recalled(memory, "zebra") == (
        "No memory matches “zebra”: try other words, or list all with %shiro /notes."
    )
    with pytest.raises(UsageError, match="has no flag --wyh"):
        recall_line(memory, "--wyh api")
    with pytest.raises(UsageError, match="what to recall"):
        recall_line(memory, " --why ")


def test_why_is_shown_where_asked(memory: Memory) -> None:
    remember_line(memory, "prices are net #revenue")
    for line in ("revenue prices --why", "--why revenue prices"):
        assert recalled(memory, line).endswith("prices are net #revenue — #revenue, “prices”")
    assert "why" not in recalled(memory, "revenue")


def test_forget_answers_what_went(memory: Memory) -> None:
    remember_line(memory, "always use cargo nextest")
    remember_line(memory, "--global prefer go")
    remember_line(memory, "prefer rust")
    with pytest.raises(MemoryRefused, match="2 memories hold"):
        forget_line(memory, "prefer")
    said, event = forget_line(memory, "nextest")
    assert said.startswith("Forgotten: always use cargo nextest")
    assert event == MemoryChanged("project", "", "always use cargo nextest")
    assert forget_line(memory, "--global prefer")[1] == MemoryChanged("global", "", "prefer go")
    with pytest.raises(UsageError, match="which memory"):
        forget_line(memory, "--global")
    with pytest.raises(UsageError, match=r"no flag --gobal.*-- ends the flags"):
        forget_line(memory, "--gobal x")
    with pytest.raises(UsageError, match=r"flags come first \(%forget --global TEXT\)"):
        forget_line(memory, "prefer rust --global")
    remember_line(memory, "-- --no-verify is banned")
    assert "--no-verify is banned" in recalled(memory, "-- --no-verify")
    assert forget_line(memory, "-- --no-verify is banned")[0].startswith("Forgotten: --no-verify")


def test_the_lines_as_printed_are_taken_back(memory: Memory) -> None:
    said = remember_line(memory, "gotcha prices are net #a")[0].split("\n")[0]
    again = remember_line(memory, "(gotcha) prices are net #a")[0].split("\n")[0]
    assert again.startswith("Already recorded: [")
    for line in (said.partition(": ")[2], again.partition(": ")[2]):
        assert forget_line(memory, line)[0].startswith("Forgotten: prices are net #a")
        remember_line(memory, "gotcha prices are net #a")


def test_a_file_that_cannot_be_used_hides_no_other_and_is_said(memory: Memory) -> None:
    remember_line(memory, "--global no emojis")
    remember_line(memory, "use pnpm")
    memory.path().write_bytes(b"- one\n\0\n")
    fault = f"{memory.path()}, line 2: a NUL byte, which no text holds; take it out."
    assert recalled(memory, "emojis").split("\n")[-1] == fault
    assert recalled(memory, "pnpm").split("\n")[-1] == fault
    with pytest.raises(MemoryRefused) as refused:
        forget_line(memory, "use pnpm")
    assert str(refused.value).split("\n")[-1] == fault
    assert forget_line(memory, "no emojis")[0].split("\n")[-1] == f"  {fault}"
    assert recalled(memory, "emojis") == f"No memory could be looked at.\n{fault}"


def test_hidden_characters_are_shown(memory: Memory) -> None:
    said, _ = remember_line(memory, "a\u202eb\u200b")
    assert "⟨U+202E⟩" in said and "\u202e" not in said
    assert "\u202e" not in recall_line(memory, "a b")


@pytest.mark.parametrize("line", ["4", "1-4", "~1/7-~2/1 3", "~3/", " 12 "])
def test_numbers_and_ranges_are_history(line: str) -> None:
    assert is_history(line, lines=12)


@pytest.mark.parametrize("line", ["", "2023", "2023 rows", "dates", "v2", "why 4", "9" * 5_000])
def test_words_are_no_history(line: str) -> None:
    assert not is_history(line, lines=2_022)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    config = Config({"HistoryManager": {"enabled": False}})
    yield InteractiveShell(config=config)


def test_the_magics_take_the_line_as_typed_and_report(
    memory: Memory, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    events: list[Event] = []
    MemoryMagics(memory, emit=events.append).register(shell)
    shell.user_ns["y"] = "EXPANDED"
    shell.run_line_magic("remember", "gotcha keep $y and {y}")
    shell.run_line_magic("recall", "keep")
    shell.run_line_magic("recall", " ")
    shell.run_line_magic("forget", "zebra")
    captured = capsys.readouterr()
    assert "Remembered as gotcha: keep $y and {y}" in captured.out
    assert captured.out.count("keep $y and {y}") == 2
    assert "what to recall" in captured.err and "No memory holds “zebra”" in captured.err
    assert "Traceback" not in captured.err + captured.out
    assert events == [MemoryChanged("project", "keep $y and {y}")]
    shell.run_cell("40 + 2", store_history=True)
    shell.run_line_magic("recall", "1")
    assert shell.rl_next_input == "40 + 2"  # as IPython's own %recall leaves it
    shell.run_line_magic("history", "")
    assert shell.find_line_magic("remember").__doc__.startswith("%remember [fact|")
    shell.run_line_magic("recall", "keep")
    assert "keep $y and {y}" in capsys.readouterr().out


def test_nothing_is_written_where_memory_is_off(
    memory: Memory, shell: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    memory.remember("use pnpm")
    MemoryMagics(memory, on=lambda: False).register(shell)
    shell.run_line_magic("remember", "use uv")
    shell.run_line_magic("forget", "use pnpm")
    captured = capsys.readouterr()
    assert captured.err == f"{OFF}\n" * 2 and captured.out == ""
    shell.run_line_magic("recall", "pnpm")
    assert "use pnpm" in capsys.readouterr().out


def test_a_wait_is_said_and_an_interrupt_of_it_is_one_sentence(
    memory: Memory, shell: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_TOLD", 0)
    memory.remember("use pnpm")
    before = memory.path().read_bytes()
    MemoryMagics(memory).register(shell)
    with files.locked(memory.path()):
        for line in ("%remember plots are svg", "%forget use pnpm"):
            ends = iter([None, KeyboardInterrupt()])

            def sleep(seconds: float, ends: Iterator[BaseException | None] = ends) -> None:
                if end := next(ends):
                    raise end

            with patch.dict(inspect.unwrap(files.locked).__kwdefaults__, sleep=sleep):
                shell.run_cell(line)
    captured = capsys.readouterr()
    told = f"Waiting for another process that has {memory.path()} in use …\n"
    assert captured.err.count(told) == 2
    shown = captured.out + captured.err.replace(told, "")
    assert shown.strip().split("\n") == ["KeyboardInterrupt: Interrupted; nothing was changed."] * 2
    assert memory.path().read_bytes() == before


def test_neither_sdk_nor_pydantic_is_loaded() -> None:
    code = (
        "import sys, shiro_jupyter.kernel.memory_magics\n"
        "print([name for name in ('openai', 'pydantic', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.kernel
def test_in_a_kernel_without_a_model(tmp_path: Path) -> None:
    with running_kernel(folder=tmp_path) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        kernel.run("x = 5")
        kernel.run("%history -n 1")  # loads IPython's own %recall, where it comes late
        line = "what does -c do? {x} $x 'q\" !ls #tag"
        taken = kernel.run(f"%remember gotcha {line}")
        assert f"Remembered as gotcha: {line}\n" in taken.stdout and taken.status == "ok"
        assert str(tmp_path / ".shiro") in taken.stdout
        assert f"(gotcha) {line} <!--" in (tmp_path / ".shiro/memory/MEMORY.md").read_text()
        (shown,) = kernel.run("%recall what does -c do?").of("display_data")
        assert line in shown["data"]["text/plain"] and "<table>" in shown["data"]["text/html"]
        assert kernel.run("%recall 2").reply["payload"][0]["text"] == "x = 5"
        blank = kernel.run("%recall")
        assert "Say what to recall" in blank.stream("stderr") and blank.status == "ok"
        assert "Forgotten" in kernel.run("%forget what does").stdout
        assert kernel.run("%recall -c").stdout.startswith("Nothing recorded yet")
        assert kernel.value("'openai' in __import__('sys').modules") == "False"
        kernel.run("%unload_ext shiro_jupyter")
        assert kernel.run("%recall 2").reply["payload"][0]["text"] == "x = 5"
        assert kernel.run("%remember gone").reply["ename"] == "UsageError"
