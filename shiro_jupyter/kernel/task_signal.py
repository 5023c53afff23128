"""What is being worked on, as the kernel, the notebook and git tell it: read, never run.

It ranks the memories of a session, and is kept beside a new one, to rank it by later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from ..core.memory.signal import TaskSignal
from ..core.memory.stale import Exists, ends_with, named
from ..core.policy.names import is_secret_name
from ..core.workspace.git import git_state
from ..core.workspace.project import Project
from .frames import is_frame
from .namespace import Namespace

TABLES = 20  # looked at for their columns
HEADINGS = 30
READABLE = 2_000_000  # bytes of a notebook that is read for its headings
_HEADING = re.compile(r"^#{1,4}[ \t]+(.{1,200}?)[ \t#]*$", re.MULTILINE)


def task_signal(
    project: Project,
    namespace: Namespace,
    environment: Mapping[str, str],
    prompt: str = "",
) -> TaskSignal:
    """For any thread. Never raises, and blocks no longer than git's deadline.

    `environment` is what a child may see (`Processes.child_environment`).
    """
    git = git_state(project.root, environment)
    shown = namespace.variables().values()
    modules = [value.__name__ for value in shown if type(value) is ModuleType]
    tables = tables_of(namespace)
    return TaskSignal(
        branch=git.branch,
        files=git.files,
        prompt=prompt,
        notebook=project.notebook.name if project.notebook else "",
        headings=tuple(_headings(project.notebook)) if project.notebook else (),
        modules=tuple(dict.fromkeys(name.partition(".")[0] for name in modules)),
        frames=tuple(tables),
        columns=tuple(dict.fromkeys(column for names in tables.values() for column in names)),
        user=environment.get("USER") or environment.get("USERNAME", ""),
    )


def tables_of(namespace: Namespace) -> dict[str, list[str]]:
    """The columns of the newest tables by name, as far as a model may know of them."""
    shown = namespace.variables()
    names = [name for name in reversed(shown) if is_frame(shown[name])][:TABLES]
    return {name: namespace.columns(name, shown[name]) for name in names}


def about(
    signal: TaskSignal,
    tables: Mapping[str, Sequence[str]],
    text: str,
    source: str,
    exists: Exists = lambda name: True,
) -> dict[str, Sequence[str]]:
    """What is kept beside a new memory. Of files and tables those that it names come first, and of
    the columns those that it names, then those of such tables, since only a handful is kept; a
    file has to be there, so that it is known when it is gone. The name of one that holds keys is
    nobody else's business, and the index is shared."""
    changed = [path for path in signal.files if exists(path) and not is_secret_name(path)]
    told = [name for name in named(text) if exists(name) and not is_secret_name(name)]
    files = [next((path for path in changed if ends_with(path, name)), name) for name in told]
    words = set(re.findall(r"\w+", text))
    frames = sorted(tables, key=lambda name: name not in words)
    columns = dict.fromkeys(column for name in frames for column in tables[name])
    return {
        "files": list(dict.fromkeys([*files, *changed])),
        "notebook": [signal.notebook],
        "modules": signal.modules,
        "frames": frames,
        "columns": sorted(columns, key=lambda name: name not in words),
        "branch": [signal.branch],
        "source": [source],
    }


def _headings(notebook: Path) -> Iterator[str]:
    """Of the file as it was saved last."""
    try:
        with notebook.open("rb") as file:
            raw = file.read(READABLE + 1)
        cells = json.loads(raw)["cells"] if len(raw) <= READABLE else []
        markdown = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(source) for source in markdown)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return
    yield from _HEADING.findall(text)[:HEADINGS]
