"""Run every bench, or those named: `python -m tests.bench [NAME …]`.

A bench is a module here with `main()`, which prints what it measured. Speed is given as
ratios taken in one run; absolute figures are of this machine alone.
"""

from __future__ import annotations

import importlib
import sys

BENCHES = (
    *("load", "weight", "turn", "growth", "prefix"),
    *("shelf", "shell", "search", "page", "questions", "memory"),
)


def main() -> None:
    for name in sys.argv[1:] or BENCHES:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"tests.bench.{name}").main()


if __name__ == "__main__":
    main()
