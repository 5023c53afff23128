from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiro_jupyter.core.errors import SettingsError
from shiro_jupyter.core.policy.gate import Gate
from shiro_jupyter.core.policy.subjects import Subject
from shiro_jupyter.core.settings import (
    OPENAI_URL,
    Loaded,
    Settings,
    normal_url,
    origin_of,
    settings_table,
)
from shiro_jupyter.core.workspace.folders import Folders
from shiro_jupyter.core.workspace.project import Project


@dataclass
class Machine:
    """A user's folders, one project and a hub's file, as texts."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    flags: dict[str, object] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folders = Folders(self.root / "config", self.root / "data", self.root)
        self.project = Project(self.root / "project")
        self.site = self.root / "etc" / "config.toml"
        for folder in (self.folders.config, self.project.store, self.site.parent):
            folder.mkdir(parents=True)

    def load(self, user: str = "", project: str = "", site: str = "", **environ: str) -> Loaded:
        for path, text in (
            (self.folders.settings_file, user),
            (self.project.settings_file, project),
            (self.site, site),
        ):
            path.unlink(missing_ok=True)
            if text:
                path.write_text(text, encoding="utf-8")
        return Settings.load(
            environ={**self.environ, **environ},
            folders=self.folders,
            project=self.project,
            flags=self.flags,
            site=self.site,
            stored_key=lambda url: self.stored.get(origin_of(url), ""),
        )

    def refusal(self, **texts: str) -> str:
        with pytest.raises(SettingsError) as caught:
            self.load(**texts)
        return str(caught.value)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


LOCAL = 'base_url = "http://127.0.0.1:8080/v1"\n'


def test_nothing_set_is_the_defaults_and_no_endpoint(machine: Machine) -> None:
    loaded = machine.load()
    assert loaded.endpoint is None and loaded.notices == () and loaded.fixed_url == ""
    assert loaded.settings == Settings()
    assert (loaded.settings.mode, loaded.settings.max_steps) == ("ask", 50)


def test_layers_flags_environment_project_user_defaults(machine: Machine) -> None:
    user = 'model = "user"\nthink = "low"\nview = "text"\ntemperature = 0.5\n'
    loaded = machine.load(user)
    assert loaded.settings.model == "user"
    assert machine.load(user, 'model = "project"').settings.model == "project"
    machine.environ["SHIRO_MODEL"] = "env"
    assert machine.load(user, 'model = "project"').settings.model == "env"
    machine.flags["model"] = "flag"
    last = machine.load(user, 'model = "project"').settings
    assert (last.model, last.think, last.view, last.temperature) == ("flag", "low", "text", 0.5)


def test_the_environment_is_converted_and_an_empty_variable_is_unset(machine: Machine) -> None:
    loaded = machine.load(
        'max_steps = 7\nmodel = "m"',
        SHIRO_MAX_STEPS="9",
        SHIRO_MODEL=" ",
        SHIRO_MEMORY="off",
        SHIRO_TEMPERATURE="0",
        SHIRO_API="chat",
    ).settings
    assert (loaded.max_steps, loaded.model, loaded.memory) == (9, "m", False)
    assert (loaded.temperature, loaded.api) == (0.0, "chat")


def test_flags_that_were_not_given_set_nothing(machine: Machine) -> None:
    machine.flags |= {"model": None, "mode": "plan", "memory": False}
    loaded = machine.load('model = "m"').settings
    assert (loaded.model, loaded.mode, loaded.memory) == ("m", "plan", False)


# -- what is wrong is named ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ('modle = "x"', "there is no setting modle; did you mean model?"),
        ('mode = "plann"', "did you mean plan?"),
        (
            'tool_sets = ["gti"]',
            "tool_sets: input should be 'edit-plus' or 'git'; did you mean git",
        ),
        ("max_cost = -1.0", "max_cost: input should be greater than or equal to 0"),
        ("max_steps = 0", "max_steps: input should be greater than or equal to 1"),
        ('max_steps = "9"', "max_steps: input should be a valid integer"),
        ("window = true", "window: input should be a valid integer"),
        ("temperature = 3.0", "temperature: "),
        ('deny = ["rm -rf /"]', "deny: 'rm -rf /' is no rule"),
        ('base_url = "localhost"\nzz = 1', "there is no setting zz"),
        ('base_url = "my server"', "base_url: write it as http://host:port/v1"),
        ('base_url = "http://me:pw@host"', "base_url: keep user and password out"),
        ('headers = {A = "1\\n2"}', "headers: a header is one line"),
        ('headers = {A = "1\\u0000"}', "headers: a header is one line"),
        ('ignore = ["*.csv", "!a.csv"]', "ignore: '!a.csv' would take back"),
        ('headers = {"a b" = "1"}', "headers: 'a b' is no name of a header"),
        ('headers = {"" = "1"}', "headers: '' is no name of a header"),
        ('headers = {Content-Length = "5"}', "headers: each request sets Content-Length itself"),
        ('ca_file = "none.pem"', "ca_file: there is no file"),
        ("a = 1\nb = [\nc = 2", "is not valid TOML"),
        ("mode = plan", "(at line 1, column 8)"),
        ("max_steps = " + "9" * 5000, "is not valid TOML"),
        ("max_steps = " + "9" * 4000, "max_steps: "),
        ("a." * 5000 + "b = 1", "too deep"),
        ("# a comment\n" * 20_000, "is longer than"),
        ('"\\u001b[2J" = 1', r"there is no setting \x1b[2J"),
        ('model = "a\\nendpoint x"', "model: a name is one line"),
        ("zzzqqq = 1", "there is no setting zzzqqq; there are model, base_url"),
    ],
)
def test_a_broken_file_is_named_with_key_and_way_out(
    machine: Machine, user: str, said: str
) -> None:
    refusal = machine.refusal(user=user)
    assert refusal.startswith(str(machine.folders.settings_file)) and said in refusal
    assert "\n" not in refusal


def test_other_sources_are_named_too(machine: Machine) -> None:
    assert "SHIRO_MODE" in machine.refusal(SHIRO_MODE="plam")
    assert "did you mean plan?" in machine.refusal(SHIRO_MODE="plam")
    assert "OPENAI_BASE_URL" in machine.refusal(OPENAI_BASE_URL="nonsense")
    assert str(machine.project.settings_file) in machine.refusal(project="denny = []")
    assert "did you mean deny?" in machine.refusal(project="denny = []")
    refusal = machine.refusal(site='mode = "plan"')
    assert str(machine.site) in refusal and "mode" in refusal
    machine.flags["think"] = "hgih"
    refusal = machine.refusal()
    assert "command line" in refusal and "did you mean high?" in refusal


def test_a_file_that_is_no_text_is_named(machine: Machine) -> None:
    machine.load()
    machine.folders.settings_file.write_bytes('model = "é"'.encode("latin-1"))
    with pytest.raises(SettingsError, match="not UTF-8"):
        Settings.load(environ={}, folders=machine.folders, site=machine.site)
    machine.folders.settings_file.unlink()
    machine.folders.settings_file.mkdir()
    with pytest.raises(SettingsError, match="no regular file"):
        Settings.load(environ={}, folders=machine.folders, site=machine.site)


def test_a_byte_order_mark_is_no_error(machine: Machine) -> None:
    assert machine.load('\ufeffmodel = "m"').settings.model == "m"


def test_a_misspelt_variable_is_told(machine: Machine) -> None:
    loaded = machine.load(SHIRO_MODLE="x", SHIRO_SOMETHING_ELSE="x", SHIRO_HOME="/x")
    assert loaded.notices == ("The variable SHIRO_MODLE is no setting; did you mean SHIRO_MODEL?",)


# -- a key keeps to its origin ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "environ", "url", "key"),
    [
        ("", {"OPENAI_API_KEY": "o"}, OPENAI_URL, "o"),
        ("", {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": "http://p:1"}, "http://p:1/v1", "o"),
        ("", {"OPENAI_API_KEY": "o", "SHIRO_BASE_URL": "http://p:1"}, "http://p:1/v1", ""),
        ("", {"OPENAI_API_KEY": "o", "SHIRO_BASE_URL": OPENAI_URL}, OPENAI_URL, "o"),
        ("", {"SHIRO_API_KEY": "s", "SHIRO_BASE_URL": "http://p:1"}, "http://p:1/v1", "s"),
        ("", {"SHIRO_API_KEY": "s", "OPENAI_BASE_URL": "http://p:1"}, "http://p:1/v1", "s"),
        (LOCAL, {"SHIRO_API_KEY": "s"}, "http://127.0.0.1:8080/v1", "s"),
        (LOCAL, {"OPENAI_API_KEY": "o"}, "http://127.0.0.1:8080/v1", ""),
        (LOCAL + 'api_key = "u"', {}, "http://127.0.0.1:8080/v1", "u"),
        (LOCAL + 'api_key = "u"', {"SHIRO_API_KEY": "s"}, "http://127.0.0.1:8080/v1", "s"),
        (LOCAL + 'api_key = "u"', {"SHIRO_BASE_URL": "http://p:1"}, "http://p:1/v1", ""),
        (
            LOCAL + 'api_key = "u"',
            {"SHIRO_BASE_URL": "http://127.0.0.1:8080/other/v1"},
            "http://127.0.0.1:8080/other/v1",
            "u",
        ),
        (
            LOCAL + 'api_key = "u"',
            {"SHIRO_BASE_URL": "http://p:1", "SHIRO_API_KEY": "s"},
            "http://p:1/v1",
            "s",
        ),
    ],
)
def test_which_key_goes_where(
    machine: Machine, user: str, environ: dict[str, str], url: str, key: str
) -> None:
    endpoint = machine.load(user, **environ).endpoint
    assert endpoint and (endpoint.base_url, endpoint.api_key) == (url, key)


def test_openai_by_its_key_alone_is_said(machine: Machine) -> None:
    assert machine.load(OPENAI_API_KEY="o").notices == (
        f"No endpoint is set, but OPENAI_API_KEY is: what you ask goes to OpenAI ({OPENAI_URL}).",
    )
    assert machine.load(LOCAL, OPENAI_API_KEY="o").notices == ()


def test_a_model_file_is_not_left_for_openai(machine: Machine) -> None:
    (machine.root / "m.gguf").touch()
    loaded = machine.load('model_file = "~/m.gguf"', OPENAI_API_KEY="o")
    assert loaded.endpoint is None
    assert loaded.settings.model_file == str(machine.root / "m.gguf")
    assert loaded.settings.llama_server == "llama-server"


def test_a_key_without_an_address_is_not_sent_anywhere(machine: Machine) -> None:
    for loaded in (machine.load('api_key = "u"'), machine.load(SHIRO_API_KEY="s")):
        assert loaded.endpoint is None
        assert len(loaded.notices) == 1 and "no base URL" in loaded.notices[0]


def test_a_flag_to_another_address_takes_neither_key_nor_headers(machine: Machine) -> None:
    machine.flags["base_url"] = "http://other:9"
    loaded = machine.load(LOCAL + 'api_key = "u"\nheaders = {X-Team = "t"}')
    assert loaded.endpoint and loaded.endpoint.base_url == "http://other:9/v1"
    assert loaded.endpoint.api_key == "" and loaded.endpoint.headers == ()
    assert len(loaded.notices) == 2 and all("127.0.0.1:8080" in each for each in loaded.notices)


def test_a_stored_key_serves_where_none_is_set(machine: Machine) -> None:
    machine.stored["http://127.0.0.1:8080"] = "stored"
    endpoint = machine.load(LOCAL).endpoint
    assert endpoint and endpoint.api_key == "stored"
    endpoint = machine.load(LOCAL + 'api_key = "u"').endpoint
    assert endpoint and endpoint.api_key == "u"


def test_keys_and_headers_are_in_no_repr(machine: Machine) -> None:
    loaded = machine.load(LOCAL + 'api_key = "hush1"\nheaders = {A = "hush2"}\nproxy = "hush3"')
    assert loaded.endpoint and loaded.endpoint.api_key == "hush1"
    assert "hush" not in repr(loaded) + str(loaded.settings)


def test_all_keys_are_known_by_value_and_not_in_the_repr(machine: Machine) -> None:
    headers = '[headers]\nAuthorization = "Basic abc-def"\nX-Team = "data"\n'
    machine.stored[origin_of("http://127.0.0.1:8080/v1")] = "kept"
    loaded = machine.load(LOCAL + headers, OPENAI_API_KEY="of-openai")
    assert loaded.secrets == ("of-openai", "kept", "abc-def")
    assert "of-openai" not in repr(loaded) and "abc-def" not in repr(loaded)


def test_blanks_around_a_header_are_none_of_it(machine: Machine) -> None:
    loaded = machine.load(LOCAL + 'headers = {X-Team = " data\\t"}')
    assert loaded.endpoint is not None and loaded.endpoint.headers == (("X-Team", "data"),)


def test_what_else_goes_to_the_endpoint(machine: Machine) -> None:
    (machine.folders.config / "ca.pem").touch()
    loaded = machine.load(LOCAL + 'ca_file = "ca.pem"\nproxy = "http://p:3"\nheaders = {A = "b"}')
    endpoint = loaded.endpoint
    assert endpoint and endpoint.headers == (("A", "b"),) and endpoint.proxy == "http://p:3"
    assert endpoint.ca_file == str(machine.folders.config / "ca.pem")


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("HTTPS://Host/v1/", "https://Host/v1"),
        ("https://h/api/v1/chat/completions", "https://h/api/v1"),
        ("https://h/v1/responses", "https://h/v1"),
        ("https://h/openai/deployments/x", "https://h/openai/deployments/x"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
        ("localhost:18911", "http://localhost:18911/v1"),
        ("LOCALHOST", "http://LOCALHOST/v1"),
        (" 127.0.0.1:8080/v1 ", "http://127.0.0.1:8080/v1"),
        ("[::1]:8080", "http://[::1]:8080/v1"),
        ("api.example.org/v1", "https://api.example.org/v1"),
        ("gpu-box:8000", "https://gpu-box:8000/v1"),
        ("localhost.example.org", "https://localhost.example.org/v1"),
    ],
)
def test_addresses_are_brought_to_one_form(url: str, normal: str) -> None:
    assert normal_url(url) == normal
    assert normal_url(normal) == normal


@pytest.mark.parametrize(
    "url",
    [
        "host",
        "ftp://h",
        "http://",
        "http://h:port",
        "http://h/?a=1",
        "me@h.x",
        "h:port",
        "a b:1",
        ":1",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        normal_url(url)


def test_origins_are_compared_whatever_the_spelling() -> None:
    assert origin_of("https://H.example:443/v1") == origin_of("https://h.example/x")
    assert origin_of("https://h") != origin_of("http://h") != origin_of("http://h:8080")
    assert origin_of("https://a.h") != origin_of("https://h")


# -- a project only narrows ------------------------------------------------------------------


def test_a_project_narrows(machine: Machine) -> None:
    loaded = machine.load(
        'deny = ["bash(a)"]\nmax_steps = 20\nignore = ["x"]\nallow = ["bash(b)"]',
        'deny = ["bash(b)"]\nask = ["read(c)"]\nignore = ["y"]\nmax_steps = 10\n'
        'schema_only = true\nmemory = false\ntool_sets = ["git"]\nmax_turn_seconds = 60.0',
    )
    held = loaded.settings
    assert held.deny == ("bash(a)", "bash(b)") and held.ask == ("read(c)",)
    assert held.ignore == ("x", "y") and held.allow == ("bash(b)",)
    assert (held.max_steps, held.max_turn_seconds) == (10, 60.0)
    assert held.schema_only and not held.memory and held.tool_sets == ("git",)
    assert loaded.notices == ()


def test_a_project_cannot_widen(machine: Machine) -> None:
    loaded = machine.load(
        'max_steps = 20\nschema_only = true\nmemory = false\ntool_sets = ["git"]',
        'max_steps = 30\nschema_only = false\nmemory = true\ntool_sets = ["edit-plus", "git"]',
    )
    held = loaded.settings
    assert (held.max_steps, held.schema_only, held.memory) == (20, True, False)
    assert held.tool_sets == ("git",)
    assert len(loaded.notices) == 1 and "max_steps = 30" in loaded.notices[0]


def test_a_project_cannot_take_a_limit_of_costs_off(machine: Machine) -> None:
    loaded = machine.load(
        "max_cost = 2.5\nask_above = 2000000", "max_cost = 0.0\nmax_cost_day = 9.0\nask_above = 0"
    )
    held = loaded.settings
    assert (held.max_cost, held.max_cost_day, held.ask_above) == (2.5, 9.0, 2_000_000)
    assert loaded.notices == (
        "max_cost = 0 of the project's settings is ignored: a project may only lower it (it is "
        "2.5).",
        "ask_above = 0 of the project's settings is ignored: a project may only lower it (it is "
        "2000000).",
    )


FORBIDDEN = {
    "base_url": '"http://evil.example/v1"',
    "api_key": '"k"',
    "headers": '{A = "b"}',
    "proxy": '"http://evil.example:3128"',
    "ca_file": '"evil.pem"',
    "allow": '["bash(*)", "write(*)"]',
    "mode": '"yolo"',
    "yolo": "true",
    "api": '"responses"',
    "calling": '"native"',
    "model_file": '"evil.gguf"',
    "llama_server": '"./evil"',
    "temperature": "1.0",
    "think": '"high"',
    "window": "1",
    "timeout": "1.0",
    "view": '"text"',
    "keep": '"always"',
    "hide": '["PROD_*"]',
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    chosen=st.sets(st.sampled_from(sorted(FORBIDDEN)), min_size=1),
    user=st.sampled_from(["", LOCAL + 'api_key = "u"\nheaders = {H = "v"}\n', 'mode = "plan"\n']),
    environ=st.sampled_from(
        [{}, {"OPENAI_API_KEY": "o"}, {"SHIRO_BASE_URL": "http://p:1", "SHIRO_API_KEY": "s"}]
    ),
)
def test_whatever_else_a_project_sets_changes_nothing_and_is_said(
    machine: Machine, chosen: set[str], user: str, environ: dict[str, str]
) -> None:
    without = machine.load(user, **environ)
    project = "\n".join(f"{name} = {FORBIDDEN[name]}" for name in sorted(chosen))
    loaded = machine.load(user, project, **environ)
    assert loaded.settings == without.settings and loaded.endpoint == without.endpoint
    assert loaded.settings.api_key == without.settings.api_key
    said = set(loaded.notices) - set(without.notices)
    assert len(said) == 1 and all(name in next(iter(said)) for name in chosen)
    assert str(machine.project.settings_file) in next(iter(said))


def test_what_a_project_may_not_set_is_not_even_checked(machine: Machine) -> None:
    loaded = machine.load(project='base_url = 7\nmode = ["x"]\nmodel = "m"')
    assert loaded.settings.model == "m" and loaded.endpoint is None


@pytest.mark.parametrize(
    "model", ["scripted:evil.json", "a\\nendpoint https://x.example", "a\\u202eb", "x" * 201]
)
def test_a_project_names_no_script_and_nothing_that_lies(machine: Machine, model: str) -> None:
    loaded = machine.load(LOCAL + 'model = "mine"', f'model = "{model}"')
    assert loaded.settings.model == "mine"
    assert len(loaded.notices) == 1 and "ignored: model." in loaded.notices[0]


def test_the_user_may_name_a_script(machine: Machine) -> None:
    assert machine.load('model = "scripted:mine.json"').settings.model == "scripted:mine.json"


def test_every_setting_is_either_narrowing_or_forbidden_to_a_project() -> None:
    narrowing = {"ignore", "deny", "ask", "tool_sets", "schema_only", "private", "memory"}
    narrowing |= {"max_steps"}
    narrowing |= {"max_turn_seconds", "max_cost", "max_cost_day", "ask_above", "model"}
    assert narrowing | set(FORBIDDEN) == set(Settings.model_fields)
    assert not narrowing & set(FORBIDDEN)


@pytest.mark.parametrize("how", ["foreign", "linked file", "linked folder"])
def test_a_project_file_of_unsure_origin_is_not_read(machine: Machine, how: str) -> None:
    machine.load(project="max_steps = 1")
    elsewhere = machine.root / "elsewhere"
    if how == "foreign":
        root = machine.project.root
        machine.project = Project(root, passed_over=(root,))
    elif how == "linked file":
        machine.project.settings_file.rename(elsewhere)
        machine.project.settings_file.symlink_to(elsewhere)
    else:
        machine.project.store.rename(elsewhere)
        machine.project.store.symlink_to(elsewhere)
    loaded = Settings.load(
        environ={}, folders=machine.folders, project=machine.project, site=machine.site
    )
    assert loaded.settings.max_steps == 50
    assert len(loaded.notices) == 1 and "is not read" in loaded.notices[0]


# -- a hub's ceilings ------------------------------------------------------------------------


def test_a_hub_fixes_the_endpoint_and_no_key_for_another_follows(machine: Machine) -> None:
    site = 'base_url = "https://hub.example/v1"\napi = "chat"\nheaders = {Hub = "1"}'
    machine.flags["base_url"] = "http://mine:1"
    loaded = machine.load(
        'base_url = "http://mine:1"\napi_key = "u"\nheaders = {Mine = "1"}', site=site
    )
    assert loaded.endpoint and loaded.endpoint.base_url == "https://hub.example/v1"
    assert loaded.endpoint.api_key == "" and loaded.endpoint.headers == (("Hub", "1"),)
    assert loaded.fixed_url == "https://hub.example/v1" and loaded.settings.api == "chat"
    assert any("one endpoint" in notice for notice in loaded.notices)
    machine.flags.clear()
    alone = machine.load(site=site, SHIRO_API_KEY="s")
    assert alone.endpoint and alone.endpoint.api_key == "s" and alone.notices == ()


def test_a_hub_forbids_yolo_and_adds_denials(machine: Machine) -> None:
    machine.flags["mode"] = "yolo"
    site = 'yolo = false\ndeny = ["bash(curl *)"]\nmax_steps = 5'
    loaded = machine.load('allow = ["bash(*)"]\nmax_steps = 9', site=site)
    held = loaded.settings
    assert (held.mode, held.yolo, held.max_steps) == ("ask", False, 5)
    assert any("yolo" in notice for notice in loaded.notices)
    gate = Gate("yolo", held.rules, held.yolo)
    assert gate.decide(Subject("bash", "shell", ("ls; curl x",)), set()).verdict == "deny"
    assert gate.decide(Subject("write_file", "write", ("a",)), set()).verdict == "ask"


def test_headers_of_a_hub_without_its_address_go_nowhere(machine: Machine) -> None:
    loaded = machine.load(LOCAL, site='headers = {Hub = "1"}')
    assert loaded.endpoint and loaded.endpoint.headers == ()


# -- the documentation -----------------------------------------------------------------------


def test_the_table_describes_every_setting() -> None:
    rows = settings_table()
    assert [row[0] for row in rows] == [f"`{name}`" for name in Settings.model_fields]
    assert all(row[3].endswith(".") for row in rows)
    by_name: dict[str, Any] = {row[0]: row for row in rows}
    assert by_name["`model`"][1:3] == ("`SHIRO_MODEL`", "")
    assert by_name["`max_turn_seconds`"][2] == "`1800`"
    assert by_name["`tool_sets`"][1:3] == ("", "`edit-plus`, `git`")
    assert by_name["`memory`"][2] == "`true`"
