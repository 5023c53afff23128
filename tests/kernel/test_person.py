"""The person at `input()`: what they type, and what else may happen meanwhile."""

from __future__ import annotations

import asyncio
import builtins
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from shiro_jupyter.core.events import APPROVAL_CHOICES, Answer, Event, Question
from shiro_jupyter.core.questions import Questions
from shiro_jupyter.kernel.agent_thread import AgentThread
from shiro_jupyter.kernel.main_thread import MainThread, Server
from shiro_jupyter.kernel.person import Person, answer_of

APPROVAL = Question("q", "c", "approval", "Run it?", "code", APPROVAL_CHOICES, "digest")
CHOICE = Question("q", "c", "ask", "Which one?", choices=("the first", "the second"))


@pytest.mark.parametrize(
    ("said", "choice", "words"),
    [
        ("y", "allow", ""),
        (" Yes ", "allow", ""),
        ("a", "allow", ""),
        ("ALLOW", "allow", ""),
        ("once", "allow", ""),
        ("Ok", "allow", ""),
        ("s", "session", ""),
        (" Session", "session", ""),
        ("n", "deny", ""),
        ("D", "deny", ""),
        ("deny", "deny", ""),
        ("", "deny", ""),
        ("use the sample", "deny", "use the sample"),
    ],
)
def test_only_a_plain_yes_approves(said: str, choice: str, words: str) -> None:
    assert answer_of(APPROVAL, said) == Answer("q", choice, words)


@pytest.mark.parametrize(
    ("said", "choice", "words"),
    [
        ("2", "the second", ""),
        ("the first", "the first", ""),
        ("7", "", "7"),
        ("0", "", "0"),
        ("9" * 5_000, "", "9" * 5_000),
        ("neither of them", "", "neither of them"),
    ],
)
def test_a_question_takes_a_number_a_choice_or_words(said: str, choice: str, words: str) -> None:
    assert answer_of(CHOICE, said) == Answer("q", choice, words)


@pytest.mark.parametrize(
    ("said", "choice"), [("y", "allow"), ("s", "allow"), ("session", "allow"), ("", "deny")]
)
def test_a_yes_for_longer_than_is_offered_is_one_for_once(said: str, choice: str) -> None:
    once = replace(APPROVAL, choices=("allow", "deny"))
    assert answer_of(once, said) == Answer("q", choice)


