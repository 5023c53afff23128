"""Guards around every test: a home of its own, no network but loopback, nothing left behind."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import settings

# A property holds on a busy machine, too.
settings.register_profile("shiro", deadline=None)
settings.load_profile("shiro")

# Seconds that something a test ended may still take to disappear.
GRACE = 5.0
# Variables that would let the machine's own set-up leak into a test.
FOREIGN = ("SHIRO_", "OPENAI_", "JPY_SESSION_NAME", "http_proxy", "https_proxy", "all_proxy")
# Ours, which say where a test finds its tools.
KEPT = ("SHIRO_OLDEST_PYTHON", "SHIRO_SNAPSHOTS", "SHIRO_TEST_")


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home folder, for this process and all it starts."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.lower().startswith(tuple(each.lower() for each in FOREIGN)) and not (
            name.startswith(KEPT)
        ):
            monkeypatch.delenv(name)
    for name, folder in {
        "HOME": "",
        "XDG_CONFIG_HOME": ".config",
        "XDG_DATA_HOME": ".local/share",
        "XDG_CACHE_HOME": ".cache",
        "IPYTHONDIR": ".ipython",
        "JUPYTER_CONFIG_DIR": ".jupyter",
        "JUPYTER_RUNTIME_DIR": ".jupyter-runtime",
        "SHIRO_HOME": ".shiro-home",
    }.items():
        monkeypatch.setenv(name, str(home / folder))
    # Shared, since matplotlib spends seconds on a font list that is the same for every test.
    monkeypatch.setenv("MPLCONFIGDIR", str(Path(__file__).parents[1] / ".cache" / "matplotlib"))
    return home


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere but this machine fails the test that tries it."""
    for name in ("connect", "connect_ex"):
        real = getattr(socket.socket, name)

        def guarded(self: socket.socket, address: Any, real: Any = real) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
                pytest.fail(f"a test tried to reach {address}")
            return real(self, address)

        monkeypatch.setattr(socket.socket, name, guarded)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Processes and threads that a test started have ended when it ends."""
    us = psutil.Process()
    children = {child.pid for child in us.children(recursive=True)}
    threads = set(threading.enumerate())
    yield
    deadline = time.monotonic() + GRACE
    while True:
        left = [f"process {child}" for child in _living(us) if child.pid not in children]
        left += [f"thread {each.name}" for each in set(threading.enumerate()) - threads]
        if not left:
            return
        if time.monotonic() > deadline:
            pytest.fail(f"left behind: {', '.join(left)}")
        time.sleep(0.02)


def _living(process: psutil.Process) -> list[psutil.Process]:
    """Its children but those of a browser, whose coming and going is its own; that they all end
    with the browser, `running_browser` sees to."""
    living = []
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if child.status() != psutil.STATUS_ZOMBIE and "chrom" not in child.name():
                living.append(child)
    return living
