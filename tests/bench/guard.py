"""What the column guard finds: right code that it refuses, made-up names that it tells, and time.

`python -m tests.bench guard [--data=FILE.toml]`; without one, the files of the project.
"""

from __future__ import annotations

import ast
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.guarded import DATA, judged, read

ROUNDS = 5


def quickest(run: Callable[[], object]) -> float:
    """Milliseconds of this thread."""
    spent = []
    for _ in range(ROUNDS):
        started = time.thread_time()
        run()
        spent.append(1000 * (time.thread_time() - started))
    return min(spent)


def measure(path: Path) -> None:
    snippets = read(path)
    namespace = snippets.namespace()
    right = [each for each in snippets.all if not each.name]
    wrong = [each for each in snippets.all if each.name]
    verdicts = {each: judged(each.code, namespace) for each in snippets.all}
    refused = [each for each in right if verdicts[each].refusal]
    noisy = [each for each in right if verdicts[each].warning and not verdicts[each].refusal]
    found = {each: (*verdicts[each].certain, *verdicts[each].doubtful) for each in wrong}
    told = [each for each in wrong if any(repr(each.name) in f.what for f in found[each])]
    certain = [each for each in told if verdicts[each].refusal]
    meant = [each for each in told if each.near]
    near = [each for each in meant if each.near in {n for f in found[each] for n in f.near}]
    print(f"{path.name}: {len(right)} right, {len(wrong)} made up")
    print(f"  right code refused: {len(refused)}; told of a doubt: {len(noisy)}")
    print(
        f"  made-up names refused: {len(certain)}, told before running: {len(told) - len(certain)}"
        f", missed: {len(wrong) - len(told)}"
    )
    precision = len(certain) / (len(certain) + len(refused) or 1)
    print(
        f"  precision of refusals {precision:.1%}, recall {len(told) / (len(wrong) or 1):.1%} "
        f"(by refusals alone {len(certain) / (len(wrong) or 1):.1%}); the name that was meant "
        f"proposed for {len(near)} of {len(meant)}"
    )
    costs = [quickest(lambda code=each.code: judged(code, namespace)) for each in snippets.all]
    plain = [each.code for each in snippets.all if "%" not in each.code]
    compiling = sum(quickest(lambda code=code: compile(code, "", "exec")) for code in plain)
    following = sum(quickest(lambda code=code: judged(code, namespace)) for code in plain)
    print(
        f"  {statistics.median(costs):.2f} ms a snippet (worst {max(costs):.1f} ms), "
        f"{following / compiling:.1f} times what compiling takes"
    )


def growth() -> None:
    """Time for code of ten times the length, which is to be ten times as much."""
    namespace = read(DATA / "guard.toml").namespace()
    line = "sales['m'] = sales['price'] * 2\nif sales['units'].sum() > 3:\n    x = sales.head()\n"
    once, ten = (quickest(lambda n=n: judged(line * n, namespace)) for n in (100, 1000))
    nodes = sum(1 for _ in ast.walk(ast.parse(line * 1000)))
    print(
        f"ten times the code takes {ten / once:.1f} times as long ({nodes:,} nodes: {ten:.0f} ms)"
    )


def main() -> None:
    given = [word.partition("=")[2] for word in sys.argv if word.startswith("--data=")]
    for path in map(Path, given) if given else sorted(DATA.glob("guard*.toml")):
        measure(path)
    growth()
