from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiro_jupyter.core import events
from shiro_jupyter.core.calls import DIED, NOT_BEGUN
from shiro_jupyter.core.context.tokens import estimate_item
from shiro_jupyter.core.errors import (
    EndpointBusy,
    EndpointRefused,
    EndpointSilent,
    EndpointUnreachable,
    NotConfigured,
    StorageError,
    StreamBroken,
)
from shiro_jupyter.core.events import (
    ALLOW,
    ALLOW_SESSION,
    DENY,
    Answer,
    Event,
    Question,
    TurnEnded,
    Usage,
)
from shiro_jupyter.core.models.base import Heartbeat, ModelClient, Piece, Request, TextPiece
from shiro_jupyter.core.models.scripted import ScriptedCall, ScriptedModel, Step
from shiro_jupyter.core.policy.gate import Gate, Mode
from shiro_jupyter.core.policy.redactor import Redactor
from shiro_jupyter.core.policy.rules import Rules
from shiro_jupyter.core.tools.base import Parameters, Tool, ToolContext, ToolResult
from shiro_jupyter.core.tools.read_file import ReadFile
from shiro_jupyter.core.tools.shelf import tools_for
from shiro_jupyter.core.transcript import Assistant, Call, Note, Result, User
from shiro_jupyter.core.turn import Limits
from tests.support.agents import MadeClock, Stage, allows


def bash(command: str, **more: Any) -> ScriptedCall:
    return ScriptedCall("bash", {"command": command, **more})


def read(path: str) -> ScriptedCall:
    return ScriptedCall("read_file", {"path": path})


def play(
    root: Path,
    *steps: Step,
    prompts: tuple[str, ...] = ("go",),
    then: Callable[[Stage], Awaitable[None]] | None = None,
    **options: Any,
) -> tuple[Stage, list[TurnEnded]]:
    """Run the prompts one after the other and check what holds of every turn."""

    async def run() -> tuple[Stage, list[TurnEnded]]:
        stage = Stage(root / "project", steps, **options)
        ended = [await stage.agent.submit(prompt) for prompt in prompts]
        if then:
            await then(stage)
        await stage.check_whole()
        stage.model.check()
        return stage, ended

    return asyncio.run(run())


# -- a turn ------------------------------------------------------------------------------


def test_a_turn_with_one_read(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/a.txt").write_text("one\ntwo\n")
    stage, (ended,) = play(
        tmp_path,
        Step(calls=[read("a.txt")], usage=Usage(10, 2, 3, 1)),
        Step("It says one and two.", usage=Usage(20, 10, 4, 0)),
        prompts=("what is in a.txt?",),
    )
    assert stage.names() == [
        "turn_started",
        "step_started",
        "tool_started",
        "usage_reported",
        "tool_called",
        "tool_finished",
        "step_started",
        "text_delta",
        "usage_reported",
        "turn_ended",
    ]
    (called,) = stage.of(events.ToolCalled)
    (finished,) = stage.of(events.ToolFinished)
    assert (called.name, called.summary) == ("read_file", "a.txt")
    assert (finished.outcome, finished.text) == ("ok", "1: one\n2: two")
    assert ended == TurnEnded(1, "answered", usage=Usage(30, 12, 7, 1))
    assert stage.session.usage == Usage(30, 12, 7, 1)
    assert not stage.asked
    first, second = stage.model.requests
    assert (first.system, first.tools) == (second.system, second.tools)
    assert second.items[: len(first.items)] == first.items
    assert second.items[-1] == Result(called.call_id, "ok", "1: one\n2: two", 1, 1)
    assert "Monday, 2026-01-05" in first.tail


def test_calls_of_one_reply_are_answered_in_order(tmp_path: Path) -> None:
    stage, _ = play(
        tmp_path,
        Step("First two looks.", calls=[read("missing"), ScriptedCall("list_dir")]),
        Step("Nothing there."),
    )
    assert stage.outcomes() == ["failed", "ok"]
    kinds = [type(item) for item in stage.session.items]
    assert kinds == [User, Assistant, Call, Call, Result, Result, Assistant]


def test_the_task_list_goes_with_every_request_and_is_never_stored(tmp_path: Path) -> None:
    tasks = [{"text": "load", "status": "in_progress"}]
    stage, _ = play(
        tmp_path, Step(calls=[ScriptedCall("todo_write", {"todos": tasks})]), Step("Done.")
    )
    first, second = stage.model.requests
    assert "[~] load" not in first.tail
    assert "0/1 done" in second.tail
    assert "[~] load" in second.tail
    assert "[~] load" not in str(second.items[-1])
    assert (first.system, first.tools) == (second.system, second.tools)


# -- approvals ---------------------------------------------------------------------------


def test_a_denied_command_leaves_nothing_and_the_next_turn_works(tmp_path: Path) -> None:
    stage, ended = play(
        tmp_path,
        Step(calls=[bash("touch made.txt")]),
        Step("I did not."),
        Step("Hello."),
        prompts=("make it", "hello"),
        person=lambda question: Answer(question.id, DENY, "use made2.txt"),
    )
    assert [each.outcome for each in ended] == ["answered", "answered"]
    (result,) = [item for item in stage.session.items if isinstance(item, Result)]
    assert result.outcome == "refused"
    assert result.text == "The person refused this call: use made2.txt"
    assert not list((tmp_path / "project").iterdir())
    (question,) = stage.asked
    assert (question.title, question.preview) == ("Run this command?", "touch made.txt")
    assert question.choices == (ALLOW, ALLOW_SESSION, DENY)
    assert question.digest


def test_where_nobody_is_there_a_call_is_refused_and_the_turn_goes_on(tmp_path: Path) -> None:
    stage, (ended,) = play(tmp_path, Step(calls=[bash("touch made.txt")]), Step("I could not."))
    assert ended.outcome == "answered"
    assert stage.outcomes() == ["refused"]
    assert "Nobody is there" in stage.of(events.ToolFinished)[0].text
    assert "approval_requested" not in stage.names()
    assert not list((tmp_path / "project").iterdir())


def test_once_means_once_and_the_session_grant_covers_the_same_command(tmp_path: Path) -> None:
    answers = iter([ALLOW, ALLOW_SESSION, DENY])
    stage, _ = play(
        tmp_path,
        *(Step(calls=[bash(command)]) for command in ("echo 1", "echo 1", "echo 1", "echo 2")),
        Step("Done."),
        person=lambda question: Answer(question.id, next(answers)),
    )
    assert stage.outcomes() == ["ok", "ok", "ok", "refused"]
    assert [question.preview for question in stage.asked] == ["echo 1", "echo 1", "echo 2"]


def test_a_grant_does_not_outlive_its_session(tmp_path: Path) -> None:
    steps = (Step(calls=[bash("echo 1")]), Step("Done."))
    for _ in range(2):
        stage, _ = play(
            tmp_path, *steps, person=lambda question: Answer(question.id, ALLOW_SESSION)
        )
        assert len(stage.asked) == 1


def test_deny_rules_hold_even_in_yolo_and_plan_mode_runs_nothing(tmp_path: Path) -> None:
    rules = Rules.parse(deny=["bash(touch *)"])
    for gate, outcomes in (
        (Gate("yolo", rules), ["refused", "ok"]),
        (Gate("plan", rules), ["refused", "refused"]),
    ):
        stage, _ = play(
            tmp_path,
            Step(calls=[bash("touch made.txt"), bash("echo hi")]),
            Step("Done."),
            gate=gate,
            person=allows,
        )
        assert stage.outcomes() == outcomes
        assert not stage.asked
        assert not (tmp_path / "project/made.txt").exists()


def test_an_answer_that_is_no_choice_allows_nothing(tmp_path: Path) -> None:
    stage, _ = play(
        tmp_path,
        Step(calls=[bash("touch made.txt")]),
        Step("No."),
        person=lambda question: Answer(question.id, "yes please"),
    )
    assert stage.outcomes() == ["refused"]


def test_waiting_for_the_person_does_not_count_as_time(tmp_path: Path) -> None:
    clock: list[MadeClock] = []

    def slow(question: Question) -> Answer:
        clock[0].advance(1_000_000)
        return allows(question)

    async def run() -> None:
        stage = Stage(
            tmp_path / "project", [Step(calls=[bash("echo hi")]), Step("Done.")], person=slow
        )
        clock.append(stage.clock)
        assert (await stage.agent.submit("go")).outcome == "answered"
        await stage.check_whole()

    asyncio.run(run())


# -- changes of files --------------------------------------------------------------------

CHANGES = [
    ScriptedCall("edit_file", {"path": "a.txt", "old_text": "one", "new_text": "1"}),
    ScriptedCall("multi_edit", {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "1"}]}),
    ScriptedCall("write_file", {"path": "a.txt", "content": "1\ntwo\n"}),
]
each_change = pytest.mark.parametrize("change", CHANGES, ids=lambda call: call.name)


