"""Connecting a model by hand: address, key and model are asked for, tried, then kept."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import KeyRefused, SettingsError, UsageError
from ..models.discovery import Found, Served, discover
from ..models.endpoint import Endpoint
from ..models.profiles import profile_for
from ..models.trial import served_at, try_call
from ..numbers import whole_number
from ..workspace.folders import Folders
from .edit import change_settings
from .endpoints import normal_url, origin_of
from .keys import Keys
from .layers import SITE_FILE, Loaded, Settings, read_toml

KEY_TRIES = 3
ANOTHER = "Another key (Enter gives up): "
SHOWN = 20  # models, of a list that may be hundreds long


@dataclass(frozen=True)
class Prompts:
    """How the person is asked: `ask` shows a text whose last line is the prompt."""

    ask: Callable[[str], Awaitable[str]]
    ask_secret: Callable[[str], Awaitable[str]]
    say: Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class Connected:
    """What was tried and kept; `told` says where, never the key itself."""

    base_url: str
    model: str
    told: str


@dataclass
class Connector:
    """`found` looks for servers of this user."""

    environ: Mapping[str, str]
    folders: Folders
    keys: Keys
    site: Path = SITE_FILE
    found: Callable[[], Awaitable[tuple[list[Found], list[str]]]] = discover

    async def connect(self, loaded: Loaded, prompts: Prompts, address: str = "") -> Connected:
        """Ask, try, keep. Nothing is kept unless the model has answered.

        Raises `UsageError`, `SettingsError`, `StorageError` or `EndpointError`.
        """
        url = await self._address(loaded, prompts, address)
        self._check(url, loaded)
        held = self._held(url, loaded)
        wanted = "Key (Enter keeps the one there is): " if held else "Key (Enter for none): "
        model = ""
        for left in reversed(range(KEY_TRIES)):
            typed = (await prompts.ask_secret(wanted)).strip()
            endpoint = self._endpoint(url, typed or held, loaded)
            try:
                await prompts.say(f"Asking {endpoint.shown} for its models …")
                models = await served_at(endpoint)
                model = model or await self._model(models, loaded.settings.model, prompts)
                await prompts.say(f"Trying {model} …")
                window = next((each.window for each in models if each.name == model), 0)
                overrides = loaded.settings.overrides
                await try_call(endpoint, profile_for(model, url, overrides, window=window))
                break
            except KeyRefused as error:
                if not left or (wanted == ANOTHER and not typed):
                    raise
                await prompts.say(str(error).partition(";")[0] + ".")
                wanted = ANOTHER
        change_settings(self.folders.settings_file, {"base_url": url, "model": model})
        told = [
            f"{model} answers at {endpoint.shown}. Address and model are kept in "
            f"{self.folders.settings_file}"
        ]
        if typed:
            told[0] += f", the key in {self.keys.keep(url, typed)}"
        told[0] += "."
        told += self._outdone(url, model, typed or held)
        return Connected(url, model, " ".join(told))

    # -- asking ------------------------------------------------------------------------------

    async def _address(self, loaded: Loaded, prompts: Prompts, address: str) -> str:
        now = loaded.fixed_url or loaded.settings.base_url
        if not address:
            found, notices = await self.found()
            lines = [*notices]
            if found:
                lines.append("Model servers of yours on this machine:")
                lines += [
                    f"  {number}. {each.base_url} ({each.models[0].name})"
                    for number, each in enumerate(found, start=1)
                ]
            number = "a number, or " if found else ""
            enter = f" (Enter: {now})" if now else ""
            lines.append(f"Address: {number}http://host:port/v1{enter}: ")
            said = (await prompts.ask("\n".join(lines))).strip()
            urls = [each.base_url for each in found]
            address = _chosen(said, urls) or now
        if not address:
            raise UsageError("No address was given; nothing was changed.")
        try:
            return normal_url(address)
        except ValueError as error:
            raise UsageError(f"{address} is no address: {error}.") from None

    async def _model(self, models: Sequence[Served], now: str, prompts: Prompts) -> str:
        names = [each.name for each in models if each.name.isprintable()]
        default = now if now in names else next(iter(names), "")
        lines = [f"  {number}. {name}" for number, name in enumerate(names[:SHOWN], start=1)]
        if lines:
            lines.insert(0, "Models:")
        if len(names) > SHOWN:
            lines.append(f"  and {len(names) - SHOWN} more: type the name")
        lines.append(f"Model{f' (Enter: {default})' if default else ''}: ")
        said = (await prompts.ask("\n".join(lines))).strip()
        if not said and not default:
            raise UsageError("No model was given; nothing was changed.")
        return _chosen(said, names) or default

    # -- what goes where -----------------------------------------------------------------------

    def _check(self, url: str, loaded: Loaded) -> None:
        """Refuse an address that this hub forbids, or that would take another's key along."""
        if loaded.fixed_url and url != loaded.fixed_url:
            raise UsageError(
                f"This hub permits one endpoint, {loaded.fixed_url}; nothing was changed."
            )
        path = self.folders.settings_file
        said = read_toml(path)
        before = said.get("base_url", "")
        if not before or origin_of(before) == origin_of(url):
            return
        strays = [f"{name} of {path}" for name in ("api_key", "headers") if said.get(name)]
        set_beside = any(self.environ.get(f"{name}_BASE_URL") for name in ("SHIRO", "OPENAI"))
        if self.environ.get("SHIRO_API_KEY") and not set_beside:
            strays.append("SHIRO_API_KEY of the environment")
        if strays:
            raise SettingsError(
                f"{' and '.join(strays)}, set for {before}, would go to {url} as well; "
                "remove that first, then try again."
            )

    def _held(self, url: str, loaded: Loaded) -> str:
        """The key that goes to this address as things are."""
        now = loaded.endpoint
        if now and now.api_key and origin_of(now.base_url) == origin_of(url):
            return now.api_key
        return self.keys.stored(url)

    def _endpoint(self, url: str, key: str, loaded: Loaded) -> Endpoint:
        now, settings = loaded.endpoint, loaded.settings
        same = now is not None and origin_of(now.base_url) == origin_of(url)
        headers = now.headers if now and same else ()
        return Endpoint(url, key, headers, settings.ca_file, settings.proxy)

    def _outdone(self, url: str, model: str, key: str) -> list[str]:
        """A sentence where something set elsewhere comes before what was kept."""
        later = Settings.load(
            environ=self.environ,
            folders=self.folders,
            site=self.site,
            stored_key=self.keys.stored,
        )
        others = []
        if later.settings.base_url != url:
            others.append("address")
        elif later.endpoint and later.endpoint.api_key != key:
            others.append("key")
        if later.settings.model != model:
            others.append("model")
        if not others:
            return []
        return [
            f"But another {' and '.join(others)} is set in the environment (SHIRO_…, OPENAI_…) or "
            "the settings file and comes first; remove that."
        ]


def _chosen(said: str, offered: Sequence[str]) -> str:
    """What was typed, or what its number stands for."""
    if 1 <= (whole_number(said) or 0) <= len(offered):
        return offered[int(said) - 1]
    return said
