"""Prompts typed in a page: turns with no cell, whose code runs in requests of the kernel's own."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

import pytest

from tests.support.kernels import Kernel, interpreters, running_kernel
from tests.support.pages import FakePage, page_of
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

HOST = "services = get_ipython()._shiro_extension.host.services"
# Ten displays, of which the model reads fewer, and a value.
DRAWS = """
from IPython.display import Image, display
dots = [Image(data=b"\\x89PNG\\r\\n\\x1a\\n" + bytes([n]), format="png") for n in range(11)]
for dot in dots[:10]: display(dot)
dots[10]
"""
WAITS = "Path('begun').touch()\nwhile not Path('go').exists(): time.sleep(0.01)"


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("panel")
    model = script(
        folder,
        says("how far is it", "Half done."),  # first, since its prompt holds the others
        runs("sum", "total = 40 + 2\nprint('in code')\ntotal"),
        says("sum", "It is 42."),
        runs("later", "ran.append(1)", delay=0.5),
        says("later", "Ran."),
        runs("awaits", "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')"),
        says("awaits", "Awaited."),
        runs("draws", DRAWS),
        says("draws", "Drawn."),
        runs("an hour", f"print('row 500 of 1,000')\n{WAITS}"),
        says("an hour", "All rows are done."),
        runs("calm", f"{WAITS}\nPath('went').touch()"),
        says("calm", "It went on."),
        says("front", "In front."),
        says("slow", "Slowly.", delay=1),
        says("silent", "never", delay=60),
        says("cell of theirs", "Mended."),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    home |= {"SHIRO_VIEW": "text", "SHIRO_MODE": "yolo"}
    with running_kernel(request.param, folder=folder, **home) as kernel:
        kernel.run("%load_ext shiro_jupyter\nimport time\nfrom pathlib import Path\nran = []")
        yield kernel


@pytest.fixture
def page(kernel: Kernel) -> Iterator[FakePage]:
    with page_of(kernel) as page:
        if not page.hello()["started"]:
            kernel.run(HOST)
        page.settle()
        yield page
        page.request("stop")  # what a failed test has left
        page.request("bye")
        for name in ("begun", "go", "went"):
            (kernel.folder / name).unlink(missing_ok=True)


def said(page: FakePage) -> str:
    (event,) = page.until(lambda: page.of("said"))
    page.events.remove(event)
    return str(event["text"])


def test_a_page_narrows_the_mode_and_never_widens_it(kernel: Kernel, page: FakePage) -> None:
    """Whatever a script of the page sends; a cell of the person's does both."""
    mode = "get_ipython()._shiro_extension.host.services.settings().settings.mode"
    try:
        page.prompt("/mode accept-edits")
        assert said(page) == "Mode accept-edits from the next turn on."
        for looser in ("yolo", " yolo ", "yolo &"):
            page.prompt(f"/mode {looser}")
            assert not said(page).startswith("Mode")
            assert kernel.value(mode) == "'accept-edits'"
        page.prompt("/mode plan")
        assert said(page) == "Mode plan from the next turn on."
        for looser in ("ask", "accept-edits", "yolo"):
            page.prompt(f"/mode {looser}")
            assert said(page) == (
                f"A page may only narrow the mode: run %shiro /mode {looser} in a cell."
            )
    finally:
        kernel.run("%shiro /mode yolo")
    assert kernel.value(mode) == "'yolo'"


def test_it_is_a_turn_whose_code_runs(kernel: Kernel, page: FakePage) -> None:
    before = kernel.value("get_ipython().execution_count")
    page.prompt("sum")
    turn = page.ended("sum")
    assert (turn["origin"], turn["cell"]) == ("panel", "")
    assert turn["ended"]["outcome"] == "answered"
    assert "It is 42." in turn["answer"][0]
    (call,) = turn["work"]
    assert call["output"] == "in code\nvalue: 42"
    assert kernel.value("total, get_ipython().execution_count") == f"(42, {int(before) + 1})"


def test_what_its_code_draws_is_fetched_by_the_page(kernel: Kernel, page: FakePage) -> None:
    page.prompt("draws")
    (call,) = page.ended("draws")["work"]
    assert "2 more shown to the person" in call["output"] and len(call["pictures"]) == 11
    found = [page.request("picture", key=key) for key in call["pictures"]]
    assert {each["mime"] for each in found} == {"image/png"}
    assert [b64decode(each["data"])[-1] for each in found] == list(range(11))
    outputs = kernel.run("%shiro draws", stdin=str)
    assert len(outputs.of("display_data")) == 11  # they are in the cell
    page.until(lambda: len(page.follower.models) == 2)
    (call,) = page.ended("draws")["work"]
    assert call["pictures"] == []


