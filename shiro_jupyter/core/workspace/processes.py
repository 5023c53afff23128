"""Child processes: the one place that starts them, each in its own group, ended as a tree."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import IO

from ..errors import ToolFailed
from .jobs import FIRST, Job, Jobs
from .output import Filter, Output, Unfiltered
from .pipes import READ_SIZE, follow
from .threads import begun, in_thread, settled
from .trees import MARK, Child, end_trees, family, groups_of, pipe_name

# Our own keys never reach a child; a host adds the names that the person lists.
KEYS = frozenset({"SHIRO_API_KEY", "OPENAI_API_KEY"})
# Nobody sits at a child's terminal: what would ask a question fails at once with its own words,
# and what would page or edit does neither.
SWITCHES = {
    "AWS_PAGER": "",
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "true",
    "GCM_INTERACTIVE": "never",
    "GIT_ASKPASS": "",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",  # what a script printed before it was stopped is not lost
    "SSH_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "never",
    "SYSTEMD_PAGER": "cat",
    "TERM": "dumb",
    "VISUAL": "true",
    "npm_config_yes": "false",
}
# A kernel asks its children for colours.
COLOURS = frozenset({"FORCE_COLOR", "CLICOLOR_FORCE", "CLICOLOR"})

JOIN = 0.01  # seconds for a reader at the end of its pipe to leave
SETTLE = 0.2  # seconds for the last output of a child that was ended
OUTPUT_KEPT = 30_000


@dataclass(frozen=True)
class Completed:
    """How a child ended. `output` is both of its streams as they came, both ends kept.

    `exit_code` is negative for the signal that ended it, None where it could not be ended.
    `file` holds the whole output where `output` leaves some out.
    """

    exit_code: int | None
    output: str
    timed_out: bool = False
    file: Path | None = None


@dataclass(frozen=True)
class Captured:
    """What a child printed, its errors apart; `cut` where it had more, and was ended for it.

    `exit_code` is None where the child was ended.
    """

    exit_code: int | None
    output: bytes = b""
    errors: bytes = b""
    cut: bool = False
    timed_out: bool = False


@dataclass
class Processes:
    """Starts children and ends them; a host ends all of them at exit.

    `environment` is read at each start, so that a live mapping shows its changes. Long output
    goes to files in `outputs`. No child gets to see variables that `hidden` names (`*` stands for
    any letters), nor any that holds one of the `secrets`; what children write goes through a filter
    of its own, which `passes` makes.
    """

    environment: Mapping[str, str] = field(repr=False)
    outputs: Path
    hidden: Collection[str] = ()
    secrets: Collection[str] = field(default=(), repr=False)
    passes: Callable[[], Filter] = Unfiltered
    bin: Path = field(default_factory=lambda: Path(sys.executable).parent)

    def __post_init__(self) -> None:
        self._mark = secrets.token_hex(8)
        self._started = 0
        self._children: set[Child] = set()
        self.jobs = Jobs()

    # -- what others call ----------------------------------------------------------------

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        timeout: float | None,
        output: Callable[[str], None] = lambda text: None,
        limit: int = OUTPUT_KEPT,
    ) -> Completed:
        """Run a command until it exits, whoever still holds its pipe then.

        `output` is called on this loop, in batches. After `timeout` seconds, or when the
        caller is cancelled, the whole tree is ended within a second. Raises `ToolFailed` where
        the command cannot be started.
        """
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def finished() -> None:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(done.set)

        mark = self._next_mark()
        heard = Output(limit, self.outputs / f"{mark}.txt", output, self.passes)

        def start(pipe: int) -> Child:
            return self._start(command, cwd, self.child_environment(), mark, pipe)

        child, reader = follow(start, heard.feed, finished)
        try:
            async with asyncio.timeout(timeout):
                await done.wait()
        except TimeoutError:
            timed_out = True
        else:
            timed_out = False
        finally:
            try:
                if not done.is_set():
                    ending = asyncio.create_task(self._ended(child, done))
                    if await settled(ending):
                        raise asyncio.CancelledError
                    ending.result()
            finally:
                heard.close()
                reader.join(JOIN)
                if done.is_set() and not child.left and not reader.is_alive():
                    self._children.discard(child)
        return Completed(child.exit_code, heard.text(), timed_out, heard.path)

    async def capture(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout: float,
        limit: int,
    ) -> Captured:
        """The bytes that a command prints, `limit` of them at most.

        The environment is passed as it is. After `timeout` seconds, at the limit, or when the
        caller is cancelled, the whole tree is ended within a second. Raises `ToolFailed` where
        the command cannot be started.
        """
        child = self._start(command, cwd, environment, self._next_mark(), PIPE, PIPE)
        assert child.popen.stdout and child.popen.stderr
        printed = begun(_head, child.popen.stdout, limit + 1)
        errors = begun(_head, child.popen.stderr, READ_SIZE)
        exited = begun(child.wait)
        output = b""
        try:
            async with asyncio.timeout(timeout):
                output = await printed
                if len(output) > limit:
                    return Captured(None, output[:limit], cut=True)
                await exited
                return Captured(child.exit_code, output, await errors)
        except TimeoutError:
            return Captured(None, output, timed_out=True)
        finally:
            if exited.done():
                self._children.discard(child)
            elif await settled(begun(self.end, child)):
                raise asyncio.CancelledError

    async def start_job(self, command: str, *, cwd: Path) -> Job:
        """Have a shell run a command that outlives this call; its first output comes with it.

        Raises `ToolFailed` where it cannot be started. A caller who is cancelled leaves no job.
        """
        mark = self._next_mark()
        job = Job(command, self.outputs / f"{mark}.txt", self.passes)

        def start(pipe: int) -> Child:
            child = self._start(self.shell(command), cwd, self.child_environment(), mark, pipe)
            job.feed(b"")  # its file is there, though it may never write
            return child

        job.child, _ = follow(start, job.feed, job.exited, job.rest)
        self.jobs.add(job)
        try:
            await in_thread(job.over.wait, FIRST)
        except asyncio.CancelledError:
            await settled(asyncio.create_task(in_thread(self.end, job.child)))
            raise
        return job

    async def end_job(self, job: Job) -> None:
        """End it with what can be found of all that it started, within a second."""
        job.stopped = job.stopped or not job.over.is_set()
        await in_thread(self.end, job.child)
        await in_thread(job.over.wait, SETTLE)

    def goes_on(self, job: Job) -> bool:
        """Whether anything of it still runs, if only what it started. Blocks."""
        child = job.child
        if child not in self._children:
            return False
        if not family([child], groups_of([child]), lambda mark: mark == child.mark):
            self._children.discard(child)
            return False
        return True

    def start(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> Child:
        """Start a child that goes on by itself, its output in `log`. Ended by `end`."""
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        given = self.child_environment() | dict(environment or {})
        with open(log, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            child = self._start(command, cwd, given, self._next_mark(), file.fileno())
        threading.Thread(target=child.wait, name="shiro-wait", daemon=True).start()
        return child

    def end(self, child: Child) -> None:
        """End one child with its tree, within a second. Blocks."""
        end_trees([child], lambda mark: mark == child.mark)
        self._children.discard(child)

    def end_all(self) -> None:
        """End whatever of our children still runs, in the background too. Blocks."""
        if self._started:
            end_trees(list(self._children), lambda mark: mark.startswith(f"{self._mark}."))
            self._children.clear()

    def shell(self, command: str) -> list[str]:
        """The command line that has a shell run `command`."""
        path = self.child_environment().get("PATH")
        if bash := shutil.which("bash", path=path):
            return [bash, "-c", command]
        if os.name == "nt":
            return ["cmd", "/d", "/s", "/c", command]
        return ["/bin/sh", "-c", command]

    def child_environment(self) -> dict[str, str]:
        """What a child gets: ours, without our keys, nothing that asks, our own bin first."""
        kept = self._seen_by_children(but=COLOURS)
        path = kept.get("PATH", os.defpath)
        return kept | SWITCHES | {"PATH": f"{self.bin}{os.pathsep}{path}"}

    def marked_environment(self) -> tuple[dict[str, str], str]:
        """For a kernel that others start: ours as it is, but for what no child gets to see, and
        the mark in it by which `end_marked` and `end_all` find its tree."""
        mark = self._next_mark()
        return self._seen_by_children() | {MARK: mark}, mark

    def end_marked(self, mark: str) -> None:
        """End all that carries a mark, with its trees, within a second. Blocks."""
        end_trees([], lambda each: each == mark)

    def _seen_by_children(self, but: Collection[str] = ()) -> dict[str, str]:
        dropped = (*KEYS, *but, *self.hidden)
        return {
            name: value
            for name, value in self.environment.items()
            if not any(fnmatchcase(name, each) for each in dropped)
            and not any(secret in value for secret in self.secrets)
        }

    async def _ended(self, child: Child, done: asyncio.Event) -> None:
        await in_thread(self.end, child)
        with suppress(TimeoutError):  # a child that the system itself cannot end
            async with asyncio.timeout(SETTLE):
                await done.wait()

    # -- starting ------------------------------------------------------------------------

    def _next_mark(self) -> str:
        self._started += 1
        return f"{self._mark}.{self._started}"

    def _start(
        self,
        command: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        mark: str,
        output: int,
        errors: int = STDOUT,
    ) -> Child:
        try:
            popen = subprocess.Popen(
                command,
                cwd=cwd,
                env={**environment, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except (OSError, ValueError) as error:
            raise ToolFailed(f"The command could not be started: {error}.") from error
        child = Child(popen, mark, pipe_name(popen.stdout.fileno() if popen.stdout else output))
        self._children.add(child)
        return child


def captured(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], seconds: float
) -> bytes | None:
    """What a short command that only reads prints, None where it fails or is not done in time.
    Blocks.

    The environment is passed as it is. Past its time the command is killed with all that it
    started; nobody waits for that, but an exit does, a quarter of a second at most.
    """
    if seconds <= 0:
        return None
    until = time.monotonic() + seconds
    mark = secrets.token_hex(8)
    try:
        popen = subprocess.Popen(
            command,
            cwd=cwd,
            env={**environment, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except (OSError, ValueError):
        return None
    assert popen.stdout is not None
    child = Child(popen, mark, pipe_name(popen.stdout.fileno()))
    try:
        output, _ = popen.communicate(timeout=max(0.0, until - time.monotonic()))
    except BaseException as error:
        threading.Thread(target=_kill, args=[child], name="shiro-end", daemon=False).start()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return None
    return output if popen.returncode == 0 else None


def _head(stream: IO[bytes], size: int) -> bytes:
    with stream:
        return stream.read(size)


def _kill(child: Child) -> None:
    end_trees([child], lambda mark: mark == child.mark, ask=False)
    child.popen.poll()
    if child.popen.stdout:
        child.popen.stdout.close()
