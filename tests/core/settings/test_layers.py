"""Ceilings: what a project's file, the user's and a hub's do to one another."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from shiro_jupyter.core.errors import SettingsError
from shiro_jupyter.core.policy.gate import Gate, Mode, is_looser
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.settings import Loaded, Settings
from shiro_jupyter.core.settings.fields import ENVIRONMENT, Fields
from shiro_jupyter.core.settings.layers import SITE_FILE
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.core.workspace.project import Project

HUB = "https://hub.example/v1"
MINE = "http://127.0.0.1:9/v1"

# For each setting: what the user set, what a project's file says instead, and what holds then. If
# the last two differ, its word would widen, or is none of its business.
PROJECT: dict[str, list[tuple[Any, Any, Any]]] = {
    "model": [("mine", "scripted:evil.json", "mine"), ("mine", "theirs", "theirs")],
    "base_url": [(MINE, "http://evil.example/v1", MINE)],
    "api_key": [("k", "other", "k")],
    "api": [("chat", "responses", "chat")],
    "calling": [("schema", "native", "schema")],
    "headers": [({"A": "b"}, {"A": "evil"}, {"A": "b"})],
    "ca_file": [("mine.pem", "evil.pem", "mine.pem")],
    "proxy": [("http://mine:1", "http://evil:1", "http://mine:1")],
    "temperature": [(0.5, 1.5, 0.5)],
    "think": [("low", "high", "low")],
    "window": [(1000, 9_999_999, 1000)],
    "timeout": [(5.0, 9e9, 5.0)],
    "model_file": [("mine.gguf", "evil.gguf", "mine.gguf")],
    "llama_server": [("mine", "./evil", "mine")],
    "tool_sets": [(["git"], ["edit-plus", "git"], ("git",)), (["git"], [], ())],
    "mode": [(mode, said, mode) for mode, said in itertools.product(get_args(Mode), repeat=2)],
    "yolo": [(False, True, False), (True, False, True)],
    "allow": [(["bash(ls)"], ["bash(*)", "write(*)"], ("bash(ls)",))],
    "ask": [(["read(a)"], [], ("read(a)",)), (["read(a)"], ["read(b)"], ("read(a)", "read(b)"))],
    "deny": [(["read(a)"], [], ("read(a)",)), (["read(a)"], ["read(b)"], ("read(a)", "read(b)"))],
    "ignore": [(["a"], [], ("a",)), (["a"], ["b"], ("a", "b"))],
    "hide": [(["A"], ["B"], ("A",))],
    "private": [(["a"], [], ("a",)), (["a"], ["b.c"], ("a", "b.c"))],
    "schema_only": [(True, False, True), (False, True, True)],
    "memory": [(False, True, False), (True, False, False)],
    "max_steps": [(20, 1000, 20), (20, 5, 5)],
    "max_turn_seconds": [(20.0, 1e9, 20.0), (20.0, 5.0, 5.0)],
    "max_cost": [(2.0, 5.0, 2.0), (2.0, 0.5, 0.5), (2.0, 0.0, 2.0), (0.0, 5.0, 5.0)],
    "max_cost_day": [(2.0, 5.0, 2.0), (2.0, 0.5, 0.5), (2.0, 0.0, 2.0), (0.0, 5.0, 5.0)],
    "ask_above": [(2000, 5000, 2000), (2000, 500, 500), (2000, 0, 2000), (0, 5000, 5000)],
    "view": [("text", "display", "text")],
    "keep": [("never", "always", "never")],
}


class Machine:
    """The three files, as tables."""

    def __init__(self, root: Path) -> None:
        self.folders = Folders(root / "config", root / "data", root)
        self.project = Project(root / "project")
        self.site = root / "etc" / "config.toml"
        for folder in (self.folders.config, self.project.store, self.site.parent):
            folder.mkdir(parents=True)
        for name in ("mine.pem", "evil.pem", "mine.gguf", "evil.gguf"):
            (self.folders.config / name).touch()

    def load(
        self,
        user: dict[str, Any] | None = None,
        project: dict[str, Any] | None = None,
        site: dict[str, Any] | None = None,
        environ: dict[str, str] | None = None,
        flags: dict[str, object] | None = None,
    ) -> Loaded:
        files = (self.folders.settings_file, self.project.settings_file, self.site)
        for path, table in zip(files, (user, project, site), strict=True):
            lines = [f"{name} = {_toml(value)}\n" for name, value in (table or {}).items()]
            path.write_text("".join(lines), encoding="utf-8")
        return Settings.load(
            environ=environ or {},
            folders=self.folders,
            project=self.project,
            flags=flags,
            site=self.site,
        )

    def held(self, value: Any) -> Any:
        """As the settings tell it: files by their whole path."""
        made = isinstance(value, str) and (self.folders.config / value).is_file()
        return str(self.folders.config / value) if made else value


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_every_setting_is_in_the_table() -> None:
    assert set(PROJECT) == set(Fields.model_fields)


@pytest.mark.parametrize(
    ("name", "mine", "said", "holds"),
    [(name, *row) for name, rows in PROJECT.items() for row in rows],
)
def test_a_project_file_widens_no_setting(
    machine: Machine, name: str, mine: Any, said: Any, holds: Any
) -> None:
    user = {"base_url": MINE, name: mine}
    loaded = machine.load(user, {name: said})
    found = getattr(loaded.settings, name)
    found = found.get_secret_value() if name == "api_key" else found
    assert found == machine.held(holds)
    before = machine.load(user)
    rest = set(Fields.model_fields) - {name}
    assert loaded.settings.model_dump(include=rest) == before.settings.model_dump(include=rest)
    assert loaded.endpoint == before.endpoint and loaded.secrets == before.secrets


# -- a hub -----------------------------------------------------------------------------------

DENIED = Subject("bash", "shell", ("ls; curl x",))


def gate_of(loaded: Loaded) -> Gate:
    return Gate(loaded.settings.mode, loaded.settings.rules, loaded.settings.yolo)


@pytest.mark.parametrize("where", ["user", "environ", "flags", "project", "all"])
def test_a_hub_s_ceilings_hold_whatever_says_otherwise(machine: Machine, where: str) -> None:
    """`/mode` and `/model` are flags of the kernel; `--mode yolo` is one of a turn."""
    site = {"yolo": False, "deny": ["bash(curl *)"], "ask": ["write(*.sql)"], "max_steps": 5}
    site |= {"base_url": HUB, "api": "chat", "schema_only": True, "memory": False}
    site |= {"tool_sets": ["git"], "max_turn_seconds": 60.0, "proxy": "http://hub:1"}
    wide: dict[str, Any] = {"mode": "yolo", "max_steps": 1000, "max_turn_seconds": 9e9}
    wide |= {"base_url": MINE, "schema_only": False, "memory": True, "proxy": "http://mine:1"}
    wide |= {"api": "responses"}
    lists = {"yolo": True, "deny": [], "ask": [], "allow": ["*"], "tool_sets": ["edit-plus", "git"]}
    layers: dict[str, Any] = {
        "user": wide | lists | {"api_key": "mine", "headers": {"Mine": "1"}},
        "environ": {ENVIRONMENT[name]: str(value) for name, value in wide.items()},
        "flags": wide,
        "project": wide | lists,
    }
    chosen = layers if where == "all" else {where: layers[where]}
    loaded = machine.load(site=site, **chosen)
    held, endpoint = loaded.settings, loaded.endpoint
    assert held.mode != "yolo" and not held.yolo and held.schema_only and not held.memory
    assert set(held.tool_sets) <= {"git"} and held.max_steps <= 5 and held.max_turn_seconds <= 60
    assert endpoint and (endpoint.base_url, endpoint.proxy) == (HUB, "http://hub:1")
    assert (endpoint.api_key, endpoint.headers, held.api) == ("", (), "chat")
    gate = gate_of(loaded)
    for mode in get_args(Mode):  # though something should set it all the same
        gate.mode = mode
        assert gate.decide(DENIED, {DENIED.grant_key}).verdict == "deny"
    gate.mode = "yolo"
    for subject in (Subject("bash", "shell", ("make",)), Subject("run_python", "kernel", ("x",))):
        assert gate.decide(subject, set()).verdict == "ask"
    dump = Subject("write_file", "write", ("a.sql",))
    assert gate.decide(dump, {dump.grant_key}).verdict == "ask"


def test_the_example_of_the_documentation_is_a_hub_s_file(machine: Machine) -> None:
    text = (Path(__file__).parents[3] / "docs" / "approvals.md").read_text(encoding="utf-8")
    example = next(
        block for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL) if "yolo" in block
    )
    machine.load()
    machine.site.write_text(example, encoding="utf-8")
    loaded = Settings.load(
        environ={}, folders=machine.folders, flags={"mode": "yolo"}, site=machine.site
    )
    held = loaded.settings
    assert (held.mode, held.max_steps, held.schema_only) == ("ask", 30, True)
    assert gate_of(loaded).decide(DENIED, set()).verdict == "deny"


def test_a_hub_s_file_that_cannot_be_read_lets_nothing_pass(machine: Machine) -> None:
    machine.load()
    for broken in ("yolo = ", 'yolo = "no"', "ylo = false", 'allow = ["*"]', 'mode = "yolo"'):
        machine.site.write_text(broken, encoding="utf-8")
        with pytest.raises(SettingsError, match=str(machine.site)):
            Settings.load(environ={}, folders=machine.folders, site=machine.site)


def test_nothing_but_the_environment_of_python_says_where_the_hub_s_file_is(
    machine: Machine,
) -> None:
    assert SITE_FILE.parts[-3:] == ("etc", "shiro", "config.toml")
    machine.load(site={"yolo": False})
    loaded = Settings.load(
        environ={"SHIRO_HOME": "/elsewhere", "SHIRO_SITE": "/x", "SHIRO_YOLO": "true"},
        folders=machine.folders,
        flags={"mode": "yolo", "yolo": True},
        site=machine.site,
    )
    assert (loaded.settings.mode, loaded.settings.yolo) == ("ask", False)


@pytest.mark.parametrize(
    ("environ", "url", "file"),
    [
        ({"SHIRO_MODEL_FILE": "~/near.gguf"}, "", "near.gguf"),
        ({}, MINE, ""),
        ({"SHIRO_MODEL_FILE": "~/near.gguf", "SHIRO_BASE_URL": HUB}, HUB, "near.gguf"),
    ],
)
def test_a_model_file_of_the_environment_goes_before_an_endpoint_of_the_file(
    machine: Machine, environ: dict[str, str], url: str, file: str
) -> None:
    (machine.folders.home / "near.gguf").touch()
    settings = machine.load(user={"base_url": MINE}, environ=environ).settings
    assert (settings.base_url, Path(settings.model_file).name) == (url, file)


def test_the_modes_from_what_allows_least_to_what_allows_most() -> None:
    order = ("plan", "ask", "accept-edits", "yolo")
    assert set(order) == set(get_args(Mode))
    for left, right in itertools.combinations(order, 2):
        assert is_looser(right, than=left)
        assert not is_looser(left, than=right) and not is_looser(left, than=left)
