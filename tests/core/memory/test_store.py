from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from shiro_jupyter.core.errors import MemoryClose, MemoryRefused, StorageError, TextRefused
from shiro_jupyter.core.memory import index_file
from shiro_jupyter.core.memory.index import Index
from shiro_jupyter.core.memory.signal import TaskSignal
from shiro_jupyter.core.memory.store import Caps, Memory
from shiro_jupyter.core.workspace.files import write_atomic
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.core.workspace.project import Project
from tests.support.memories import MakeMemory, SteppingClock


def texts(memory: Memory) -> list[str]:
    return [found.entry.text for found in memory.entries()]


def test_a_fresh_project_has_nothing_and_gains_no_file_by_looking(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    memory = make_memory()
    assert memory.entries() == [] and memory.block().text == "" and memory.recall("anything") == []
    assert memory.problems() == []
    assert list(tmp_path.rglob("*")) == [tmp_path / "project"]


def test_what_one_process_records_another_reads(make_memory: MakeMemory) -> None:
    done = make_memory().remember("dates are day-first", "gotcha", tags=["orders"])
    (found,) = make_memory().entries()
    assert found.entry == done.entry
    assert (found.entry.kind, found.entry.stamp) == ("gotcha", "2026-11-30 09:00:01")
    assert done.path.read_text() == (
        "- [2026-11-30 09:00:01] (gotcha) dates are day-first #orders\n"
    )


def test_the_first_write_says_where_and_keeps_notes_out_of_git(make_memory: MakeMemory) -> None:
    memory = make_memory()
    first = memory.remember("one")
    assert any(str(memory.project.store) in note for note in first.notes)
    assert (memory.project.store / ".gitignore").read_text().startswith("notes/\n")
    assert memory.remember("two").notes == ()


def test_folders_hold_separate_memories(make_memory: MakeMemory) -> None:
    make_memory("a").remember("of a")
    make_memory("b").remember("of b")
    assert texts(make_memory("a")) == ["of a"]
    assert texts(make_memory("b")) == ["of b"]


def test_a_global_write_makes_only_the_global_index(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    memory = make_memory("a")
    memory.remember("no emojis in answers", "decision", "global")
    assert not memory.project.store.exists()
    assert texts(make_memory("b")) == ["no emojis in answers"]
    assert (tmp_path / "config" / "memory" / "MEMORY.md").stat().st_mode & 0o077 == 0


def test_the_same_text_is_recorded_once_also_at_the_cap(make_memory: MakeMemory) -> None:
    memory = make_memory(caps=Caps(entries=1))
    memory.remember("use pnpm")
    again = memory.remember("  Use   PNPM.  ")
    assert not again.stored and again.entry.text == "use pnpm"
    with pytest.raises(TextRefused, match="full"):
        memory.remember("use uv")
    assert texts(memory) == ["use pnpm"]
    assert memory.remember("use pnpm", scope="global").stored


def test_the_cap_in_bytes_counts_the_whole_file(make_memory: MakeMemory) -> None:
    memory = make_memory(caps=Caps(bytes=100))
    path = memory.remember("short").path
    before = path.read_bytes()
    with pytest.raises(TextRefused, match="full"):
        memory.remember("x" * 60)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("   ", "blank"),
        ("one\ntwo", "topic file"),
        ("one\rtwo", "topic file"),
        ("x" * 401, "400 characters"),
        ("bell \x07", "control"),
        ("half \ud83d", "control"),
        ("two\u2028lines", "control"),
        ("the key is sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2", "secret"),
    ],
)
def test_what_may_not_be_stored_is_refused_and_nothing_written(
    make_memory: MakeMemory, text: str, says: str
) -> None:
    memory = make_memory()
    with pytest.raises(TextRefused, match=says) as refused:
        memory.remember(text)
    assert "sk-a1" not in str(refused.value)
    assert not memory.project.store.exists()


def test_a_long_text_is_stored_with_advice(make_memory: MakeMemory) -> None:
    memory = make_memory()
    assert len(memory.remember("y" * 120).notes) == 1  # where it went, and no advice
    assert any("topic" in note for note in memory.remember("z" * 400).notes)


