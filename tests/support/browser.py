"""A real Chromium, and a page in it that shows JupyterLab, driven as a person would."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import nbformat
import psutil
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Locator,
    Request,
    ViewportSize,
    WebSocket,
    sync_playwright,
)
from playwright.sync_api import Page as Dom
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from .kernels import ROOT
from .lab import Lab

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "no Chromium was found for the browser tests: as root, apt-get install chromium "
    "(make test does it where it may)"
)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)
# No name resolves, so that no page reaches anything but this machine.
LOOPBACK = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
SCREENSHOTS = ROOT / ".cache" / "screenshots"
MESSAGE_TYPE = re.compile(rb'"msg_type": ?"(\w+)"')
TIMEOUT = 30_000  # milliseconds that anything a person waits for may take
SIZE = ViewportSize(width=1280, height=1400)

# What the tests ask of Lab itself, beside what they see and click.
IN_PAGE = """
window.labTest = {
  runs: [],
  panel(path) {
    return [...jupyterapp.shell.widgets('main')].find(each => each.context?.path === path);
  },
  kernel(path) { return this.panel(path)?.sessionContext.session?.kernel; },
  ready(path, statuses) {
    const panel = window.jupyterapp && this.panel(path), kernel = panel && this.kernel(path);
    return Boolean(kernel) && panel.context.isReady && panel.content.widgets.length > 0 &&
      jupyterapp.shell.currentWidget === panel && kernel.connectionStatus === 'connected' &&
      statuses.includes(kernel.status);
  },
  ask(path) { this.kernel(path)?.requestKernelInfo(); },
  run(path, command, at) {
    const notebook = this.panel(path).content, run = this.runs.push(false) - 1;
    notebook.deselectAll();
    notebook.activeCellIndex = at;
    const ended = () => { this.runs[run] = true; };
    jupyterapp.commands.execute(command).then(ended, ended);
    return run;
  },
};
"""


def chromium() -> str:
    """The path of this machine's Chromium; fails the test where there is none."""
    named = os.environ.get("SHIRO_TEST_CHROMIUM", "")
    found = named or next(filter(None, map(shutil.which, NAMES)), "")
    assert found, MISSING
    return found


