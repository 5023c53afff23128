from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiro_jupyter.core.memory.index import parse_line
from shiro_jupyter.core.memory.rank import REASONS, Document, Ranked, Ranker, document_of
from shiro_jupyter.core.memory.search import terms
from shiro_jupyter.core.memory.signal import TaskSignal
from shiro_jupyter.core.memory.topics import Topic


def memory(text: str, *tags: str, **more: object) -> Document:
    said = text + "".join(f" #{tag}" for tag in tags)
    return replace(Document(said, tags), **more)


A = memory(
    "stripe webhook signatures are verified with the signing secret",
    *("payments", "stripe", "webhook"),
)
B = memory("transactional email sends from notify@ on the verified domain", "email", "resend")
C = memory("every table has RLS on and denies by default", "supabase", "rls", "security")


def order(ranked: list[Ranked]) -> list[int]:
    return [each.at for each in ranked]


# -- what is asked of it by name -------------------------------------------------------------


def test_a_branch_finds_its_memory_alone_and_is_named_as_the_reason() -> None:
    [found] = Ranker([A, B, C]).rank(TaskSignal(branch="fix/stripe-webhook"))
    assert found.at == 0
    assert found.why == ("#stripe (branch)", "#webhook (branch)")


def test_a_changed_file_finds_a_memory_by_a_word_that_stands_only_in_its_tag() -> None:
    files = ("src/lib/resend.ts", "src/emails/welcome.tsx")
    best, *_ = Ranker([A, B, C]).rank(TaskSignal(files=files))
    assert best.at == 1
    assert "#resend (file)" in best.why


def test_a_prompt_finds_by_its_telling_words_only() -> None:
    [found] = Ranker([A, B, C]).rank(TaskSignal(prompt="add an RLS policy to the orders table"))
    assert found.at == 2
    assert found.why == ("#rls (prompt)", "prompt “table”")


@pytest.mark.parametrize("signal", [TaskSignal(), TaskSignal(branch="main")])
def test_nothing_is_ranked_for_nothing(signal: TaskSignal) -> None:
    assert Ranker([A, B, C]).rank(signal) == []


def test_an_empty_store_answers() -> None:
    assert Ranker([]).rank(TaskSignal(branch="fix/stripe")) == []
    assert Ranker([]).find("stripe") == []


# -- the parts -----------------------------------------------------------------------------


def test_a_file_recorded_with_few_outweighs_one_recorded_with_many() -> None:
    common = [memory(f"thing {n}", files=("README.md",)) for n in range(5)]
    others = [memory(f"matter {n}") for n in range(5)]
    rare = memory("dates are day-first", files=("README.md", "load.py"))
    ranker = Ranker([*common, *others, rare])
    best, *rest = ranker.rank(TaskSignal(files=("README.md", "load.py")))
    assert (best.at, best.why[0]) == (10, "file “load.py”")
    assert set(order(rest)) == set(range(5))


def test_a_file_that_all_memories_were_made_with_says_nothing() -> None:
    everywhere = [replace(each, files=("eda.ipynb",)) for each in (A, B, C)]
    signal = TaskSignal(branch="fix/stripe", notebook="eda.ipynb", files=("eda.ipynb",))
    [found] = Ranker(everywhere).rank(signal)
    assert (found.at, found.why) == (0, ("#stripe (branch)",))


def test_files_of_the_best_matches_bring_others_made_with_them() -> None:
    payments = replace(A, files=("pay.py",))
    sibling = memory("amounts are in cents", files=("pay.py",))
    first, second = Ranker([B, C, payments, sibling]).rank(TaskSignal(branch="fix/stripe"))
    assert (first.at, second.at) == (2, 3)
    assert second.why == ("file “pay.py”, as better matches",)


def test_names_in_the_kernel_meet_those_recorded() -> None:
    told = memory("dates are day-first", columns=("order_date", "total"), modules=("polars",))
    best, *_ = Ranker([A, B, told]).rank(TaskSignal(columns=("order_date",), modules=("polars",)))
    assert best.at == 2
    assert set(best.why) <= {f"kernel “{word}”" for word in ("order", "date", "polars")}


