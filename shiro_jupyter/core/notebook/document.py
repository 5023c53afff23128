"""A notebook file as a value, and its edits: splices, so that what nobody asked for stays byte
for byte as it is."""

from __future__ import annotations

import codecs
import json
import re
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from ..errors import BrokenNotebook, EditRefused, ToolFailed
from ..numbers import whole_number
from ..workspace.names import printable
from ..workspace.output import bounded
from .scan import Object, scan
from .splice import Splice, merged, spliced, with_item, with_members, without_item
from .stored import joined, stored_lines, stored_outputs
from .style import Style, cell_style, style_of

TYPES = ("code", "markdown", "raw")
HAS_IDS = (4, 5)  # the first format that does
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONE = re.compile("[\ud800-\udfff]")
_MEND = "mend the file, or restore it from version control"


@dataclass(frozen=True)
class Cell:
    """`number` counts from 1 at the top; `id` is None where the format has none, before 4.5."""

    number: int
    id: str | None
    type: str
    source: str
    outputs: tuple[dict[str, Any], ...]
    execution_count: int | None
    metadata: dict[str, Any]

    @classmethod
    def of(cls, number: int, stored: dict[str, Any], *, ids: bool = True) -> Cell:
        """A cell as a file has it; what makes no sense in it counts as missing."""
        name, count = stored.get("id"), stored.get("execution_count")
        outputs, metadata = stored.get("outputs"), stored.get("metadata")
        return cls(
            number=number,
            id=name if ids and isinstance(name, str) and name else None,
            type=str(stored.get("cell_type", "unknown")),
            source=joined(stored.get("source")),
            outputs=tuple(
                each
                for each in (outputs if isinstance(outputs, list) else ())
                if isinstance(each, dict)
            ),
            execution_count=count if type(count) is int else None,
            metadata=metadata if isinstance(metadata, dict) else {},
        )