def a_file(root: Path, name: str = "project/a.txt", data: bytes = b"one\ntwo\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def edit_of(path: str, old: str = "one", new: str = "1") -> ScriptedCall:
    return ScriptedCall("edit_file", {"path": path, "old_text": old, "new_text": new})


@each_change
def test_a_change_is_asked_for_with_its_difference_and_made(
    tmp_path: Path, change: ScriptedCall
) -> None:
    path = a_file(tmp_path)
    stage, _ = play(tmp_path, Step(calls=[read("a.txt"), change]), Step("Done."), person=allows)
    (question,) = stage.asked
    assert question.title in ("Change a.txt?", "Replace a.txt?")
    assert question.preview == ("1 line added, 1 line removed\n@@ -1,2 +1,2 @@\n-one\n+1\n two")
    assert stage.outcomes() == ["ok", "ok"]
    assert path.read_bytes() == b"1\ntwo\n"
    assert stage.of(events.ToolCalled)[-1].summary == "a.txt"


@each_change
def test_a_refused_change_leaves_every_byte(tmp_path: Path, change: ScriptedCall) -> None:
    path = a_file(tmp_path)
    before = path.stat()
    stage, _ = play(
        tmp_path,
        Step(calls=[read("a.txt"), change]),
        Step("I did not."),
        person=lambda question: Answer(question.id, DENY),
    )
    assert stage.outcomes() == ["ok", "refused"]
    assert path.read_bytes() == b"one\ntwo\n"
    assert (before.st_ino, before.st_mtime_ns) == (path.stat().st_ino, path.stat().st_mtime_ns)
    assert [each.name for each in path.parent.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("change", CHANGES[:2], ids=lambda call: call.name)
def test_a_file_that_changes_while_the_question_waits_is_shown_afresh(
    tmp_path: Path, change: ScriptedCall
) -> None:
    path = a_file(tmp_path)

    def saves_once(question: Question) -> Answer:
        if b"three" not in path.read_bytes():
            path.write_bytes(b"zero\none\ntwo\nthree\n")
        return Answer(question.id, ALLOW)

    stage, _ = play(tmp_path, Step(calls=[change]), Step("Done."), person=saves_once)
    first, second = stage.asked
    assert first.id != second.id and first.digest != second.digest
    why = " It has changed since you allowed it: nothing was done yet, please look again."
    assert second.title == first.title + why
    assert first.preview.endswith("@@ -1,2 +1,2 @@\n-one\n+1\n two")
    assert second.preview.endswith("@@ -1,4 +1,4 @@\n zero\n-one\n+1\n two\n three")
    assert path.read_bytes() == b"zero\n1\ntwo\nthree\n"


def test_a_change_outside_of_what_is_shown_is_a_reason_to_ask_again_too(tmp_path: Path) -> None:
    lines = b"one\n" + b"x\n" * 50
    path = a_file(tmp_path, data=lines)

    def saves_once(question: Question) -> Answer:
        path.write_bytes(lines + b"far away\n")
        return Answer(question.id, ALLOW)

    stage, _ = play(tmp_path, Step(calls=[edit_of("a.txt")]), Step("Done."), person=saves_once)
    first, second = stage.asked
    assert first.preview == second.preview and first.digest != second.digest
    assert path.read_bytes().startswith(b"1\n") and path.read_bytes().endswith(b"far away\n")


@each_change
def test_a_file_that_was_read_and_changes_while_the_question_waits_is_left_as_it_is(
    tmp_path: Path, change: ScriptedCall
) -> None:
    path = a_file(tmp_path)

    def saves(question: Question) -> Answer:
        path.write_bytes(b"one\ntwo\nthree\n")
        return Answer(question.id, ALLOW)

    stage, _ = play(tmp_path, Step(calls=[read("a.txt"), change]), Step("I see."), person=saves)
    assert len(stage.asked) == 1 and stage.outcomes() == ["ok", "failed"]
    said = stage.of(events.ToolFinished)[-1].text
    assert "changed in line 3 since this session read it; read it again first" in said
    assert said.endswith("\n3: three")
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_what_can_no_longer_be_done_after_the_yes_is_told_and_not_asked(tmp_path: Path) -> None:
    path = a_file(tmp_path)

    def removes(question: Question) -> Answer:
        path.write_bytes(b"two\n")
        return Answer(question.id, ALLOW_SESSION)

    stage, _ = play(tmp_path, Step(calls=[edit_of("a.txt")]), Step("I see."), person=removes)
    assert len(stage.asked) == 1 and stage.outcomes() == ["failed"]
    assert not stage.session.grants
    assert path.read_bytes() == b"two\n"


@each_change
def test_plan_mode_changes_no_file_even_after_a_yes(tmp_path: Path, change: ScriptedCall) -> None:
    path = a_file(tmp_path)
    calls = [read("a.txt"), change, edit_of("a.txt", "absent"), edit_of("new/b.txt")]
    stage, _ = play(tmp_path, Step(calls=calls), Step("A plan."), gate=Gate("plan"), person=allows)
    assert stage.outcomes() == ["ok", "refused", "refused", "refused"] and not stage.asked

    gate = Gate("ask")

    def switches(question: Question) -> Answer:
        gate.mode = "plan"
        return Answer(question.id, ALLOW)

    stage, _ = play(
        tmp_path, Step(calls=[read("a.txt"), change]), Step("A plan."), gate=gate, person=switches
    )
    assert stage.outcomes() == ["ok", "refused"] and len(stage.asked) == 1
    assert "Plan mode" in stage.of(events.ToolFinished)[-1].text
    assert path.read_bytes() == b"one\ntwo\n"
    assert [each.name for each in path.parent.iterdir()] == ["a.txt"]


@each_change
def test_accept_edits_asks_for_no_file_of_the_project(tmp_path: Path, change: ScriptedCall) -> None:
    path = a_file(tmp_path)
    new = ScriptedCall("write_file", {"path": "b/c", "content": "c"})
    steps = Step(calls=[read("a.txt"), change, new]), Step("Done.")
    stage, _ = play(tmp_path, *steps, gate=Gate("accept-edits"))
    assert stage.outcomes() == ["ok", "ok", "ok"]
    assert path.read_bytes() == b"1\ntwo\n"


@pytest.mark.parametrize(
    "name",
    [".env", "conf/.env.local", ".git/hooks/pre-commit", ".shiro/config.toml", "link", "key.pem"],
)
def test_accept_edits_asks_where_keys_or_other_programs_are_concerned(
    tmp_path: Path, name: str
) -> None:
    target = ".git/config" if name == "link" else name
    path = a_file(tmp_path, f"project/{target}")
    if name == "link":
        (tmp_path / "project/link").symlink_to(target)
    new = ScriptedCall("write_file", {"path": str(Path(target).parent / "id_rsa"), "content": "k"})
    stage, _ = play(
        tmp_path,
        Step(calls=[edit_of(name), new]),
        Step("I did not."),
        gate=Gate("accept-edits"),
        person=lambda question: Answer(question.id, DENY),
    )
    assert stage.outcomes() == ["refused", "refused"]
    assert stage.asked[0].title == f"Change {target}?" and len(stage.asked) == 2
    assert path.read_bytes() == b"one\ntwo\n" and not path.with_name("id_rsa").exists()


def test_accept_edits_asks_for_a_file_outside_the_project(tmp_path: Path) -> None:
    path = a_file(tmp_path, "notes/a.md")

    async def run() -> Stage:
        steps = (Step(calls=[edit_of(str(path)), edit_of(str(tmp_path / "b"))]), Step("No."))
        stage = Stage(tmp_path / "project", steps, gate=Gate("accept-edits"))
        stage.agent.project = replace(stage.agent.project, allowed=(path.parent,))
        await stage.agent.submit("go")
        return stage

    stage = asyncio.run(run())
    refused, outside = stage.of(events.ToolFinished)
    assert refused.outcome == "refused" and "Nobody is there" in refused.text
    assert outside.outcome == "failed" and "outside the project folder" in outside.text
    assert path.read_bytes() == b"one\ntwo\n"


@each_change
@pytest.mark.parametrize("mode", ["ask", "accept-edits", "yolo"])
@pytest.mark.parametrize("rule", ["write(a.txt)", "write(*)", "{name}(*.txt)"])
def test_a_deny_rule_holds_in_every_mode_and_tells_no_lines(
    tmp_path: Path, change: ScriptedCall, mode: Mode, rule: str
) -> None:
    path = a_file(tmp_path)
    rules = Rules.parse(deny=[rule.format(name=change.name)], allow=["write(a.txt)"])
    absent = replace(change, arguments={**change.arguments, "old_text": "absent"})
    calls = [read("a.txt"), change, *([absent] if change.name == "edit_file" else [])]
    steps = Step(calls=calls), Step("I may not.")
    stage, _ = play(tmp_path, *steps, gate=Gate(mode, rules), person=allows)
    assert set(stage.outcomes()[1:]) == {"refused"} and not stage.asked
    assert all("Denied by the rule" in each.text for each in stage.of(events.ToolFinished)[1:])
    assert path.read_bytes() == b"one\ntwo\n"


def test_an_edit_tells_no_lines_of_what_may_not_be_read_without_asking(tmp_path: Path) -> None:
    a_file(tmp_path, "project/secrets/a.txt")
    a_file(tmp_path, "project/.env")
    a_file(tmp_path, "project/b.txt")
    stage, _ = play(
        tmp_path,
        Step(calls=[edit_of(name, " one") for name in ("secrets/a.txt", ".env", "b.txt")]),
        Step("I see."),
        gate=Gate("ask", Rules.parse(deny=["read(secrets/**)"])),
        person=allows,
    )
    assert stage.outcomes() == ["failed"] * 3
    assert [question.title.partition("?")[0] for question in stage.asked] == [
        "Let the model know why it cannot change .env so"
    ]
    told = ["-1: 'one'" in each.text for each in stage.of(events.ToolFinished)]
    assert told == [False, False, True]


def test_a_grant_of_one_file_covers_its_further_edits_and_no_other_file(tmp_path: Path) -> None:
    a_file(tmp_path)
    a_file(tmp_path, "project/b.txt")
    stage, _ = play(
        tmp_path,
        Step(calls=[edit_of("a.txt"), edit_of("./a.txt", "two", "2"), edit_of("b.txt")]),
        Step("Done."),
        person=lambda question: Answer(
            question.id, ALLOW_SESSION if "a.txt" in question.title else DENY
        ),
    )
    assert stage.outcomes() == ["ok", "ok", "refused"]
    assert [question.title for question in stage.asked] == ["Change a.txt?", "Change b.txt?"]


def test_two_edits_of_one_file_in_one_reply_are_both_made(tmp_path: Path) -> None:
    path = a_file(tmp_path)
    stage, _ = play(
        tmp_path,
        Step(calls=[read("a.txt"), edit_of("a.txt"), edit_of("a.txt", "two", "2")]),
        Step("Done."),
        gate=Gate("yolo"),
    )
    assert stage.outcomes() == ["ok", "ok", "ok"]
    assert path.read_bytes() == b"1\n2\n"


# -- what a model does wrong -------------------------------------------------------------


def test_an_unknown_tool_is_told_with_the_names_there_are(tmp_path: Path) -> None:
    stage, (ended,) = play(tmp_path, Step(calls=[ScriptedCall("read_fil")]), Step("Sorry."))
    assert ended.outcome == "answered"
    assert stage.outcomes() == ["invalid_arguments"]
    text = stage.of(events.ToolFinished)[0].text
    names = ", ".join(tool.name for tool in tools_for())
    assert text == f"No tool 'read_fil'; there are {names}."


@pytest.mark.parametrize("arguments", ["[1]", "not json", '{"path": "a', "null", '{"pth": "a"}'])
def test_arguments_that_do_not_fit_come_back_with_the_schema(
    tmp_path: Path, arguments: str
) -> None:
    call = ScriptedCall("read_file", arguments)
    stage, (ended,) = play(tmp_path, Step(calls=[call]), Step("Sorry."))
    assert ended.outcome == "answered"
    assert stage.outcomes() == ["invalid_arguments"]
    assert '"properties"' in stage.of(events.ToolFinished)[0].text


def calls(*paths: str) -> Step:
    return Step(calls=[read(path) for path in paths])


@pytest.mark.parametrize("round_", [("a.txt",), ("a.txt", "b.txt", "c.txt")])
def test_a_model_that_goes_in_circles_is_told_and_then_stopped(
    tmp_path: Path, round_: tuple[str, ...]
) -> None:
    (tmp_path / "project").mkdir()
    for path in round_:
        (tmp_path / "project" / path).write_text("x\n")
    steps = [calls(path) for _ in range(4) for path in round_]
    stage, (ended,) = play(tmp_path, *steps, calls(round_[0]))
    assert ended.outcome == "limited"
    assert ended.reason.startswith("Stopped: the model called read_file 5 times with the same res")
    results = [item.text for item in stage.session.items if isinstance(item, Result)]
    assert len(results) == 4 * len(round_) + 1
    told = [at // len(round_) + 1 for at, text in enumerate(results) if "do something else" in text]
    assert told == [3] * len(round_) + [4] * len(round_)


def test_a_long_conversation_is_cut_to_the_window_and_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    for name in "abcdefgh":
        (tmp_path / "project" / f"{name}.txt").write_text(f"{name} 1 2 3 4\n" * 170)
    stage, (first, second) = play(
        tmp_path,
        *(calls(f"{name}.txt") for name in "abcdefgh"),
        Step("Read."),
        Step("Hello."),
        prompts=("read all", "hello"),
        window=24_000,
        tools=(ReadFile(),),
    )
    assert (first.outcome, second.outcome) == ("answered", "answered")
    (compacted,) = stage.of(events.Compacted)
    assert 0 < compacted.after < 14_000 < compacted.before
    sizes = [sum(map(estimate_item, each.items)) for each in stage.model.requests]
    assert max(sizes) < 18_000
    results = [item for item in stage.session.items if isinstance(item, Result)]
    assert all("1 2 3 4" in result.text for result in results)
    sent = [item.text for item in stage.model.requests[-1].items if isinstance(item, Result)]
    assert "no longer shown; call read_file again" in sent[0] and sent[-1] == results[-1].text
    # What is cached stays so but for the one cut.
    pairs = zip(stage.model.requests, stage.model.requests[1:], strict=False)
    broken = [later.items[: len(one.items)] != one.items for one, later in pairs]
    assert broken.count(True) == 1


class Poll(Tool[Parameters]):
    """Look whether it is done."""

    name: ClassVar[str] = "poll"
    toolset: ClassVar[str] = "core"
    access = "session"
    polls: ClassVar[bool] = True
    parameters = Parameters

    def summary(self, parameters: Parameters) -> str:
        return ""

    async def run(self, parameters: Parameters, context: ToolContext) -> ToolResult:
        return ToolResult("ok", "running")


def test_waiting_and_what_changes_meanwhile_are_no_circle(tmp_path: Path) -> None:
    count = "test -s n || echo 0 > n; echo $(($(cat n) + 1)) > n; cat n"
    stage, (ended,) = play(
        tmp_path,
        *(Step(calls=[bash(count), ScriptedCall("poll")]) for _ in range(9)),
        Step("Done."),
        tools=(*tools_for(), Poll()),
        person=allows,
    )
    assert ended.outcome == "answered"
    assert "do something else" not in str(stage.session.items)


def test_three_malformed_replies_in_a_row_end_the_turn(tmp_path: Path) -> None:
    wrong = Step(calls=[ScriptedCall("nope"), ScriptedCall("read_file", "[]")])
    good = Step(calls=[ScriptedCall("list_dir")])
    stage, (ended,) = play(tmp_path, wrong, wrong, good, wrong, wrong, wrong)
    assert ended.outcome == "limited"
    assert ended.reason.startswith("Stopped: the model made 3 malformed replies in a row; ")
    assert stage.outcomes() == ["invalid_arguments"] * 4 + ["ok"] + ["invalid_arguments"] * 6


def test_a_reply_with_one_good_call_is_not_malformed(tmp_path: Path) -> None:
    mixed = Step(calls=[ScriptedCall("list_dir"), ScriptedCall("nope")])
    _, (ended,) = play(tmp_path, mixed, mixed, mixed, Step("Done."))
    assert ended.outcome == "answered"


def test_a_tool_that_breaks_is_a_failed_call(tmp_path: Path) -> None:
    stage, (ended,) = play(
        tmp_path, Step(calls=[ScriptedCall("odd", {"how": "break"})]), Step("Oh."), tools=[Odd()]
    )
    assert ended.outcome == "answered"
    assert stage.outcomes() == ["failed"]
    assert stage.of(events.ToolFinished)[0].text == "odd broke: ZeroDivisionError: it broke"


def test_what_only_the_person_can_mend_is_a_failed_call_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage, (ended,) = play(
        tmp_path, Step(calls=[ScriptedCall("odd", {"how": "full"})]), Step("Oh."), tools=[Odd()]
    )
    assert ended.outcome == "answered" and caplog.records == []
    assert stage.of(events.ToolFinished)[0].text == "The disk is full; make room."


def test_the_text_of_a_result_is_bounded(tmp_path: Path) -> None:
    stage, _ = play(
        tmp_path, Step(calls=[ScriptedCall("odd", {"how": "flood"})]), Step("Oh."), tools=[Odd()]
    )
    assert len(stage.of(events.ToolFinished)[0].text) < 30_100


# -- limits ------------------------------------------------------------------------------


def test_the_limit_of_steps_ends_the_turn_and_going_on_works(tmp_path: Path) -> None:
    looking = Step(calls=[ScriptedCall("list_dir")])
    _, ended = play(
        tmp_path,
        *(looking, looking, looking, Step("Done.")),
        prompts=("go", "go on"),
        limits=Limits(steps=2),
    )
    assert [each.outcome for each in ended] == ["limited", "answered"]
    assert ended[0].reason.startswith("Stopped after 2 steps; ")


def test_the_limit_of_time_ends_the_turn(tmp_path: Path) -> None:
    clocks: list[MadeClock] = []

    def think(event: Event) -> None:
        if isinstance(event, events.UsageReported):
            clocks[0].advance(40)

    async def run() -> TurnEnded:
        steps = [Step(calls=[ScriptedCall("list_dir")])] * 2
        stage = Stage(tmp_path / "project", steps, limits=Limits(seconds=60), on_event=think)
        clocks.append(stage.clock)
        ended = await stage.agent.submit("go")
        await stage.check_whole()
        return ended

    ended = asyncio.run(run())
    assert (ended.outcome, ended.seconds) == ("limited", 80)
    assert ended.reason.startswith("Stopped after 80 s of model time; ")


@pytest.mark.parametrize("piece", [TextPiece("la "), Heartbeat()])
def test_the_limit_of_time_ends_a_reply_that_never_ends(tmp_path: Path, piece: Piece) -> None:
    class Endless(ScriptedModel):
        async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
            while True:
                yield piece
                await asyncio.sleep(0)

    async def run() -> TurnEnded:
        stage = Stage(tmp_path / "project", [], limits=Limits(seconds=0.1))
        stage.model = Endless([])
        ended = await asyncio.wait_for(stage.agent.submit("go"), 30)
        await stage.check_whole()
        said = [item for item in stage.session.items if isinstance(item, Assistant)]
        assert bool(said) is isinstance(piece, TextPiece)
        return ended

    ended = asyncio.run(run())
    assert ended.outcome == "limited"
    assert ended.reason.startswith("Stopped after 0 s of model time; ")


def test_choosing_the_model_takes_none_of_the_turns_time(tmp_path: Path) -> None:
    """The person may be asked which, and takes as long as it takes."""

    async def run() -> TurnEnded:
        stage = Stage(tmp_path / "project", [Step("Done.")], limits=Limits(seconds=60))

        async def chosen() -> ModelClient:
            stage.clock.advance(3600)
            return stage.model

        stage.agent.model = chosen
        return await stage.agent.submit("go")

    ended = asyncio.run(run())
    assert (ended.outcome, ended.seconds) == ("answered", 3600)


def test_the_times_told_are_without_the_person(tmp_path: Path) -> None:
    async def run() -> tuple[float, float]:
        def slow(question: Question) -> Answer:
            stage.clock.advance(180)
            return allows(question)

        steps = [Step(calls=[bash("true")]), Step("Done.")]
        stage = Stage(tmp_path / "project", steps, person=slow)
        ended = await stage.agent.submit("go")
        (call,) = stage.of(events.ToolFinished)
        return call.seconds, ended.seconds

    assert asyncio.run(run()) == (0, 0)


# -- endings by the endpoint -------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "Half an ans"])
@pytest.mark.parametrize(
    "kind", [EndpointRefused, EndpointBusy, EndpointUnreachable, EndpointSilent, StreamBroken]
)
def test_every_error_of_the_endpoint_ends_in_one_sentence_and_keeps_what_was_said(
    tmp_path: Path, kind: type[Any], text: str
) -> None:
    error = kind("It said no; try again.")
    tries = 3 if kind.retryable and not text else 1
    stage, ended = play(
        tmp_path,
        *[Step(text, error=error)] * tries,
        Step("Better."),
        prompts=("go", "again"),
    )
    assert ended[0].outcome == ("interrupted" if text else "failed")
    assert ended[0].reason == "It said no; try again."
    assert ended[1].outcome == "answered"
    assert len(stage.of(events.Retrying)) == tries - 1
    said = [item.text for item in stage.session.items if isinstance(item, Assistant)]
    assert said == [*([text] if text else []), "Better."]


def test_a_retry_that_works_leaves_no_trace_in_the_transcript(tmp_path: Path) -> None:
    stage, (ended,) = play(tmp_path, Step(error=EndpointBusy("Busy.")), Step("Hello."))
    assert ended.outcome == "answered"
    assert stage.clock.slept
    assert stage.session.items == [User("go", 1), Assistant("Hello.", 1, 1)]


def test_a_call_whose_stream_broke_is_not_run(tmp_path: Path) -> None:
    broken = Step("Let me see.", calls=[bash("touch made.txt")], error=StreamBroken("Cut."))
    stage, (ended,) = play(tmp_path, broken, gate=Gate("yolo"))
    assert (ended.outcome, ended.reason) == ("interrupted", "Cut.")
    assert [type(item) for item in stage.session.items] == [User, Assistant, Note]
    assert not list((tmp_path / "project").iterdir())


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (NotConfigured("No model is set; use /connect."), "No model is set; use /connect."),
        (
            KeyError("x"),
            "Something in shiro broke (KeyError: 'x'); the session is kept, ask again.",
        ),
    ],
)
def test_no_client_is_one_sentence(tmp_path: Path, error: Exception, reason: str) -> None:
    async def run() -> None:
        stage = Stage(tmp_path / "project", [])

        async def fail() -> ModelClient:
            raise error

        stage.agent.model = fail
        ended = await stage.agent.submit("go")
        assert (ended.outcome, ended.reason) == ("failed", reason)
        assert stage.names() == ["turn_started", "turn_ended"]

    asyncio.run(run())


# -- the queue ---------------------------------------------------------------------------


def words(changed: events.QueueChanged) -> tuple[str, ...]:
    return tuple(each.text for each in changed.waiting)


def test_prompts_that_come_meanwhile_run_in_order(tmp_path: Path) -> None:
    async def run() -> None:
        gate = asyncio.Event()
        stage = Stage(tmp_path / "project", [Step("1", gate=gate), Step("2"), Step("3")])
        turns = [asyncio.create_task(stage.agent.submit(p)) for p in ("one", "two", "three")]
        while len(stage.of(events.QueueChanged)) < 2 or not stage.model.requests:
            await asyncio.sleep(0)
        assert len(stage.model.requests) == 1
        gate.set()
        assert [(await turn).turn for turn in turns] == [1, 2, 3]
        queues = [words(event) for event in stage.of(events.QueueChanged)]
        assert queues == [("two",), ("two", "three"), ("three",), ()]
        prompts = [item.text for item in stage.session.items if isinstance(item, User)]
        assert prompts == ["one", "two", "three"]
        await stage.check_whole()

    asyncio.run(run())


def test_a_prompt_that_comes_as_a_turn_ends_queues_behind_those_that_wait(tmp_path: Path) -> None:
    async def run() -> None:
        gate = asyncio.Event()
        stage = Stage(tmp_path / "project", [Step("1", gate=gate), Step("2"), Step("3")])
        late: list[asyncio.Task[TurnEnded]] = []

        def on_event(event: Event) -> None:
            if isinstance(event, TurnEnded) and not late:
                late.append(asyncio.create_task(stage.agent.submit("three")))

        stage.on_event = on_event
        first = [asyncio.create_task(stage.agent.submit(prompt)) for prompt in ("one", "two")]
        while not stage.of(events.QueueChanged):
            await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*first)
        await asyncio.gather(*late)
        assert [e.prompt for e in stage.of(events.TurnStarted)] == ["one", "two", "three"]
        assert ("two", "three") in [words(event) for event in stage.of(events.QueueChanged)]
        await stage.check_whole()

    asyncio.run(run())


