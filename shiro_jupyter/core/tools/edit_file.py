"""edit_file: exact text for exact text."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ..workspace.edits import Edit, edited
from .base import Parameters
from .changes import FileParameters, FileTool


class EditParameters(Parameters):
    old_text: str = Field(min_length=1, description="As the file has it, without line numbers.")
    new_text: str = Field(description="What takes its place.")
    replace_all: bool = Field(False, description="Replace it wherever it is found.")

    @property
    def edit(self) -> Edit:
        return Edit(self.old_text, self.new_text, self.replace_all)


class EditFileParameters(EditParameters, FileParameters):
    pass


class EditFile(FileTool[EditFileParameters]):
    """Replace exact text in a file: it must be found once, unless `replace_all`.

    Give as many lines around it as make it unique. Line ends and encoding stay as they are.
    """

    name: ClassVar[str] = "edit_file"
    toolset: ClassVar[str] = "core"
    guidance: ClassVar[str] = (
        "Read a file before you change it; change a few lines of it with edit_file."
    )
    parameters = EditFileParameters

    def changed(self, parameters: EditFileParameters, text: str) -> str:
        return edited(text, [parameters.edit])
