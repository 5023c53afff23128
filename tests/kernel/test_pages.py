"""Pages and what they are told: on a loop without a kernel, and with real kernels."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from shiro_jupyter.core import events as e
from shiro_jupyter.core.errors import ToolFailed
from shiro_jupyter.core.events import Answer, Event, Question
from shiro_jupyter.core.workspace.clock import SystemClock
from shiro_jupyter.kernel import pages as module
from shiro_jupyter.kernel.channel import PROTOCOL, Channel, Message
from shiro_jupyter.kernel.pages import GONE, NO_PAGE, NO_PICTURE, Pages
from shiro_jupyter.kernel.pictures import Picture
from shiro_jupyter.views.feed import Feed
from tests.support.kernels import Kernel, interpreters, running_kernel
from tests.support.pages import FakePage, page_of
from tests.support.patches import Follower
from tests.support.scripts import runs, says, script

QUESTION = Question("q1", "call", "approval", "Run it?")
STARTED, ENDED = e.TurnStarted(1, "hi"), e.TurnEnded(1, "answered")


class Sent(Channel):
    """A channel of no kernel, which keeps what it is given to send."""

    def __init__(self) -> None:
        super().__init__(object())
        self.sent: list[Message] = []

    def send(self, event: Message) -> None:
        self.sent.append(event)

    def of(self, kind: str) -> list[Message]:
        return [event for event in self.sent if event["kind"] == kind]


class Stage:
    """Pages on the running loop."""

    def __init__(self) -> None:
        self.channel = Sent()
        clock = SystemClock()
        self.feed = Feed(clock.monotonic)
        self.answers: list[tuple[Answer, str]] = []
        self.stopped = 0
        self.pages = Pages(
            self.channel,
            self.feed,
            clock,
            call=asyncio.get_running_loop().call_soon,
            answer=lambda answer, digest: self.answers.append((answer, digest)),
            interrupt=self._interrupt,
            picture={"1": Picture("image/png", "aGVsbG8=")}.get,
        )
        self.pages.start()

    def _interrupt(self) -> None:
        self.stopped += 1

    async def request(self, do: str, page: str = "p", **fields: Any) -> Message:
        """A page's request, and what it leads to has been done."""
        reply = self.channel.handle({"do": do, "page": page, **fields})
        await asyncio.sleep(0)
        return reply

    async def hello(self, page: str = "p", notebook: str = "work/a.ipynb") -> Message:
        return await self.request("hello", page, protocol=PROTOCOL, version="", notebook=notebook)

    def emit(self, *emitted: Event) -> None:
        for event in emitted:
            self.feed.emit(event)


def on_a_loop(test: Callable[[Stage], Awaitable[None]]) -> Callable[[], None]:
    async def run() -> None:
        await test(Stage())

    def test_() -> None:
        asyncio.run(run())

    return test_


@on_a_loop
async def test_nothing_is_sent_where_no_page_is(stage: Stage) -> None:
    stage.emit(STARTED, e.TextDelta("Hello"), ENDED)
    await asyncio.sleep(0.15)
    assert stage.channel.sent == []


@on_a_loop
async def test_a_page_is_given_what_there_is_and_follows(stage: Stage) -> None:
    stage.emit(STARTED, e.StepStarted(1))
    await stage.hello()
    follower = Follower()
    (first,) = stage.channel.of("turn")
    assert (first["to"], first["turn"]) == ("p", 1)
    stage.emit(e.TextDelta("Hello"), ENDED)
    for event in stage.channel.of("turn"):
        follower.take(event)
    assert follower.gaps == 0
    assert follower.models[1]["ended"]["outcome"] == "answered"
    assert follower.models[1]["prompt"] == "hi"
    assert {event["kernel"] for event in stage.channel.of("turn")} == {stage.pages.kernel}


