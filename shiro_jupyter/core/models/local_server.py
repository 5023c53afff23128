"""A model file on this machine, served by llama-server: started on demand, shared, ended when idle.

One server a user and machine. Its folder holds `watch.json` (the process that watches it),
`state.json` (its port, once it listens), `key`, `server.log` and `users/`, a file for each kernel
that uses it. See `local_watch` for the process that ends it.
"""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from ..errors import NotConfigured, ToolFailed
from ..workspace.clock import Clock
from ..workspace.files import locked, make_folder, write_atomic
from ..workspace.processes import Processes
from ..workspace.threads import in_thread
from . import local_http, local_watch
from .base import ModelClient, Piece, Request
from .clients import client_for
from .endpoint import Endpoint
from .profiles import Profile, profile_for

IDLE_SECONDS = 300.0
START_SECONDS = 180.0
WINDOW = 8192
POLL = 0.1
# Seconds between two words on the loading, and between two touches of our file.
TELL_SECONDS = 15.0
TOUCH_SECONDS = 5.0
HEALTH_SECONDS = 5.0
SAME_SECONDS = 10.0  # process ids do not come round so soon
# Switches that older or slimmer builds may lack.
_OPTIONAL = (("--no-ui",), ("--device", "none"), ("--no-slots",), ("--offline",))
_LIBRARY = re.compile(r"error while loading shared libraries: ([^:\s]+)|Library not loaded: (\S+)")
_ERROR = re.compile(r"(?im)^.*\b(?:error|failed)\b.*$")


@dataclass(frozen=True)
class ModelFile:
    """A GGUF file and the llama-server that serves it."""

    server: str
    model: Path

    @property
    def name(self) -> str:
        """What the model is called: its file's name in lower case, without the ending."""
        return self.model.stem.lower()


def find_model_file(llama_server: str, model_file: str, path: str | None = None) -> ModelFile:
    """What the settings name, the server looked for on `path`. Raises `NotConfigured`."""
    server = shutil.which(llama_server, path=path)
    if server is None and Path(llama_server).is_file():
        raise NotConfigured(
            f"{llama_server} is not executable; make it so (chmod +x), or name another program in "
            "the setting llama_server."
        )
    if server is None:
        raise NotConfigured(
            f"There is no program {llama_server}; install llama.cpp, or name its llama-server in "
            "the setting llama_server."
        )
    model = Path(model_file)
    if not model.is_file():
        raise NotConfigured(f"There is no model file {model}; set model_file to a GGUF file.")
    with model.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise NotConfigured(f"{model} is no GGUF file; set model_file to one that is.")
    return ModelFile(server, model.resolve())


def threads(cores: int) -> int:
    """Few: the kernel computes on the same cores."""
    return max(1, min(2, cores - 1))


