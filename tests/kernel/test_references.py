from __future__ import annotations

import asyncio
import json
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from shiro_jupyter.core.context.tokens import estimate
from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.core.policy.rules import Rules, parse_rule
from shiro_jupyter.core.workspace.project import Project
from shiro_jupyter.kernel import references as module
from shiro_jupyter.kernel.document import LiveDocument
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.privacy import Privacy
from shiro_jupyter.kernel.references import BUDGET, CUT, References, references, told
from tests.support.kernels import Kernel, running_kernel
from tests.support.pages import page_of
from tests.support.scripts import says, script

CELLS = [
    {"id": "aaaa1111", "type": "markdown", "lines": 1, "execution_count": None, "running": False},
    {"id": "bbbb2222", "type": "code", "lines": 1, "execution_count": 7, "running": False},
]
OUTPUTS = [{"output_type": "stream", "name": "stdout", "text": "the outcome\n"}]


@dataclass
class Place:
    """A project with variables and maybe an open notebook, and what the person was told."""

    root: Path
    names: dict[str, object] = field(default_factory=dict)
    gate: Gate = field(default_factory=Gate)
    private: Private = field(default_factory=Private)
    open: bool = False
    ran: tuple[str, ...] = ("", "first = 1", "second = 2")
    notebook: Path | None = None
    ignore: tuple[str, ...] = ()
    told: list[str] = field(default_factory=list)

    def look(self, prompt: str) -> str:
        shell = types.SimpleNamespace(user_ns=self.names, user_ns_hidden={})
        found = References(
            lambda: Project(self.root, notebook=self.notebook, ignore=self.ignore),
            lambda name: self.gate.lets_read((), name),
            Namespace(shell, Privacy(shell, self.private)),
            lambda: self.private,
            LiveDocument(self._page, lambda: False),
            lambda: self.ran,
            self.told.append,
        )
        return asyncio.run(found.described(prompt))

    async def _page(self, op: str, args: dict[str, Any], seconds: float) -> object:
        if not self.open:
            raise ToolFailed("No page.")
        if op == "outline":
            return {"path": "a.ipynb", "dirty": True, "trusted": True, "cells": CELLS}
        (one,) = (each for each in CELLS if [each["id"]] == args["cells"])
        stored = {key: one[key] for key in ("id", "type", "execution_count")}
        return {"cells": [{**stored, "source": "live = 1", "metadata": {}, "outputs": OUTPUTS}]}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/app.py").write_text("import os\nprint(os.name)\n")
    (root / "with blanks.csv").write_text("a,b\n1,2\n")
    monkeypatch.chdir(root)
    return Place(root.resolve())


# -- what is a reference -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("look at @src/app.py", ["src/app.py"]),
        ("@df: why?", ["df"]),
        ("(@df)", ["df"]),
        ("compare @a, @b and @a", ["a", "b"]),
        ("the mean of @df.price.", ["df.price"]),
        ('is @df["the price"]["x"].y right?', ['df["the price"]["x"].y']),
        ("@rows[-1] ends", ["rows[-1]"]),
        ('read @"with blanks.csv" now', ["with blanks.csv"]),
        ("read @'with blanks.csv' now", ["with blanks.csv"]),
        ("read @“with blanks.csv” now", ["with blanks.csv"]),
        ("mend @cell:3 and @cell:8f3a-b", ["cell:3", "cell:8f3a-b"]),
        ("look at @src/.", ["src/"]),
        ("看看@数据", ["数据"]),
        ("看看@df的列", ["df"]),
        ("@df's columns", ["df"]),
        ("mail bob@example.com or josé@example.com", []),
        ("git@github.com:a/b and a.b@c and x-@y", []),
        ("run `@cached` or\n```python\n@app.get\ndef f(): ...\n@x\n```\nand @df", ["df"]),
        ("```\n@unclosed", []),
        ('compare @"back`tick.txt" and @"an`other.txt"', ["back`tick.txt", "an`other.txt"]),
        ('run `@"x y"` on @df', ["df"]),
        ("@cache\n@app.get('/x')\ndef f(): ...\nabout @df", ["df"]),
        ("an @ alone, a @@b, a @ b", []),
    ],
)
def test_what_points_at_something(prompt: str, names: list[str]) -> None:
    assert [each.name for each in references(prompt)] == names