def test_a_waiting_prompt_can_be_taken_back(tmp_path: Path) -> None:
    async def run() -> None:
        gate = asyncio.Event()
        stage = Stage(tmp_path / "project", [Step("1", gate=gate)])
        first = asyncio.create_task(stage.agent.submit("one"))
        second = asyncio.create_task(stage.agent.submit("two"))
        while not stage.of(events.QueueChanged):
            await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert stage.of(events.QueueChanged)[-1].waiting == ()
        gate.set()
        await first
        assert len(stage.model.requests) == 1
        await stage.check_whole()

    asyncio.run(run())


# -- interrupts --------------------------------------------------------------------------


class OddParameters(Parameters):
    how: str


class Odd(Tool[OddParameters]):
    """A tool that does as told."""

    name: ClassVar[str] = "odd"
    toolset: ClassVar[str] = "core"
    access: ClassVar[Any] = "read"
    parameters = OddParameters

    def summary(self, parameters: OddParameters) -> str:
        return parameters.how

    async def run(self, parameters: OddParameters, context: ToolContext) -> ToolResult:
        match parameters.how:
            case "break":
                raise ZeroDivisionError("it broke")
            case "full":
                raise StorageError("The disk is full; make room.")
            case "flood":
                return ToolResult("ok", "x" * 1_000_000)
            case "print":
                for _ in range(1_000):
                    context.output("x" * 1_000)
            case "deaf":
                while True:
                    try:
                        await asyncio.sleep(3_600)
                    except asyncio.CancelledError:
                        if context.project.root.joinpath("let go").exists():
                            raise
        await asyncio.sleep(3_600)
        return ToolResult("ok", "slept")


