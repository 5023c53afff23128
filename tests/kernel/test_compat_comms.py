"""A widget's messages, sent as a page sends them, while a cell holds the main thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shiro_jupyter.kernel.compat_comms import deliver_off_main
from tests.support.kernels import Kernel, interpreters, running_kernel

pytestmark = pytest.mark.kernel

WIDGET = """
import threading, time
import ipywidgets
from shiro_jupyter.kernel.compat_comms import deliver_off_main

heard, fired = threading.Event(), []
get_ipython().events.register("post_execute", lambda: fired.append(threading.current_thread()))
class Sent(ipywidgets.DOMWidget):
    pass
w = Sent()
deliver_off_main(w.comm)
where = []
def told(widget, content, buffers):
    where.append((content, threading.current_thread() is threading.main_thread()))
    heard.set()
w.on_msg(told)
w.comm.comm_id
"""


@pytest.fixture(params=interpreters())
def kernel(request: Any) -> Iterator[Kernel]:
    with running_kernel(request.param) as kernel:
        yield kernel


def subshell(kernel: Kernel) -> str:
    """One of its own, as JupyterLab makes for the comms of a target."""
    session = kernel.client.session
    request = session.msg("create_subshell_request")
    kernel.client.control_channel.send(request)
    reply = kernel.client.get_control_msg(timeout=30)
    assert reply["content"]["status"] == "ok", reply["content"]
    return str(reply["content"]["subshell_id"])


def say(kernel: Kernel, comm: str, content: Any, shell: str | None) -> None:
    data = {"method": "custom", "content": content}
    message = kernel.client.session.msg("comm_msg", {"comm_id": comm, "data": data})
    if shell is not None:
        message["header"]["subshell_id"] = shell
    kernel.client.shell_channel.send(message)


# Blocks main, or lets its loop go on; a message that main has sent on the comm comes first.
WAITS = {
    "blocking": "w.send('from main')\nprint('begun', flush=True)\nassert heard.wait(20)",
    "awaiting": """
import asyncio
w.send('from main')
print('begun', flush=True)
for _ in range(400):
    await asyncio.sleep(.05)
    if heard.is_set():
        break
assert heard.is_set()
""",
}


@pytest.mark.parametrize("form", WAITS)
def test_a_message_arrives_while_a_cell_runs(kernel: Kernel, form: str) -> None:
    comm = kernel.run(WIDGET).result.strip("'")
    shell = subshell(kernel)
    sent: list[str] = []

    def meanwhile(message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and not sent:
            sent.append("click")
            say(kernel, comm, sent[0], shell)

    outputs = kernel.run(WAITS[form], meanwhile=meanwhile)
    assert outputs.status == "ok", outputs.of("error")
    assert kernel.value("where") == "[('click', False)]"


def test_a_message_fires_no_events_of_a_cell(kernel: Kernel) -> None:
    comm = kernel.run(WIDGET).result.strip("'")
    shell = subshell(kernel)
    kernel.run("fired.clear()")
    say(kernel, comm, "click", shell)
    assert kernel.run("heard.wait(20)").result == "True"
    assert kernel.value("all(each is threading.main_thread() for each in fired)") == "True"


def test_where_nothing_is_known_of_the_comm_it_is_left_alone() -> None:
    class Comm:
        pass

    deliver_off_main(comm := Comm())
    assert not vars(comm)