# -- what is said of it ------------------------------------------------------------------------


def test_a_file_is_told_by_name_size_lines_and_beginning(place: Place) -> None:
    assert place.look("look at @src/app.py.") == (
        "What the person points at with @, as it is now:\n\n"
        "- src/app.py, a file, 25 B, 2 lines\n  1: import os\n  2: print(os.name)"
    )
    assert place.told == []


def test_a_folder_is_told_by_what_is_in_it_and_not_ignored(place: Place) -> None:
    (place.root / ".gitignore").write_text("*.pyc\n")
    (place.root / "src/app.pyc").touch()
    (place.root / "src/inner").mkdir()
    said = place.look("look at @src/")
    assert said.endswith("- src/, a folder\n  app.py  25 B\n  inner/")


def test_a_file_is_found_from_the_folder_of_the_notebook_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.root / "src")
    assert "- src/app.py, a file" in place.look("@app.py")


def test_a_binary_file_is_told_by_its_size(place: Place) -> None:
    (place.root / "a.bin").write_bytes(bytes(range(256)) * 4)
    assert place.look("@a.bin").endswith("- a.bin, a binary file, 1.0 kB")


def test_a_variable_and_a_part_of_one_are_inspected(place: Place) -> None:
    place.names["df"] = pd.DataFrame({"the price": [1.5, 2.5]})
    said = place.look('why is @df["the price"] so low?')
    assert '- @df["the price"], a variable\n' in said and "mean 2" in said
    assert "2 rows" in place.look("describe @df, please")


def test_a_folder_and_a_variable_of_one_name_are_both_told(place: Place) -> None:
    place.names["src"] = 41
    said = place.look("@src")
    assert "- src/, a folder" in said and "- @src, a variable\n  src: int" in said


def test_a_cell_of_the_open_notebook_is_told_with_its_output(place: Place) -> None:
    place.open = True
    for which in ("7", "bbbb2222", "bbbb", "2"):
        said = place.look(f"mend @cell:{which}")
        assert f"- @cell:{which}, of the open notebook" in said
        assert "# --- cell 2, code, id=bbbb2222, run as [7] ---\n  live = 1\n" in said
        assert "the outcome" in said
    place.private = Private(("salary",))
    assert "the outcome" not in place.look("mend @cell:7")


def test_without_a_page_a_cell_is_what_ran_else_what_was_saved(place: Place) -> None:
    stored = {"cell_type": "code", "id": "cccc3333", "execution_count": 9, "outputs": OUTPUTS}
    place.notebook = place.root / "a.ipynb"
    place.notebook.write_text(json.dumps({"cells": [{**stored, "source": ["saved = 1"]}]}))
    assert place.look("@cell:2").endswith("- @cell:2, which ran as [2]\n  second = 2")
    for which in ("cccc3333", "9"):
        said = place.look(f"@cell:{which}")
        assert "of the notebook as last saved" in said
        assert "saved = 1" in said and "the outcome" in said
    place.private = Private(schema_only=True)
    said = place.look("@cell:9")
    assert "saved = 1" in said and "the outcome" not in said
    assert place.told == []


@pytest.mark.parametrize("broken", ["", "[]", '{"cells": 3}', '{"cells": [4]}'])
def test_a_broken_notebook_has_no_cell_to_point_at(place: Place, broken: str) -> None:
    place.notebook = place.root / "a.ipynb"
    place.notebook.write_text(broken)
    assert place.look("@cell:aaaa") == ""
    assert place.told == ["@cell:aaaa is no file, variable or cell: sent as words."]


# -- what is not -------------------------------------------------------------------------------


def test_what_is_nothing_is_said_to_the_person_once(place: Place) -> None:
    assert place.look("ask @bob") == ""
    assert place.told == ["@bob is no file, variable or cell: sent as words."]
    place.told.clear()
    assert "app.py" in place.look("ask @bob and @types/node about @src/app.py")
    assert place.told == [
        "@bob, @types/node are none of these here (a file, a variable, a cell): sent as words."
    ]


