"""What `%load_ext shiro_jupyter` adds to a plain IPython, in CPU time."""

from __future__ import annotations

import statistics
import subprocess
import sys

RUNS = 15
PLAIN = """
import resource, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
{load}
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def cpu_and_memory(load: str) -> tuple[float, float]:
    """Seconds of CPU and MB of peak memory of one fresh process."""
    run = subprocess.run(
        [sys.executable, "-c", PLAIN.format(load=load)], capture_output=True, text=True, check=True
    )
    seconds, kilobytes = run.stdout.split()
    return float(seconds), float(kilobytes) / 1024


def added_cpu(runs: int = RUNS) -> tuple[float, float, float]:
    """Medians of pairs taken in turn: seconds added, ratio to plain IPython, MB added."""
    load = "shell.run_line_magic('load_ext', 'shiro_jupyter')"
    cpu_and_memory(load)  # bytecode and disk caches
    pairs = [(cpu_and_memory(""), cpu_and_memory(load)) for _ in range(runs)]
    return (
        statistics.median(loaded[0] - plain[0] for plain, loaded in pairs),
        statistics.median(loaded[0] / plain[0] for plain, loaded in pairs),
        statistics.median(loaded[1] - plain[1] for plain, loaded in pairs),
    )


def main() -> None:
    seconds, ratio, megabytes = added_cpu()
    print(
        f"%load_ext adds {seconds * 1000:.0f} ms of CPU (promised: under 150), "
        f"{ratio:.2f} times plain IPython, and {megabytes:.1f} MB; median of {RUNS} pairs"
    )


if __name__ == "__main__":
    main()