def test_the_newer_comes_first_and_of_equals_the_more_recalled() -> None:
    old, new = memory("stripe keys", day=10), memory("stripe keys", day=20)
    assert order(Ranker([old, new]).rank(TaskSignal(prompt="stripe"))) == [1, 0]
    assert order(Ranker([old, replace(old, count=3)]).find("stripe")) == [1, 0]
    assert order(Ranker([old, old]).find("stripe")) == [0, 1]  # as given


def test_what_is_far_below_the_best_is_left_out() -> None:
    words = " ".join(f"word{n}" for n in range(40))
    faint = memory("word0 " + "and much else beside it ".replace("much", "plenty") * 20)
    others = [memory("word0 word1") for _ in range(30)]
    found = Ranker([memory(words), faint, *others]).rank(TaskSignal(prompt=words))
    assert order(found)[0] == 0
    assert 1 not in order(found)


# -- tags ----------------------------------------------------------------------------------


def test_a_memory_that_did_not_load_does_once_a_tag_names_the_work() -> None:
    crowd = [memory(f"stripe fact {n}", files=("pay.py",), day=n) for n in range(200)]
    lost = memory("amounts are in cents", day=0)
    signal = TaskSignal(branch="fix/stripe-rounding", files=("pay.py",))
    assert 200 not in order(Ranker([*crowd, lost]).rank(signal))
    tagged = memory("amounts are in cents", "rounding", day=0)
    assert 200 in order(Ranker([*crowd, tagged]).rank(signal))[:3]


@pytest.mark.parametrize(
    "signal",
    [TaskSignal(prompt="run the tests of stripe"), TaskSignal(prompt="stripe", frames=("test",))],
)
def test_a_tag_may_be_a_word_of_any_project_or_a_table(signal: TaskSignal) -> None:
    crowd = [memory("stripe fact")] * 200
    found = Ranker([*crowd, memory("never on live data", "test", day=0)]).rank(signal)
    (hit,) = [each for each in found if each.at == 200]
    assert hit.why == (f"#test ({'table' if signal.frames else 'prompt'})",)
    assert found.index(hit) < 5


@pytest.mark.parametrize(
    ("tag", "branch"),
    [
        *[("1234", "1234-fix-things"), ("1234", "feature/JIRA-1234"), ("2024", "report-2024")],
        *[("test", "fix/test"), ("sql", "sql"), ("py", "fix/py"), ("notebook", "fix/notebook")],
        *[("release", "release/1.2"), ("1.2", "release/1.2"), ("hotfix", "hotfix")],
        *[("payments", "payments/anna")],
    ],
)
def test_a_tag_may_be_any_part_of_the_branch(tag: str, branch: str) -> None:
    signal = TaskSignal(branch=branch, user="anna")
    crowd = [memory(f"we fix things of the report {n}", day=n) for n in range(100)]
    found = Ranker([*crowd, memory("rates are daily", tag, day=0)]).rank(signal)
    assert 100 in order(found)[:5]
    assert not TaskSignal(branch="main").named["branch"]


def test_a_live_table_or_column_finds_a_line_that_was_written_by_hand() -> None:
    crowd = [memory(f"plain note {n}", day=n) for n in range(200)]
    told = memory("order_date is day-first", day=0)
    (hit,) = Ranker([*crowd, told]).rank(TaskSignal(columns=("order_date", "total")))
    assert (hit.at, hit.why) == (200, ("kernel “date”", "kernel “order”"))


WORD = st.sampled_from(
    [
        "stripe",
        "order_date",
        "resend",
        "orderTotals",
        "größe",
        "注文データ",
        "load.py",
        "RLS",
        "naïve",
    ]
)
TEXT = st.lists(WORD | st.sampled_from(["the", "test", "2023", "of"]), max_size=6).map(" ".join)
TAGS = st.lists(WORD, max_size=3, unique=True).map(tuple)
FILES = st.lists(st.sampled_from(["a/load.py", "pay.py", "eda.ipynb"]), max_size=3).map(tuple)
NAMES = st.lists(WORD, max_size=2).map(tuple)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    return memory(
        draw(TEXT),
        *draw(TAGS),
        detail=draw(TEXT),
        files=draw(FILES),
        modules=draw(NAMES),
        columns=draw(NAMES),
        day=draw(st.integers(0, 9)),
        count=draw(st.integers(0, 2)),
    )