def interrupted_at(
    root: Path, *steps: Step, when: type[Any], action: Callable[[Stage], None], **options: Any
) -> tuple[Stage, TurnEnded]:
    """Play one turn, and act soon after the first event of that kind, as a host would."""

    async def run() -> tuple[Stage, TurnEnded]:
        stage = Stage(root / "project", steps, **options)
        loop = asyncio.get_running_loop()
        seen: list[Event] = []

        def on_event(event: Event) -> None:
            if isinstance(event, when) and not seen:
                seen.append(event)
                loop.call_soon(action, stage)

        stage.on_event = on_event
        ended = await asyncio.wait_for(stage.agent.submit("go"), 10)
        await stage.check_whole()
        return stage, ended

    return asyncio.run(run())


def test_a_stop_in_the_middle_of_the_text_keeps_what_was_said(tmp_path: Path) -> None:
    stage, ended = interrupted_at(
        tmp_path,
        Step("Hello there", chunk=5, then_gate=asyncio.Event()),
        when=events.TextDelta,
        action=lambda stage: stage.agent.interrupt(),
    )
    assert (ended.outcome, ended.reason) == ("interrupted", "")
    delivered = "".join(event.text for event in stage.of(events.TextDelta))
    assert stage.session.items == [
        User("go", 1),
        Assistant(delivered, 1, 1),
        Note("The person interrupted the turn.", 1),
    ]
    assert delivered