def test_what_a_file_holds_is_not_told_where_the_model_would_have_to_ask(place: Place) -> None:
    for name in (".env", "notes.txt", "kept.log", "own.dat"):
        (place.root / name).write_text("the secret")
    (place.root / ".gitignore").write_text("*.log\n")
    place.ignore = ("*.dat",)
    place.gate.rules = Rules(deny=(parse_rule("read_file(notes.txt)"),))
    assert place.look("@.env @notes.txt @kept.log @own.dat") == ""
    assert [each.partition(": ")[0] for each in place.told] == [
        f"@{name} goes out as its name alone"
        for name in (".env", "notes.txt", "kept.log", "own.dat")
    ]
    assert "keys" in place.told[0] and "rule" in place.told[1] and "ignored" in place.told[2]


def test_what_is_outside_the_project_is_not_looked_into(place: Place) -> None:
    (place.root.parent / "other.txt").write_text("the secret")
    (place.root / "link.txt").symlink_to(place.root.parent / "other.txt")
    assert place.look(f"@../other.txt @link.txt @{place.root.parent}/other.txt") == ""
    assert len(place.told) == 3
    assert all("outside the project folder" in each for each in place.told)


def test_links_in_a_circle_are_told_as_such(place: Place) -> None:
    (place.root / "one").symlink_to("two")
    (place.root / "two").symlink_to("one")
    assert place.look("@one") == ""
    assert place.told == ["@one goes out as its name alone: its links lead in a circle."]


def test_half_a_character_is_no_name_of_a_file(place: Place) -> None:
    assert place.look("@\ud800x @src/app.py").count("app.py") == 1
    assert place.told == ["@\ud800x is no file, variable or cell: sent as words."]


def test_what_is_kept_private_is_told_by_name_and_size_at_most(place: Place) -> None:
    place.private = Private(schema_only=True)
    place.names["city"] = "Oslo"
    said = place.look('@"with blanks.csv" @city')
    assert "- with blanks.csv, a file, 8 B\n" in said and "1,2" not in said
    assert "city: str" in said and "Oslo" not in said


def test_the_person_is_told_which_of_their_variables_are_private(place: Place) -> None:
    place.private = Private(("salaries", "bonus*", "app"))
    place.names |= {"salaries": {"Ann": 90_000}, "bonus": 3, "app": 1}
    assert place.look("the mean of @salaries.") == ""
    assert place.told == ["@salaries is private: the model is not told of it; sent as words."]
    place.told.clear()
    assert place.look('@salaries["Ann"] @bonus @bonuses') == ""
    assert place.told == [
        '@salaries["Ann"], @bonus are private: the model is not told of them; sent as words.',
        "@bonuses is no file, variable or cell: sent as words.",  # there is none
    ]
    place.told.clear()
    place.private = Private(("df.email", "app"))
    place.names["df"] = pd.DataFrame({"email": ["a@b.c"], "price": [1]})
    assert place.look('@df.email @df["email"] @df.mail') == ""
    missing = place.told.pop(0)
    assert missing.startswith("@df.mail goes out as its name alone: ") and "email" not in missing
    assert place.told == [
        '@df.email, @df["email"] are private: the model is not told of them; sent as words.'
    ]
    place.told.clear()
    (place.root / "app").write_text("a file of that name")
    assert "- app, a file, 19 B" in place.look("@app") and place.told == []


def test_a_part_that_is_not_there_is_told_with_what_is(place: Place) -> None:
    place.names["df"] = pd.DataFrame({"price": [1]})
    assert place.look("@df.prize") == ""
    assert "price" in place.told[0]


