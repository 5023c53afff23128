"""The slash commands: one registry, from which /help and the documentation are made.

A handler runs on the main thread, or on the agent's where a page asks. It returns what to say, a
`Prompt` to go on with, or work for the agent's thread that comes to something to say.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, get_args

from ..core import todos as tasks
from ..core.errors import UsageError
from ..core.numbers import whole_number
from ..core.policy.gate import Mode, is_looser
from ..core.tools.job_status import job_line
from ..views.queue import back_lines
from . import compat
from .command_line import FLAGS
from .command_names import name_of
from .report import models_text, status_text
from .said import Said
from .services import Services
from .typed import connect as connected


@dataclass(frozen=True)
class Prompt:
    """A prompt that a command makes: the turn goes on with it, or `now` the one that runs."""

    text: str
    now: bool = False


Work = Coroutine[Any, Any, Said]
Outcome = Said | Prompt | Work


@dataclass(frozen=True)
class Command:
    name: str
    arguments: str
    text: str
    run: Callable[[Services, str], Outcome]


COMMANDS: dict[str, Command] = {}


def command(
    arguments: str = "",
) -> Callable[[Callable[[Services, str], Outcome]], Callable[[Services, str], Outcome]]:
    """Registers a function as the command of its name; its docstring's first line is its help."""

    def register(function: Callable[[Services, str], Outcome]) -> Callable[..., Outcome]:
        name = name_of(function.__name__)
        text = (function.__doc__ or "").partition("\n")[0]

        def run(services: Services, rest: str) -> Outcome:
            if rest and not arguments:
                raise UsageError(
                    f"/{name} takes no words: type it alone, or ask without the slash."
                )
            return function(services, rest)

        COMMANDS[name] = Command(name, arguments, text, run)
        return function

    return register


def find(name: str) -> Command:
    """Raises `UsageError` naming the nearest."""
    if name in COMMANDS:
        return COMMANDS[name]
    near = difflib.get_close_matches(name, COMMANDS, 1)
    hint = f"did you mean /{near[0]}?" if near else "/help lists them."
    raise UsageError(f"There is no command /{name}; {hint}")


def commands_table() -> list[tuple[str, str, str]]:
    """Rows for the documentation: command, arguments, what it does."""
    return [
        (f"`/{c.name}`", f"`{c.arguments}`" if c.arguments else "", c.text)
        for c in COMMANDS.values()
    ]


def flags_table() -> list[tuple[str, str, str]]:
    """Rows for the documentation: the flags of %shiro, their value, what they do."""
    return [
        (", ".join(f"`{name}`" for name in f.names), f"`{f.value}`" if f.value else "", f.text)
        for f in FLAGS
    ]


@command()
def help_(services: Services, rest: str) -> str:
    """what there is to type"""
    rows = [(f"/{c.name} {c.arguments}".rstrip(), c.text) for c in COMMANDS.values()]
    flags = [(f"{', '.join(f.names)} {f.value}".rstrip(), f.text) for f in FLAGS]
    magics = [
        (
            "%shiro PROMPT",
            "ask the agent; %%shiro takes several lines; a final & asks aside, /stop ends that",
        ),
        ("%shiro", "after an error: ask to mend it"),
        ("%todos", "the task list"),
        ("%remember TEXT", "record something about this project for good"),
        ("%recall QUERY", "find what was recorded; a number or a range is IPython's own"),
        ("%forget TEXT", "remove a memory"),
    ]
    groups = (("", magics), ("Commands, after %shiro:", rows), ("Flags, before the prompt:", flags))
    width = max(len(name) for _, group in groups for name, _ in group)
    lines = []
    for title, group in groups:
        lines += [title] if title else []
        lines += [f"  {name:<{width}}  {text}" for name, text in group]
    return "\n".join(lines)


@command()
def status(services: Services, rest: str) -> Work:
    """model, endpoint, project, memory and versions, and what to do where something is amiss"""
    return status_text(services)


@command("[URL]")
def connect(services: Services, rest: str) -> Work:
    """connect a model: endpoint, key and model are asked for, tried and kept"""
    ask_in_a_cell(services, "connect")
    return connected(services, rest)


