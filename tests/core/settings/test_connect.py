from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from shiro_jupyter.core.errors import (
    EndpointRefused,
    EndpointUnreachable,
    KeyRefused,
    SettingsError,
    ShiroError,
    UsageError,
)
from shiro_jupyter.core.models.discovery import Found, Served
from shiro_jupyter.core.models.endpoint import Endpoint
from shiro_jupyter.core.settings import Settings
from shiro_jupyter.core.settings.connect import Connected, Connector, Prompts
from shiro_jupyter.core.settings.keys import Keys
from shiro_jupyter.core.workspace.folders import Folders
from tests.support.strict_endpoint import Reply, StrictEndpoint

KEY = "sk-right-1234567890"


@pytest.fixture
def server() -> Iterator[StrictEndpoint]:
    with StrictEndpoint(lambda body: Reply("Hello."), key=KEY, models=("tiny", "large")) as made:
        yield made


@dataclass
class Person:
    """Someone who connects a model: what they type, and what they were asked and told."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    site: str = ""

    def __post_init__(self) -> None:
        self.folders = Folders(self.root / "config", self.root / "data", self.root)
        self.keys = Keys(self.folders, lambda: None)
        self.asked: list[str] = []
        self.said: list[str] = []

    @property
    def settings_file(self) -> Path:
        return self.folders.settings_file

    def write(self, text: str) -> None:
        self.settings_file.parent.mkdir(exist_ok=True)
        self.settings_file.write_text(text)

    def connect(self, *typed: str, address: str = "") -> Connected:
        answers = list(typed)
        site = self.root / "site.toml"
        site.write_text(self.site)

        async def ask(text: str) -> str:
            self.asked.append(text)
            return answers.pop(0)

        async def say(text: str) -> None:
            self.said.append(text)

        async def found() -> tuple[list[Found], list[str]]:
            return self.found, []

        connector = Connector(self.environ, self.folders, self.keys, site, found)
        loaded = Settings.load(
            environ=self.environ, folders=self.folders, site=site, stored_key=self.keys.stored
        )
        connected = asyncio.run(connector.connect(loaded, Prompts(ask, ask, say), address))
        assert not answers, "not all that was typed was asked for"
        return connected

    def refused(self, error: type[ShiroError], *typed: str, **how: Any) -> str:
        before = self.kept()
        with pytest.raises(error) as told:
            self.connect(*typed, **how)
        assert self.kept() == before, "something was kept"
        return str(told.value)

    def kept(self) -> dict[str, str]:
        folder = self.folders.config
        return {each.name: each.read_text() for each in folder.glob("*")} if folder.exists() else {}


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def test_address_key_and_model_are_asked_for_tried_and_kept(
    person: Person, server: StrictEndpoint
) -> None:
    connected = person.connect(server.base_url, KEY, "2")
    assert (connected.base_url, connected.model) == (server.base_url, "large")
    assert tomllib.loads(person.settings_file.read_text()) == {
        "base_url": server.base_url,
        "model": "large",
    }
    assert person.keys.stored(server.base_url) == KEY
    assert "large answers" in connected.told
    assert str(person.settings_file) in connected.told and str(person.keys.file) in connected.told
    assert "1. tiny" in person.asked[-1] and "2. large" in person.asked[-1]
    assert [each.path for each in server.requests] == ["/v1/models", "/v1/chat/completions"]
    shown = " ".join([connected.told, *person.asked, *person.said])
    assert KEY not in shown and KEY not in person.settings_file.read_text()


def test_what_is_kept_is_what_the_next_kernel_uses(person: Person, server: StrictEndpoint) -> None:
    person.connect(server.base_url, KEY, "")
    loaded = Settings.load(
        environ={},
        folders=person.folders,
        site=person.root / "none",
        stored_key=Keys(person.folders, lambda: None).stored,
    )
    assert loaded.endpoint is not None
    assert loaded.endpoint.base_url == server.base_url and loaded.endpoint.api_key == KEY
    assert loaded.settings.model == "tiny"  # Enter takes the first of the list


def test_enter_keeps_the_key_and_model_there_are(person: Person, server: StrictEndpoint) -> None:
    person.connect(server.base_url, KEY, "large")
    person.asked.clear()
    connected = person.connect("", "", "")
    assert connected.model == "large"
    assert server.base_url in person.asked[0] and "keeps" in person.asked[1]
    assert person.keys.stored(server.base_url) == KEY


def test_a_server_found_is_offered_by_name_and_number(
    person: Person, server: StrictEndpoint
) -> None:
    person.found = [
        Found("http://127.0.0.1:1/v1", (Served("other"),)),
        Found(server.base_url, (Served("tiny"),)),
    ]
    assert person.connect("2", KEY, "").base_url == server.base_url
    assert f"2. {server.base_url} (tiny)" in person.asked[0]


def test_an_address_in_the_command_is_not_asked_for(person: Person, server: StrictEndpoint) -> None:
    root = server.base_url.removesuffix("/v1")
    assert person.connect(KEY, "", address=root).base_url == server.base_url


def test_what_does_not_answer_is_not_kept(person: Person, server: StrictEndpoint) -> None:
    wrong = ("sk-wrong-1", "sk-wrong-2", "sk-wrong-3")
    assert "refused the key" in person.refused(KeyRefused, server.base_url, *wrong)
    assert "no model “nope”" in person.refused(EndpointRefused, server.base_url, KEY, "nope")
    assert "No server listens" in person.refused(EndpointUnreachable, "http://127.0.0.1:9/v1", "")
    for typed in ("ftp://host", "host", "http://", "https://user:pw@host/v1", "http://h:x/"):
        assert "is no address" in person.refused(UsageError, typed)
    assert "nothing was changed" in person.refused(UsageError, "")


def test_a_refused_key_is_asked_for_again(person: Person, server: StrictEndpoint) -> None:
    assert person.connect(server.base_url, "", "sk-wrong-123", KEY, "large").model == "large"
    assert person.keys.stored(server.base_url) == KEY
    assert person.asked[2:4] == ["Another key (Enter gives up): "] * 2
    refusals = [each for each in person.said if "(401)" in each]
    assert "wants a key" in refusals[0] and "refused the key" in refusals[1]
    assert "/connect" not in "".join(refusals) and "sk-wrong" not in "".join(refusals)


def test_enter_gives_up(person: Person, server: StrictEndpoint) -> None:
    person.connect(server.base_url, KEY, "large")
    server.key = "another-key"
    person.refused(KeyRefused, "", "", "")


def test_a_list_that_needs_no_key_is_not_chosen_from_twice(
    person: Person, server: StrictEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listed(endpoint: Endpoint) -> tuple[Served, ...]:
        return (Served("tiny"), Served("large"))

    monkeypatch.setattr("shiro_jupyter.core.settings.connect.served_at", listed)
    assert person.connect(server.base_url, "sk-wrong-123", "2", KEY).model == "large"


def test_a_wrong_key_is_not_echoed(person: Person, server: StrictEndpoint) -> None:
    told = person.refused(KeyRefused, server.base_url, "sk-wrong-123", "")
    assert "sk-wrong-123" not in told
    told = person.refused(EndpointRefused, server.base_url, "sk-wröng-123")
    assert "sk-wröng-123" not in told and "no header can carry" in told


def test_other_lines_of_the_settings_file_stay(person: Person, server: StrictEndpoint) -> None:
    person.write('# mine\nmode = "plan" # careful\nmodel = "old"\n\n[headers]\n# none\n')
    person.connect(server.base_url, KEY, "tiny")
    assert person.settings_file.read_text() == (
        f'# mine\nmode = "plan" # careful\nmodel = "tiny"\n\nbase_url = "{server.base_url}"\n'
        "[headers]\n# none\n"
    )


@pytest.mark.parametrize(
    "beside", ['api_key = "sk-old"\n', '[headers]\nAuthorization = "Bearer sk-old"\n']
)
def test_another_address_does_not_take_the_old_ones_key_along(
    person: Person, server: StrictEndpoint, beside: str
) -> None:
    person.write(f'base_url = "https://api.example.org/v1"\n{beside}')
    told = person.refused(SettingsError, address=server.base_url)
    assert "set for https://api.example.org/v1, would go to" in told and "sk-old" not in told
    assert server.requests == []


def test_nor_the_key_of_the_environment(person: Person, server: StrictEndpoint) -> None:
    person.write('base_url = "https://api.example.org/v1"\n')
    person.environ = {"SHIRO_API_KEY": "sk-old"}
    assert "SHIRO_API_KEY" in person.refused(SettingsError, address=server.base_url)
    # Bound to an address of its own, it goes nowhere else.
    person.environ["SHIRO_BASE_URL"] = "https://api.example.org/v1"
    connected = person.connect(KEY, "tiny", address=server.base_url)
    assert "another address is set in the environment" in connected.told


def test_what_comes_before_the_choice_is_said(person: Person, server: StrictEndpoint) -> None:
    person.environ = {"SHIRO_MODEL": "large", "SHIRO_API_KEY": "sk-wrong"}
    connected = person.connect(KEY, "tiny", address=server.base_url)
    assert "another key and model is set in the environment" in connected.told


def test_headers_of_the_same_address_are_sent_along(person: Person, server: StrictEndpoint) -> None:
    person.write(f'base_url = "{server.base_url}"\n[headers]\nX-Team = "data"\n')
    person.connect("", KEY, "tiny")
    assert [each.headers["X-Team"] for each in server.requests] == ["data", "data"]


def test_a_hub_permits_its_endpoint_alone(person: Person, server: StrictEndpoint) -> None:
    person.site = f'base_url = "{server.base_url}"\n'
    told = person.refused(UsageError, address="https://api.example.org/v1")
    assert f"permits one endpoint, {server.base_url}" in told
    assert person.connect("", KEY, "tiny").base_url == server.base_url


def test_a_long_list_of_models_is_cut(person: Person, server: StrictEndpoint) -> None:
    server.models = ("odd\x1b[2J", *(f"model-{number}" for number in range(300)))
    assert person.connect(server.base_url, KEY, "model-299").model == "model-299"
    assert (
        "and 280 more" in person.asked[-1]
        and "\x1b" not in person.asked[-1]
        and len(person.asked[-1]) < 1000
    )
