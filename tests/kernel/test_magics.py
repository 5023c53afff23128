"""What a person types besides a prompt: flags, commands, %todos, and what they are told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiro_jupyter.kernel import commands
from tests.support.kernels import Kernel, running_kernel
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

TODOS = [
    {"text": "read", "status": "done"},
    {"text": "plot", "status": "in_progress"},
    {"text": "deploy", "status": "blocked", "note": "no key"},
]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("magics")
    (folder / "pyproject.toml").touch()
    model = script(
        folder,
        says("hello", "Hello."),
        {"when": "plan it", "calls": [{"name": "todo_write", "arguments": {"todos": TODOS}}]},
        says("plan it", "Planned."),
        runs("run it", "print('ran')"),
        says("run it", "Done."),
        says("Find the cause", "It divides by zero."),
        says("in short", "It divides."),
        says("silent", "never", delay=60),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    home["SHIRO_VIEW"] = "text"
    with running_kernel(folder=folder, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def ask(kernel: Kernel, line: str, *answers: str) -> str:
    """What a line prints, where a person gives these answers."""
    given = list(answers)
    outputs = kernel.run(line, stdin=lambda prompt: given.pop(0))
    assert outputs.status == "ok", outputs.reply
    assert not given, f"nobody asked for {given}"
    return outputs.stdout + outputs.stream("stderr")


def prompts(kernel: Kernel) -> list[str]:
    session = "get_ipython()._shiro_extension.host.services.conversation.opened.session"
    items = f"[i.text for i in {session}.items if type(i).__name__ == 'User']"
    told: list[str] = json.loads(kernel.run(f"import json; print(json.dumps({items}))").stdout)
    return told


def test_todos_shows_bar_and_list(kernel: Kernel) -> None:
    ask(kernel, "%shiro plan it")
    assert kernel.run("%todos").stdout == (
        "tasks #############........................... 1/3  1 blocked\n"
        "[x] read\n[~] plot\n[!] deploy  (no key)\n"
    )
    assert ask(kernel, "%shiro /todos") == kernel.run("%todos").stdout


def test_help_names_every_command_and_flag(kernel: Kernel) -> None:
    told = ask(kernel, "%shiro /help")
    for name in commands.COMMANDS:
        assert f"/{name}" in told
    assert "--no-memory" in told
    assert "%recall" in told


def test_an_unknown_command_names_the_nearest(kernel: Kernel) -> None:
    ask(kernel, "%shiro hello")
    before = prompts(kernel)
    assert ask(kernel, "%shiro /resum x") == "There is no command /resum; did you mean /resume?\n"
    assert ask(kernel, "%shiro /zzz") == "There is no command /zzz; /help lists them.\n"
    assert prompts(kernel) == before


def test_status_says_what_is_in_force(kernel: Kernel) -> None:
    told = ask(kernel, "%shiro /status")
    assert "mode      ask" in told
    assert str(kernel.folder) in told
    assert "plan it" in told


def test_a_rule_that_names_no_tool_is_told_once_and_in_the_status(kernel: Kernel) -> None:
    config = kernel.folder / ".shiro" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text('deny = ["bahs(rm *)"]')
    said = "The rule bahs(rm *) names no tool and no access class, so it does nothing"
    told = [ask(kernel, f"%shiro {what}").count(said) for what in ("hello", "hello", "/status")]
    config.unlink()
    assert told == [1, 0, 1]


def test_a_mode_holds_from_then_on_and_a_flag_for_one_turn(kernel: Kernel) -> None:
    assert "refused" in ask(kernel, "%shiro --plan run it")
    assert "ran\n" in ask(kernel, "%shiro run it", "y")
    assert "The modes are ask" in ask(kernel, "%shiro /mode wild")
    assert "Mode plan" in ask(kernel, "%shiro /mode plan")
    assert ask(kernel, "%shiro /mode") == "plan\n"
    assert "refused" in ask(kernel, "%shiro run it")
    assert "ran\n" in ask(kernel, "%shiro --yolo run it")
    assert "Mode ask" in ask(kernel, "%shiro /mode ask")


@pytest.mark.parametrize(
    ("answer", "ran"), [("y", True), ("yes", True), ("", False), ("n", False), ("not now", False)]
)
def test_enter_and_any_word_but_yes_deny(kernel: Kernel, answer: str, ran: bool) -> None:
    assert ("ran\n" in ask(kernel, "%shiro run it", answer)) is ran


def test_what_a_person_says_instead_reaches_the_model(kernel: Kernel) -> None:
    ask(kernel, "%shiro run it", "use the sample instead")
    session = "get_ipython()._shiro_extension.host.services.conversation.opened.session"
    told = kernel.value(f"[i.text for i in {session}.items if type(i).__name__ == 'Result'][-1]")
    assert "use the sample instead" in told


def test_quiet_shows_the_answer_only_and_json_the_events(kernel: Kernel) -> None:
    assert ask(kernel, "%shiro -q hello") == "Hello.\n"
    events = [json.loads(line) for line in ask(kernel, "%shiro --json hello").splitlines()]
    assert events[0] == {"event": "turn_started", "turn": events[0]["turn"], "prompt": "hello"}
    assert [each["event"] for each in events].count("turn_ended") == 1
    assert events[-1]["outcome"] == "answered"


def test_alone_without_an_error_it_says_what_to_do(kernel: Kernel) -> None:
    kernel.run("1")
    assert ask(kernel, "%shiro").startswith("Ask something:")
    assert ask(kernel, "%%shiro\n").startswith("Ask something:")


def test_alone_after_an_error_it_asks_about_it(kernel: Kernel) -> None:
    kernel.run("numbers = [1, 2, 0]\nunrelated = 5\ndef inverse(n):\n    return 1 / n")
    kernel.run("for number in numbers:\n    inverse(number)")
    assert "It divides by zero." in ask(kernel, "%shiro")
    prompt = prompts(kernel)[-1]
    assert "ZeroDivisionError: division by zero" in prompt
    assert "return 1 / n" in prompt
    assert "for number in numbers:" in prompt
    assert "numbers" in prompt.partition("Variables in it:")[2]
    assert "unrelated" not in prompt
    assert "interactiveshell" not in prompt
    assert len(prompt) < 12_000
    # The error is remembered while other cells run, for as long as it is asked about by name.
    kernel.run("'fine'")
    assert ask(kernel, "%shiro").startswith("Ask something:")
    assert "It divides." in ask(kernel, "%shiro /fix say in short what is wrong")


@pytest.mark.parametrize("form", ["", "%%time\n"])
def test_its_own_end_is_no_error_to_mend(kernel: Kernel, form: str) -> None:
    kernel.run("numbers = [1, 2, 0]\n1 / numbers[2]")
    interrupted(kernel, f"{form}%shiro silent")
    assert ask(kernel, "%shiro").startswith("Ask something:")
    interrupted(kernel, f"{form}%shiro silent")
    before = len(prompts(kernel))
    assert "It divides." in ask(kernel, "%shiro /fix say in short what is wrong")
    assert len(prompts(kernel)) == before + 1
    assert "1 / numbers[2]" in prompts(kernel)[-1]
    assert "KeyboardInterrupt" not in prompts(kernel)[-1]


def test_nothing_is_mended_where_only_its_own_end_failed(tmp_path: Path) -> None:
    model = script(tmp_path, says("silent", "never", delay=60))
    home = {"SHIRO_HOME": str(tmp_path / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    with running_kernel(folder=tmp_path, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        interrupted(kernel, "%shiro silent")
        assert "nothing to fix" in ask(kernel, "%shiro /fix")
        # A run without a person raises what a person is told.
        assert kernel.run("%shiro --no-such-flag").status == "error"
        assert "nothing to fix" in ask(kernel, "%shiro /fix")


def interrupted(kernel: Kernel, code: str) -> None:
    """Run a cell whose turn is interrupted once the model has been asked."""
    started = "get_ipython()._shiro_extension.host.services.feed.events"
    kernel.run(f"seen = len({started})")
    watch = (
        "import threading, time\n"
        "def interrupt(services, seen):\n"
        "    while not any(type(e).__name__ == 'StepStarted' for e, _ in\n"
        "                  services.feed.events[seen:]):\n"
        "        time.sleep(0.05)\n"
        "    services.interrupt()\n"
        "services = get_ipython()._shiro_extension.host.services\n"
        "threading.Thread(target=interrupt, args=(services, seen)).start()\n"
    )
    kernel.run(watch)
    outputs = kernel.run(code, stdin=lambda prompt: "")
    assert outputs.of("error")[0]["ename"] == "KeyboardInterrupt"


def test_a_syntax_error_is_asked_about_too(kernel: Kernel) -> None:
    kernel.run("1 +")
    assert "It divides by zero." in ask(kernel, "%shiro")
    assert "SyntaxError" in prompts(kernel)[-1]


def test_sessions_are_listed_and_resumed(kernel: Kernel) -> None:
    ask(kernel, "%shiro hello there, first session")
    ask(kernel, "%shiro plan it")
    first = kernel.value(
        "get_ipython()._shiro_extension.host.services.conversation.opened.session.id"
    )[1:-1]
    count = len(prompts(kernel))
    assert "new session" in ask(kernel, "%shiro /clear")
    assert kernel.run("%todos").stdout == "No tasks.\n"
    ask(kernel, "%shiro hello again")
    assert len(prompts(kernel)) == 1
    (listed,) = kernel.run("%shiro /sessions", stdin=str).of("display_data")
    heads, newest, *_ = listed["data"]["text/plain"].splitlines()
    assert heads.split()[0] == "id" and newest.endswith("hello again") and " here " in newest
    assert f"{count} turns" in ask(kernel, f"%shiro /resume {first[:18]}")
    assert len(prompts(kernel)) == count
    assert "[~] plot" in kernel.run("%todos").stdout
    assert "Hello." in ask(kernel, "%shiro -r nothing-like-it hello").replace(
        "No session begins with nothing-like-it; /sessions lists them.", "Hello."
    )
    ask(kernel, "%shiro -c hello")  # stays where it is
    assert len(prompts(kernel)) == count + 1
    ask(kernel, "%shiro /resume")
    assert prompts(kernel) == ["hello again"]


def test_a_session_goes_on_in_a_fresh_kernel(kernel: Kernel) -> None:
    home = {"SHIRO_HOME": str(kernel.folder / "home")}
    ask(kernel, "%shiro hello from the old kernel")
    model = script(kernel.folder, says("hello", "Hello."))
    with running_kernel(folder=kernel.folder, SHIRO_MODEL=model, SHIRO_LIVE="1", **home) as fresh:
        fresh.run("%load_ext shiro_jupyter")
        assert "Hello." in ask(fresh, "%shiro -c hello, remember?")
        assert prompts(fresh)[-2:] == ["hello from the old kernel", "hello, remember?"]


def test_without_memory_the_prompt_holds_none(kernel: Kernel) -> None:
    kernel.run("%remember the tea shop closes on Mondays")
    system = "get_ipython()._shiro_extension.host.services.conversation.agent.system()"
    ask(kernel, "%shiro /clear")
    ask(kernel, "%shiro hello")
    assert "closes on Mondays" in kernel.run(f"print({system})").stdout
    ask(kernel, "%shiro --no-memory hello")
    assert "closes on Mondays" not in kernel.run(f"print({system})").stdout


def test_a_broken_setting_is_one_sentence(tmp_path: Path) -> None:
    settings = tmp_path / "home" / "config.toml"
    home = {"SHIRO_HOME": str(tmp_path / "home")}
    with running_kernel(folder=tmp_path, **home) as kernel:
        found = kernel.run(
            "%load_ext shiro_jupyter\n%todos\n"
            "print(get_ipython()._shiro_extension.host.services.folders.settings_file)"
        ).stdout.splitlines()
        settings = Path(found[-1])
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("modle = 'x'\n")
        outputs = kernel.run("%shiro hello", stdin=lambda prompt: "")
        assert outputs.stdout == ""
        assert len(outputs.stream("stderr").splitlines()) == 1
        assert "modle" in outputs.stream("stderr")
        assert "model" in outputs.stream("stderr")