def test_its_code_may_await(kernel: Kernel, page: FakePage) -> None:
    page.prompt("awaits")
    (call,) = page.ended("awaits")["work"]
    assert call["output"] == "awaited"


@pytest.mark.parametrize("form", ["", "%%time\n"])
def test_a_cell_that_waits_behind_it_does_not_show_its_code(
    kernel: Kernel, page: FakePage, form: str
) -> None:
    page.prompt("slow")
    page.prompt("sum")
    page.shows(queue=["next: sum"])
    outputs = kernel.run(f"{form}%shiro front\nprint('theirs')", stdin=str)
    assert "In front." in outputs.stdout and "theirs\n" in outputs.stdout
    assert "in code" not in str(outputs.messages)
    assert outputs.of("display_data") == []
    page.ended("front")
    assert [turn["prompt"] for turn in page.follower.models.values()] == ["slow", "sum", "front"]


def test_a_kernel_that_runs_its_code_looks_busy(kernel: Kernel, page: FakePage) -> None:
    page.prompt("calm")
    page.until((kernel.folder / "begun").exists)
    page.request("snapshot", turn=1)
    page.take_for(0.2)
    assert page.statuses[-1][1] == "busy"
    (kernel.folder / "go").touch()
    page.ended("calm")
    page.until(lambda: page.statuses[-1][1] == "idle")
    page.take_for(0.2)
    assert page.statuses[-1][1] == "idle"


def test_what_runs_can_be_asked_about_from_beside_it(kernel: Kernel, page: FakePage) -> None:
    page.prompt("/progress")
    assert said(page) == "Nothing runs."
    page.prompt("an hour")
    page.until((kernel.folder / "begun").exists)
    page.until(lambda: "row 500" in str((page.newest().get("flight") or {}).get("output")))
    page.prompt("/progress")
    told = said(page).split("\n")
    assert told[0].startswith("“an hour”: running run_python")
    assert told[-2:] == ["The end of its output:", "row 500 of 1,000"]
    page.prompt("/btw how far is it?")
    assert said(page) == "Half done."
    (kernel.folder / "go").touch()
    turn = page.ended("an hour")
    assert turn["ended"]["outcome"] == "answered"
    items = "str(services.conversation.opened.session.items[-4:])"
    kept = kernel.value(items)
    assert "All rows are done." in kept
    assert "how far" not in kept and "Half done" not in kept


def test_stop_ends_its_code_while_main_is_held_and_the_turn_goes_on(
    kernel: Kernel, page: FakePage
) -> None:
    page.prompt("calm")
    page.shows(phase="tool")  # a stop names the turn that the page has seen
    page.until((kernel.folder / "begun").exists)
    page.request("stop")
    turn = page.ended("calm")
    assert turn["ended"]["outcome"] == "answered"
    assert [call["outcome"] for call in turn["work"]] == ["interrupted"]
    assert not (kernel.folder / "went").exists()
    assert kernel.value("1 + 1") == "2"


def test_stop_ends_it_where_no_call_runs(kernel: Kernel, page: FakePage) -> None:
    page.prompt("silent")
    page.shows(phase="thinking")
    page.request("stop")
    assert page.ended("silent")["ended"]["outcome"] == "interrupted"


# -- slash commands --------------------------------------------------------------------------


def test_a_command_is_answered_in_words(kernel: Kernel, page: FakePage) -> None:
    page.prompt("/tools")
    assert "run_python" in said(page)
    page.prompt("/status")
    assert "versions" in said(page)
    page.prompt("/stauts")
    assert said(page) == "There is no command /stauts; did you mean /status?"
    page.prompt("/connect")
    assert said(page) == "/connect asks questions in a cell: run %shiro /connect there."
    page.prompt("/mode odd")
    assert said(page).startswith("The modes are ")
    assert page.of("turn") == []


def test_a_command_may_make_a_prompt(kernel: Kernel, page: FakePage) -> None:
    page.prompt("/fix")
    assert said(page) == "No cell has failed yet: there is nothing to fix."
    kernel.run("cell_of_theirs = 1; 1 / 0  # cell of theirs")
    page.prompt("/fix")
    turn = page.shows(phase="ended")
    assert "ZeroDivisionError" in turn["prompt"] and "Mended." in turn["answer"][0]


