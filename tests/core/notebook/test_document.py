"""Edits of notebook files: what nobody asked for stays byte for byte as it was."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from shiro_jupyter.core.errors import BrokenNotebook, EditRefused, ToolFailed
from shiro_jupyter.core.notebook.document import Cell, NotebookText
from tests.support import notebooks
from tests.support.json_spans import spans
from tests.support.notebooks import STREAM, cell, notebook, stored

OWN = notebooks.own()
FILES = OWN | notebooks.public()
# Those of the public files that are no notebook of format 4; one more shares ids, and is read only.
BROKEN = {
    f"nbformat/{name}.ipynb"
    for name in (
        *("no_min_version", "test2", "test3", "test3_no_metadata", "test3_no_min_version"),
        *("test3_no_worksheets", "test3_worksheet_with_no_cells"),
    )
}
SHARED = "nbformat/invalid_unique_cell_id.ipynb"
EDITABLE = sorted(set(FILES) - BROKEN - {SHARED})
SOURCE = 'print("Ω≈ç\\n", 日本)\n\n# 😀\\u00e9'


class Cut:
    """A file and the places of what is in it, found by another way than the product's."""

    def __init__(self, data: bytes) -> None:
        self.mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        self.text = data.removeprefix(self.mark).decode()
        self.spans = spans(self.text)
        self.count = sum(len(path) == 2 and path[0] == "cells" for path in self.spans)

    def cell(self, at: int) -> tuple[int, int]:
        return self.spans["cells", at]

    def raw(self) -> list[str]:
        return [self.text[slice(*self.cell(at))] for at in range(self.count)]

    def around(self) -> list[str]:
        """What stands before, between and behind the cells."""
        start, end = self.spans[("cells",)]
        edges = [start + 1, *(at for n in range(self.count) for at in self.cell(n)), end - 1]
        between = [
            self.text[here:there] for here, there in zip(edges[::2], edges[1::2], strict=True)
        ]
        return [self.text[:start], *between, self.text[end:]]


