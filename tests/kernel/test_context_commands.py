"""What goes out to the model, as a person at a kernel governs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shiro_jupyter.core.compaction import HEADINGS
from shiro_jupyter.kernel.conversation import BUSY
from tests.support.kernels import Kernel, running_kernel
from tests.support.pages import page_of
from tests.support.scripts import says, script

pytestmark = pytest.mark.kernel

HOST = "get_ipython()._shiro_extension.host.services.conversation"
SHOWN = (
    "from shiro_jupyter.core.context.prune import shown\n"
    "from shiro_jupyter.core.transcript import Cut\n"
    f"session = {HOST}.opened.session\n"
    "print([type(item).__name__ for item in shown(session.items, Cut(*session.cut))])"
)
SUMMARY = "\n".join(f"## {each}\n- about {each.lower()}" for each in HEADINGS)
STEPS = [
    says("Bring the note on this session", "## Worklog\n✓ answered\n## Current State\nNext: plot."),
    says("in particular: SLOWLY", SUMMARY, delay=60),
    says("Write the summary that the agent", SUMMARY),
    says("Take your time", "", delay=30),
    says("Be long", "word " * 2_000),
    says("hi", "Hello."),
]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    (tmp_path / "project").mkdir()
    home = {"SHIRO_HOME": str(tmp_path / "home"), "SHIRO_LIVE": "1", "SHIRO_VIEW": "text"}
    model = script(tmp_path, *STEPS)
    with running_kernel(folder=tmp_path / "project", SHIRO_MODEL=model, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def test_compact_writes_the_note_and_goes_on_from_a_summary(kernel: Kernel, tmp_path: Path) -> None:
    said = kernel.run("%shiro /compact", stdin=str).stream("stderr")
    assert said == "This session has not begun yet: ask something first.\n"
    kernel.run("%shiro hi")
    said = kernel.run("%shiro /compact", stdin=str).stream("stderr")
    assert said.startswith("The conversation was not compacted: it has only about ")
    kernel.run("%shiro Be long")
    said = kernel.run("%shiro /compact the numbers", stdin=str).stdout
    assert said.startswith("The conversation goes on from a summary: 1,")
    assert kernel.run(SHOWN).stdout == "['Summary', 'User']\n"
    (note,) = (tmp_path / "project" / ".shiro" / "notes").glob("*.md")
    assert "✓ answered" in note.read_text() and "Next: plot." in note.read_text()
    assert "# Session: Work on: hi" in note.read_text()
    assert "Hello.\n" in kernel.run("%shiro hi").stdout
    # Another kernel that goes on with the session goes on from the summary too.
    kernel.run("%shiro /clear")
    kernel.run("%shiro /resume")
    assert kernel.run(SHOWN).stdout == "['Summary', 'User', 'User', 'Assistant']\n"


def test_compact_waits_for_no_turn_and_an_interrupt_leaves_all_as_it_was(kernel: Kernel) -> None:
    kernel.run("%shiro Be long")
    kernel.run("%shiro Take your time &", stdin=str)
    said = kernel.run("%shiro /compact", stdin=str).stream("stderr")
    assert said == f"{BUSY}\n"
    kernel.run("%shiro /stop")
    assert "Summary" not in kernel.run(SHOWN).stdout


def test_while_a_compaction_runs_the_session_stays_and_stop_ends_it(kernel: Kernel) -> None:
    kernel.run("%shiro Be long")
    with page_of(kernel) as page:
        page.hello()
        page.prompt("/compact SLOWLY")
        page.until(lambda: kernel.value(f"{HOST}.agent.compaction is not None") == "True")
        for line in ("/clear", "/fork", "/undo", "/resume latest", "/compact"):
            assert kernel.run(f"%shiro {line}", stdin=str).stream("stderr") == f"{BUSY}\n"
        assert kernel.run("%shiro /stop").stdout == "Stopped the turn.\n"
        page.until(lambda: "it was stopped" in str(page.of("said")))
        assert kernel.run("%shiro hi").stdout
    assert "Summary" not in kernel.run(SHOWN).stdout
