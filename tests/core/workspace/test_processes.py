from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.workspace.processes import KEYS, Captured, Completed, Processes, captured

IGNORES_TERM = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('ready', flush=True); time.sleep(300)"
)

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="which pipe a process writes to is told by /proc"
)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(os.environ, tmp_path / "outputs")
    yield processes
    processes.end_all()


def sh(
    processes: Processes,
    command: str,
    tmp_path: Path,
    timeout: float = 20,
    output: Callable[[str], None] = lambda text: None,
) -> Awaitable[Completed]:
    return processes.run(
        processes.shell(command), cwd=tmp_path, timeout=timeout, output=output, limit=2_000
    )


def gone(pid_file: Path) -> bool:
    """Whether the process whose id was written has ended; a zombie has."""
    pid = int(pid_file.read_text())
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


# -- what comes back ---------------------------------------------------------------------


def test_both_streams_come_back_in_order_with_the_exit_code(
    processes: Processes, tmp_path: Path
) -> None:
    done = asyncio.run(sh(processes, "echo one; echo two >&2; pwd; exit 3", tmp_path))
    assert done == Completed(3, f"one\ntwo\n{tmp_path}\n")


def test_it_works_on_the_loop_of_another_thread(processes: Processes, tmp_path: Path) -> None:
    results: list[Completed] = []
    thread = threading.Thread(
        target=lambda: results.append(asyncio.run(sh(processes, "echo here", tmp_path)))
    )
    thread.start()
    thread.join(10)
    assert results == [Completed(0, "here\n")]


def test_a_command_that_cannot_start_is_one_sentence(processes: Processes, tmp_path: Path) -> None:
    async def start(command: list[str], cwd: Path) -> None:
        await processes.run(command, cwd=cwd, timeout=1)

    handles = psutil.Process().num_fds()
    for command, cwd in (
        (["/no/such/program"], tmp_path),
        (["true"], tmp_path / "missing"),
        (["bash", "-c", "a\0b"], tmp_path),
        (["bash", "-c", "x" * 3_000_000], tmp_path),
    ):
        with pytest.raises(ToolFailed, match="could not be started"):
            asyncio.run(start(command, cwd))
    assert psutil.Process().num_fds() == handles


def test_output_streams_while_the_command_runs(processes: Processes, tmp_path: Path) -> None:
    """The command waits for a file that is made only when its first line was seen."""
    seen: list[str] = []

    def output(text: str) -> None:
        seen.append(text)
        if "first" in text:
            (tmp_path / "go").touch()

    command = "echo first; while [ ! -e go ]; do sleep 0.01; done; echo second"
    done = asyncio.run(sh(processes, command, tmp_path, output=output))
    assert "".join(seen) == "first\nsecond\n" == done.output


def test_characters_cut_between_reads_are_whole(processes: Processes, tmp_path: Path) -> None:
    seen: list[str] = []
    command = r"printf 'd\xc3'; sleep 0.15; printf '\xa9j\xc3\xa0 \xe6'; sleep 0.15; printf '\xbc'"
    done = asyncio.run(sh(processes, command, tmp_path, output=seen.append))
    assert done.output == "".join(seen) == "déjà �"
    assert len(seen) > 1


def test_bytes_that_are_no_text_do_not_stop_it(processes: Processes, tmp_path: Path) -> None:
    done = asyncio.run(sh(processes, "head -c 1000 /dev/urandom; echo; echo end", tmp_path))
    assert done.output.endswith("\nend\n")


# -- long output -------------------------------------------------------------------------


def test_five_megabytes_stay_flat_with_both_ends_and_the_rest_in_a_file(
    processes: Processes, tmp_path: Path
) -> None:
    shown = 0

    def output(text: str) -> None:
        nonlocal shown
        shown += len(text)

    async def run() -> Completed:
        tracemalloc.start()
        try:
            done = await sh(
                processes,
                "echo the start; yes | head -c 5000000; echo the end",
                tmp_path,
                20,
                output,
            )
            assert tracemalloc.get_traced_memory()[1] < 4_000_000
        finally:
            tracemalloc.stop()
        return done

    done = asyncio.run(run())
    assert done.output.startswith("the start\ny\n")
    assert done.output.endswith("y\nthe end\n")
    assert f"[… 4,998,018 characters left out: all of it is in {done.file} …]" in done.output
    assert len(done.output) < 2_300
    assert shown < 1_000_000
    assert done.file
    whole = done.file.read_bytes()
    assert whole == b"the start\n" + b"y\n" * 2_500_000 + b"the end\n"
    if os.name == "posix":
        assert done.file.stat().st_mode & 0o077 == 0