def test_the_first_interrupt_ends_the_command_and_the_turn_goes_on(tmp_path: Path) -> None:
    stage, ended = interrupted_at(
        tmp_path,
        Step(calls=[bash("echo started; sleep 300; echo never")]),
        Step("I was stopped."),
        when=events.ToolOutput,
        action=lambda stage: stage.agent.interrupt(),
        gate=Gate("yolo"),
    )
    assert ended.outcome == "answered"
    assert stage.outcomes() == ["interrupted"]
    text = stage.of(events.ToolFinished)[0].text
    assert text == ("Interrupted by the person; its effect is unknown. Output so far:\nstarted\n")


def test_the_second_interrupt_while_it_stops_ends_the_turn(tmp_path: Path) -> None:
    def twice(stage: Stage) -> None:
        stage.agent.interrupt()
        asyncio.get_running_loop().call_later(0.05, stage.agent.interrupt)

    stage, ended = interrupted_at(
        tmp_path,
        Step(calls=[bash("trap '' TERM; echo started; sleep 300; sleep 300"), bash("echo 2")]),
        when=events.ToolOutput,
        action=twice,
        gate=Gate("yolo"),
    )
    assert ended.outcome == "interrupted"
    assert stage.outcomes() == ["interrupted", "skipped"]


def test_a_new_call_resets_the_count(tmp_path: Path) -> None:
    async def run() -> None:
        steps = [Step(calls=[bash("echo 1; sleep 300"), bash("echo 2; sleep 300")]), Step("Fine.")]
        stage = Stage(tmp_path / "project", steps, gate=Gate("yolo"))
        loop = asyncio.get_running_loop()

        def on_event(event: Event) -> None:
            if isinstance(event, events.ToolOutput):
                loop.call_soon(stage.agent.interrupt)

        stage.on_event = on_event
        assert (await stage.agent.submit("go")).outcome == "answered"
        assert stage.outcomes() == ["interrupted", "interrupted"]
        await stage.check_whole()

    asyncio.run(run())


