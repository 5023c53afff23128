"""Notebook files for checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def printed(text: str) -> Output:
    return {"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}


def result(text: str) -> Output:
    data = {"text/plain": text}
    return {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}


def cell(source: str, *outputs: Output, count: int | None = None, **metadata: Any) -> Output:
    return {
        "cell_type": "code",
        "source": source.splitlines(keepends=True),
        "outputs": list(outputs),
        "execution_count": count,
        "metadata": metadata,
    }


def write(path: Path, *cells: Output | str, **metadata: Any) -> Path:
    """A notebook of these cells, a text being one that ran in its turn and showed nothing."""
    made = [
        each if isinstance(each, dict) else cell(each, count=number)
        for number, each in enumerate(cells, 1)
    ]
    for number, each in enumerate(made, 1):
        each["id"] = f"cell-{number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made})
    )
    return path
