"""What a streamed answer costs JupyterLab's page and the kernel, beside an `ipywidgets.HTML`.

The same words at the same rate: as a turn, drawn in its cell and in the panel, and as the value
of a widget, set for each word and at 20 Hz. `SECONDS=5 python -m tests.bench page` is quick.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from playwright.sync_api import BrowserContext, CDPSession

from tests.support.browser import Page, opened_page, running_browser
from tests.support.lab import Lab, running_lab

SECONDS = float(os.environ.get("SECONDS", "20"))
RATE = 200  # words a second
PARAGRAPH = 50  # words
PROMISED_MB, PROMISED_LAG = 0.3, 200  # of 20 s; milliseconds

# Notes when each word is first in sight.
WATCH = """
([output, count]) => {
  window.seen = [];
  const look = () => {
    const text = output.textContent;
    while (seen.length < count && text.includes(String(seen.length).padStart(4, '0'))) {
      seen.push(Date.now());
    }
  };
  new MutationObserver(look).observe(output, {
    childList: true, subtree: true, characterData: true,
  });
}
"""
# Notes when each word is said.
LOAD = """
%load_ext shiro_jupyter
import time
from shiro_jupyter.core.models import scripted
emitted, real = [], scripted.TextPiece
def timed(text):
    emitted.append(time.time())
    return real(text)
scripted.TextPiece = timed
"""
WIDGET = """
import json, time, ipywidgets
from IPython.display import display
words = json.loads({words!r})
emitted, text, sent, begun = [], "", 0.0, time.time()
display(shown := ipywidgets.HTML())
for at, word in enumerate(words):
    time.sleep(max(0.0, begun + at / {rate} - time.time()))
    text += word
    emitted.append(time.time())
    if emitted[-1] - sent >= {every}:
        shown.value, sent = text, emitted[-1]
shown.value = text
"""
KEEP = "import json, pathlib\npathlib.Path('emitted.json').write_text(json.dumps(emitted))"


@dataclass(frozen=True)
class Cost:
    """Megabytes and frames to the page, CPU seconds, milliseconds from said to seen."""

    way: str
    seconds: float
    megabytes: float
    frames: int
    kernel: float
    page: float
    lags: Sequence[float]

    def row(self, other: Cost) -> str:
        return (
            f"{self.way:<22}{self.seconds:6.1f}{self.megabytes:9.2f}{self.frames:8}"
            f"{self.kernel:8.2f}{self.page:8.2f}{statistics.median(self.lags):8.0f}"
            f"{max(self.lags):6.0f}{self.megabytes / other.megabytes:9.1f}x"
        )


def heading(first: bool) -> str:
    names = ("", "", "", "kernel", "page", "lag", "ms", "bytes")
    units = ("s", "MB", "frames", "CPU s", "CPU s", "median", "max", "ratio")
    widths = (6, 9, 8, 8, 8, 8, 6, 10)
    cells = zip(names if first else units, widths, strict=True)
    return " " * 22 + "".join(f"{name:>{width}}" for name, width in cells)


def words(seconds: float) -> list[str]:
    """Words of six characters; each says its number."""
    count = range(min(int(seconds * RATE), 10_000))
    return [f"{n:04}\n\n" if n % PARAGRAPH == PARAGRAPH - 1 else f"{n:04}; " for n in count]


def busy_seconds(tab: CDPSession) -> float:
    """CPU seconds of a page's main thread since this was first asked of it."""
    tab.send("Performance.enable")
    metrics = tab.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


def measured(page: Page, way: str, seconds: float) -> Cost:
    """The cost of the notebook's second cell, which streams the words of so many seconds."""
    count = len(words(seconds))
    output = page.cell(1).element_handle()
    page.dom.evaluate(WATCH, [output, count])
    kernel, tab = page.kernel, page.dom.context.new_cdp_session(page.dom)
    before = (page.received, page.frames, busy_seconds(tab), sum(kernel.cpu_times()[:2]))
    page.run(1, timeout=1000 * (3 * seconds + 60))
    page.until("seen.length >= arg", count)
    received, frames = page.received - before[0], page.frames - before[1]
    page_cpu, kernel_cpu = busy_seconds(tab) - before[2], sum(kernel.cpu_times()[:2]) - before[3]
    page.run(2)
    emitted = json.loads((page.lab.folder / "emitted.json").read_text("utf-8"))[-count:]
    seen = page.dom.evaluate("seen")
    lags = [at - 1000 * said for at, said in zip(seen, emitted, strict=True)]
    took = emitted[-1] - emitted[0]
    return Cost(way, took, received / 1e6, frames, kernel_cpu, page_cpu, lags)


def turn(lab: Lab, browser: BrowserContext, seconds: float) -> Cost:
    text = "".join(words(seconds))
    warm = {"when": "warm up", "text": "Warm."}
    lab.play(warm, {"when": "stream", "text": text, "chunk": 6, "pace": 1 / RATE})
    with opened_page(browser, lab) as page:
        cells = [LOAD, "%shiro stream", KEEP, "%shiro warm up"]
        page.open(lab.notebook(f"turn-{seconds:.0f}.ipynb", cells))
        page.panel()
        page.run(0, 3)
        return measured(page, "a turn, cell and panel", seconds)


def widget(lab: Lab, browser: BrowserContext, seconds: float, every: float, way: str) -> Cost:
    stream = WIDGET.format(words=json.dumps(words(seconds)), rate=RATE, every=every)
    with opened_page(browser, lab) as page:
        page.open(lab.notebook("widget.ipynb", ["import ipywidgets", stream, KEEP]))
        page.run(0)
        return measured(page, way, seconds)


def main() -> None:
    with running_lab(SHIRO_LIVE="1") as lab, running_browser() as browser:
        ours = turn(lab, browser, SECONDS)
        half = turn(lab, browser, SECONDS / 2)
        costs = [
            ours,
            half,
            widget(lab, browser, SECONDS, 0, "HTML.value, each word"),
            widget(lab, browser, SECONDS, 1 / 20, "HTML.value at 20 Hz"),
        ]
    print(f"{RATE} words a second for {SECONDS:.0f} s, {len(words(SECONDS))} words of 6 characters")
    print(f"{heading(True)}\n{heading(False)}")
    for each in costs:
        print(each.row(ours))
    print(
        f"twice the text: {ours.megabytes / half.megabytes:.2f} times the bytes; promised for 20 s:"
        f" at most {PROMISED_MB} MB, each word in sight within {PROMISED_LAG} ms"
    )


if __name__ == "__main__":
    main()
