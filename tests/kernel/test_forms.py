"""Every way to come to `%shiro` in a real kernel, on the newest and the oldest ipykernel 7."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.support.kernels import ROOT, Kernel, Outputs, interpreters, running_kernel
from tests.support.prompts import PROMPTS
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

SUM = "total = 40 + 2\nprint('in code')\ntotal"


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("forms")
    model = script(
        folder,
        says("say", "It is said."),
        runs("sum", SUM),
        says("sum", "It is 42."),
        runs("await", "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')"),
        says("await", "Awaited."),
        runs("variable", "v.set('by the model')"),
        says("variable", "Set."),
        says("echo", "Echo."),
    )
    home = {
        "SHIRO_HOME": str(folder / "home"),
        "SHIRO_LIVE": "1",
        "SHIRO_MODEL": model,
        "SHIRO_VIEW": "text",
    }
    with running_kernel(request.param, folder=folder, **home) as kernel:
        assert not shown(kernel.run("%load_ext shiro_jupyter"))
        kernel.run("get_ipython()._shiro_extension.host.services.flags['mode'] = 'yolo'")
        kernel.run("#" * 100_000)  # for large messages pyzmq starts a thread that stays
        yield kernel


def shown(outputs: Outputs) -> list[str]:
    kinds = [message["msg_type"] for message in outputs.messages]
    return [kind for kind in kinds if kind not in ("status", "execute_input")]


FORMS = {
    "plain": "%shiro sum",
    "value": "r = %shiro sum\nassert str(r) == 'It is 42.' and r.outcome == 'answered'",
    "cell": "%%shiro\nplease\nsum",
    "loop": "for n in range(1):\n    %shiro sum",
    "with": "import contextlib\nwith contextlib.nullcontext():\n    r = %shiro sum",
    "function": "def f():\n    r = %shiro sum\n    return r\nassert f().answer == 'It is 42.'",
    "async function": "async def f():\n    %shiro sum\nawait f()",
    "time": "%%time\n%shiro sum",
    "time line": "%time %shiro sum",
    "timeit": "%%timeit -n1 -r1\n%shiro sum",
    "prun": "%%prun -q\n%shiro sum",
    "run_cell": "get_ipython().run_cell('%shiro sum')",
    "run": "from pathlib import Path\nPath('x.ipy').write_text('%shiro sum')\n%run -i x.ipy",
    "semicolon": "a = 1; b = 2\n%shiro sum",
    "magic call": "get_ipython().run_line_magic('shiro', 'sum');",
}


@pytest.mark.parametrize("name", FORMS)
def test_a_prompt_is_answered_in_every_form(kernel: Kernel, name: str) -> None:
    kernel.run("total = None")
    outputs = kernel.run(FORMS[name])
    assert outputs.status == "ok", outputs.reply
    assert outputs.stdout.count("in code") == 1
    assert outputs.stdout.count("It is 42.") == 1
    assert [each["data"]["text/plain"] for each in outputs.of("display_data")] == ["42"]
    assert kernel.value("total") == "42"


def test_capture_takes_all_of_it(kernel: Kernel) -> None:
    outputs = kernel.run("%%capture caught\n%shiro sum")
    assert not shown(outputs)
    assert "in code" in kernel.value("caught.stdout")
    assert "It is 42." in kernel.value("caught.stdout")
    assert kernel.value("caught.outputs[0].data['text/plain']") == "'42'"


@pytest.mark.parametrize("prompt", ["%shiro await", "%%time\n%shiro await"])
def test_top_level_await_works_in_both_forms(kernel: Kernel, prompt: str) -> None:
    assert "awaited" in kernel.run(prompt).stdout


def test_the_cell_awaits_only_where_it_can(kernel: Kernel) -> None:
    ticking = (
        "import asyncio\nticks = []\n"
        "async def tick():\n    while True:\n        ticks.append(1); await asyncio.sleep(0)\n"
        "ticker = asyncio.ensure_future(tick())\n"
    )
    kernel.run(ticking + "await asyncio.sleep(0); ticks.clear()\n%shiro sum\nn = len(ticks)")
    assert int(kernel.value("n")) > 1  # main's own loop went on meanwhile
    kernel.run("%%time\nticks.clear()\n%shiro sum\nn = len(ticks)")
    assert kernel.value("n") == "0"
    kernel.run("ticker.cancel()")


def test_autoawait_off_blocks(kernel: Kernel) -> None:
    kernel.run("%autoawait off")
    assert "It is 42." in kernel.run("%shiro sum").stdout
    kernel.run("%autoawait on")


def test_the_value_is_not_echoed_and_underscores_stay(kernel: Kernel) -> None:
    kernel.run("'before'")
    before = kernel.value("(_, __, ___, len(Out))[0]")
    assert before == "'before'"
    count = kernel.value("len(Out)")
    outputs = kernel.run("%shiro say")
    assert outputs.of("execute_result") == []
    assert int(kernel.value("len(Out)")) == int(count.strip("'")) + 1  # that of `len(Out)`


@pytest.mark.parametrize("prompt", ["%shiro variable", "%%time\n%shiro variable"])
def test_context_variables_set_by_code_reach_later_cells(kernel: Kernel, prompt: str) -> None:
    kernel.run("import contextvars\nv = contextvars.ContextVar('v', default='unset')")
    kernel.run("_token = v.set('by the person')")
    kept = kernel.value("v.get()") == "'by the person'"  # not so on the oldest ipykernel
    assert kernel.run(prompt).status == "ok"
    assert kernel.value("v.get()") == ("'by the model'" if kept else "'unset'")


@pytest.mark.parametrize("prompt", [each for each in PROMPTS if each.strip()])
def test_a_prompt_arrives_as_typed(kernel: Kernel, prompt: str) -> None:
    prompt = f"echo {prompt}".rstrip()
    for source in (f"r = %shiro {prompt}", f"%%shiro\n{prompt}\n>>> x"):
        assert kernel.run(source).status == "ok"
    sent = kernel.value(
        "[i.text for i in get_ipython()._shiro_extension.host.services.conversation"
        ".opened.session.items"
        " if type(i).__name__ == 'User'][-2:]"
    )
    assert eval(sent) == [prompt, f"{prompt}\n>>> x"]


def test_a_prompt_of_a_hundred_kilobytes_arrives(kernel: Kernel) -> None:
    kernel.run(f"r = %shiro echo {'why? ' * 20_000}end?")
    assert kernel.value("len(r.prompt), r.prompt[-4:]") == "(100009, 'end?')"


@pytest.mark.parametrize("python", interpreters())
def test_loading_and_asking_in_one_cell(python: str, tmp_path: Path) -> None:
    model = script(tmp_path, says("hi", "Hello."))
    with running_kernel(
        python, folder=tmp_path, SHIRO_MODEL=model, SHIRO_LIVE="1", SHIRO_VIEW="text"
    ) as kernel:
        outputs = kernel.run("%load_ext shiro_jupyter\n%shiro hi there")
        assert outputs.status == "ok"
        assert outputs.stdout.startswith("Hello.")
        assert outputs.of("execute_result") == []


@pytest.mark.parametrize("python", interpreters())
def test_a_question_in_the_cell_that_loads_is_a_question(python: str, tmp_path: Path) -> None:
    """IPython has read that cell as a call for help before the extension is there."""
    model = script(tmp_path, says("why rows", "Because."), says("and $x {y}", "Verbatim."))
    with running_kernel(
        python, folder=tmp_path, SHIRO_MODEL=model, SHIRO_LIVE="1", SHIRO_VIEW="text"
    ) as kernel:
        outputs = kernel.run(
            "%load_ext shiro_jupyter\nrows = 5\n%shiro why rows?\nif rows:\n"
            "    %shiro and $x {y} of rows??\nrows?"
        )
        assert outputs.status == "ok"
        assert outputs.stdout.count("Because.") == outputs.stdout.count("Verbatim.") == 1
        assert "not found" not in outputs.stdout
        assert "int" in str(outputs.reply["payload"])  # the last line did ask for help
        assert "int" in str(kernel.run("rows?").reply["payload"])


def test_nbclient_runs_a_notebook_through(tmp_path: Path) -> None:
    model = script(tmp_path, runs("sum", SUM), says("sum", "It is 42."))
    cells = ["%load_ext shiro_jupyter", "r = %shiro --yolo sum", "print(r.answer)"]
    notebook = executed(tmp_path, cells, model)
    assert "in code" in str(notebook.cells[1].outputs)
    assert notebook.cells[2].outputs[0].text == "It is 42.\n"


def test_nobody_there_refuses_what_would_have_to_be_asked(tmp_path: Path) -> None:
    model = script(tmp_path, runs("sum", SUM), says("sum", "Refused."))
    notebook = executed(tmp_path, ["%load_ext shiro_jupyter", "%shiro sum"], model)
    (left,) = notebook.cells[1].outputs
    assert set(left.data) == {"text/html", "text/markdown", "text/plain"}
    assert "in code\n" not in str(notebook)
    assert all("refused" in form for form in left.data.values())


def test_a_failed_turn_stops_a_run_without_a_person(tmp_path: Path) -> None:
    model = script(tmp_path, {"when": "boom", "error": "The endpoint is on fire; put it out."})
    cells = ["%load_ext shiro_jupyter", "%shiro boom", "print('never')"]
    with pytest.raises(CellExecutionError) as error:
        executed(tmp_path, cells, model)
    assert str(error.value).count("on fire") == 1
    assert "host.py" not in str(error.value)


def test_a_failed_turn_with_a_person_is_told_once_on_stderr(kernel: Kernel) -> None:
    outputs = kernel.run("r = %shiro no step is for this", stdin=lambda prompt: "")
    assert outputs.status == "ok"
    assert outputs.stream("stderr").count("no step left") == 1
    assert kernel.value("r.outcome") == "'failed'"
    assert "The script has no step left" in kernel.value("r.reason")


def executed(folder: Path, cells: list[str], model: str) -> nbformat.NotebookNode:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(each) for each in cells]
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(folder)}})
    environment = {"SHIRO_MODEL": model, "SHIRO_LIVE": "1", "PYTHONPATH": str(ROOT)}
    client.execute(env={**os.environ, **environment})
    return notebook
