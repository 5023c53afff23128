"""What Tab completes: in a line of ours what is typed there, and nothing of other completers."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from shiro_jupyter.kernel.completion import Completion
from tests.support.kernels import Kernel, interpreters, running_kernel
from tests.support.pages import page_of
from tests.support.scripts import says, script
from tests.support.terminals import ipython


class Offers:
    def models(self) -> Sequence[str]:
        return ("big-one", "small-one")

    def sessions(self) -> Sequence[str]:
        return ("01a", "01b")

    def paths(self, query: str) -> Sequence[str]:
        return [each for each in ("data/a b.csv", "data/") if each.startswith(query)]


def completed(before: str, *, host: bool = True) -> tuple[str, list[str]] | None:
    names: dict[str, object] = {"df": 1, "dg": 2, "_private": 3, "In": []}
    history = types.SimpleNamespace(input_hist_raw=["", "a = 1", " ", "b = 2"])
    shell = types.SimpleNamespace(
        user_ns=names, user_ns_hidden={"In": names["In"]}, history_manager=history
    )
    found = Completion(shell, lambda: Offers() if host else None)(before)
    return None if found is None else (found[0], list(found[1]))


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("%shiro --t", ("--t", ["--think"])),
        ("%shiro --think ", ("", ["off", "low", "medium", "high"])),
        ("%shiro --think=m", ("m", ["medium"])),
        ("x = %shiro -m ", ("", ["big-one", "small-one"])),
        ("%shiro --model s", ("s", ["small-one"])),
        ("%shiro -m small-one --pl", ("--pl", ["--plan"])),
        ("%shiro -r 01", ("01", ["01a", "01b"])),
        ("%shiro --base-url ", ("", [])),
        ("%shiro /mo", ("/mo", ["/model", "/mode"])),
        ("%shiro --plan /mo", ("/mo", ["/model", "/mode"])),
        ("%shiro /mode a", ("a", ["ask", "accept-edits"])),
        ("%shiro /model ", ("", ["big-one", "small-one"])),
        ("%shiro /resume ", ("", ["01a", "01b"])),
        ("%shiro /queue ", ("", ["edit", "remove", "now"])),
        ("%shiro /check --", ("--", ["--in-place", "--live"])),
        ("%shiro /fix ", ("", [])),
        ("%shiro /fix as in @d", ("@d", ["@df", "@dg", '@"data/a b.csv"', "@data/"])),
        ("%shiro /nothing ", ("", [])),
        ("%shiro look --", ("", [])),
        ("%shiro -- --t", ("", [])),
        ("%shiro look at d", ("", [])),
        ("%shiro look at @D", ("@D", ["@df", "@dg"])),
        ('%shiro look at @"data/a', ('@"data/a', ['@"data/a b.csv"'])),
        ("%shiro mend @cell:", ("@cell:", ["@cell:3", "@cell:1"])),
        ("%shiro mail me@d", ("", [])),
        ("a = 1\n%shiro --j", ("--j", ["--json"])),
        ("%%shiro --j", ("--j", ["--json"])),
        ("%%shiro\nlook at --t", ("", [])),
        ("%%shiro\nlook\nat @df", ("@df", ["@df"])),
        ("%remember d", ("d", ["decision"])),
        ("%remember --global go", ("go", ["gotcha"])),
        ("%remember the fa", ("fa", [])),
        ("%recall --", ("--", ["--why"])),
        ("%forget --g", ("--g", ["--global"])),
        ("%time %shiro --j", ("--j", ["--json"])),
        ("%shiro", None),
        ("%shiros --t", None),
        ("%%shiro", None),
        ("%time f --t", None),
        ("print('%shiro --t", None),
        ("# %shiro --t", None),
        ("%shiro look\nf(--t", None),
    ],
)
def test_what_is_completed_behind_what(before: str, found: tuple[str, list[str]] | None) -> None:
    assert completed(before) == found


def test_before_the_first_prompt_there_are_flags_commands_and_what_is_pointed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    assert completed("%shiro --t", host=False) == ("--t", ["--think"])
    assert completed("%shiro @no", host=False) == ("@no", ["@notes.txt"])
    assert completed("%shiro @df", host=False) == ("@df", ["@df"])
    assert completed("%shiro /mo", host=False) == ("/mo", ["/model", "/mode"])
    assert completed("%shiro /mode y", host=False) == ("y", ["yolo"])
    assert completed("%shiro -m ", host=False) == ("", [])


def test_a_check_is_offered_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("analysis.ipynb", "an.py", "deep/report 2.ipynb", ".hidden.ipynb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    flags = ["--in-place", "--live"]
    assert completed("%shiro /check ") == ("", [*flags, "analysis.ipynb", "deep/"])
    assert completed("%shiro /check --live an") == ("an", ["analysis.ipynb"])
    assert completed("%shiro /check deep/r") == ("deep/r", ["deep/report 2.ipynb"])
    assert completed("%shiro /check nowhere/") == ("nowhere/", [])


# -- in a kernel -------------------------------------------------------------------------------

EVIL = """
ran = []
class Evil:
    @property
    def trap(self): ran.append('property'); return 1
    def __dir__(self): ran.append('dir'); return ['trap']
    def __getattr__(self, name): ran.append(name); raise AttributeError(name)
