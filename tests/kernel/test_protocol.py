"""The public tests of the kernel protocol, with the extension loaded and while a turn is active."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import jupyter_kernel_test
import pytest

from tests.support.kernels import OLDEST, ROOT, SIX, running_kernel
from tests.support.scripts import says, script

pytestmark = pytest.mark.kernel

PATIENCE = 30.0  # seconds for what has been sent already, on a busy machine


class _Protocol(jupyter_kernel_test.KernelTests):
    """The samples are those of ipykernel's own run of these tests."""

    python: ClassVar[str] = sys.executable
    path: ClassVar[str] = str(ROOT)
    turn: ClassVar[bool] = False

    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples: ClassVar[list[dict[str, Any]]] = [
        {"text": "zi", "matches": {"zip"}},
        {"text": "%todo", "matches": {"%todos"}},
    ]
    complete_code_samples: ClassVar[list[str]] = [
        "1",
        "print('hello, world')",
        "def f(x):\n  return x*2\n\n\n",
        "%shiro what is in df?",
        "%shiro an ending like this (",
    ]
    incomplete_code_samples: ClassVar[list[str]] = [
        "print('''hello",
        "def f(x):\n  x*2",
        "%%shiro\nwhat is in df?",
    ]
    invalid_code_samples: ClassVar[list[str]] = ["import = 7q"]
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result: ClassVar[list[dict[str, str]]] = [
        {"code": "1+2+3", "result": "6"},
        {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"},
    ]
    code_display_data: ClassVar[list[dict[str, str]]] = [
        {"code": "from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))",
         "mime": "text/html"},
    ]  # fmt: skip
    code_history_pattern = "1?2*"
    supported_history_operations = (
        "tail",
        "search",
    )  # ipykernel numbers its own session 0 in a range
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output\nclear_output()"

    @classmethod
    def setUpClass(cls) -> None:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="protocol-")))
            model = script(folder, says("endless", "never", delay=3600))
            kernel = stack.enter_context(
                running_kernel(
                    cls.python,
                    folder=folder,
                    PYTHONPATH=cls.path,
                    SHIRO_HOME=str(folder / "home"),
                    SHIRO_MODEL=model,
                    SHIRO_LIVE="1",
                    SHIRO_VIEW="text",
                )
            )
            assert kernel.run("%load_ext shiro_jupyter").status == "ok"
            if cls.turn:
                assert kernel.run("turn = %shiro endless &", stdin=str).status == "ok"
                assert kernel.value("turn.outcome") == "'running'"
            cls.kernel, cls.km, cls.kc = kernel, kernel.manager, kernel.client
            cls.ending = stack.pop_all()

    @classmethod
    def tearDownClass(cls) -> None:
        with cls.ending:
            if cls.turn:  # it was, all the time
                assert cls.kernel.value("turn.outcome") == "'running'"

    def execute_helper(self, *args: Any, **kwargs: Any) -> Any:
        channel = self.kc.iopub_channel
        get = channel.get_msg

        def patient(timeout: float | None = None) -> Any:
            return get(timeout=PATIENCE)  # theirs is a tenth of a second

        channel.get_msg = patient
        try:
            return super().execute_helper(*args, **kwargs)
        finally:
            channel.get_msg = get


class TestLoaded(_Protocol):
    pass


class TestActiveTurn(_Protocol):
    turn = True


@pytest.mark.skipif(not Path(OLDEST).exists(), reason=f"no oldest ipykernel at {OLDEST}")
class TestActiveTurnOldest(_Protocol):
    python, turn = OLDEST, True


@pytest.mark.skipif(not Path(SIX).exists(), reason=f"no ipykernel 6 at {SIX}")
class TestActiveTurnSix(_Protocol):
    path, turn = f"{SIX}:{ROOT}", True


del _Protocol  # it is no test of its own
