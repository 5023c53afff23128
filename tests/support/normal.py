"""Sessions as they come about when nothing is damaged: the real agent on a random script, with a
person who allows, denies, interrupts and stops it. From one seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from shiro_jupyter.core.context.render import chat_messages, response_items
from shiro_jupyter.core.context.repair import repaired
from shiro_jupyter.core.errors import StreamBroken
from shiro_jupyter.core.events import ALLOW, ALLOW_SESSION, DENY, Answer, Event, Question
from shiro_jupyter.core.models.scripted import ScriptedCall, Step
from shiro_jupyter.core.tools.shelf import tools_for
from shiro_jupyter.core.transcript import Item
from tests.support.agents import Stage
from tests.support.strict_rules import refusal

CALLS = (
    ScriptedCall("list_dir", {"path": "."}),
    ScriptedCall("read_file", {"path": "gone.txt"}),
    ScriptedCall("write_file", {"path": "a.txt", "content": "a\n"}),
    ScriptedCall("todo_write", {"todos": [{"text": "look", "status": "in_progress"}]}),
    ScriptedCall("read_file", '{"path": "go'),
    ScriptedCall("functions.read_file", {"path": "a.txt"}),
    ScriptedCall("ask", {"question": "Which?"}),
)
TOOLS = tools_for()


def script(random: Random, steps: int) -> list[Step]:
    made = []
    for _ in range(steps):
        calls = random.choices(CALLS, k=random.choice((0, 1, 1, 2, 3)))
        text = random.choice(("", "I look.", "Größe “x”")) if calls else "Done."
        error = StreamBroken("The stream broke; ask again.") if random.random() < 0.1 else None
        reasoning = random.choice(("", "hm"))
        made.append(Step(text, reasoning, calls, error, chunk=random.choice((0, 3))))
    return made


class Life:
    """A session of a few turns. `interrupts` are the numbers of the events at which the person
    interrupts, `stops` those at which it stops; `counts` says what was looked at and changed."""

    def __init__(
        self,
        root: Path,
        steps: Sequence[Step],
        random: Random,
        interrupts: frozenset[int] = frozenset(),
        stops: frozenset[int] = frozenset(),
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.refused: list[str] = []
        self._random, self._interrupts, self._stops = random, interrupts, stops
        self.stage = Stage(root, steps, self._person, tools=TOOLS, on_event=self._event)

    async def live(self, turns: int) -> None:
        for number in range(turns):
            await self.stage.agent.submit(f"question {number}")
        await self.stage.check_whole()
        for request in self.stage.model.requests:
            self.counts["requests"] += 1
            self.counts["repairs"] += repaired(request.items) != request.items

    def _person(self, question: Question) -> Answer | None:
        return Answer(question.id, self._random.choice((ALLOW, ALLOW_SESSION, DENY)))

    def _event(self, event: Event) -> None:
        """Every moment could be the last one of the process, and what it left the next request."""
        number = self.counts["events"]
        self.counts["events"] += 1
        self._accept(self.stage.session.items)
        if number in self._interrupts:
            self.stage.agent.interrupt()
        if number in self._stops:
            self.stage.agent.stop()

    def _accept(self, items: Sequence[Item]) -> None:
        chat = {"model": "tiny", "messages": chat_messages("Be kind.", items, "TODAY")}
        wanted = {"model": "tiny", "input": response_items(items, "TODAY"), "store": False}
        for why in (refusal("chat", chat), refusal("responses", wanted)):
            self.counts["looks"] += 1
            if why:
                self.refused.append(why)


def random_life(seed: int, root: Path) -> Life:
    random = Random(seed)
    steps = [*script(random, 6), *[Step("Done.")] * 40]
    some = frozenset(random.sample(range(60), random.choice((0, 1, 2))))
    return Life(
        root, steps, random, some, frozenset(random.sample(range(90), random.choice((0, 1))))
    )
