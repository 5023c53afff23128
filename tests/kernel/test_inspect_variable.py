from __future__ import annotations

import threading
import types
from pathlib import Path

import pandas as pd
import pytest

from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.kernel.namespace import Namespace
from shiro_jupyter.kernel.tools import InspectVariable
from tests.support.tools import Bench


def tool(**names: object) -> InspectVariable:
    return InspectVariable(Namespace(types.SimpleNamespace(user_ns=names, user_ns_hidden={})))


def test_it_shows_a_table_and_a_column(tmp_path: Path) -> None:
    bench, prices = Bench(tmp_path), tool(prices=pd.DataFrame({"euro": [1.0, 3.0]}))
    assert "- euro: float64, 0 missing, 2 distinct, min 1, max 3, mean 2" in (
        bench.run(prices, name="prices").text
    )
    assert bench.run(prices, name="prices['euro']").outcome == "ok"


def test_a_wrong_name_is_answered_with_the_right_ones(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match=r"^No variable 'price'; there are prices\.$"):
        Bench(tmp_path).run(tool(prices=1), name="price")


def test_it_only_reads(tmp_path: Path) -> None:
    subject = tool().subject(tool().parse('{"name": "x"}'), Bench(tmp_path).context)
    assert (subject.access, subject.texts) == ("read", ("x",))


def test_the_loop_goes_on_while_a_variable_is_read_and_it_ends_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = threading.Event()
    where: list[threading.Thread] = []

    def slow(self: Namespace, name: str) -> str:
        where.append(threading.current_thread())
        end.wait(30)
        return name

    monkeypatch.setattr(Namespace, "inspect", slow)
    monkeypatch.setattr("shiro_jupyter.kernel.tools.inspect_variable.SECONDS", 0.05)
    try:
        with pytest.raises(ToolFailed, match=r"^prices takes over 0 s to read; look at a part"):
            Bench(tmp_path).run(tool(prices=1), name="prices")
    finally:
        end.set()
    assert where != [threading.current_thread()]
