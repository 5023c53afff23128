"""What code shows, taken as a cell's outputs, in real kernels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shiro_jupyter.kernel.outputs import Outputs
from tests.support.kernels import Kernel

pytestmark = pytest.mark.kernel

RUN = """
import json
from shiro_jupyter.kernel.outputs import Outputs
from shiro_jupyter.kernel.run_code import run_on_main
outputs = Outputs()
with outputs.taken(get_ipython()):
    result = await run_on_main(get_ipython(), {code!r}, lambda text: None)
print(json.dumps([outputs.listed, result.text()]))
"""


def taken(kernel: Kernel, code: str) -> tuple[list[dict[str, Any]], str]:
    """The outputs of a cell with this code, and what the model reads; the cell in which it runs
    shows nothing of them."""
    ran = kernel.run(RUN.format(code=code))
    assert ran.status == "ok" and not ran.of("display_data") and not ran.of("error"), ran.messages
    listed, text = json.loads(ran.stdout)
    return listed, text


def test_streams_displays_and_value_come_in_their_order(kernel: Kernel) -> None:
    listed, text = taken(
        kernel,
        "import sys\nprint('one')\nprint('two')\nprint('no', file=sys.stderr)\n"
        "display({'text/plain': 'shown'}, raw=True)\nprint('three')\n6 * 7",
    )
    assert [each["output_type"] for each in listed] == [
        *("stream", "stream", "display_data", "stream", "display_data")
    ]
    assert listed[0] == {"output_type": "stream", "name": "stdout", "text": "one\ntwo\n"}
    assert listed[1]["name"] == "stderr"
    assert listed[2]["data"] == {"text/plain": "shown"}
    assert listed[4]["data"] == {"text/plain": "42"}
    assert text.startswith("one\ntwo\nthree\nstderr:\nno\n") and text.endswith("value: 42")


def test_an_error_is_an_output_and_what_stood_in_place_does_again(kernel: Kernel) -> None:
    listed, text = taken(kernel, "print('before')\n1 / 0")
    assert [each["output_type"] for each in listed] == ["stream", "error"]
    assert listed[1]["ename"] == "ZeroDivisionError"
    assert any("1 / 0" in line or "ZeroDivisionError" in line for line in listed[1]["traceback"])
    assert "ZeroDivisionError" in text
    after = kernel.run("print('mine'); display({'text/plain': 'shown'}, raw=True)\n1 / 0")
    assert after.stdout == "mine\n" and after.of("display_data") and after.status == "error"


def test_a_display_is_updated_where_it_stands(kernel: Kernel) -> None:
    listed, _ = taken(
        kernel,
        "h = display({'text/plain': '1', 'image/png': b'png'}, raw=True, display_id=True)\n"
        "print('between')\nh.update({'text/plain': '2'}, raw=True)",
    )
    assert [each["output_type"] for each in listed] == ["display_data", "stream"]
    assert listed[0]["data"] == {"text/plain": "2"}


def test_bytes_are_stored_as_a_file_has_them() -> None:
    outputs = Outputs()
    outputs.show({"image/png": b"png", "text/plain": "p"})
    assert outputs.listed[0]["data"] == {"image/png": "cG5n", "text/plain": "p"}


@pytest.mark.parametrize("wait", [False, True], ids=["at once", "with the next"])
def test_what_was_cleared_is_gone(kernel: Kernel, wait: bool) -> None:
    code = "from IPython.display import clear_output\nprint('before')\n"
    listed, _ = taken(kernel, f"{code}clear_output(wait={wait})\nprint('after')")
    assert [each["text"] for each in listed] == ["after\n"]
    listed, _ = taken(kernel, f"{code}clear_output(wait={wait})")
    assert [each["text"] for each in listed] == (["before\n"] if wait else [])


def test_a_thread_that_outlives_the_code_writes_where_the_cell_does(kernel: Kernel) -> None:
    code = (
        "import sys, threading\nout, go = sys.stdout, threading.Event()\n"
        "thread = threading.Thread(target=lambda: (go.wait(), out.write('late')))\nthread.start()"
    )
    listed, _ = taken(kernel, code)
    assert listed == []
    later = kernel.run("go.set(); thread.join(); out.flush()").stdout
    # ipykernel 7.0 has it in the cell that began the thread.
    others = [each["content"]["text"] for each in kernel.others if each["msg_type"] == "stream"]
    assert later + "".join(others) == "late"
