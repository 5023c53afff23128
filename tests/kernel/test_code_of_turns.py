"""Code that a turn runs in a real kernel, and what it must not do to the session around it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

FORMS = {"awaited": "", "blocking": "%%time\n"}
# An interrupt just as a lock of Python code has been taken for what is printed.
TORN = """
import signal, sys, threading
enter, fired = threading.Condition.__enter__, []
def torn(self):
    taken = enter(self)
    frame = sys._getframe(1)
    while frame and not frame.f_code.co_filename.endswith('kernel/tee.py'):
        frame = frame.f_back
    if frame and not fired and threading.get_ident() == threading.main_thread().ident:
        fired.append(1)
        signal.raise_signal(signal.SIGINT)
    return taken
threading.Condition.__enter__ = torn
try:
    for n in range(1000):
        print(n)
finally:
    threading.Condition.__enter__ = enter
"""


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("turns")
    model = script(
        folder,
        runs("torn", TORN),
        says("torn", "It went on."),
        runs("fails", "1 / 0"),
        says("fails", "It went on."),
        runs("marked", "marked = 1  # MARK"),
        says("marked", "It went on."),
        runs("exits", "exit()\nnever = 1"),
        says("exits", "It went on."),
        runs("quits", "quit"),
        says("quits", "It went on."),
        runs("clears", "from IPython.display import clear_output\nclear_output()"),
        says("clears", "It went on."),
        says("fine", "All is well."),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    home |= {"SHIRO_VIEW": "text", "SHIRO_MODE": "yolo"}
    with running_kernel(request.param, folder=folder, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


@pytest.fixture(autouse=True)
def usable_afterwards(kernel: Kernel) -> Iterator[None]:
    yield
    assert "All is well." in kernel.run("%shiro fine").stdout


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupt_while_it_prints_leaves_no_lock_taken(kernel: Kernel, form: str) -> None:
    outputs = kernel.run(f"{FORMS[form]}%shiro torn", timeout=30)
    assert "It went on." in outputs.stdout
    assert kernel.value("fired") == "[1]"
    assert kernel.value("type(__import__('sys').stdout).__name__") == "'OutStream'"


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupt_while_code_is_transformed_ends_the_code_alone(
    kernel: Kernel, form: str
) -> None:
    kernel.run(
        "import signal\n"
        "armed = [1]\n"
        "def interrupt(lines):\n"
        "    if armed and any('# MARK' in line for line in lines):\n"
        "        armed.clear()\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return lines\n"
        "get_ipython().input_transformers_cleanup.append(interrupt)"
    )
    outputs = kernel.run(f"{FORMS[form]}%shiro marked", timeout=30)
    assert kernel.run("get_ipython().input_transformers_cleanup.remove(interrupt)").status == "ok"
    assert "It went on." in outputs.stdout
    assert kernel.value("armed, 'marked' in globals()") == "([], False)"


@pytest.mark.parametrize("form", FORMS)
def test_an_interrupt_after_the_code_ends_nothing_else(kernel: Kernel, form: str) -> None:
    kernel.run(
        "import signal\n"
        "from shiro_jupyter.kernel import run_code\n"
        "make, once = run_code.CodeResult, [1]\n"
        "def interrupted(**parts):\n"
        "    if once:\n"
        "        once.clear()\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return make(**parts)\n"
        "run_code.CodeResult = interrupted"
    )
    outputs = kernel.run(f"{FORMS[form]}%shiro marked", timeout=30)
    kernel.run("run_code.CodeResult = make")
    assert "It went on." in outputs.stdout
    assert kernel.value("once, marked") == "([], 1)"
    kernel.run("del marked")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", ["exits", "quits"])
def test_exit_ends_the_code_and_not_the_session(kernel: Kernel, what: str, form: str) -> None:
    outputs = kernel.run(f"{FORMS[form]}%shiro {what}")
    assert "It went on." in outputs.stdout
    assert outputs.reply["payload"] == []
    assert kernel.value("get_ipython().exit_now, 'never' in globals()") == "(False, False)"
    assert kernel.value("'ask_exit' in vars(get_ipython())") == "False"


@pytest.mark.parametrize("form", FORMS)
def test_the_answer_outlives_a_cell_that_is_cleared(kernel: Kernel, form: str) -> None:
    kernel.run("import os; os.environ['SHIRO_VIEW'] = 'display'")
    outputs = kernel.run(f"{FORMS[form]}%shiro clears")
    kernel.run("os.environ['SHIRO_VIEW'] = 'text'")
    assert outputs.of("clear_output")
    assert "It went on." in left_on_the_page(outputs)


def left_on_the_page(outputs: Outputs) -> str:
    """What a front end has in the cell at the end."""
    page: list[str] = []
    places: dict[str, int] = {}
    for message in outputs.messages:
        content = message["content"]
        where = content.get("transient", {}).get("display_id", "")
        if message["msg_type"] == "clear_output":
            page.clear()
            places.clear()
        elif message["msg_type"] == "display_data":
            places[where] = len(page)
            page.append(str(content["data"]))
        elif message["msg_type"] == "update_display_data" and where in places:
            page[places[where]] = str(content["data"])
        elif message["msg_type"] == "stream":
            page.append(content["text"])
    return "\n".join(page)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_traceback_bears_the_number_of_the_cell_that_asked(kernel: Kernel, form: str) -> None:
    outputs = kernel.run(f"{form}%shiro fails")
    number = outputs.reply["execution_count"]
    told = "".join(line for error in outputs.of("error") for line in error["traceback"])
    assert re.findall(r"In\[(\d+)\]", re.sub(r"\x1b\[[\d;]*m", "", told)) == [str(number)]
    assert kernel.run("1").reply["execution_count"] == number + 1