def test_an_interrupt_while_the_person_is_asked_ends_the_question(tmp_path: Path) -> None:
    async def run() -> None:
        stage = Stage(tmp_path / "project", [Step(calls=[bash("touch made")]), Step("Fine.")])
        stage.questions.surfaces = [lambda question: asyncio.Event().wait()]  # silent
        loop = asyncio.get_running_loop()

        def on_event(event: Event) -> None:
            if isinstance(event, events.ApprovalRequested):
                loop.call_soon(stage.agent.interrupt)

        stage.on_event = on_event
        assert (await stage.agent.submit("go")).outcome == "answered"
        assert stage.outcomes() == ["interrupted"]
        assert not list((tmp_path / "project").iterdir())
        assert stage.of(events.ToolFinished)[0].text == NOT_BEGUN
        await stage.check_whole()

    asyncio.run(run())


def test_a_tool_that_will_not_end_cannot_hold_the_turn(tmp_path: Path) -> None:
    def again_and_again(stage: Stage) -> None:
        for n in range(4):
            asyncio.get_running_loop().call_later(0.05 * n, stage.agent.interrupt)

    async def run() -> None:
        stage = Stage(
            tmp_path / "project",
            [Step(calls=[ScriptedCall("odd", {"how": "deaf"})])],
            tools=[Odd()],
        )
        loop = asyncio.get_running_loop()

        def on_event(event: Event) -> None:
            if isinstance(event, events.ToolCalled):
                loop.call_soon(again_and_again, stage)

        stage.on_event = on_event
        ended = await asyncio.wait_for(stage.agent.submit("go"), 10)
        assert ended.outcome == "interrupted"
        assert stage.outcomes() == ["interrupted"]
        assert stage.names().count("turn_ended") == 1
        (tmp_path / "project/let go").touch()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
            await asyncio.wait({task})

    asyncio.run(run())