@contextmanager
def running_browser() -> Iterator[BrowserContext]:
    """A browser of its own, with an empty profile that its pages share (Lab's scripts are read
    once). While it runs, its thread has an event loop: no `asyncio.run`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(), args=[*FLAGS, LOOPBACK], timeout=TIMEOUT
        )
        processes = [each for each in psutil.Process().children(recursive=True) if _ours(each)]
        try:
            yield browser.new_context(viewport=SIZE)
        finally:
            browser.close()
    _, left = psutil.wait_procs(processes, timeout=10)
    for process in left:
        process.kill()
    assert not left, f"the browser left {left} behind"


def _ours(process: psutil.Process) -> bool:
    return process.is_running() and "chrom" in process.name()


@dataclass
class Page:
    """One window on a Lab. Methods act on the notebook that was opened last, cells go by index.

    `errors` are those of the console, `elsewhere` the addresses beyond this machine that were
    asked for, `received` and `frames` what came over websockets, `heard` the types of the
    kernels' messages among them.
    """

    lab: Lab
    dom: Dom
    notebook: str = ""
    errors: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    received: int = 0
    frames: int = 0
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dom.set_default_timeout(TIMEOUT)
        self.dom.add_init_script(IN_PAGE)
        self.dom.on("console", self._said)
        self.dom.on("pageerror", lambda error: self.errors.append(str(error)))
        self.dom.on("request", self._asked)
        self.dom.on("websocket", self._connected)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _asked(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob") and address.hostname != "127.0.0.1":
            self.elsewhere.append(request.url)

    def _connected(self, socket: WebSocket) -> None:
        if urlsplit(socket.url).hostname != "127.0.0.1":
            self.elsewhere.append(socket.url)
        socket.on("framereceived", self._frame)

    def _frame(self, payload: str | bytes) -> None:
        payload = payload if isinstance(payload, bytes) else payload.encode()
        self.frames += 1
        self.received += len(payload)
        if found := MESSAGE_TYPE.search(payload):
            self.heard.append(found[1].decode())

    def open(self, notebook: str, *, statuses: tuple[str, ...] = ("idle",)) -> None:
        """Open a notebook, in a fresh Lab or beside the ones that are open, with its kernel."""
        self.notebook = notebook
        if self.dom.url == "about:blank":
            workspace = quote(notebook.removesuffix(".ipynb").replace("/", "-"))
            place = f"/lab/workspaces/{workspace}/tree/{quote(notebook)}"
            self.dom.goto(self.lab.url + place)
        else:
            self.command("docmanager:open", path=notebook)
        self.ready(*statuses)

    def ready(self, *statuses: str) -> None:
        """Wait until the notebook is in front and its kernel in one of these states.

        Of a kernel that took long to listen Lab has missed the first state, and knows none until
        the kernel says something: then it is asked something.
        """
        condition, arg = "labTest.ready(...arg)", [self.notebook, statuses or ("idle",)]
        try:
            self.until(condition, arg, TIMEOUT / 2)
        except PlaywrightTimeout:
            self.dom.evaluate("path => labTest.ask(path)", self.notebook)
            self.until(condition, arg)

    def reload(self, *statuses: str) -> None:
        """As a person who presses F5. Of a kernel whose main thread is taken, Lab knows nothing
        until it says something."""
        self.dom.reload()
        self.ready(*(statuses or ("idle", "busy", "unknown")))

    def until(self, condition: str, arg: Any = None, timeout: float = TIMEOUT) -> None:
        """Wait for an expression of `arg` in the page; asked about ten times a second."""
        self.dom.wait_for_function(
            f"arg => {condition}", arg=arg, polling=100, timeout=timeout
        ).dispose()

    def command(self, name: str, **arguments: Any) -> None:
        """Execute one of Lab's commands to its end."""
        self.dom.evaluate(
            "async ([name, args]) => { await jupyterapp.commands.execute(name, args); }",
            [name, arguments],
        )

    def start(self, cell: int, command: str = "notebook:run-cell") -> int:
        """Run a cell and do not wait; a number to wait for with `finished`."""
        run = self.dom.evaluate("args => labTest.run(...args)", [self.notebook, command, cell])
        return int(run)

    def finished(self, run: int, timeout: float = TIMEOUT) -> None:
        self.until("labTest.runs[arg]", run, timeout)

    def run(self, *cells: int, timeout: float = TIMEOUT) -> None:
        """Run cells one by one, each to its end."""
        for cell in cells:
            self.finished(self.start(cell), timeout)

    def run_all(self) -> int:
        return self.start(0, "notebook:run-all-cells")

    def interrupt(self) -> None:
        self.command("notebook:interrupt-kernel")

    @property
    def front(self) -> Locator:
        """The notebook in front."""
        return self.dom.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

    def cell(self, index: int) -> Locator:
        return self.front.locator(".jp-Notebook .jp-Cell").nth(index)

    def output(self, index: int) -> Locator:
        return self.cell(index).locator(".jp-Cell-outputArea")

    def text(self, index: int) -> str:
        """What a cell's output shows."""
        return self.output(index).inner_text()

    def saved(self) -> nbformat.NotebookNode:
        """Save the notebook; what is on disk then."""
        self.command("docmanager:save")
        return nbformat.read(self.lab.folder / self.notebook, as_version=4)

    def panel(self) -> Locator:
        """Our side panel, shown."""
        self.command("shiro:show-panel")
        return self.dom.locator("#shiro-panel")

    @property
    def folder(self) -> Path:
        """Where the notebook lies, and its kernel runs."""
        return (self.lab.folder / self.notebook).parent

    @property
    def kernel_id(self) -> str:
        return str(self.dom.evaluate("path => labTest.kernel(path).id", self.notebook))

    @property
    def kernel(self) -> psutil.Process:
        """The process of the notebook's kernel."""
        return self.lab.kernel(self.kernel_id)

    def restart_kernel(self) -> None:
        self.dom.evaluate("path => labTest.kernel(path).restart()", self.notebook)
        self.ready()

    @property
    def indicator(self) -> Locator:
        """The kernel's state in the notebook's toolbar; its `data-status` says idle, busy, …"""
        return self.front.locator(".jp-Notebook-ExecutionIndicator")

    def theme(self, name: str) -> None:
        """`light` or `dark`."""
        full = f"JupyterLab {name.title()}"
        self.command("apputils:change-theme", theme=full)
        self.until("document.body.dataset.jpThemeName === arg", full)

    def screenshot(self, name: str) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        path = SCREENSHOTS / f"{name}.png"
        path.write_bytes(self.dom.screenshot())  # given a path, a thread of its own would stay
        return path


@contextmanager
def opened_page(browser: BrowserContext, lab: Lab) -> Iterator[Page]:
    """A page with nothing in it yet; its kernels end with it."""
    page = Page(lab, browser.new_page())
    try:
        yield page
    finally:
        page.dom.close()
        lab.end_kernels()
