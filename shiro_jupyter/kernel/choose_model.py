"""Which model a turn talks to: the one set, else a server found, else a model file, else none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..core.errors import NotConfigured
from ..core.models.base import ModelClient
from ..core.models.clients import client_for
from ..core.models.endpoint import Endpoint
from ..core.models.profiles import Profile
from ..core.models.scripted import PREFIX
from ..core.settings import Loaded
from ..core.workspace.folders import Folders
from ..core.workspace.processes import Processes

NOT_CONFIGURED = (
    "No model is connected. Start a model server on this machine (Ollama, LM Studio, llama.cpp), "
    "or set an endpoint and its key with %shiro /connect, or name a model file in the setting "
    "model_file."
)


@dataclass
class Models:
    """Makes the client of each turn; a scripted model plays on from turn to turn."""

    folders: Folders
    processes: Processes
    _scripted: dict[str, ModelClient] = field(default_factory=dict)

    def stored_key(self, base_url: str) -> str:
        return ""

    async def client(self, loaded: Loaded, tell: Callable[[str], None]) -> ModelClient:
        """Raises `NotConfigured` with the ways to connect a model."""
        name = loaded.settings.model
        if name.startswith(PREFIX):
            if name not in self._scripted:
                self._scripted[name] = client_for(Endpoint(""), Profile(name))
            return self._scripted[name]
        if loaded.endpoint is None:
            raise NotConfigured(NOT_CONFIGURED)
        return client_for(loaded.endpoint, Profile(name))

    def close(self) -> None:
        pass