@command("[NAME]")
def model(services: Services, rest: str) -> Outcome:
    """the model in use and what else the endpoint serves, or use another from now on"""
    if not rest:
        return models_text(services)
    services.settings(model=rest)
    services.flags["model"] = rest
    return f"Using {rest} from the next turn on."


@command("[ask|accept-edits|plan|yolo]")
def mode(services: Services, rest: str) -> str:
    """how approvals are given, or another way from now on"""
    if not rest:
        return services.settings().settings.mode
    if rest not in get_args(Mode):
        raise UsageError(f"The modes are {', '.join(get_args(Mode))}; not {rest!r}.")
    if services.thread.here and is_looser(rest, than=services.settings().settings.mode):
        raise UsageError(f"A page may only narrow the mode: run %shiro /mode {rest} in a cell.")
    services.flags["mode"] = rest
    loaded = services.settings()
    return "\n".join([f"Mode {loaded.settings.mode} from the next turn on.", *loaded.notices])


@command()
def tools(services: Services, rest: str) -> str:
    """the tools the agent has"""
    found = (*services.tools(services.settings()), *services.own.tools())
    width = max(len(tool.name) for tool in found)
    return "\n".join(
        f"{tool.name:<{width}}  {tool.access:<7}  {_first_sentence(tool.spec().description)}"
        for tool in found
    )


@command()
def todos(services: Services, rest: str) -> str:
    """the task list"""
    return todo_text(services)


@command()
def stop(services: Services, rest: str) -> Outcome:
    """end the turn in the background and hand back the prompts that wait behind it"""

    async def work() -> Said:
        stopped, back = await services.stop()
        if not stopped:
            raise UsageError("No turn is running.")
        said = "Stopped the turn." if stopped == 1 else f"Stopped {stopped} turns."
        return "\n".join([said, *back_lines(back)])

    return at_once(services, work)


@command("[stop ID]")
def jobs(services: Services, rest: str) -> Work:
    """the commands that the agent runs in the background, or end one with all that it started"""
    processes = services.processes

    async def listed() -> str:
        lines = [f"{await job_line(job, processes)}\n  {job.told}" for job in processes.jobs]
        return services.redactor("\n".join(lines)) or "No job was started in this kernel."

    async def stopped(number: int) -> str:
        job = processes.jobs.find(number)
        await processes.end_job(job)
        return services.redactor(await job_line(job, processes))

    if not rest:
        return listed()
    verb, _, number = rest.partition(" ")
    if verb != "stop" or (job := whole_number(number)) is None:
        raise UsageError("Say %shiro /jobs, or %shiro /jobs stop ID with the number of a job.")
    return stopped(job)


@command("[WORDS]")
def fix(services: Services, rest: str) -> Prompt:
    """ask to mend the last error, with its cell and the variables in it"""
    prompt = services.prompt_of_error(rest)
    if not prompt:
        raise UsageError("No cell has failed yet: there is nothing to fix.")
    return Prompt(prompt)


def at_once(services: Services, work: Callable[[], Work]) -> Outcome:
    """Work on the agent's thread for which main blocks: a cell that serves would first ask the
    question of a turn that waits."""
    return work() if services.thread.here else services.thread.spawn(work).result()


def ask_in_a_cell(services: Services, name: str) -> None:
    """Raises `UsageError` where nobody could answer what a command asks."""
    if services.thread.here:
        raise UsageError(f"/{name} asks questions in a cell: run %shiro /{name} there.")
    if not compat.allows_stdin(services.shell):
        raise UsageError(f"/{name} asks questions, and nobody is here to answer them.")


def todo_text(services: Services) -> str:
    listed = services.conversation.opened.session.todos if services.conversation.opened else ()
    return "\n".join((tasks.bar(listed), tasks.lines(listed))) if listed else "No tasks."


def _first_sentence(text: str) -> str:
    sentence, dot, _ = " ".join(text.split()).partition(". ")
    return sentence + dot.strip()
