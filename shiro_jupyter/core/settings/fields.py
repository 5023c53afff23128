"""Every setting: its type, default and meaning; the documentation's table is made from this."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from ..errors import SettingsError
from ..models.profiles import Api, Calling
from ..policy.gate import Mode
from ..policy.private import Private
from ..policy.rules import Rules, parse_rule
from .endpoints import normal_url

Think = Literal["off", "low", "medium", "high"]
View = Literal["auto", "text", "display"]
Keep = Literal["ask", "always", "never"]
ToolSet = Literal["edit-plus", "git"]
TOOL_SETS: tuple[ToolSet, ...] = get_args(ToolSet)

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# What says how one message is carried.
_NOT_OURS = frozenset({
    "connection", "content-encoding", "content-length", "content-type", "expect", "host",
    "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip


class Fields(BaseModel):
    """The fields of every layer; a layer sets some of them."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, allow_inf_nan=False
    )

    model: str = Field("", description="The model's name at the endpoint.")
    base_url: str = Field(
        "", description="The endpoint's address, such as `http://127.0.0.1:11434/v1`."
    )
    api_key: SecretStr = Field(
        SecretStr(""),
        description="The endpoint's key; it goes only to the `base_url` it was set with.",
    )
    api: Api | None = Field(
        None, description="`chat` or `responses`; unset: `responses` for OpenAI, else `chat`."
    )
    calling: Calling | None = Field(
        None,
        description="How the model calls tools: `native`, `fenced` or `schema`; unset: by model.",
    )
    headers: dict[str, str] = Field(
        {},
        repr=False,
        description="More headers of each request; they go only to the `base_url` beside them.",
    )
    ca_file: str = Field("", description="A file of certificates to trust, in PEM form.")
    proxy: str = Field("", repr=False, description="The proxy's address; unset: the system's.")
    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(
        None, description="Sampling temperature; unset: the model's own."
    )
    think: Think | None = Field(
        None,
        description="Reasoning effort: `off`, `low`, `medium` or `high`; unset: the model's own.",
    )
    window: int = Field(0, ge=0, description="The context window in tokens; 0: by model.")
    timeout: float = Field(
        0.0, ge=0, description="Seconds of silence before a step is given up; 0: by model."
    )
    model_file: str = Field("", description="A GGUF file to serve on this machine.")
    llama_server: str = Field("llama-server", description="The program that serves it.")
    tool_sets: tuple[ToolSet, ...] = Field(
        TOOL_SETS, description="The optional tool sets: `edit-plus`, `git`."
    )
    mode: Mode = Field(
        "ask", description="Approvals: `ask`, `accept-edits`, `plan` (change nothing) or `yolo`."
    )
    yolo: bool = Field(True, description="Whether the mode `yolo` may be chosen at all.")
    allow: tuple[str, ...] = Field(
        (), description="Rules for calls that run unasked, such as `bash(git status)`."
    )
    ask: tuple[str, ...] = Field((), description="Rules for calls that always ask.")
    deny: tuple[str, ...] = Field(
        (), description="Rules for calls that never run, such as `read(secrets/**)`."
    )
    ignore: tuple[str, ...] = Field(
        (), description="What listing and searching leave out, by patterns as in `.gitignore`."
    )
    hide: tuple[str, ...] = Field(
        (),
        description="Environment variables that no command gets to see beside shiro's own key, "
        "such as `PROD_*`.",
    )
    schema_only: bool = Field(
        False, description="Show the model names and types of variables, never their values."
    )
    private: tuple[str, ...] = Field(
        (),
        description="Variables and columns that the model never gets to see, such as `salaries`, "
        "`secret_*`, `customers.email` or `*.ssn`.",
    )
    memory: bool = Field(True, description="Whether memory is loaded and may be written.")
    max_steps: int = Field(50, ge=1, le=1_000_000, description="Model calls in one turn.")
    max_turn_seconds: float = Field(
        1800.0, gt=0, description="Seconds of one turn, without waiting for you or running code."
    )
    max_cost: float = Field(
        0.0,
        ge=0,
        description="US dollars of model calls in one session, at most; 0: no limit. At 80 % you "
        "are told, at 100 % no further call is made.",
    )
    max_cost_day: float = Field(
        0.0, ge=0, description="The same of one day, over all your kernels."
    )
    ask_above: int = Field(
        100_000,
        ge=0,
        description="Tokens of a request above which you are asked first, and again with each "
        "growth by so many; 0: never.",
    )
    keep: Keep = Field(
        "ask",
        description="Code of a turn that bound names and ran in no cell: `ask` offers it for "
        "`/keep`, `always` puts it into cells at the end of the turn, `never` says nothing.",
    )
    view: View = Field(
        "auto",
        description="How a turn is shown: `auto` (live in a notebook's cell, else as text), "
        "`display` (html without a widget) or `text`.",
    )

    @field_validator("model")
    @classmethod
    def _name(cls, value: str) -> str:
        if not value.isprintable():
            raise ValueError("a name is one line of letters that can be seen")
        return value

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        return normal_url(value) if value else ""

    @field_validator("allow", "ask", "deny")
    @classmethod
    def _rules(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        try:
            list(map(parse_rule, value))
        except SettingsError as error:
            raise ValueError(str(error)) from None
        return value

    @field_validator("ignore")
    @classmethod
    def _patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            if each.startswith("!"):
                raise ValueError(f"{each!r} would take back what another pattern leaves out")
        return value

    @field_validator("private")
    @classmethod
    def _names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for each in value:
            variable, dot, column = each.partition(".")
            if not variable or bool(dot) != bool(column):
                raise ValueError(
                    f"{each!r} names no variable (such as 'secret_*') and no column (such as "
                    "'customers.email')"
                )
        return value

    @field_validator("headers")
    @classmethod
    def _header_lines(cls, value: dict[str, str]) -> dict[str, str]:
        for name, said in value.items():
            if not _HEADER.fullmatch(name):
                raise ValueError(f"{name!a} is no name of a header")
            if name.lower() in _NOT_OURS:
                raise ValueError(f"each request sets {name} itself")
            if _CONTROL.search(said):
                raise ValueError("a header is one line")
        return {name: said.strip() for name, said in value.items()}

    @property
    def overrides(self) -> dict[str, Any]:
        """What the person settles of a model's profile, by its field names."""
        names = ("api", "calling", "window", "temperature", "think")
        return {name: getattr(self, name) for name in names} | {"idle_seconds": self.timeout}

    @property
    def kept_private(self) -> Private:
        return Private(self.private, self.schema_only)

    @property
    def rules(self) -> Rules:
        return Rules.parse(deny=self.deny, ask=self.ask, allow=self.allow)


# Lists and tables have no environment variable.
ENVIRONMENT: dict[str, str] = {
    name: f"SHIRO_{name.upper()}"
    for name, field in Fields.model_fields.items()
    if get_origin(field.annotation) not in (tuple, dict) and name != "yolo"
}


def settings_table() -> list[tuple[str, str, str, str]]:
    """Rows for the documentation: setting, environment variable, default, what it does."""
    return [
        (
            f"`{name}`",
            f"`{ENVIRONMENT[name]}`" if name in ENVIRONMENT else "",
            _shown(field.default),
            field.description or "",
        )
        for name, field in Fields.model_fields.items()
    ]


def _shown(default: Any) -> str:
    match default:
        case None | SecretStr():
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case tuple() | dict():
            return ", ".join(f"`{each}`" for each in default)
        case float():
            return f"`{default:g}`"
        case _:
            return f"`{default}`" if default != "" else ""