def places(count: int) -> list[int]:
    """Of so many the first, one in the middle, and the last."""
    return sorted({0, count // 2, count - 1}) if count else []


def ref(read: NotebookText, at: int) -> str:
    return read.cells[at].id or str(at + 1)


def value(text: str) -> Any:
    return json.loads(text)


def alike(one: Any, other: Any) -> bool:
    """By text, since no number is equal to itself."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize("name", sorted(set(FILES) - BROKEN))
def test_a_file_is_read_as_json_has_it(name: str) -> None:
    read = NotebookText.parse(FILES[name])
    raw = json.loads(FILES[name].decode("utf-8-sig"))
    assert read.data == FILES[name]
    assert read.format == (raw["nbformat"], raw["nbformat_minor"])
    assert len(read.cells) == len(raw["cells"])
    for number, (got, had) in enumerate(zip(read.cells, raw["cells"], strict=True), start=1):
        source = had.get("source", "")
        assert got.number == number
        assert got.source == (source if isinstance(source, str) else "".join(source))
        assert (got.type, got.execution_count) == (had["cell_type"], had.get("execution_count"))
        assert got.id == (had.get("id") if read.format >= (4, 5) else None)
        assert alike(got.outputs, had.get("outputs", []))
        assert got.metadata == had["metadata"]


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_file_of_an_older_format_is_refused(name: str) -> None:
    with pytest.raises(
        BrokenNotebook, match=r"in nbformat [23], .* converts it\.$|say its nbformat"
    ):
        NotebookText.parse(FILES[name])


@pytest.mark.parametrize("name", EDITABLE)
def test_an_insert_adds_one_piece_and_its_delete_takes_it_out(name: str) -> None:
    old = NotebookText.parse(FILES[name])
    cut = Cut(old.data)
    for at in places(cut.count + 1):
        place = {"after": ref(old, at - 1)} if at else {}
        if not at and cut.count:
            place = {"before": ref(old, 0)}
        new, name_of_new = old.insert(SOURCE, metadata={"shiro": {"turn": 1}}, **place)
        done = Cut(new.data)
        assert done.raw() == [*cut.raw()[:at], done.raw()[at], *cut.raw()[at:]]
        # One piece more, with the comma before or behind it; the rest is the old file.
        position = done.cell(at)[0] if at == 0 else cut.cell(at - 1)[1]
        if cut.count:
            length = len(done.text) - len(cut.text)
            assert done.text[:position] + done.text[position + length :] == cut.text
            piece = done.text[position : position + length].replace(done.raw()[at], "", 1)
            assert re.fullmatch(r"\s*,\s*", piece)
        else:
            assert (done.around()[0], done.around()[-1]) == (cut.around()[0], cut.around()[-1])
        added = value(done.raw()[at])
        assert "".join(added.pop("source")) == SOURCE
        assert added.pop("id", None) == (name_of_new if old.has_ids else None)
        assert added == {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {"shiro": {"turn": 1}},
            "outputs": [],
        }
        assert new.find(name_of_new).number == at + 1
        assert new.delete(name_of_new, was=SOURCE).data == old.data


@pytest.mark.parametrize("name", EDITABLE)
def test_a_replacement_changes_the_source_alone(name: str) -> None:
    old = NotebookText.parse(FILES[name])
    cut = Cut(old.data)
    for at in places(cut.count):
        new = old.replace(ref(old, at), SOURCE, was=old.cells[at].source)
        done = Cut(new.data)
        where = ("cells", at, "source")
        assert new.cells[at].source == SOURCE
        if where not in cut.spans:  # in a file that is not valid
            assert name == "nbformat/invalid.ipynb"
            continue
        assert done.mark == cut.mark
        assert (
            cut.text[: cut.spans[where][0]]
            + done.text[slice(*done.spans[where])]
            + cut.text[cut.spans[where][1] :]
            == done.text
        )
        assert type(value(done.text[slice(*done.spans[where])])) is type(
            value(cut.text[slice(*cut.spans[where])])
        )
        assert new.replace(ref(new, at), SOURCE) is new


@pytest.mark.parametrize("name", EDITABLE)
def test_a_delete_takes_out_a_cell_and_its_comma(name: str) -> None:
    old = NotebookText.parse(FILES[name])
    cut = Cut(old.data)
    for at in places(cut.count):
        done = Cut(old.delete(ref(old, at)).data)
        assert done.raw() == cut.raw()[:at] + cut.raw()[at + 1 :]
        before, *between, behind = cut.around()
        if cut.count == 1:
            between = [""]
        else:
            del between[max(at, 1)]
        if at == 0 and cut.count > 1:
            between[0] = cut.around()[1]
        assert done.around() == [before, *between, behind]


@pytest.mark.parametrize("name", EDITABLE)
def test_a_move_changes_places_alone(name: str) -> None:
    old = NotebookText.parse(FILES[name])
    cut = Cut(old.data)
    raw = cut.raw()
    for at in places(cut.count):
        for to in places(cut.count):
            if at == to:
                continue
            # The cell stands at `to` when all is done.
            behind = ref(old, to if to > at else to - 1) if to else None
            new = old.move(ref(old, at), after=behind)
            done = Cut(new.data)
            rest = raw[:at] + raw[at + 1 :]
            assert done.raw() == [*rest[:to], raw[at], *rest[to:]]
            assert done.around() == cut.around()
            back = ref(new, at if at > to else at - 1) if at else None
            assert new.move(ref(new, to), after=back).data == old.data


@pytest.mark.parametrize("name", EDITABLE)
def test_outputs_change_outputs_and_count_alone(name: str) -> None:
    old = NotebookText.parse(FILES[name])
    cut = Cut(old.data)
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": "é\nb\n"},
        notebooks.display(text_html="<b>\n</b>", image_png="AA\n", application_json={"a": "b\nc"}),
    ]
    for at in places(cut.count):
        if old.cells[at].type != "code":
            with pytest.raises(EditRefused, match="has no outputs"):
                old.with_outputs(ref(old, at), outputs, 3)
            continue
        new = old.with_outputs(ref(old, at), outputs, 3)
        done = Cut(new.data)
        assert new.cells[at].execution_count == 3
        if cut.text[cut.spans["cells", at, "source"][0]] == '"':
            assert list(new.cells[at].outputs) == outputs
        else:
            text, shown = new.cells[at].outputs
            assert text["text"] == ["é\n", "b\n"]
            assert shown["data"] == {
                "text/html": ["<b>\n", "</b>"],
                "image/png": "AA\n",
                "application/json": {"a": "b\nc"},
            }
        keys = ("outputs", "execution_count")
        holes = sorted(cut.spans["cells", at, key] for key in keys)
        filled = sorted(done.spans["cells", at, key] for key in keys)
        assert _without(cut.text, holes) == _without(done.text, filled)


def _without(text: str, holes: list[tuple[int, int]]) -> list[str]:
    edges = [0, *(edge for hole in holes for edge in hole), len(text)]
    return [text[here:there] for here, there in zip(edges[::2], edges[1::2], strict=True)]


# -- the style of what is new ---------------------------------------------------------------


@pytest.mark.parametrize(
    "style",
    [
        {},
        {"indent": 2},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": 0},
        {"indent": None, "separators": (", ", ": ")},
        {"indent": None, "separators": (",", ":")},
        {"separators": (", ", ": ")},
        {"separators": (",", " : ")},
        {"ensure_ascii": True},
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_new_cell_is_as_if_the_file_had_been_written_with_it(
    style: dict[str, Any], end: bytes, at: int
) -> None:
    cells = [cell("# é", "a", "markdown"), cell("1\n2", "b"), cell("3", "c", "raw")]
    new = cell(SOURCE, "new", metadata={"shiro": {"turn": 1}})
    old = NotebookText.parse(stored(notebook(*cells), **style).replace(b"\n", end))
    place = {"after": "abc"[at - 1]} if at else {"before": "a"}
    done, ref = old.insert(SOURCE, id="new", metadata={"shiro": {"turn": 1}}, **place)
    wanted = stored(notebook(*cells[:at], new, *cells[at:]), **style).replace(b"\n", end)
    assert (done.data, ref) == (wanted, "new")
    cells[1] = cell("x = 'é'\n\n", "b")
    wanted = stored(notebook(*cells), **style).replace(b"\n", end)
    assert old.replace("b", "x = 'é'\n\n").data == wanted
    cells[1] = cell("1\n2", "b", execution_count=9, outputs=[notebooks.STREAM])
    wanted = stored(notebook(*cells), **style).replace(b"\n", end)
    assert old.with_outputs("b", [notebooks.STREAM], 9).data == wanted


@pytest.mark.parametrize("style", [{}, {"indent": 2}, {"indent": "\t"}, {"indent": None}])
def test_a_first_cell_is_in_the_style_of_the_file(style: dict[str, Any]) -> None:
    style = {"separators": (", ", ": ") if style.get("indent", 1) is None else (",", ": ")} | style
    old = NotebookText.parse(stored(notebook(), **style))
    done, _ = old.insert("a\nb", type="markdown", id="a")
    assert done.data == stored(notebook(cell("a\nb", "a", "markdown")), **style)
    assert done.delete("a").data == old.data


def test_lists_on_one_line_and_single_strings_stay_such() -> None:
    text = stored(notebook(cell("a", "a"), cell("b", "b"))).decode()
    inline = text.replace('[\n    "a"\n   ]', '["a"]').replace('[\n    "b"\n   ]', '"b"')
    old = NotebookText.parse(inline.encode())
    assert b'"source": ["1\\n", "2"]' in old.replace("a", "1\n2").data
    assert b'"source": "1\\n2"' in old.replace("b", "1\n2").data
    assert b'"source": "1\\n2"' in old.insert("1\n2", after="b")[0].data
    assert b'"source": [\n    "1\\n",\n    "2"\n   ]' in old.insert("1\n2", after="a")[0].data


@pytest.mark.parametrize(
    ("file", "between"),
    [
        (b'{"cells": [\n  %b,\n  %b\n ], %b}', b",\n  "),
        (b'{"cells": [ %b\n, %b ], %b}', b"\n, "),
        (b'{"cells": [%b , %b], %b}', b" , "),
    ],
)
def test_between_cells_stands_what_stood_between_them(file: bytes, between: bytes) -> None:
    format_ = b'"nbformat": 4, "nbformat_minor": 5'
    one, two, new = (
        json.dumps(cell("x", name, "markdown"), sort_keys=True).encode()
        for name in ("a", "b", "new")
    )
    old = NotebookText.parse(file % (one, two, format_))
    for place, cells in (
        ({"before": "a"}, (new + between + one, two)),
        ({"after": "a"}, (one, new + between + two)),
        ({"after": "b"}, (one, two + between + new)),
    ):
        done, _ = old.insert("x", type="markdown", id="new", **place)
        assert done.data == file % (*cells, format_)
    three = NotebookText.parse(old.data.replace(two, two + b",\t" + two.replace(b'"b"', b'"c"')))
    assert b'"id": "b"' in three.data
    assert two + b",\t" + new in three.insert("x", type="markdown", id="new", after="b")[0].data
    assert one + between + new in three.insert("x", type="markdown", id="new", after="a")[0].data


def test_what_a_cell_lacks_is_added_where_it_sorts_or_at_the_end() -> None:
    lacking = {"cell_type": "code", "id": "a", "metadata": {}}
    old = NotebookText.parse(stored(notebook(lacking)))
    done = old.replace("a", "1").with_outputs("a", [], None)
    assert done.data == stored(notebook(lacking | cell("1", "a")))
    backwards = dict(reversed(lacking.items()))
    old = NotebookText.parse(stored(notebook(backwards), sort_keys=False))
    done = old.replace("a", "1").with_outputs("a", [], None)
    more = {"source": ["1"], "execution_count": None, "outputs": []}
    assert done.data == stored(notebook(backwards | more), sort_keys=False)
    with pytest.raises(EditRefused, match="Cell 1 is an empty object"):
        NotebookText.parse(stored(notebook({}))).replace("1", "x")


@pytest.mark.parametrize("style", [{}, {"indent": "\t"}, {"indent": None}])
def test_metadata_that_is_added_leaves_all_that_is_there(style: dict[str, Any]) -> None:
    odd = {"a": 1.5, "tags": ["é"], "z": {"b": None}}
    old = stored(notebook(cell("1", "a", metadata=odd), cell("2", "b")), **style)
    old = old.replace(b"1.5", b"1.50e400")
    mark = {"shiro": {"turn": 1}, "more": 0}
    done = NotebookText.parse(old).replace("a", "3", metadata=mark).replace("b", "4", metadata=mark)
    wanted = notebook(cell("3", "a", metadata=odd | mark), cell("4", "b", metadata=mark))
    assert done.data == stored(wanted, **style).replace(b"1.5", b"1.50e400")
    again = done.replace("a", "5", metadata={"shiro": {"turn": 2}})
    assert again.data == done.data.replace(b'"3"', b'"5"').replace(b'"turn": 1', b'"turn": 2', 1)
    assert done.replace("a", "3", metadata={"shiro": 0}) is done
    broken = NotebookText.parse(stored(notebook(cell("1", "a", metadata=["x"])), **style))
    wanted = notebook(cell("2", "a", metadata=mark))
    assert broken.replace("a", "2", metadata=mark).data == stored(wanted, **style)


# -- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", r"no JSON \(line 1, column 1: Expecting value\)"),
        (b"[]", "no JSON object"),
        (b"null", "no JSON object"),
        (b"{}", "does not say its nbformat"),
        (b'{"nbformat": 4}', "does not say its nbformat_minor"),
        (b'{"nbformat": true, "nbformat_minor": 1}', "does not say its nbformat"),
        (b'{"nbformat": 5, "nbformat_minor": 0}', "in nbformat 5, and only 4"),
        (b'{"nbformat": 4, "nbformat_minor": 5}', "no list of cells"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "cells": {}}', "no list of cells"),
        (b'{"nbformat": 4, "nbformat_minor": 5, "cells": [{}, 3]}', "Cell 2 of"),
        (b'{"cells": [{}, ]}', "column 16: Expecting value"),
        (b'{"cells": [{} {}]}', "Expecting ',' delimiter"),
        (b'{"cells": [{"a" 1}]}', "Expecting ':' delimiter"),
        (b'{"cells": [{"a": }]}', "Expecting value"),
        (b'{"cells": [{"a": 1, }]}', "Expecting property name"),
        (b'{"cells": [{a: 1}]}', "Expecting property name"),
        (b'{"cells":', "Expecting value"),
        (b'{"cells": [', "Expecting value"),
        (b'{"cells": []} {}', "Extra data"),
        (b'{"cells": [{"a": "\n"}]}', "Invalid control character"),
        (b'{"cells": [{"a": "\xff"}]}', r"no UTF-8 \(line 1, byte 18\)"),
        (b'{"cells": ' + b"9" * 5_000 + b"}", "cannot be read .*4300"),
        (b'{"cells": [{"a": ' + b"[" * 50_000, "nests too deep"),
        (b'{"a": ' + b'{"a": ' * 50_000, "nests too deep"),
        ("{}".encode("utf-16"), "UTF-16"),
        ('{"cells": []}'.encode("utf-32"), "UTF-16|no JSON"),
    ],
)
def test_what_is_no_notebook_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BrokenNotebook, match=reason) as refused:
        NotebookText.parse(data)
    assert str(refused.value).endswith(".") and len(str(refused.value)) < 300


def test_shared_ids_are_named_and_such_a_notebook_is_read_only() -> None:
    cells = [cell(source, name) for source, name in zip("wxyz", ["a", "b", "a", "a"], strict=True)]
    read = NotebookText.parse(stored(notebook(*cells)))
    assert read.duplicates == {"a": [1, 3, 4]}
    assert (read.find("b").source, read.find("3").source) == ("x", "y")
    with pytest.raises(ToolFailed, match="Cells 1, 3 and 4 all have the id a"):
        read.find("a")
    edits: list[Callable[[], object]] = [
        lambda: read.insert("1"),
        lambda: read.replace("2", "1"),
        lambda: read.delete("2"),
        lambda: read.move("2", after=None),
        lambda: read.with_outputs("2", [], None),
    ]
    for edit in edits:
        with pytest.raises(EditRefused, match=r"share an id: a \(cells 1, 3 and 4\)\. Open it"):
            edit()
    before = notebook(*cells, minor=4)
    assert NotebookText.parse(stored(before)).delete("2").cells[1].source == "y"


def test_a_source_that_has_changed_is_told_and_nothing_done() -> None:
    read = NotebookText.parse(stored(notebook(cell("now\n", "a"))))
    for edit in (lambda: read.replace("a", "x", was="now"), lambda: read.delete("1", was="")):
        with pytest.raises(EditRefused, match=r"since it was read; .*:\nnow\n$"):
            edit()


def test_a_cell_is_found_by_id_before_number_and_an_unknown_one_named_with_near_ids() -> None:
    read = NotebookText.parse(stored(notebook(cell("a", "2"), cell("b", "load-data"), cell("c"))))
    assert [read.find(ref).source for ref in ("2", "load-data", "3", "1")] == ["a", "b", "c", "a"]
    for ref in ("0", "4", "-1", "1.0", "²", "", "9" * 5_000, "\ud800"):
        with pytest.raises(ToolFailed, match="which has 3 cells"):
            read.find(ref)
    with pytest.raises(ToolFailed, match=r"no cell load_data in .* nearest ids are load-data\.$"):
        read.find("load_data")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"after": "a", "before": "a"}, "given twice"),
        ({"type": "heading"}, "no cell type 'heading'"),
        ({"id": "a"}, "Another cell has the id a"),
        ({"id": "a b"}, "is no cell id"),
        ({"id": ""}, "is no cell id"),
        ({"id": "a" * 65}, "is no cell id"),
        ({"after": "nope"}, "no cell nope"),
    ],
)
def test_an_insert_that_makes_no_sense_is_refused(arguments: Any, reason: str) -> None:
    read = NotebookText.parse(stored(notebook(cell("1", "a"))))
    with pytest.raises(ToolFailed, match=reason):
        read.insert("x", **arguments)
    with pytest.raises(EditRefused, match="half of a character"):
        read.insert("\ud800")
    with pytest.raises(EditRefused, match="half of a character"):
        read.replace("a", "\udfff")
    with pytest.raises(EditRefused, match="after itself"):
        read.move("a", after="1")
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(EditRefused, match="nests too deep"):
        read.with_outputs("a", [{"data": deep}], None)


def test_half_a_character_in_an_output_is_kept_as_an_escape() -> None:
    read = NotebookText.parse(stored(notebook(cell("1", "a"))))
    output = {"output_type": "stream", "name": "stdout", "text": ["\ud800é"]}
    done = read.with_outputs("a", [output], None)
    assert '"\\ud800é"'.encode() in done.data and done.cells[0].outputs == (output,)


def test_what_makes_no_sense_in_a_cell_counts_as_missing() -> None:
    odd = {"id": 3, "cell_type": 4, "source": [1, "a"], "outputs": {"a": 1}, "metadata": []}
    for count in ("7", True, 7.0):
        read = Cell.of(1, odd | {"execution_count": count})
        assert read == Cell(1, None, "4", "1a", (), None, {})
    assert Cell.of(2, {"outputs": [3, STREAM]}).outputs == (STREAM,)
    assert Cell.of(2, {}) == Cell(2, None, "unknown", "", (), None, {})


def test_new_ids_are_made_up_where_the_format_has_them() -> None:
    read = NotebookText.parse(stored(notebook(minor=5)))
    refs = []
    for _ in range(20):
        read, ref = read.insert("x")
        refs.append(ref)
    assert [each.id for each in read.cells] == refs
    assert len(set(refs)) == 20 and all(re.fullmatch("[0-9a-f]{8}", ref) for ref in refs)
    older, ref = NotebookText.parse(stored(notebook(minor=4))).insert("x", id="a")
    assert (ref, older.cells[0].id, b'"id"' in older.data) == ("1", None, False)


def test_language_and_kernel_come_from_the_metadata() -> None:
    def read(**metadata: Any) -> tuple[str, str]:
        parsed = NotebookText.parse(stored(notebook(**metadata)))
        return parsed.language, parsed.kernelspec

    assert read() == ("", "")
    assert read(kernelspec={"name": "ir", "language": "R"}) == ("r", "ir")
    assert read(language_info={"name": "Julia"}, kernelspec={"language": "x"}) == ("julia", "")
    assert read(language_info=3, kernelspec={"name": 4}) == ("", "")
