"""write_file: a whole text file, new or in place of one that was read."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ..errors import EditRefused
from ..workspace.edits import with_breaks_of
from ..workspace.placeholders import placeholder
from .base import ToolContext
from .changes import FileParameters, FileTool


class WriteFileParameters(FileParameters):
    content: str = Field(max_length=1_000_000, description="All of its text.")


class WriteFile(FileTool[WriteFileParameters]):
    """Make a text file, and its folders, or replace all of one that was read whole before.

    To change parts of a file use edit_file. The encoding of a replaced file stays as it was, and
    so do its line ends where they are all alike.
    """

    name: ClassVar[str] = "write_file"
    toolset: ClassVar[str] = "core"
    makes: ClassVar[bool] = True
    parameters = WriteFileParameters

    def refuse(self, path: Path, before: bytes, context: ToolContext) -> None:
        super().refuse(path, before, context)
        if before and not context.seen.knows(path):
            raise EditRefused(
                "the file is there and this session has not read it; read it first, or change a "
                "part of it with edit_file."
            )
        shown, lines = context.seen.shown(path) if before else (0, 0)
        if shown < lines:
            raise EditRefused(
                f"only {shown:,} of its {lines:,} lines were read whole as they are now; read the "
                "rest, or change a part of it with edit_file."
            )

    def changed(self, parameters: WriteFileParameters, text: str) -> str:
        if found := placeholder(parameters.content, text):
            raise EditRefused(
                f"content holds the placeholder {found!r}, which would be stored as it stands; "
                "write out what belongs there, or change a part with edit_file."
            )
        return with_breaks_of(text, parameters.content)