evil = Evil()
import os; os.makedirs('src', exist_ok=True); open('src/app.py', 'w').close()
"""


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("completion")
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_MODEL": script(folder, says("hi", "Hello."))}
    with running_kernel(request.param, folder=folder, SHIRO_VIEW="text", **home) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        kernel.run(EVIL)
        yield kernel


def tab(kernel: Kernel, code: str) -> list[str]:
    """The cell's code with each completion in the place that it is for."""
    reply = kernel.client.complete(code, reply=True, timeout=30)["content"]
    start, end = reply["cursor_start"], reply["cursor_end"]
    return [code[:start] + each + code[end:] for each in reply["matches"]]


HOST = "get_ipython()._shiro_extension._host is None"


@pytest.mark.kernel
def test_tab_in_a_kernel_before_and_after_the_first_prompt(kernel: Kernel) -> None:
    assert tab(kernel, "%shiro --thi") == ["%shiro --think"]
    assert tab(kernel, "%shiro /con") == ["%shiro /connect", "%shiro /context"]
    assert tab(kernel, "%shiro look at @sr") == ["%shiro look at @src/"]
    assert kernel.value(f"{HOST}, 'pydantic' in __import__('sys').modules") == "(True, False)"
    assert "Hello." in kernel.run("%shiro hi", stdin=str).stdout
    modes = sorted(tab(kernel, "a = 1\nr = %shiro /mod"))
    assert modes == ["a = 1\nr = %shiro /mode", "a = 1\nr = %shiro /model"]
    assert tab(kernel, "%shiro @src/") == ["%shiro @src/app.py"]
    assert tab(kernel, "%%shiro\nlook at\n@evil") == [
        "%%shiro\nlook at\n@Evil",
        "%%shiro\nlook at\n@evil",
    ]
    assert tab(kernel, "%shiro -r ")[0].startswith("%shiro -r 0")
    (model,) = tab(kernel, "%shiro -m ")
    assert model.startswith("%shiro -m scripted:")


@pytest.mark.kernel
def test_words_of_a_prompt_complete_nothing_and_run_nothing(kernel: Kernel) -> None:
    kernel.run("ran.clear()")
    assert tab(kernel, "%shiro look at evil.") == []
    assert tab(kernel, "%shiro look at evi") == []
    assert tab(kernel, "%%shiro\nlook at evil.tr") == []
    assert kernel.value("ran") == "[]"
    assert "import" in " ".join(tab(kernel, "impor"))  # code is completed as ever


@pytest.mark.kernel
def test_a_page_is_told_what_an_at_may_mean(kernel: Kernel) -> None:
    kernel.run("%shiro hi", stdin=str)
    with page_of(kernel) as page:
        page.hello()
        page.settle()
        assert page.request("complete", text="look at @src/a") == {"ok": True}
        (event,) = page.until(lambda: page.of("completed"))
        assert event["of"] == "look at @src/a"
        assert event["options"] == [{"name": "src/app.py", "text": "look at @src/app.py "}]
        page.events.clear()
        page.request("complete", text="mail user@ev")
        (event,) = page.until(lambda: page.of("completed"))
        assert event["options"] == []


@pytest.mark.kernel
def test_unloading_takes_it_away(kernel: Kernel) -> None:
    matchers = "[m.matcher_identifier for m in get_ipython().Completer.custom_matchers]"
    assert kernel.value(matchers) == "['shiro']"
    kernel.run("%reload_ext shiro_jupyter")
    assert kernel.value(matchers) == "['shiro']"
    kernel.run("%unload_ext shiro_jupyter")
    try:
        assert kernel.value(matchers) == "[]"
    finally:
        kernel.run("%load_ext shiro_jupyter")


@pytest.mark.kernel
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_tab_in_a_terminal(tmp_path: Path) -> None:
    home = {"SHIRO_HOME": str(tmp_path / "home")}
    home["SHIRO_MODEL"] = script(tmp_path, says("hello", "Hello, you."))
    with ipython(prompt_toolkit=True, folder=tmp_path, **home) as terminal:
        terminal.run("%load_ext shiro_jupyter", 2)
        terminal.child.send("%shiro --thin\t")
        terminal.until("thin")
        terminal.until("k")  # which Tab adds
        assert "Hello, you." in terminal.run(" low hello", 3)
