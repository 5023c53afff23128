"""Which session a kernel goes on with: that of its notebook, where nobody else has it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.kernels import Kernel, running_kernel
from tests.support.scripts import says, script, shells

pytestmark = pytest.mark.kernel

CONVERSATION = "get_ipython()._shiro_extension.host.services.conversation"
SESSION = f"{CONVERSATION}.opened.session"
STEPS = [
    shells("make", "touch made-by-the-agent"),
    says("make", "Made."),
    {
        "when": "plan",
        "calls": [
            {"name": "todo_write", "arguments": {"todos": [{"text": "plot", "status": "pending"}]}}
        ],
    },
    says("plan", "Planned."),
    says("hello", "Hello."),
]


@contextmanager
def started(tmp_path: Path, notebook: str = "eda.ipynb", **more: str) -> Iterator[Kernel]:
    project = tmp_path / "project"
    (project / ".shiro" / "memory").mkdir(parents=True, exist_ok=True)
    (project / notebook).touch()
    environment: dict[str, Any] = {
        "SHIRO_HOME": str(tmp_path / "home"),
        "SHIRO_MODEL": script(tmp_path, *STEPS),
        "SHIRO_LIVE": "1",
        "SHIRO_VIEW": "text",
        "JPY_SESSION_NAME": str(project / notebook),
        **more,
    }
    with running_kernel(folder=project, **environment) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def ask(kernel: Kernel, line: str, answer: str = "y") -> str:
    outputs = kernel.run(line, stdin=lambda prompt: answer)
    return outputs.stdout + outputs.stream("stderr")


def prompts(kernel: Kernel) -> str:
    return kernel.value(f"[i.text for i in {SESSION}.items if type(i).__name__ == 'User']")


def test_a_new_kernel_goes_on_with_its_notebooks_session_and_says_so(tmp_path: Path) -> None:
    with started(tmp_path) as kernel:
        ask(kernel, "%shiro plan it")
        ask(kernel, "%remember the margin is gross")
        first, system = kernel.value(f"{SESSION}.id"), kernel.value(f"{SESSION}.system")
    with started(tmp_path) as again:
        assert "none yet; the next prompt goes on with: plan it" in ask(again, "%shiro /status")
        said = ask(again, "%shiro hello again")
        assert "Going on with: plan it (1 turn); %shiro /clear begins a new session." in said
        assert again.value(f"{SESSION}.id") == first
        assert prompts(again) == "['plan it', 'hello again']"
        assert "plot" in ask(again, "%todos")
        # What is cached of the old prompt holds, and what is new is told after it.
        assert again.value(f"{CONVERSATION}.agent.system()") == system
        assert "the margin is gross" in again.value(f"{CONVERSATION}.agent.surroundings()")
        assert "Going on" not in ask(again, "%shiro hello")
        ask(again, "%shiro /clear")
        assert "Going on" not in ask(again, "%shiro hello anew")
        assert prompts(again) == "['hello anew']" and again.value(f"{SESSION}.id") != first


def test_another_notebook_a_run_without_a_person_and_one_that_is_open_begin_anew(
    tmp_path: Path,
) -> None:
    with started(tmp_path) as kernel:
        ask(kernel, "%shiro hello one")
        with started(tmp_path) as beside:
            said = ask(beside, "%shiro hello two")
            assert "Going on" not in said and "is open in another kernel: a new one" in said
            assert prompts(beside) == "['hello two']"
        with started(tmp_path, "other.ipynb") as other:
            assert "Going on" not in ask(other, "%shiro hello three")
        first = kernel.value(f"{SESSION}.id")[1:-1]
        with started(tmp_path) as second:
            said = ask(second, f"%shiro /resume {first}")
            assert "is open already: this is a copy" in said and first not in said
    with started(tmp_path) as program:
        assert "Going on" not in program.run("%shiro hello four").stdout
        assert prompts(program) == "['hello four']"


def test_a_question_outlives_its_kernel(tmp_path: Path) -> None:
    made = tmp_path / "project" / "made-by-the-agent"
    with started(tmp_path) as kernel:
        asked = []

        def die(prompt: str) -> str:
            asked.append(prompt)
            kernel.manager.signal_kernel(signal.SIGKILL)
            return "y"

        request = kernel.send("%shiro make it")
        with pytest.raises(Exception):  # noqa: B017 - however the client finds out
            kernel.finish(request, stdin=die, timeout=20)
        assert asked and not made.exists()
    with started(tmp_path) as again:
        said = ask(again, "%shiro")
        assert "bash waited for your answer" in said and "Made." in said
        assert made.exists() and prompts(again) == "['make it']"


def test_any_other_prompt_goes_on_without_the_call_that_waited(tmp_path: Path) -> None:
    with started(tmp_path) as kernel:
        request = kernel.send("%shiro make it")
        with pytest.raises(Exception):  # noqa: B017 - however the client finds out
            kernel.finish(
                request,
                stdin=lambda prompt: (kernel.manager.signal_kernel(signal.SIGKILL), "y")[1],
                timeout=20,
            )
    with started(tmp_path) as again:
        assert "Hello." in ask(again, "%shiro hello")
        results = f"[i.outcome for i in {SESSION}.items if type(i).__name__ == 'Result']"
        assert again.value(results) == "['skipped']"
        assert not (tmp_path / "project" / "made-by-the-agent").exists()


def test_with_memory_off_a_session_that_was_begun_with_it_carries_none(tmp_path: Path) -> None:
    with started(tmp_path) as kernel:
        ask(kernel, "%remember the margin is gross")
        ask(kernel, "%shiro hello")
        assert "the margin is gross" in kernel.value(f"{SESSION}.system")
    with started(tmp_path, SHIRO_MEMORY="false") as again:
        assert "Going on" in ask(again, "%shiro hello again")
        assert "the margin is gross" not in again.value(f"{SESSION}.system")
        assert "the margin is gross" not in again.value(f"{CONVERSATION}.agent.surroundings()")
        assert "remember" not in again.value(f"list({CONVERSATION}.agent.tools)")


def test_agents_text_that_changed_meanwhile_is_told(tmp_path: Path) -> None:
    with started(tmp_path) as kernel:
        (tmp_path / "project" / "AGENTS.md").write_text("Use polars.\n")
        ask(kernel, "%shiro hello")
    (tmp_path / "project" / "AGENTS.md").write_text("Use pandas.\n")
    with started(tmp_path) as again:
        ask(again, "%shiro hello")
        assert "AGENTS.md has changed" in again.value(f"{CONVERSATION}.agent.surroundings()")
        assert "Use polars." in again.value(f"{CONVERSATION}.agent.system()")


def test_a_turn_that_cannot_be_saved_says_so_before_it_ends(tmp_path: Path) -> None:
    """The first write that fails is the one at the end of a short turn; the view is there still."""
    data = tmp_path / "home" / "data"
    data.mkdir(parents=True)
    (data / "sessions").write_text("a file in the place of the folder")
    with started(tmp_path) as kernel:
        assert ask(kernel, "%shiro hello").count("This session is not being saved") == 1
        assert "not being saved" not in ask(kernel, "%shiro hello again")
        assert "Nothing was done, since" in ask(kernel, "%shiro /clear")
        assert "A new session begins" in ask(kernel, "%shiro /clear")


def test_who_lost_the_session_is_told_in_the_turn_that_finds_it(tmp_path: Path) -> None:
    with started(tmp_path) as first:
        ask(first, "%shiro hello")
        ours = first.value(f"{SESSION}.id")[1:-1]
        (tmp_path / "home" / "data" / "sessions" / f"{ours}.lease").unlink()
        with started(tmp_path) as second:
            assert "Going on with" in ask(second, "%shiro hello there")
            assert ask(first, "%shiro hello here").count("saved as a copy, ") == 1
            assert first.value(f"{SESSION}.id")[1:-1] != ours


def test_what_is_found_outside_a_turn_is_told_in_the_next(tmp_path: Path) -> None:
    with started(tmp_path) as kernel:
        ask(kernel, "%shiro hello")
        kernel.run(
            f"{CONVERSATION}.opened.log.tell('This session is not being saved: it is full.')"
        )
        assert "not being saved: it is full." in ask(kernel, "%shiro hello again")


def test_c_stays_in_the_session_at_hand_and_says_where_it_went(tmp_path: Path) -> None:
    with started(tmp_path) as kernel:
        ask(kernel, "%shiro hello first")
        ask(kernel, "%shiro /clear")
        ask(kernel, "%shiro hello second")
        assert "Going on" not in ask(kernel, "%shiro -c hello third")
        assert prompts(kernel) == "['hello second', 'hello third']"
        ask(kernel, "%shiro /clear")
        assert "hello second (2 turns)" in ask(kernel, "%shiro -c hello fourth")
        assert "hello first (1 turn)" in ask(kernel, "%shiro /resume")
