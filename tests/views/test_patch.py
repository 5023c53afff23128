from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.views.patch import diff
from tests.support.patches import applied

# Few letters, so that texts begin alike; some of two UTF-16 units, whose first halves are equal.
TEXTS = st.text("ab\u00e9\u20ac\U0001f600\U0001f601", max_size=12)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Equal also in type: true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(TREES, TREES)
def test_a_patch_makes_the_new_value_of_the_old(old: Any, new: Any) -> None:
    before = json.dumps(old)
    patch = diff(old, new)
    assert same(applied(old, json.loads(json.dumps(patch))), new)
    assert (patch is None) is same(old, new)
    assert json.dumps(old) == before


@given(TEXTS, TEXTS, TEXTS)
def test_texts_that_begin_alike(start: str, old: str, new: str) -> None:
    start *= 5
    patch = diff(start + old, start + new)
    assert applied(start + old, patch) == start + new
    if patch:
        text = patch.get("+", "")
        text.encode("utf-8")  # no half of a pair
        assert len(json.dumps(patch)) <= len(json.dumps({"=": start + new}))


@given(TREES)
def test_an_equal_value_is_no_patch(value: Any) -> None:
    assert diff(value, value) is None
    assert diff(value, json.loads(json.dumps(value))) is None


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ("Hello", "Hello, world", {"+": ", world"}),
        ("<p>Hello</p>", "<p>Hello, world</p>", {"-": 4, "+": ", world</p>"}),
        ("<p>Hello \U0001f600</p>", "<p>Hello \U0001f601</p>", {"-": 6, "+": "\U0001f601</p>"}),
        ("a long common beginning, cut", "a long common beginning", {"-": 5, "+": ""}),
        # Taken off and appended, this would be longer.
        ("ab", "ac", {"=": "ac"}),
        ("", "new", {"=": "new"}),
        (True, 1, {"=": 1}),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}, {"o": {"b": {"=": 3}, "c": {"=": 4}}}),
        ({"a": 1, "b": 2}, {"a": 1}, {"=": {"a": 1}}),
        (["x", "y"], ["x"], {"o": {}, "n": 1}),
        (["x"], ["xy", "z"], {"o": {"0": {"+": "y"}, "1": {"=": "z"}}, "n": 2}),
        ([], {}, {"=": {}}),
    ],
)
def test_the_forms_of_a_patch(old: Any, new: Any, patch: dict[str, Any]) -> None:
    assert diff(old, new) == patch
    assert applied(old, patch) == new


def test_parts_that_are_the_same_object_are_not_looked_at() -> None:
    class Unread(dict[str, Any]):
        def keys(self) -> Any:
            raise AssertionError("read")

    part = Unread(a=1)
    assert diff({"kept": part, "text": "a"}, {"kept": part, "text": "ab"}) == {
        "o": {"text": {"+": "b"}}
    }
    with pytest.raises(AssertionError, match="read"):
        diff({"kept": part}, {"kept": Unread(a=1)})
