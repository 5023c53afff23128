"""What /status and /model tell: the state of things, and the remedy for what is amiss."""

from __future__ import annotations

import platform
from collections import Counter
from importlib.metadata import PackageNotFoundError, version

from ..core.errors import EndpointError, UserMendable
from ..core.memory.store import SCOPES
from ..core.models.discovery import Served
from ..core.models.endpoint import Endpoint
from ..core.models.local_server import find_model_file
from ..core.models.scripted import PREFIX
from ..core.models.trial import served_at
from ..core.settings import Loaded
from ..core.workspace.threads import in_thread
from ..views.visible import one_line
from .choose_model import NOT_CONFIGURED
from .services import Services

SECONDS = 3.0  # for an endpoint to say what it serves
SHOWN = 40
_PACKAGES = ("shiro_jupyter", "ipython", "ipykernel", "openai")


async def status_text(services: Services) -> str:
    """Rows of name and value, then a sentence for each thing to mend."""
    loaded = services.settings()
    opened, project = services.conversation.opened, services.project
    endpoint, remedies = await _endpoint(services, loaded)
    usage = opened.session.usage if opened else None
    model = loaded.settings.model or (opened.session.model if opened else "")
    memories, problems = await in_thread(_memory, services)
    rows = [
        ("model", model or "not chosen yet"),
        ("endpoint", endpoint),
        ("mode", loaded.settings.mode),
        ("kept back", _kept_back(loaded)),
        ("project", str(project.root)),
        ("notebook", str(project.notebook or "not known")),
        ("memory", memories if loaded.settings.memory else "off"),
        ("session", services.conversation.told),
        ("tokens", f"{usage.input:,} in, {usage.output:,} out" if usage else "none yet"),
        ("settings", str(services.folders.settings_file)),
        ("versions", _versions()),
    ]
    told = [f"{name:<9} {one_line(value, 1000)}" for name, value in rows]
    return "\n".join([*told, *dict.fromkeys([*remedies, *loaded.notices, *problems])])


def _kept_back(loaded: Loaded) -> str:
    """What the model never gets to see."""
    private = loaded.settings.kept_private
    every = ("all values (schema_only)",) if private.schema_only else ()
    return ", ".join([*every, *private.patterns]) or "nothing"


async def models_text(services: Services) -> str:
    """The model in use and those that the endpoint lists."""
    loaded = services.settings()
    name = loaded.settings.model
    using = f"In use: {name}." if name else "No model is set: the first that is served is used."
    if loaded.endpoint is None or name.startswith(PREFIX):
        file = loaded.settings.model_file
        return f"In use: the model file {file}." if file and not name else using
    served = await served_at(loaded.endpoint)
    names = [each.name for each in served]
    lines = [f"  {one_line(each)}" for each in names[:SHOWN]]
    if len(names) > SHOWN:
        lines.append(f"  and {len(names) - SHOWN} more")
    listed = f"{loaded.endpoint.shown} serves:" if names else f"{loaded.endpoint.shown} lists none."
    return "\n".join([using, listed, *lines])


async def _endpoint(services: Services, loaded: Loaded) -> tuple[str, list[str]]:
    """What is there to talk to, and what to do where it does not answer."""
    settings = loaded.settings
    if settings.model.startswith(PREFIX):
        return "none: a script is played", []
    if loaded.endpoint:
        return await _reached(loaded.endpoint, settings.model)
    if settings.model_file:
        try:
            path = services.environ.get("PATH")
            await in_thread(find_model_file, settings.llama_server, settings.model_file, path)
        except UserMendable as error:
            return "a model file, which cannot be served", [str(error)]
        return f"{settings.model_file}, served on this machine when it is needed", []
    found, notices = await services.models.discover()
    if not found:
        return "none set, and no server found on this machine", [*notices, NOT_CONFIGURED]
    offers = ", ".join(f"{each.base_url} ({each.models[0].name})" for each in found)
    return f"none set; found on this machine: {offers}", notices


async def _reached(endpoint: Endpoint, model: str) -> tuple[str, list[str]]:
    try:
        served = await served_at(endpoint, seconds=SECONDS)
    except EndpointError as error:
        return f"{endpoint.shown}, not usable as it is", [str(error)]
    return f"{endpoint.shown}, answers", _of_model(endpoint, model, served)


def _of_model(endpoint: Endpoint, model: str, served: tuple[Served, ...]) -> list[str]:
    names = [each.name for each in served]
    if model and names and model not in names:
        return [f"{endpoint.shown} does not list {model}; %shiro /model shows what it serves."]
    if not model and not names:
        return [f"{endpoint.shown} lists no model; name one with %shiro /model NAME."]
    return []


def _memory(services: Services) -> tuple[str, list[str]]:
    memory = services.memory
    found = Counter(each.scope for each in memory.entries())
    told = ", ".join(f"{found[scope]} {scope}" for scope in SCOPES)
    return f"{told} ({memory.path()})", [*memory.unusable(), *memory.problems()]


def _versions() -> str:
    told = [f"python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            told.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(told)
