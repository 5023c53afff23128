"""A distributed frame stays distributed: a real local Dask cluster, a frame larger than what a
worker may have, and the agent beside them, in one kernel. What was computed is read off the
scheduler."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.kernels import Kernel, running_kernel
from tests.support.scripts import runs, says, script

pytestmark = [pytest.mark.kernel, pytest.mark.slow, pytest.mark.timeout(300)]

SERVICES = "get_ipython()._shiro_extension.host.services"
ITEMS = f"{SERVICES}.conversation.opened.session.items"
RESULTS = f"[i.text for i in {ITEMS} if type(i).__name__ == 'Result']"
BRIEF = f"{SERVICES}.namespace({SERVICES}.settings()).brief()"
LINE = (
    "events: dask.DataFrame, lazy (reduce before .compute()), 60 partitions, 3 columns: "
    "shop (int64), euro (float64), weight (float64)"
)
# 60 partitions of 7.2 MB: 432 MB, where a worker may have 400.
CLUSTER = """
import distributed
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed.diagnostics.plugin import SchedulerPlugin

_ROWS, _PARTITIONS, _LIMIT = 300_000, 60, 400_000_000

class _Watch(SchedulerPlugin):
    def __init__(self, scheduler):
        self.scheduler, self.graphs, self.tasks, self.wanted = scheduler, 0, 0, []
    def update_graph(self, scheduler, **graph):
        self.graphs += 1
    def transition(self, key, start, finish, *more, **named):
        self.tasks += finish == "processing"
        task = self.scheduler.tasks.get(key)
        if finish == "memory" and task is not None and task.who_wants:
            self.wanted.append(task.nbytes)  # what a client may gather

def _part(number):
    draw = np.random.default_rng(number)
    columns = {"euro": draw.random(_ROWS), "weight": draw.random(_ROWS)}
    return pd.DataFrame({"shop": draw.integers(0, 50, _ROWS), **columns})

cluster = distributed.LocalCluster(
    n_workers=2, threads_per_worker=1, memory_limit=_LIMIT, dashboard_address=None, host="127.0.0.1"
)
client = distributed.Client(cluster)
_watch = _Watch(cluster.scheduler)
cluster.scheduler.add_plugin(_watch)
events = dd.from_map(_part, range(_PARTITIONS), meta=_part(0).iloc[:0])
shops = events.groupby("shop").euro.mean(split_out=1)
"""
END = "client.close(); cluster.close()"
REDUCE = "top = shops.compute().nlargest(3)\nprint(len(top))"


def calls(when: str, *named: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"when": when, "calls": [{"name": name, "arguments": given} for name, given in named]}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("distributed")
    model = script(
        folder,
        calls(
            "look",
            ("list_variables", {}),
            ("inspect_variable", {"name": "events"}),
            ("inspect_variable", {"name": "events['euro']"}),
            ("inspect_variable", {"name": "shops"}),
            ("inspect_variable", {"name": "client"}),
        ),
        says("look", "It is large."),
        runs("reduce", REDUCE),
        says("reduce", "Reduced."),
    )
    ours = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    (folder / "project").mkdir()
    with running_kernel(
        folder=folder / "project", SHIRO_VIEW="text", SHIRO_MODE="yolo", **ours
    ) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        begun = kernel.run(CLUSTER, timeout=200)
        try:
            assert begun.status == "ok", begun.messages[-3:]
            yield kernel
        finally:
            kernel.run(END)


def test_looking_makes_no_task_on_the_cluster(kernel: Kernel) -> None:
    assert kernel.value("_watch.scheduler.total_nthreads, _LIMIT < 24 * _ROWS * _PARTITIONS") == (
        "(2, True)"
    )
    assert kernel.run("%shiro look").status == "ok"
    listing, events, euro, shops, client = literal_eval(kernel.value(RESULTS))
    assert LINE in listing.splitlines()
    assert "shops: dask.Series, lazy (reduce before .compute()), 1 column: euro (float64)" in (
        listing.splitlines()
    )
    assert events.splitlines()[1] == "- shop: int64"
    assert euro.splitlines()[1] == "- euro: float64"
    assert shops.splitlines()[-1] == "Nothing of it was computed by looking."
    assert client.startswith("client: distributed.Client")
    # Nor did what goes with each request.
    assert LINE in literal_eval(kernel.value(BRIEF)).splitlines()
    assert kernel.value("_watch.graphs, _watch.tasks, _watch.wanted") == "(0, 0, [])"


def test_it_is_reduced_where_it_is(kernel: Kernel) -> None:
    before = kernel.value("_watch.graphs")
    assert kernel.run("%shiro reduce", timeout=200).status == "ok"
    assert literal_eval(kernel.value(RESULTS))[-1].splitlines()[0] == "3"
    assert kernel.value(f"_watch.graphs - {before}, _watch.tasks > _PARTITIONS") == "(1, True)"
    # Of 432 MB a client has got this: fifty shops.
    assert kernel.value("0 < sum(_watch.wanted) < 10_000") == "True"
    assert kernel.value("len(top), 'lazy' in " + BRIEF) == "(3, True)"


def test_what_is_collected_is_seen(kernel: Kernel) -> None:
    """The measure can fail: one partition of sixty is over its bound."""
    kernel.run("_watch.wanted.clear(); one = len(events.get_partition(0).compute())", timeout=200)
    assert kernel.value("one == _ROWS, sum(_watch.wanted) > 7_000_000") == "(True, True)"
