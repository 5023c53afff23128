"""Token estimates beside a real tokenizer and a real server's own counts, and what they cost.

Needs the small model's files (`python scripts/fetch_model.py`). With `SHIRO_SNAPSHOTS=write` the
counts of the samples in `tests/core/context/samples` are taken anew.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import aclosing
from pathlib import Path

from shiro_jupyter.core.context.tokens import Measure, Vocabulary, estimate
from shiro_jupyter.core.events import Usage
from shiro_jupyter.core.models.base import Finished, Request
from shiro_jupyter.core.models.clients import client_for
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.models.local_server import LocalServer, ModelFile
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.models.room import calibration_of, size_of
from shiro_jupyter.core.tools.shelf import tools_for
from shiro_jupyter.core.transcript import Call, Item, Result, User
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.processes import Processes
from tests.support.model_files import MODEL, SERVER

SAMPLES = Path(__file__).parents[1] / "core" / "context" / "samples"
COUNTS = SAMPLES / "counts.json"
VOCABULARY: Vocabulary = "qwen3"
MEBIBYTE = 1 << 20
# Read one after the other, as an agent would; the small model's window takes them with few tools.
STEPS = ("prose.txt", "pandas.txt", "python.txt", "")
TOOLS = ("read_file", "grep")


def counted(endpoint: Endpoint, text: str) -> int:
    """Tokens by the server's own tokenizer."""
    request = urllib.request.Request(
        f"{endpoint.base_url.removesuffix('/v1')}/tokenize",
        json.dumps({"content": text, "add_special": False, "parse_special": False}).encode(),
        {"content-type": "application/json", "authorization": f"Bearer {endpoint.api_key}"},
    )
    with urllib.request.urlopen(request) as reply:
        return len(json.load(reply)["tokens"])


async def used(
    server: LocalServer, endpoint: Endpoint, request: Request, profile: Profile
) -> Usage:
    """What the server says that a step took."""
    client = client_for(endpoint, profile)
    try:
        pieces = client.stream(request)
        async with aclosing(pieces):  # type: ignore[type-var]
            async for piece in pieces:
                server.touch()
                if isinstance(piece, Finished):
                    return piece.usage
    finally:
        await client.close()
    raise AssertionError("the step did not finish")


def samples(endpoint: Endpoint) -> None:
    stored = json.loads(COUNTS.read_text(encoding="utf-8"))
    errors, changed = [], False
    print(f"{'':16} {'counted':>8} {'estimate':>9} {'error':>8} {'bytes/3.6':>10}")
    for name, counts in stored["counts"].items():
        text = (SAMPLES / name).read_text(encoding="utf-8")
        tokens, told = counted(endpoint, text), estimate(text, VOCABULARY)
        changed = changed or counts[VOCABULARY] != tokens
        counts[VOCABULARY] = tokens
        errors.append(abs(told / tokens - 1))
        by_bytes = len(text.encode()) / 3.6 / tokens - 1
        print(f"{name:16} {tokens:8,} {told:9,} {told / tokens - 1:+8.1%} {by_bytes:+10.0%}")
    print(f"mean error {sum(errors) / len(errors):.1%}, worst {max(errors):.1%}")
    print(f"the stored counts are {'OTHERS' if changed else 'the same'}")
    if os.environ.get("SHIRO_SNAPSHOTS") == "write":
        COUNTS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


async def conversation(server: LocalServer, endpoint: Endpoint, profile: Profile) -> None:
    """Estimates of growing requests beside what the server counts of each."""
    tools = tuple(tool.spec() for tool in tools_for() if tool.name in TOOLS)
    measure, items = Measure(), list[Item]([User("Read the samples; answer with one word.", 1)])
    heads = f"{'counted':>8} {'estimate':>9} {'error':>8} {'set right':>10} {'error':>8}"
    print(f"\n{'request':10} {heads}")
    for step, name in enumerate(STEPS, start=1):
        request = Request("You read files.", tools, tuple(items), "", 1, step)
        plain = size_of(request, profile, measure)
        calibration = calibration_of(profile, measure)
        right = calibration.tokens(plain)
        usage = await used(server, endpoint, request, profile)
        print(
            f"step {step:<5} {usage.input:8,} {plain:9,} {plain / usage.input - 1:+8.1%}"
            f" {right:10,} {right / usage.input - 1:+8.1%}   {usage.cached:,} cached,"
            f" {usage.output} out"
        )
        calibration.saw(plain, usage.input)
        if not name:
            return
        text = (SAMPLES / name).read_text(encoding="utf-8")
        items += [
            Call(f"call_{step}", "read_file", json.dumps({"path": name}), 1, step),
            Result(f"call_{step}", "ok", text, 1, step),
        ]


def speed() -> None:
    text = "".join(each.read_text(encoding="utf-8") for each in sorted(SAMPLES.iterdir()))
    text *= MEBIBYTE // len(text)
    began = time.perf_counter()
    estimate(text)
    estimated = time.perf_counter() - began
    began = time.perf_counter()
    json.dumps(text)
    print(
        f"\nan estimate reads {len(text) / 1e6 / estimated:.1f} MB/s, "
        f"{estimated / (time.perf_counter() - began):.0f} times the time of json.dumps"
    )


def prices() -> None:
    """Seconds of the first price, in a process that has what openai brings along."""
    code = (
        "import pydantic, httpx2, time; from datetime import UTC, datetime;"
        "from shiro_jupyter.core.models.prices import cost_of;"
        "from shiro_jupyter.core.models.profiles import Profile;"
        "from shiro_jupyter.core.events import Usage;"
        "mini = Profile('gpt-5-mini', 'https://api.openai.com/v1');"
        "at, used = datetime.now(UTC), Usage(1000, 0, 100);"
        "began = time.perf_counter(); cost_of(mini, used, at); first = time.perf_counter() - began;"
        "began = time.perf_counter(); [cost_of(mini, used, at) for _ in range(100)];"
        "print(first, (time.perf_counter() - began) / 100)"
    )
    told = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    first, each = min(tuple(map(float, one.stdout.split())) for one in told)
    print(f"the first price takes {first:.2f} s, each one after it {1e6 * each:.0f} µs")


async def measure_all(folder: Path) -> None:
    processes = Processes(os.environ, folder / "outputs")
    server = LocalServer(folder, processes, SystemClock())
    try:
        endpoint = await server.endpoint(ModelFile(str(SERVER), MODEL), print)
        samples(endpoint)
        await conversation(
            server, endpoint, Profile("qwen", endpoint.base_url, window=8192, temperature=0.0)
        )
    finally:
        server.close()
        processes.end_all()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(measure_all(Path(name)))
    speed()
    prices()


if __name__ == "__main__":
    main()
