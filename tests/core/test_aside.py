"""A question beside the turn: what the model is sent, and that nothing of it stays."""

from __future__ import annotations

import asyncio

import pytest

from shiro_jupyter.core.aside import answer
from shiro_jupyter.core.errors import UsageError
from shiro_jupyter.core.models.base import Request
from shiro_jupyter.core.models.profiles import Profile
from shiro_jupyter.core.models.scripted import ScriptedModel, Step
from shiro_jupyter.core.policy.secrets import redact
from shiro_jupyter.core.transcript import Assistant, Call, Item, Result, User
from tests.support.agents import MadeClock

KEY = "sk-" + "a1B2c3D4" * 5
ITEMS: tuple[Item, ...] = (
    User("count the rows", 1),
    Call("c1", "run_python", '{"code": "len(df)"}', 1, 1),
)


def asked(
    items: tuple[Item, ...], doing: str, window: int = 0, reply: str = "  About half.\n"
) -> tuple[str, str]:
    """The answer, and the text of the one request."""
    sent: list[Request] = []
    model = ScriptedModel([Step(text=reply)], profile=Profile("m", window=window))

    async def allow(request: Request, profile: Profile) -> None:
        sent.append(request)

    said = asyncio.run(answer("how far?", doing, items, model, MadeClock(), redact, allow))
    (request,) = sent
    (prompt,) = request.items
    assert isinstance(prompt, User) and request.tools == ()
    return said, prompt.text


def test_the_model_is_told_the_conversation_and_what_is_being_done() -> None:
    said, text = asked(ITEMS, "run_python for 40 min: row 500 of 1,000")
    assert said == "About half."
    order = ["count the rows", "len(df)", "row 500 of 1,000", "how far?"]
    assert sorted(order, key=text.index) == order


def test_secrets_are_taken_out() -> None:
    assert KEY not in asked(ITEMS, f"it printed {KEY}")[1]


def test_a_long_conversation_is_shortened_to_the_window() -> None:
    long = (*ITEMS, Result("c1", "ok", "row " * 20_000, 1, 1), Assistant("So it is.", 1, 2))
    _, text = asked(long, "nothing", window=8_000)
    assert "So it is." in text and len(text) < 40_000


def test_one_that_fits_in_no_way_is_refused_in_its_own_words() -> None:
    with pytest.raises(UsageError, match="beside its turn"):
        asked(ITEMS, "printing " * 8_000, window=8_000)


@pytest.mark.parametrize("reply", ["", " \n"])
def test_an_answer_without_words_is_told_as_one(reply: str) -> None:
    with pytest.raises(UsageError, match="no answer in words; ask again"):
        asked(ITEMS, "nothing", reply=reply)