@on_a_loop
async def test_a_gap_is_closed_by_a_snapshot_for_the_page_alone(stage: Stage) -> None:
    await stage.hello()
    stage.emit(STARTED, ENDED)
    stage.channel.sent.clear()
    assert await stage.request("snapshot", turn=1) == {"ok": True}
    await stage.request("snapshot", turn=7)
    (event,) = stage.channel.of("turn")
    assert event["to"] == "p" and event["patch"]["="]["prompt"] == "hi"


@on_a_loop
async def test_a_widget_is_given_its_own_turn_alone(stage: Stage) -> None:
    heard: list[Message] = []
    stage.emit(STARTED, ENDED, e.TurnStarted(2, "again"))
    detach = stage.pages.attach(heard.append, 2)
    assert stage.pages.handle({"do": "snapshot", "page": "w", "turn": 2}) == {"ok": True}
    await asyncio.sleep(0)
    stage.emit(e.TextDelta("Hi"), e.TurnEnded(2, "answered"))
    follower = Follower()
    for event in heard:
        follower.take(event)
    assert follower.models[2]["ended"] and list(follower.models) == [2]
    assert stage.channel.sent == []  # no page listens
    count = len(heard)
    detach()
    stage.emit(e.TurnStarted(3, "more"), e.TurnEnded(3, "answered"))
    assert len(heard) == count


@on_a_loop
async def test_no_timer_runs_without_a_turn_or_a_page(stage: Stage) -> None:
    await stage.hello()
    assert stage.pages._ticking is None
    stage.emit(STARTED)
    assert stage.pages._ticking is not None
    await stage.request("bye")
    await asyncio.sleep(0.15)
    assert stage.pages._ticking is None
    await stage.hello()
    assert stage.pages._ticking is not None
    stage.emit(ENDED)
    await asyncio.sleep(0.15)
    assert stage.pages._ticking is None


@on_a_loop
async def test_what_a_page_answers_and_stops_is_handed_over(stage: Stage) -> None:
    given = {"question": "q", "digest": "d", "choice": "allow", "words": ""}
    assert await stage.request("answer", **given) == {"ok": True}
    assert stage.answers == [(Answer("q", "allow"), "d")]
    stage.emit(STARTED, ENDED, e.TurnStarted(2, "again"))
    assert await stage.request("stop", turn=1) == {"ok": True}
    assert stage.stopped == 0  # it was for one that has ended meanwhile
    assert await stage.request("stop", turn=2) == {"ok": True}
    assert stage.stopped == 1
    assert not (await stage.request("prompt", text=" \n"))["ok"]


@on_a_loop
async def test_a_picture_is_answered_at_once(stage: Stage) -> None:
    reply = await stage.request("picture", key="1")
    assert reply == {"ok": True, "mime": "image/png", "data": "aGVsbG8="}
    assert await stage.request("picture", key="2") == {"ok": False, "error": NO_PICTURE}


@on_a_loop
async def test_an_ended_turn_has_left_a_bundle(stage: Stage) -> None:
    await stage.hello()
    stage.emit(STARTED, e.TextDelta("Hello"))
    await stage.request("left", turn=1)
    stage.emit(ENDED, e.TurnStarted(2, "again"), e.TextDelta("Other"))
    await stage.request("left", turn=1)
    for turn in (0, 2, 3):
        await stage.request("left", turn=turn)
    (left,) = stage.channel.of("left")
    assert (left["to"], left["turn"], left["cell"]) == ("p", 1, "")
    assert "Hello" in left["bundle"]["text/plain"] and "Other" not in str(left)


# -- something for a page to do --------------------------------------------------------------


async def asked(stage: Stage, **more: Any) -> tuple[asyncio.Task[Any], Message]:
    task = asyncio.create_task(stage.pages.ask("outline", {"deep": 1}, **more))
    await asyncio.sleep(0)
    return task, stage.channel.of("ask")[-1]


