"""Run every bench, or those named: `python -m tests.bench [NAME …] [--OPTION …]`.

A bench is a module here with `main()`, which prints what it measured. Speed is given as
ratios taken in one run; absolute figures are of this machine alone. Options are the benches' own.
"""

from __future__ import annotations

import importlib
import sys
from itertools import takewhile

BENCHES = (
    *("load", "weight", "turn", "growth", "prefix", "tokens"),
    *("shelf", "shell", "search", "page", "questions", "memory", "sessions", "namespace"),
    *("notebook", "guard"),
)


def main() -> None:
    named = takewhile(lambda word: not word.startswith("-"), sys.argv[1:])
    for name in list(named) or BENCHES:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"tests.bench.{name}").main()


if __name__ == "__main__":
    main()
