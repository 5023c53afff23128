from __future__ import annotations

import pytest

from shiro_jupyter.core.context.named import lost, named


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("we keep it simple, because less breaks", set()),
        ("chose polars over Pandas at v2.1, 30 % faster", {"pandas", "v2.1", "30"}),
        ("- Stripe's webhooks. Use them. See src/pay.py", {"stripe", "src/pay.py"}),
        ("call load() with --strict, order_date and dayFirst", {
            "load", "--strict", "order_date", "dayfirst"
        }),
        ("the “blue line” and `plain word` stay (see orders.md) #eda", {
            "blue", "line", "plain", "word", "orders.md", "#eda"
        }),
        ("don't, e.g. won't", set()),
    ],
)  # fmt: skip
def test_names_are_told_from_words(text: str, names: set[str]) -> None:
    assert named(text) == names


def test_what_a_shorter_wording_lost_is_told_by_whole_words() -> None:
    before = "Use parquet for Orders. Read 2 files with `read_all`."
    assert lost(before, "parquet for orders; read_all reads 2 files") == []
    assert lost(before, "parquet for reorders, read_all_of reads 2.5 files") == [
        "2",
        "orders",
        "read_all",
    ]
