"""The layers: flags, environment, project, the user's file, defaults; a hub's file above all.

A project may only narrow: what it must not set is ignored and said, never an error, since the
files of a clone are not the user's words. Elsewhere an unknown key or a bad value is an error.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from ..errors import SettingsError
from ..models.endpoint import Endpoint
from ..models.scripted import PREFIX as SCRIPTED
from ..workspace.folders import Folders
from ..workspace.project import Project
from ..workspace.text import decode
from .endpoints import OPENAI_URL, Key, normal_url
from .fields import ENVIRONMENT, Fields

SITE_FILE = Path(sys.prefix) / "etc" / "shiro" / "config.toml"
FILE_LIMIT = 200_000  # bytes of a settings file, which is read at each prompt
MODEL_LENGTH = 200  # characters of the name that a project may choose
# Read by us, but no setting.
_NO_SETTING = ("SHIRO_HOME", "SHIRO_LIVE")
_OPENAI = ("OPENAI_API_KEY", "OPENAI_BASE_URL")
_OF_KEYS = re.compile("auth|key|token|secret|cookie", re.IGNORECASE)


def _lower(held: float, said: float) -> float:
    """The narrower of two limits, 0 being none."""
    return min(filter(None, (held, said)), default=held)


# How a project, or a hub, narrows a setting: from what holds and what it says.
_NARROW: dict[str, Callable[[Any, Any], Any]] = {
    "ignore": lambda held, said: (*held, *said),
    "deny": lambda held, said: (*held, *said),
    "ask": lambda held, said: (*held, *said),
    "hide": lambda held, said: (*held, *said),
    "tool_sets": lambda held, said: tuple(each for each in held if each in said),
    "private": lambda held, said: (*held, *said),
    "schema_only": lambda held, said: held or said,
    "memory": lambda held, said: held and said,
    "yolo": lambda held, said: held and said,
    "max_steps": _lower,
    "max_turn_seconds": _lower,
    "max_cost": _lower,
    "max_cost_day": _lower,
    "ask_above": _lower,
}
# Without a variable that names a proxy or an index, a command may reach somebody else's.
_PROJECT_KEYS = frozenset({*_NARROW, "model"} - {"yolo", "hide"})
_SITE_SETS = ("base_url", "api", "headers", "ca_file", "proxy")
_SITE_KEYS = frozenset({*_NARROW, *_SITE_SETS, "model"})


@dataclass(frozen=True)
class Loaded:
    """Settings in force. `endpoint` is None where none is configured; `notices` are sentences
    to tell the person once; `fixed_url` is the one base URL that a hub permits, or empty.
    `secrets` are all keys known here, of whatever endpoint."""

    settings: Settings
    endpoint: Endpoint | None
    notices: tuple[str, ...] = ()
    fixed_url: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)


class Settings(Fields):
    """What holds for this kernel, all layers merged."""

    @classmethod
    def load(
        cls,
        *,
        environ: Mapping[str, str],
        folders: Folders,
        project: Project | None = None,
        flags: Mapping[str, object] | None = None,
        site: Path = SITE_FILE,
        stored_key: Callable[[str], str] = lambda base_url: "",
    ) -> Loaded:
        """Raises `SettingsError` naming source, key and nearest right name.

        `stored_key` gives the key that was stored for a base URL, empty where there is none.
        """
        user = _file_layer(folders.settings_file, folders)
        ceiling = _file_layer(site, folders, _SITE_KEYS)
        env, odd = _environment_layer(environ, folders)
        flagged = _checked(_given(flags or {}), "The command line", strict=False)
        narrowing, notices = _project_layer(project)
        layers = _Layers(user, env, flagged, narrowing, ceiling, environ)
        settings = cls(**layers.merged())
        notices = (*notices, *odd, *layers.notices)
        endpoint, more = layers.endpoint(settings, stored_key)
        fixed = ceiling.get("base_url", "")
        return Loaded(settings, endpoint, (*notices, *more), fixed, layers.secrets(endpoint))


@dataclass
class _Layers:
    """Checked values by layer, each only what that layer sets."""

    user: dict[str, Any]
    env: dict[str, Any]
    flags: dict[str, Any]
    project: dict[str, Any]
    site: dict[str, Any]
    environ: Mapping[str, str]
    notices: list[str] = field(default_factory=list)

    def merged(self) -> dict[str, Any]:
        openai_url = self._openai_url()
        values = {
            name: setting.get_default(call_default_factory=True)
            for name, setting in Fields.model_fields.items()
        }
        values |= {name: self.site[name] for name in ("model",) if name in self.site}
        values |= self.user
        values |= {name: self.project[name] for name in ("model",) if name in self.project}
        if openai_url:
            values["base_url"] = openai_url
        nearer = self.env | self.flags
        if nearer.get("model_file") and not openai_url:
            values["base_url"] = ""  # of the settings file, where the nearer layers name none
        values |= nearer
        for layer, source in ((self.project, "the project"), (self.site, "this hub")):
            for name, narrow in _NARROW.items():
                if name not in layer:
                    continue
                narrowed = narrow(values[name], layer[name])
                if source == "the project" and narrow is _lower and narrowed != layer[name]:
                    self.notices.append(
                        f"{name} = {layer[name]:.12g} of the project's settings is ignored: a "
                        f"project may only lower it (it is {values[name]:.12g})."
                    )
                values[name] = narrowed
        values |= self._ceilings(values)
        local = values["base_url"] or values["model_file"]
        if not local and self.environ.get("OPENAI_API_KEY", "").strip():
            values["base_url"] = OPENAI_URL
            self.notices.append(
                "No endpoint is set, but OPENAI_API_KEY is: what you ask goes to OpenAI "
                f"({OPENAI_URL})."
            )
        return values

    def _ceilings(self, values: dict[str, Any]) -> dict[str, Any]:
        fixed = {name: self.site[name] for name in _SITE_SETS if name in self.site}
        url = fixed.get("base_url")
        if url and values["base_url"] not in ("", url):
            self.notices.append(f"This hub permits one endpoint: {url} is used.")
        if not values["yolo"] and values["mode"] == "yolo":
            self.notices.append("The mode yolo is switched off here; ask is used.")
            fixed["mode"] = "ask"
        return fixed

    def _openai_url(self) -> str:
        url = self.environ.get("OPENAI_BASE_URL", "").strip()
        try:
            return normal_url(url) if url else ""
        except ValueError as error:
            raise SettingsError(f"The environment's OPENAI_BASE_URL: {error}.") from None

    def _keys(self) -> list[Key]:
        openai_url = self._openai_url()
        # The environment's own address first, else the one the user or the hub wrote down.
        beside = (
            self.env.get("base_url")
            or openai_url
            or self.user.get("base_url")
            or self.site.get("base_url", "")
        )
        candidates = [
            (self.env.get("api_key"), "SHIRO_API_KEY", beside),
            (self.environ.get("OPENAI_API_KEY"), "OPENAI_API_KEY", openai_url or OPENAI_URL),
            (
                self.user.get("api_key"),
                "api_key of the settings file",
                self.user.get("base_url") or self.site.get("base_url", ""),
            ),
        ]
        keys = [
            Key(secret if isinstance(secret, str) else secret.get_secret_value(), name, url)
            for secret, name, url in candidates
            if secret
        ]
        return [key for key in keys if key.secret.strip()]

    def secrets(self, endpoint: Endpoint | None) -> tuple[str, ...]:
        """Keys that no text needs, and what the headers say of the kind."""
        said = [key.secret.strip() for key in self._keys()]
        if endpoint:
            said.append(endpoint.api_key)
            for name, value in endpoint.headers:
                if _OF_KEYS.search(name):
                    said += value.split()[-1:]
        return tuple(dict.fromkeys(filter(None, said)))

    def endpoint(
        self, settings: Settings, stored_key: Callable[[str], str]
    ) -> tuple[Endpoint | None, list[str]]:
        keys, notices = self._keys(), []
        url = settings.base_url
        if not url:
            return None, [key.unused for key in keys if not key.base_url]
        fitting = [key.secret for key in keys if key.fits(url)]
        secret = fitting[0].strip() if fitting else stored_key(url)
        if not secret:
            # OPENAI_API_KEY beside a server of one's own is too common to speak of.
            notices += [key.unused for key in keys if key.name != "OPENAI_API_KEY"]
        headers = self.site.get("headers", {}) if self.site.get("base_url") else {}
        if not headers and (said := self.user.get("headers")):
            owner = Key("", "headers of the settings file", self.user.get("base_url", ""))
            if owner.fits(url):
                headers = said
            else:
                notices.append(
                    owner.unused.replace(" is not", " are not").replace("it was", "they were")
                )
        return (
            Endpoint(url, secret, tuple(headers.items()), settings.ca_file, settings.proxy),
            notices,
        )


def _environment_layer(
    environ: Mapping[str, str], folders: Folders
) -> tuple[dict[str, Any], list[str]]:
    """What the environment sets, and a sentence for each variable that looks like a typo."""
    values: dict[str, Any] = {}
    for name, variable in ENVIRONMENT.items():
        if said := environ.get(variable, "").strip():
            source = f"The environment's {variable}"
            values |= _checked(_with_home({name: said}, folders, source), source, strict=False)
    known = [*ENVIRONMENT.values(), *_NO_SETTING, *_OPENAI]
    odd = []
    for variable in environ:
        if not variable.startswith("SHIRO_") or variable in known:
            continue
        if near := _nearest(variable, known, 0.8):
            odd.append(f"The variable {variable} is no setting; did you mean {near}?")
    return values, odd


def _file_layer(
    path: Path, folders: Folders, allowed: frozenset[str] | None = None
) -> dict[str, Any]:
    data = read_toml(path)
    if allowed is not None:
        for name in data:
            if name not in allowed and name in Fields.model_fields:
                raise SettingsError(f"{path}: {name} cannot be set there, only by each user.")
    return _checked(_with_home(data, folders, str(path), path.parent), str(path), strict=True)


def _project_layer(project: Project | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    if project is None:
        return {}, ()
    path = project.settings_file
    try:
        foreign = project.store_is_foreign and path.exists()
        linked = path.is_symlink() or project.store.is_symlink()
    except OSError:
        return {}, (f"{path} cannot be read and is left out.",)
    if foreign or linked:
        why = "is a link" if linked else "belongs to another user"
        return {}, (f"{path} {why} and is not read.",)
    data = read_toml(path)
    ignored = [name for name in data if name in Fields.model_fields and name not in _PROJECT_KEYS]
    if not _is_served(data.get("model")):
        ignored.append("model")
    notices = (
        (f"{path} may only narrow what is allowed; ignored: {', '.join(ignored)}.",)
        if ignored
        else ()
    )
    taken = {name: value for name, value in data.items() if name not in ignored}
    return _checked(taken, str(path), strict=True), notices


def _is_served(model: object) -> bool:
    """Whether a project may name it: a script would call tools in the place of a model."""
    return not isinstance(model, str) or (
        not model.startswith(SCRIPTED) and model.isprintable() and len(model) <= MODEL_LENGTH
    )


def read_toml(path: Path) -> dict[str, Any]:
    """What a settings file says, unchecked. Raises `SettingsError`."""
    try:
        if path.exists() and not path.is_file():
            raise SettingsError(f"{path} is no regular file; settings are one TOML file.")
        with path.open("rb") as stream:
            data = stream.read(FILE_LIMIT + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > FILE_LIMIT:
        raise SettingsError(f"{path} is longer than {FILE_LIMIT:,} bytes; shorten it.")
    text = decode(data)
    if text is None or text.encoding != "utf-8":
        raise SettingsError(f"{path} is not UTF-8 text; save it as UTF-8.")
    try:
        return tomllib.loads(text.text)
    except (ValueError, RecursionError) as error:  # ValueError: also a number of many digits
        raise SettingsError(f"{path} is not valid TOML: {error}.") from None


def _checked(data: Mapping[str, Any], source: str, *, strict: bool) -> dict[str, Any]:
    """The values that `data` sets, checked; files are strict about types, text is converted."""
    try:
        # As JSON, a list is right for a tuple even where types are strict.
        checked = (
            Fields.model_validate_json(json.dumps(data, default=str), strict=True)
            if strict
            else Fields.model_validate(data)
        )
    except (ValueError, RecursionError) as error:
        # Too deep for one of the two: the writer, or (as broken JSON) the reader.
        if isinstance(error, ValidationError) and error.errors()[0]["type"] != "json_invalid":
            raise SettingsError(_sentence(error, source)) from None
        raise SettingsError(f"{source} is nested too deep, or holds too long a number.") from None
    return {name: getattr(checked, name) for name in checked.model_fields_set}


def _sentence(error: ValidationError, source: str) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"][:1])) or "the file"
    key = (key if key.isprintable() else ascii(key)[1:-1])[:80]  # of a file that may be anyone's
    if first["type"] == "extra_forbidden":
        near = _nearest(key, Fields.model_fields)
        hint = f"did you mean {near}?" if near else f"there are {', '.join(Fields.model_fields)}."
        return f"{source}: there is no setting {key}; {hint}"
    message = first["msg"].removeprefix("Value error, ")
    said = first.get("input")
    near = _nearest(said, _choices(key)) if isinstance(said, str) else ""
    hint = f"; did you mean {near}?" if near else "."
    return f"{source}: {key}: {message[:1].lower() + message[1:].rstrip('.')}{hint}"


def _nearest(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """The likeliest right spelling, letters in another order before all else; empty for none."""
    near = difflib.get_close_matches(word, list(known), 3, cutoff)
    return next((each for each in near if sorted(each) == sorted(word)), (near or [""])[0])


def _choices(key: str) -> list[str]:
    """The words a setting takes, through `| None` and `tuple[…]`."""

    def words(annotation: Any) -> list[str]:
        return [
            word
            for each in get_args(annotation)
            for word in ([each] if isinstance(each, str) else words(each))
        ]

    known = Fields.model_fields.get(key)
    return words(known.annotation) if known else []


def _given(flags: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in flags.items() if value is not None}


def _with_home(
    data: Mapping[str, Any], folders: Folders, source: str, base: Path | None = None
) -> dict[str, Any]:
    """File names with `~` filled in, and relative ones beside the settings file."""
    values = dict(data)
    for name in ("ca_file", "model_file", "llama_server"):
        said = values.get(name)
        if not isinstance(said, str) or not said:
            continue
        path = folders.home / said[2:] if said.startswith("~/") else Path(said)
        bare_command = name == "llama_server" and path.name == said
        if base and not path.is_absolute() and not bare_command:
            path = base / path
        if name != "llama_server" and not path.is_file():
            raise SettingsError(f"{source}: {name}: there is no file {path}.")
        values[name] = str(path) if not bare_command else said
    return values
