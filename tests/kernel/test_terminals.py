"""The plain IPython terminal, and `jupyter console`, as a person types into them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scripts import runs, says, script
from tests.support.terminals import Terminal, console, ipython

pytestmark = [
    pytest.mark.kernel,
    # pexpect forks, which Python warns of in a process with threads.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]
SLEEPS = "for _ in range(600): time.sleep(0.1)"
CODE = "total = 40 + 2\nprint('in', 'code')"
STEPS = [
    says("hello", "Hello, you."),
    runs("sum", CODE, delay=0.2),
    says("sum", "It is 42."),
    # In short sleeps: a signal that comes just before a long one is seen when it is over.
    runs("calm", f"import time\nprint('be', 'gun', sep='', flush=True)\n{SLEEPS}"),
    says("calm", "It went on."),
    says("silent", "never", delay=60),
]
TYPE_AHEAD = [runs("ahead", CODE, delay=1.5), says("ahead", "Refused.")]


def environment(folder: Path) -> dict[str, str]:
    return {"SHIRO_MODEL": script(folder, *STEPS, *TYPE_AHEAD), "SHIRO_HOME": str(folder / "home")}


@pytest.fixture(params=["plain", "prompt_toolkit", "console"])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    settings = environment(tmp_path)
    opened = (
        console(folder=tmp_path, **settings)
        if request.param == "console"
        else ipython(folder=tmp_path, prompt_toolkit=request.param == "prompt_toolkit", **settings)
    )
    with opened as terminal:
        terminal.run("%load_ext shiro_jupyter", 2)
        yield terminal


def test_a_person_asks_answers_and_interrupts(
    terminal: Terminal, request: pytest.FixtureRequest
) -> None:
    assert "Hello, you." in terminal.run("%shiro hello, what's $x?", 3)
    told = terminal.run("r = %shiro hello?", 4)
    assert "Hello, you." in told
    assert "Out[" not in told
    assert "Hello, you." in terminal.run("print(r)", 5)

    terminal.type("%shiro sum")
    assert "total = 40 + 2" in terminal.until("say why not: ")
    told = terminal.run("y", 6)
    assert "in code" in told
    assert "It is 42." in told
    assert "42" in terminal.run("total", 7)

    terminal.type("%shiro --yolo calm")
    terminal.until("begun")
    terminal.interrupt()
    told = terminal.until("In [8]")
    assert "interrupted" in told
    assert "KeyboardInterrupt" in told
    assert "_on_sigint" not in told
    assert "It went on." in told

    terminal.type("%shiro silent")
    if request.node.callspec.params["terminal"] == "console":
        terminal.until("silent")
        time.sleep(1)  # until the model is asked, of which a console shows nothing
    else:
        terminal.until("thinking for ")
    terminal.interrupt()
    assert "KeyboardInterrupt" in terminal.until("In [9]")
    assert "Hello, you." in terminal.run("%shiro hello", 10)

    terminal.run("b = %shiro sum &", 11)
    terminal.type("%shiro hello")
    told = terminal.until("say why not: ")
    assert "total = 40 + 2" in told.partition("The background turn “sum” asks:")[2]
    assert "Hello, you." in terminal.run("y", 12)


def test_code_to_keep_is_typed_at_the_next_prompt(tmp_path: Path) -> None:
    with ipython(folder=tmp_path, prompt_toolkit=True, **environment(tmp_path)) as terminal:
        terminal.run("%load_ext shiro_jupyter", 2)
        told = terminal.run("%shiro --yolo sum", 3)
        assert "· data: new: total" in told and "bound total ran in no cell" in told
        terminal.type("%shiro /keep")
        terminal.until("In [4]: total = 40 + 2")
        terminal.until("'in', 'code'")


def test_a_cell_of_several_lines(tmp_path: Path) -> None:
    with ipython(folder=tmp_path, **environment(tmp_path)) as terminal:
        terminal.run("%load_ext shiro_jupyter", 2)
        for line in ("%%shiro", "hello", "is it 5 o'clock?", ""):
            terminal.type(line)
        assert "Hello, you." in terminal.run("", 3)


def test_keys_typed_before_a_question_answer_nothing(tmp_path: Path) -> None:
    with ipython(folder=tmp_path, **environment(tmp_path)) as terminal:
        terminal.run("%load_ext shiro_jupyter", 2)
        terminal.type("%shiro ahead")
        terminal.until("thinking")
        terminal.type("y")
        terminal.until("say why not: ")
        told = terminal.run("", 3)
        assert "refused" in told
        assert "in code" not in told


def test_a_turn_in_the_background_runs_code_at_the_prompt(tmp_path: Path) -> None:
    with ipython(folder=tmp_path, prompt_toolkit=True, **environment(tmp_path)) as terminal:
        terminal.run("%load_ext shiro_jupyter", 2)
        terminal.run("r = %shiro --yolo sum &", 3)
        assert "in code" in terminal.until("answered")
        assert "42" in terminal.run("total", 4)


def test_where_the_prompt_holds_main_its_code_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with ipython(folder=tmp_path, **environment(tmp_path)) as terminal:
        terminal.run("%load_ext shiro_jupyter", 2)
        terminal.run("r = %shiro --yolo sum &", 3)
        terminal.until("answered")
        session = "get_ipython()._shiro_extension.host.services.conversation.opened.session"
        told = terminal.run(f"print([i.text for i in {session}.items if hasattr(i, 'outcome')])", 4)
        assert "waits at its prompt" in told


def test_leaving_in_mid_turn_ends_it(tmp_path: Path) -> None:
    with ipython(folder=tmp_path, **environment(tmp_path)) as terminal:
        terminal.run("%load_ext shiro_jupyter", 2)
        terminal.run("r = %shiro silent &", 3)
        begun = time.monotonic()
        terminal.type("exit")
        terminal.child.wait()
        assert time.monotonic() - begun < 15
