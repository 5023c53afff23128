"""What the transformers make of a cell, without a kernel."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell

from shiro_jupyter.kernel.transformer import awaited, verbatim_cell
from tests.support.prompts import PROMPTS


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "shiro_jupyter")
    yield shell
    shell.run_line_magic("unload_ext", "shiro_jupyter")
    InteractiveShell.clear_instance()


def calls(source: str) -> list[tuple[Any, ...]]:
    """The literal arguments of each magic call of the cell."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="run_line_magic" | "run_cell_magic")):
                found.append(tuple(ast.literal_eval(each) for each in node.args))
    return found


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("before", ["", "x = ", "    ", "a = b['k'] = ", "x: int = "])
def test_a_line_arrives_as_typed(shell: InteractiveShell, prompt: str, before: str) -> None:
    block = "if True:\n" if before.isspace() else ""
    source = shell.transform_cell(f"{block}{before}%shiro {prompt}\nprint('after?')")
    assert calls(source) == [("shiro", prompt.strip())]
    assert source.rstrip().endswith("print('after?')")


@pytest.mark.parametrize(
    "before",
    [
        "x[\n0] = ",
        "(a,\n b) = ",
        "s = '''a\nb'''; e = ",
        "x = \\\n",
        "d = dict(\n a=1,\n); e = ",
    ],
)
def test_the_statement_may_begin_on_an_earlier_line(shell: InteractiveShell, before: str) -> None:
    source = shell.transform_cell(f"{before}%shiro it's what?\nprint('after?')")
    assert calls(source) == [("shiro", "it's what?")]
    assert source.startswith(before) and source.rstrip().endswith("print('after?')")


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_cell_arrives_as_typed(shell: InteractiveShell, prompt: str) -> None:
    body = f"  first {prompt}\n>>> df.head()\n\n%time x?\n{prompt}"
    source = shell.transform_cell(f"\n%%shiro -q\n{body}\n\n")
    assert calls(source) == [("shiro", "-q", body.rstrip())]


# Python 3.12 and newer read no source that holds a NUL.
@given(text=st.text(st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"])))
@settings(max_examples=200)
def test_any_line_arrives_as_typed(shell: InteractiveShell, text: str) -> None:
    source = shell.transform_cell(f"%shiro q{text}\n" if text[:1].isspace() else f"%shiro {text}")
    if text[:1].isspace():
        return  # another magic's name, or ours alone
    assert calls(source) == [("shiro", text.strip())]


@pytest.mark.parametrize("name", ["shiro", "remember", "recall", "forget", "todos"])
def test_every_magic_of_ours_is_taken_verbatim(shell: InteractiveShell, name: str) -> None:
    assert calls(shell.transform_cell(f"%{name} what is $x, {{y}} and z?")) == [
        (name, "what is $x, {y} and z?")
    ]


def test_what_stands_in_strings_and_other_bodies_is_left_alone(shell: InteractiveShell) -> None:
    source = 's = """\n%shiro what?\n"""\nt = "%shiro x"\nu = 5 %shiro\n'
    assert shell.transform_cell(source) == source
    body = "%shiro what?\n"
    assert calls(shell.transform_cell(f"%%bash\n{body}")) == [("bash", "", body)]


@pytest.mark.parametrize("line", ["%shiro?", "%shiro??", "%%shiro?"])
def test_help_is_left_to_ipython(shell: InteractiveShell, line: str) -> None:
    assert "pinfo" in shell.transform_cell(line)


def test_other_special_syntax_of_the_cell_still_works(shell: InteractiveShell) -> None:
    source = shell.transform_cell(
        "!echo it's\n%shiro it's \"odd\nfiles = !ls\n%time 1\n%shiro again (\ndf.x?\n"
    )
    assert [each for each in calls(source) if each[0] == "shiro"] == [
        ("shiro", "it's \"odd"),
        ("shiro", "again ("),
    ]
    assert 'system("echo it\'s")' in source
    assert "getoutput('ls')" in source
    assert "'pinfo', 'df.x'" in source


def test_timing_lines_carry_the_prompt_too(shell: InteractiveShell) -> None:
    [(name, _, timed)] = calls(shell.transform_cell("%time %shiro why?"))
    assert (name, calls(timed)) == ("time", [("shiro", "why?")])
    assert calls(shell.transform_cell("%timeit %shiro why?")) == [("timeit", "%shiro why?")]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_timed_prompt_arrives_as_typed(
    shell: InteractiveShell,
    prompt: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Host:
        prompt = staticmethod(lambda line, cell: line)

    monkeypatch.setattr(shell._shiro_extension, "_host", Host)
    shell.run_cell(f"%time r = %shiro {prompt}").raise_error()
    assert shell.user_ns["r"] == prompt.strip()
    assert "Wall time" in capsys.readouterr().out


def test_a_statement_has_no_value_and_an_assignment_has(shell: InteractiveShell) -> None:
    assert shell.transform_cell("%shiro a").rstrip().endswith(" and None")
    assert not shell.transform_cell("r = %shiro a").rstrip().endswith("None")


def test_a_terminal_goes_on_asking_for_the_lines_of_a_cell(shell: InteractiveShell) -> None:
    manager = shell.input_transformer_manager
    assert manager.check_complete("%%shiro\nfirst line")[0] == "incomplete"
    assert manager.check_complete("%%shiro\nfirst line\n\n")[0] == "complete"
    assert manager.check_complete("%shiro what's this?")[0] == "complete"


def test_a_cell_magic_of_another_name_is_left_alone() -> None:
    lines = ["%%shirota\n", "x\n"]
    assert verbatim_cell(lines) is lines


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{c}\n", "{a}\n"),
        ("x = {c}\n", "x = {a}\n"),
        ("for i in y:\n    {c}\n", "for i in y:\n    {a}\n"),
        (
            "try:\n    'ä'; x = {c}\nfinally:\n    {c}\n",
            "try:\n    'ä'; x = {a}\nfinally:\n    {a}\n",
        ),
        ("print({c}.answer)\n", "print({a}.answer)\n"),
        ("def f():\n    {c}\n", None),
        ("async def f():\n    {c}\n", None),
        ("class A:\n    {c}\n", None),
        ("f = lambda: {c}\n", None),
        ("x = [{c} for i in y]\n", None),
        ("x = 1 +\n{c}\n", None),
    ],
)
def test_await_goes_where_it_may_stand(source: str, expected: str | None) -> None:
    call = "get_ipython().run_line_magic('shiro', 'é\\n?')"
    await_call = "(await get_ipython().run_line_magic('shiro_async', 'é\\n?'))"
    lines = source.replace("{c}", call).splitlines(keepends=True)
    wanted = (expected or source).replace("{c}", call).replace("{a}", await_call)
    assert "".join(awaited(lines)) == wanted


def test_nothing_is_awaited_outside_an_execute_request(shell: InteractiveShell) -> None:
    assert "await" not in shell.transform_cell("%shiro x")


def test_a_hundred_kilobytes_take_no_time_to_speak_of(shell: InteractiveShell) -> None:
    words = random.Random(1).choices(["why?", "it's", '"', "{", "$x", "%shiro", "(", "é"], k=30_000)
    prompt = " ".join(words)
    assert len(prompt) > 100_000
    assert calls(shell.transform_cell(f"%shiro {prompt}")) == [("shiro", prompt)]
