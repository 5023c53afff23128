"""The notebook tools on a page that shows the notebook, without a kernel."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import nbformat
import pandas
import pytest

from shiro_jupyter.core.approvals import refusal_of
from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.events import ALLOW, Answer, Question
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.tools.base import Tool, ToolResult
from shiro_jupyter.core.transcript import User
from shiro_jupyter.kernel.cells_undo import CellsUndo
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.next_cell import NextCell
from shiro_jupyter.kernel.notebook import Notebooks
from shiro_jupyter.kernel.notebook_changes import Editor
from shiro_jupyter.kernel.run_code import CodeResult
from shiro_jupyter.kernel.tools import NotebookEdit, NotebookRead, NotebookRun
from tests.support.live_pages import LivePage, code, markdown
from tests.support.tools import Bench

HI = {"output_type": "stream", "name": "stdout", "text": "hi\n"}


class Next:
    """The next cell, where one can be offered."""

    def __init__(self, possible: bool) -> None:
        self.possible, self.sources = possible, list[str]()

    async def offer(self, source: str) -> None:
        self.sources.append(source)


class Code:
    """A live kernel that shows "hi", and fails where the code says so."""

    count = 5

    def __init__(self) -> None:
        self.ran = list[str]()

    async def run(
        self,
        source: str,
        output: Callable[[str], None],
        inside: Callable[[Any], AbstractContextManager[object]],
        *,
        first: Callable[[], None] = lambda: None,
    ) -> CodeResult:
        first()
        self.ran.append(source)
        with inside(SimpleNamespace(display_pub=SimpleNamespace(), _showtraceback=None)):
            sys.stdout.write("hi\n")
        if "fail" in source:
            return CodeResult(ok=False, traceback="ValueError: fail")
        return CodeResult(ok=True, stdout="hi\n")

    def interrupt(self) -> None: ...


class Desk:
    """A project with its own notebook, open in a page, and a closed one, which hold the same."""

    def __init__(self, folder: Path, *, offers: bool = False) -> None:
        root = folder / "work"
        root.mkdir()
        self.page = LivePage([markdown("h", "# Load"), code("a", "a = 1"), code("b", "b = 2")])
        self.bench = Bench(root)
        self.bench.session.append(User("prompt", 3))
        self.own, self.other = root / "own.ipynb", root / "other.ipynb"
        cells = [
            nbformat.v4.new_markdown_cell("# Load", id="h"),
            nbformat.v4.new_code_cell("a = 1", id="a", outputs=[nbformat.from_dict(HI)]),
            nbformat.v4.new_code_cell("b = 2", id="b"),
        ]
        for path in (self.own, self.other):
            nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        notebooks = Notebooks(self.page.document, self.own)
        self.next, self.code, self.undo = Next(offers), Code(), CellsUndo()
        self.variables = dict[str, Any]()
        shell = SimpleNamespace(user_ns=self.variables, user_ns_hidden={})
        editor = Editor(notebooks, self.undo, cast(NextCell, self.next))
        self.tools: dict[str, Tool[Any]] = {
            "read": NotebookRead(notebooks),
            "edit": NotebookEdit(editor),
            "run": NotebookRun(notebooks, self.code, Namespace(shell)),
        }

    def __call__(self, name: str, **arguments: Any) -> ToolResult:
        return self.bench.run(self.tools[name], **arguments)

    def read(self, cells: str, **more: Any) -> str:
        return self("read", cells=cells, **more).text

    def summary(self, name: str, **arguments: Any) -> str:
        return self.tools[name].summary(self.tools[name].parse(json.dumps(arguments)))

    def edit(self, action: str, **arguments: Any) -> str:
        return self("edit", action=action, **arguments).text

    def cells(self, path: Path) -> list[tuple[str, str]]:
        return [(cell.id, cell.source) for cell in nbformat.read(path, as_version=4).cells]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# -- reading ------------------------------------------------------------------------------------


def test_the_outline_names_the_cells_and_how_they_stand(desk: Desk) -> None:
    error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
    desk.page.cell("b").update(outputs=[error], count=4)
    head, *lines = desk("read").text.splitlines()
    assert head == "own.ipynb: 3 cells"
    assert lines[0] == "1 h (markdown, 1 line) # Load"
    assert lines[2].strip() == "3 b (code, 1 line, run as [4], 1 output, failed) b = 2"


def test_cells_are_read_in_full_and_outputs_where_asked_for(desk: Desk) -> None:
    picture = {"output_type": "display_data", "data": {"image/png": {"bytes": 9_000}}}
    desk.page.cell("a").update(outputs=[HI, picture])
    assert desk.read("a, 3").splitlines()[1:] == [
        *("# --- cell 2, code, id=a ---", "a = 1", "", "# --- cell 3, code, id=b ---", "b = 2")
    ]
    text = desk.read("load", outputs=True)
    assert "hi\n" in text and "[image/png, 9.0 kB]" in text


def test_a_closed_notebook_is_read_as_last_saved(desk: Desk) -> None:
    head = desk("read", path="other.ipynb").text.splitlines()[0]
    assert head.startswith("other.ipynb: 3 cells, as last saved (20") and "open" not in head


# -- changing what is open ----------------------------------------------------------------------


def test_cells_are_changed_in_the_page_and_nothing_on_disk(desk: Desk) -> None:
    before = desk.own.read_bytes()
    desk.read("2-3")
    said = desk.edit("insert", source="new = 1", after="a")
    new = desk.page.ids[2]
    assert said.startswith(f"Inserted code cell {new} after cell a; it is not run.")
    assert said.endswith("own.ipynb is open and not saved yet.")
    desk.edit("replace", cell="a", source="a = 10")
    desk.edit("move", cell="b", before="h")
    assert desk.page.ids == ["b", "h", "a", new]
    mark = {"shiro": {"session": desk.bench.session.id, "turn": 3}}
    assert desk.page.cell("a")["metadata"] == mark == desk.page.cell(new)["metadata"]
    assert desk.page.cell("a")["source"] == "a = 10"
    assert "metadata" not in desk.page.cell("b")
    assert desk.own.read_bytes() == before
    assert desk.undo.cells((desk.bench.session.id, 3)) == [
        *("cell `new = 1`", "cell `a = 1`", "cell `b = 2`")
    ]
    desk.read("h")
    desk.edit("delete", cell="h")
    summaries = [desk.summary("run", cells=new), desk.summary("run", cells=f"b, {new}, a")]
    assert summaries == ["cell 3 (`new = 1`)", "cells 1, 2, 3"]
    assert desk.summary("edit", action="replace", cell="a") == "replace cell 2 (`a = 10`)"
    assert desk.summary("edit", action="insert") == "insert code cell"
    assert desk.summary("edit", action="delete", cell="gone") == "delete gone"
    assert desk.summary("read", cells="b", path="other.ipynb") == "other.ipynb b"


@pytest.mark.parametrize(
    ("place", "ids"),
    [
        ({}, ["h", "a", "b", "new"]),
        ({"after": "h"}, ["h", "new", "a", "b"]),
        ({"before": "h"}, ["new", "h", "a", "b"]),
        ({"before": "b"}, ["h", "a", "new", "b"]),
        ({"after": "3"}, ["h", "a", "b", "new"]),
    ],
)
def test_a_cell_stands_where_it_was_asked_for_else_at_the_end(
    desk: Desk, place: dict[str, str], ids: list[str]
) -> None:
    desk.edit("insert", source="x", **place)
    desk.edit("insert", source="x", path="other.ipynb", **place)
    there = [name for name, _ in desk.cells(desk.other)]
    for found in (desk.page.ids, there):
        assert [name if name in "hab" else "new" for name in found] == ids


def test_an_empty_notebook_takes_a_first_cell(desk: Desk) -> None:
    desk.page.cells.clear()
    assert "at the top" in desk.edit("insert", source="x")
    assert [cell["source"] for cell in desk.page.cells] == ["x"]


@pytest.mark.parametrize("path", ["", "other.ipynb"], ids=["open", "closed"])
@pytest.mark.parametrize("action", ["replace", "delete"])
def test_a_cell_that_was_not_read_is_shown_first(desk: Desk, path: str, action: str) -> None:
    arguments = {"cell": "a", "source": "mine", "path": path}
    with pytest.raises(ToolFailed, match="was not read yet; start from its source") as told:
        desk.edit(action, **arguments)
    assert str(told.value).endswith("\na = 1")
    assert desk.edit(action, **arguments)
    sources = desk.page.cells if not path else nbformat.read(desk.other, as_version=4).cells
    assert "a = 1" not in [cell["source"] for cell in sources]


def test_what_the_person_typed_since_it_was_read_is_not_overwritten(desk: Desk) -> None:
    desk.read("a")
    desk.page.cell("a")["source"] = "a = 1  # mine"
    with pytest.raises(ToolFailed, match="has changed since it was read") as told:
        desk.edit("replace", cell="a", source="a = 2")
    assert str(told.value).endswith("\na = 1  # mine")
    assert desk.page.cell("a")["source"] == "a = 1  # mine"
    desk.edit("replace", cell="a", source="a = 2  # mine")
    desk.edit("replace", cell="a", source="a = 3")  # its own words it knows
    assert desk.page.cell("a")["source"] == "a = 3"


def test_what_is_typed_between_look_and_change_is_not_overwritten(desk: Desk) -> None:
    desk.read("a")
    tool, context = desk.tools["edit"], desk.bench.context
    call = tool.parse('{"action": "replace", "cell": "a", "source": "a = 2"}')

    async def run() -> ToolResult:
        await tool.prepare(call, context)
        desk.page.cell("a")["source"] = "mine"
        return await tool.run(call, context)

    with pytest.raises(ToolFailed, match=r"changed since it was read.*:\nmine"):
        asyncio.run(run())
    assert not desk.undo.turns(desk.bench.session.id)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"action": "replace", "source": "x"}, "Name the cell to replace"),
        ({"action": "delete", "cell": "nope"}, "no cell nope"),
        ({"action": "insert", "source": "x", "after": "a", "before": "b"}, "given twice"),
        ({"action": "insert", "source": "x", "after": "nope"}, "no cell nope"),
        ({"action": "move", "cell": "a"}, "Say where to move it"),
        ({"action": "move", "cell": "a", "after": "a"}, "beside itself"),
    ],
)
@pytest.mark.parametrize("path", ["", "other.ipynb"], ids=["open", "closed"])
def test_what_cannot_be_done_is_told_and_changes_nothing(
    desk: Desk, arguments: dict[str, str], told: str, path: str
) -> None:
    before = desk.other.read_bytes()
    with pytest.raises(ToolFailed, match=told):
        desk("edit", path=path, **arguments)
    assert desk.page.ids == ["h", "a", "b"] and desk.other.read_bytes() == before


def test_the_same_source_is_no_change(desk: Desk) -> None:
    desk.read("a")
    with pytest.raises(ToolFailed, match="holds that already"):
        desk.edit("replace", cell="a", source="a = 1")


def test_what_the_page_did_is_noted_though_the_call_was_interrupted(desk: Desk) -> None:
    tool, context = desk.tools["edit"], desk.bench.context
    call = tool.parse('{"action": "insert", "source": "x"}')

    async def run() -> ToolResult:
        desk.page.slow["insert"] = asyncio.Event()
        await tool.prepare(call, context)
        running = asyncio.ensure_future(tool.run(call, context))
        while "insert" not in desk.page.asked:
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.sleep(0)
        desk.page.slow["insert"].set()
        return await running

    assert asyncio.run(run()).text.startswith("Inserted code cell")
    assert desk.undo.cells((desk.bench.session.id, 3)) == ["cell `x`"]


# -- without a page -----------------------------------------------------------------------------


def test_without_a_page_code_is_offered_as_the_next_cell(tmp_path: Path) -> None:
    desk = Desk(tmp_path, offers=True)
    desk.page.there, before = False, desk.own.read_bytes()
    subject = desk.bench.judged(desk.tools["edit"], action="insert", source="x = 1", after="a")
    assert subject.title == "Offer this code as the next cell?" and "x = 1" in subject.preview
    assert "Offered as the next cell" in desk.edit("insert", source="x = 1", after="a")
    assert desk.next.sources == ["x = 1"]
    for arguments in (
        {"action": "insert", "type": "markdown", "source": "# x"},
        {"action": "replace", "cell": "a", "source": "x"},
        {"action": "delete", "cell": "a"},
        {"action": "move", "cell": "a", "after": "b"},
    ):
        with pytest.raises(ToolFailed, match=r"own\.ipynb cannot be changed now: no page"):
            desk("edit", **arguments)
    assert desk.own.read_bytes() == before


def test_where_nobody_would_see_a_next_cell_nothing_is_changed(desk: Desk) -> None:
    desk.page.there, before = False, desk.own.read_bytes()
    for path in ("", "own.ipynb"):
        with pytest.raises(ToolFailed, match="Nothing of an open notebook is written on disk"):
            desk.edit("insert", source="x = 1", path=path)
    assert desk.own.read_bytes() == before and not desk.next.sources


# -- closed notebooks ---------------------------------------------------------------------------


def test_a_closed_notebook_is_changed_on_disk_and_the_rest_stays(desk: Desk) -> None:
    before = desk.other.read_bytes()
    desk.read("a", path="other.ipynb")
    desk.edit("replace", cell="a", source="a = 'é'", path="other.ipynb")
    after = json.loads(desk.other.read_bytes())
    cell = after["cells"][1]
    assert cell["source"] == ["a = 'é'"] and cell["outputs"][0]["text"] == ["hi\n"]
    assert cell["metadata"]["shiro"] == {"session": desk.bench.session.id, "turn": 3}
    cell.update(source=["a = 1"], metadata={})
    assert after == json.loads(before)
    assert desk.page.cell("a")["source"] == "a = 1"
    done = desk.bench.undo.undo(desk.bench.turn)
    assert [each.state for each in done] == ["restored"] and desk.other.read_bytes() == before


def test_a_closed_notebook_is_moved_in_and_cut_down(desk: Desk) -> None:
    desk.read("1-3", path="other.ipynb")
    desk.edit("move", cell="b", before="h", path="other.ipynb")
    desk.edit("delete", cell="a", path="other.ipynb")
    assert desk.cells(desk.other) == [("b", "b = 2"), ("h", "# Load")]


def test_a_notebook_that_is_open_in_the_page_is_not_written(desk: Desk) -> None:
    desk.page.others, before = ("work/other.ipynb",), desk.other.read_bytes()
    with pytest.raises(ToolFailed, match="is open in the page, so it is not changed on disk"):
        desk.edit("insert", source="x", path="other.ipynb")
    assert desk.other.read_bytes() == before


def test_a_notebook_that_is_not_valid_is_not_written(desk: Desk) -> None:
    broken = desk.other.read_text(encoding="utf-8").replace('"outputs"', '"outs"')
    desk.other.write_text(broken, encoding="utf-8")
    with pytest.raises(ToolFailed, match="would not be a valid notebook, so it was not changed: "):
        desk.edit("insert", source="x", path="other.ipynb")
    assert desk.other.read_text(encoding="utf-8") == broken


def test_a_notebook_that_was_saved_meanwhile_is_not_written(desk: Desk) -> None:
    tool, context = desk.tools["edit"], desk.bench.context
    call = tool.parse('{"action": "insert", "source": "x", "path": "other.ipynb"}')
    saved = desk.other.read_bytes() + b"\n"

    async def run() -> ToolResult:
        await tool.prepare(call, context)
        desk.other.write_bytes(saved)
        return await tool.run(call, context)

    with pytest.raises(ToolFailed, match="was saved meanwhile; nothing was done"):
        asyncio.run(run())
    assert desk.other.read_bytes() == saved


# -- approvals ----------------------------------------------------------------------------------


def test_what_is_to_be_approved_is_shown_as_a_difference(desk: Desk) -> None:
    desk.read("a")
    call = {"action": "replace", "cell": "a", "source": "a = 2"}
    subject = desk.bench.judged(desk.tools["edit"], **call)
    assert (subject.access, subject.texts) == ("write", ("own.ipynb",))
    assert subject.title == "Replace code cell 2 (`a = 1`) of own.ipynb?"
    assert "-a = 1\n+a = 2" in subject.preview
    assert Gate(mode="accept-edits").decide(subject, ()).verdict == "allow"
    assert Gate(mode="plan").decide(subject, ()).verdict == "deny"
    assert Gate().decide(subject, ()).verdict == "ask"
    moved = desk.bench.judged(desk.tools["edit"], action="move", cell="a", before="h")
    assert moved.title == "Move code cell 2 (`a = 1`) of own.ipynb at the top?"
    assert desk.bench.judged(desk.tools["edit"], action="move", cell="a", after="b").title == (
        "Move code cell 2 (`a = 1`) of own.ipynb after cell 3 (`b = 2`)?"
    )
    assert moved.digest != subject.digest


def test_a_yes_is_for_the_cell_as_it_was_shown(desk: Desk) -> None:
    call = {"action": "insert", "source": "x", "after": "a"}
    first = desk.bench.judged(desk.tools["edit"], **call)
    assert desk.bench.judged(desk.tools["edit"], **call).digest == first.digest
    assert desk.bench.judged(desk.tools["edit"], **call, type="raw").digest != first.digest
    elsewhere = desk.bench.judged(desk.tools["edit"], **call, path="other.ipynb")
    assert elsewhere.texts == ("other.ipynb",) and elsewhere.digest != first.digest


def test_a_run_is_asked_about_by_its_code(desk: Desk) -> None:
    subject = desk.bench.judged(desk.tools["run"], cells="1-3")
    assert (subject.access, subject.texts) == ("kernel", ("a = 1", "b = 2"))
    assert subject.title == "Run these 2 cells of the notebook?"
    assert "a = 1" in subject.preview and "# Load" not in subject.preview
    one = desk.bench.judged(desk.tools["run"], cells="a")
    assert one.title == "Run cell 2 (`a = 1`) of the notebook?"


def asked(desk: Desk, gate: Gate, *meanwhile: Callable[[], object], **call: Any) -> str:
    """Why a call may not run, where a person allows all that is asked and does this meanwhile."""
    doing = iter(meanwhile)

    def person(question: Question) -> Answer:
        next(doing, lambda: None)()
        return Answer(question.id, ALLOW)

    desk.bench.person, tool = person, desk.tools["edit"]
    parameters = tool.parse(json.dumps(call))
    return asyncio.run(refusal_of(tool, parameters, desk.bench.context, gate))[0]


def test_what_changed_while_the_question_stood_is_asked_again(desk: Desk) -> None:
    call = {"action": "insert", "source": "x", "after": "a"}
    assert asked(desk, Gate(), lambda: desk.page.cells.insert(2, code("n", "new")), **call) == ""
    assert len(desk.bench.questions) == 1  # it stands below the same cell
    desk.read("b")
    call = {"action": "replace", "cell": "b", "source": "b = 3"}
    with pytest.raises(ToolFailed, match="has changed since it was read"):
        asked(desk, Gate(), lambda: desk.page.cell("b").update(source="mine"), **call)
    end = {"action": "insert", "source": "x"}
    asked(desk, Gate(), lambda: desk.page.cells.append(code("z", "last")), **end)
    assert "It has changed since you allowed it" in desk.bench.questions[-1].title
    assert desk.bench.questions[-1].title.startswith(
        "Insert a code cell into own.ipynb, after cell 5 (`last`)?"
    )


def test_a_rule_that_denies_a_notebook_is_told_before_what_stands_in_it(desk: Desk) -> None:
    gate = Gate("yolo", Rules.parse(deny=["notebook_edit(own.ipynb)"]))
    for call in ({"cell": "a", "source": "x"}, {"cell": "nope", "source": "x"}):
        assert "Denied by the rule" in asked(desk, gate, action="replace", **call)
    assert asked(desk, gate, action="insert", source="x", path="other.ipynb") == ""


# -- running ------------------------------------------------------------------------------------


def test_cells_run_in_the_page_until_one_fails(desk: Desk) -> None:
    fine = {"status": "ok", "execution_count": 7, "outputs": [HI]}
    error = {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["line"]}
    failed = {"status": "error", "execution_count": 8, "outputs": [error]}
    desk.page.cells.append(code("c", "c = 3"))
    desk.page.ran = {"a": fine, "b": failed}
    assert desk("run", cells="a") == ToolResult("ok", "# --- cell a: ok ---\nhi")
    result = desk("run", cells="1-4")
    assert result.outcome == "failed" and "E: no" in result.text
    assert result.text.endswith("Stopped at the first error; not run: c.")
    assert not desk.code.ran


def test_where_a_cell_keeps_main_the_code_runs_and_its_outputs_are_put_below_it(
    desk: Desk,
) -> None:
    desk.page.held = True
    desk.page.cell("b")["source"] = "fail"
    result = desk("run", cells="a, b")
    assert result.outcome == "failed" and "ValueError: fail" in result.text
    assert desk.code.ran == ["a = 1", "fail"] and "run" not in desk.page.asked
    assert desk.page.cell("a")["outputs"] == [HI] and desk.page.cell("a")["count"] == 5


def test_a_cell_that_was_changed_since_it_was_judged_is_not_run(desk: Desk) -> None:
    tool = desk.tools["run"]
    for held in (False, True):
        desk.page.held, context = held, desk.bench.context
        desk.page.cell("a")["source"] = "a = 1"
        call = tool.parse('{"cells": "a"}')

        async def run(call: Any = call, context: Any = context) -> ToolResult:
            await tool.prepare(call, context)
            desk.page.cell("a")["source"] = "mine"
            return await tool.run(call, context)

        result = asyncio.run(run())
        assert result.outcome == "failed" and "has changed since" in result.text
    assert not desk.code.ran


def test_a_cell_that_runs_is_not_run_once_more_nor_its_outputs_replaced(desk: Desk) -> None:
    desk.page.held = True
    desk.page.cell("a").update(running=True, outputs=[HI])
    with pytest.raises(ToolFailed, match="Cell a runs already"):
        desk("run", cells="a, b")
    assert not desk.code.ran and "patch" not in desk.page.asked


@pytest.mark.parametrize("held", [True, False])
def test_a_cell_that_certainly_fails_is_not_run(desk: Desk, held: bool) -> None:
    """The first is told before anybody is asked, and another one once its turn comes."""
    desk.variables["df"] = pandas.DataFrame({"price": [1.0]})
    desk.page.held = held
    desk.page.ran["a"] = {"status": "ok", "execution_count": 1, "outputs": [HI]}
    desk.page.cell("b")["source"] = "df['prise'].sum()"
    with pytest.raises(ToolFailed, match=r"Cell b was not run: .*price"):
        desk("run", cells="b")
    result = desk("run", cells="a, b")
    assert result.outcome == "failed" and "price" in result.text
    assert "fail" not in desk.code.ran and desk.page.cell("b").get("outputs") in (None, [])


def test_where_its_outputs_cannot_be_shown_what_ran_is_told_all_the_same(desk: Desk) -> None:
    desk.page.held = True
    desk.page.fails["patch"] = "The notebook was closed."
    result = desk("run", cells="a")
    assert result.outcome == "ok" and "hi" in result.text
    assert result.text.endswith("Its outputs are not shown below it: The notebook was closed.")


@pytest.mark.parametrize(
    ("cells", "told"),
    [("h", "no code cell among these"), ("nope", "no cell nope"), ("", "no code cell")],
)
def test_what_cannot_be_run_is_told(desk: Desk, cells: str, told: str) -> None:
    with pytest.raises(ToolFailed, match=told):
        desk("run", cells=cells)


def test_without_a_page_nothing_is_run(desk: Desk) -> None:
    desk.page.there = False
    with pytest.raises(ToolFailed, match="only be run in the open notebook, and no page of"):
        desk("run", cells="a")