class NotebookText:
    """Immutable: each edit is another one. Edits raise `EditRefused`, and `find` `ToolFailed`.

    A cell is named by its id, or by its number as text.
    """

    def __init__(self, data: bytes, text: str, root: Object, format: tuple[int, int]) -> None:  # noqa: A002
        self.data, self.format = data, format
        self._text, self._root = text, root
        self._list = root.members["cells"]
        self._items: tuple[Object, ...] = self._list.value
        self.cells = tuple(
            Cell.of(number, item.values(), ids=self.has_ids)
            for number, item in enumerate(self._items, start=1)
        )

    @classmethod
    def parse(cls, data: bytes) -> NotebookText:
        """Raises `BrokenNotebook` with the reason. Ids that several cells have are no reason: such
        a notebook can be read, not edited."""
        text = _decoded(data)
        try:
            root = scan(text)
        except json.JSONDecodeError as error:
            raise BrokenNotebook(
                f"The notebook is no JSON (line {error.lineno}, column {error.colno}: "
                f"{error.msg}); {_MEND}."
            ) from None
        except ValueError as error:
            raise BrokenNotebook(f"The notebook cannot be read ({error}); {_MEND}.") from None
        except RecursionError:
            raise BrokenNotebook(f"The notebook nests too deep to be read; {_MEND}.") from None
        return cls(data, text, root, _format(root))

    @property
    def has_ids(self) -> bool:
        return self.format >= HAS_IDS

    @property
    def language(self) -> str:
        """Of its code, in lower case; empty where the file does not say."""
        said = self._said("language_info", "name") or self._said("kernelspec", "language")
        return said.lower()

    @property
    def kernelspec(self) -> str:
        """The name of the kernel it is for; empty where the file does not say."""
        return self._said("kernelspec", "name")

    @cached_property
    def duplicates(self) -> dict[str, list[int]]:
        """Ids that several cells have, and the numbers of those."""
        counts = Counter(cell.id for cell in self.cells)
        numbers: dict[str, list[int]] = {}
        for cell in self.cells:
            if cell.id is not None and counts[cell.id] > 1:
                numbers.setdefault(cell.id, []).append(cell.number)
        return numbers

    def find(self, ref: str) -> Cell:
        return find(self.cells, ref)

    def insert(
        self,
        source: str,
        *,
        type: str = "code",  # noqa: A002
        after: str | None = None,
        before: str | None = None,
        metadata: dict[str, Any] | None = None,
        id: str | None = None,  # noqa: A002
    ) -> tuple[NotebookText, str]:
        """The new notebook, and what its new cell is named by. It stands at the end where no place
        is named; its id is made up where none is given."""
        self._editable()
        if after is not None and before is not None:
            raise EditRefused("A place is given twice; name after or before, not both.")
        if type not in TYPES:
            raise EditRefused(f"There is no cell type {type!r}; take one of {', '.join(TYPES)}.")
        at = len(self.cells)
        if after is not None:
            at = self.find(after).number
        elif before is not None:
            at = self.find(before).number - 1
        name = self._new_id(id)
        beside = self._items[max(at - 1, 0)] if self._items else None
        style = self._style(beside)
        as_list = beside is None or not isinstance(beside.get("source"), str)
        stored = {
            "cell_type": type,
            "metadata": metadata or {},
            "source": stored_lines(_whole(source), as_list),
            **({"execution_count": None, "outputs": []} if type == "code" else {}),
            **({"id": name} if name else {}),
        }
        written = style.written(stored, style.outer)
        splice = with_item(self._text, self._list, at, written, style)
        return self._spliced([splice]), name or str(at + 1)

    def replace(
        self,
        ref: str,
        source: str,
        *,
        was: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> NotebookText:
        """Nothing but the source changes, and what of its metadata is given: a code cell keeps its
        outputs and count until it is run, as in Jupyter. Refused where the source is no longer what
        it `was`."""
        cell = self._target(ref, was)
        if source == cell.source:
            return self
        item, style = self._item(cell)
        stored = {"source": stored_lines(_whole(source), self._as_list(cell))}
        splices = with_members(self._text, item, stored, style)
        if metadata:
            splices += merged(self._text, item, "metadata", metadata, style)
        return self._spliced(splices)

    def delete(self, ref: str, *, was: str | None = None) -> NotebookText:
        """Refused where the source is no longer what it `was`."""
        at = self._target(ref, was).number - 1
        return self._spliced([without_item(self._list, at)])

    def move(self, ref: str, *, after: str | None) -> NotebookText:
        """None: to the top."""
        moved = self._target(ref, None).number - 1
        behind = -1 if after is None else self.find(after).number - 1
        if behind == moved:
            raise EditRefused(f"Cell {ref} cannot stand after itself; name another one.")
        order = [at for at in range(len(self._items)) if at != moved]
        order.insert(order.index(behind) + 1 if behind >= 0 else 0, moved)
        # The texts change places, and what stands between them stays.
        return self._spliced(
            [
                (place.start, place.end, self._text[self._items[at].start : self._items[at].end])
                for place, at in zip(self._items, order, strict=True)
            ]
        )

    def with_outputs(
        self, ref: str, outputs: Sequence[dict[str, Any]], execution_count: int | None
    ) -> NotebookText:
        """Of a code cell that was run."""
        cell = self._target(ref, None)
        if cell.type != "code":
            raise EditRefused(f"Cell {ref} is a {cell.type} cell, which has no outputs.")
        stored = stored_outputs(outputs) if self._as_list(cell) else list(outputs)
        item, style = self._item(cell)
        values = {"execution_count": execution_count, "outputs": stored}
        return self._spliced(with_members(self._text, item, values, style))

    # -- how ---------------------------------------------------------------------------------

    def _said(self, key: str, name: str) -> str:
        metadata = self._root.get("metadata")
        part = metadata.get(key) if isinstance(metadata, dict) else None
        said = part.get(name) if isinstance(part, dict) else None
        return said if isinstance(said, str) else ""

    def _editable(self) -> None:
        if self.duplicates:
            named = "; ".join(
                f"{name} (cells {_listed(numbers)})"
                for name, numbers in list(self.duplicates.items())[:5]
            )
            raise EditRefused(
                f"Nothing was changed, since cells of the notebook share an id: {named}. Open it "
                "in Jupyter and save it, which gives each its own."
            )

    def _target(self, ref: str, was: str | None) -> Cell:
        self._editable()
        cell = self.find(ref)
        if was is not None and was != cell.source:
            raise EditRefused(
                f"Nothing was done, since cell {ref} has changed since it was read; start from "
                f"its source as it is now:\n{bounded(cell.source)}"
            )
        return cell

    def _as_list(self, cell: Cell) -> bool:
        return not isinstance(self._items[cell.number - 1].get("source"), str)

    def _style(self, beside: Object | None) -> Style:
        if beside and beside.members:
            return style_of(self._text, beside)
        return cell_style(self._text, self._root)

    def _new_id(self, given: str | None) -> str:
        """Empty where the format has none."""
        if not self.has_ids:
            return ""
        taken = {cell.id for cell in self.cells}
        if given is None:
            return next(
                name for name in iter(lambda: secrets.token_hex(4), "") if name not in taken
            )
        if not _ID.fullmatch(given):
            raise EditRefused(f"{given!r} is no cell id: 1 to 64 of a-z, A-Z, 0-9, - and _.")
        if given in taken:
            raise EditRefused(f"Another cell has the id {given}; give this one its own.")
        return given

    def _item(self, cell: Cell) -> tuple[Object, Style]:
        item = self._items[cell.number - 1]
        if not item.members:
            raise EditRefused(f"Cell {cell.number} is an empty object; delete it.")
        return item, style_of(self._text, item)

    def _spliced(self, splices: list[Splice]) -> NotebookText:
        mark = codecs.BOM_UTF8 if self.data.startswith(codecs.BOM_UTF8) else b""
        return type(self).parse(mark + spliced(self._text, splices).encode())


def find(cells: Sequence[Cell], ref: str) -> Cell:
    """By its id, or by its number where no cell has that for an id. Raises `ToolFailed`."""
    if found := [cell for cell in cells if cell.id == ref]:
        if len(found) > 1:
            raise ToolFailed(
                f"Cells {_listed([cell.number for cell in found])} all have the id {ref}; "
                "name the one by its number."
            )
        return found[0]
    number = whole_number(ref)
    if number and number <= len(cells):
        return cells[number - 1]
    ids = [cell.id for cell in cells if cell.id is not None]
    near = get_close_matches(ref[:64], ids, 3, 0.5)
    hint = f"; the nearest ids are {', '.join(near)}" if near else ""
    total = len(cells)
    raise ToolFailed(
        f"There is no cell {printable(ref[:80])} in this notebook, which has {total:,} "
        f"{'cell' if total == 1 else 'cells'}{hint}."
    )


def _decoded(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise BrokenNotebook(
            "The notebook is in UTF-16, which Jupyter does not read; save it as UTF-8."
        )
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BrokenNotebook(
            f"The notebook is no UTF-8 (line {line}, byte {error.start:,}); {_MEND}."
        ) from None


def _format(root: Any) -> tuple[int, int]:
    """Raises `BrokenNotebook` for what is no notebook of format 4."""
    if not isinstance(root, Object):
        raise BrokenNotebook("The file is no notebook: it holds no JSON object.")
    major, minor = root.get("nbformat"), root.get("nbformat_minor")
    if type(major) is not int:
        raise BrokenNotebook("The file is no notebook: it does not say its nbformat.")
    if major != 4:
        older = "open it in Jupyter and save it, which converts it"
        raise BrokenNotebook(
            f"The notebook is in nbformat {major}, and only 4 can be read here; "
            f"{older if major < 4 else 'save it in that format'}."
        )
    if type(minor) is not int:
        raise BrokenNotebook(f"The notebook does not say its nbformat_minor; {_MEND}.")
    cells = root.get("cells")
    if not isinstance(cells, tuple):
        raise BrokenNotebook(f"The notebook has no list of cells; {_MEND}.")
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, Object):
            raise BrokenNotebook(f"Cell {number} of the notebook is no JSON object; {_MEND}.")
    return major, minor


def _whole(source: str) -> str:
    if _LONE.search(source):
        raise EditRefused("The source holds half of a character; write the characters themselves.")
    return source


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
