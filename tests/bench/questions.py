"""Questions on the example data, asked of the small local model through the ordinary loop.

Each answer is printed. `python -m tests.bench questions`, or by itself with
`--size 1.5b`, `--also` for the second list, and the numbers of the questions to ask.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import os
import re
import runpy
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from shiro_jupyter.core.agent import Agent
from shiro_jupyter.core.context.prompt import system_text
from shiro_jupyter.core.events import ALLOW, Answer, Event, Question, ToolCalled
from shiro_jupyter.core.memory.store import Memory
from shiro_jupyter.core.models.local_server import LocalServer, find_model_file, local_client
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.core.tools.shelf import tools_for
from shiro_jupyter.core.transcript import Assistant
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.core.workspace.processes import Processes
from shiro_jupyter.core.workspace.project import Project
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.run_code import CodeResult, Shown
from shiro_jupyter.kernel.tools.inspect_variable import InspectVariable
from shiro_jupyter.kernel.tools.list_variables import ListVariables
from shiro_jupyter.kernel.tools.run_python import RunPython

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "notebooks" / "orders"
CACHE = ROOT / ".cache" / "models"
FILES = {size: f"qwen2.5-coder-{size}-instruct-q4_k_m.gguf" for size in ("0.5b", "1.5b")}
# Asked for the CSV files, an answer that names all files is wrong.
ONLY_CSV = r"\A(?![\s\S]*\.(?:py|json|ipynb|md)\b)"


@dataclass(frozen=True)
class Asked:
    """A question and what its answer holds: numbers as such, words as patterns."""

    question: str
    expect: Sequence[int | float | str]

    def is_right(self, answer: str) -> bool:
        return all(_holds(answer, each) for each in self.expect)


@dataclass(frozen=True)
class Told:
    answer: str
    calls: tuple[str, ...]
    seconds: float


def _holds(answer: str, expected: int | float | str) -> bool:
    if isinstance(expected, str):
        return re.search(expected, answer, re.IGNORECASE) is not None
    numbers = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])", answer)
    places = len(f"{expected}".partition(".")[2]) or None
    values = [float(number.replace(",", "")) for number in numbers]
    return any(expected == (round(value, places) if places else value) for value in values)


def questions() -> list[Asked]:
    stored = json.loads((EXAMPLE / "questions.json").read_text(encoding="utf-8"))
    return [
        Asked(each["question"], [*each["expect"], *([ONLY_CSV] if each["kind"] == "files" else [])])
        for each in stored
    ]


# What the first list may have been tuned for, asked otherwise.
ALSO = [
    Asked("How many lines are in customers, and how many columns?", [63, 5]),
    Asked("How many different products are in orders?", [9]),
    Asked("How many e-mail addresses are missing in customers?", [8]),
    Asked("Which variables are there?", ["orders", "customers", "prices"]),
    Asked("What is the largest quantity in orders?", [40]),
    Asked("How are decimals written in prices.csv according to README.md?", ["comma"]),
    Asked("How much does a GBP count in EUR in our revenue?", [1.17]),
    Asked("What is the mean unit_price for each channel in orders?", [9.77, 10.9, 10.01]),
    Asked("Which channel has the most orders?", ["web"]),
    Asked("How many orders came by phone?", [63]),
]


class Here:
    """Runs code in a plain namespace: what `run_python` needs of a kernel."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace

    async def run(
        self, code: str, output: Callable[[str], None], *, first: Callable[[], None]
    ) -> CodeResult:
        first()
        said = io.StringIO()
        try:
            *body, last = code.strip().splitlines() or [""]
            with contextlib.redirect_stdout(said):
                exec("\n".join(body), self._namespace)
                try:
                    value = eval(last, self._namespace)
                except SyntaxError:
                    exec(code, self._namespace)
                    value = None
        except Exception:
            return CodeResult(False, stdout=said.getvalue(), traceback=traceback.format_exc(0))
        shown = () if value is None else (Shown("value", str(value)),)
        return CodeResult(True, stdout=said.getvalue(), shown=shown)

    def interrupt(self) -> None: ...


class Bench:
    """The example project, its variables, and a local model that is asked about them."""

    def __init__(self, size: str, data: Path) -> None:
        self.clock = SystemClock()
        self.processes = Processes(os.environ, data / "outputs")
        self.server = LocalServer(data, self.processes, self.clock)
        binary = next(CACHE.glob("llama-server-*/llama-server"), Path("llama-server"))
        self.file = find_model_file(str(binary), str(CACHE / FILES[size]))
        self.project = Project(EXAMPLE)
        folders = Folders(data / "config", data, data)
        self.memory = Memory(self.project, folders, self.clock).block().text
        with contextlib.chdir(EXAMPLE):
            self.variables = runpy.run_path("load.py")
        for name in [name for name in self.variables if name.startswith("__")]:
            del self.variables[name]

    async def ask(self, question: str) -> Told:
        shell = SimpleNamespace(user_ns=self.variables, user_ns_hidden={})
        namespace = Namespace(shell)
        looking = (ListVariables(namespace), InspectVariable(namespace))
        tools = tools_for(extra=(*looking, RunPython(Here(self.variables))))
        system = system_text(self.project, self.memory)
        calls: list[str] = []

        def heard(event: Event) -> None:
            if isinstance(event, ToolCalled):
                calls.append(f"{event.name}({event.summary})")

        async def model() -> Any:
            return local_client(self.server, self.file, print)

        async def allow(question: Question) -> Answer:
            return Answer(question.id, ALLOW)

        session = Session()
        agent = Agent(
            session=session,
            model=model,
            tools=tools,
            system=lambda: system,
            gate=Gate(),
            project=self.project,
            processes=self.processes,
            clock=self.clock,
            emit=heard,
            ask=allow,
            surroundings=namespace.brief,
        )
        started = time.monotonic()
        ended = await agent.submit(question)
        said = [item.text for item in session.items if isinstance(item, Assistant)]
        answer = "\n".join(said) or f"[{ended.outcome}] {ended.reason}"
        return Told(answer, tuple(calls), time.monotonic() - started)

    def close(self) -> None:
        self.server.close()


async def run(bench: Bench, asked: Sequence[Asked]) -> int:
    """How many answers were right; each is printed."""
    right = 0
    for number, each in enumerate(asked, start=1):
        told = await bench.ask(each.question)
        good = each.is_right(told.answer)
        right += good
        print(f"{number:2} {'right' if good else 'WRONG'}  {each.question}")
        print(f"   {' -> '.join(told.calls) or 'no call'}  ({told.seconds:.1f} s)")
        print(f"   {' '.join(told.answer.split())}", flush=True)
    return right


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=sorted(FILES), default="0.5b")
    parser.add_argument("--also", action="store_true")
    parser.add_argument("numbers", nargs="*", type=int)
    options = parser.parse_args(arguments)
    if not (CACHE / FILES[options.size]).is_file():
        print(f"skipped: {FILES[options.size]} is not there; python scripts/fetch_model.py")
        return
    asked = ALSO if options.also else questions()
    asked = [asked[number - 1] for number in options.numbers] or asked
    with TemporaryDirectory(prefix="shiro-bench-") as folder:
        bench = Bench(options.size, Path(folder))
        try:
            right = asyncio.run(run(bench, asked))
        finally:
            bench.close()
    print(f"{right} of {len(asked)} right, {FILES[options.size]}")


if __name__ == "__main__":
    main(sys.argv[1:])
