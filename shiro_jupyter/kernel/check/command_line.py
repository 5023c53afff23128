"""`python -m shiro_jupyter check NOTEBOOK …`, for a terminal, a hook before commits, and CI."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from ...core.errors import ShiroError, UsageError
from ...core.policy.secrets import known
from ...core.settings import Settings
from ...core.workspace.folders import user_folders
from ...core.workspace.processes import Processes
from ...core.workspace.project import Project, find_project
from ...views.document import plain
from ...views.visible import visible
from .cells import Notebook, read_saved
from .check import Check, Options
from .effects import KINDS, effects
from .report import asked, forecast_lines, report
from .result import Result
from .run import Progress

PASSES, FAILS, UNCHECKED = 0, 1, 2
TIMEOUT = 600.0  # seconds a cell
WORD = 10.0  # seconds between two words of progress on one cell
NONE_FORESEEN = "no name is foreseen to be missing."

_EPILOG = """
Exit code: 0 every notebook re-runs, 1 one does not, 2 one could not be checked.
Nothing is run where cells write, reach the network, install or run commands, unless allowed.
"""


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    args = _parser().parse_args(arguments)
    codes = [PASSES]
    for name in args.notebooks:
        try:
            codes.append(_checked(Path(name), args))
        except ShiroError as error:
            sys.stderr.write(f"{visible(str(error))}\n")
            codes.append(UNCHECKED)
    return max(codes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m shiro_jupyter")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser(
        "check", help="run notebooks top to bottom in a fresh kernel", epilog=_EPILOG
    )
    add = check.add_argument
    add("notebooks", nargs="+", metavar="NOTEBOOK")
    add("--json", action="store_true", help="one JSON object a line for each notebook")
    add("--forecast", action="store_true", help="run nothing: only what its text tells")
    add("--allow", default="", metavar="KINDS", help=f"what cells may do: {','.join(KINDS)}")
    add("--yes", action="store_true", help="allow all of these")
    add("--in-place", action="store_true", help="in the notebook's folder: what is written stays")
    add("--live", action="store_true", help="%%shiro cells ask the model again")
    add(
        "--strict",
        action="store_true",
        help="fail on what differs, ran out of order or was passed over",
    )
    long = f"for a cell ({TIMEOUT:g}); 0: as long as it takes"
    add("--timeout", type=_number, default=TIMEOUT, metavar="SECONDS", help=long)
    relative = "for numbers, relative (1e-9)"
    add("--tolerance", type=_number, default=Options.tolerance, help=relative)
    return parser


def _number(said: str) -> float:
    with suppress(ValueError):
        if 0 <= (number := float(said)) < math.inf:
            return number
    raise argparse.ArgumentTypeError(f"not a number from 0: {said!r}")


def _checked(path: Path, args: argparse.Namespace) -> int:
    # One that is a link runs where the link is, as in Jupyter.
    notebook = read_saved(path.parent.resolve() / path.name)
    allowed = set(KINDS) if args.yes else set(filter(None, args.allow.split(",")))
    if unknown := allowed - set(KINDS):
        raise UsageError(f"--allow takes {', '.join(KINDS)}; not {', '.join(sorted(unknown))}.")
    project = find_project(path.parent, home=Path.home(), notebook=notebook.path)
    with tempfile.TemporaryDirectory(prefix="shiro-check-") as outputs:
        options = Options(args.in_place, args.live, args.timeout or None, args.tolerance)
        check = Check(
            notebook, project.root, _processes(project, Path(outputs)), options, tell=_Told()
        )
        lines = [f"{path}: {line}" for line in forecast_lines(check.forecast, notebook.cells)]
        if args.forecast:
            if args.json:
                lines = [json.dumps(check.result().forecast_as_json(), ensure_ascii=True)]
            _print(sys.stdout, lines or [f"{path}: {NONE_FORESEEN}"])
            return FAILS if check.forecast else PASSES
        _print(sys.stderr, lines)
        _unless_allowed(notebook, allowed)
        result = asyncio.run(_until_ended(check))
    if args.json:
        sys.stdout.write(f"{json.dumps(result.as_json(), ensure_ascii=True)}\n")
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        sys.stdout.write(f"{plain(report(result), width)}\n")
    if result.interrupted:
        return UNCHECKED
    return PASSES if (result.clean if args.strict else result.passes) else FAILS


def _print(out: TextIO, lines: Sequence[str]) -> None:
    out.write("".join(f"{visible(line)}\n" for line in lines))


def _unless_allowed(notebook: Notebook, allowed: set[str]) -> None:
    told = effects(notebook.cells, notebook.path.parent)
    found = [each for each in told if each.kind not in allowed]
    if found:
        kinds = ",".join(kind for kind in KINDS if kind in {each.kind for each in found})
        raise UsageError(
            f"{notebook.path.name} was not run, since its cells do more than compute:\n"
            f"{asked(found)}\nAllow it with --allow {kinds}, after a look at them."
        )


def _processes(project: Project, outputs: Path) -> Processes:
    loaded = Settings.load(environ=os.environ, folders=user_folders(os.environ), project=project)
    return Processes(os.environ, outputs, loaded.settings.hide, known(loaded.secrets))


async def _until_ended(check: Check) -> Result:
    """An interrupt or a request to end leaves what had come by then."""
    task = asyncio.ensure_future(check.run())
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError, AttributeError):  # Windows has neither
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(each, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return check.result(interrupted=True)


class _Told:
    """Says on stderr what has run, and of a cell that takes long that it still does."""

    def __init__(self) -> None:
        self._next = WORD

    def __call__(self, progress: Progress) -> None:
        if not progress.ran and progress.seconds < self._next:
            return
        self._next = WORD if progress.ran else self._next + WORD
        still = "" if progress.ran else "still running, "
        sys.stderr.write(
            f"[{progress.at}/{progress.of}] {visible(progress.cell.title)}"
            f"  {still}{progress.seconds:.1f} s\n"
        )
        sys.stderr.flush()
