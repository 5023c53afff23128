"""The open notebook as the kernel has it: through a page, in a real JupyterLab."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.browser import TIMEOUT, Page
from tests.support.lab import Lab
from tests.support.scripts import says, shells

LAB = {"SHIRO_MODE": "yolo"}
LOAD = "%load_ext shiro_jupyter"
# Between the person's cells and the agent's thread, as a tool would stand there.
BRIDGE = """
import dataclasses, json, pathlib, asyncio
services = get_ipython()._shiro_extension.host.services
calls = []
async def seen(name):
    while not pathlib.Path(name).exists():
        await asyncio.sleep(0.02)
async def tried(do):
    try:
        return {"value": await do(services.document)}
    except Exception as error:
        return {"error": str(error), "kind": type(error).__name__}
def call(do):
    calls.append(services.thread.spawn(lambda: tried(do)))
    return len(calls) - 1
def result(number):
    done = calls[number].done()
    return json.dumps(calls[number].result(), default=dataclasses.asdict) if done else ""
"""
# Runs code in a notebook's kernel as no cell of the notebook, until it prints something:
# a cell that fails before it takes it off the queue.
EVALUATE = """
async ([path, code, deadline]) => {
  for (const end = Date.now() + deadline; Date.now() < end; ) {
    let text = '';
    const future = labTest.kernel(path).requestExecute(
      {code, store_history: false, allow_stdin: false, stop_on_error: false});
    future.onIOPub = message => {
      if (message.header.msg_type === 'stream') text += message.content.text;
    };
    const {content} = await future.done;
    if (content.status === 'error') throw new Error(content.ename + ': ' + content.evalue);
    if (text.trim()) return text.trim();
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error('It printed nothing in time: ' + code);
}
"""


@dataclass
class Document:
    """`services.document` of the kernel of a notebook; calls are lambdas in its namespace."""

    page: Page
    notebook: str

    def __post_init__(self) -> None:
        self.evaluate(BRIDGE + "print('ready')")
        self.evaluate("print('yes' if services.pages.present else '')")

    def evaluate(self, code: str) -> str:
        return str(self.page.dom.evaluate(EVALUATE, [self.notebook, code, TIMEOUT]))

    def start(self, call: str) -> int:
        return int(self.evaluate(f"print(call({call}))"))

    def outcome(self, number: int) -> dict[str, Any]:
        """What came of a call, once main is free and the call has ended."""
        outcome: dict[str, Any] = json.loads(self.evaluate(f"print(result({number}))"))
        return outcome

    def ask(self, call: str) -> Any:
        outcome = self.outcome(self.start(f"lambda it: it.{call}"))
        assert "error" not in outcome, outcome
        return outcome["value"]

    def refused(self, call: str) -> str:
        outcome = self.outcome(self.start(f"lambda it: it.{call}"))
        assert outcome["kind"] == "ToolFailed"
        return str(outcome["error"])

    @property
    def ids(self) -> list[str]:
        return [cell["id"] for cell in self.ask("outline()")["cells"]]

    def source(self, cell: str) -> str:
        return str(self.ask(f"read([{cell!r}])")[0]["source"])

    def undo(self) -> None:
        self.page.command("notebook:undo-cell-action")


def opened(lab: Lab, page: Page, name: str, *cells: str) -> Document:
    """A notebook whose first cell, `cell-0`, loads the extension, and has done so."""
    page.open(lab.notebook(name, [LOAD, *cells]))
    page.run(0)
    return Document(page, page.notebook)


def test_cells_that_are_not_saved_are_seen_and_changed(lab: Lab, page: Page) -> None:
    doc = opened(lab, page, "unsaved.ipynb", "a = 1")
    page.cell(1).locator(".cm-content").click()
    page.command("notebook:insert-cell-below")
    page.dom.keyboard.type("# typed")
    typed = doc.ids[2]
    assert doc.source(typed) == "# typed"
    outline = doc.ask("outline()")
    assert (outline["path"], outline["dirty"]) == ("unsaved.ipynb", True)
    metadata = {"shiro": {"session": "s", "turn": 2}}
    made = doc.ask(f"insert('b = a + 1\\nb', after='cell-1', metadata={metadata})")
    assert doc.ids == ["cell-0", "cell-1", made, typed]
    heading = doc.ask("insert('# Heading', type='markdown', before='cell-1')")
    last = doc.ask("insert('last = 1')")
    assert doc.ids == ["cell-0", heading, "cell-1", made, typed, last]
    expect(page.cell(1).locator("h1")).to_contain_text("Heading")
    doc.ask(f"move({last!r}, after=None)")
    page.dom.keyboard.press("Escape")
    doc.ask(f"delete({typed!r}, was='# typed')")
    assert doc.ids == [last, "cell-0", heading, "cell-1", made]
    saved = page.saved()
    assert [cell.id for cell in saved.cells] == [last, "cell-0", heading, "cell-1", made]
    assert saved.cells[-1].metadata["shiro"] == metadata["shiro"]
    assert not page.errors


def test_a_cell_runs_as_if_the_person_had(lab: Lab, page: Page) -> None:
    slow = "import time; time.sleep(0.5); print('x' * 50_000); a + 1"
    image = "from IPython.display import Image\nImage(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(9_000))"
    doc = opened(lab, page, "run.ipynb", "a = 41", slow, "1 / 0", image)
    assert doc.ask("run('cell-1')")["status"] == "ok"
    ran = doc.ask("run('cell-2')")
    assert ran["status"] == "ok"
    stream, value = ran["outputs"]
    assert len(stream["text"]) < 20_100 and "30,001 characters left out" in stream["text"]
    assert value["data"] == {"text/plain": "42"}
    assert ran["execution_count"] == value["execution_count"]
    assert page.text(2).strip().endswith("42")
    failed = doc.ask("run('cell-3')")
    assert (failed["status"], failed["outputs"][0]["ename"]) == ("error", "ZeroDivisionError")
    expect(page.output(3)).to_contain_text("ZeroDivisionError")
    assert doc.ask("read(['cell-2'], outputs=True)")[0]["outputs"] == ran["outputs"]
    # An image is told by type and size unless it is asked for.
    (output,) = doc.ask("run('cell-4')")["outputs"]
    assert output["data"]["image/png"] == {"mime": "image/png", "bytes": 9_008}
    (cell,) = doc.ask("read(['cell-4'], outputs=True, images=True)")
    assert cell["outputs"][0]["data"]["image/png"].startswith("iVBORw0KGgo")


def test_outputs_of_code_that_ran_for_a_cell_are_shown_in_it(lab: Lab, page: Page) -> None:
    doc = opened(lab, page, "patch.ipynb", "6 * 7")
    hostile = "<img src='data:,' onerror='document.title = \"owned\"'>"
    html = {"text/plain": "plain", "text/html": f"<b>bold</b>{hostile}"}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": "printed\n"},
        {"output_type": "display_data", "data": html, "metadata": {}},
    ]
    doc.ask(f"patch('cell-1', {outputs}, 9)")
    expect(page.output(1)).to_contain_text("printed")
    expect(page.output(1).locator("b")).to_contain_text("bold")
    expect(page.cell(1).locator(".jp-InputPrompt")).to_contain_text("[9]")
    assert page.saved().cells[1].execution_count == 9
    # The cell was never run here: what is shown in it is as little trusted as before.
    expect(page.output(1).locator("img")).not_to_have_attribute("onerror", re.compile(".*"))
    assert page.dom.title() != "owned"
    kept = doc.ask("delete('cell-1', was='6 * 7')")
    assert kept["outputs"] == outputs and (kept["id"], kept["execution_count"]) == ("cell-1", 9)
    # What is too large to be kept by the kernel stays away.
    big = doc.ask("insert('big')")
    stream = "[{'output_type': 'stream', 'name': 'stdout', 'text': 'x' * 2_100_000}]"
    doc.ask(f"patch({big!r}, {stream})")
    kept = doc.ask(f"delete({big!r}, was='big')")
    assert kept["source"] == "big" and "outputs" not in kept


def test_a_notebook_is_found_under_its_new_name(lab: Lab, page: Page) -> None:
    doc = opened(lab, page, "draft.ipynb", "a = 1")
    assert doc.ask("outline()")["path"] == "draft.ipynb"
    named = "async path => { await labTest.panel(path).context.rename('final.ipynb'); }"
    page.dom.evaluate(named, "draft.ipynb")
    doc.notebook = page.notebook = "final.ipynb"
    paths = "{each.notebook for each in services.pages._channel.pages.values()}"
    doc.evaluate(f"print('yes' if {paths} == {{'final.ipynb'}} else '')")
    assert doc.ask("outline()")["path"] == "final.ipynb"


def test_undo_takes_back_one_change_at_a_time(lab: Lab, page: Page) -> None:
    doc = opened(lab, page, "undo.ipynb", "one", "two")
    first = doc.ids
    number = doc.start("lambda it: asyncio.gather(it.insert('x'), it.move('cell-2', after=None))")
    made = doc.outcome(number)["value"][0]
    doc.ask("delete('cell-1', was='one')")
    assert doc.ids == ["cell-2", "cell-0", made]
    seen = []
    for _ in range(3):
        doc.undo()
        seen.append(doc.ids)
    assert seen == [["cell-2", "cell-0", "cell-1", made], [*first, made], first]
    # The text of a cell has an undo of its own, in its editor.
    page.cell(1).locator(".cm-content").click()
    page.dom.keyboard.press("End")
    page.dom.keyboard.type("!")
    doc.ask("replace('cell-1', 'changed', was='one!')")
    page.dom.keyboard.press("Control+z")
    assert doc.source("cell-1") == "one!"


def test_a_notebooks_only_cell_comes_back_by_one_undo(lab: Lab, page: Page) -> None:
    doc = opened(lab, page, "only.ipynb")
    page.cell(0).locator(".jp-InputPrompt").click()
    doc.ask(f"delete('cell-0', was={LOAD!r})")
    (placeholder,) = doc.ids
    assert placeholder != "cell-0"
    doc.undo()
    assert doc.ids == ["cell-0"]


def test_what_was_typed_meanwhile_is_never_lost(lab: Lab, page: Page) -> None:
    doc = opened(lab, page, "typed.ipynb", "a = 1")
    editor = page.cell(1).locator(".cm-content")
    editor.click()
    page.dom.keyboard.press("End")
    page.dom.keyboard.type("0  # mine")
    for call in ("replace('cell-1', 'b = 2', was='a = 1')", "delete('cell-1', was='a = 1')"):
        assert doc.refused(call).endswith("\na = 10  # mine")
    assert doc.source("cell-1") == "a = 10  # mine"
    # Even where it was read in time, the cell that the person is in is not taken away.
    assert "typing" in doc.refused("delete('cell-1', was='a = 10  # mine')")
    doc.ask("replace('cell-1', 'a = 10  # mine\\nb = 2', was='a = 10  # mine')")
    page.dom.keyboard.type("!")
    assert doc.source("cell-1") == "a = 10  # mine!\nb = 2"
    expect(editor).to_be_focused()


def test_the_person_is_not_disturbed(lab: Lab, page: Page) -> None:
    long = [f"x = {n}\n" * 12 for n in range(40)]
    doc = opened(lab, page, "calm.ipynb", *long)
    page.command("notebook:move-cursor-down")
    page.dom.evaluate(
        "path => labTest.panel(path).content.scrollToItem(20, 'center')", doc.notebook
    )
    editor = page.front.locator(".jp-Cell", has_text="x = 19").locator(".cm-content")
    editor.click()
    before = editor.bounding_box()
    made = doc.ask("insert('y = 1\\n' * 30, before='cell-0')")
    doc.ask(f"run({made!r})")
    doc.ask("run('cell-40')")
    doc.ask("delete('cell-3', was='x = 2\\n' * 12)")
    doc.ask("move('cell-39', after='cell-0')")
    expect(editor).to_be_focused()
    after = editor.bounding_box()
    assert before and after and after["y"] == pytest.approx(before["y"], abs=2)
    page.dom.keyboard.type("#")
    assert "#" in doc.source("cell-20")


def test_a_notebook_behind_another_tab_is_the_one_that_is_meant(lab: Lab, page: Page) -> None:
    first = opened(lab, page, "first.ipynb", *(f"n = {n}\nn" for n in range(60)))
    second = opened(lab, page, "second.ipynb", "'second'")
    made = first.ask("insert('behind = 1\\nbehind', before='cell-1')")
    assert first.ask(f"run({made!r})")["outputs"][0]["data"] == {"text/plain": "1"}
    assert first.ask("run('cell-60')")["outputs"][0]["data"] == {"text/plain": "59"}
    assert first.ask("outline()")["path"] == "first.ipynb"
    assert second.ask("outline()")["path"] == "second.ipynb"
    assert second.ids == ["cell-0", "cell-1"]
    assert second.ask("run('cell-1')")["outputs"][0]["data"] == {"text/plain": "'second'"}
    assert page.text(1).strip().endswith("'second'")
    page.open("first.ipynb")
    assert page.text(1).strip().endswith("1")


def test_refusals_say_what_to_do(lab: Lab, page: Page) -> None:
    doc = opened(lab, page, "refused.ipynb", "import time; time.sleep(1)")
    assert "read its outline again" in doc.refused("run('nowhere')")
    twice = "[tried(lambda it: it.run('cell-1')) for _ in range(2)]"
    ran, refused = doc.outcome(doc.start(f"lambda it: asyncio.gather(*{twice})"))["value"]
    assert ran["value"]["status"] == "ok" and "runs already" in refused["error"]


def test_a_run_is_refused_while_a_prompt_holds_the_kernel(lab: Lab, page: Page) -> None:
    lab.play(shells("hold", "until test -e held; do sleep 0.05; done"), says("hold", "done"))
    doc = opened(lab, page, "held.ipynb", "%shiro hold", "'ran'")
    code = """
async def when_held(it):
    while not services.main.held:
        await asyncio.sleep(0.02)
    try:
        return [(await it.outline()).cells[1].running, await tried(lambda it: it.run('cell-2'))]
    finally:
        pathlib.Path('held').touch()
"""
    doc.evaluate(code + "print('ready')")
    number = doc.start("when_held")
    page.run(1)
    running, refused = doc.outcome(number)["value"]
    assert running is True
    assert "run_python" in refused["error"]
    assert doc.ask("run('cell-2')")["status"] == "ok"


def test_a_run_behind_a_queued_prompt_is_given_up(lab: Lab, page: Page) -> None:
    lab.play(shells("hold", "until test -e given_up; do sleep 0.05; done"), says("hold", "done"))
    wait = "import pathlib, time\nwhile not pathlib.Path('go').exists(): time.sleep(0.02)"
    doc = opened(lab, page, "behind.ipynb", wait, "%shiro hold", "'ran'")
    code = """
async def behind(it):
    await seen('queued')
    run = asyncio.create_task(tried(lambda it: it.run('cell-3')))
    while not any(cell.id == 'cell-3' and cell.running for cell in (await it.outline()).cells):
        await asyncio.sleep(0.02)
    pathlib.Path('go').touch()
    try:
        return await run
    finally:
        pathlib.Path('given_up').touch()
"""
    doc.evaluate(code + "print('ready')")
    number = doc.start("behind")
    runs = [page.start(1), page.start(2)]
    (lab.folder / "queued").touch()
    for run in runs:
        page.finished(run)
    assert "do not run it again" in doc.outcome(number)["value"]["error"]
    expect(page.output(3)).to_contain_text("ran")
