"""What a turn leaves in order, whatever stands in its way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kernels import Kernel, running_kernel
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

RESULTS = (
    "'\\n'.join(i.text for i in get_ipython()._shiro_extension.host.services.conversation"
    ".opened.session.items"
    " if type(i).__name__ == 'Result')"
)
RELOAD = "get_ipython().run_line_magic('reload_ext', 'shiro_jupyter')"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("services")
    model = script(
        folder,
        says("hi", "Hello.", delay=0.3),
        says("slow", "Slowly.", delay=60),
        runs("reload", RELOAD),
        says("reload", "No reload."),
        runs("leak", "import os; print(os.environ['SHIRO_API_KEY'])"),
        says("leak", "Looked."),
        {"when": "list", "calls": [{"name": "list_dir", "arguments": {}}]},
        says("list", "Listed."),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    home["SHIRO_API_KEY"] = "plain-old-key"
    with running_kernel(folder=folder, SHIRO_VIEW="text", **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


def test_an_answer_that_cannot_be_kept_is_told_and_its_reply_ends(kernel: Kernel) -> None:
    kernel.run("p = get_ipython()._shiro_extension.host.runs.answers.folder")
    kernel.run("p.parent.mkdir(parents=True, exist_ok=True); p.write_text('in the way')")
    request = kernel.send("r = %shiro hi &")
    assert kernel.finish(request).status == "ok"
    shown = kernel.later(request, "answered").stdout
    assert "The answer was not kept for a re-run: " in shown
    assert kernel.run("print(r.wait(10).outcome, r)").stdout == "answered Hello.\n"
    kernel.run("p.unlink()")


def test_code_that_a_turn_runs_cannot_unload_it(kernel: Kernel) -> None:
    outputs = kernel.run("r = %shiro --yolo reload", stdin=lambda prompt: "")
    assert outputs.status == "ok"
    assert "No reload." in outputs.stdout
    assert "UsageError: A turn is running this code: " in kernel.value(RESULTS)
    assert kernel.run("%reload_ext shiro_jupyter").status == "ok"  # a cell may
    assert "Hello." in kernel.run("%shiro hi", stdin=lambda prompt: "").stdout


def test_turns_in_the_background_are_stopped_by_a_command(kernel: Kernel) -> None:
    first = kernel.send("a = %shiro slow &\nb = %shiro slow &")
    assert kernel.finish(first).status == "ok"
    refused = kernel.run("%shiro /clear", stdin=lambda prompt: "")
    assert "end it with %shiro /stop" in refused.stream("stderr")
    outputs = kernel.run("%shiro /stop\nprint(a.outcome, b.outcome)", stdin=lambda prompt: "")
    assert outputs.stdout == (
        "Stopped 2 turns.\nTaken off the queue, not run: slow\ninterrupted interrupted\n"
    )
    kernel.later(first, "interrupted")
    nothing = kernel.run("%shiro /stop", stdin=lambda prompt: "")
    assert nothing.stream("stderr") == "No turn is running.\n"
    assert "Hello." in kernel.run("%shiro hi", stdin=lambda prompt: "").stdout
    assert (
        kernel.value(
            "get_ipython()._shiro_extension.host.services.conversation.agent.queue.waiting"
        )
        == "()"
    )


def test_a_question_that_waits_is_stopped_with_its_turn(kernel: Kernel) -> None:
    request = kernel.send("r = %shiro reload &")
    assert kernel.finish(request).status == "ok"
    kernel.later(request, "%shiro /stop to end the turn")
    asked: list[str] = []
    outputs = kernel.run("%shiro /stop", stdin=lambda prompt: (asked.append(prompt), "")[1])
    assert (outputs.stdout, asked) == ("Stopped the turn.\n", [])


def test_a_key_that_code_prints_is_not_in_its_result(kernel: Kernel) -> None:
    assert "Looked." in kernel.run("r = %shiro --yolo leak", stdin=lambda prompt: "").stdout
    held = kernel.value(RESULTS)
    assert "[redacted: key]" in held and "plain-old-key" not in held


def test_a_project_names_what_is_not_listed_and_no_script(kernel: Kernel) -> None:
    kernel.run("""
from pathlib import Path
Path('.shiro').mkdir(exist_ok=True)
Path('.shiro/config.toml').write_text('ignore = ["*.dull"]\\nmodel = "scripted:evil.json"')
Path('a.dull').touch(), Path('a.shown').touch(), Path('evil.json').write_text('[{"text": "Evil."}]')
""")
    settings = "get_ipython()._shiro_extension.host.services.settings()"
    kernel.run("import os; listed = os.environ.pop('SHIRO_MODEL')")
    assert "evil" not in kernel.value(f"{settings}.settings.model")
    kernel.run("os.environ['SHIRO_MODEL'] = listed")
    assert "Listed." in kernel.run("%shiro list", stdin=lambda prompt: "").stdout
    held = kernel.value(RESULTS)
    assert "a.shown" in held and "a.dull" not in held


def test_sets_that_are_switched_off_are_gone_with_the_next_session(kernel: Kernel) -> None:
    agent = "get_ipython()._shiro_extension.host.services.conversation.agent"
    names = f"[tool.name for tool in {agent}.tools]"
    kernel.run("%shiro /clear", stdin=str)
    kernel.run("%shiro hi", stdin=str)
    every, system = kernel.value(names), kernel.value(f"{agent}.system()")
    assert "'list_dir'" in every and "'run_python'" in every
    kernel.run("from pathlib import Path; Path('.shiro').mkdir(exist_ok=True)")
    kernel.run("Path('.shiro/config.toml').write_text('tool_sets = []')")
    kernel.run("%shiro hi", stdin=str)
    assert (kernel.value(names), kernel.value(f"{agent}.system()")) == (every, system)
    kernel.run("%shiro /clear", stdin=str)
    assert "Hello." in kernel.run("%shiro hi", stdin=str).stdout
    few = kernel.value(names)
    assert "list_dir" not in few and "'read_file'" in few and "'todo_write'" in few
    kernel.run("Path('.shiro/config.toml').write_text('tool_sets = [\"gti\"]')")
    refused = kernel.run("%shiro hi", stdin=str).stream("stderr")
    assert ".shiro/config.toml: tool_sets" in refused and "'edit-plus' or 'git'" in refused
    kernel.run("Path('.shiro/config.toml').unlink()")