def test_output_of_an_interrupted_call_is_kept_in_bounds(tmp_path: Path) -> None:
    stage, _ = interrupted_at(
        tmp_path,
        Step(calls=[ScriptedCall("odd", {"how": "print"})]),
        Step("Fine."),
        when=events.ToolOutput,
        action=lambda stage: stage.agent.interrupt(),
        tools=[Odd()],
    )
    text = stage.of(events.ToolFinished)[0].text
    assert text.startswith("Interrupted by the person; its effect is unknown. Output so far:\nxxx")
    assert len(text) < 30_100


def test_a_caller_that_is_cancelled_twice_still_gets_its_turn_ended(tmp_path: Path) -> None:
    async def run() -> None:
        stage = Stage(
            tmp_path / "project",
            [Step(calls=[bash("trap '' TERM; echo started; sleep 300; sleep 300")])],
            gate=Gate("yolo"),
        )
        turn = asyncio.create_task(stage.agent.submit("go"))
        while not stage.of(events.ToolOutput):
            await asyncio.sleep(0.01)
        turn.cancel()
        await asyncio.sleep(0.05)
        turn.cancel()
        await asyncio.wait({turn}, timeout=10)
        assert stage.of(TurnEnded)[0].outcome == "interrupted"
        assert stage.outcomes() == ["interrupted"]
        await stage.check_whole()

    asyncio.run(run())


# -- at every event ----------------------------------------------------------------------

CANONICAL = [
    "turn_started",
    "step_started",
    "reasoning_delta",
    "text_delta",
    "text_delta",
    "tool_started",
    "tool_started",
    "usage_reported",
    "tool_called",
    "tool_finished",
    "tool_called",
    "approval_requested",
    "approval_decided",
    "tool_output",
    "tool_finished",
    "step_started",
    "tool_started",
    "tool_started",
    "usage_reported",
    "tool_called",
    "todos_changed",
    "tool_finished",
    "tool_called",
    "tool_finished",
    "step_started",
    "retrying",
    "text_delta",
    "usage_reported",
    "turn_ended",
]
ACTIONS: dict[str, Callable[[Stage], None]] = {
    "interrupt": lambda stage: stage.agent.interrupt(),
    "stop": lambda stage: stage.agent.stop(),
    "interrupt twice": lambda stage: (stage.agent.interrupt(), stage.agent.interrupt())[0],
    "stop twice": lambda stage: (stage.agent.stop(), stage.agent.stop())[0],
}


def canonical(root: Path) -> Stage:
    tasks = [{"text": "look", "status": "in_progress"}]
    return Stage(
        root / "project",
        [
            Step(
                "Let me look.",
                "Hm.",
                [ScriptedCall("list_dir"), bash("echo hi")],
                when="first",
                chunk=6,
            ),
            Step(
                calls=[ScriptedCall("todo_write", {"todos": tasks}), ScriptedCall("nope")],
                when="first",
            ),
            Step("So it is.", when="first"),
            Step("Again.", when="again"),
        ],
        person=allows,
    )


def with_one_failure(stage: Stage) -> None:
    """The third step fails once before anything was seen, and is tried again."""
    real = stage.model.stream
    failed: list[int] = []

    def stream(request: Any) -> Any:
        if request.step == 3 and not failed:
            failed.append(1)
            return failing()
        return real(request)

    async def failing() -> Any:
        raise EndpointBusy("Busy.")
        yield

    stage.model.stream = stream  # type: ignore[method-assign]


def test_the_canonical_turn(tmp_path: Path) -> None:
    async def run() -> None:
        stage = canonical(tmp_path)
        with_one_failure(stage)
        assert (await stage.agent.submit("first")).outcome == "answered"
        assert stage.names() == CANONICAL
        assert stage.outcomes() == ["ok", "ok", "ok", "invalid_arguments"]
        await stage.check_whole()

    asyncio.run(run())


@pytest.mark.parametrize("how", ACTIONS)
@pytest.mark.parametrize("soon", [False, True], ids=["in the event", "after it"])
@pytest.mark.parametrize("at", range(len(CANONICAL)), ids=lambda at: f"{at}-{CANONICAL[at]}")
def test_an_interrupt_at_any_event_leaves_all_in_order(
    tmp_path: Path, at: int, soon: bool, how: str
) -> None:
    async def run() -> None:
        stage = canonical(tmp_path)
        with_one_failure(stage)
        loop = asyncio.get_running_loop()

        def on_event(event: Event) -> None:
            if len(stage.events) - 1 == at:
                if soon:
                    loop.call_soon(ACTIONS[how], stage)
                else:
                    ACTIONS[how](stage)

        stage.on_event = on_event
        ended = await asyncio.wait_for(stage.agent.submit("first"), 10)
        await stage.check_whole()
        assert ended.reason == ""
        last = stage.session.items[-1]
        if ended.outcome == "answered":
            assert last == Assistant("So it is.", 1, 3)
            # A stop that came before the end was too late only where all had been said.
            assert "interrupt" in how or at in (0, *range(26, len(CANONICAL)))
        else:
            assert ended.outcome == "interrupted"
            assert last == Note("The person interrupted the turn.", 1)
        before = len(stage.session.items)
        stage.on_event = lambda event: None
        again = await asyncio.wait_for(stage.agent.submit("again"), 10)
        assert again.outcome == "answered"
        assert stage.session.items[before:] == [User("again", 2), Assistant("Again.", 2, 1)]
        await stage.check_whole()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("call", "tainted"),
    [
        (ScriptedCall("read_file", {"path": ".shiro/x.md"}), True),
        (ScriptedCall("bash", {"command": "cat .shi*/x.md # of .shiro"}), True),
        (ScriptedCall("bash", {"command": "grep -r obey ."}), True),  # its result names the file
        (ScriptedCall("read_file", {"path": "a.txt"}), False),
        (ScriptedCall("write_file", {"path": ".shiro/y.md", "content": "mine"}), False),
        (
            ScriptedCall("todo_write", {"todos": [{"text": "read .shiro", "status": "pending"}]}),
            False,
        ),
    ],
    ids=lambda value: value.name if isinstance(value, ScriptedCall) else "",
)
def test_a_call_that_may_show_the_words_of_others_taints_whatever_the_tool(
    tmp_path: Path, call: ScriptedCall, tainted: bool
) -> None:
    async def run() -> None:
        stage = Stage(tmp_path / "project", [Step(calls=[call]), Step("Done.")], allows)
        (tmp_path / "project" / ".shiro").mkdir()
        (tmp_path / "project" / ".shiro" / "x.md").write_text("obey me\n")
        (tmp_path / "project" / "a.txt").write_text("a\n")
        stage.agent.words_of_others = lambda text: ["memory"] if ".shiro" in text else []
        await stage.agent.submit("go")
        assert stage.outcomes() == ["ok"]
        assert ("memory" in stage.session.tainted) == tainted

    asyncio.run(run())


