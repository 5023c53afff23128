"""Which client serves a model: by its profile's API and way to call tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import chat, scripted
from .base import ModelClient
from .chat import ChatClient
from .endpoint import Endpoint
from .fenced import FencedCalling, RescuedCalling
from .profiles import Calling, Profile
from .responses import ResponsesClient
from .schema import SchemaCalling


def client_for(endpoint: Endpoint, profile: Profile) -> ModelClient:
    """A client that is closed by the caller. It connects with its first request.

    A model named `scripted:PATH` plays the script in that file.
    """
    if profile.model.startswith(scripted.PREFIX):
        path = Path(profile.model.removeprefix(scripted.PREFIX))
        return scripted.ScriptedModel.from_file(path, profile)
    if profile.api == "responses":
        return ResponsesClient(endpoint, profile)
    return ChatClient(endpoint, profile, _CALLINGS[profile.calling]())


_CALLINGS: dict[Calling, Callable[[], chat.Calling]] = {
    "native": RescuedCalling,
    "fenced": FencedCalling,
    "schema": SchemaCalling,
}
