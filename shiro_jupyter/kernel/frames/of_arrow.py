"""Tables of Arrow, which are shown by what they store: a type may be a class of the person's."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ..describe import class_name, comes_from, cut
from .base import ADDED_UP, Facts, Frame


class ArrowTable(Frame):
    kind = "pyarrow.Table"

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.num_rows, self.data.num_columns

    @cached_property
    def _names(self) -> list[str]:
        return list(self.data.schema.names)

    def names(self) -> list[str]:
        return self._names

    def dtype(self, index: int) -> str:
        return arrow_type(self.data.schema.field(index).type)

    def stored_missing(self, index: int) -> int | None:
        return int(self.select(index).null_count)

    def missing(self, index: int) -> int | None:
        return self.stored_missing(index)

    def select(self, index: int) -> Any:
        return self.data.column(index)

    def octets(self) -> int:
        return int(self.data.nbytes) if self.shape[1] <= ADDED_UP else 0

    def rows(self, how_many: int) -> list[list[object]]:
        head = self.data.slice(0, how_many)
        columns = [
            head.column(index).to_pylist()
            if is_arrow(field.type) and not field.type.num_fields
            else [_told_by_type(field.type)] * head.num_rows
            for index, field in enumerate(self.data.schema)
        ]
        return [list(row) for row in zip(*columns, strict=True)]

    def facts(self, index: int, show_values: bool) -> Facts:
        return Facts(self.missing(index))


class ArrowBatch(ArrowTable):
    kind = "pyarrow.RecordBatch"


def is_arrow(dtype: Any) -> bool:
    """Whether it is Arrow's own, all through: an extension type is a class of somebody else's."""
    if not comes_from(type(dtype), "pyarrow"):
        return False
    parts = [dtype.field(index).type for index in range(dtype.num_fields)]
    for held in ("value_type", "storage_type"):
        inner = getattr(dtype, held, None)
        parts += [] if inner is None or parts else [inner]
    return all(map(is_arrow, parts))


def arrow_type(dtype: Any) -> str:
    """As Arrow prints it, cut; another one's by its class alone."""
    text = str(dtype) if is_arrow(dtype) else class_name(type(dtype))
    return cut(text, 80)


def _told_by_type(dtype: Any) -> object:
    """In place of a value that may be as long as it likes, or is the person's to make."""
    return [] if is_arrow(dtype) else dtype
