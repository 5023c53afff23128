"""Which client serves a model: by its profile's API and way to call tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from . import chat, scripted
from .base import ModelClient
from .endpoint import Endpoint
from .fallback import FallbackClient
from .fenced import FencedCalling, RescuedCalling
from .profiles import Calling, Profile
from .responses import ResponsesClient
from .schema import SchemaCalling


def client_for(
    endpoint: Endpoint, profile: Profile, tell: Callable[[str], None] = lambda text: None
) -> ModelClient:
    """A client that is closed by the caller. It connects with its first request.

    A model named `scripted:PATH` plays the script in that file. `tell` is told where the
    model has to be asked in another way than its profile says.
    """
    if profile.model.startswith(scripted.PREFIX):
        path = Path(profile.model.removeprefix(scripted.PREFIX))
        return scripted.ScriptedModel.from_file(path, profile)
    if profile.api == "responses":
        return ResponsesClient(endpoint, profile)
    return FallbackClient(endpoint, profile, _CALLINGS[profile.calling](), tell)


_CALLINGS: dict[Calling, Callable[[], chat.Calling]] = {
    "native": RescuedCalling,
    "fenced": FencedCalling,
    "schema": SchemaCalling,
}