@on_a_loop
async def test_the_page_that_was_active_last_is_asked(stage: Stage) -> None:
    await stage.hello("p", "work/a.ipynb")
    await stage.hello("q", "work/a.ipynb")
    await stage.hello("console", "")
    await stage.hello("other", "b.ipynb")
    await stage.request("stop", "p", turn=1)
    task, event = await asked(stage, notebook="/home/me/work/a.ipynb")
    assert (event["to"], event["op"], event["args"]) == ("p", "outline", {"deep": 1})
    assert event["notebook"] == "work/a.ipynb"
    await stage.request("done", "q", id=event["id"], value="not asked")
    await stage.request("done", "p", id="none", value="of none")
    await stage.request("done", "p", id=event["id"], value={"cells": []})
    await stage.request("done", "p", id=event["id"], value="twice")
    assert await task == {"cells": []}
    task, event = await asked(stage)
    assert event["to"] == "p"
    await stage.request("done", "p", id=event["id"], error="No cell 'x': read the outline again.")
    with pytest.raises(ToolFailed, match="No cell 'x'"):
        await task


@on_a_loop
async def test_a_page_that_is_not_there_goes_or_is_silent_is_said(stage: Stage) -> None:
    with pytest.raises(ToolFailed) as none:
        await stage.pages.ask("outline", {})
    assert str(none.value) == NO_PAGE
    await stage.hello()
    with pytest.raises(ToolFailed):
        await stage.pages.ask("outline", {}, notebook="elsewhere/b.ipynb")
    with pytest.raises(ToolFailed, match="did not answer within 0 seconds"):
        await stage.pages.ask("outline", {}, 0.05)
    task, _ = await asked(stage)
    await stage.request("bye")
    with pytest.raises(ToolFailed) as gone:
        await task
    assert str(gone.value) == GONE
    assert stage.pages._asked == {}


# -- whether one is there --------------------------------------------------------------------


@pytest.fixture
def expecting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "expected", lambda: True)


def test_a_page_on_its_way_is_waited_for(expecting: None) -> None:
    async def run() -> None:
        stage = Stage()
        stage.emit(STARTED)
        waiting = asyncio.create_task(stage.pages.reached(QUESTION))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await stage.hello()
        await asyncio.sleep(0.05)
        assert not waiting.done()  # it may have no place to show it
        await stage.request("shown", question=QUESTION.id)
        assert await waiting is True

    asyncio.run(run())


def test_it_is_not_waited_for_long(expecting: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "EXPECTED_SECONDS", 0.05)

    async def run() -> None:
        assert await Stage().pages.reached(QUESTION) is False

    asyncio.run(run())


@on_a_loop
async def test_where_none_is_expected_nothing_is_waited_for(stage: Stage) -> None:
    async with asyncio.timeout(0.05):
        assert await stage.pages.reached(QUESTION) is False


