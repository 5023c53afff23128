"""The process beside a local model server: starts it, tells its port, ends it when nobody is left.

Run as a script, `local_watch.py FOLDER IDLE_SECONDS COMMAND…`, with nothing of ours imported.
Whoever uses the server holds a file in FOLDER/users, named by process id and touched at each
use; so the server ends also after a kernel that was killed and could not say goodbye.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import psutil

STATE = "state.json"
USERS = "users"
POLL = 0.25
END_SECONDS = 3.0


def users(folder: Path) -> dict[int, float]:
    """Living users: process id and seconds since their last use. Files of the dead are removed."""
    found = {}
    for file in (folder / USERS).glob("*"):
        try:
            pid, seconds = int(file.name), time.time() - file.stat().st_mtime
        except (ValueError, OSError):
            continue
        if psutil.pid_exists(pid):
            found[pid] = seconds
        else:
            file.unlink(missing_ok=True)
    return found


def port_of(pid: int) -> int:
    """The loopback port that the process listens on, 0 while there is none."""
    try:
        process = psutil.Process(pid)
        # The name is a newer one; kernels in the field still bring psutil 5.
        ask = getattr(process, "net_connections", None) or process.connections
        connections = ask(kind="tcp")
    except psutil.Error:
        return 0
    return next((c.laddr.port for c in connections if c.status == psutil.CONN_LISTEN), 0)


def write_state(folder: Path, state: dict[str, object]) -> None:
    partial = folder / f"{STATE}.partial"
    partial.write_text(json.dumps(state), encoding="utf-8")
    partial.replace(folder / STATE)


def end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def stop(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def watch(folder: Path, idle: float, command: list[str]) -> int:
    """Until the server ends by itself or nobody uses it; its exit code, 0 where we ended it."""
    try:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stderr.write(f"error: {error.strerror}\n")
        return 126
    told = 0
    try:
        while server.poll() is None:
            living = users(folder)
            # While it loads, nobody can use it; who waits for it has a deadline of their own.
            if not living or (told and min(living.values()) > idle):
                return 0
            if not told and (told := port_of(server.pid)):
                write_state(folder, {"pid": server.pid, "port": told})
            time.sleep(POLL)
        return server.returncode
    finally:
        (folder / STATE).unlink(missing_ok=True)
        if server.poll() is None:
            end(server)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)
    sys.exit(abs(watch(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])))
