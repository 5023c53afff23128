"""What looking costs in a namespace of two thousand names with wide tables, plans and mischief.

Absolute figures are those of this machine; the limit of a listing is 200 ms.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.policy.private import Private
from shiro_jupyter.kernel.namespace import BRIEF_LIMIT, LISTING_LIMIT, Namespace
from shiro_jupyter.kernel.privacy import Privacy
from tests.support.hostile_names import armed, large_namespace, spark_modules

ROUNDS, LIMIT_MS = 15, 200


def milliseconds(run: Callable[[], object]) -> float:
    """Of this thread alone, so that a busy machine does not count."""
    started = time.thread_time()
    run()
    return 1000 * (time.thread_time() - started)


def quickest(run: Callable[[], object]) -> float:
    return min(milliseconds(run) for _ in range(ROUNDS))


def spaces(names: dict[str, Any]) -> dict[str, Namespace]:
    shell = types.SimpleNamespace(user_ns=names, user_ns_hidden={})
    ways = {
        "nothing private": Privacy(),
        "two patterns private": Privacy(shell, Private(("secret_*", "*.ssn"))),
        "schema only": Privacy(shell, Private(schema_only=True)),
    }
    return {label: Namespace(shell, privacy) for label, privacy in ways.items()}


def inspecting(space: Namespace, name: str) -> float:
    def inspect() -> None:
        with suppress(ToolFailed):  # it is private
            space.inspect(name)

    return milliseconds(inspect)


def measured(names: dict[str, Any]) -> None:
    copying = quickest(lambda: sorted(name for name in dict(names) if not name.startswith("_")))
    odd = [name for name in names if not name.startswith("name_")]
    for label, space in spaces(names).items():
        listing, brief = quickest(space.listing), quickest(space.brief)
        assert len(space.listing()) <= LISTING_LIMIT
        assert len(space.brief()) <= BRIEF_LIMIT + 20
        print(
            f"{label}: a listing {listing:.0f} ms (limit {LIMIT_MS} ms: "
            f"{'held' if listing <= LIMIT_MS else 'NOT HELD'}), the one of each request "
            f"{brief:.0f} ms; {listing / copying:.0f} and {brief / copying:.0f} times the sorting "
            f"of a copy of the names (time of the thread, the quickest of {ROUNDS})"
        )
        slowest = sorted((inspecting(space, name), name) for name in odd)
        told = ", ".join(f"{name} {spent:.0f} ms" for spent, name in slowest[:-4:-1])
        middle = statistics.median(spent for spent, _ in slowest)
        print(f"  one variable in detail: {middle:.1f} ms, the slowest {told}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ibis about duckdb
        modules = spark_modules()
        sys.modules.update(modules)
        try:
            names = large_namespace(Path(folder), spark=modules)
            with armed() as called:
                measured(names)
            print(f"calls of what is in it: {sum(called.values())}")
        finally:
            for name in modules:
                del sys.modules[name]


if __name__ == "__main__":
    main()
