"""The page applies a patch as the kernel means it: `patch.ts` against `views/patch.py`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shiro_jupyter.views.patch import diff
from tests.support.node import bundled

pytestmark = pytest.mark.node

# Few letters, so that texts begin alike; some of two UTF-16 units, whose first halves are equal.
# Long, since of a short one nothing is taken off.
TEXTS = st.text("ab\u00e9\u20ac\U0001f600\U0001f601", max_size=6).map(lambda text: text * 5)
KEYS = st.sampled_from(["x", "y", "0", "=", "length", "toString"])
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)

Apply = Callable[[Any, Any], Any]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Any, Any]:
    """A value and one that was made of it, as a turn goes on."""
    old = draw(TREES)
    return old, _changed(draw, old)


def _changed(draw: st.DrawFn, value: Any) -> Any:
    match draw(st.sampled_from(["same", "other", "within", "within"])), value:
        case "same", _:
            return value
        case "within", str():
            return value[: draw(st.integers(0, len(value)))] + draw(TEXTS)
        case "within", list():
            kept = value[: draw(st.integers(0, len(value)))]
            return [_changed(draw, each) for each in kept] + draw(st.lists(TREES, max_size=2))
        case "within", dict():
            changed = {key: _changed(draw, each) for key, each in value.items()}
            return changed | draw(st.dictionaries(KEYS, TREES, max_size=1))
    return draw(TREES)


@pytest.fixture(scope="module")
def apply(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apply]:
    """Applies a patch in one process of node, which answers `[after, untouched, kept]`."""
    source = Path(__file__).with_name("applies.mjs")
    command = bundled(source, tmp_path_factory.mktemp("page"))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdin and process.stdout
        asked, answered = process.stdin, process.stdout

        def apply(value: Any, patch: Any) -> Any:
            asked.write(json.dumps([value, patch]) + "\n")
            asked.flush()
            return json.loads(answered.readline())

        yield apply


def canonical(value: Any) -> str:
    """Equal only for values that are equal in type, too: true is not 1."""
    return json.dumps(value, sort_keys=True)


@settings(deadline=None, max_examples=500)
@given(pairs())
@example(("<p>Hello, \U0001f600</p>", "<p>Hello, \U0001f601!</p>"))
def test_the_page_makes_what_the_kernel_means(apply: Apply, pair: tuple[Any, Any]) -> None:
    old, new = pair
    after, untouched, kept = apply(old, diff(old, new))
    assert canonical(after) == canonical(new)
    assert untouched, "the value from before was changed"
    assert kept, "what is equal is another object"


def test_a_replacement_keeps_what_is_equal(apply: Apply) -> None:
    turn = {"answer": ["<p>a</p>"], "work": [{"id": "1", "output": "x"}, {"id": "2"}]}
    changed = {"answer": ["<p>a</p>"], "work": [{"id": "1", "output": "x"}, {"id": "3"}]}
    assert apply(turn, {"=": changed}) == [changed, True, True]


@pytest.mark.parametrize(
    ("value", "patch"),
    [
        (1, {"+": "x"}),
        ("ab", {"-": 3, "+": ""}),
        ("ab", {"o": {"a": {"=": 1}}}),
        (None, {"o": {}, "n": 0}),
        ([1], {"o": {"2": {"=": 1}}, "n": 2}),
        ([1], {"o": {}, "n": 3}),
        ({"a": 1}, {"o": {"b": {"+": "x"}}}),
    ],
)
def test_a_patch_for_another_value_is_refused(apply: Apply, value: Any, patch: Any) -> None:
    assert "Error" in apply(value, patch)["error"]
