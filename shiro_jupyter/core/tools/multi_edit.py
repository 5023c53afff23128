"""multi_edit: several edits of one file, all or none."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..workspace.edits import edited
from .changes import FileParameters, FileTool
from .edit_file import EditParameters

EDITS = 100


class MultiEditParameters(FileParameters):
    edits: list[EditParameters] = Field(
        min_length=1, max_length=EDITS, description="In order, each on what the one before left."
    )


class MultiEdit(FileTool[MultiEditParameters]):
    """Make several edits of one file at once: where one cannot be made, none is.

    Each replaces exact text that is found once, unless `replace_all`.
    """

    name: ClassVar[str] = "multi_edit"
    toolset: ClassVar[str] = "edit-plus"
    guidance: ClassVar[str] = "Make several changes of one file with one multi_edit."
    parameters = MultiEditParameters

    def changed(self, parameters: MultiEditParameters, text: str) -> str:
        return edited(text, [each.edit for each in parameters.edits])
