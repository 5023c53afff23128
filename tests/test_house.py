"""The rules of the house, held by walking the source."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import shiro_jupyter

ROOT = Path(shiro_jupyter.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))

# Rooms from the ground up: a module imports from rooms below its own, or from its own.
STOREYS = (
    {"core.todos", "core.transcript", "core.errors", "core.events", "core.numbers"},
    {"core.workspace"},
    {"core.policy", "core.context", "core.notebook"},
    {"core.memory", "core.notes", "core.sessions"},
    {"core.models"},
    {"core.settings"},
    {"core.tools"},
    {"core.approvals", "core.turn", "core.queue"},
    {"core.calls", "core.compaction", "core.cost"},
    {"core.fitting", "core.aside"},
    {"core.agent", "core.questions"},
    {"views"},
    {"kernel"},
    {"__main__"},
)
# Imports of our own inside functions, each with its reason.
LAZY = {
    ("kernel.lazy", "kernel.host"): "loading the extension must not import pydantic or openai",
    ("kernel.lazy", "kernel.cell_interrupts"): "nor asyncio",
    ("kernel.lazy", "kernel.completion"): "what a first Tab needs comes with it",
    ("kernel.lazy", "kernel.own_tools"): "nor does importing the package, for its decorator",
}
# What `core` must never know of.
HOSTS = {"IPython", "ipykernel", "ipywidgets", "anywidget", "nbformat", "jupyter_client"}
# Heavy packages, and the one module each that may import them, inside a function.
HEAVY = {
    "openai": "core.models.sdk",
    "httpx2": "core.models.sdk",
    "genai_prices": "core.models.prices",
    "keyring": "core.settings.keys",
    "nbformat": "kernel.valid_notebook",
    "nbclient": "kernel.check.run",
    "ipywidgets": "kernel.cell_widget",
    "anywidget": "kernel.cell_widget",
}
# Files over 400 lines and functions over 60, as they are today; these may only shrink.
FILE_LINES, FUNCTION_LINES = 400, 60
LONG_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}


def module_of(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__") if name != "__init__" else ""


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every module imported (ours relative to the package with `@`, others by name), and whether
    at the top of the file. What only the type checker imports is an edge between our modules
    all the same, but loads nothing of others."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
    }
    package = [*path.relative_to(ROOT).parent.parts]
    modules = {module_of(each) for each in SOURCES}
    for node in ast.walk(tree):
        top = id(node) not in inside
        if id(node) in typing and not getattr(node, "level", 0):
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or "", top
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1]
            origin = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            for alias in node.names:
                inner = f"{origin}.{alias.name}".strip(".")
                yield f"@{inner if inner in modules else origin}", top


def storey_of(module: str) -> int | None:
    for height, rooms in enumerate(STOREYS):
        if any(module == room or module.startswith(f"{room}.") for room in rooms):
            return height
    return None


def room_of(module: str) -> str:
    return next(
        (r for rooms in STOREYS for r in rooms if module == r or module.startswith(f"{r}.")), ""
    )


def own_edges() -> Iterator[tuple[str, str, bool]]:
    for path in SOURCES:
        for target, top in imports(path):
            if target.startswith("@"):
                yield module_of(path), target[1:], top


def test_every_module_has_a_room() -> None:
    homeless = [
        module
        for module in map(module_of, SOURCES)
        if module not in ("", "core", "version") and storey_of(module) is None
    ]
    assert not homeless


def test_imports_run_one_way() -> None:
    upward = [
        f"{module} imports {target}"
        for module, target, _ in own_edges()
        if (here := storey_of(module)) is not None
        and (there := storey_of(target)) is not None
        and (there > here or (there == here and room_of(module) != room_of(target) and here > 0))
    ]
    assert not upward


def test_no_module_imports_in_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    for module, target, top in own_edges():
        if top and target != module:
            edges.setdefault(module, set()).add(target)
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail[trail.index(module) :], module])
        if module not in done:
            for target in sorted(edges.get(module, ())):
                visit(target, (*trail, module))
            done.add(module)

    for module in sorted(edges):
        visit(module, ())


def test_own_imports_stand_at_the_top() -> None:
    hidden = {(module, target) for module, target, top in own_edges() if not top}
    assert hidden == set(LAZY)


def test_core_knows_no_jupyter() -> None:
    found = [
        f"{module_of(path)} imports {target}"
        for path in SOURCES
        if module_of(path).startswith("core")
        for target, _ in imports(path)
        if target.split(".")[0] in HOSTS
    ]
    assert not found


def test_heavy_packages_are_imported_late_and_in_one_place() -> None:
    found = [
        f"{module_of(path)} imports {target}{' at its top' if top else ''}"
        for path in SOURCES
        for target, top in imports(path)
        if (home := HEAVY.get(target.split(".")[0])) is not None
        and (top or not home or module_of(path) != home)
    ]
    assert not found


def functions(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{module_of(path)}.{node.name}", (node.end_lineno or 0) - node.lineno + 1


def test_files_and_functions_only_shrink() -> None:
    """What is over the limit today is listed with its size; it may shrink, never grow."""
    files = {module_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in SOURCES}
    long_files = {name: size for name, size in files.items() if size > FILE_LINES}
    long_functions = {
        name: size for path in SOURCES for name, size in functions(path) if size > FUNCTION_LINES
    }
    for found, allowed in ((long_files, LONG_FILES), (long_functions, LONG_FUNCTIONS)):
        grown = {name: size for name, size in found.items() if size > allowed.get(name, 0)}
        assert not grown, f"over the limit, or grown: {grown}"
        stale = {name: size for name, size in allowed.items() if found.get(name, 0) < size}
        assert not stale, f"shrunk: lower or drop these in the list: {stale}"


def test_the_public_face_is_what_is_documented() -> None:
    """The names a person may rely on; everything in `__all__` can be had and has a docstring."""
    assert set(shiro_jupyter.__all__) == {
        "load_ipython_extension",
        "tool",
        "unload_ipython_extension",
    }
    for name in shiro_jupyter.__all__:
        value = getattr(shiro_jupyter, name)
        assert isinstance(value, str) or value.__doc__


@pytest.mark.parametrize("missing", [("fcntl", "termios", "pwd", "grp", "resource", "pty")])
def test_everything_imports_where_posix_modules_are_missing(missing: tuple[str, ...]) -> None:
    """Windows has none of these; nothing may need them merely to be imported.

    The other libraries are imported first: they choose their own branches by platform.
    """
    modules = [f"shiro_jupyter.{module_of(p)}".rstrip(".") for p in SOURCES]
    code = f"""
import importlib, json, sys
import asyncio, subprocess, IPython.core.interactiveshell, jupyter_client, ipykernel.kernelbase
import ipykernel.connect, pydantic, psutil, platformdirs
for name in {missing!r}:
    sys.modules[name] = None
for name in json.loads({json.dumps(modules)!r}):
    importlib.import_module(name)
print("all imported")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "all imported\n", run.stderr


def test_modules_say_what_they_are_for() -> None:
    silent = [
        module_of(p)
        for p in SOURCES
        if not importlib.import_module(f"shiro_jupyter.{module_of(p)}".rstrip(".")).__doc__
    ]
    assert not silent


def test_tools_change_files_in_one_way_only() -> None:
    """By `ToolContext.write`, which keeps what an undo puts back."""
    writing = {"core.tools.base imports core.workspace.files.write_atomic"}
    found = {
        f"{module_of(path)} imports {'core.' * (node.level == 2)}{node.module}.{alias.name}"
        for path in SOURCES
        if "tools" in path.relative_to(ROOT).parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("workspace.files")
        for alias in node.names
        if alias.name in ("write_atomic", "append", "remove")
    }
    assert found == writing
