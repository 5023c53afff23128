"""Names that the code of a turn changed are put back, and no others."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.kernel import names_undo
from shiro_jupyter.kernel.names_undo import NamesUndo, Turn, Undone


class Bench:
    def __init__(self, **names: Any) -> None:
        self.names: dict[str, Any] = names
        self.turn: Turn | None = ("s", 1)
        self.undo = NamesUndo(self.names, lambda: self.turn)

    def run(self, code: str) -> None:
        """As the agent's tool does."""
        with self.undo.watched(code):
            exec(code, {"np": np, "pd": pd}, self.names)

    def undone(self, number: int = 1) -> dict[str, tuple[str, str]]:
        done = self.undo.undo(("s", number))
        return {each.name: (each.state, each.why) for each in done}


def test_names_that_were_added_rebound_or_deleted_are_put_back() -> None:
    old, gone = [1], object()
    bench = Bench(rebound=old, deleted=gone, same=3)
    bench.run("rebound = 2; added = 1; del deleted; passing = 1; del passing")
    bench.run("rebound += 1; added = 5")
    assert bench.undo.turns("s") == [1] and bench.undo.turns("other") == []
    assert bench.undo.names(("s", 1)) == ["added", "deleted", "rebound"]
    assert bench.undone() == {
        "rebound": ("restored", ""),
        "added": ("removed", ""),
        "deleted": ("restored", ""),
    }
    assert bench.names == {"rebound": old, "deleted": gone, "same": 3}
    assert bench.names["rebound"] is old and bench.undo.turns("s") == []


def test_each_turn_is_undone_for_itself() -> None:
    bench = Bench(x=1)
    for number in (1, 2, 3):
        bench.turn = ("s", number)
        bench.run("x = x * 1000")
    assert bench.undo.turns("s") == [3, 2, 1]
    for number, left in ((3, 1_000_000), (2, 1000), (1, 1)):
        assert bench.undone(number) == {"x": ("restored", "")} and bench.names["x"] == left


def test_what_a_person_did_since_stays() -> None:
    bench = Bench(a=[], b=[], c=[], frame=pd.DataFrame({"x": [1]}))
    bench.run("a = [1]; b = [1]; del c; d = [1]; e = 1; frame = frame.assign(y=1)")
    mine = bench.names["a"] = ["mine"]
    bench.names["c"] = "mine"
    bench.names["b"].append("mine")
    bench.names["d"].append("mine")
    del bench.names["e"]
    bench.names["frame"].loc[0, "x"] = 7
    assert bench.undone() == {
        "a": ("kept", names_undo.SINCE),
        "b": ("kept", names_undo.INSIDE),
        "c": ("kept", names_undo.SINCE),
        "d": ("kept", names_undo.INSIDE),
        "e": ("kept", names_undo.SAME),
        "frame": ("kept", names_undo.INSIDE),
    }
    assert bench.names["a"] is mine and bench.names["b"] == [1, "mine"]
    assert bench.names["frame"].loc[0, "x"] == 7


def test_a_name_bound_to_none_since_is_not_taken_for_one_that_is_gone() -> None:
    bench = Bench()
    bench.run("x = pd.DataFrame({'a': [1]})")
    bench.names["x"] = None
    gc.collect()
    assert bench.undone() == {"x": ("kept", names_undo.SINCE)} and bench.names["x"] is None


def test_what_the_person_does_between_two_calls_of_a_turn_stays() -> None:
    """In the background a turn runs while cells do."""
    bench = Bench(x=1, items=[1])
    bench.run("x = 2; items.append(2)")
    bench.names["x"] = "mine"
    bench.names["items"].append("mine")
    bench.run("x = x + '!'; items.append(3)")
    done = bench.undone()
    assert done == dict.fromkeys(("x", "items"), ("restored", names_undo.EARLIER))
    assert bench.names == {"x": "mine", "items": [1, 2, "mine"]}


