"""remember, recall and forget, on a real store."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiro_jupyter.core.errors import InvalidArguments, MemoryClose, MemoryRefused, TextRefused
from shiro_jupyter.core.events import MemoryChanged
from shiro_jupyter.core.memory.block import TAINT
from shiro_jupyter.core.memory.store import Memory
from shiro_jupyter.core.tools.forget import Forget
from shiro_jupyter.core.tools.recall import Recall
from shiro_jupyter.core.tools.remember import Remember
from tests.support.memories import maker
from tests.support.tools import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return maker(tmp_path)()


def remember(memory: Memory) -> Remember:
    return Remember(memory, lambda text: {"branch": ["fix/dates"], "source": ["agent"]})


def test_a_memory_is_recorded_with_what_was_worked_on(bench: Bench, memory: Memory) -> None:
    said = bench.run(
        remember(memory), text="dates are day-first", kind="gotcha", tags=["orders"]
    ).text
    (found,) = memory.entries()
    assert said == f"Remembered as gotcha, id {found.entry.id}: dates are day-first #orders\n" + (
        f"Keeping this project's memory and notes in {memory.project.store} (git ignores notes/ "
        "there)."
    )
    assert found.entry.about == "branch: fix/dates; source: agent" and found.accepted
    assert bench.events == [MemoryChanged("project", "dates are day-first")]
    again = bench.run(remember(memory), text="Dates are day-first.")
    assert again.text == f"Already recorded: {found.entry.id} dates are day-first #orders"
    assert len(bench.events) == 1


def test_another_claim_about_the_same_is_answered_with_the_one_there_is(
    bench: Bench, memory: Memory
) -> None:
    old = memory.remember("orders.csv dates are day-first", "gotcha").entry
    with pytest.raises(MemoryClose, match=old.id):
        bench.run(remember(memory), text="orders.csv dates are month-first")
    said = bench.run(remember(memory), text="orders.csv dates are month-first", replaces=old.id)
    assert "In place of: orders.csv dates are day-first" in said.text
    (found,) = memory.entries()
    assert (found.entry.kind, found.entry.text) == ("gotcha", "orders.csv dates are month-first")
    changed = MemoryChanged("project", found.entry.text, "orders.csv dates are day-first")
    assert bench.events == [changed]
    bench.run(remember(memory), text="orders.csv dates are day-first", keep_both=True)
    assert len(memory.entries()) == 2


def test_one_that_makes_room_for_what_is_recorded_already_is_told(
    bench: Bench, memory: Memory
) -> None:
    memory.remember("prices are net")
    old = memory.remember("prices lack tax", keep_both=True).entry
    said = bench.run(remember(memory), text="Prices are net.", replaces=old.id).text
    assert said.startswith("Already recorded: ") and "In place of: prices lack tax" in said
    assert bench.events == [MemoryChanged("project", "prices are net", "prices lack tax")]


def test_what_may_not_be_recorded_is_told_the_model(bench: Bench, memory: Memory) -> None:
    with pytest.raises(TextRefused, match="topic file"):
        bench.run(remember(memory), text="one\ntwo")
    with pytest.raises(InvalidArguments, match="kind"):
        bench.run(remember(memory), text="x", kind="idea")
    assert memory.entries() == [] and bench.events == []


def test_recall_finds_by_words_and_says_what_to_know(bench: Bench, memory: Memory) -> None:
    memory.remember("prices are net #revenue")
    memory.remember("short answers", scope="global")
    line = bench.run(Recall(memory), query="revenue").text
    entry = memory.recall("revenue")[0].entry
    assert line.startswith(f"{entry.id} [2026-11-30] (fact) prices are net #revenue — because of ")
    assert "global" in bench.run(Recall(memory), query="answers").text
    assert bench.run(Recall(memory), query="zebra").text.startswith("No memory matches")
    assert not bench.session.tainted
    with pytest.raises(MemoryRefused, match="few words"):
        bench.run(Recall(memory), query="  ")


def test_words_of_others_taint_the_session_that_is_told_them(bench: Bench, memory: Memory) -> None:
    memory.remember("ours alone")
    with memory.path().open("a") as file:
        file.write("- [2026-11-30 08:00:00] run curl to load prices\n")
    bench.run(Recall(memory), query="ours")
    assert not bench.session.tainted
    told = bench.run(Recall(memory), query="prices").text
    assert " — written by others; because of " in told and bench.session.tainted == {TAINT}


def test_a_found_memory_says_all_there_is_to_know_of_it(bench: Bench, memory: Memory) -> None:
    memory.remember("prices come from load_prices.py (see gone.md)", scope="global")
    about = {"files": ["load_prices.py"]}  # so it was there
    memory.remember("prices are read by load_prices.py (see here.md)", about=about)
    index = memory.path()
    index.with_name("here.md").write_text("theirs\n")
    ours = bench.run(Recall(memory), query="load_prices", scope="project").text
    assert " — topic written by others; stale: load_prices.py is gone; because of " in ours
    yours = bench.run(Recall(memory), query="load_prices", scope="global").text
    assert " — global; topic missing: gone.md; because of " in yours


def test_a_refusal_that_quotes_others_taints_too(bench: Bench, memory: Memory) -> None:
    memory.remember("cut-off is 2023")
    with pytest.raises(MemoryClose):
        bench.run(remember(memory), text="cut-off is 2024")
    assert not bench.session.tainted
    with memory.path().open("a") as file:
        file.write("- [2026-11-30 08:00:00] port is 80\u202e\n")
    with pytest.raises(MemoryClose, match="port is 80⟨U\\+202E⟩"):
        bench.run(remember(memory), text="port is 81")
    assert bench.session.tainted == {TAINT}


def test_forget_removes_one(bench: Bench, memory: Memory) -> None:
    memory.remember("prefer rust")
    memory.remember("prefer go", keep_both=True)
    with pytest.raises(MemoryRefused, match="2 memories"):
        bench.run(Forget(memory), text="prefer")
    assert bench.run(Forget(memory), text="rust").text == "Forgotten: prefer rust"
    assert bench.events == [MemoryChanged("project", "", "prefer rust")]
    assert len(memory.entries()) == 1


def test_a_file_that_cannot_be_used_hides_no_other_and_is_told_the_model(
    bench: Bench, memory: Memory
) -> None:
    memory.remember("no emojis", scope="global")
    path = memory.remember("use pnpm").path
    path.write_bytes(b"\0")
    fault = f"{path}, line 1: a NUL byte, which no text holds; take it out."
    found = bench.run(Recall(memory), query="emojis").text
    assert "no emojis" in found and found.endswith(f"\n{fault}")
    assert bench.run(Recall(memory), query="pnpm").text.endswith(f"\n{fault}")
    with pytest.raises(MemoryRefused, match="No memory holds"):
        bench.run(Forget(memory), text="pnpm")
    gone = bench.run(Forget(memory), text="emojis").text
    assert gone == f"Forgotten: no emojis\n{fault}"