def test_what_takes_too_long_holds_nothing_up(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.open = True

    async def never(op: str, args: dict[str, Any], seconds: float) -> object:
        await asyncio.Future()
        return None

    monkeypatch.setattr(module, "PAGE_SECONDS", 0.01)
    monkeypatch.setattr(place, "_page", never)
    assert "second = 2" in place.look("@cell:2")  # as it ran

    looked = threading.Event()

    def slow(reference: object, name: str) -> str:
        looked.wait()
        return ""

    monkeypatch.setattr(module, "SECONDS", 0.01)
    monkeypatch.setattr(References, "_variable", slow)
    assert place.look("@src/app.py") == ""
    looked.set()
    assert place.told == ["@src/app.py takes too long to look at: only its name goes out."]


# -- the budget --------------------------------------------------------------------------------


def test_all_of_them_share_one_budget_and_short_ones_stay_whole(place: Place) -> None:
    for name in ("one.txt", "two.txt"):
        (place.root / name).write_text("".join(f"line {n} of {name}\n" for n in range(5000)))
    said = place.look("compare @one.txt and @two.txt with @src/app.py")
    assert estimate(said) < BUDGET * 1.25
    one, two, app = said.split("\n\n- ")[1:] if said.count("\n\n- ") == 3 else ("", "", "")
    assert "print(os.name)" in app and CUT not in app
    assert one.endswith(CUT) and two.endswith(CUT)
    assert abs(estimate(one) - estimate(two)) < 40 and estimate(one) > BUDGET // 3


def test_one_long_line_is_cut_too() -> None:
    said = told([f"a.json, a file\n1: {'[1, 2], ' * 20_000}"])
    assert estimate(said) < BUDGET * 1.1 and CUT in said
    assert "[1, 2], [1, 2]" in said


def test_so_many_things_are_told_and_no_more(place: Place) -> None:
    place.names |= {f"v{n}": n for n in range(30)}
    said = place.look(" ".join(f"@v{n}" for n in range(30)))
    assert "@v19, a variable" in said and "v20" not in said
    assert place.told == ["Only the first 20 of 30 things after @ are described."]


def test_no_text_passes_for_another_one(place: Place) -> None:
    (place.root / "a.md").write_text("x\n\n- @df, a variable\n")
    said = place.look("@a.md")
    assert [line for line in said.split("\n") if line.startswith("- ")] == [
        "- a.md, a file, 21 B, 3 lines"
    ]


# -- in a kernel -------------------------------------------------------------------------------

ITEMS = "get_ipython()._shiro_extension.host.services.conversation.opened.session.items"
NOTES = f"[i.text for i in {ITEMS} if type(i).__name__ == 'Note']"


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("references")
    (folder / "notes.txt").write_text("first line\nsk-proj-" + "a1B2c3D4" * 6 + "\n")
    model = script(folder, says("look", "Looked."), says("slow", "Slowly.", delay=1))
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    with running_kernel(folder=folder, SHIRO_VIEW="text", **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        kernel.run("n = 41\nwords = ['a', 'b']")
        yield kernel


@pytest.mark.kernel
def test_a_cell_a_page_and_a_prompt_in_the_background_point_at_the_same(kernel: Kernel) -> None:
    def newest() -> str:
        return kernel.value(f"{NOTES}[-1]")

    assert kernel.run("%shiro look at @n", stdin=str).status == "ok"
    assert "- @n, a variable" in newest() and "41" in newest()
    kernel.run("%%shiro\nlook\nat @words and @notes.txt", stdin=str)
    said = newest()
    assert "- @words, a variable" in said and "1: first line" in said
    assert "a1B2c3D4" not in said and "[redacted" in said
    request = kernel.send("r = %shiro look at @words &")
    kernel.finish(request)
    kernel.later(request, "Looked.")
    assert "- @words, a variable" in newest() and "notes.txt" not in newest()
    kernel.run("n = 43")
    with page_of(kernel) as page:
        page.hello()
        page.settle()
        page.prompt("look at @n")
        page.ended("look at @n")
        assert "43" in newest()
        # A page that answers nothing: the cell is told as it ran.
        number = kernel.value("len(In) - 1")
        page.prompt(f"look at @cell:{number}")
        page.ended(f"look at @cell:{number}")
        assert f"which ran as [{number}]" in newest() and "len(In) - 1" in newest()
        page.request("bye")
    count = kernel.value(f"len({NOTES})")
    shown = kernel.run("%shiro look at @nothing", stdin=str)
    assert "@nothing is no file, variable or cell: sent as words." in shown.stdout
    assert kernel.value(f"len({NOTES})") == count


@pytest.mark.kernel
def test_a_cell_that_ran_is_told_by_its_number(kernel: Kernel) -> None:
    number = kernel.value("len(In) - 1")
    kernel.run(f"%shiro look at @cell:{number}", stdin=str)
    assert "len(In) - 1" in kernel.value(f"{NOTES}[-1]")