# -- real kernels ----------------------------------------------------------------------------


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("pages")
    model = script(
        folder,
        runs("sum", "total = 40 + 2\nprint('in code')"),
        says("sum", "It is 42."),
        {"when": "which", "calls": [{"name": "ask", "arguments": ASK}]},
        says("which", "So be it."),
        # In short sleeps: a signal that comes just before a long one is seen when it is over.
        runs("calm", "Path('begun').touch()\nfor _ in range(600): time.sleep(0.1)"),
        says("calm", "It went on."),
        says("silent", "never", delay=60),
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    with running_kernel(request.param, folder=folder, SHIRO_VIEW="text", **home) as kernel:
        kernel.run("%load_ext shiro_jupyter\nimport time\nfrom pathlib import Path")
        kernel.run("host = get_ipython()._shiro_extension.host; services = host.services")
        yield kernel


ASK = {"question": "Which one?", "choices": ["the first", "the second"]}


@pytest.fixture
def page(kernel: Kernel) -> Iterator[FakePage]:
    with page_of(kernel) as page:
        page.hello()
        page.settle()
        yield page
        page.request("stop")  # what a failed test has left
        page.request("bye")
        kernel.run(
            "services.conversation.opened and services.conversation.opened.session.grants.clear()"
        )
        (kernel.folder / "begun").unlink(missing_ok=True)


def never(prompt: str) -> str:
    pytest.fail(f"typed, though a page is there: {prompt}")


@pytest.mark.kernel
@pytest.mark.parametrize("form", ["", "%%time\n"])
def test_a_question_of_a_cell_is_answered_in_the_page(
    kernel: Kernel, page: FakePage, form: str
) -> None:
    cell = kernel.send(f"{form}%shiro sum", cell_id="cell-7")
    question = page.question()
    assert page.newest()["cell"] == "cell-7"
    assert page.newest()["origin"] == "cell"
    page.answer(question, "allow", digest="another")
    page.answer(question, "maybe")
    page.answer(question, "allow", question="none")
    page.take_for(0.2)
    assert page.newest()["questions"] == [question]
    page.answer(question, "allow")
    outputs = kernel.finish(cell, stdin=never)
    assert "It is 42." in outputs.stdout and "in code\n" in outputs.stdout
    assert page.ended("sum")["ended"]["outcome"] == "answered"


@pytest.mark.kernel
def test_a_refusal_carries_its_words(kernel: Kernel, page: FakePage) -> None:
    cell = kernel.send("%shiro sum")
    page.answer(page.question(), "deny", "use the sample")
    assert "use the sample" in str(page.ended("sum")["work"])
    assert "refused" in kernel.finish(cell, stdin=never).stdout


@pytest.mark.kernel
@pytest.mark.parametrize(("choice", "words"), [("the second", ""), ("", "neither")])
def test_a_question_of_the_models_takes_a_choice_or_words(
    kernel: Kernel, page: FakePage, choice: str, words: str
) -> None:
    cell = kernel.send("%shiro which")
    page.answer(page.question(), choice, words)
    assert "So be it." in kernel.finish(cell, stdin=never).stdout
    (call,) = page.ended("which")["work"]
    assert (choice or words) in call["output"]


@pytest.mark.kernel
def test_where_the_page_shows_nothing_a_line_of_input_asks(kernel: Kernel, page: FakePage) -> None:
    """A page that vanished without a good-bye, or has no place for the question."""
    page.sees = False
    prompts: list[str] = []
    outputs = kernel.run("%shiro sum", stdin=lambda prompt: (prompts.append(prompt), "y")[1])
    assert len(prompts) == 1 and "It is 42." in outputs.stdout


@pytest.mark.kernel
def test_a_question_outlives_the_page_that_showed_it(kernel: Kernel, page: FakePage) -> None:
    cell = kernel.send("%shiro sum")
    page.question()
    page.request("bye")
    page.take_for(0.3)
    with page_of(kernel, "page-2") as other:
        other.hello()
        other.answer(other.question(), "allow")
        assert "It is 42." in kernel.finish(cell, stdin=never).stdout
        other.request("bye")


@pytest.mark.kernel
def test_a_page_may_answer_what_the_cell_asks_for(kernel: Kernel, page: FakePage) -> None:
    page.request("bye")
    cell = kernel.send("%shiro sum")
    assert "say why not" in kernel.client.get_stdin_msg(timeout=20)["content"]["prompt"]
    page.hello()
    page.answer(page.question(), "allow")
    outputs = kernel.finish(cell)
    assert outputs.status == "ok" and "It is 42." in outputs.stdout


@pytest.mark.kernel
def test_without_a_page_or_stdin_it_is_refused(kernel: Kernel, page: FakePage) -> None:
    page.request("bye")
    outputs = kernel.run("%shiro sum")
    assert "refused" in outputs.stdout


@pytest.mark.kernel
def test_while_a_question_waits_nothing_is_sent(kernel: Kernel, page: FakePage) -> None:
    cell = kernel.send("%shiro sum")
    question = page.question()
    page.take_for(0.3)
    events, statuses = len(page.events), len(page.statuses)
    page.take_for(3)
    assert page.events[events:] == []
    assert page.statuses[statuses:] == []
    page.answer(question, "allow")
    kernel.finish(cell, stdin=never)
    page.take_for(0.5)
    events = len(page.events)
    page.take_for(1)  # nor afterwards
    assert page.events[events:] == []


@pytest.mark.kernel
def test_stop_ends_the_code_and_the_turn_goes_on(kernel: Kernel, page: FakePage) -> None:
    cell = kernel.send("%%time\n%shiro --yolo calm")
    page.shows(prompt="calm")  # a page stops the turn that it shows
    page.until((kernel.folder / "begun").exists)
    page.request("stop")
    outputs = kernel.finish(cell, stdin=never)
    assert "It went on." in outputs.stdout
    assert outputs.of("error")[0]["ename"] == "KeyboardInterrupt"


@pytest.mark.kernel
@pytest.mark.parametrize("aside", ["", " &"])
def test_stop_ends_a_turn_where_no_call_runs(kernel: Kernel, page: FakePage, aside: str) -> None:
    cell = kernel.send(f"r = %shiro silent{aside}")
    page.shows(phase="thinking")
    page.request("stop")
    assert page.ended("silent")["ended"]["outcome"] == "interrupted"
    assert kernel.finish(cell, stdin=never).status == ("ok" if aside else "error")


@pytest.mark.kernel
def test_a_reloaded_page_is_given_what_a_turn_left(kernel: Kernel, page: FakePage) -> None:
    kernel.run("%shiro --yolo sum", cell_id="cell-9", stdin=never)
    turn = int(kernel.value("services.pages.turn"))
    page.request("left", turn=turn)
    (left,) = page.until(lambda: page.of("left"))
    assert (left["turn"], left["cell"]) == (turn, "cell-9")
    assert "It is 42." in left["bundle"]["text/markdown"]


@pytest.mark.kernel
def test_an_unloading_tells_of_the_ends_before_it_is_gone(kernel: Kernel, page: FakePage) -> None:
    kernel.run("a = %shiro silent &\nb = %shiro sum &", stdin=never)
    page.shows(phase="thinking")
    kernel.run("%reload_ext shiro_jupyter\nhost = get_ipython()._shiro_extension.host")
    kernel.run("services = host.services")
    page.until(lambda: page.of("here"))
    gone = page.events.index(*page.of("gone"))
    token = page.events[gone]["kernel"]
    turns = [each for each in page.events if each["kind"] == "turn" and each["kernel"] == token]
    assert page.newest()["ended"]["outcome"] == "interrupted"
    assert turns and page.events.index(turns[-1]) < gone


@pytest.mark.kernel
@pytest.mark.parametrize("choice", ["allow", "deny"])
def test_of_two_pages_that_answer_at_once_one_is_heard(
    kernel: Kernel, page: FakePage, choice: str
) -> None:
    with page_of(kernel, "page-2") as other:
        other.hello()
        cell = kernel.send("%shiro sum")
        question = page.question()
        assert other.question() == question
        # Both are on their way before either reply: which is heard is the kernel's to say.
        for each, chosen in (page, choice), (other, "deny" if choice == "allow" else "allow"):
            given = {"question": question["id"], "digest": question["digest"], "words": ""}
            content = {"do": "answer", "page": each.name, "choice": chosen, **given}
            message = each.client.session.msg("shiro_request", content)
            each.client.control_channel.send(message)
        ended = page.ended("sum")
        outputs = kernel.finish(cell, stdin=never)
        ran = "in code\n" in outputs.stdout
        outcomes = [each["outcome"] for each in ended["work"] if each["kind"] == "tool"]
        assert outcomes == (["ok"] if ran else ["refused"])
        other.request("bye")
