"""/connect, /model and /status in a real kernel, and endpoints that cannot be used."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.models.trial import LIST_SECONDS
from tests.support.kernels import Kernel, Outputs, running_kernel
from tests.support.strict_endpoint import Reply, StrictEndpoint

pytestmark = pytest.mark.kernel
KEY = "sk-right-1234567890"
LOAD = "%load_ext shiro_jupyter"
# What the kernel finds on this machine is what a test says, not what happens to run here.
NOTHING_FOUND = """
async def nothing(): return [], []
get_ipython()._shiro_extension.host.services.models.discover = nothing
"""


@pytest.fixture
def server() -> Iterator[StrictEndpoint]:
    with StrictEndpoint(lambda body: Reply("Hello there."), key=KEY, models=("tiny", "b")) as made:
        yield made


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with running_kernel(SHIRO_HOME=str(tmp_path)) as made:
        assert made.run(LOAD + NOTHING_FOUND).status == "ok"
        yield made


def typing(*answers: str) -> Callable[[str], str]:
    left = list(answers)
    return lambda prompt: left.pop(0)


def everything(outputs: Outputs) -> str:
    return repr(outputs.messages)


def test_a_model_is_connected_by_hand_and_answers(
    kernel: Kernel, server: StrictEndpoint, tmp_path: Path
) -> None:
    told = kernel.run(f"%shiro /connect {server.base_url}", stdin=typing(KEY, "1"))
    assert "tiny answers" in told.stdout, told.messages
    assert KEY not in everything(told)
    assert "Hello there." in kernel.run("%shiro hello", stdin=typing()).stdout
    listed = kernel.run("%shiro /model").stdout
    assert "In use: tiny." in listed and "\n  b\n" in listed
    kernel.run("%shiro /model b")
    kernel.run("%shiro hello", stdin=typing())
    assert server.requests[-1].body["model"] == "b"
    assert KEY not in (tmp_path / "config" / "config.toml").read_text()
    with running_kernel(SHIRO_HOME=str(tmp_path)) as later:
        assert "Hello there." in later.run(f"{LOAD}\n%shiro hello", stdin=typing()).stdout


def test_connect_needs_somebody_to_ask(kernel: Kernel) -> None:
    told = kernel.run("%shiro /connect")
    assert told.status == "error"
    assert "nobody is here to answer" in told.of("error")[0]["evalue"]


def test_an_interrupted_connect_changes_nothing(kernel: Kernel, tmp_path: Path) -> None:
    def interrupt(prompt: str) -> str:
        kernel.interrupt()
        return ""

    told = kernel.run("%shiro /connect http://127.0.0.1:9/v1", stdin=interrupt)
    assert told.stream("stderr") == "Nothing was changed.\n"
    assert not list((tmp_path / "config").glob("*"))
    assert kernel.value("1 + 1") == "2"


def test_a_silent_server_is_not_waited_for_against_ones_will(kernel: Kernel) -> None:
    def interrupt(message: dict[str, Any]) -> None:
        if "Asking http" in str(message["content"].get("text")):
            kernel.interrupt()

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        started = time.monotonic()
        told = kernel.run(f"%shiro /connect {url}", stdin=typing("key"), meanwhile=interrupt)
        assert time.monotonic() - started < LIST_SECONDS
    assert told.stream("stderr") == "Nothing was changed.\n"


def test_status_names_what_there_is_and_the_remedy(
    kernel: Kernel, server: StrictEndpoint, tmp_path: Path
) -> None:
    told = kernel.run("%shiro /status").stdout
    assert "none set, and no server found" in told and "%shiro /connect" in told
    assert "shiro_jupyter 0." in told and "ipykernel " in told and "python 3." in told
    assert "0 project, 0 global" in told and "MEMORY.md" in told
    kernel.run("%remember rows of 2023 are dropped: they were tests")
    kernel.run(f"%shiro /connect {server.base_url}", stdin=typing(KEY, "tiny"))
    told = kernel.run("%shiro /status").stdout
    assert f"endpoint  {server.base_url}, answers" in told and "model     tiny" in told
    assert "1 project, 0 global" in told
    kernel.run("%shiro /model nix")
    assert "does not list nix; %shiro /model shows" in kernel.run("%shiro /status").stdout
    server.key = "another"
    told = kernel.run("%shiro /status").stdout
    assert "not usable as it is" in told and "refused the key (401)" in told and KEY not in told


@pytest.mark.parametrize("model", ["", "tiny"])
def test_an_endpoint_that_cannot_be_used_is_one_sentence_within_seconds(
    kernel: Kernel, server: StrictEndpoint, model: str
) -> None:
    faults = {
        "http://127.0.0.1:9/v1": "No server listens at http://127.0.0.1:9/v1",
        "not a url": "SHIRO_BASE_URL: base_url: write it as",
        "http://name.invalid/v1": "The host name of http://name.invalid/v1 is not known",
        server.base_url: "refused the key (401)",
    }
    for url, sentence in faults.items():
        settings = {"SHIRO_BASE_URL": url, "SHIRO_API_KEY": "sk-wrong", "SHIRO_MODEL": model}
        kernel.run(f"import os; os.environ.update({settings!r})")
        started = time.monotonic()
        told = kernel.run("%shiro hello", stdin=typing())
        assert time.monotonic() - started < 15, url
        words = told.stdout + told.stream("stderr")
        assert sentence in words, (url, words)
        assert "Traceback" not in words and "sk-wrong" not in words
