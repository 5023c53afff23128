"""The prompt made of an error."""

from __future__ import annotations

import types
from collections.abc import Callable

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.kernel.fix import names_in, prompt_of_error
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.privacy import Privacy

SOURCE = "total = price * amount\nprint(total)\nfor _x in rows: pass"


class Told(Namespace):
    """A namespace that says of each of its names what a test wants."""

    def __init__(
        self, names: dict[str, object], told: Callable[[str], str], private: Private | None = None
    ) -> None:
        shell = types.SimpleNamespace(user_ns=names, user_ns_hidden={})
        super().__init__(shell, Privacy(shell, private or Private()))
        object.__setattr__(self, "inspect", told)


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
    prompt = prompt_of_error(error, source, Told({"first": 1}, lambda name: name * 10_000))
    assert len(prompt) < 10_000
    for kept in ("begin", "end", "first = 1", "last = 2", "characters left out"):
        assert kept in prompt


def test_the_persons_words_come_first() -> None:
    prompt = prompt_of_error(raised("1/0"), "1/0", Told({}, str), "only explain it")
    assert prompt.startswith("only explain it\n")
    assert "ZeroDivisionError" in prompt


def test_a_variable_that_cannot_be_read_does_not_hide_the_error() -> None:
    def describe(name: str) -> str:
        if name == "odd":
            raise ToolFailed("odd could not be read.")
        return f"{name}: int"

    prompt = prompt_of_error(raised("1/0"), "odd / even", Told({"odd": 1, "even": 2}, describe))
    assert "ZeroDivisionError" in prompt
    assert prompt.endswith("odd could not be read.\neven: int")


def test_an_error_tells_neither_values_nor_private_names_where_there_are_any() -> None:
    error = raised("salaries = 918273\nraise ValueError(f'{salaries} is too much')")
    source = "check(salaries)"
    for private in (Private(("salaries",)), Private(schema_only=True)):
        prompt = prompt_of_error(error, source, Told({}, str, private))
        assert "ValueError" in prompt and "918273" not in prompt and "too much" not in prompt
    assert "salaries" not in prompt_of_error(error, source, Told({}, str, Private(("sal*",))))
    assert "918273 is too much" in prompt_of_error(error, source, Told({}, str))
