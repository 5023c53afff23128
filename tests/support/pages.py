"""A page that speaks the protocol with a real kernel, and folds the turns it is told of."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient

from tests.support.kernels import Kernel
from tests.support.patches import Follower

Message = dict[str, Any]


@dataclass
class FakePage:
    """`events` and `statuses` are all that came on iopub."""

    client: BlockingKernelClient
    name: str = "page-1"
    events: list[Message] = field(default_factory=list)
    statuses: list[tuple[str, str]] = field(default_factory=list)  # of which request, which
    follower: Follower = field(default_factory=Follower)
    sees: bool = True  # else it has no place to show anything
    shown: set[str] = field(default_factory=set)

    def request(self, do: str, **fields: Any) -> Message:
        """Send a request; the content of its reply."""
        newest = {"turn": max(self.follower.models, default=0)} if do == "stop" else {}
        content = {"do": do, "page": self.name, **newest, **fields}
        message = self.client.session.msg("shiro_request", content)
        self.client.control_channel.send(message)
        while True:
            reply = self.client.get_control_msg(timeout=10)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                assert reply["msg_type"] == "shiro_reply"
                content = reply["content"]
                return dict(content)

    def hello(self, notebook: str = "work/a.ipynb") -> Message:
        return self.request("hello", protocol=1, version="0.1.0", notebook=notebook)

    def settle(self) -> None:
        """Take in what there is so far, and begin with what comes after it."""
        self.take_for(0.2)
        before = max(self.follower.models, default=self.follower.before)
        self.follower, self.events, self.statuses = Follower(before), [], []

    def prompt(self, text: str) -> None:
        assert self.request("prompt", text=text) == {"ok": True}

    def answer(self, question: Message, choice: str, words: str = "", /, **changed: Any) -> Message:
        given = {"question": question["id"], "digest": question["digest"], **changed}
        return self.request("answer", choice=choice, words=words, **given)

    def until(self, true: Callable[[], Any], timeout: float = 30) -> Any:
        """Take in what comes until something holds; its value."""
        deadline = time.monotonic() + timeout
        while not (value := true()):
            assert time.monotonic() < deadline, (self.newest(), self.events[-3:])
            self.take(0.05)
        return value

    def take(self, seconds: float) -> bool:
        """Take in one message, where one comes; whether one came."""
        try:
            message = self.client.get_iopub_msg(timeout=seconds)
        except queue.Empty:
            return False
        content = message["content"]
        if message["msg_type"] == "status":
            parent = message["parent_header"].get("msg_id", "")
            self.statuses.append((parent, content["execution_state"]))
        elif message["msg_type"] == "shiro_event" and content.get("to") in (None, self.name):
            self.events.append(content)
            if content["kind"] == "turn":
                self.follower.take(content)
                assert not self.follower.gaps, f"a gap before {content}"
                self.show()
        return True

    def show(self) -> None:
        """Say which questions the person sees, once each."""
        for question in self.newest().get("questions", ()) if self.sees else ():
            if question["id"] not in self.shown:
                self.shown.add(question["id"])
                self.request("shown", question=question["id"])

    def take_for(self, seconds: float) -> None:
        """Take in all that comes for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.take(left)

    def of(self, kind: str) -> list[Message]:
        return [event for event in self.events if event["kind"] == kind]

    def waiting(self) -> list[Message]:
        """The prompts that wait, as told last."""
        told = self.of("queue")
        return list(told[-1]["waiting"]) if told else []

    def back(self) -> list[str]:
        """What was handed back to this page; taken out of its events."""
        (event,) = self.until(lambda: self.of("back"))
        self.events.remove(event)
        return list(event["texts"])

    def question(self) -> Message:
        """The one that waits in the newest turn, as soon as there is one."""
        found = self.until(lambda: self.newest().get("questions"))
        return dict(found[0])

    def newest(self) -> Message:
        turns = self.follower.models
        return dict(turns[max(turns)]) if turns else {}

    def shows(self, **fields: Any) -> Message:
        """The model of the newest turn, as soon as these of its fields are so."""

        def found() -> Message | None:
            turn = self.newest()
            return turn if all(turn.get(name) == fields[name] for name in fields) else None

        return dict(self.until(found))

    def ended(self, prompt: str) -> Message:
        """The model of the newest turn with this prompt, when it has ended."""

        def found() -> Message | None:
            turn = self.newest()
            return turn if turn.get("prompt") == prompt and turn["ended"] else None

        return dict(self.until(found))


@contextmanager
def page_of(kernel: Kernel, name: str = "page-1") -> Iterator[FakePage]:
    """A page with a connection of its own, which hears iopub; it has not said hello."""
    client = BlockingKernelClient(connection_file=kernel.manager.connection_file)
    client.load_connection_file()
    client.start_channels(stdin=False, hb=False)
    page = FakePage(client, name)
    try:
        while True:  # a subscription takes its time; a request is answered by statuses
            client.control_channel.send(client.session.msg("kernel_info_request", {}))
            client.get_control_msg(timeout=30)
            if page.take(0.1):
                break
        yield page
    finally:
        client.stop_channels()
