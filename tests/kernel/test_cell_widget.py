"""The widget of a turn in real kernels, with this test in the place of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.kernels import Kernel, Outputs, interpreters, running_kernel
from tests.support.pages import page_of
from tests.support.patches import Follower
from tests.support.scripts import runs, says, script

pytestmark = pytest.mark.kernel

VIEW = "application/vnd.jupyter.widget-view+json"
TURN = "application/vnd.shiro.turn+json"
FORMS = {"text/html", "text/markdown", "text/plain"}
# The module of the page's side, where the labextension has not been built.
SOURCE = """
%load_ext shiro_jupyter
from pathlib import Path
from shiro_jupyter.kernel import cell_widget
cell_widget.ESM = Path('cell.js')
cell_widget.ESM.write_text('export default {}')
"""


class Page:
    """Draws no more than it has to: it asks for the turn, and answers its question."""

    def __init__(self, kernel: Kernel, *, draws: bool = True, answers: str = "allow") -> None:
        self.kernel, self.draws, self.answers = kernel, draws, answers
        self.subshell = subshell(kernel)
        self.opened: list[dict[str, Any]] = []  # the comms of our widgets
        self.closed: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.turns, self.answered = Follower(), set[str]()

    def run(self, code: str, **more: Any) -> Outputs:
        return self.kernel.run(code, meanwhile=self.hear, stdin=self.typed, cell_id="c", **more)

    def typed(self, prompt: str) -> str:
        raise AssertionError(f"asked at the keyboard: {prompt}")

    @property
    def model(self) -> Any:
        """The newest turn as the page knows it."""
        assert not self.turns.gaps
        return self.turns.models[max(self.turns.models)]

    @property
    def comm(self) -> str:
        return str(self.opened[-1]["comm_id"])

    def hear(self, message: dict[str, Any]) -> None:
        content = message["content"]
        match message["msg_type"]:
            case "comm_open" if "_esm" in content["data"]["state"]:
                self.opened.append(content)
            case "display_data" if VIEW in content["data"] and self.draws:
                self.say("snapshot", turn=self.opened[-1]["data"]["state"]["turn"])
            case "comm_close":
                self.closed.append(content["comm_id"])
            case "comm_msg" if content["data"].get("method") == "custom":
                assert content["comm_id"] == self.comm
                self.take(content["data"]["content"])

    def take(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        self.turns.take(event)
        for question in self.model["questions"]:
            if question["id"] not in self.answered:
                self.say("shown", question=question["id"])
        if self.answers:
            self.answer(self.answers)

    def answer(self, choice: str) -> None:
        for question in self.model["questions"]:
            if question["id"] not in self.answered:
                self.answered.add(question["id"])
                shown = {"question": question["id"], "digest": question["digest"]}
                self.say("answer", **shown, choice=choice, words="")

    def say(self, what: str, **more: Any) -> None:
        data = {"method": "custom", "content": {"do": what, "page": "p", **more}}
        session = self.kernel.client.session
        message = session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        message["header"]["subshell_id"] = self.subshell
        self.kernel.client.shell_channel.send(message)


def subshell(kernel: Kernel) -> str:
    """One of its own, as JupyterLab makes for the comms of a target."""
    kernel.client.control_channel.send(kernel.client.session.msg("create_subshell_request"))
    reply = kernel.client.get_control_msg(timeout=30)
    return str(reply["content"]["subshell_id"])


@pytest.fixture(scope="module", params=interpreters())
def kernel(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("cell")
    clearing = (
        "import time\nfrom IPython.display import clear_output\n"
        "for n in range(2):\n    clear_output(); time.sleep(1)"
    )
    model = script(
        folder,
        says("say", "It is **said**."),
        runs("sum", "total = 40 + 2\ntotal"),
        says("sum", "It is 42."),
        runs("clear", clearing),
        says("clear", "Cleared."),
        runs("slow", "import time\ntime.sleep(4)"),
        says("slow", "At last."),
        says("later", "Later.", delay=2),
        {"when": "boom", "error": "The endpoint is on fire; put it out."},
    )
    home = {"SHIRO_HOME": str(folder / "home"), "SHIRO_LIVE": "1", "SHIRO_MODEL": model}
    with running_kernel(request.param, folder=folder, **home) as kernel:
        assert kernel.run(SOURCE).status == "ok"
        yield kernel


@pytest.fixture
def page(kernel: Kernel) -> Page:
    return Page(kernel)


def left(outputs: Outputs) -> dict[str, Any]:
    """What the display of the cell holds at the end: what was left behind, and no widget."""
    last = outputs.of("update_display_data")[-1]
    assert set(last["data"]) == FORMS
    assert last["metadata"]["shiro"]["ended"] is True
    return dict(last["data"])


@pytest.mark.parametrize("form", ["%shiro sum", "%%time\n%shiro sum"])
def test_a_page_draws_the_turn_and_answers_its_question(page: Page, form: str) -> None:
    outputs = page.run(form)
    assert outputs.status == "ok", outputs.reply
    (first,) = (each for each in outputs.of("display_data") if VIEW in each["data"])
    assert set(first["data"]) == {TURN, VIEW} | FORMS
    assert first["data"][VIEW]["model_id"] == page.comm
    state = page.opened[-1]["data"]["state"]
    mark = {"kernel": state["kernel"], "turn": state["turn"], "ended": False}
    assert first["metadata"] == {"shiro": mark} and state["kernel"]
    assert first["data"][TURN] == {"kernel": state["kernel"], "turn": state["turn"]}
    # Nothing but the end replaces it, and the page has seen the same.
    assert len(outputs.of("update_display_data")) == 1
    assert "42" in left(outputs)["text/html"]
    assert page.model["work"][-1]["outcome"] == "ok"
    assert page.kernel.value("total") == "42"
    assert page.comm in page.closed and len(page.closed) == 2  # with its layout


@pytest.mark.parametrize("form", ["%shiro sum", "%%time\n%shiro sum"])
def test_a_kernel_that_runs_a_cell_looks_busy_though_a_page_asks(page: Page, form: str) -> None:
    statuses = page.run(form).of("status")
    # Once for the cell itself, and behind the page's snapshot at the latest again.
    assert [each["execution_state"] for each in statuses].count("busy") >= 2


def test_where_no_page_draws_the_turn_the_display_is_updated(kernel: Kernel) -> None:
    page = Page(kernel, draws=False)
    page.typed = lambda prompt: "y"  # type: ignore[method-assign]
    outputs = page.run("%shiro slow")
    running = [each["data"] for each in outputs.of("update_display_data")]
    assert any("running run_python" in each["text/plain"] for each in running)
    assert all(VIEW not in each for each in running)
    assert "At last." in left(outputs)["text/plain"]
    assert not page.events and page.comm in page.closed


def test_where_the_labextension_is_nothing_goes_over_the_comm(kernel: Kernel) -> None:
    page = Page(kernel, draws=False)
    with page_of(kernel) as extension:
        extension.hello()
        answered = set[str]()

        def answer() -> None:
            extension.take(0)
            for question in extension.newest().get("questions", ()):
                if question["id"] not in answered:
                    answered.add(question["id"])
                    extension.answer(question, "allow")

        outputs = page.run("%shiro slow", idle=answer)
        extension.request("bye")
    assert answered and not page.events
    assert len(outputs.of("update_display_data")) == 1
    assert "At last." in left(outputs)["text/plain"]


def test_output_that_the_code_clears_is_shown_anew_with_the_same_widget(page: Page) -> None:
    outputs = page.run("%shiro clear")
    shown = [each["data"][VIEW]["model_id"] for each in outputs.of("display_data")]
    assert len(shown) == 3 and set(shown) == {page.comm} and len(page.opened) == 1
    assert "Cleared." in left(outputs)["text/plain"]


def test_a_turn_that_waits_says_so_until_it_starts(page: Page) -> None:
    page.run("%shiro later &")
    outputs = page.run("%shiro say")
    first, *_ = outputs.of("display_data")
    assert first["data"]["text/plain"] == "waits behind 1 turn" and VIEW not in first["data"]
    updates = outputs.of("update_display_data")
    assert [VIEW in each["data"] for each in updates] == [True, False]
    assert "said" in left(outputs)["text/html"]


def test_a_turn_that_is_taken_off_the_queue_says_so(page: Page) -> None:
    page.run("%shiro later &")
    waiting = page.kernel.send("%shiro say", cell_id="c")
    sent = False

    def interrupt(message: dict[str, Any]) -> None:
        nonlocal sent
        if message["msg_type"] == "display_data" and not sent:
            sent = True
            page.kernel.interrupt()

    outputs = page.kernel.finish(waiting, meanwhile=interrupt)
    assert outputs.status == "error"
    last = outputs.of("update_display_data")[-1]["data"]["text/plain"]
    assert last == "The prompt was taken off the queue."
    page.run("%shiro say")  # behind the one that runs


def test_a_failed_turn_says_why_in_the_display(page: Page) -> None:
    assert "on fire" in left(page.run("%shiro boom"))["text/markdown"]


def test_nothing_is_imported_for_the_widget_before_it_is_shown(kernel: Kernel) -> None:
    code = "import sys\n%load_ext shiro_jupyter\nprint('ipywidgets' in sys.modules)"
    with running_kernel(kernel.manager.kernel_spec.argv[0], SHIRO_VIEW="text") as fresh:
        assert fresh.run(code).stdout == "False\n"
        fresh.run("%shiro /tools")
        assert fresh.value("'ipywidgets' in sys.modules") == "False"
