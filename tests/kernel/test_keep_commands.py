"""/keep, and what a turn tells of the data, in real kernels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.pages import FakePage, page_of
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

SESSION = "get_ipython()._shiro_extension.host.services.conversation.opened.session"
OFFERS = "The code that bound total, df, by_city ran in no cell: %shiro /keep puts it into cells."
AGAIN = "The code that bound again ran in no cell: %shiro /keep puts it into cells."
FIRST = "total = df['price'].sum()\n"
SECOND = "by_city = df.groupby('city').size().reset_index()\ndf = df[df.price > 1]"
STEPS = [
    runs("make", FIRST),
    runs("make", "total, len(df)"),
    runs("make", "missing = 1\nraise KeyError('no')"),
    runs("make", SECOND),
    says("make", "Made."),
    runs("add one", "more = total"),
    says("add one", "More."),
    runs("fails", "half = 1\n1 / 0"),
    says("fails", "It failed."),
    runs("many", "_scratch = __mark__ = n0 = 0\nn1 = n2 = n3 = n4 = n5 = n6 = n7 = 0"),
    says("many", "Many."),
    runs("look", "print(len(df))"),
    says("look", "Looked."),
    runs("once more", "again = {'total': total}"),
    says("once more", "Again."),
]
FRAME = (
    "import pandas as pd\ndf = pd.DataFrame({'city': ['Rome', 'Oslo', 'Rome'], 'price': [1, 2, 3]})"
)
DATA = "data: df 3 → 2 rows · new: by_city (2 × 2), missing, total"


def started(tmp_path: Path, *interpreter: str, **more: str) -> Any:
    home = {"SHIRO_HOME": str(tmp_path / "home"), "SHIRO_LIVE": "1", "SHIRO_VIEW": "text"}
    model = script(tmp_path, *STEPS)
    return running_kernel(
        *interpreter, folder=tmp_path, SHIRO_MODEL=model, SHIRO_MODE="yolo", **home, **more
    )


@pytest.fixture(params=interpreters())
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kernel]:
    with started(tmp_path, request.param) as kernel:
        kernel.run(f"%load_ext shiro_jupyter\n{FRAME}")
        yield kernel


def ask(kernel: Kernel, line: str, **more: Any) -> Outputs:
    return kernel.run(line, stdin=lambda prompt: "y", **more)


def next_cell(outputs: Outputs) -> list[str]:
    return [each["text"] for each in outputs.reply["payload"] if each["source"] == "set_next_input"]


class Notebook:
    """The open notebook of a page, by the ids and sources of its cells."""

    def __init__(self, page: FakePage, *cells: tuple[str, str]) -> None:
        self.page, self.cells = page, [{"id": id_, "source": source} for id_, source in cells]
        self.metadata: list[Any] = []

    @property
    def sources(self) -> list[str]:
        return [cell["source"] for cell in self.cells]

    def serve(self, fails: bool = False) -> None:
        """Do what the kernel has asked for; where it `fails`, no cell can be inserted."""
        self.page.take(0.02)
        for event in self.page.of("ask"):
            self.page.events.remove(event)
            args = event["args"]
            value: Any
            if event["op"] == "read":
                bare = {"type": "code", "metadata": {}, "execution_count": None}
                value = {"cells": [{**bare, **cell} for cell in self.cells]}
            elif fails:
                self.page.request("done", id=event["id"], error="The person types.")
                continue
            else:
                assert event["op"] == "insert"
                ids = [cell["id"] for cell in self.cells]
                at = ids.index(args["after"]) + 1 if args["after"] else len(ids)
                self.cells.insert(at, {"id": f"new-{len(ids)}", "source": args["source"]})
                self.metadata.append(args["metadata"])
                value = {"id": f"new-{len(ids)}"}
            self.page.request("done", id=event["id"], value=value)


def offered(page: FakePage) -> dict[int, str]:
    """What the page offers to keep, by turn."""
    shown = {number: turn["data"] for number, turn in page.follower.models.items()}
    return {number: data["unkept"] for number, data in shown.items() if data and data["unkept"]}


@pytest.fixture
def page(kernel: Kernel) -> Iterator[FakePage]:
    with page_of(kernel) as page:
        page.hello()
        yield page
        page.request("bye")


def test_a_turn_tells_what_it_did_and_its_code_is_offered_as_the_next_cell(kernel: Kernel) -> None:
    told = ask(kernel, "%shiro make").stdout
    assert f"Made.\n· {DATA}\n· {OFFERS}\nanswered" in told
    items = kernel.value(f"str({SESSION}.items)")
    assert "data: df" not in items and "/keep" not in items  # it is not for the model
    looked = ask(kernel, "%shiro look").stdout
    assert "data:" not in looked and "/keep" not in looked
    listed = ask(kernel, "%shiro /keep list").stdout
    assert listed == (
        "Turn 1 (“make”):\n"
        "  total = df['price'].sum(): binds total\n"
        "  by_city = df.groupby('city').size().reset_index() … (2 lines): binds df, by_city\n"
    )
    kept = ask(kernel, "%shiro /keep")
    assert next_cell(kept) == [f"{FIRST.strip()}\n\n{SECOND}"]
    assert kept.stdout == "The code is offered as the next cell: run it there, or take it away.\n"
    ask(kernel, next_cell(kept)[0])  # as the person does
    assert (
        "Nothing to keep: the code that bound missing failed" in ask(kernel, "%shiro /keep").stdout
    )


def test_an_undone_turn_leaves_nothing_to_keep(kernel: Kernel) -> None:
    ask(kernel, "%shiro make")
    ask(kernel, "%shiro once more")
    assert "Nothing to keep of turn 7: there is code to keep of turn 1, 2." in (
        ask(kernel, "%shiro /keep 7").stdout
    )
    ask(kernel, "%shiro /undo")
    listed = ask(kernel, "%shiro /keep list").stdout
    assert "Turn 1" in listed and "Turn 2" not in listed
    ask(kernel, "%shiro /undo")
    assert "Nothing to keep: whatever" in ask(kernel, "%shiro /keep all").stdout
    assert "Say %shiro /keep" in ask(kernel, "%shiro /keep it").stream("stderr")


def test_nothing_is_offered_of_a_turn_that_was_undone_or_overtaken(
    kernel: Kernel, page: FakePage
) -> None:
    ask(kernel, "total = 1\n%shiro once more")
    page.until(lambda: offered(page) == {1: AGAIN})
    ask(kernel, "total = 2\n%shiro once more")  # it binds the name anew
    page.until(lambda: offered(page) == {2: AGAIN})
    ask(kernel, "%shiro /undo", idle=lambda: page.take(0.02))
    page.until(lambda: 2 not in offered(page))


def test_code_that_failed_is_told_apart(kernel: Kernel) -> None:
    ask(kernel, "%shiro fails")
    failed = "Nothing to keep: the code that bound half failed or was interrupted, so it is not "
    failed += "offered; ask for it again, or write it into a cell.\n"
    assert ask(kernel, "%shiro /keep").stdout == failed
    assert ask(kernel, "%shiro /keep list").stdout == failed


def test_the_answer_and_the_list_tell_the_same_names(kernel: Kernel) -> None:
    told = ask(kernel, "%shiro many").stdout
    names = "n0, n1, n2, n3, n4, n5 and 2 more"
    assert f"The code that bound {names} ran in no cell" in told
    listed = ask(kernel, "%shiro /keep list").stdout
    assert listed.endswith(f": binds {names}\n")


def test_code_goes_into_the_open_notebook_below_the_cell_that_asked(
    kernel: Kernel, page: FakePage
) -> None:
    notebook = Notebook(page, ("ask", "%shiro make"), ("end", "done"))
    ask(kernel, "%shiro make", cell_id="ask")
    page.prompt("look")
    page.ended("look")
    page.prompt("once more")
    turn = page.ended("once more")
    assert turn["data"] == {
        "changes": "new: again (1 item)",
        "unkept": "The code that bound again ran in no cell: %shiro /keep puts it into cells.",
    }
    kept = ask(kernel, "%shiro /keep 1", idle=notebook.serve)
    assert kept.stdout == "Put 2 cells below the cell that asked.\n" and next_cell(kept) == []
    page.prompt("/keep")
    page.until(lambda: notebook.serve() or page.of("said"))
    assert page.of("said")[-1]["text"] == "Put 1 cell at the end of the notebook."
    page.until(lambda: page.newest()["data"]["unkept"] == "")  # so its button goes
    page.until(lambda: not offered(page))
    page.request("hello", protocol=1, version="0.1.0", notebook="work/a.ipynb")  # a reload
    page.take_for(0.2)
    assert not offered(page)
    assert notebook.sources == [
        "%shiro make",
        FIRST.strip(),
        SECOND,
        "done",
        "again = {'total': total}",
    ]
    numbers = [mark["shiro"]["turn"] for mark in notebook.metadata]
    assert numbers == [1, 1, 3]
    assert "Nothing to keep" in ask(kernel, "%shiro /keep", idle=notebook.serve).stdout


def test_always_puts_it_into_cells_at_the_end_of_the_turn(tmp_path: Path) -> None:
    with started(tmp_path, SHIRO_KEEP="always") as kernel:
        kernel.run(f"%load_ext shiro_jupyter\n{FRAME}")
        outputs = ask(kernel, "%shiro once more\n")
        assert "/keep" not in outputs.stdout
        total = ask(kernel, "total = 1\n%shiro once more")
        assert next_cell(total) == ["again = {'total': total}"]
        with page_of(kernel) as page:
            page.hello()
            notebook = Notebook(page, ("ask", "%shiro make"), ("end", "done"))
            outputs = ask(kernel, "%shiro make", cell_id="ask", idle=notebook.serve)
            assert "/keep" not in outputs.stdout and next_cell(outputs) == []
            assert notebook.sources == ["%shiro make", FIRST.strip(), SECOND, "done"]
            page.prompt("once more")
            page.until(lambda: notebook.serve() or notebook.sources[-1].startswith("again"))
            assert page.ended("once more")["data"]["unkept"] == ""
            page.prompt("add one")
            page.until(lambda: notebook.serve(fails=True) or page.of("said"))
            assert page.of("said")[-1]["text"] == AGAIN.replace("again", "more")


def test_always_says_what_can_be_done_where_it_cannot_insert(tmp_path: Path) -> None:
    with started(tmp_path, SHIRO_KEEP="always") as kernel:
        kernel.run(f"%load_ext shiro_jupyter\n{FRAME}\ntotal = 1")
        nobody = kernel.run("%shiro once more")
        assert AGAIN in nobody.stdout and next_cell(nobody) == []


def test_never_says_nothing_and_keep_still_works(tmp_path: Path) -> None:
    with started(tmp_path, SHIRO_KEEP="never") as kernel:
        kernel.run(f"%load_ext shiro_jupyter\n{FRAME}")
        told = ask(kernel, "%shiro make").stdout
        assert DATA in told and "/keep" not in told
        assert next_cell(ask(kernel, "%shiro /keep")) == [f"{FIRST.strip()}\n\n{SECOND}"]
