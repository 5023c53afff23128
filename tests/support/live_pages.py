"""A page that shows a notebook, as the kernel hears of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.kernel.document import LiveDocument


def code(name: str, source: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "type": "code", "source": source, **more}


def markdown(name: str, source: str) -> dict[str, Any]:
    return {"id": name, "type": "markdown", "source": source}


@dataclass
class LivePage:
    """Does what the labextension does with its document. `fails` is what it says to any of these
    ops, `ran` what a run of a cell comes to, by its id; `held` whether a cell keeps main."""

    cells: list[dict[str, Any]]
    path: str = "work/own.ipynb"
    others: tuple[str, ...] = ()
    there: bool = True
    held: bool = False
    fails: dict[str, str] = field(default_factory=dict)
    ran: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    slow: dict[str, asyncio.Event] = field(default_factory=dict)  # until when an op takes

    @property
    def document(self) -> LiveDocument:
        return LiveDocument(self.ask, lambda: self.held, lambda: self.there)

    @property
    def ids(self) -> list[str]:
        return [each["id"] for each in self.cells]

    def cell(self, name: str) -> dict[str, Any]:
        found = [each for each in self.cells if each["id"] == name]
        if not found:
            raise ToolFailed(f"The notebook has no cell {name} (any more): read its outline again.")
        return found[0]

    async def ask(self, op: str, args: dict[str, Any], seconds: float) -> object:
        self.asked.append(op)
        if not self.there:
            raise ToolFailed("No page.")
        if sentence := self.fails.get(op):
            raise ToolFailed(sentence)
        if "was" in args and args["was"] not in (None, now := self.cell(args["id"])["source"]):
            return {"changed": now}
        if op in self.slow:
            await self.slow[op].wait()
        return getattr(self, f"_{op}")(args)

    def _outline(self, args: dict[str, Any]) -> object:
        cells = [
            {"id": each["id"], "type": each["type"], "lines": 1, "execution_count": None}
            | {"running": each.get("running", False)}
            for each in self.cells
        ]
        return {"path": self.path, "dirty": True, "trusted": True, "cells": cells}

    def _open(self, args: dict[str, Any]) -> object:
        return [self.path, *self.others]

    def _read(self, args: dict[str, Any]) -> object:
        wanted = args["cells"]
        cells = self.cells if wanted is None else [self.cell(name) for name in wanted]
        return {"cells": [self._told(each, args["outputs"]) for each in cells]}

    def _told(self, cell: dict[str, Any], outputs: bool) -> dict[str, Any]:
        had = cell.get("outputs", [])
        told = {name: cell[name] for name in ("id", "type", "source")}
        told |= {"metadata": cell.get("metadata", {}), "execution_count": cell.get("count")}
        told["shown"] = [each["output_type"] for each in had]
        return told | ({"outputs": had} if outputs and cell["type"] == "code" else {})

    def _insert(self, args: dict[str, Any]) -> object:
        name = args.get("id") or f"new-{len(self.asked)}"
        made = {"id": name, **{key: args[key] for key in ("type", "source", "metadata")}}
        made |= {"outputs": args.get("outputs", []), "count": args.get("execution_count")}
        at = len(self.cells)
        if before := args.get("before"):
            at = self.ids.index(before)
        elif after := args.get("after"):
            at = self.ids.index(after) + 1
        self.cells.insert(at, made)
        return {"id": name}

    def _replace(self, args: dict[str, Any]) -> object:
        cell = self.cell(args["id"])
        metadata = {k: v for k, v in cell.get("metadata", {}).items() if k != "shiro"}
        if args["mark"]:
            metadata["shiro"] = args["mark"]
        cell.update(source=args["source"], metadata=metadata)
        return {}

    def _delete(self, args: dict[str, Any]) -> object:
        cell = self.cell(args["id"])
        self.cells.remove(cell)
        stored = {"id": cell["id"], "cell_type": cell["type"], "source": cell["source"]}
        stored |= {"metadata": cell.get("metadata", {})}
        if cell["type"] == "code":
            stored |= {"outputs": cell.get("outputs", []), "execution_count": cell.get("count")}
        return {"kept": stored}

    def _move(self, args: dict[str, Any]) -> object:
        cell = self.cell(args["id"])
        self.cells.remove(cell)
        after = args["after"]
        self.cells.insert(self.ids.index(after) + 1 if after else 0, cell)
        return {}

    def _run(self, args: dict[str, Any]) -> object:
        return self.ran[args["id"]]

    def _patch(self, args: dict[str, Any]) -> object:
        self.cell(args["id"]).update(outputs=args["outputs"], count=args["execution_count"])
        return {}
