from __future__ import annotations

from shiro_jupyter.kernel.check.cells import CodeCell
from shiro_jupyter.kernel.check.hidden import AGENT, UNKNOWN, Hidden, Live, Order, hidden, order


def test_each_name_of_the_live_kernel_alone_is_told_with_where_it_came_from() -> None:
    live = Live(
        ["kept", "deleted", "by_agent", "pushed", "later", "_private"],
        ["", "deleted = 1", "kept = 2", "deleted = 3"],
        {"by_agent"},
    )
    assert hidden(live, {"kept"}, [CodeCell(4, "later = 1")]) == [
        Hidden("by_agent", AGENT),
        Hidden("deleted", "[3], a cell that is gone or was changed"),
        Hidden("pushed", UNKNOWN),
    ]


def test_a_cell_that_stands_as_it_ran_is_not_said_to_be_gone() -> None:
    cells = [CodeCell(1, "flag = False"), CodeCell(2, "if flag:\n    extra = 1\n")]
    live = Live(["extra"], ["", "flag = True", "if flag:\n    extra = 1"])
    (found,) = hidden(live, {"flag"}, [], cells)
    assert found.origin == "[2], which does not bind it in a fresh run"


def test_counts_tell_the_order_that_cells_ran_in() -> None:
    first, second, third = (CodeCell(n, "x", count=c) for n, c in ((1, 5), (2, 2), (4, 9)))
    unrun, empty = CodeCell(5, "y"), CodeCell(6, " ")
    found = order([first, second, third, unrun, empty])
    assert found.late == ((second, first),)
    assert found.never == (unrun,)
    assert found.gone == 5  # 3, 4, 6, 7 and 8


def test_cells_that_a_turn_ran_have_the_number_of_the_cell_that_asked() -> None:
    counts, asks = ((1, 6), (2, 7), (3, 7), (4, 7), (5, 8), (6, 5)), "r = %shiro run them"
    cells = [CodeCell(n, asks if n == 3 else "x", count=count) for n, count in counts]
    found = order(cells)
    assert (found.late, found.gone) == (((cells[5], cells[4]),), 0)


def test_counts_that_began_again_tell_no_order() -> None:
    cells = [CodeCell(number, "x", count=count) for number, count in ((1, 1), (2, 2), (3, 1))]
    unrun = CodeCell(4, "y")
    assert order([*cells, unrun]) == Order(never=(unrun,))


def test_a_command_may_be_asked_from_anywhere() -> None:
    check, cell = CodeCell(1, "%shiro /check", count=9), CodeCell(2, "x = 1", count=8)
    assert order([check, cell, CodeCell(3, "%%shiro /check\n")]) == Order()


def test_a_notebook_that_never_ran_has_no_order() -> None:
    found = order([CodeCell(1, "x"), CodeCell(2, "y")])
    assert (found.late, found.never, found.gone) == ((), (), 0)
