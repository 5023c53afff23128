from __future__ import annotations

from shiro_jupyter.core.memory.index import Index
from shiro_jupyter.core.memory.since import gone, replaced


def index(*lines: str) -> Index:
    return Index("".join(f"- [2026-11-30 08:00:00] {line}\n" for line in lines).encode())


BEFORE = index("prices are net", "(gotcha) dates are day-first #dates", "we drop 2023", "use uv")
NET, DATES, DROP, UV = BEFORE.entries


def test_what_is_said_still_is_not_gone_wherever_it_stands() -> None:
    now = index("use uv", "(gotcha) dates are day-first #other", "prices are net").entries
    assert gone(BEFORE.entries, now) == [DROP]
    assert gone(BEFORE.entries, BEFORE.entries) == []
    as_fact = index("dates are day-first").entries  # it was a trap
    assert DATES in gone(BEFORE.entries, as_fact)


def test_what_took_the_place_at_last_is_told() -> None:
    assert replaced([NET, DROP], {NET: DATES, DATES: UV}, {UV}) == {NET: UV}
    assert replaced([NET], {NET: DATES}, {UV}) == {}  # its successor went, too
    assert replaced([NET], {NET: DATES, DATES: NET}, {UV}) == {}
