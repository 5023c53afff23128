"""/cost and /context: what was spent, what goes out next, and a large prompt that asks first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from shiro_jupyter.core.agent import NEXT_PROMPT
from shiro_jupyter.core.errors import UsageError, UserMendable
from shiro_jupyter.core.events import Cost, Usage
from shiro_jupyter.core.sessions.session import Session
from shiro_jupyter.core.transcript import User
from shiro_jupyter.core.turn import Limits
from shiro_jupyter.kernel.cost_commands import _caps, _payload, _totals, _turns, said_cost
from shiro_jupyter.kernel.services import Services
from shiro_jupyter.views.document import Verbatim, plain
from tests.support.kernels import Kernel, Outputs, running_kernel
from tests.support.scripts import says, script
from tests.support.strict_endpoint import Reply, ScriptedCall, StrictEndpoint

KEY = "sk-proj-Zx8vBn3mQw7eRt5yUi9oPa2s"
PRICED = Cost(0.0125, priced=2)


def told(outputs: Outputs) -> str:
    """The document that a command showed, as text; it is a table in a notebook."""
    (shown,) = outputs.of("display_data")
    assert "<table>" in shown["data"]["text/html"]
    return str(shown["data"]["text/plain"])


# -- what is told of costs -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (Cost(), "nothing yet"),
        (PRICED, "$0.0125"),
        (Cost(12.5, priced=2), "$12.50"),
        (Cost(0.00001, priced=1), "under $0.0001"),
        (Cost(0.0, priced=1), "$0.00"),  # a model that is free, and known to be
        (Cost(unknown=3), "unknown"),
        (PRICED + Cost(unknown=1), "about $0.0125, since 1 call is of unknown cost"),
        (Cost(0.02, unknown=2), "about $0.0200, since 2 calls are of unknown cost"),
        (PRICED + Cost(local=4), "$0.0125"),
        (Cost(local=4), "no price, it ran on this machine"),
    ],
)
def test_a_cost_is_told_as_far_as_it_is_known(cost: Cost, words: str) -> None:
    assert said_cost(cost) == words


def test_a_turn_has_a_row_for_each_model() -> None:
    session = Session(model="large")
    session.add_usage(Usage(1000, 620, 40, 3), PRICED)
    session.add_usage(Usage(1000, 0, 2, 0), Cost(0.01, priced=1))  # outside of the turn
    session.set_model("small")
    session.add_usage(Usage(0, 0, 7, 0), Cost(unknown=1))
    lines = plain(_turns(session), 80).splitlines()
    assert [line.split() for line in lines] == [
        ["turn", "in", "cached", "out", "cost", "model"],
        ["0", "2,000", "31", "%", "42", "$0.0225", "large"],
        ["0", "0", "7", "unknown", "small"],
    ]


def test_many_turns_are_folded() -> None:
    session = Session(model="m")
    for turn in range(1, 31):
        session.append(User("x", turn))
        session.add_usage(Usage(1, 0, 1, 0), Cost(local=1))
    lines = plain(_turns(session), 80).splitlines()
    assert lines[0] == "10 earlier" and lines[-1].split()[0] == "30"


def test_totals_and_caps() -> None:
    lines = plain(
        [
            *_totals(Usage(2000, 620, 42, 3), PRICED, Cost(1.5, priced=9)),
            *_caps(Limits(cost_day=2.0), PRICED, Cost(1.5, priced=9)),
        ]
    ).splitlines()
    assert lines == [
        "This session: 2,000 tokens in (31 % cached), 42 out, 3 of them reasoning · $0.0125",
        "Today, in all kernels: $1.50",
        "Caps: max_cost is not set; max_cost_day is $2.00, 75 % used.",
    ]


def test_a_day_of_local_calls_alone_is_not_told_as_one_without_calls() -> None:
    lines = plain(_totals(Usage(2900, 0, 85, 0), Cost(local=4), Cost())).splitlines()
    assert lines[1] == (
        "Today, in all kernels: nothing but what ran on this machine, which has no price"
    )


# -- a payload -------------------------------------------------------------------------------


def payload(body: dict[str, object], name: str = "") -> object:
    return _payload(cast(Services, SimpleNamespace(redactor=str)), body, name)


def test_half_of_a_surrogate_pair_is_shown_and_saved_as_json_escapes_it(tmp_path: Path) -> None:
    body: dict[str, object] = {"content": "half \ud83d, whole 😀, back\\slash"}
    payload(body, str(tmp_path / "saved"))
    saved = (tmp_path / "saved").read_text(encoding="utf-8")
    assert json.loads(saved) == body and "half \\ud83d, whole 😀" in saved
    (shown,) = cast(list[Verbatim], payload(body))
    assert json.loads(shown.text) == body


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a\0b", r"^'.*a\\x00b' is no name of a file; give another.$"),
        ("n" * 300, "^Cannot write .*name too long"),
        ("there", "is there already; name a file that is not.$"),
        ("dangling", "is there already; name a file that is not.$"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_in_a_sentence(
    tmp_path: Path, name: str, why: str
) -> None:
    (tmp_path / "there").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UserMendable, match=re.compile(why, re.IGNORECASE)):
        payload({"a": "b"}, str(tmp_path / name))
    assert (tmp_path / "there").read_text() == "mine" and not (tmp_path / "nowhere").exists()


def test_the_home_of_nobody_is_no_place_for_a_file() -> None:
    with pytest.raises(UsageError, match=r"'~no-such-user-here/x' is no name of a file"):
        payload({"a": "b"}, "~no-such-user-here/x")


# -- in a kernel -----------------------------------------------------------------------------


@contextmanager
def started(tmp_path: Path, **environment: str) -> Iterator[Kernel]:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / "a.csv").write_text("a,b\n" + "1,2\n" * 50)
    home = {"SHIRO_HOME": str(tmp_path / "home"), "SHIRO_LIVE": "1", "SHIRO_VIEW": "text"}
    with running_kernel(folder=project, **home, **environment) as kernel:
        kernel.run("%load_ext shiro_jupyter")
        yield kernel


@pytest.mark.kernel
def test_a_session_is_counted_by_turn_and_goes_on_after_a_resume(tmp_path: Path) -> None:
    usage = {"input": 7600, "cached": 1900, "output": 40, "reasoning": 8}
    model = script(tmp_path, says("hi", "Hello.", usage=usage))
    spending = tmp_path / "home" / "data" / "spending"
    spending.mkdir(parents=True)
    today = spending / f"{datetime.now().date().isoformat()}.jsonl"
    today.write_text('{"at": "09:00", "usd": 1.25}\n')  # by another kernel
    with started(tmp_path, SHIRO_MODEL=model, SHIRO_MAX_COST_DAY="5") as kernel:
        assert (
            "No model was called in this session yet."
            in kernel.run("%shiro /cost").of("display_data")[0]["data"]["text/plain"]
        )
        kernel.run("%shiro hi")
        assert "7,600 tokens in (1,900 cached), 40 out" in kernel.run("%shiro hi").stdout
        lines = told(kernel.run("%shiro /cost")).splitlines()
        assert [line.split()[:6] for line in lines[1:3]] == [
            [turn, "7,600", "25", "%", "40", "local"] for turn in "12"
        ]
        assert lines[3].startswith("This session: 15,200 tokens in (25 % cached), 80 out, 16 of")
        assert lines[4:6] == [
            "Today, in all kernels: $1.25",
            "Caps: max_cost is not set; max_cost_day is $5.00, 25 % used.",
        ]
    with started(tmp_path, SHIRO_MODEL=model) as kernel:
        kernel.run("%shiro /resume")
        assert told(kernel.run("%shiro /cost")).splitlines()[1:3] == lines[1:3]


@pytest.mark.kernel
def test_the_next_request_is_told_by_source_and_shown_as_it_goes_out(tmp_path: Path) -> None:
    replies = [
        Reply(calls=[ScriptedCall("read_file", {"path": "a.csv"})], input_tokens=6000),
        Reply("Two columns.", input_tokens=7000),
        Reply("Hello."),
    ]
    with StrictEndpoint(replies, key=KEY, window=32_000) as server:
        where = {"SHIRO_BASE_URL": server.base_url, "SHIRO_MODEL": "tiny", "SHIRO_API_KEY": KEY}
        with started(tmp_path, **where) as kernel:
            assert "has not begun yet" in str(kernel.run("%shiro /context").messages)
            kernel.run("%shiro look at a.csv; my password is " + KEY)
            shown = told(kernel.run("%shiro /context"))
            saved = kernel.run("%shiro /context payload next request.json").stdout
            again = str(kernel.run("%shiro /context payload next request.json").messages)
            printed = kernel.run("%shiro /context payload").of("display_data")
            wrong = str(kernel.run("%shiro /context payloads").messages)
            path = tmp_path / "project" / "next request.json"
            payload = path.read_text()
            kernel.run(f"%shiro {NEXT_PROMPT}")
    server.check()
    lines = shown.splitlines()
    assert lines[0].startswith("The next request to tiny: about 7,0")
    assert " of the window of 32,000; " in lines[1] and lines[1].count("#") == 7
    rows = [line.split("  ")[0] for line in lines[3:9]]
    assert rows == [
        *("instructions", "tools", "notebook and kernel", "files", "earlier turns", "this turn")
    ]
    assert "which counted 7,000 where it was" in shown and "    Today is " in shown
    assert saved.startswith(f"Saved to {path}: ") and path.stat().st_mode & 0o777 == 0o600
    assert "is there already" in again and "/context takes nothing, or payload" in wrong
    assert json.loads(payload) == server.bodies[-1]
    assert KEY not in payload and KEY not in str(printed)
    assert '"model": "tiny"' in printed[0]["data"]["text/plain"]


@pytest.mark.kernel
def test_a_large_prompt_asks_before_it_goes_out(tmp_path: Path) -> None:
    model = script(tmp_path, says("word", "Read."))
    large = "%shiro " + "word " * 6000
    with started(tmp_path, SHIRO_MODEL=model, SHIRO_ASK_ABOVE="8000") as kernel:
        asked: list[str] = []

        def answering(answer: str) -> Outputs:
            return kernel.run(large, stdin=lambda prompt: (asked.append(prompt), answer)[1])

        refused, agreed = answering("n"), answering("y")
        assert "Send about 1" in refused.stdout and "earlier turns" not in refused.stdout
        assert "Not sent, as you said, a request of about 1" in refused.stdout
        assert "Read." in agreed.stdout and len(asked) == 2
        nobody = kernel.run("%shiro " + "word " * 9000)
        assert "nobody is here to agree to more than 8,000" in str(nobody.messages)