def test_output_within_the_limit_leaves_no_file(processes: Processes, tmp_path: Path) -> None:
    done = asyncio.run(sh(processes, "head -c 2000 /dev/zero | tr '\\0' x", tmp_path))
    assert done == Completed(0, "x" * 2_000)
    assert not (tmp_path / "outputs").exists()


def test_where_no_file_can_be_written_the_command_still_ends_well(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    processes = Processes(os.environ, tmp_path / "taken")
    done = asyncio.run(sh(processes, "seq 10000; echo end", tmp_path))
    assert (done.exit_code, done.file) == (0, None)
    assert done.output.endswith("\nend\n")
    assert "characters left out …]" in done.output


def test_files_of_past_weeks_go_when_a_new_one_is_written(
    processes: Processes, tmp_path: Path
) -> None:
    """Of other projects too, which nobody may ever open again; but no file of somebody else's."""
    names = ["outputs/0123456789abcdef.1.txt", "other/fedcba9876543210.2.txt", "other/mine.txt"]
    files = [tmp_path / name for name in names]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.touch()
        os.utime(file, (1, 1))
    new = tmp_path / "other/fedcba9876543210.3.txt"
    new.touch()
    done = asyncio.run(sh(processes, "seq 10000", tmp_path))
    assert done.file
    assert set(tmp_path.glob("*/*")) == {files[2], new, done.file}


# -- the environment ---------------------------------------------------------------------


def test_children_see_no_key_of_ours_and_every_other(tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "AWS_SECRET_ACCESS_KEY": "aws stays",
        "LISTED": "by the person",
        "FORCE_COLOR": "1",
        "PROD_URL": "listed by a pattern",
        "A_COPY": "Bearer key-of-the-keyring",
        **dict.fromkeys(KEYS, "sk-secret"),
    }
    secrets = ["key-of-the-keyring"]
    processes = Processes(environment, tmp_path, hidden=["LISTED", "PROD_*"], secrets=secrets)
    printed = asyncio.run(sh(processes, "env", tmp_path)).output
    names = {line.partition("=")[0] for line in printed.splitlines()}
    assert "aws stays" in printed
    assert not names & {*KEYS, "LISTED", "FORCE_COLOR", "PROD_URL", "A_COPY"}
    assert "sk-secret" not in printed
    assert "keyring" not in repr(processes)


def test_the_kernels_own_programs_come_first(processes: Processes, tmp_path: Path) -> None:
    done = asyncio.run(sh(processes, "command -v python", tmp_path))
    assert done.output.strip() == str(Path(sys.executable).parent / "python")


def test_a_change_of_the_environment_shows_in_the_next_child(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"]}
    processes = Processes(environment, tmp_path)
    environment["AWS_PROFILE"] = "later"
    assert asyncio.run(sh(processes, "echo $AWS_PROFILE", tmp_path)).output == "later\n"


def program(name: str, command: str, said: str) -> Any:
    missing = pytest.mark.skipif(not shutil.which(name), reason=f"{name} is not installed")
    return pytest.param(command, said, marks=missing)


NPM = {
    "name": "absent-tool",
    "dist-tags": {"latest": "1.0.0"},
    "versions": {
        "1.0.0": {
            "name": "absent-tool",
            "version": "1.0.0",
            "bin": "a.js",
            "dist": {"tarball": "http://127.0.0.1:9/a.tgz", "shasum": "0" * 40},
        }
    },
}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("read name || echo no input", "no input"),
        ("test -t 0 || test -t 1 || echo no terminal", "no terminal"),
        ("echo hi > /dev/tty", "/dev/tty"),
        ("git -c credential.helper= ls-remote http://127.0.0.1:PORT/private", "terminal prompts"),
        (
            "git init -q . && touch a && git add a && "
            "git -c user.name=a -c user.email=a@b.c commit",
            "empty commit message",
        ),
        ("git init -q . && git -c core.pager=less log --oneline; git --paginate branch", ""),
        ("git config --global --edit && echo edited", "edited"),
        ("python -c 'input(\"password: \")'", "EOFError"),
        ("python -c 'import getpass; getpass.getpass()'", "EOFError"),
        ("pip uninstall no-such-package-here", "not installed"),
        ("printf 'which one? '; read -r answer || echo; echo no answer", "no answer"),
        program("npx", "npx --registry http://127.0.0.1:PORT/npm absent-tool", "no YES option"),
        program(
            "ssh-keygen",
            "ssh-keygen -q -t ed25519 -N secret -f key; ssh-keygen -y -f key",
            "incorrect passphrase",
        ),
        program(
            "ssh-keygen", "touch key; ssh-keygen -t ed25519 -N '' -f key; echo over", "y/n)? over"
        ),
        program(
            "gpg",
            "mkdir -m 700 g; touch a; GNUPGHOME=$PWD/g gpg --no-autostart -c a",
            "encryption of 'a' failed",
        ),
    ],
)
def test_what_would_ask_fails_fast_in_its_own_words(
    processes: Processes, tmp_path: Path, command: str, said: str
) -> None:
    async def run() -> Completed:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            request = await reader.readuntil(b"\r\n\r\n")
            answer = b'401 No\r\nWWW-Authenticate: Basic realm="x"', b""
            if b" /npm/" in request:
                answer = b"200 Yes\r\nContent-Type: application/json", json.dumps(NPM).encode()
            head, body = answer
            length = f"Content-Length: {len(body)}".encode()
            writer.write(b"HTTP/1.1 %b\r\n%b\r\nConnection: close\r\n\r\n" % (head, length) + body)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = str(server.sockets[0].getsockname()[1])
            return await sh(processes, command.replace("PORT", port), tmp_path)

    done = asyncio.run(run())
    assert not done.timed_out
    assert said in done.output


