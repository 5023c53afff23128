"""The prompt made of an error."""

from __future__ import annotations

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.kernel.fix import names_in, prompt_of_error

SOURCE = "total = price * amount\nprint(total)\nfor _x in rows: pass"


def raised(code: str) -> BaseException:
    try:
        exec(code)
    except BaseException as error:
        return error
    raise AssertionError("it did not raise")


def test_names_are_those_of_the_cell_that_live() -> None:
    namespace = {"price": 1, "rows": [], "other": 2, "_x": 3, "print": print}
    assert names_in(SOURCE, namespace) == ["price", "rows"]
    assert names_in("price ++", namespace) == ["price"]  # does not parse
    many = {f"name{n}": n for n in range(100)}
    assert len(names_in(" + ".join(many), many)) == 20


def test_the_prompt_is_bounded_and_keeps_both_ends() -> None:
    error = raised("raise ValueError('begin' + 'x' * 50_000 + 'end')")
    source = "first = 1\n" + "pass\n" * 10_000 + "last = 2"
    prompt = prompt_of_error(error, source, {"first": 1}, lambda name: name * 10_000)
    assert len(prompt) < 10_000
    for kept in ("begin", "end", "first = 1", "last = 2", "characters left out"):
        assert kept in prompt


def test_the_persons_words_come_first() -> None:
    prompt = prompt_of_error(raised("1/0"), "1/0", {}, str, "only explain it")
    assert prompt.startswith("only explain it\n")
    assert "ZeroDivisionError" in prompt


def test_a_variable_that_cannot_be_read_does_not_hide_the_error() -> None:
    def describe(name: str) -> str:
        if name == "odd":
            raise ToolFailed("odd could not be read.")
        return f"{name}: int"

    prompt = prompt_of_error(raised("1/0"), "odd / even", {"odd": 1, "even": 2}, describe)
    assert "ZeroDivisionError" in prompt
    assert prompt.endswith("odd could not be read.\neven: int")