class Cell:
    """A cell that serves a turn which asks one question, with `input` as given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.agent = AgentThread()
        self.main = MainThread(lambda owner: None, lambda: None)
        self.there = True
        self.page = False
        self.owner: object = None
        self.interrupted = 0
        self.events: list[Event] = []
        self._patch = monkeypatch
        person = Person(
            shell=None,
            main=self.main,
            elsewhere=self._elsewhere,
            there=lambda: self.there,
            owner=lambda: self.owner,
            prompt=lambda: "count the rows\nof the table",
            waits=lambda: None,
            interrupted=self._interrupted,
        )
        self.questions = Questions(self.events.append, [person])
        self._asking: asyncio.Task[Answer | None] | None = None

    async def _elsewhere(self, question: Question) -> bool:
        return self.page

    def _interrupted(self) -> None:
        self.interrupted += 1
        assert self._asking
        self._asking.cancel()

    def ask(
        self, typed: Callable[[str], str], question: Question = APPROVAL
    ) -> Answer | str | None:
        async def turn() -> Answer | str | None:
            self._asking = asyncio.create_task(self.questions.ask(question))
            await asyncio.wait({self._asking})
            return "interrupted" if self._asking.cancelled() else self._asking.result()

        self._patch.setattr(builtins, "input", typed)
        server = Server(stdin=True)
        with self.main.serving(server):
            ended = self.agent.spawn(turn)
            self.main.serve_blocking(ended, server)
        return ended.result()


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    cell = Cell(monkeypatch)
    yield cell
    cell.agent.close()


def test_the_answer_is_asked_for_on_main(cell: Cell) -> None:
    threads: list[Any] = []

    def typed(prompt: str) -> str:
        threads.append(threading.current_thread())
        return "y"

    assert cell.ask(typed) == Answer("q", "allow", "")
    assert threads == [threading.main_thread()]


def test_what_is_not_offered_is_not_named(cell: Cell) -> None:
    prompts: list[str] = []
    once = replace(APPROVAL, choices=("allow", "deny"))
    answer = cell.ask(lambda prompt: (prompts.append(prompt), "s")[1], once)
    assert answer == Answer("q", "allow") and prompts == ["[y]es once / [n]o, or say why not: "]


def test_what_a_session_covers_is_said_where_it_is_more_than_is_shown(cell: Cell) -> None:
    prompts: list[str] = []
    wide = replace(APPROVAL, grant="all code")
    cell.ask(lambda prompt: (prompts.append(prompt), "y")[1], wide)
    assert prompts == ["[y]es once / [s]ession (all code) / [n]o, or say why not: "]


@pytest.mark.parametrize("mistyped", ["yse", "alow", "sesion", "oK.", "yy", " Onec "])
@pytest.mark.parametrize(("then", "choice", "words"), [("y", "allow", ""), ("yse", "deny", "yse")])
def test_a_mistyped_word_is_asked_for_once_more(
    cell: Cell, mistyped: str, then: str, choice: str, words: str
) -> None:
    said, prompts = [mistyped, then], list[str]()
    answer = cell.ask(lambda prompt: (prompts.append(prompt), said.pop(0))[1])
    assert answer == Answer("q", choice, words)
    asks = "[y]es once / [s]ession (exactly this) / [n]o, or say why not: "
    assert prompts == [asks, f"Please say it again. {asks}"]


@pytest.mark.parametrize("said", ["no", "deny", "why", "nope", "later", "stop", "say yes to me"])
def test_a_refusal_is_asked_for_once(cell: Cell, said: str) -> None:
    prompts: list[str] = []
    answer = cell.ask(lambda prompt: (prompts.append(prompt), said)[1])
    assert isinstance(answer, Answer)
    assert answer.choice == "deny"
    assert len(prompts) == 1


def test_a_question_of_another_turn_is_shown_again_with_its_turn(
    cell: Cell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cell.ask(lambda prompt: "y") == Answer("q", "allow", "")
    assert capsys.readouterr().out == ""
    cell.owner = object()
    assert cell.ask(lambda prompt: "y") == Answer("q", "allow", "")
    assert capsys.readouterr().out == (
        "The background turn “count the rows of the table” asks:\n? Run it?\n    code\n"
    )


def test_nobody_there_is_not_asked(cell: Cell) -> None:
    cell.there = False
    assert cell.ask(lambda prompt: pytest.fail("asked")) is None


def test_a_front_end_without_input_has_nobody(cell: Cell) -> None:
    class StdinNotImplementedError(RuntimeError):
        pass

    def refuses(prompt: str) -> str:
        raise StdinNotImplementedError

    assert cell.ask(refuses) is None


def test_the_end_of_input_denies(cell: Cell) -> None:
    def ends(prompt: str) -> str:
        raise EOFError

    assert cell.ask(ends) == Answer("q", "deny", "")


def test_an_interrupt_ends_the_call_that_asks(cell: Cell) -> None:
    def interrupted(prompt: str) -> str:
        signal.raise_signal(signal.SIGINT)
        return "y"

    assert cell.ask(interrupted) == "interrupted"
    assert cell.interrupted == 1


def test_an_answer_from_elsewhere_takes_the_question_back(cell: Cell) -> None:
    def waits(prompt: str) -> str:
        cell.agent.call(cell.questions.answer, Answer("q", "allow"), "digest")
        threading.Event().wait(30)
        return "n"

    assert cell.ask(waits) == Answer("q", "allow")
    assert cell.interrupted == 0


def test_a_page_that_shows_the_question_is_left_to_answer_it(cell: Cell) -> None:
    cell.page = True
    given: list[bool] = []

    def answers() -> None:
        for choice, digest in (("allow", "another"), ("allow", ""), ("maybe", "digest")):
            given.append(cell.questions.answer(Answer("q", choice), digest))
        cell.page = False  # reloaded, which is no reason to ask elsewhere
        given.append(cell.questions.answer(Answer("q", "session"), "digest"))
        given.append(cell.questions.answer(Answer("q", "deny"), "digest"))

    cell.agent.loop.call_soon_threadsafe(lambda: cell.agent.loop.call_later(0.1, answers))
    assert cell.ask(lambda prompt: pytest.fail("asked")) == Answer("q", "session")
    assert given == [False, False, False, True, False]


def test_only_a_question_of_the_models_takes_words_instead_of_a_choice(cell: Cell) -> None:
    async def run() -> list[bool]:
        async def waits(question: Question) -> Answer | None:
            await asyncio.Event().wait()
            return None

        questions, taken = Questions(cell.events.append, [waits]), []
        for question in (APPROVAL, CHOICE):
            asking = asyncio.create_task(questions.ask(question))
            await asyncio.sleep(0)
            taken.append(questions.answer(Answer("q", "", "neither")))
            asking.cancel()
            await asyncio.wait({asking})
        return taken

    assert asyncio.run(run()) == [False, True]
