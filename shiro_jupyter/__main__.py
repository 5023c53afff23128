"""`python -m shiro_jupyter check NOTEBOOK`: whether a notebook re-runs, with an exit code."""

from __future__ import annotations

import sys

from .kernel.check.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
