"""Where values of a notebook's text stand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shiro_jupyter.core.notebook.scan import Object, scan
from tests.support import notebooks
from tests.support.json_spans import spans

FILES = notebooks.own() | notebooks.public()


def plain(value: Any) -> Any:
    if isinstance(value, Object):
        return {key: plain(inner) for key, inner in value.values().items()}
    return [*map(plain, value)] if isinstance(value, tuple) else value


@pytest.mark.parametrize("name", sorted(FILES))
def test_values_and_places_are_those_of_the_text(name: str) -> None:
    text = FILES[name].decode("utf-8-sig")
    root = scan(text)
    assert json.dumps(plain(root)) == json.dumps(json.loads(text)) or "twice" in name
    assert json.dumps(plain(root), sort_keys=True) == json.dumps(json.loads(text), sort_keys=True)
    found = {(): (root.start, root.end)}
    for key, member in root.members.items():
        assert json.loads(text[member.key : member.key_end]) == key
        found[key,] = (member.start, member.end)
        if key == "cells":
            for at, cell in enumerate(member.value):
                found["cells", at] = (cell.start, cell.end)
                for inner, part in cell.members.items():
                    found["cells", at, inner] = (part.start, part.end)
    there = spans(text)
    assert found.items() <= there.items()
    assert {path for path in there if path[:1] == ("cells",)} == {
        path for path in found if path[:1] == ("cells",)
    }


@pytest.mark.parametrize(
    "text", ["1", ' "a" ', "[1, {}]", '{"cells": {"a": [1]}}', '{"cells": [1, [2], {}]}', "{ }"]
)
def test_json_that_is_no_notebook_is_read_as_json_is(text: str) -> None:
    assert plain(scan(text)) == json.loads(text)


@pytest.mark.parametrize("text", ["", "{", "{]", "[}", '{"cells": [{]}', '{"cells": [}', "1 1"])
def test_what_is_no_json_is_none_here_either(text: str) -> None:
    with pytest.raises(json.JSONDecodeError) as theirs:
        json.loads(text)
    with pytest.raises(json.JSONDecodeError) as ours:
        scan(text)
    assert ours.value.pos == theirs.value.pos