def test_a_frame_changed_in_place_is_put_back_for_all_its_names() -> None:
    bench = Bench(df=pd.DataFrame({"a": [1, 2]}))
    alias = bench.names["df"]
    bench.run("df['b'] = 1")
    bench.run("df.loc[0, 'a'] = 9")
    bench.run("df = df.dropna()")
    assert bench.undone() == {"df": ("restored", "")}
    assert bench.names["df"] is alias and alias.to_dict("list") == {"a": [1, 2]}


def test_a_frame_that_a_person_changed_since_stays() -> None:
    bench = Bench(df=pd.DataFrame({"a": [1, 2]}), items=[1])
    bench.run("df['b'] = 1; items.append(2)")
    bench.names["df"]["c"] = 2
    bench.names["items"].append(3)
    assert bench.undone() == {
        "df": ("kept", names_undo.INSIDE),
        "items": ("kept", names_undo.INSIDE),
    }
    assert list(bench.names["df"]) == ["a", "b", "c"] and bench.names["items"] == [1, 2, 3]


def test_what_the_turn_made_and_then_changed_goes_as_a_whole() -> None:
    bench = Bench()
    bench.run("df = pd.DataFrame({'a': [1]}); items = []")
    bench.run("df['b'] = 1; items.append(df)")
    assert bench.undone() == {"df": ("removed", ""), "items": ("removed", "")}
    assert bench.names == {}


def test_a_large_object_changed_in_place_is_named_as_beyond_undo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shiro_jupyter.kernel.contents.ITEMS", 2)
    bench = Bench(items=[1, 2, 3])
    bench.run("items.append(4)")
    assert bench.undone() == {"items": ("kept", names_undo.BEYOND)}


def test_attributes_that_a_person_set_since_stay() -> None:
    bench = Bench(df=pd.DataFrame({"a": [1]}), ser=pd.Series([1]), mine=pd.Series([1]))
    bench.run("df['b'] = 1; ser.iloc[0] = 5; new = pd.DataFrame({'z': [1]}); mine.iloc[0] = 5")
    for name in ("df", "ser", "new"):
        bench.names[name].attrs["mine"] = 1
    kept = dict.fromkeys(("df", "ser", "new"), ("kept", names_undo.INSIDE))
    assert bench.undone() == {**kept, "mine": ("restored", "")}
    assert all(bench.names[name].attrs == {"mine": 1} for name in ("df", "ser", "new"))


def test_what_may_have_been_changed_since_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiro_jupyter.kernel.contents.ITEMS", 10)
    monkeypatch.setattr(names_undo, "HELD", 1_000_000)
    bench = Bench(many=[3], huge=[3], array=np.zeros(1))
    bench.run("many = [9] * 20; huge = [9] * 200_000; array = np.zeros(300_000); same = array + 0")
    for name in ("many", "huge", "array"):
        bench.names[name][0] = 7
    assert bench.undone() == {
        "many": ("kept", names_undo.UNSURE),
        "huge": ("kept", names_undo.UNSURE),
        "array": ("kept", names_undo.INSIDE),
        "same": ("removed", ""),
    }
    assert [bench.names[name][0] for name in ("many", "huge", "array")] == [7, 7, 7]


def test_what_grew_too_large_to_look_through_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiro_jupyter.kernel.contents.ITEMS", 2)
    bench = Bench(items=[1, 2])
    bench.run("items.append(3)")
    bench.names["items"][0] = "mine"
    assert bench.undone() == {"items": ("kept", names_undo.UNSURE)}
    assert bench.names["items"] == ["mine", 2, 3]


def test_code_that_fails_is_undone_too() -> None:
    bench = Bench(x=1)
    with pytest.raises(ZeroDivisionError):
        bench.run("x = 2; y = 1; 1 / 0")
    bench.undone()
    assert bench.names == {"x": 1}