def test_stop_as_a_command_ends_all_that_wait(kernel: Kernel, page: FakePage) -> None:
    page.prompt("silent")
    page.shows(phase="thinking")
    page.prompt("front")
    page.shows(queue=["next: front"])
    page.prompt("/clear")
    assert "end it with %shiro /stop" in said(page)
    page.prompt("/stop")
    assert said(page) == "Stopped 2 turns."
    assert page.back() == ["front"]
    page.prompt("/stop")
    assert said(page) == "No turn is running."


def test_what_is_wrong_with_the_settings_is_said(kernel: Kernel, page: FakePage) -> None:
    kernel.run("import os; os.environ['SHIRO_MAX_STEPS'] = 'many'")
    page.prompt("front")
    told = said(page)
    kernel.run("del os.environ['SHIRO_MAX_STEPS']")
    assert "SHIRO_MAX_STEPS" in told and page.of("turn") == []
    page.prompt("front")
    assert page.ended("front")["ended"]["outcome"] == "answered"


# -- the queue -------------------------------------------------------------------------------


def queued(page: FakePage, *prompts: str) -> list[int]:
    """Ask these behind one that takes its time; their numbers."""
    page.prompt("silent")
    page.shows(phase="thinking")
    for at, prompt in enumerate(prompts, start=1):
        page.prompt(prompt)
        page.until(lambda at=at: len(page.waiting()) == at)  # type: ignore[misc]
    assert [each["text"] for each in page.waiting()] == list(prompts)
    return [each["id"] for each in page.waiting()]


def test_what_waits_is_seen_edited_removed_and_sent_now(kernel: Kernel, page: FakePage) -> None:
    first, second, third = queued(page, "sum", "front", "slow")
    assert page.request("edit", id=first, text="front again") == {"ok": True}
    page.until(lambda: page.waiting()[0]["text"] == "front again")
    page.request("now", id=third)
    page.until(lambda: [each["id"] for each in page.waiting()] == [third, first, second])
    assert page.waiting()[0]["now"] and not page.waiting()[1]["now"]
    page.shows(queue=["at the next step: slow", "next: front again", "next: front"])
    page.request("remove", id=second)
    page.until(lambda: [each["id"] for each in page.waiting()] == [third, first])
    page.request("stop")
    assert page.ended("slow")["ended"]["outcome"] == "answered"  # a turn of its own, and next
    page.ended("front again")
    assert page.waiting() == []
    prompts = [turn["prompt"] for turn in page.follower.models.values()]
    assert prompts == ["silent", "slow", "front again"]
    assert page.of("back") == page.of("said") == []


def test_what_comes_too_late_is_said_and_edited_words_go_back(page: FakePage) -> None:
    page.prompt("front")
    page.ended("front")
    for do in ("remove", "now"):
        page.request(do, id=1)
        assert said(page).startswith("That prompt no longer waits")
    assert page.of("back") == []
    page.request("edit", id=1, text="in vain")
    assert said(page).startswith("That prompt no longer waits")
    assert page.back() == ["in vain"]


def test_abort_ends_the_turn_and_hands_back_what_waits(kernel: Kernel, page: FakePage) -> None:
    with page_of(kernel, "page-2") as other:
        other.hello()
        other.settle()
        queued(page, "slow", "front\nof all")
        page.request("abort")
        assert page.ended("silent")["ended"]["outcome"] == "interrupted"
        assert page.back() == ["slow", "front\nof all"]
        other.take_for(0.3)
        assert other.of("back") == []
        other.request("bye")
    assert page.waiting() == page.of("said") == []


def test_what_a_cell_asked_is_listed_where_it_is_handed_back(
    kernel: Kernel, page: FakePage
) -> None:
    page.prompt("silent")
    page.shows(phase="thinking")
    kernel.run("r = %shiro front &", stdin=str)
    page.until(lambda: len(page.waiting()) == 1)
    page.request("abort")
    turn = page.ended("silent")
    assert turn["notes"] == ["Taken off the queue, not run: front"]
    assert kernel.value("r.reason") == "'The prompt was taken off the queue.'"
    assert page.of("back") == []


def test_the_words_of_a_page_that_is_gone_go_to_another(kernel: Kernel, page: FakePage) -> None:
    with page_of(kernel, "page-2") as other:
        other.hello()
        other.prompt("silent")
        page.shows(phase="thinking")
        other.prompt("front")
        page.until(lambda: len(page.waiting()) == 1)
        other.request("bye")
    page.request("abort")
    assert page.back() == ["front"]


def test_a_page_that_comes_is_told_what_waits(kernel: Kernel, page: FakePage) -> None:
    queued(page, "front")
    page.shows(queue=["next: front"])
    with page_of(kernel, "page-2") as other:
        other.hello()
        other.until(lambda: [each["text"] for each in other.waiting()] == ["front"])
        other.request("bye")
    page.request("abort")
    page.ended("silent")