def test_forget_by_text_takes_exactly_that_line(make_memory: MakeMemory) -> None:
    memory = make_memory()
    path = memory.remember("use pnpm").path
    path.write_text("# Notes\n\n" + path.read_text() + "- plain bullet\n")
    memory.remember("run cargo fmt before commit")
    gone = memory.forget("use pnpm")
    assert (gone.entry.text, gone.lines) == ("use pnpm", 1)
    assert path.read_text() == (
        "# Notes\n\n- plain bullet\n- [2026-11-30 09:00:02] run cargo fmt before commit\n"
    )


def test_forget_prefers_the_exact_text_to_a_part(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("prefer rust for parsers")
    memory.remember("prefer rust")
    assert memory.forget("Prefer  Rust.").entry.text == "prefer rust"
    assert memory.forget("parsers").entry.text == "prefer rust for parsers"


def test_forget_takes_an_id_and_the_whole_line_as_shown(make_memory: MakeMemory) -> None:
    memory = make_memory()
    entry = memory.remember("use pnpm", tags=["js"], topic="js").entry
    assert memory.forget(entry.id).entry == entry
    memory.remember("use pnpm", tags=["js"], topic="js")
    assert memory.forget("use pnpm (see js.md) #js").entry.text == "use pnpm"
    assert texts(memory) == []


def test_forget_lists_two_texts_that_share_an_id(make_memory: MakeMemory) -> None:
    memory = make_memory()
    ids = {memory.remember(f"fact {number}").entry.id for number in (4525, 6945)}
    assert len(ids) == 1
    with pytest.raises(MemoryRefused, match="2 memories hold") as both:
        memory.forget(*ids)
    assert "fact 4525" in str(both.value) and "fact 6945" in str(both.value)
    memory.remember("fact 4525", scope="global")
    assert memory.forget("fact 6945").entry.text == "fact 6945"
    assert memory.forget(*ids).scope == "project"


def test_forget_refuses_what_is_blank_or_several_or_none(make_memory: MakeMemory) -> None:
    memory = make_memory()
    for number in range(7):
        memory.remember(f"prefer {number} of " + "and so on " * 9, keep_both=True)
    with pytest.raises(MemoryRefused, match="which memory"):
        memory.forget(" ")
    with pytest.raises(MemoryRefused, match="No memory holds"):
        memory.forget("zebra")
    with pytest.raises(MemoryRefused, match="7 memories hold") as several:
        memory.forget("prefer")
    listed = str(several.value).splitlines()[1:]
    assert len(listed) == 5
    assert all(len(line.split("  ", 2)[-1]) <= 80 and line.endswith("…") for line in listed)
    assert len(texts(memory)) == 7


def test_forget_means_the_project_where_both_scopes_say_it(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("no emojis", scope="global")
    memory.remember("no emojis")
    assert memory.forget("no emojis").scope == "project"
    with pytest.raises(MemoryRefused, match="forgotten already"):
        memory.forget("No emojis.")
    assert memory.forget("no emojis", "global").scope == "global"


def test_what_was_forgotten_once_takes_nothing_else_with_it_when_asked_again(
    make_memory: MakeMemory,
) -> None:
    memory = make_memory()
    ask = memory.remember("use pnpm").entry.id
    memory.remember("use pnpm in CI", keep_both=True)
    memory.remember("use pnpm", scope="global")
    assert memory.forget("use pnpm").entry.text == "use pnpm"
    for again in ("use pnpm", "Use  pnpm!"):
        with pytest.raises(MemoryRefused, match=r"forgotten already; nothing.*its id.*--global"):
            memory.forget(again)
    memory.remember("use pnpm", keep_both=True)
    assert memory.forget("use pnpm").scope == "project"  # recorded again, as by a cell run again
    for _ in range(2):
        assert memory.forget("CI").entry.text == "use pnpm in CI"
        memory.remember("use pnpm in CI")  # the same one again
    memory.forget("CI")
    memory.remember("plots for CI are svg")
    with pytest.raises(MemoryRefused, match="“CI” was forgotten already"):
        memory.forget("CI")
    memory.remember("use pnpm")
    assert memory.forget(ask).scope == "project"
    for again in (ask, f"#{ask.upper()}"):
        with pytest.raises(MemoryRefused, match="forgotten already"):
            memory.forget(again)
    assert texts(memory) == ["plots for CI are svg", "use pnpm"]


def test_a_memory_is_found_by_its_id_however_that_is_written(make_memory: MakeMemory) -> None:
    memory = make_memory()
    entry = memory.remember("use pnpm").entry
    memory.remember(f"what {entry.id} says is old")
    memory.remember(entry.id, scope="global")
    for query in (entry.id, f" #{entry.id} ", entry.id.upper()):
        (found,) = memory.recall(query)
        assert found.entry == entry
    assert [each.count for each in memory.entries() if each.entry == entry] == [3]
    assert memory.recall("facade") == []
    memory.remember("use yarn", replaces=f"#{entry.id.upper()}")
    with pytest.raises(MemoryRefused, match=f"No memory has the id “{entry.id}”"):
        memory.forget(entry.id)
    assert [each.entry.text for each in memory.entries("global")] == [entry.id]
    assert [each.entry.text for each in memory.entries("project")] == [
        "use yarn",
        f"what {entry.id} says is old",
    ]


def test_one_of_the_other_scope_is_named_as_such(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("no emojis", scope="global")
    memory.remember("use pnpm")
    for ask in ("use pnpm", memory.entries("project")[0].entry.id):
        with pytest.raises(MemoryRefused, match=r"of this project.*leave --global out"):
            memory.remember("use yarn", scope="global", replaces=ask)
        with pytest.raises(MemoryRefused, match=r"of this project.*leave --global out"):
            memory.forget(ask, "global")
    with pytest.raises(MemoryRefused, match=r"about you.*say --global"):
        memory.remember("use yarn", replaces="no emojis")
    assert len(texts(memory)) == 2


def test_what_stays_of_a_wrapped_line_is_told(make_memory: MakeMemory) -> None:
    memory = make_memory()
    path = memory.remember("use pnpm").path
    line = "- [2026-01-01 00:00:00] use pnpm\n"
    path.write_text(f"# Team\n{line}  and not npm\n{line}  for ever\n{line}")
    (problem, more) = memory.problems()
    assert f"{path}, line 3: the rest of a wrapped line" in problem and "line 5" in more
    assert memory.forget("use pnpm").notes == (
        "Line 2, which went on below it, stays: take it out by hand.",
        "Line 3, which went on below it, stays: take it out by hand.",
    )
    assert path.read_text() == "# Team\n  and not npm\n  for ever\n"


def test_forget_removes_lines_that_a_merge_left_twice(make_memory: MakeMemory) -> None:
    memory = make_memory()
    path = memory.remember("use pnpm").path
    kept = "<<<<<<< HEAD\n=======\n>>>>>>> theirs\n"
    path.write_text(
        "<<<<<<< HEAD\n- [2026-01-01 00:00:00] use pnpm\n=======\n"
        "- [2026-01-02 00:00:00] Use pnpm\n>>>>>>> theirs\n"
    )
    assert memory.forget("use pnpm").lines == 2
    assert path.read_text() == kept


def test_another_claim_is_not_stored_but_answered_with_the_one_it_contradicts(
    make_memory: MakeMemory,
) -> None:
    memory = make_memory()
    old = memory.remember("the cut-off is 2022-06-01").entry
    before = memory.path().read_bytes()
    with pytest.raises(MemoryClose, match=f"{old.id} says “the cut-off is 2022-06-01”") as close:
        memory.remember("the cut-off is 2023-01-01")
    assert close.value.id == old.id and memory.path().read_bytes() == before
    assert "replaces" in str(close.value) and "keep_both" in str(close.value)
    assert memory.remember("the cut-off is 2023-01-01", scope="global").stored
    assert memory.remember("the cut-off is 2023-01-01", keep_both=True).stored
    assert len(memory.entries("project")) == 2


def test_a_close_one_is_named_before_the_cap(make_memory: MakeMemory) -> None:
    memory = make_memory(caps=Caps(entries=1))
    old = memory.remember("the cut-off is 2022-06-01").entry
    with pytest.raises(MemoryClose):
        memory.remember("the cut-off is 2023-01-01")
    assert memory.remember("the cut-off is 2023-01-01", replaces=old.id).stored
    assert texts(memory) == ["the cut-off is 2023-01-01"]


@pytest.mark.parametrize("named", ["{id}", "The cut-off is  2022-06-01."])
def test_what_replaces_a_memory_takes_its_place_and_its_count(
    make_memory: MakeMemory, named: str
) -> None:
    memory = make_memory()
    old = memory.remember("the cut-off is 2022-06-01", tags=["model"]).entry
    memory.remember("use pnpm")
    path = memory.path()
    path.write_bytes(b"# Team\r\n" + path.read_bytes().replace(b"\n", b"\r\n", 1))
    memory.recall("cut-off")
    done = memory.remember("the cut-off is 2023-01-01", replaces=named.format(id=old.id))
    assert done.stored and done.replaced == old
    assert path.read_bytes() == (
        b"# Team\r\n- [2026-11-30 09:00:03] the cut-off is 2023-01-01 #model\r\n"
        b"- [2026-11-30 09:00:02] use pnpm\n"
    )
    assert {each.entry.text: each.count for each in memory.entries()} == {
        "the cut-off is 2023-01-01": 1,
        "use pnpm": 0,
    }
    assert [each.entry.text for each in memory.unaccepted()] == []


def test_a_memory_may_be_replaced_by_its_own_text_or_by_one_that_is_there(
    make_memory: MakeMemory,
) -> None:
    memory = make_memory()
    memory.remember("use pnpm")
    done = memory.remember("Use pnpm", "decision", tags=["js"], replaces="use pnpm")
    assert done.stored and [each.entry for each in memory.entries()] == [done.entry]
    memory.remember("use yarn")
    memory.recall("yarn")
    done = memory.remember("use pnpm", replaces="use yarn")
    assert not done.stored and done.entry.tags == ("js",)
    assert [(each.entry.text, each.count) for each in memory.entries()] == [("Use pnpm", 1)]


def test_what_takes_a_place_is_held_against_all_others(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("we use postgres 14")
    memory.remember("deploys go out on friday")
    before = memory.path().read_bytes()
    with pytest.raises(MemoryClose, match="we use postgres 14"):
        memory.remember("we use postgres 15", replaces="deploys go out on friday")
    assert memory.path().read_bytes() == before
    memory.remember("we use postgres 15", replaces="we use postgres 14")
    memory.remember("we use postgres 16", replaces="deploys go out on friday", keep_both=True)
    assert texts(memory) == ["we use postgres 16", "we use postgres 15"]


def test_what_is_pasted_from_the_file_or_a_list_is_taken_for_what_it_says(
    make_memory: MakeMemory,
) -> None:
    memory = make_memory()
    pasted = "- [2026-10-08 10:00:00] (gotcha) use pnpm (see js.md) #js <!-- source: user -->"
    line = "[2026-11-30 09:00:01] (gotcha) use pnpm (see js.md) #js"
    assert memory.remember(pasted).entry.line() == f"- {line}"
    assert not memory.remember(f"- {line}").stored
    for other in ("(decision) use pnpm", "use pnpm #ts", "(gotcha) use pnpm (see ts.md)"):
        with pytest.raises(MemoryRefused, match="No memory holds"):
            memory.forget(other)
    for said in (line, f"- {line}", pasted, "(gotcha) use pnpm", "(gotcha) use pnpm #js"):
        assert memory.forget(said).entry.text == "use pnpm"
        memory.remember(line)


def test_what_replaces_a_line_that_a_merge_left_twice_stands_once(make_memory: MakeMemory) -> None:
    memory = make_memory()
    path = memory.remember("use pnpm").path
    path.write_text("- [2026-01-01 00:00:00] use pnpm\n# mine\n- [2026-01-02 00:00:00] Use pnpm\n")
    memory.remember("use yarn", replaces="use pnpm")
    assert path.read_text() == "# mine\n- [2026-11-30 09:00:02] use yarn\n"


def test_nothing_is_stored_in_place_of_none_or_several(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("prefer rust")
    memory.remember("prefer go")
    before = memory.path().read_bytes()
    with pytest.raises(MemoryRefused, match=r"No memory holds “zebra”; nothing.*recall.*/notes"):
        memory.remember("use uv", replaces="zebra")
    with pytest.raises(MemoryRefused, match=r"2 memories hold.*by its id:"):
        memory.remember("use uv", replaces="prefer")
    assert memory.path().read_bytes() == before


def test_a_part_of_a_text_is_enough_to_forget_and_not_to_replace(make_memory: MakeMemory) -> None:
    memory = make_memory()
    old = memory.remember("prefer rust").entry
    before = memory.path().read_bytes()
    with pytest.raises(MemoryRefused, match=f"1 memory holds “rust”(.|\n)*{old.id}  prefer rust"):
        memory.remember("use uv", replaces="rust")
    assert memory.path().read_bytes() == before
    assert memory.forget("rust").entry == old


def test_what_the_new_text_does_not_say_anew_stays(make_memory: MakeMemory) -> None:
    memory = make_memory()
    path = memory.path()
    path.parent.mkdir(parents=True)
    path.write_text(
        "- [2026-01-01 00:00:00] (gotcha) dates are day-first (see orders.md) #orders #dates"
        " <!-- branch: main; ask Ann: she knows -->\n"
    )
    memory.remember("dates are ISO", replaces="dates are day-first", about={"source": ["user"]})
    line = "(gotcha) dates are ISO (see orders.md) #orders #dates"
    assert path.read_text() == (
        f"- [2026-11-30 09:00:01] {line} <!-- source: user; ask Ann: she knows -->\n"
    )
    memory.remember("dates are ISO (see d.md) #iso", "decision", replaces="dates are ISO")
    line = "(decision) dates are ISO (see d.md) #iso <!-- ask Ann: she knows -->"
    assert path.read_text() == f"- [2026-11-30 09:00:02] {line}\n"
    memory.remember("dates are US", "fact", replaces="dates are ISO")
    assert "] dates are US (see d.md) #iso <!--" in path.read_text()


def test_a_curated_index_takes_the_place_of_what_it_was_made_from(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("use pnpm")
    memory.remember("plots are saved as svg")
    before = memory.index()
    after = before.remove(0).append(memory.index().entries[0])
    backup = memory.rewrite(lambda index: after)
    assert memory.path().read_bytes() == after.raw and backup.read_bytes() == before.raw
    assert backup.name == "MEMORY.md.2026-11-30-090003.bak" and memory.unaccepted() == []


def test_a_curation_that_is_refused_leaves_no_backup(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("use pnpm")

    def refused(index: Index) -> Index:
        raise MemoryRefused("No.")

    with pytest.raises(MemoryRefused):
        memory.rewrite(refused)
    assert [each.name for each in memory.path().parent.iterdir()] == ["MEMORY.md"]


def test_a_block_holds_preferences_and_what_matches_the_work(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("no emojis in answers", scope="global")
    kept = memory.remember(
        "webhook signatures are verified with the signing secret", "gotcha",
        tags=["stripe"], topic="webhooks",
    ).entry  # fmt: skip
    memory.remember("email sends from the verified domain", "decision", tags=["resend"])
    (memory.project.memory_dir / "webhooks.md").write_text("Replay them from the dashboard.")
    block = memory.block(TaskSignal(branch="fix/stripe-webhook", prompt="mend the stripe hook"))
    assert block.loaded == (kept,) and len(block.shown) == 3
    assert "no emojis" in block.text and "Replay them" in block.text and "stripe" in block.text
    plain = memory.block()
    assert plain.loaded == () and plain.text == memory.block(TaskSignal(branch="main")).text
    assert "Replay" not in plain.text and len(plain.shown) == 3
    memory.recall("email domain")
    first = [line for line in memory.block().text.splitlines() if line.startswith("- ")][1]
    assert "email sends" in first


def test_recall_ranks_counts_and_survives_a_reload(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.remember("we chose snake_case for database columns")
    memory.remember("the api is versioned under /v2")
    memory.remember("columns of the report are sorted by name")
    hits = memory.recall("snake_case columns")
    assert [hit.entry.text for hit in hits] == [
        "we chose snake_case for database columns",
        "columns of the report are sorted by name",
    ]
    assert any("column" in reason for reason in hits[0].why) and len(hits[0].why) <= 3
    counts = {found.entry.text[:3]: found.count for found in make_memory().entries()}
    assert counts == {"we ": 1, "the": 0, "col": 0}
    # No memory holds every word: only the first counts.
    assert [hit.count for hit in memory.recall("zebra report columns")] == [1, 1]


def test_recall_reads_tags_and_both_scopes_and_gives_fifteen(make_memory: MakeMemory) -> None:
    memory = make_memory()
    for number in range(20):
        memory.remember(f"note {number}", tags=["payments"])
    memory.remember("answers about payments in English", scope="global")
    hits = memory.recall("payment")
    assert len(hits) == 15
    assert all("payment" in hit.why[0] for hit in hits)
    assert "global" in {hit.scope for hit in memory.recall("answers payments")}
    assert memory.recall("the of and") == []
    with pytest.raises(MemoryRefused, match="few words"):
        memory.recall("  ")


def test_counts_stay_out_of_the_markdown_and_go_with_the_memory(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    memory = make_memory()
    path = memory.remember("use pnpm").path
    before = path.read_bytes()
    memory.recall("pnpm")
    assert path.read_bytes() == before
    (kept,) = (tmp_path / "data" / "recall").glob("*.json")
    assert "use pnpm" in kept.read_text()
    memory.forget("pnpm")
    memory.remember("use pnpm")
    assert memory.entries()[0].count == 0


@pytest.mark.parametrize("stored", ["", "not json", "[1]", '{"use pnpm": "many"}', "[" * 100_000])
def test_broken_counts_count_as_none(make_memory: MakeMemory, tmp_path: Path, stored: str) -> None:
    memory = make_memory()
    memory.remember("use pnpm")
    memory.recall("pnpm")
    (kept,) = (tmp_path / "data" / "recall").glob("*.json")
    kept.write_text(stored)
    assert memory.entries()[0].count == 0
    assert memory.recall("pnpm")[0].count == 1


def test_recall_works_where_counts_cannot_be_written(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    memory = make_memory()
    memory.remember("use pnpm")
    (tmp_path / "data" / "recall").write_text("a file where a folder should be")
    assert [hit.entry.text for hit in memory.recall("pnpm")] == ["use pnpm"]


def test_work_trees_of_one_repository_share_their_counts(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    main, tree = make_memory("main"), tmp_path / "tree"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", main.project.root]
    for arguments in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run([*git, *arguments], check=True)
    subprocess.run([*git, "worktree", "add", "-q", tree], check=True, capture_output=True)
    make_memory("main").remember("use pnpm")
    other = make_memory("tree")
    other.remember("use pnpm")
    other.recall("pnpm")
    assert make_memory("main").entries()[0].count == 1


def test_a_hand_edit_between_read_and_write_is_kept(
    make_memory: MakeMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = make_memory()
    path = memory.remember("one").path
    edits = iter(["# added by hand\r\n", "- plain bullet"])
    real = write_atomic

    def saved_meanwhile(*arguments: object, **options: object) -> bool:
        if edit := next(edits, ""):
            path.write_bytes(path.read_bytes() + edit.encode())
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(index_file, "write_atomic", saved_meanwhile)
    memory.remember("two")
    assert path.read_bytes() == (
        b"- [2026-11-30 09:00:01] one\n# added by hand\r\n- plain bullet\r\n"
        b"- [2026-11-30 09:00:02] two\r\n"
    )
    edits = iter(["\n- [2026-11-30 09:00:09] three\n"])
    assert not memory.remember("three").stored  # the person just wrote it


def test_a_broken_scope_hides_nothing_else_and_is_told_once(make_memory: MakeMemory) -> None:
    memory = make_memory()
    path = memory.remember("use pnpm").path
    memory.remember("no emojis", scope="global")
    path.write_text("- [2026-01-01 00:00:00] use pnpm\n", encoding="utf-16")
    assert "no emojis" in memory.block().text and "pnpm" not in memory.block().text
    (problem,) = memory.problems()
    assert "UTF-8" in problem and memory.problems() == []
    before = path.read_bytes()
    with pytest.raises(StorageError, match="UTF-8"):
        memory.remember("use uv")
    with pytest.raises(StorageError, match="UTF-8"):
        memory.entries("project")
    assert path.read_bytes() == before
    assert texts(memory) == ["no emojis"] and memory.unusable() == [problem]
    assert [each.entry.text for each in memory.recall("emojis")] == ["no emojis"]
    with pytest.raises(MemoryRefused) as refused:
        memory.forget("pnpm")
    assert str(refused.value).startswith("No memory holds “pnpm”")
    assert str(refused.value).endswith(f"\n{problem}")
    assert memory.forget("no emojis").notes == (problem,)
    memory.path("global").write_bytes(b"- one\n- nul \0\n")
    assert memory.entries() == [] and len(memory.unusable()) == 2
    assert memory.unusable()[1] == (
        f"{memory.path('global')}, line 2: a NUL byte, which no text holds; take it out."
    )


def test_a_read_only_index_is_left_alone(make_memory: MakeMemory) -> None:
    memory = make_memory()
    path = memory.remember("use pnpm").path
    before = path.read_bytes()
    path.chmod(0o444)
    for use in (lambda: memory.remember("use uv"), lambda: memory.forget("use pnpm")):
        with pytest.raises(StorageError, match=r"MEMORY\.md is read-only; make it writable"):
            use()
    assert path.read_bytes() == before and path.stat().st_mode & 0o777 == 0o444


def test_links_out_of_the_project_are_not_followed(make_memory: MakeMemory, tmp_path: Path) -> None:
    memory = make_memory()
    outside = tmp_path / "shell.rc"
    outside.write_text("- [2026-01-01 00:00:00] outside\n")
    memory.project.memory_dir.mkdir(parents=True)
    memory.path().symlink_to(outside)
    with pytest.raises(StorageError, match="link"):
        memory.remember("echo hello")
    assert memory.block().text == ""
    assert outside.read_text() == "- [2026-01-01 00:00:00] outside\n"


def test_what_is_no_plain_file_never_blocks(make_memory: MakeMemory) -> None:
    memory = make_memory()
    memory.project.memory_dir.mkdir(parents=True)
    os.mkfifo(memory.path())
    assert memory.block().text == ""
    assert "no plain file" in memory.problems()[0]


def test_a_linked_global_index_is_written_through(make_memory: MakeMemory, tmp_path: Path) -> None:
    memory = make_memory()
    own = tmp_path / "dotfiles.md"
    own.write_text("# mine\n")
    memory.path("global").parent.mkdir(parents=True)
    memory.path("global").symlink_to(own)
    memory.remember("no emojis", scope="global")
    assert memory.path("global").is_symlink()
    assert own.read_text() == "# mine\n- [2026-11-30 09:00:01] no emojis\n"


def test_another_users_store_is_neither_read_nor_written(
    make_memory: MakeMemory, tmp_path: Path
) -> None:
    memory = make_memory()
    memory.remember("theirs")
    root = memory.project.root
    folders = Folders(tmp_path / "config", tmp_path / "data", tmp_path)
    memory = Memory(Project(root, passed_over=(root,)), folders, SteppingClock())
    assert memory.entries() == []
    (fault,) = memory.unusable()
    assert f"{root / '.shiro'} belongs to another user" in fault and memory.problems() == [fault]
    for use in (lambda: memory.remember("mine"), memory.unaccepted, memory.index):
        with pytest.raises(StorageError, match="another user"):
            use()
