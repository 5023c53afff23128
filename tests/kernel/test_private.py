"""What the person keeps from the model reaches no request, whatever tool is called, and how."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kernels import running_kernel
from tests.support.private_fuzz import (
    CALLS,
    MEAN,
    MODES,
    REGION,
    TEXT,
    VALUES,
    begun,
    environment,
    play,
    told,
)
from tests.support.scripts import runs, says, script
from tests.support.strict_endpoint import Reply, ScriptedCall, StrictEndpoint

pytestmark = pytest.mark.kernel
SEED = 1


@pytest.mark.parametrize("name", MODES)
def test_no_call_of_any_tool_brings_out_what_is_private(name: str, tmp_path: Path) -> None:
    mode = MODES[name]
    bodies, log = play(tmp_path, mode, SEED)
    offered = {tool["function"]["name"] for body in bodies for tool in body.get("tools", ())}
    assert offered == set(CALLS), "say in tests/support/private_fuzz.py how this tool is called"
    went_out = told(bodies)
    assert went_out.leaks(mode.canaries) == []
    assert not VALUES.search(log)
    said = "".join(text for _, text in went_out.parts)
    shown = name == "private"  # what is not private, before any code has touched it
    assert (MEAN in said, REGION in said) == (shown, shown)
    assert "went to the person alone" in said and "It failed" in said


def test_what_an_interrupted_call_had_shown_is_withheld(tmp_path: Path) -> None:
    code = "import time\nprint(zqpay)\nprint('begun', flush=True)\ntime.sleep(60)"
    calls = [ScriptedCall("run_python", {"code": code})]
    (folder := tmp_path / "project").mkdir()
    with (
        StrictEndpoint([Reply(calls=calls), Reply("Stopped.")], window=2_000_000) as server,
        begun(folder, MODES["private"], environment(tmp_path, server)) as kernel,
    ):

        def interrupt(message: dict[str, object]) -> None:
            if message["msg_type"] == "stream" and "begun" in str(message["content"]):
                kernel.interrupt()

        outputs = kernel.run("%shiro go", meanwhile=interrupt, stdin=str)
    server.check()
    assert TEXT in outputs.stdout  # the person sees it
    assert told(server.bodies).leaks(MODES["private"].canaries) == []
    assert "The person interrupted it. What it showed went to the person" in str(server.bodies[1])


def test_the_person_sees_what_is_withheld_and_is_told_so_in_the_question(tmp_path: Path) -> None:
    (folder := tmp_path / "project").mkdir()
    (folder / ".shiro").mkdir()
    (folder / ".shiro/config.toml").write_text('private = ["pay"]')
    model = script(
        tmp_path,
        runs("both", "print(2 + 2)"),
        runs("both", "print(pay)"),
        says("both", "Done."),
    )
    home = {"SHIRO_HOME": str(tmp_path / "home"), "SHIRO_VIEW": "text", "SHIRO_MODEL": model}
    with running_kernel(folder=folder, SHIRO_LIVE="1", **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        kernel.run("pay = 918273645\nn = 1")
        asked: list[str] = []
        outputs = kernel.run("%shiro both", stdin=lambda prompt: asked.append(prompt) or "y")
        assert "kept back pay\n" in kernel.run("%shiro /status", stdin=str).stdout
        results = kernel.value(
            "[i.text for i in get_ipython()._shiro_extension.host.services.conversation"
            ".opened.session.items if type(i).__name__ == 'Result']"
        )
    assert "918273645" in outputs.stdout and "918273645" not in results
    assert "'4'" in results
    assert outputs.stdout.count("The model will not see its output.") == 1
    assert len(asked) == 2
