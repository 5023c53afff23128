"""Snippets for the column guard: code over known tables, right, or with a name that is made up."""

from __future__ import annotations

import contextlib
import io
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from shiro_jupyter.kernel.guard import Schema, Verdict, check

DATA = Path(__file__).parents[1] / "bench" / "data"


@dataclass(frozen=True)
class Snippet:
    """`name` is what is made up, empty in right code; `near` is what the guard has to propose."""

    code: str
    name: str = ""
    near: str = ""


@dataclass(frozen=True)
class Snippets:
    setup: str
    all: tuple[Snippet, ...]

    def namespace(self) -> dict[str, Any]:
        """A fresh one, as a kernel would have it."""
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(self.setup, "setup", "exec"), names)
        return names


def read(path: Path) -> Snippets:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    setup = data.get("setup") or read(DATA / "guard.toml").setup
    right = [Snippet(each["code"].lstrip("\n")) for each in data["right"]]
    wrong = [
        Snippet(each["code"].lstrip("\n"), each["name"], each.get("near", ""))
        for each in data["wrong"]
    ]
    return Snippets(setup, (*right, *wrong))


def judged(code: str, namespace: dict[str, Any]) -> Verdict:
    shown = {name: value for name, value in namespace.items() if not name.startswith("_")}
    return check(code, Schema(shown))


def run(code: str, namespace: dict[str, Any]) -> Exception | None:
    """What the code raises when it is really run."""
    plain = TransformerManager().transform_cell(code)
    namespace["get_ipython"] = lambda: _Magics()
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(plain, "snippet", "exec"), namespace)
        except Exception as error:
            return error
    return None


class _Magics:
    def run_line_magic(self, name: str, line: str) -> None: ...
