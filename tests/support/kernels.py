"""Real kernels for tests: each started for one test or module, and ended by it."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

ROOT = Path(__file__).parents[2]
# An interpreter with the oldest ipykernel of the current major version.
OLDEST = os.environ.get("SHIRO_OLDEST_PYTHON", str(ROOT / ".venv-oldest" / "bin" / "python"))


def interpreters() -> list[Any]:
    """The interpreters that tests of the kernel side run in, as parameters of a fixture."""
    missing = pytest.mark.skipif(
        not Path(OLDEST).exists(), reason=f"no interpreter with the oldest ipykernel at {OLDEST}"
    )
    return [
        pytest.param(sys.executable, id="newest"),
        pytest.param(OLDEST, id="oldest", marks=missing),
    ]


@dataclass
class Outputs:
    """What one execute request sent back."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    status: str = ""
    reply: dict[str, Any] = field(default_factory=dict)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [each["content"] for each in self.messages if each["msg_type"] == kind]

    def stream(self, name: str = "stdout") -> str:
        return "".join(each["text"] for each in self.of("stream") if each["name"] == name)

    @property
    def stdout(self) -> str:
        return self.stream()

    @property
    def result(self) -> str:
        values = self.of("execute_result")
        return str(values[-1]["data"]["text/plain"]) if values else ""


@dataclass
class Kernel:
    manager: KernelManager
    client: BlockingKernelClient

    def run(
        self,
        code: str,
        *,
        timeout: float = 60,
        meanwhile: Callable[[dict[str, Any]], None] = lambda message: None,
        stdin: Callable[[str], str] | None = None,
    ) -> Outputs:
        """Run a cell to its end; `meanwhile` is told each message as it comes."""
        request = self.client.execute(code, allow_stdin=stdin is not None)
        outputs = Outputs()
        deadline = time.monotonic() + timeout
        while True:
            assert time.monotonic() < deadline, f"the cell did not end: {outputs.messages[-3:]}"
            if stdin is not None and self.client.stdin_channel.msg_ready():
                asked = self.client.get_stdin_msg(timeout=1)
                self.client.input(stdin(asked["content"]["prompt"]))
            try:
                message = self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                assert self.manager.is_alive(), "the kernel died"
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            outputs.messages.append(message)
            meanwhile(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                break
        while True:
            reply = self.client.get_shell_msg(timeout=timeout)
            if reply["parent_header"].get("msg_id") == request:
                outputs.reply = reply["content"]
                outputs.status = reply["content"]["status"]
                return outputs

    def value(self, expression: str) -> str:
        return self.run(expression).result

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()


@contextmanager
def running_kernel(
    python: str = sys.executable, *, folder: Path | None = None, **environment: str
) -> Iterator[Kernel]:
    """A kernel of the given interpreter that can import the package and the tests' helpers.

    Its home, profile and temporary files are in a folder that goes with it.
    """
    with TemporaryDirectory(prefix="kernel-") as own:
        manager = KernelManager(connection_file=str(Path(own, "kernel.json")))
        manager.kernel_spec.argv[0] = python
        settings = {
            **os.environ,
            "HOME": own,
            "IPYTHONDIR": str(Path(own, "ipython")),
            "TMPDIR": own,
            "MPLCONFIGDIR": str(ROOT / ".cache" / "matplotlib"),
            "PYTHONPATH": str(ROOT),
            **environment,
        }
        settings.pop("PYTEST_CURRENT_TEST", None)
        with (Path(own, "kernel.log")).open("wb") as log:
            manager.start_kernel(
                env=settings, cwd=str(folder or own), stdout=log, stderr=subprocess.STDOUT
            )
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=60)
            yield Kernel(manager, client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()