# -- who holds the pipe ------------------------------------------------------------------


@pytest.mark.parametrize(
    "holder",
    [
        "sleep 300",
        "(while :; do echo noise; sleep 0.001; done)",
        "yes",
        "nohup sleep 300",
        "setsid sleep 300",
        pytest.param("setsid env -i sleep 300", marks=needs_proc),
        "(trap '' TERM; sleep 300; sleep 300)",
    ],
)
def test_it_returns_when_the_command_ends_and_the_background_lives_on(
    processes: Processes, tmp_path: Path, holder: str
) -> None:
    async def run() -> Completed:
        return await sh(processes, f"{holder} & echo $! > pid; echo ok", tmp_path)

    started = time.monotonic()
    done = asyncio.run(run())
    assert (done.exit_code, done.timed_out) == (0, False)
    # A flood on both sides of the word pushes it out of the two ends that are kept.
    assert "ok\n" in (done.file.read_text() if done.file else done.output)
    assert not gone(tmp_path / "pid")
    processes.end_all()
    assert gone(tmp_path / "pid")
    assert time.monotonic() - started < 5


def test_a_server_in_the_background_is_not_stopped_by_a_closed_pipe(
    processes: Processes, tmp_path: Path
) -> None:
    writes = "(while :; do echo noise || exit; date +%N > beat; sleep 0.01; done) & echo $! > pid"

    async def run() -> None:
        await sh(processes, writes, tmp_path)
        for _ in range(3):
            before = (tmp_path / "beat").read_text() if (tmp_path / "beat").exists() else ""
            await until(lambda before=before: (tmp_path / "beat").read_text() not in ("", before))

    (tmp_path / "beat").touch()
    asyncio.run(run())
    assert not gone(tmp_path / "pid")


# -- ending ------------------------------------------------------------------------------