def test_a_steered_prompt_is_answered_in_the_turn_that_runs(kernel: Kernel, page: FakePage) -> None:
    page.prompt("calm")
    page.until((kernel.folder / "begun").exists)
    page.prompt("/steer use calm words")
    page.until(lambda: [each["now"] for each in page.waiting()] == [True])
    (kernel.folder / "go").touch()
    turn = page.ended("calm")
    assert [each["kind"] for each in turn["work"]] == ["tool", "asked"]
    assert turn["work"][1]["text"] == "use calm words"
    assert "It went on." in turn["answer"][0]
    assert page.waiting() == [] and page.of("said") == []


def test_with_no_turn_running_a_steered_prompt_is_a_plain_one(page: FakePage) -> None:
    page.prompt("/steer front")
    assert page.ended("front")["ended"]["outcome"] == "answered"
    page.prompt("/steer")
    assert said(page) == "Say what to send: /steer TEXT."


def test_the_queue_by_commands(kernel: Kernel, page: FakePage) -> None:
    (number,) = queued(page, "front")
    page.prompt("/queue")
    assert "front" in said(page)
    page.prompt(f"/queue edit {number} sum of all")
    assert said(page) == f"{number} now says: sum of all"
    page.prompt(f"/queue now {number}")
    assert said(page) == "Goes into the turn before its next step: sum of all"
    listed = kernel.run("%shiro /queue", stdin=str).of("display_data")[0]["data"]["text/plain"]
    assert "at the next step" in listed and "sum of all" in listed
    told = kernel.run(f"%shiro /queue remove {number}", stdin=str)
    assert told.stdout == "Taken off the queue: sum of all\n"
    wrongs = ("edit 1", "now", "1", "remove 1 2", "x 1 2", f"now {'9' * 5_000}")
    for wrong in (f"/queue {each}" for each in wrongs):
        page.prompt(wrong)
        assert said(page).startswith("Say /queue, ")
    page.prompt("/queue remove 99")
    assert said(page).startswith("That prompt no longer waits")
    page.prompt("/queue")
    assert said(page) == "No prompt waits: ask something first."
    page.request("abort")
    page.ended("silent")


def test_prompts_of_panel_and_cells_are_kept_and_told_when_asked_for(
    kernel: Kernel, page: FakePage
) -> None:
    def asked() -> list[str]:
        page.request("history")
        (told,) = page.until(lambda: page.of("history"))
        page.events.remove(told)
        return list(told["prompts"])

    page.prompt("  front of the panel ")
    page.ended("front of the panel")
    page.until(lambda: asked()[-1] == "front of the panel")
    kernel.run("%shiro front of a cell", stdin=str)
    page.until(lambda: asked()[-2:] == ["front of the panel", "front of a cell"])
    kernel.run("%shiro front of nobody")  # without a person
    page.prompt("/tools")  # no turn
    said(page)
    page.prompt("front of a cell")
    page.ended("front of a cell")
    page.prompt("front at last")
    page.until(lambda: asked()[-1] == "front at last")
    assert asked()[-3:] == ["front of the panel", "front of a cell", "front at last"]


# -- Run All around it -----------------------------------------------------------------------


@pytest.mark.parametrize("how", ["panel", "background"])
def test_failing_cells_on_either_side_and_the_turn_leave_one_another_alone(
    kernel: Kernel, page: FakePage, how: str
) -> None:
    kernel.run("ran.clear(); done = []")
    if how == "panel":
        page.prompt("later")
    else:
        assert kernel.run("r = %shiro later &", stdin=str).status == "ok"
    # Its code queues behind the first two, and is thrown out with the third.
    cells = [
        kernel.send(code)
        for code in (
            "time.sleep(1); done.append('a'); print('a')",
            "time.sleep(0.1); print('b'); 1 / 0",
            "done.append('c')",
        )
    ]
    first, second, third = (kernel.finish(cell, stdin=str) for cell in cells)
    after = kernel.run("print('d'); len([]) / 0", stdin=str)
    assert [each.status for each in (first, second, third, after)] == [
        "ok",
        "error",
        "aborted",
        "error",
    ]
    assert [each.stdout for each in (first, second, third, after)] == ["a\n", "b\n", "", "d\n"]
    assert [len(each.of("error")) for each in (first, second, third, after)] == [0, 1, 0, 1]
    turn = page.ended("later")
    assert turn["ended"]["outcome"] == "answered"
    assert [call["outcome"] for call in turn["work"]] == ["ok"]
    assert kernel.value("ran, done") == "([1], ['a'])"