def test_what_ipython_binds_and_fills_and_code_outside_any_turn_are_left_alone() -> None:
    bench = Bench(_=1, In=[], Out={}, _oh={}, _i="", _3=3)
    bench.run(
        "_ = 2; __ = 3; In.append(1); Out[1] = _oh[1] = 2; _i = 'x'; _3 = 4; _i4 = ''; _a = 1; "
        "__warningregistry__ = {}"
    )
    assert bench.undone() == {"_a": ("removed", "")} and bench.names["In"] == [1]
    bench.turn = None
    bench.run("x = 1")
    assert bench.undo.turns("s") == [] and bench.names["x"] == 1


def test_what_ipython_binds_once_is_put_back() -> None:
    names = ("open", "exit", "quit", "get_ipython", "In", "Out")
    theirs: dict[str, Any] = {name: [name] for name in names}
    bench = Bench(**theirs)
    bench.run("open = exit = In = 5; quit = lambda: 1; del get_ipython; Out = {}")
    assert bench.undone() == dict.fromkeys(names, ("restored", ""))
    assert all(bench.names[name] is theirs[name] for name in names)


def test_no_more_is_held_than_the_bound_and_the_newest_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names_undo, "HELD", 1_000_000)
    bench = Bench(x=np.zeros(80_000), y=np.zeros(80_000), large=np.zeros(200_000), small=[0])
    watched = {name: weakref.ref(bench.names[name]) for name in ("x", "y", "large")}
    bench.run("x = 1; small = 1; large = 1")
    gc.collect()
    assert watched["x"]() is not None and watched["large"]() is None
    bench.turn = ("s", 2)
    bench.run("y = 1")
    gc.collect()
    assert watched["x"]() is watched["large"]() is None and watched["y"]() is not None
    assert bench.undone(2) == {"y": ("restored", "")}
    assert bench.undone(1) == {
        "x": ("kept", names_undo.LARGE),
        "large": ("kept", names_undo.LARGE),
        "small": ("restored", ""),
    }