TREES = {
    "one child": "echo $$ > pid; echo ready; exec sleep 300",
    "a grandchild": "(sleep 300 & echo $! > pid; wait) & echo ready; wait",
    "TERM ignored": f'exec {sys.executable} -c "$CODE"',
    "a grandchild that ignores TERM": f'{sys.executable} -c "$CODE" & echo $! > pid; wait',
    "a group of its own": "set -m; sleep 300 & echo $! > pid; echo ready; wait",
    "a session of its own": "setsid sleep 300 & echo $! > pid; echo ready; wait",
    "a session of its own and no parent": (
        "(setsid bash -c 'echo $$ > pid; exec sleep 300' &); echo ready; sleep 300"
    ),
    "no mark": "env -i /bin/bash -c 'echo $$ > pid; exec sleep 300' & echo ready; wait",
}


# Found by the pipe it writes to.
DAEMON = "(setsid env -i /bin/bash -c 'sleep 300 & echo $! > pid' &); echo ready; sleep 300"
TREES |= {"no mark, no parent, a session of its own": DAEMON}


@pytest.mark.parametrize("how", ["timeout", "cancel", "cancel twice"])
@pytest.mark.parametrize(
    "tree", [pytest.param(t, marks=needs_proc) if TREES[t] == DAEMON else t for t in TREES]
)
def test_the_whole_tree_ends_with_what_it_had_printed(tmp_path: Path, tree: str, how: str) -> None:
    code = f"import os; open('pid', 'w').write(str(os.getpid())); {IGNORES_TERM}"
    processes = Processes({**os.environ, "CODE": code}, tmp_path / "outputs")
    seen: list[str] = []
    pid = tmp_path / "pid"

    async def run() -> Completed | None:
        timeout = 1.0 if how == "timeout" else 60
        task = asyncio.ensure_future(sh(processes, TREES[tree], tmp_path, timeout, seen.append))
        await until(lambda: pid.exists() and pid.read_text().strip() != "" and seen != [])
        if how == "timeout":
            return await task
        started = time.monotonic()
        task.cancel()
        if how == "cancel twice":
            await asyncio.sleep(0.1)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - started < 1.5
        return None

    done = asyncio.run(run())
    assert gone(pid)
    assert "".join(seen) == "ready\n"
    if done:
        assert done.timed_out
        assert done.output == "ready\n"
        assert done.exit_code is not None
        assert done.exit_code != 0


def test_the_last_words_of_an_ended_command_are_kept(processes: Processes, tmp_path: Path) -> None:
    done = asyncio.run(
        sh(processes, "trap 'echo bye; exit 7' TERM; echo hi; sleep 300 & wait", tmp_path, 0.3)
    )
    assert done == Completed(7, "hi\nbye\n", timed_out=True)


def test_end_all_ends_what_runs_in_other_threads_too(tmp_path: Path) -> None:
    processes = Processes(os.environ, tmp_path)
    results: list[Completed] = []
    thread = threading.Thread(
        target=lambda: results.append(
            asyncio.run(sh(processes, "echo $$ > pid; exec sleep 300", tmp_path))
        )
    )
    thread.start()
    asyncio.run(until(lambda: (tmp_path / "pid").exists()))
    processes.end_all()
    thread.join(5)
    assert gone(tmp_path / "pid")
    assert results == [Completed(-15, "")]


def test_end_all_leaves_the_children_of_others_alone(tmp_path: Path) -> None:
    ours, others = Processes(os.environ, tmp_path), Processes(os.environ, tmp_path)
    for processes, name in ((ours, "ours"), (others, "others")):
        asyncio.run(sh(processes, f"sleep 300 & echo $! > {name}", tmp_path))
    ours.end_all()
    assert gone(tmp_path / "ours")
    assert not gone(tmp_path / "others")
    others.end_all()
    assert gone(tmp_path / "others")


def test_a_long_lived_child_writes_to_its_log_until_it_is_ended(
    processes: Processes, tmp_path: Path
) -> None:
    log = tmp_path / "logs/server.log"
    child = processes.start(
        processes.shell("echo $GREETING; sleep 300"),
        cwd=tmp_path,
        log=log,
        environment={"GREETING": "hello"},
    )
    asyncio.run(until(lambda: log.read_text() == "hello\n"))
    assert child.exit_code is None
    processes.end(child)
    asyncio.run(until(lambda: child.exit_code == -15))
    assert not psutil.pid_exists(child.pid)


