from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from shiro_jupyter.core.errors import NotConfigured
from shiro_jupyter.core.models import local_watch
from shiro_jupyter.core.models.base import Finished, Request
from shiro_jupyter.core.models.local_server import (
    LocalServer,
    ModelFile,
    find_model_file,
    local_client,
    threads,
)
from shiro_jupyter.core.transcript import Assistant, User
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.core.workspace.processes import Processes
from tests.support.model_files import MODEL, SERVER, needs_model, stand_in

SECONDS = 20.0


class Machine:
    """One user's machine: a program, two model files, and the kernels that use them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.models = [folder / "Small-Model.gguf", folder / "other.gguf"]
        for model in self.models:
            model.write_bytes(b"GGUF and so on")
        self.kernels: list[LocalServer] = []
        self.others: list[subprocess.Popen[bytes]] = []
        self.environment = dict(os.environ)
        self.told: list[str] = []

    def kernel(self, **how: Any) -> LocalServer:
        processes = Processes(self.environment, self.data / "outputs")
        self.kernels.append(LocalServer(self.data, processes, SystemClock(), **how))
        return self.kernels[-1]

    def file(self, which: int = 0) -> ModelFile:
        return find_model_file(str(self.folder / "llama-server"), str(self.models[which]))

    def url(self, kernel: LocalServer, which: int = 0) -> str:
        return asyncio.run(kernel.endpoint(self.file(which), self.told.append)).base_url

    def another_kernel(self) -> subprocess.Popen[bytes]:
        """A process that uses the server, as the kernel of another notebook would."""
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        self.others.append(process)
        users = self.kernels[0].folder / local_watch.USERS
        users.mkdir(parents=True, exist_ok=True)
        (users / str(process.pid)).touch()
        return process

    def running(self) -> list[psutil.Process]:
        """What was started and lives: watches and servers."""
        return [
            each
            for each in psutil.process_iter()
            if str(self.data) in " ".join(_cmdline(each)) and each.pid != os.getpid()
        ]

    def watch(self) -> psutil.Process:
        return psutil.Process(
            json.loads((self.kernels[0].folder / "watch.json").read_text())["pid"]
        )

    def starts(self) -> list[tuple[list[str], dict[str, str]]]:
        noted = self.folder / "llama-server.started"
        return (
            [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []
        )


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return [] if process.status() == psutil.STATUS_ZOMBIE else process.cmdline()
    except psutil.Error:
        return []


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    for process in made.others:
        process.kill()
        process.communicate()
    for kernel in made.kernels:
        kernel.close()


def test_a_model_is_served_with_a_key_and_few_threads(machine: Machine) -> None:
    stand_in(machine.folder, loading=0.3)
    machine.environment["SHIRO_API_KEY"] = "sk-secret"
    kernel = machine.kernel()
    endpoint = asyncio.run(kernel.endpoint(machine.file(), machine.told.append))
    assert endpoint.base_url.startswith("http://127.0.0.1:")
    assert endpoint.api_key == (kernel.folder / "key").read_text() and len(endpoint.api_key) > 20
    [(arguments, environment)] = machine.starts()
    given = dict(itertools.pairwise(arguments))
    assert given["-m"] == str(machine.models[0])
    assert given["--alias"] == "small-model" == machine.file().name
    assert given["--host"] == "127.0.0.1"
    assert given["-t"] == str(threads(os.cpu_count() or 1))
    assert given["-c"] == "8192" and given["-np"] == "1" and given["--device"] == "none"
    assert "SHIRO_API_KEY" not in environment
    for process in machine.running():
        assert endpoint.api_key not in " ".join(process.cmdline())
    assert machine.told == ["Loading Small-Model.gguf (0 MB) on this machine."]


def test_nobody_else_can_read_its_files(machine: Machine) -> None:
    stand_in(machine.folder)
    kernel = machine.kernel()
    machine.url(kernel)
    assert stat.S_IMODE(kernel.folder.stat().st_mode) == 0o700
    for name in ("key", "watch.json", "server.log"):
        assert stat.S_IMODE((kernel.folder / name).stat().st_mode) == 0o600, name


def test_switches_that_the_program_does_not_know_are_left_out(machine: Machine) -> None:
    stand_in(machine.folder, switches="--jinja")
    machine.url(machine.kernel())
    arguments = machine.starts()[0][0]
    assert "--jinja" in arguments
    assert not {"--no-ui", "--device", "--no-slots", "--offline"} & set(arguments)


def test_a_second_kernel_uses_the_same_server(machine: Machine) -> None:
    stand_in(machine.folder)
    first, second = machine.kernel(), machine.kernel()
    assert machine.url(first) == machine.url(second) == machine.url(first)
    assert len(machine.starts()) == 1
    assert len(machine.running()) == 2  # the watch and the server


def test_two_kernels_that_begin_together_start_one(machine: Machine) -> None:
    stand_in(machine.folder, loading=0.2)
    kernels = [machine.kernel() for _ in range(3)]

    async def run() -> set[str]:
        file = machine.file()
        ends = await asyncio.gather(*(each.endpoint(file, print) for each in kernels))
        return {end.base_url for end in ends}

    assert len(asyncio.run(run())) == 1
    assert len(machine.starts()) == 1


def test_the_last_kernel_ends_it(machine: Machine) -> None:
    stand_in(machine.folder)
    kernel = machine.kernel()
    other = machine.another_kernel()
    machine.url(kernel)
    kernel.close()
    assert len(machine.running()) == 2  # the other one still uses it
    other.kill()  # and says no goodbye
    other.wait()
    until(lambda: not machine.running())


def test_closing_the_only_kernel_ends_it_at_once(machine: Machine) -> None:
    stand_in(machine.folder)
    kernel = machine.kernel()
    machine.url(kernel)
    kernel.close()
    assert not machine.running()
    kernel.close()  # and once more is nothing
    machine.url(kernel)
    assert len(machine.starts()) == 2


def test_a_kernel_that_never_asked_ends_nothing(machine: Machine) -> None:
    stand_in(machine.folder)
    user, bystander = machine.kernel(), machine.kernel()
    machine.url(user)
    bystander.close()
    assert len(machine.running()) == 2


def test_an_idle_server_is_ended_and_started_again_when_needed(machine: Machine) -> None:
    stand_in(machine.folder)
    kernel = machine.kernel(idle_seconds=0.5)
    machine.url(kernel)
    until(lambda: not machine.running())
    machine.url(kernel)
    assert len(machine.starts()) == 2


def test_what_is_used_is_not_idle(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiro_jupyter.core.models.local_server.TOUCH_SECONDS", 0.05)
    stand_in(machine.folder)
    kernel = machine.kernel(idle_seconds=0.6)
    machine.url(kernel)
    ended = time.monotonic() + 1.5
    while time.monotonic() < ended:
        kernel.touch()
        time.sleep(0.05)
    assert len(machine.starts()) == 1 and len(machine.running()) == 2


def test_a_server_whose_watch_was_killed_is_ended_with_the_next_start(machine: Machine) -> None:
    stand_in(machine.folder)
    kernel = machine.kernel()
    machine.url(kernel)
    watch = machine.watch()
    [server] = watch.children()
    watch.kill()
    until(lambda: not watch.is_running() or watch.status() == psutil.STATUS_ZOMBIE)
    assert server.is_running()
    machine.url(kernel)
    assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE
    assert len(machine.running()) == 2


def test_a_server_that_died_is_started_again(machine: Machine) -> None:
    stand_in(machine.folder)
    kernel = machine.kernel()
    machine.url(kernel)
    machine.watch().children()[0].kill()
    until(lambda: not machine.running())
    machine.url(kernel)
    assert len(machine.starts()) == 2


def test_an_interrupt_of_our_group_does_not_reach_it(machine: Machine) -> None:
    stand_in(machine.folder)
    machine.url(machine.kernel())
    for process in machine.running():
        assert os.getsid(process.pid) != os.getsid(0)


def test_another_model_takes_its_place_unless_it_is_in_use(machine: Machine) -> None:
    stand_in(machine.folder)
    kernel = machine.kernel()
    machine.url(kernel, 0)
    machine.url(kernel, 1)
    assert [arguments[1] for arguments, _ in machine.starts()] == list(map(str, machine.models))
    assert len(machine.running()) == 2
    machine.another_kernel()
    with pytest.raises(NotConfigured, match=r"Another notebook uses .*other\.gguf"):
        machine.url(kernel, 0)
    assert len(machine.running()) == 2


@pytest.mark.parametrize(
    ("behaviour", "sentence"),
    [
        ("exits", r"could not load Small-Model\.gguf \(.*first word on the error.*server\.log"),
        ("lacks a library", r"lacks the library libgomp\.so\.1; install it"),
        ("loads for ever", r"was not loaded after 1 s; choose a smaller model file, or see .*log"),
    ],
)
def test_a_failed_start_is_one_sentence(machine: Machine, behaviour: str, sentence: str) -> None:
    stand_in(machine.folder, behaviour)
    with pytest.raises(NotConfigured, match=sentence) as told:
        machine.url(machine.kernel(start_seconds=1.0))
    assert "\n" not in str(told.value)
    until(lambda: not machine.running())


def test_what_is_not_there_is_said_before_anything_is_started(machine: Machine) -> None:
    model = str(machine.models[0])
    with pytest.raises(NotConfigured, match=r"no program llama-nowhere; install llama\.cpp"):
        find_model_file("llama-nowhere", model)
    program = stand_in(machine.folder)
    with pytest.raises(NotConfigured, match="There is no model file"):
        find_model_file(str(program), str(machine.folder / "none.gguf"))
    machine.models[0].write_bytes(b"<html>")
    with pytest.raises(NotConfigured, match="is no GGUF file"):
        find_model_file(str(program), model)
    program.chmod(0o644)
    with pytest.raises(NotConfigured, match=r"is not executable; make it so"):
        find_model_file(str(program), model)


def test_a_program_of_another_machine_is_one_sentence(machine: Machine) -> None:
    program = stand_in(machine.folder)
    program.write_bytes(b"\x7fELF and nothing behind it")
    with pytest.raises(NotConfigured, match=r"ended before it was ready \(.*set llama_server"):
        machine.url(machine.kernel())


def test_a_program_is_looked_for_on_the_given_path(machine: Machine) -> None:
    program = stand_in(machine.folder)
    found = find_model_file("llama-server", str(machine.models[0]), str(machine.folder))
    assert found.server == str(program)


@pytest.mark.parametrize(("cores", "wanted"), [(1, 1), (2, 1), (3, 2), (64, 2)])
def test_threads_leave_room_for_the_kernel(cores: int, wanted: int) -> None:
    assert threads(cores) == wanted


class TestRealModel:
    pytestmark = needs_model

    def test_it_answers(self, machine: Machine) -> None:
        kernel = machine.kernel()
        client = local_client(kernel, find_model_file(str(SERVER), str(MODEL)), machine.told.append)
        assert client.profile.calling == "schema" and client.profile.window == 8192
        request = Request("Answer in one word.", (), (User("What is the capital of France?", 1),))

        async def run() -> list[Any]:
            try:
                return [piece async for piece in client.stream(request)]
            finally:
                await client.close()

        pieces = asyncio.run(run())
        assert isinstance(pieces[-1], Finished)
        [answer] = [item for item in pieces[-1].items if isinstance(item, Assistant)]
        assert "Paris" in answer.text
        assert pieces[-1].usage.output > 0

    def test_a_broken_file_is_one_sentence(self, machine: Machine) -> None:
        cut = machine.folder / "cut.gguf"
        with MODEL.open("rb") as whole:
            cut.write_bytes(whole.read(100_000))
        kernel = machine.kernel()
        file = find_model_file(str(SERVER), str(cut))
        with pytest.raises(NotConfigured, match=r"could not load cut\.gguf \(.*failed.*\); choose"):
            asyncio.run(kernel.endpoint(file, machine.told.append))

    def test_a_server_without_its_libraries_is_one_sentence(self, machine: Machine) -> None:
        alone = machine.folder / "alone"
        alone.write_bytes(SERVER.read_bytes())
        alone.chmod(0o755)
        file = find_model_file(str(alone), str(MODEL))
        with pytest.raises(NotConfigured, match=r"alone lacks the library lib\S+; install it"):
            asyncio.run(machine.kernel().endpoint(file, machine.told.append))


def test_the_watch_obeys_being_told_to_end(machine: Machine) -> None:
    stand_in(machine.folder)
    machine.url(machine.kernel())
    machine.watch().send_signal(signal.SIGTERM)
    until(lambda: not machine.running())
