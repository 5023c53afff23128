from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from shiro_jupyter.kernel.own_words import own_words
from tests.support.hostile_names import armed, hostile_class

# Under load a thread may start late; what hangs would hang for longer than any test.
SECONDS = 30.0


class Basket:
    def __init__(self, items: int) -> None:
        self.items = items

    def _repr_shiro_(self) -> str:
        return f"{self.items} items"


def test_a_class_says_what_its_objects_are() -> None:
    assert own_words(Basket(3), SECONDS) == "3 items"
    assert own_words(object(), SECONDS) == ""

    class Large(Basket):
        pass

    assert own_words(Large(9), SECONDS) == "9 items"


def test_it_is_looked_for_on_the_type_alone() -> None:
    class Plain:
        pass

    plain: Any = Plain()
    plain._repr_shiro_ = lambda: "of the object"
    assert own_words(plain, SECONDS) == ""

    class Property:
        @property
        def _repr_shiro_(self) -> str:
            raise AssertionError("a property was asked")

    class Dynamic:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} was looked up")

    class Waiting:
        async def _repr_shiro_(self) -> str:
            raise AssertionError("it ran")

    class Making:
        def _repr_shiro_(self) -> Iterator[str]:
            yield "no"

    class Callable:
        class Said:
            def __call__(self) -> str:
                raise AssertionError("it ran")

            def __eq__(self, other: object) -> bool:
                raise AssertionError("it was compared")

        _repr_shiro_ = Said()

    for each in (Property(), Dynamic(), Waiting(), Making(), Callable(), Property):
        assert own_words(each, SECONDS) == ""


def test_a_hostile_class_with_own_words_is_asked_for_them_alone() -> None:
    cls = hostile_class("raises")
    type.__setattr__(cls, "_repr_shiro_", lambda self: "mine")
    value = object.__new__(cls)
    with armed() as called:
        assert own_words(value, SECONDS) == "mine"
    assert not called


class Raising:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def _repr_shiro_(self) -> str:
        raise self.error


class Unreadable(Exception):
    def __str__(self) -> str:
        raise AssertionError("its text was asked for")


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyboardInterrupt(), SystemExit(1), Unreadable(), RecursionError()]
)
def test_an_error_is_told_by_its_name(error: BaseException) -> None:
    said = own_words(Raising(error), SECONDS)
    assert said == f"its _repr_shiro_ failed ({type(error).__name__})"


def test_what_is_no_text_is_said_to_be_none() -> None:
    class Text(str):
        def __str__(self) -> str:
            raise AssertionError("it was asked")

    class Wrong:
        def __init__(self, given: object) -> None:
            self.given = given

        def _repr_shiro_(self) -> Any:
            return self.given

    assert own_words(Wrong(None), SECONDS) == "its _repr_shiro_ gave NoneType, not str"
    assert own_words(Wrong([1]), SECONDS) == "its _repr_shiro_ gave list, not str"
    assert own_words(Wrong(Text("x")), SECONDS).endswith("Text, not str")


def test_one_that_hangs_holds_nothing_up_and_is_not_asked_again_meanwhile() -> None:
    end, asked = threading.Event(), []

    class Hanging:
        def _repr_shiro_(self) -> str:
            asked.append(threading.current_thread())
            end.wait(SECONDS)
            return "at last"

    try:
        assert own_words(Hanging(), 0.05) == "its _repr_shiro_ takes too long"
        for _ in range(3):
            assert own_words(Hanging(), SECONDS) == (
                "its _repr_shiro_, asked before, has not come back yet"
            )
        assert own_words(Basket(1), SECONDS) == "1 items"
        assert len(asked) == 1 and asked[0].daemon
    finally:
        end.set()
        asked[0].join()
    # It has come back: it may be asked again.
    assert own_words(Hanging(), SECONDS) == "at last"


def test_no_time_left_is_nothing_asked() -> None:
    class Counting:
        def _repr_shiro_(self) -> str:
            raise AssertionError("it was asked")

    assert own_words(Counting(), 0) == ""
    assert own_words(Counting(), -1) == ""


def test_it_runs_on_a_thread_of_its_own() -> None:
    class Where:
        def _repr_shiro_(self) -> str:
            return threading.current_thread().name

    assert own_words(Where(), SECONDS) == "shiro _repr_shiro_"
    started = time.monotonic()
    assert own_words(Where(), SECONDS)
    assert time.monotonic() - started < SECONDS
