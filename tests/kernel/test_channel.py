"""Requests on the control channel and events on iopub, with real kernels and without a host."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest

from shiro_jupyter.kernel.channel import (
    KERNEL_IS_OLDER,
    LONGEST,
    NOT_STARTED,
    PAGE_IS_OLDER,
    PROTOCOL,
    TOO_LONG,
    Channel,
)
from shiro_jupyter.version import VERSION
from tests.support.kernels import Kernel
from tests.support.pages import FakePage

HELLO = {"do": "hello", "protocol": PROTOCOL, "version": "", "page": "p", "notebook": "a.ipynb"}


def test_the_version_is_that_of_the_package() -> None:
    assert version("shiro_jupyter") == VERSION


class Terminal:
    """A shell without a kernel."""


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (None, "There is no such request: None."),
        ([], "There is no such request: None."),
        ({"do": "format", "page": "p"}, "There is no such request: 'format'."),
        ({"do": ["x"], "page": "p"}, "There is no such request: ['x']."),
        ({"do": "stop"}, "stop needs 'page', a text."),
        ({"do": "bye", "page": "\ud800"}, "bye needs 'page', a text."),
        ({"do": "snapshot", "page": "p", "turn": True}, "snapshot needs 'turn', a whole number."),
        ({"do": "prompt", "page": "p", "text": 7}, "prompt needs 'text', a text."),
        ({"do": "done", "page": "p", "id": "1", "error": {}}, "done takes 'error' as a text."),
        ({"do": "edit", "page": "p", "id": "1", "text": "x"}, "edit needs 'id', a whole number."),
        ({"do": "remove", "page": "p", "id": True}, "remove needs 'id', a whole number."),
        ({"do": "prompt", "page": "p", "text": "x" * (LONGEST + 1)}, TOO_LONG),
        ({"do": "edit", "page": "p", "id": 1, "text": "x" * (LONGEST + 1)}, TOO_LONG),
        ({**HELLO, "protocol": PROTOCOL + 1}, KERNEL_IS_OLDER),
        ({**HELLO, "protocol": PROTOCOL - 1}, PAGE_IS_OLDER),
        ({**HELLO, "notebook": None}, "hello needs 'notebook', a text."),
    ],
)
def test_a_request_that_is_none_is_refused_in_a_sentence(request_: Any, error: str) -> None:
    channel = Channel(Terminal())
    channel.serve = lambda request: pytest.fail("handed over")
    assert channel.handle(request_) == {"ok": False, "error": error}
    assert channel.pages == {}


def test_pages_come_and_go_and_the_active_one_is_known() -> None:
    channel = Channel(Terminal())
    channel.handle(HELLO)
    channel.handle({**HELLO, "page": "q", "notebook": "b.ipynb"})
    assert channel.pages["q"].active > channel.pages["p"].active
    channel.handle({"do": "stop", "page": "p", "turn": 1})
    assert channel.pages["q"].active < channel.pages["p"].active
    assert channel.pages["p"].notebook == "a.ipynb"
    channel.handle({"do": "stop", "page": "stranger", "turn": 1})
    channel.handle({"do": "bye", "page": "q"})
    assert list(channel.pages) == ["p"]


def test_a_widget_is_no_page() -> None:
    channel = Channel(Terminal())
    assert channel.handle(HELLO, listens=False)["ok"]
    assert channel.pages == {}


@pytest.mark.kernel
def test_loading_says_here_and_hello_is_answered_without_a_host(
    kernel: Kernel, page: FakePage
) -> None:
    kernel.run("%load_ext shiro_jupyter")
    (here,) = page.until(lambda: page.of("here"))
    assert here == {
        "kind": "here",
        "kernel": here["kernel"],
        "protocol": PROTOCOL,
        "version": VERSION,
    }
    reply = page.hello()
    told = {"protocol": PROTOCOL, "version": VERSION, "kernel": here["kernel"]}
    assert reply == {"ok": True, **told, "started": False}
    refused = page.request("prompt", text="hi")
    assert refused == {"ok": False, "error": NOT_STARTED, "started": False}
    threads = kernel.value("[t.name for t in __import__('threading').enumerate()]")
    assert "shiro" not in threads


@pytest.mark.kernel
def test_it_is_answered_while_a_cell_blocks_main(kernel: Kernel, page: FakePage) -> None:
    cell = kernel.send("import time; time.sleep(1.5)")
    page.until(lambda: (cell, "busy") in page.statuses)
    assert page.request("bye") == {"ok": True}
    assert page.hello()["ok"]
    assert (cell, "idle") not in page.statuses
    assert kernel.finish(cell).status == "ok"


@pytest.mark.kernel
def test_the_host_finds_the_page_that_came_before_it(kernel: Kernel, page: FakePage) -> None:
    page.hello()
    kernel.run("host = get_ipython()._shiro_extension.host")
    assert kernel.value("host.services.pages.present") == "True"
    assert page.hello()["started"] is True


@pytest.mark.kernel
def test_unloading_says_gone_and_answers_no_more(kernel: Kernel, page: FakePage) -> None:
    kernel.run("%unload_ext shiro_jupyter")
    (gone,) = page.until(lambda: page.of("gone"))
    assert gone["kernel"] == page.of("here")[-1]["kernel"]
    kernel.run("k = get_ipython().kernel")
    assert kernel.value("'shiro_request' in k.control_handlers") == "False"
    assert kernel.value("k.shell_handlers['execute_request'] == k.execute_request") == "True"
    kernel.run("%load_ext shiro_jupyter")
    page.until(lambda: len(page.of("here")) == 2)
    first, second = (here["kernel"] for here in page.of("here"))
    assert first != second
    assert page.hello()["kernel"] == second