def test_what_a_frame_shares_with_what_is_held_of_it_counts_as_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Until one of them is changed: a frame near the bound is put back, too."""
    monkeypatch.setattr(names_undo, "HELD", 1_000_000)
    bench = Bench(df=pd.DataFrame({"a": np.zeros(120_000)}))
    bench.run("df['b'] = 1.0")
    bench.turn = ("s", 2)
    bench.run("df.loc[0, 'a'] = 2.0")
    assert bench.undone(2) == {"df": ("restored", "")}
    bench.turn = ("s", 3)
    bench.run("df.loc[0, 'a'] = 3.0; other = 1")
    bench.run("df.loc[0, 'b'] = 3.0; df.loc[1, 'a'] = 4.0")
    assert bench.undone(3) == {"df": ("kept", names_undo.LARGE), "other": ("removed", "")}


def test_what_was_undone_or_is_old_is_held_no_longer() -> None:
    bench = Bench(x=np.zeros(10))
    watched = weakref.ref(bench.names["x"])
    for number in range(1, names_undo.TURNS + 2):
        bench.turn = ("s", number)
        bench.run(f"x = np.ones({number})")
    gc.collect()
    assert watched() is None and len(bench.undo.turns("s")) == names_undo.TURNS


lines = st.lists(
    st.tuples(
        st.sampled_from(["turn", "person", "next", "undo"]),
        st.sampled_from("abc"),
        st.sampled_from(["bind", "delete"]),
    ),
    max_size=25,
)


@given(lines)
def test_in_any_order_exactly_what_a_turn_changed_is_undone(
    story: list[tuple[str, str, str]],
) -> None:
    bench = Bench(a=object(), b=object())
    # By turn and name: what it found, and what it left.
    turns: dict[int, dict[str, tuple[Any, Any]]] = {1: {}}
    number = 1

    def undo(which: int) -> None:
        expected = dict(bench.names)
        for name, (before, after) in turns[which].items():
            if expected.get(name) is after:
                expected.pop(name, None)
                if before is not None:
                    expected[name] = before
        bench.undo.undo(("s", which))
        assert bench.names == expected
        turns[which] = {}

    for who, name, what in story:
        old, new = bench.names.get(name), object() if what == "bind" else None
        code = f"{name} = new" if new else f"{name} = 0; del {name}"
        if who == "turn":
            with bench.undo.watched(code):
                exec(code, {"new": new}, bench.names)
            before, after = turns[number].get(name, (old, old))
            turns[number][name] = (before if after is old else old, new)
        elif who == "person":
            exec(code, {"new": new}, bench.names)
        elif who == "next":
            number += 1
            bench.turn, turns[number] = ("s", number), {}
        elif found := bench.undo.turns("s"):
            undo(found[0])
    for which in bench.undo.turns("s"):
        undo(which)


def test_a_turn_without_changes_has_nothing_to_undo() -> None:
    bench = Bench(x=[1])
    bench.run("x[0]; y = 1; del y; x = x")
    assert bench.undo.turns("s") == [] and bench.undo.undo(("s", 1)) == []
    assert Undone("x", "kept") not in bench.undo.undo(("s", 9))


def test_what_is_held_stays_within_the_bound_whatever_turns_replace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bound anew, put into a list, a dict or an own object, or changed in place."""
    monkeypatch.setattr(names_undo, "HELD", 8_000_000)
    alive: weakref.WeakSet[Any] = weakref.WeakSet()

    class Block:
        def __init__(self) -> None:
            self.octets = bytes(500_000)
            alive.add(self)

    names: dict[str, Any] = {"__name__": "__main__"}
    exec("class Model: pass", names)
    bench = Bench(Block=Block, model=names["Model"](), items=[0], table={}, frame=None)
    for number in range(1, 31):
        bench.turn = ("s", number)
        bench.run("one = Block(); items[0] = Block(); table['x'] = Block(); model.x = Block()")
        bench.run("frame = pd.DataFrame({'a': np.zeros(60_000)}); frame['b'] = 1.0")
    gc.collect()
    now = 4  # those that the person has
    assert len(alive) <= now + 8_000_000 // 500_000 + 1
    done = bench.undone(30)
    assert done["one"] == ("restored", "") and done["model"] == ("kept", names_undo.BEYOND)
    assert done["items"][0] == "restored"
    large = bench.undone(25)
    assert large["one"] == ("kept", names_undo.LARGE) or large["one"][1] == names_undo.SINCE


def test_what_was_changed_in_place_is_listed_by_each_kind() -> None:
    """Put back where that can be done, else named as beyond undo; never passed over."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("class Model: pass\ndef f(): pass", names)
    bench = Bench(
        config={"a": {"b": [1]}},
        order=OrderedDict(a=1),
        tables={"t": pd.DataFrame({"a": [1]})},
        p=pl.DataFrame({"a": [1]}),
        big=np.zeros(200_000),
        f=names["f"],
        model=names["Model"](),
    )
    bench.run(
        "config['a']['b'].append(2); order['b'] = 2; tables['t']['b'] = 1; p[0, 'a'] = 9\n"
        "big[7] = 1; f.calls = 1; model.fitted = True"
    )
    assert bench.undo.told(("s", 1)) == (
        "order 1 → 2 items · changed: big, config, f, model, p, tables"
    )
    beyond = dict.fromkeys(("big", "f", "model"), ("kept", names_undo.BEYOND))
    back = dict.fromkeys(("config", "order", "tables", "p"), ("restored", ""))
    assert bench.undone() == {**beyond, **back}
    assert bench.names["config"] == {"a": {"b": [1]}} and bench.names["order"] == {"a": 1}
    assert list(bench.names["tables"]["t"]) == ["a"] and bench.names["p"]["a"].to_list() == [1]