def test_a_short_command_is_captured_or_nothing(tmp_path: Path) -> None:
    def captured_from(code: str, seconds: float = 20) -> bytes | None:
        command = [sys.executable, "-c", code]
        return captured(command, cwd=tmp_path, environment=os.environ, seconds=seconds)

    assert captured_from("") == b""
    assert captured_from("print(end='x' * 300_000)") == b"x" * 300_000
    assert captured_from("print('half'); raise SystemExit(3)") is None
    assert captured_from(IGNORES_TERM, 0.1) is None  # and nothing of it is left
    assert captured_from("", 0) is None
    assert captured(["no-such-program"], cwd=tmp_path, environment={}, seconds=20) is None


def test_a_short_command_that_ignores_the_end_does_not_outlive_this_process(
    tmp_path: Path,
) -> None:
    child = f"import os, pathlib; pathlib.Path('pid').write_text(str(os.getpid())); {IGNORES_TERM}"
    left = f"import subprocess, sys, time; {IGNORES_TERM.partition(' print')[0]} subprocess.Popen("
    left += "[sys.executable, '-c', sys.argv[1]], start_new_session=True); time.sleep(300)"
    script = (
        "import os, sys, time\nfrom pathlib import Path\n"
        "from shiro_jupyter.core.workspace.processes import captured\n"
        f"command = [sys.executable, '-c', {left!r}, {child!r}]\n"
        "assert captured(command, cwd=Path.cwd(), environment=os.environ, seconds=2) is None\n"
        "assert Path('pid').exists()\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=20)
    assert gone(tmp_path / "pid")


def test_a_captured_command_gets_the_environment_as_it_is(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import os; print(sorted(os.environ))"]
    seen = captured(command, cwd=tmp_path, environment={"ONE": "1"}, seconds=20)
    assert seen and b"'ONE'" in seen and b"GIT_EDITOR" not in seen and b"HOME" not in seen


# -- captured on the loop ----------------------------------------------------------------


ERRORS_WITHOUT_END = """
import os
try:
    while True:
        os.write(2, b"x" * 999)
except BrokenPipeError:
    os._exit(7)
"""


def caught(
    processes: Processes, code: str, tmp_path: Path, timeout: float = 20
) -> Awaitable[Captured]:
    return processes.capture(
        [sys.executable, "-c", code], cwd=tmp_path, environment={}, timeout=timeout, limit=1_000
    )


def test_output_and_errors_are_captured_apart(processes: Processes, tmp_path: Path) -> None:
    code = "import os, sys; os.write(1, b'\\xff' * 1000); os.write(2, b'why'); sys.exit(3)"
    assert asyncio.run(caught(processes, code, tmp_path)) == Captured(3, b"\xff" * 1000, b"why")
    code = "import os; print(*os.environ)"
    assert b"HOME" not in asyncio.run(caught(processes, code, tmp_path)).output


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("while True: print('x' * 99)", {"cut": True}),
        (f"print('x'); {IGNORES_TERM}", {"timed_out": True}),
        ("import os, time; os.close(1); os.close(2); time.sleep(300)", {"timed_out": True}),
        (ERRORS_WITHOUT_END, {"exit_code": 7}),
    ],
    ids=["floods", "ignores the end", "says no more", "floods with errors"],
)
def test_a_captured_command_ends_at_its_limits(
    processes: Processes, tmp_path: Path, code: str, told: dict[str, object]
) -> None:
    done = asyncio.run(caught(processes, code, tmp_path, 20 if "cut" in told else 2))
    assert {name: getattr(done, name) for name in told} == told
    assert len(done.output) == (1_000 if done.cut else 0)


def test_a_cancelled_capture_has_ended_what_it_started(
    processes: Processes, tmp_path: Path
) -> None:
    code = f"import os; open('pid', 'w').write(str(os.getpid())); {IGNORES_TERM}"

    async def cancelled() -> None:
        task = asyncio.ensure_future(caught(processes, code, tmp_path))
        await until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert gone(tmp_path / "pid")

    asyncio.run(cancelled())


def test_a_capture_that_is_cancelled_before_it_waits_leaves_nothing_open(
    processes: Processes, tmp_path: Path
) -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(caught(processes, "import time; time.sleep(300)", tmp_path))
        asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not psutil.Process().children()
