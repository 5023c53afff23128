"""The column guard: before code runs, the names that it uses on tables are looked up.

Pure: the syntax tree is followed with what the namespace knows (`schema.py`), no code runs.
"""

from __future__ import annotations

import ast
import re
import warnings

from IPython.core.inputtransformer2 import TransformerManager

from .flow import Flow
from .schema import Schema
from .verdict import Finding, Verdict

__all__ = ["NO_VERDICT", "Finding", "Schema", "Verdict", "check"]

NO_VERDICT = Verdict()
# IPython reads the whole code again for each magic in it; with more than so many nothing is said.
MAGICS = 50
_MAGIC = re.compile(r"^\s*[%!]|\?\s*$|=\s*[%!]", re.MULTILINE)


def check(code: str, schema: Schema) -> Verdict:
    """What the code uses that is not there; nothing of code that does not parse.

    `certain` findings would make it fail. On any thread.
    """
    if len(_MAGIC.findall(code)) > MAGICS:
        return NO_VERDICT
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = TransformerManager().transform_cell(code)  # type: ignore[no-untyped-call]
            tree = ast.parse(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError, RuntimeError):
        return NO_VERDICT
    return Flow(schema, tree).follow(tree)
