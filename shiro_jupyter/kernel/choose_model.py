"""Which model a turn talks to: the one set, else a model file, else a server found, else none."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..core.errors import EndpointError, NotConfigured, UsageError
from ..core.events import Answer, Question
from ..core.models.base import ModelClient
from ..core.models.clients import client_for
from ..core.models.discovery import Found, Served, discover
from ..core.models.endpoint import Endpoint
from ..core.models.local_server import LocalServer, find_model_file, local_client
from ..core.models.profiles import Profile, profile_for
from ..core.models.scripted import PREFIX
from ..core.models.trial import served_at
from ..core.settings import Loaded, Settings
from ..core.settings.keys import Keys
from ..core.workspace.clock import Clock
from ..core.workspace.folders import Folders
from ..core.workspace.processes import Processes
from .rerun import NEVER, NOT_CALLED

NOT_CONFIGURED = (
    "No model is connected. Start a model server on this machine (Ollama, LM Studio, llama.cpp), "
    "or name an endpoint with %shiro /connect, or a GGUF file in SHIRO_MODEL_FILE."
)
NO_MODELS = "{at} lists no model; name one with %shiro /model NAME."
NONE = "none of them"
OFFERED = 8

Tell = Callable[[str], None]
Ask = Callable[[Question], Awaitable[Answer | None]]


@dataclass
class Models:
    """Makes the client of each turn; a scripted model plays on from turn to turn."""

    folders: Folders
    environ: Mapping[str, str]
    clock: Clock
    discover: Callable[[], Awaitable[tuple[list[Found], list[str]]]] = discover
    _scripted: dict[str, ModelClient] = field(default_factory=dict)
    _served: dict[Endpoint, tuple[Served, ...]] = field(default_factory=dict)
    # What the person chose of the servers found; empty: none of them.
    _agreed: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        self.keys = Keys(self.folders)
        # Its own: what it starts may outlive this kernel.
        processes = Processes(self.environ, self.folders.data / "outputs")
        self.local = LocalServer(self.folders.data, processes, self.clock)

    async def client(self, loaded: Loaded, tell: Tell, ask: Ask) -> ModelClient:
        """Raises `NotConfigured` with the ways to connect a model, or an `EndpointError`; in a
        check, `UsageError`."""
        if self.environ.get("SHIRO_LIVE") == NEVER:
            raise UsageError(NOT_CALLED)
        settings = loaded.settings
        name = settings.model
        if name.startswith(PREFIX):
            if name not in self._scripted:
                self._scripted[name] = client_for(Endpoint(""), Profile(name))
            return self._scripted[name]
        if loaded.endpoint is not None:
            return await self._at(loaded.endpoint, name, settings, tell)
        if settings.model_file:
            path = self.environ.get("PATH")
            file = find_model_file(settings.llama_server, settings.model_file, path)
            said = {name: value for name, value in settings.overrides.items() if value}
            return local_client(self.local, file, tell, **said)
        url, first = await self._found(tell, ask)
        endpoint = Endpoint(url, self.keys.stored(url))
        return await self._at(endpoint, name or first, settings, tell)

    async def served(self, endpoint: Endpoint) -> tuple[Served, ...]:
        """The models that an endpoint lists, asked for once. Raises `EndpointError`."""
        if not self._served.get(endpoint):
            self._served[endpoint] = await served_at(endpoint)
        return self._served[endpoint]

    @property
    def listed(self) -> Sequence[str]:
        """The names that endpoints have listed so far."""
        return [each.name for served in self._served.values() for each in served]

    def changed(self) -> None:
        """The person has connected another endpoint: what was listed and chosen is past."""
        self._served.clear()
        self._agreed = None

    def close(self) -> None:
        self.local.close()

    async def _at(
        self, endpoint: Endpoint, name: str, settings: Settings, tell: Tell
    ) -> ModelClient:
        """A client of this model, else of the first that the endpoint lists."""
        served: tuple[Served, ...] = ()
        if not name or endpoint.is_loopback:  # where it is near, its list tells the window too
            try:
                served = await self.served(endpoint)
            except EndpointError:
                if not name:
                    raise
        if not name and not served:
            raise NotConfigured(NO_MODELS.format(at=endpoint.shown))
        name = name or served[0].name
        window = next((each.window for each in served if each.name == name), 0)
        profile = profile_for(name, endpoint.base_url, settings.overrides, window=window)
        return client_for(endpoint, profile, tell)

    async def _found(self, tell: Tell, ask: Ask) -> tuple[str, str]:
        """Address and model of a server found that the person agreed to; asked once a kernel,
        before anything is sent."""
        if self._agreed is not None:
            if not self._agreed[0]:
                raise NotConfigured(NOT_CONFIGURED)
            return self._agreed
        found, notices = await self.discover()
        if not found:
            raise NotConfigured(" ".join([*notices, NOT_CONFIGURED]))
        offers = [(server.base_url, model.name) for server in found for model in server.models]
        choices = {f"{model} at {url}": (url, model) for url, model in offers[:OFFERED]}
        question = Question(
            secrets.token_hex(4),
            "",
            "ask",
            "No endpoint is set, but a model server of yours runs on this machine. Use it?",
            choices=(*choices, NONE),
        )
        answer = await ask(question)
        if answer is None:
            url, model = offers[0]
            raise NotConfigured(
                f"No model is connected, and nobody is here to agree to {model} of the server "
                f"found at {url}; set SHIRO_BASE_URL to that, or run %shiro /connect."
            )
        self._agreed = choices.get(answer.choice, ("", ""))
        if not self._agreed[0]:
            raise NotConfigured(NOT_CONFIGURED)
        url, model = self._agreed
        tell(f"Using {model} at {url} in this kernel; %shiro /connect keeps it, or another.")
        return self._agreed
