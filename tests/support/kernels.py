"""Real kernels for tests: each started for one test or module, and ended by it."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

from .nudge import nudged

ROOT = Path(__file__).parents[2]
# An interpreter with the oldest ipykernel of the current major version.
OLDEST = os.environ.get("SHIRO_OLDEST_PYTHON", str(ROOT / ".venv-oldest" / "bin" / "python"))
# ipykernel's last series with another design, laid over this interpreter's packages.
SIX = str(ROOT / ".cache" / "ipykernel-6.30.1")


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
    folder: Path
    # What came for other requests: of a cell that has ended, or of nobody's.
    others: list[dict[str, Any]] = field(default_factory=list)
    replies: dict[str, dict[str, Any]] = field(default_factory=dict)
    ended: dict[str, Outputs] = field(default_factory=dict)  # of each request

    def run(
        self,
        code: str,
        *,
        timeout: float = 60,
        meanwhile: Callable[[dict[str, Any]], None] = lambda message: None,
        idle: Callable[[], None] = lambda: None,
        stdin: Callable[[str], str] | None = None,
        cell_id: str = "",
    ) -> Outputs:
        """Run a cell to its end; `meanwhile` is told each message as it comes, `idle` is called
        over and over. `cell_id` is what a notebook names its cell."""
        return self.finish(
            self.send(code, person=stdin is not None, cell_id=cell_id),
            timeout=timeout,
            meanwhile=meanwhile,
            idle=idle,
            stdin=stdin,
        )

    def send(self, code: str, *, person: bool = True, cell_id: str = "") -> str:
        """Send a cell and do not wait for it; the request's id."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": person,
            "stop_on_error": True,
        }
        session = self.client.session
        metadata = {"cellId": cell_id} if cell_id else {}
        message = session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def finish(
        self,
        request: str,
        *,
        timeout: float = 60,
        meanwhile: Callable[[dict[str, Any]], None] = lambda message: None,
        idle: Callable[[], None] = lambda: None,
        stdin: Callable[[str], str] | None = None,
    ) -> Outputs:
        """Wait for the end of a cell that was sent."""
        outputs = Outputs()
        deadline = time.monotonic() + timeout
        while not self._took(request, outputs, meanwhile):
            assert time.monotonic() < deadline, f"the cell did not end: {outputs.messages[-3:]}"
            if stdin is not None and self.client.stdin_channel.msg_ready():
                asked = self.client.get_stdin_msg(timeout=1)
                self.client.input(stdin(asked["content"]["prompt"]))
            idle()
            try:
                self.others.append(self.client.get_iopub_msg(timeout=0.05))
            except queue.Empty:
                assert self.manager.is_alive(), "the kernel died"
        while request not in self.replies:
            reply = self.client.get_shell_msg(timeout=timeout)
            self.replies[reply["parent_header"].get("msg_id", "")] = reply["content"]
        outputs.reply = self.replies.pop(request)
        outputs.status = outputs.reply["status"]
        self.ended[request] = outputs
        return outputs

    def _took(
        self, request: str, outputs: Outputs, meanwhile: Callable[[dict[str, Any]], None]
    ) -> bool:
        """Take what has come for a request; whether it has ended."""
        waiting, self.others = self.others, []
        for message in waiting:
            if message["parent_header"].get("msg_id") != request:
                self.others.append(message)
                continue
            outputs.messages.append(message)
            meanwhile(message)
        newest = outputs.messages[-1:]
        return bool(newest) and newest[0]["content"].get("execution_state") == "idle"

    def later(self, request: str, text: str, timeout: float = 30) -> Outputs:
        """What came for a request whose cell has ended, up to this printed text: a turn in the
        background may print it before that end or after."""
        outputs = self.ended[request]
        deadline = time.monotonic() + timeout
        while text not in outputs.stdout:
            assert time.monotonic() < deadline, outputs.messages
            self._took(request, outputs, lambda message: None)
            with suppress(queue.Empty):
                self.others.append(self.client.get_iopub_msg(timeout=0.05))
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
            with nudged(Path(own)):
                client.wait_for_ready(timeout=60)
                yield Kernel(manager, client, folder or Path(own))
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()
