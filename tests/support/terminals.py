"""Real terminals for tests: IPython and jupyter console, typed into as a person would."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pexpect

ROOT = Path(__file__).parents[2]
TIMEOUT = 60
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")


@dataclass
class Terminal:
    child: pexpect.spawn

    def type(self, line: str) -> None:
        self.child.send(f"{line}\r" if self.prompt_toolkit else f"{line}\n")

    prompt_toolkit: bool = False

    def until(self, text: str, timeout: float = TIMEOUT) -> str:
        """All that was printed up to this text, without escape sequences."""
        self.child.expect_exact(text, timeout=timeout)
        return _ESCAPES.sub("", str(self.child.before)) + text

    def run(self, line: str, number: int) -> str:
        """Type a line; what is printed until the prompt of this number."""
        self.type(line)
        return self.until(f"In [{number}]")

    def interrupt(self) -> None:
        self.child.sendintr()


@contextmanager
def ipython(
    *, prompt_toolkit: bool = False, folder: Path, **environment: str
) -> Iterator[Terminal]:
    """IPython in a terminal; with its plain prompt unless `prompt_toolkit`."""
    simple = [] if prompt_toolkit else ["--simple-prompt"]
    arguments = ["-m", "IPython", "--no-banner", "--colors=nocolor", "--no-confirm-exit", *simple]
    with _spawned(arguments, folder, environment, prompt_toolkit) as terminal:
        yield terminal


@contextmanager
def console(*, folder: Path, **environment: str) -> Iterator[Terminal]:
    """`jupyter console` with a kernel of its own."""
    arguments = ["-m", "jupyter_console", "--simple-prompt", "--kernel=python3"]
    with _spawned(arguments, folder, environment, False) as terminal:
        yield terminal


@contextmanager
def _spawned(
    arguments: list[str], folder: Path, environment: dict[str, str], prompt_toolkit: bool
) -> Iterator[Terminal]:
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **environment}
    child = pexpect.spawn(
        sys.executable,
        arguments,
        env=settings,
        cwd=str(folder),
        encoding="utf-8",
        timeout=TIMEOUT,
        dimensions=(40, 200),
    )
    try:
        child.expect_exact("In [1]")
        yield Terminal(child, prompt_toolkit)
    finally:
        child.close(force=True)
