"""todo_write: the whole task list at once."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from .. import todos
from ..events import TodosChanged
from ..policy.subjects import Access
from ..todos import Status, Todo
from .base import Parameters, Tool, ToolContext, ToolResult


def _one_line(value: object) -> object:
    return " ".join(value.split()) if isinstance(value, str) else value


Line = Annotated[str, BeforeValidator(_one_line)]


class TodoParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: Line = Field(min_length=1, max_length=300, description="What is to be done.")
    status: Status
    note: Line = Field("", max_length=300, description="For a blocked task: what blocks it.")


class TodoWriteParameters(Parameters):
    todos: list[TodoParameters] = Field(max_length=100, description="All tasks, in order.")


class TodoWrite(Tool[TodoWriteParameters]):
    """Replace the whole task list, which the person sees. For work of three steps or more.

    Exactly one task is in_progress at a time; mark it done as soon as it is. A task that cannot
    go on is blocked, with a note.
    """

    name: ClassVar[str] = "todo_write"
    toolset: ClassVar[str] = "session"
    access: ClassVar[Access] = "session"
    guidance: ClassVar[str] = (
        "For work of several steps keep the task list with todo_write, one task in progress at a "
        "time."
    )
    parameters = TodoWriteParameters

    def summary(self, parameters: TodoWriteParameters) -> str:
        return _progress(_tasks(parameters))

    async def run(self, parameters: TodoWriteParameters, context: ToolContext) -> ToolResult:
        tasks = _tasks(parameters)
        context.session.set_todos(tasks)
        context.emit(TodosChanged(tasks))
        return ToolResult("ok", "\n".join([_progress(tasks), *todos.warnings(tasks)]))


def _tasks(parameters: TodoWriteParameters) -> todos.Todos:
    return tuple(Todo(each.text, each.status, each.note) for each in parameters.todos)


def _progress(tasks: todos.Todos) -> str:
    if not tasks:
        return "The task list is empty."
    blocked = todos.count(tasks, "blocked")
    return todos.progress(tasks) + (f", {blocked} blocked" if blocked else "")