@dataclass
class LocalServer:
    """The user's one server, as this kernel uses it. `data` is the user's data folder.

    `processes` is its own: what it starts outlives this kernel where another one uses it.
    """

    data: Path
    processes: Processes
    clock: Clock
    idle_seconds: float = IDLE_SECONDS
    start_seconds: float = START_SECONDS
    _touched: float = field(default=float("-inf"), init=False)

    def __post_init__(self) -> None:
        # A home folder may be shared by machines; a server is not.
        self.folder = self.data / "llama-server" / (platform.node() or "here")
        self._us = self.folder / local_watch.USERS / str(os.getpid())

    async def endpoint(self, file: ModelFile, tell: Callable[[str], None]) -> Endpoint:
        """Where it listens, with its key; started unless it runs. Raises `NotConfigured`."""
        started = self.clock.monotonic()
        await in_thread(self._ensure_watch, file)
        told = float("-inf")
        while True:
            self.touch()
            if port := await self._ready_port():
                return Endpoint(f"http://127.0.0.1:{port}/v1", self._key())
            if not self._watch(file):
                raise NotConfigured(self._why(file))
            now = self.clock.monotonic()
            if now - started > self.start_seconds:
                await in_thread(self._end)
                raise NotConfigured(
                    f"{file.model.name} was not loaded after {self.start_seconds:.0f} s; choose a "
                    f"smaller model file, or see {self._log}."
                )
            if now - told > TELL_SECONDS:
                what = "Loading" if told < started else f"Still loading, {now - started:.0f} s now:"
                tell(f"{what} {file.model.name} ({_size(file.model)}) on this machine.")
                told = now
            await self.clock.sleep(POLL)

    def touch(self) -> None:
        """This kernel uses it now; cheap enough for every piece of an answer."""
        now = self.clock.monotonic()
        if now - self._touched > min(TOUCH_SECONDS, self.idle_seconds / 4):
            self._touched = now
            with suppress(OSError):
                self._us.touch()

    def close(self) -> None:
        """This kernel uses it no more; the last one to say so ends it. Blocks up to a second."""
        if self._touched == float("-inf"):
            return
        self._touched = float("-inf")
        self._us.unlink(missing_ok=True)
        if not local_watch.users(self.folder):
            self._end()

    # -- the watching process --------------------------------------------------------------

    def _ensure_watch(self, file: ModelFile) -> None:
        make_folder(self._us.parent, private=True)
        self._touched = float("-inf")
        self.touch()
        with locked(self.folder / "watch.json"):
            if self._watch(file):
                return
            if self._watch():
                if local_watch.users(self.folder).keys() - {os.getpid()}:
                    raise NotConfigured(
                        f"Another notebook uses {self._held().get('model')} on this machine; use "
                        "that model file, or close that notebook."
                    )
                self._end()
            self._end_orphan()
            (self.folder / local_watch.STATE).unlink(missing_ok=True)
            self._log.unlink(missing_ok=True)
            write_atomic(self._key_file, secrets.token_urlsafe(32).encode(), private=True)
            command = [sys.executable, "-P", local_watch.__file__, str(self.folder)]
            command += [f"{self.idle_seconds}", *self._command(file)]
            try:
                child = self.processes.start(command, cwd=self.folder, log=self._log)
            except ToolFailed as error:
                raise NotConfigured(f"llama-server could not be started: {error}") from error
            with suppress(psutil.Error):
                made = psutil.Process(child.pid).create_time()
                held = {"pid": child.pid, "made": made, "model": str(file.model)}
                write_atomic(self.folder / "watch.json", json.dumps(held).encode(), private=True)

    def _command(self, file: ModelFile) -> list[str]:
        command = [file.server, "-m", str(file.model), "--alias", file.name]
        command += ["--host", "127.0.0.1", "--port", "0", "--api-key-file", str(self._key_file)]
        command += ["-t", str(threads(os.cpu_count() or 1)), "-c", str(WINDOW), "-np", "1"]
        known = _help_of(file.server, self.processes.child_environment())
        for switch in (("--jinja",), *_OPTIONAL):
            if switch[0] in known:
                command += switch
        return command

    def _watch(self, file: ModelFile | None = None) -> psutil.Process | None:
        """The process that watches the server (of this file), None where there is none."""
        held = self._held()
        if file and held.get("model") != str(file.model):
            return None
        try:
            process = psutil.Process(held["pid"])
            # Each process reckons the time by itself, from a clock that may be set meanwhile.
            lives = abs(process.create_time() - held["made"]) < SAME_SECONDS
            return process if lives and process.status() != psutil.STATUS_ZOMBIE else None
        except (psutil.Error, KeyError, TypeError, ValueError):
            return None

    def _end(self) -> None:
        process = self._watch()
        if process is None:
            return
        with suppress(psutil.Error):
            family = [process, *process.children(recursive=True)]
            process.terminate()
            _, left = psutil.wait_procs(family, local_watch.END_SECONDS / 3)
            for each in left:
                each.kill()
            psutil.wait_procs(left, local_watch.END_SECONDS)

    def _end_orphan(self) -> None:
        """End a server whose watch was killed and could not do it."""
        with suppress(psutil.Error, TypeError, ValueError):
            process = psutil.Process(_json_of(self.folder / local_watch.STATE).get("pid", -1))
            if str(self._key_file) in process.cmdline():
                process.kill()
                process.wait(local_watch.END_SECONDS)

    # -- its files ---------------------------------------------------------------------------

    @property
    def _log(self) -> Path:
        return self.folder / "server.log"

    @property
    def _key_file(self) -> Path:
        return self.folder / "key"

    def _key(self) -> str:
        return self._key_file.read_text(encoding="ascii").strip()

    def _held(self) -> dict[str, Any]:
        return _json_of(self.folder / "watch.json")

    async def _ready_port(self) -> int:
        """The port once the model is loaded, else 0."""
        port = _json_of(self.folder / local_watch.STATE).get("port")
        if not isinstance(port, int) or not self._watch():
            return 0
        answer = await local_http.get(port, "/health", seconds=HEALTH_SECONDS)
        return port if answer and answer[0] == 200 else 0

    def _why(self, file: ModelFile) -> str:
        """One sentence on a server that ended before it was ready."""
        try:
            log = self._log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            log = ""
        if library := _LIBRARY.search(log):
            name = library[1] or library[2]
            return (
                f"{file.server} lacks the library {name}; install it (on Debian and Ubuntu "
                "libgomp1 is the usual one), or set llama_server to another build."
            )
        lines = _ERROR.findall(log)
        if re.search(r"(?i)load(ing)? model|gguf", log) and lines:
            return (
                f"llama-server could not load {file.model.name} ({_short(lines[0])}); choose "
                f"another model file. Its log is {self._log}."
            )
        said = f" ({_short(lines[0])})" if lines else ""
        return (
            f"llama-server ended before it was ready{said}; see {self._log}, or set "
            "llama_server to another build."
        )


class LocalClient:
    """A `ModelClient` of the local server, which is started, or started again, when a step needs
    it."""

    def __init__(
        self, server: LocalServer, file: ModelFile, profile: Profile, tell: Callable[[str], None]
    ) -> None:
        self.profile = profile
        self._server, self._file, self._tell = server, file, tell
        self._endpoint: Endpoint | None = None
        self._client: ModelClient | None = None

    def body(self, request: Request) -> dict[str, Any]:
        endpoint = Endpoint(self.profile.base_url)  # it need not run for that
        return (self._client or client_for(endpoint, self.profile)).body(request)

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        endpoint = await self._server.endpoint(self._file, self._tell)
        if self._client is None or endpoint != self._endpoint:
            await self.close()
            self._endpoint = endpoint
            self._client = client_for(endpoint, self.profile, self._tell)
        pieces = self._client.stream(request)
        assert isinstance(pieces, AsyncGenerator)
        async with aclosing(pieces):
            async for piece in pieces:
                self._server.touch()
                yield piece

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()


def local_client(
    server: LocalServer, file: ModelFile, tell: Callable[[str], None], **overrides: Any
) -> LocalClient:
    """The client of a model file, with the profile of its name and the window we give it."""
    overrides = {"window": WINDOW, **overrides}
    profile = profile_for(file.name, "http://127.0.0.1/v1", overrides)
    return LocalClient(server, file, profile, tell)


def _help_of(server: str, environment: dict[str, str]) -> str:
    """What the binary says of its switches; empty where it does not run, which its start tells."""
    try:
        done = subprocess.run(
            [server, "--help"],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=20,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _json_of(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:,.0f} MB"


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= 160 else line[:159] + "…"
