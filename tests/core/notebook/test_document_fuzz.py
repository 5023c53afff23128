"""Notebook files in any spelling, any edits one after another, and bytes that are damaged."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.errors import BrokenNotebook, EditRefused, ToolFailed
from shiro_jupyter.core.notebook.document import NotebookText
from shiro_jupyter.core.notebook.shown import cells_as_text, cells_text, outline
from tests.support.json_spans import spans
from tests.support.notebooks import Json, damaged

BLANKS = ("", "", "", " ", "\n", "\r\n", "\t", "\n   ")
# What stored files hold, halves of characters too, and what a model may write.
anything = st.text(st.characters(exclude_categories=()), max_size=30)
whole = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def cells(draw: st.DrawFn, ids: bool) -> list[Json]:
    made = []
    for at in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["code", "markdown", "raw", "odd"]))
        text = draw(anything)
        cell: Json = {
            "cell_type": kind,
            "metadata": draw(st.dictionaries(anything, values, max_size=2)),
            "source": draw(st.sampled_from([text, text.splitlines(True), [*text]])),
        }
        if ids and draw(st.integers(0, 5)):
            cell["id"] = f"id-{at}"
        if kind == "code":
            cell["outputs"] = draw(st.lists(st.dictionaries(anything, values, max_size=2)))
            cell["execution_count"] = draw(st.none() | st.integers(0, 99))
        made.append(cell)
    return made


@st.composite
def files(draw: st.DrawFn) -> bytes:
    minor = draw(st.integers(0, 6))
    value = {
        "metadata": draw(st.dictionaries(anything, values, max_size=2)),
        "cells": draw(cells(minor >= 5)),
        "nbformat": 4,
        "nbformat_minor": minor,
        "more": draw(values),
    }
    random = Random(draw(st.integers(0, 9_999)))
    if draw(st.booleans()):
        return spelled(dict(random.sample([*value.items()], len(value))), random).encode()
    return json.dumps(
        value,
        indent=draw(st.sampled_from([None, 0, 1, 2, "\t"])),
        ensure_ascii=draw(st.booleans()) or _has_halves(value),
        sort_keys=draw(st.booleans()),
    ).encode()


def _has_halves(value: Any) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in json.dumps(value, ensure_ascii=False))


def spelled(value: Any, random: Random) -> str:
    """JSON with blanks wherever there can be some, and letters as any of their escapes."""

    def blank() -> str:
        return random.choice(BLANKS)

    def letter(one: str) -> str:
        plain = json.dumps(one, ensure_ascii="\ud800" <= one <= "\udfff")[1:-1]
        if one <= "\uffff" and not random.randrange(5):
            return f"\\u{ord(one):04{random.choice('xX')}}"
        return "\\/" if one == "/" and random.randrange(2) else plain

    def written(one: Any) -> str:
        if isinstance(one, dict):
            pairs = (
                f"{blank()}{written(key)}{blank()}:{blank()}{written(value)}{blank()}"
                for key, value in one.items()
            )
            return f"{{{','.join(pairs) or blank()}}}"
        if isinstance(one, list):
            items = (f"{blank()}{written(item)}{blank()}" for item in one)
            return f"[{','.join(items) or blank()}]"
        if isinstance(one, str):
            return f'"{"".join(map(letter, one))}"'
        return json.dumps(one)

    return f"{blank()}{written(value)}{blank()}"


class Model:
    """What a notebook must hold, as plain values."""

    def __init__(self, data: bytes) -> None:
        self.value = json.loads(data)
        self.cells: list[Json] = self.value["cells"]

    def holds(self, data: bytes) -> bool:
        return self._plain(self.value) == self._plain(json.loads(data))

    @staticmethod
    def _plain(value: Json) -> str:
        cells = [each | {"source": "".join(each["source"])} for each in value["cells"]]
        return json.dumps(value | {"cells": cells}, sort_keys=True)


def edited(read: NotebookText, model: Model, draw: st.DrawFn) -> NotebookText:
    """One edit of the notebook, and the same of the model."""
    count = len(model.cells)
    kind = draw(
        st.sampled_from(["insert", "replace", "delete", "move", "run"] if count else ["insert"])
    )
    at = draw(st.integers(0, max(count - 1, 0)))
    ref = str(at + 1)
    source = draw(whole)
    if kind == "insert":
        place: Any = draw(st.sampled_from([{}, {"after": ref}, {"before": ref}] if count else [{}]))
        to = count if not place else at + ("after" in place)
        metadata = draw(st.dictionaries(anything, st.integers(), max_size=2))
        done, name = read.insert(source, type="markdown", metadata=metadata, **place)
        new: Json = {"cell_type": "markdown", "metadata": metadata, "source": source}
        model.cells.insert(to, new | ({"id": name} if read.has_ids else {}))
        assert done.cells[to].source == source
        text = read.data.decode()
        if count or text[slice(*spans(text, 1)["cells",])] == "[]":
            assert done.delete(name if read.has_ids else str(to + 1)).data == read.data
        return done
    if kind == "replace":
        model.cells[at]["source"] = source
        return read.replace(ref, source, was=read.cells[at].source)
    if kind == "delete":
        del model.cells[at]
        return read.delete(ref)
    if kind == "move":
        after = draw(st.none() | st.integers(0, count - 1).filter(lambda other: other != at))
        order = [n for n in range(count) if n != at]
        order.insert(0 if after is None else order.index(after) + 1, at)
        model.cells[:] = [model.cells[n] for n in order]
        return read.move(ref, after=None if after is None else str(after + 1))
    outputs = draw(st.lists(st.dictionaries(anything, values, max_size=2), max_size=2))
    if model.cells[at]["cell_type"] == "code":
        model.cells[at] |= {"outputs": outputs, "execution_count": 7}
        return read.with_outputs(ref, outputs, 7)
    return read


@given(files(), st.data())
@settings(max_examples=150, deadline=None)
def test_any_edits_of_any_file_do_what_they_do_to_plain_values(
    data: bytes, choices: st.DataObject
) -> None:
    read, model = NotebookText.parse(data), Model(data)
    assert model.holds(read.data)
    for _ in range(choices.draw(st.integers(1, 5))):
        read = edited(read, model, choices.draw)
        assert model.holds(read.data)
        assert [cell.source for cell in read.cells] == ["".join(c["source"]) for c in model.cells]


@given(damaged())
@settings(max_examples=300, deadline=None)
def test_a_damaged_file_is_read_or_refused_and_nothing_else(data: bytes) -> None:
    cells_as_text(data.decode(errors="replace"))
    try:
        read = NotebookText.parse(data)
    except BrokenNotebook as error:
        assert str(error).endswith(".")
        return
    assert read.data == data
    assert outline(read.cells).count("\n") == max(len(read.cells) - 1, 0)
    cells_text(read.cells)
    for at in range(len(read.cells)):
        try:
            assert read.replace(str(at + 1), "x").find(str(at + 1)).source == "x"
            assert len(read.delete(str(at + 1)).cells) == len(read.cells) - 1
            read.with_outputs(str(at + 1), [], None)
            read.move(str(at + 1), after=None)
        except ToolFailed as error:
            assert isinstance(error, EditRefused) or "id" in str(error)