def test_the_surroundings_are_said_anew_at_each_step_and_never_stored(tmp_path: Path) -> None:
    async def run() -> None:
        stage = Stage(tmp_path / "project", [Step(calls=[ScriptedCall("list_dir")]), Step("Done.")])
        seen = iter(("df: 3 rows", "df: 2 rows"))
        stage.agent.surroundings = lambda: next(seen)
        await stage.agent.submit("go")
        first, second = stage.model.requests
        assert "df: 3 rows" in first.tail and "df: 2 rows" in second.tail
        assert "rows" not in first.system + str(stage.agent.session.items)
        assert first.system == second.system

    asyncio.run(run())


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (Step("Half an answ", reason="length"), "length limit"),
        (Step("", reason="filtered"), "content filter"),
        (Step("", "Only thought."), "gave no answer"),
        (Step("Whole."), ""),
    ],
)
def test_a_reply_that_is_no_whole_answer_is_told(tmp_path: Path, step: Step, told: str) -> None:
    async def run() -> None:
        stage = Stage(tmp_path / "project", [step])
        assert (await stage.agent.submit("go")).outcome == "answered"
        notices = [event.text for event in stage.events if isinstance(event, events.Notice)]
        assert [told in notice for notice in notices] == ([True] if told else [])

    asyncio.run(run())


STEPS = st.lists(
    st.sampled_from(
        [
            Step(calls=[ScriptedCall("list_dir")]),
            Step("Thinking aloud.", "Hm.", calls=[ScriptedCall("nope"), ScriptedCall("list_dir")]),
            Step(calls=[ScriptedCall("read_file", "[")]),
            Step(calls=[ScriptedCall("ask", {"question": "Why?"})]),
            Step("Done."),
            Step("", "Only thought."),
            Step("Cut", reason="length"),
            Step("Half", error=StreamBroken("Cut.")),
            Step(error=EndpointRefused("No.")),
            Step(calls=[ScriptedCall("list_dir")], error=StreamBroken("Cut.")),
        ]
    ),
    max_size=6,
)


@settings(max_examples=60)
@given(steps=STEPS, cut=st.none() | st.integers(0, 25))
def test_whatever_happens_a_turn_ends_once_and_can_be_sent_again(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], cut: int | None
) -> None:
    async def run() -> None:
        stage = Stage(tmp_path_factory.mktemp("turn") / "project", steps)
        stage.on_event = lambda event: (
            stage.agent.interrupt() if len(stage.events) - 1 == cut else None
        )
        for turn in range(1, 4):
            assert (await stage.agent.submit(f"prompt {turn}")).turn == turn
            await stage.check_whole()

    asyncio.run(run())


def test_no_result_carries_a_key(tmp_path: Path) -> None:
    async def run() -> Stage:
        shaped = f"sk-{'a1' * 20}"
        steps = [Step(calls=[bash(f"echo plain-old-key {shaped}")]), Step("Done.")]
        stage = Stage(tmp_path / "project", steps, allows)
        stage.agent.redacted = Redactor(["plain-old-key"])
        await stage.agent.submit("go")
        return stage

    stage = asyncio.run(run())
    for text in (
        next(item.text for item in stage.model.requests[1].items if isinstance(item, Result)),
        stage.of(events.ToolFinished)[0].text,
    ):
        assert "[redacted: key] [redacted: API key]" in text


def test_all_the_core_s_tools_are_what_an_agent_offers(tmp_path: Path) -> None:
    stage, _ = play(tmp_path, Step("Hello."))
    offered = [tool.name for tool in stage.model.requests[0].tools]
    assert offered == [tool.name for tool in tools_for()]


# -- a turn whose process died ---------------------------------------------------------------


def stopped_at(stage: Stage, *calls: Call, asked: str = "") -> None:
    session = stage.session
    session.append(User("look", 1), *calls)
    session.asked = asked


def test_a_call_that_waited_is_asked_again_and_its_turn_gone_on_with(tmp_path: Path) -> None:
    async def run() -> None:
        stage = Stage(tmp_path / "p", [Step("Done.")], person=allows)
        first = Call("a", "bash", '{"command": "touch made"}', 1, 1)
        stopped_at(stage, first, Call("b", "todo_write", '{"todos": []}', 1, 1), asked="a")
        ended = await stage.agent.submit("")
        assert (ended.turn, ended.outcome) == (1, "answered")
        assert (tmp_path / "p" / "made").exists() and len(stage.asked) == 1
        kinds = [type(item).__name__ for item in stage.session.items]
        assert kinds == ["User", "Call", "Call", "Result", "Result", "Assistant"]
        started = [event for event in stage.events if isinstance(event, events.TurnStarted)]
        assert started == [events.TurnStarted(1, "look")]
        assert stage.session.items[-1] == Assistant("Done.", 1, 2)

    asyncio.run(run())


def test_another_prompt_closes_what_a_dead_process_left_open(tmp_path: Path) -> None:
    async def run() -> None:
        stage = Stage(tmp_path / "p", [Step("Yes.")], person=allows)
        stopped_at(stage, Call("a", "bash", "{}", 1, 1), Call("b", "bash", "{}", 1, 1))
        await stage.agent.submit("and now?")
        results = [item for item in stage.session.items if isinstance(item, Result)]
        assert [(each.call_id, each.outcome) for each in results] == [
            ("a", "interrupted"),
            ("b", "skipped"),
        ]
        assert DIED in results[0].text and not stage.asked
        assert stage.session.ended == 2 and not stage.session.open_calls()

    asyncio.run(run())