SIGNALS = st.builds(
    TaskSignal,
    branch=WORD.map("fix/{}".format) | st.just("main"),
    files=FILES,
    prompt=TEXT,
    headings=NAMES,
    modules=NAMES,
    columns=NAMES,
)


@given(st.lists(documents(), min_size=1, max_size=12), SIGNALS, st.data())
def test_a_tag_equal_to_a_branch_word_puts_any_memory_in_the_result(
    store: list[Document], signal: TaskSignal, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(store) - 1))
    word = data.draw(st.sampled_from([*signal.cues["branch"].values(), "stripe"]))
    signal = signal if word in signal.cues["branch"].values() else replace(signal, branch="stripe")
    tagged = replace(store[at], said=f"{store[at].said} #{word}", tags=(*store[at].tags, word))
    assert at in order(Ranker([*store[:at], tagged, *store[at + 1 :]]).rank(signal))


@given(st.lists(documents(), max_size=12), SIGNALS)
def test_reasons_are_true_of_the_signal_and_of_the_memory(
    store: list[Document], signal: TaskSignal
) -> None:
    ranked = Ranker(store).rank(signal)
    assert len(set(order(ranked))) == len(ranked)
    assert [each.score for each in ranked] == sorted((e.score for e in ranked), reverse=True)
    for each in ranked:
        document = store[each.at]
        held = {*terms(document.said), *terms(document.detail)}
        recorded = {*terms(" ".join((*document.modules, *document.columns)))}
        assert 0 < len(each.why) <= REASONS
        for reason in each.why:
            what, _, rest = reason.partition(" ")
            name = rest.partition("”")[0].rpartition("“")[2]
            if what.startswith("#"):
                source = rest.strip("()")
                assert what.removeprefix("#") in document.tags
                told = {*signal.named.get(source, ()), *signal.cues.get(source, ())}
                assert told & set(terms(what))
            elif what in signal.cues and name in signal.cues[what].values():
                assert set(terms(name)) & (recorded | held if what == "kernel" else held)
            else:
                assert name in {path.rpartition("/")[2] for path in document.files}
                assert rest.endswith("as better matches") or any(
                    path.endswith(name) for path in signal.paths
                )


# -- on demand -----------------------------------------------------------------------------


def test_any_word_finds_and_the_better_match_comes_first() -> None:
    ranker = Ranker(
        [
            memory("we chose snake_case for database columns"),
            memory("the api is versioned under /v2"),
            memory("columns of the api are sorted"),
        ]
    )
    found = ranker.find("snake_case columns")
    assert order(found) == [0, 2]
    assert set(found[1].why) == {"“columns”"}
    assert ranker.find("the") == ranker.find("") == []
    assert (
        order(ranker.find("columns api snake", limit=2))
        == order(ranker.find("columns api snake"))[:2]
    )


@pytest.mark.parametrize("query", ["art", "tail", "ail"])
def test_a_word_is_never_found_inside_another(query: str) -> None:
    assert Ranker([memory("details of the chart", "start-up")]).find(query) == []


@pytest.mark.parametrize("query", ["start", "START", "orderTotals", "totals", "注文"])
def test_names_are_found_by_their_parts(query: str) -> None:
    assert Ranker([memory("see below", "start-up", "orderTotals"), memory("注文データ")]).find(
        query
    )


# -- from the file -------------------------------------------------------------------------


def test_a_document_holds_what_the_comment_and_the_topic_tell() -> None:
    entry = parse_line(
        "- [2026-11-30 09:12:44] (gotcha) dates are day-first (see orders.md) #orders "
        "<!-- files: load.py, eda.ipynb; notebook: eda.ipynb; modules: pandas; columns: "
        "order_date; branch: fix/dates; source: user; ; nonsense -->"
    )
    assert entry
    topic = Topic("orders.md", "what they mean", ("sales",), "long", {"files": ("x.py", "load.py")})
    assert document_of(entry, topic, 4) == Document(
        said="dates are day-first (see orders.md) #orders",
        tags=("orders", "sales"),
        detail="what they mean\nlong",
        files=("load.py", "eda.ipynb", "x.py"),
        modules=("pandas",),
        columns=("order_date",),
        branch="fix/dates",
        day=(date(2026, 11, 30) - date(1970, 1, 1)).days,
        count=4,
    )
    assert document_of(replace(entry, about="")).files == ()
